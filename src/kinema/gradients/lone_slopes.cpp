// Free bodies on their own, which are integrated in full: G = M + N, N = h (d(bias)/dv - qDeriv), and G^-1; by the
// discrete integrator G = Mh + h d(bias)/dv, and those alone that no row acts on.
KN_EACH(b, nalone) {
    const int first = alone.data[b];
    float& free = lone[72 * nalone + b];
    free = 1.0f;
    for (int k = 0; discrete && constrained && k < nefc; ++k) {
        int from[2], to[2];
        const int n = ranges(k, from, to);
        for (int a = 0; a < n; ++a)
            for (int i = wp::max(from[a], first); i < wp::min(to[a], first + 6); ++i)
                if (J[(size_t)k * nv + i] != 0.0f) free = 0.0f;
    }
    float *N = lone + 72 * b, *inverse = N + 36, *G = lone + 73 * nalone + 36 * b;
    turning_slope(first, N);
    for (int k = 0; k < 36; ++k) {
        N[k] *= h;
        inverse[k] = k % 7 ? 0.0f : 1.0f;
    }
    for (int r = 0; r < 6; ++r)
        for (int a = m.dof.D_rowadr.data[first + r]; a < m.dof.D_rowadr.data[first + r] + m.dof.D_rownnz.data[first + r]; ++a)
            N[6 * r + m.dof.D_colind.data[a] - first] += late_at(a);
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) G[6 * r + c] = N[6 * r + c] + H[(first + (r > c ? r : c)) * n8 + first + (r > c ? c : r)];
    KN_ROLLED for (int k = 0; k < 6; ++k) {
        int pivot = k;
        for (int r = k + 1; r < 6; ++r)
            if (::fabsf(G[6 * r + k]) > ::fabsf(G[6 * pivot + k])) pivot = r;
        for (int c = 0; c < 6; ++c) {
            float y = G[6 * k + c]; G[6 * k + c] = G[6 * pivot + c]; G[6 * pivot + c] = y;
            y = inverse[6 * k + c]; inverse[6 * k + c] = inverse[6 * pivot + c]; inverse[6 * pivot + c] = y;
        }
        const float s = 1.0f / G[7 * k];
        for (int c = 0; c < 6; ++c) { G[6 * k + c] *= s; inverse[6 * k + c] *= s; }
        KN_ROLLED for (int r = 0; r < 6; ++r) {
            const float t = G[6 * r + k];
            if (r != k)
                for (int c = 0; c < 6; ++c) { G[6 * r + c] -= t * G[6 * k + c]; inverse[6 * r + c] -= t * inverse[6 * k + c]; }
        }
    }
}
KN_SYNC();
auto is_free = [&](int b) -> bool { return lone[72 * nalone + b] != 0.0f; };
auto each_free = [&](auto take) {  // first dof and inverse, of those that have no part in H
    for (int b = 0; discrete && b < nalone; ++b)
        if (is_free(b)) take(alone.data[b], lone + 72 * b + 36);
};
auto leave_out_free = [&](float* H) {  // they have rows of the identity there
    if (lane == 0)
        each_free([&](int first, const float*) {
            for (int r = first; r < first + 6; ++r)
                for (int c = first; c <= r; ++c) H[r * n8 + c] = r == c ? 1.0f : 0.0f;
        });
    KN_SYNC();
};
