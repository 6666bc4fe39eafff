// How the regularization of rows changes with the inertia that they push, by the discrete integrator (convex/metric.py):
//
//   R ~ rho = (sum_i J_i^2 / W_i) / (sum_i J_i^2 / M_i)        M_i, W_i: of M and of the metric W, the diagonal
//
// so that for a row, or a contact by its first one, with l and e for the two sums,
//
//   d(log D) = -d(log rho) = -sum_i (c_i dJ_i + t_i dM_i + w_i d(W_i - M_i))
//   c_i = 2 J_i (1 / (W_i e) - 1 / (M_i l)),   t_i = J_i^2 (1 / (M_i^2 l) - 1 / (W_i^2 e)),   w_i = -J_i^2 / (W_i^2 e)
//
// How M_i changes with dof k says swell.cpp, d(W_i - M_i) is known from duals (coloring.py).
auto is_swelling = [&](int i) -> bool { return discrete && heft[i] != mass[i]; };
if (discrete && constrained && nefc > 0) {
    KN_EACH(i, nv) {
        mass[i] = KN_AT(d.inertia.M, m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i] - 1);
        heft[i] = KN_AT(d.metric.value, m.dof.metric_rowadr.data[i] + m.dof.metric_rownnz.data[i] - 1);
    }
    KN_EACH(i, nv * n8) swell[i] = 0.0f;
    KN_SYNC();
    KN_EACH(k, nv) each_swell(k, [&](int i, float slope) { swell[i * n8 + k] = slope; });
    KN_SYNC();
}

// c, t and w of n dofs `who` of a row; false: it pushes nothing but inertia
auto ease = [&](const float* row, const int* who, int n) -> bool {
    float l = 0.0f, e = 0.0f;
    bool swelling = false;
    for (int q = 0; q < n; ++q) {
        const int i = who[q];
        const float square = row[i] * row[i];
        l += square / mass[i];
        e += square / heft[i];
        swelling = swelling || (square != 0.0f && is_swelling(i));
    }
    if (!swelling || l <= 1e-15f) return false;
    KN_EACH(q, n) {
        const int i = who[q];
        const float lighter = 1.0f / (mass[i] * l), heavier = 1.0f / (heft[i] * e), square = row[i] * row[i];
        easing[q] = 2.0f * row[i] * (heavier - lighter);
        easing[n8 + q] = square * (lighter / mass[i] - heavier / heft[i]);
        easing[2 * n8 + q] = -square * heavier / heft[i];
    }
    KN_SYNC();
    return true;
};
// d(log D) by inertia and metric, of what `ease` was given: `stiffer`, all columns
auto stiffen = [&](const int* who, int n) {
    KN_EACH(c, nc8) stiffer[c] = 0.0f;
    KN_SYNC();
    KN_COLUMNS(c, nv) {
        V s = 0.0f * load(stiffer + c);
        for (int q = 0; q < n; ++q) s -= easing[n8 + q] * load(swell + who[q] * n8 + c);
#if defined(__CUDA_ARCH__)
        stiffer[c] = s;
#else
        for (int b = 0; b < 8 && c + b < nv; ++b) stiffer[c + b] = s[b];
#endif
    }
    KN_SYNC();
    if (lane == 0 && weights.shape[0]) {
        float* share = easing + 3 * n8;
        for (int i = 0; i < nv; ++i) share[i] = 0.0f;
        for (int q = 0; q < n; ++q) share[who[q]] = easing[2 * n8 + q];
        for (int k = 0; k < weights.shape[0]; ++k) {
            const int* entry = (const int*)((const char*)weights.data + k * (size_t)weights.strides[0]);
            stiffer[entry[1]] -= share[entry[0]] * local[(size_t)entry[2] * colors + entry[3]];
        }
    }
    KN_SYNC();
};
// a force on dof i that goes with D
auto push_with = [&](int i, float f) {
    float* to = rhs + i * nc8;
    const int last = weights.shape[0] ? nc : nv;
    KN_EACH(c, last) to[c] += f * stiffer[c];
};
