// What constraint rows add up to: forces on dofs, out += sign J' f, and curvature, H += J' (d2s/dr2) J.
//
// One thread goes row by row; what rows add to the Hessian there is in leaves_first.cpp. On CUDA a lane owns dofs and
// gathers from the rows that act on their trees, so that no lane waits for another; and numbers are read before any is
// written, for a read that must wait for a write is slow there.

#if KN_LANES > 1
auto add_scaled = [](float* y, const float* x, float s, int n) {  // y += s x
    for (int j = 0; j < n; j += 8) {
        float b[8];
        #pragma unroll
        for (int q = 0; q < 8; ++q) b[q] = j + q < n ? y[j + q] + s * x[j + q] : 0.0f;
        #pragma unroll
        for (int q = 0; q < 8; ++q) if (j + q < n) y[j + q] = b[q];
    }
};
#endif

auto contact_cone = [&](int k) -> Cone {  // of the elliptic contact whose rows begin at k
    const int c = id[k];
    return cone_at(r + k, D[k], mu_of(c), friction_of(c), dim_of(c));
};

#if KN_LANES == 1
auto add_forces = [&](float* out, float sign) {
    KN_ROWS(k) {
        const float f = sign * force[k];
        if (f != 0.0f) add_row(out, k, f);
    }
};
#else
auto acts_on = [&](int k, int t) -> bool { const int u = trees[2 * k]; return u < 0 || u == t || trees[2 * k + 1] == t; };
auto add_forces = [&](float* out, float sign) {
    KN_DOFS(i) {
        const int t = tree_of[i];
        float sum = out[i];
        #pragma unroll 4
        for (int q = 0; q < rows_here; ++q)
            if (const int k = row_list[q]; acts_on(k, t)) sum += sign * force[k] * J[(size_t)k * nv + i];
        out[i] = sum;
    }
    KN_SYNC();
};
auto add_curvature = [&]() {
    KN_DOFS(i) {
        const int t = tree_of[i];
        int from[2], to[2];
        auto add = [&](int k, float s, int n) {  // the part of row k beyond column i
            for (int q = 0; q < n; ++q) {
                const int j = from[q] > i ? from[q] : i;
                if (s != 0.0f && j < to[q]) add_scaled(H + (size_t)i * nv + j, J + (size_t)k * nv + j, s, to[q] - j);
            }
        };
        for (int q = 0; q < rows_here; ++q)
            if (const int k = row_list[q]; acts_on(k, t)) {
                if (state[k] == ConstraintState::QUADRATIC) {
                    const int n = ranges(k, from, to);
                    add(k, D[k] * J[(size_t)k * nv + i], n);
                } else if (state[k] == ConstraintState::CONE && kind_of(k) == CONE_HEAD) {
                    const Cone e = contact_cone(k);
                    const int n = ranges(k, from, to);
                    for (int p = 0; p < e.dim; ++p) {
                        float s = 0.0f;
                        for (int z = 0; z < e.dim; ++z) s += cone_entry(e, p, z) * J[(size_t)(k + z) * nv + i];
                        add(k + p, s, n);
                    }
                }
            }
    }
    KN_SYNC();
};
#endif
