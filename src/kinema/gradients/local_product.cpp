// Forces of elements in a product, as duals have them (local_slopes.cpp); what swells by the discrete integrator
// (easing.cpp); and the result.
each_entry(forces, false, [&](const int* entry) {
    const float moment = entry[4] < 0 ? 1.0f : KN_AT(d.act.moment, entry[4]);
    to[entry[1]] += y[entry[0]] * moment * local[(size_t)entry[2] * colors + entry[3]];
});
KN_SYNC();
each_entry(late_forces, false, [&](const int* entry) {
    const float slope = local[(size_t)entry[2] * colors + entry[3]];
    if (!discrete) to[entry[1]] -= z[entry[0]] * slope;
    for (int b = 0; discrete && b < nalone; ++b)  // what turning makes of free bodies on their own
        if (is_free(b) && entry[0] >= alone.data[b] && entry[0] < alone.data[b] + 6) to[entry[1]] -= y[entry[0]] * slope;
});
KN_SYNC();
each_entry(states, false, [&](const int* entry) {
    to[entry[1]] += l[2 * nv + entry[0]] * local[(size_t)entry[2] * colors + entry[3]];
});
KN_SYNC();
if (discrete && constrained && nefc > 0) {
    KN_EACH(k, nv) each_swell(k, [&](int i, float slope) { to[k] -= swells[i] * slope; });
    KN_SYNC();
    each_entry(weights, false, [&](const int* entry) {
        to[entry[1]] -= weighs[entry[0]] * local[(size_t)entry[2] * colors + entry[3]];
    });
    KN_SYNC();
}
#if defined(__CUDA_ARCH__)
KN_EACH(i, nc) result[i] = to[i];
KN_SYNC();
#endif
