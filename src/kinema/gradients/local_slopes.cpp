// Forces of elements: springs, dampers, tendons, actuators, equalities, fluids (elements.py, coloring.py).
if (lane == 0)
    for (int k = 0; k < forces.shape[0]; ++k) {
        const int* entry = (const int*)((const char*)forces.data + k * (size_t)forces.strides[0]);
        const float moment = entry[4] < 0 ? 1.0f : KN_AT(d.act.moment, entry[4]);
        rhs[entry[0] * nc8 + entry[1]] += moment * local[(size_t)entry[2] * colors + entry[3]];
    }
if (lane == 0 && discrete)  // what turning makes of free bodies on their own
    for (int k = 0; k < late_forces.shape[0]; ++k) {
        const int* entry = (const int*)((const char*)late_forces.data + k * (size_t)late_forces.strides[0]);
        for (int b = 0; b < nalone; ++b)
            if (is_free(b) && entry[0] >= alone.data[b] && entry[0] < alone.data[b] + 6)
                rhs[entry[0] * nc8 + entry[1]] -= local[(size_t)entry[2] * colors + entry[3]];
    }
KN_SYNC();
