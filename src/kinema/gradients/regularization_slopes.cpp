// How the regularization of rows changes with the inertia that they push, by the discrete integrator (convex/metric.py):
//
//   R ~ rho = (sum_i J_i^2 / W_i) / (sum_i J_i^2 / M_i)        M_i, W_i: of M and of the metric W, the diagonal
//
// so that for a row, or a contact by its first one, with l and e for the two sums,
//
//   d(log D) = -d(log rho) = -sum_i (c_i dJ_i + t_i dM_i + w_i d(W_i - M_i))
//   c_i = 2 J_i (1 / (W_i e) - 1 / (M_i l)),   t_i = J_i^2 (1 / (M_i^2 l) - 1 / (W_i^2 e)),   w_i = -J_i^2 / (W_i^2 e)
//
// The inertia behind dof i, seen along it, changes with the dofs behind i alone: all others move both. For dof k it is
//
//   dM_i/dq_k = S_i . (dI S_i),   dI = S_k x* I - I S_k x:   dc = w x c + m u,  dJ = w x J - J w x + 2 (c.u) - c u' - u c'
//
// with (w, u) = S_k and I = (J, c, m) what is behind k: `swell`. d(W_i - M_i) is known from duals (coloring.py).
auto is_swelling = [&](int i) -> bool { return discrete && heft[i] != mass[i]; };
if (discrete && constrained && nefc > 0) {
    KN_EACH(i, nv) {
        mass[i] = KN_AT(d.inertia.M, m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i] - 1);
        heft[i] = KN_AT(d.metric.value, m.dof.metric_rowadr.data[i] + m.dof.metric_rownnz.data[i] - 1);
    }
    KN_EACH(i, nv * n8) swell[i] = 0.0f;
    KN_SYNC();
    KN_EACH(k, nv) {
        const int joint = m.dof.jntid.data[k], kind = m.jnt.type.data[joint];
        const int group = m.jnt.dofadr.data[joint] + (kind == Joint::FREE ? 3 : 0);
        const bool turns = (kind == Joint::BALL || kind == Joint::FREE) && k >= group;
        const float *s = cdof_of(k), *I = &KN_AT(d.inertia.crb, m.dof.bodyid.data[k]), *u = s + 3, *c = I + 6;
        const float dc[3] = {s[1] * c[2] - s[2] * c[1] + I[9] * u[0], s[2] * c[0] - s[0] * c[2] + I[9] * u[1],
                             s[0] * c[1] - s[1] * c[0] + I[9] * u[2]};
        const float inner = 2.0f * dot3(c, u);
        const float xx = 2.0f * (s[1] * I[4] - s[2] * I[3] - c[0] * u[0]) + inner;
        const float yy = 2.0f * (s[2] * I[3] - s[0] * I[5] - c[1] * u[1]) + inner;
        const float zz = 2.0f * (s[0] * I[5] - s[1] * I[4] - c[2] * u[2]) + inner;
        const float xy = s[1] * I[5] - s[2] * I[1] + s[2] * I[0] - s[0] * I[4] - c[0] * u[1] - c[1] * u[0];
        const float xz = s[1] * I[2] - s[2] * I[5] + s[0] * I[3] - s[1] * I[0] - c[0] * u[2] - c[2] * u[0];
        const float yz = s[2] * I[4] - s[0] * I[2] + s[0] * I[1] - s[1] * I[3] - c[1] * u[2] - c[2] * u[1];
        for (int i = m.dof.parentid.data[k]; i >= 0; i = m.dof.parentid.data[i]) {
            if (turns && i >= group) continue;
            const float *a = cdof_of(i), *b = a + 3;
            swell[i * n8 + k] = xx * a[0] * a[0] + yy * a[1] * a[1] + zz * a[2] * a[2]
                + 2.0f * (xy * a[0] * a[1] + xz * a[0] * a[2] + yz * a[1] * a[2])
                + 2.0f * (a[0] * (dc[1] * b[2] - dc[2] * b[1]) + a[1] * (dc[2] * b[0] - dc[0] * b[2]) + a[2] * (dc[0] * b[1] - dc[1] * b[0]));
        }
    }
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
