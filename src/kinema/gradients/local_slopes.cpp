// Forces of elements: springs, dampers, tendons, actuators, equalities, fluids (elements.py, coloring.py).
each_entry(forces, true, [&](const int* entry) {
    const float moment = entry[4] < 0 ? 1.0f : KN_AT(d.act.moment, entry[4]);
    rhs[entry[0] * nc8 + entry[1]] += moment * local[(size_t)entry[2] * colors + entry[3]];
});
KN_SYNC();
if (discrete)  // what turning makes of free bodies on their own
    each_entry(late_forces, true, [&](const int* entry) {
        for (int b = 0; b < nalone; ++b)
            if (is_free(b) && entry[0] >= alone.data[b] && entry[0] < alone.data[b] + 6)
                rhs[entry[0] * nc8 + entry[1]] -= local[(size_t)entry[2] * colors + entry[3]];
    });
KN_SYNC();
