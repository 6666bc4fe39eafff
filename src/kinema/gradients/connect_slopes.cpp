// How the forces of connects change with position, in continuous time: F = -D (a + b v + s r), s = k d(|r|), of the
// accelerations a, velocities v and places x of two points, a = a_1 - a_2, v = v_1 - v_2, r = x_1 - x_2:
//
//   dF = -D (da + b dv + s dr + s' r dn) + s_D F dn,   dn = dr . r / |r|
//
// A point at R from the centre of its tree, on a body with motion V = (w, u) and acceleration A (tree_slopes.cpp), has
// x' = u + w x R and x'' = lin A + ang A x R + w x x'; moving dof k carries it by dx = S_k at R, and
//
//   dV = S_k x V + T_k,   dA = S_k x A + T_k x V + C_k,   dx' = du + dw x R + w x dx,   dx'' likewise
//
// The force acts at a point that goes with the body, as an applied one does: tree_slopes.cpp has it among those, and here
// its lever changes by dx. `anchor_slopes.py` gives the points, s, s' and s_D.
for (int e = 0; constrained && e < points.shape[1]; ++e) {
    const float* given = anchor_of(e);
    const int row = (int)given[8];
    if (row < 0) continue;
    const int body[2] = {(int)given[6], (int)given[7]};
    const float F[3] = {force[row], force[row + 1], force[row + 2]}, damper = row_slope[3 * row + 1];
    const float r[3] = {given[0] - given[3], given[1] - given[4], given[2] - given[5]};
    const float gap = sqrtf(dot3(r, r)), inverse = gap > 1e-15f ? 1.0f / gap : 0.0f;
    const int n = gather_dofs(body[0], body[1], [&](int k, float* y) {
        for (int i = 0; i < 6; ++i) {
            y[i] = cdof_of(k)[i];
            y[6 + i] = rate_of(k)[i];
            y[12 + i] = C[6 * k + i];
        }
    });
    auto cross = [](const auto* a, const auto* b, V* y) {  // y += a x b
        for (int i = 0; i < 3; ++i) y[i] += a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    };
    KN_COLUMNS(k, n) {
        V p[6], q[6], dr[3], dv[3], da[3];
        for (int i = 0; i < 6; ++i) { p[i] = load(P + i * n8 + k); q[i] = load(Pd + i * n8 + k); }
        const V zero = 0.0f * p[0];
        for (int i = 0; i < 3; ++i) dr[i] = dv[i] = da[i] = zero;
        for (int side = 0; side < 2; ++side) {
            const V on = load((side ? on2 : on1) + k);
            const float *v = &KN_AT(d.vel.cvel, body[side]), *A = acc + 6 * body[side], *o = centre_of(body[side]);
            const float R[3] = {given[3 * side] - o[0], given[3 * side + 1] - o[1], given[3 * side + 2] - o[2]};
            float rate[3];
            for (int i = 0; i < 3; ++i) rate[i] = v[3 + i] + v[(i + 1) % 3] * R[(i + 2) % 3] - v[(i + 2) % 3] * R[(i + 1) % 3];
            V motion[6], bend[6], dx[3], rates[3], bends[3];
            for (int i = 0; i < 6; ++i) { motion[i] = q[i]; bend[i] = load(Ph + i * n8 + k); }
            cross(p, v, motion);
            cross(p, v + 3, motion + 3);
            cross(p + 3, v, motion + 3);
            cross(p, A, bend);
            cross(p, A + 3, bend + 3);
            cross(p + 3, A, bend + 3);
            cross(q, v, bend);
            cross(q, v + 3, bend + 3);
            cross(q + 3, v, bend + 3);
            for (int i = 0; i < 3; ++i) { dx[i] = p[3 + i]; rates[i] = motion[3 + i]; bends[i] = bend[3 + i]; }
            cross(p, R, dx);
            cross(motion, R, rates);
            cross(v, dx, rates);
            cross(bend, R, bends);
            cross(A, dx, bends);
            cross(motion, rate, bends);
            cross(v, rates, bends);
            const V sign = side ? -on : on;
            for (int i = 0; i < 3; ++i) {
                dr[i] += sign * dx[i];
                dv[i] += sign * rates[i];
                da[i] += sign * bends[i];
                store(turn + (3 * side + i) * n8 + k, sign * dx[i]);
            }
        }
        const V dn = inverse * (r[0] * dr[0] + r[1] * dr[1] + r[2] * dr[2]);
        for (int i = 0; i < 3; ++i) {
            const V change = da[i] - damper * dv[i] + given[9] * dr[i] + given[10] * r[i] * dn;
            store(pull + i * n8 + k, given[11] * F[i] * dn - D[row + i] * change);
        }
    }
    KN_SYNC();
    KN_COLUMNS(k, n) {
        V lever[6];  // what the moved force turns by, on each side
        for (int i = 0; i < 6; ++i) {
            const float* dx = turn + 3 * (i / 3) * n8 + k;
            const int a = (i + 1) % 3, b = (i + 2) % 3;
            lever[i] = load(dx + a * n8) * F[b] - load(dx + b * n8) * F[a];
        }
        for (int j = 0; j < n; ++j) {
            V y = 0.0f * lever[0];
            for (int i = 0; i < 3; ++i) {
                y += J[(size_t)(row + i) * nv + chain[j]] * load(pull + i * n8 + k);
                y += P[i * n8 + j] * (on1[j] * lever[i] + on2[j] * lever[3 + i]);
            }
            float* to = rhs + chain[j] * nc8;
#if defined(__CUDA_ARCH__)
            to[chain[k]] += y;
#else
            for (int l = 0; l < 8 && k + l < n; ++l) to[chain[k + l]] += y[l];
#endif
        }
    }
    KN_SYNC();
}
