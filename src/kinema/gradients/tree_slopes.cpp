// How the forces that a motion needs change with position and velocity: closed forms of recursive Newton-Euler.
//
// S_k is the motion vector of dof k, T_k its rate, v and A velocity and acceleration of a body, I its inertia, all about
// one fixed point of the tree. Moving dof k carries everything behind it along like one rigid thing, but for what that
// has inherited from before k (written v_k, A_k):
//
//   dv/dq_k = S_k x v + T_k        dA/dq_k = S_k x A + T_k x v + C_k        C_k = -S_k x A_k - T_k x v_k
//   dv/dv_k = S_k                  dA/dv_k = S_k x v + Z_k                  Z_k = 2 T_k + (turning of k's ball) x S_k
//
// so that the force f = I A + v x* (I v) of a body behind k changes by S_k x* f + I C_k + B T_k, and by B S_k + I Z_k, with
//
//   B (a, b) = (2 w x (J - tr J / 2) a - 2 c x (u x a),  2 a x p)      v = (w, u), p: momentum, J, c: of I = (J, c, mass)
//
// Sums over the subtree of a dof, F, I, B, and X of the forces from outside, give for dof k behind dof j (or of the same
// ball, which turns its own axes)
//
//   force of k, by q_j:  I S_k . C_j + B'S_k . T_j - S_j . (S_k x* X)       by v_j:  B'S_k . S_j + I S_k . Z_j
//   force of j, by q_k:  S_j . (S_k x* F + I C_k + B T_k)                   by v_k:  S_j . (B S_k + I Z_k)
//
// and of M e, for a fixed e, the same with A = sum of S e, v = 0. (Carpentier and Mansard 2018; Singh et al. 2022.)

// down: motion of bodies, what each dof inherits; `chosen` is the acceleration of the step less that of the constraints
KN_EACH(i, nv * nc8) rhs[i] = 0.0f;
KN_EACH(i, nv * n8) carried[i] = 0.0f;
for (int level = 0; level < m.size.nlevel; ++level) {
    const int first = m.tree.leveladr.data[level], count = m.tree.leveladr.data[level + 1] - first;
    KN_EACH(q, count) {
        const int b = m.tree.levelbody.data[first + q], p = m.body.parentid.data[b];
        float A[6], h[6], e[6], v[6], x[6], y[6];
        for (int c = 0; c < 6; ++c) {
            A[c] = b ? acc[6 * p + c] : 0.0f;
            h[c] = b ? hat[6 * p + c] : 0.0f;
            e[c] = b ? del[6 * p + c] : 0.0f;
            v[c] = b ? (&KN_AT(d.vel.cvel, p))[c] : 0.0f;
        }
        if (b == 0 && !(m.opt.disableflags & Disable::GRAVITY))
            for (int c = 0; c < 3; ++c) A[3 + c] = -((const float*)((char*)m.opt.gravity.data + w * (size_t)m.opt.gravity.strides[0]))[c];
        const int dofs = m.body.dofnum.data[b], start = m.body.dofadr.data[b];
        int k = start;
        while (k < start + dofs) {
            // dofs that turn together take what was before the first of them
            const int kind = m.jnt.type.data[m.dof.jntid.data[k]], of = k - m.jnt.dofadr.data[m.dof.jntid.data[k]];
            const int end = k + ((kind == Joint::BALL || (kind == Joint::FREE && of >= 3)) ? 3 : 1);
            float turning[6] = {};
            if (end > k + 1)
                for (int i = k; i < end; ++i)
                    for (int c = 0; c < 6; ++c) turning[c] += cdof_of(i)[c] * KN_AT(d.state.qvel, i);
            for (int i = k; i < end; ++i) {
                const float *S = cdof_of(i), *T = rate_of(i);
                crossm(S, A, x);
                crossm(T, v, y);
                for (int c = 0; c < 6; ++c) {
                    before[6 * i + c] = h[c];
                    C[6 * i + c] = -x[c] - y[c];
                }
                crossm(S, e, x);
                crossm(turning, S, y);
                for (int c = 0; c < 6; ++c) {
                    Ce[6 * i + c] = -x[c];
                    Z[6 * i + c] = 2.0f * T[c] + y[c];
                }
            }
            for (; k < end; ++k) {
                const float *S = cdof_of(k), *T = rate_of(k);
                const float a = KN_AT(d.frc.qacc, k), u = KN_AT(d.state.qvel, k), more = chosen[k];
                for (int c = 0; c < 6; ++c) {
                    A[c] += S[c] * a + T[c] * u;
                    h[c] += S[c] * a;
                    e[c] += S[c] * more;
                    v[c] += S[c] * u;
                }
            }
        }
        const float *I = &KN_AT(d.inertia.cinert, b), *u = &KN_AT(d.vel.cvel, b);
        float p6[6];
        inertia(I, u, p6);
        inertia(I, A, x);
        crossf(u, p6, y);
        inertia(I, e, p6 + 0);
        for (int c = 0; c < 6; ++c) {
            acc[6 * b + c] = A[c];
            hat[6 * b + c] = h[c];
            del[6 * b + c] = e[c];
            frc[6 * b + c] = b ? x[c] + y[c] : 0.0f;
            fre[6 * b + c] = b ? p6[c] : 0.0f;
            ext[6 * b + c] = 0.0f;
        }
        // B: 9 numbers above, momentum below
        float* B = slope + 12 * b;
        const float half = 0.5f * (I[0] + I[1] + I[2]);
        const float J[9] = {I[0] - half, I[3], I[4], I[3], I[1] - half, I[5], I[4], I[5], I[2] - half};
        const float t = I[6] * u[3] + I[7] * u[4] + I[8] * u[5];
        for (int c = 0; c < 3; ++c) {  // column c: 2 w x J_c - 2 (u (c . e_c) - e_c (c . u)), as c x (u x e) = u (c.e) - e (c.u)
            const float *g = J + 3 * c;
            B[c] = 2.0f * (u[1] * g[2] - u[2] * g[1] - u[3] * I[6 + c]);
            B[3 + c] = 2.0f * (u[2] * g[0] - u[0] * g[2] - u[4] * I[6 + c]);
            B[6 + c] = 2.0f * (u[0] * g[1] - u[1] * g[0] - u[5] * I[6 + c]);
            B[4 * c] += 2.0f * t;
        }
        inertia(I, u, p6);
        for (int c = 0; c < 3; ++c) B[9 + c] = p6[3 + c];
    }
    KN_SYNC();
}

// forces from outside, about the point of the tree: applied ones and weights that are compensated, contacts, connects
KN_EACH(b, nb) {
    float f[6];
    applied(b, f);
    const float *x = &KN_AT(d.pose.xipos, b), *o = centre_of(b);
    const float r[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
    float* X = ext + 6 * b;
    X[0] = f[3] + r[1] * f[2] - r[2] * f[1];
    X[1] = f[4] + r[2] * f[0] - r[0] * f[2];
    X[2] = f[5] + r[0] * f[1] - r[1] * f[0];
    for (int c = 0; c < 3; ++c) X[3 + c] = f[c];
}
KN_SYNC();
for (int c = 0; c < ncon; ++c) {
    const int row = address_of(c);
    if (row < 0) continue;
    float phi[6], F[3], M[3];
    forces_of(c, row, phi);
    const float* e = frame_of(c);
    for (int a = 0; a < 3; ++a) {
        F[a] = e[a] * phi[0] + e[3 + a] * phi[1] + e[6 + a] * phi[2];
        M[a] = e[a] * phi[3] + e[3 + a] * phi[4] + e[6 + a] * phi[5];
    }
    KN_EACH(q, 2) {
        const int b = (&KN_INT(d.crow.bodies, c))[q];
        const float *x = &KN_AT(d.con.pos, c), *o = centre_of(b), sign = q ? 1.0f : -1.0f;
        const float r[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
        float* X = ext + 6 * b;
        X[0] += sign * (M[0] + r[1] * F[2] - r[2] * F[1]);
        X[1] += sign * (M[1] + r[2] * F[0] - r[0] * F[2]);
        X[2] += sign * (M[2] + r[0] * F[1] - r[1] * F[0]);
        for (int a = 0; a < 3; ++a) X[3 + a] += sign * F[a];
    }
    KN_SYNC();
}

for (int c = 0; constrained && c < points.shape[1]; ++c) {
    const float* given = anchor_of(c);
    const int row = (int)given[8];
    if (row < 0) continue;
    KN_EACH(q, 2) {
        const int b = (int)given[6 + q];
        const float *x = given + 3 * q, *o = centre_of(b), sign = q ? -1.0f : 1.0f;
        const float r[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]}, *F = force + row;
        float* X = ext + 6 * b;
        X[0] += sign * (r[1] * F[2] - r[2] * F[1]);
        X[1] += sign * (r[2] * F[0] - r[0] * F[2]);
        X[2] += sign * (r[0] * F[1] - r[1] * F[0]);
        for (int a = 0; a < 3; ++a) X[3 + a] += sign * F[a];
    }
    KN_SYNC();
}

// up: sums over subtrees
for (int level = m.size.nlevel - 2; level > 0; --level) {
    const int first = m.tree.leveladr.data[level], count = m.tree.leveladr.data[level + 1] - first;
    KN_EACH(q, count) {
        const int b = m.tree.levelbody.data[first + q];
        for (int s = m.body.childadr.data[b]; s < m.body.childadr.data[b] + m.body.childnum.data[b]; ++s) {
            const int k = m.body.child.data[s];
            for (int c = 0; c < 6; ++c) {
                frc[6 * b + c] += frc[6 * k + c];
                fre[6 * b + c] += fre[6 * k + c];
                ext[6 * b + c] += ext[6 * k + c];
            }
            for (int c = 0; c < 12; ++c) slope[12 * b + c] += slope[12 * k + c];
        }
    }
    KN_SYNC();
}

// of each dof
KN_EACH(k, nv) {
    const int b = m.dof.bodyid.data[k];
    const float *S = cdof_of(k), *T = rate_of(k), *I = &KN_AT(d.inertia.crb, b), *B = slope + 12 * b;
    float x[6], y[6], z[6];
    inertia(I, S, U + 6 * k);
    crossf(S, ext + 6 * b, Y + 6 * k);
    for (int c = 0; c < 3; ++c) W[3 * k + c] = B[c] * S[0] + B[3 + c] * S[1] + B[6 + c] * S[2];
    W[3 * k] += 2.0f * (B[10] * S[5] - B[11] * S[4]);
    W[3 * k + 1] += 2.0f * (B[11] * S[3] - B[9] * S[5]);
    W[3 * k + 2] += 2.0f * (B[9] * S[4] - B[10] * S[3]);
    crossf(S, frc + 6 * b, x);
    inertia(I, C + 6 * k, y);
    slope_of(B, T, z);
    for (int c = 0; c < 6; ++c) Gq[6 * k + c] = x[c] + y[c] + z[c];
    slope_of(B, S, x);
    inertia(I, Z + 6 * k, y);
    for (int c = 0; c < 6; ++c) Gv[6 * k + c] = x[c] + y[c];
    crossf(S, fre + 6 * b, x);
    inertia(I, Ce + 6 * k, y);
    for (int c = 0; c < 6; ++c) Ge[6 * k + c] = x[c] + y[c];
}
KN_SYNC();

// of each pair of a dof and one before it: the right side is minus the change of the force that is needed
KN_EACH(k, nv) {
    const int joint = m.dof.jntid.data[k], kind = m.jnt.type.data[joint];
    const int first = m.jnt.dofadr.data[joint] + (kind == Joint::FREE ? 3 : 0);
    const bool turns = (kind == Joint::BALL || kind == Joint::FREE) && k >= first;
    const float* Sk = cdof_of(k);
    for (int j = k; j >= 0; j = m.dof.parentid.data[j]) {
        const float *Sj = cdof_of(j), *Tj = rate_of(j);
        rhs[k * nc8 + j] = dot6(Sj, Y + 6 * k) - dot6(U + 6 * k, C + 6 * j) - dot3(W + 3 * k, Tj);
        rhs[k * nc8 + nv + j] = -dot3(W + 3 * k, Sj) - dot6(U + 6 * k, Z + 6 * j);
        carried[k * n8 + j] = dot6(U + 6 * k, Ce + 6 * j);
        if (j == k) continue;
        if (turns && j >= first) {
            rhs[j * nc8 + k] = dot6(Sk, Y + 6 * j) - dot6(U + 6 * j, C + 6 * k) - dot3(W + 3 * j, rate_of(k));
            carried[j * n8 + k] = dot6(U + 6 * j, Ce + 6 * k);
        } else {
            rhs[j * nc8 + k] = -dot6(Sj, Gq + 6 * k);
            carried[j * n8 + k] = dot6(Sj, Ge + 6 * k);
        }
        rhs[j * nc8 + nv + k] = -dot6(Sj, Gv + 6 * k);
    }
}
KN_SYNC();

// applied forces stay as they are while the bodies they act on move
for (int b = 1; b < nb; ++b) {
    float f[6];
    applied(b, f);
    if (f[0] == 0.0f && f[1] == 0.0f && f[2] == 0.0f) continue;
    const float *x = &KN_AT(d.pose.xipos, b), *o = centre_of(b);
    const float r[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
    KN_EACH(k, nv) {
        if (b < m.dof.bodyid.data[k] || b >= m.dof.bodyend.data[k]) continue;
        const float* S = cdof_of(k);
        const float y[3] = {S[3] + S[1] * r[2] - S[2] * r[1], S[4] + S[2] * r[0] - S[0] * r[2], S[5] + S[0] * r[1] - S[1] * r[0]};
        const float t[3] = {y[1] * f[2] - y[2] * f[1], y[2] * f[0] - y[0] * f[2], y[0] * f[1] - y[1] * f[0]};
        for (int j = 0; j < nv; ++j)
            if (b >= m.dof.bodyid.data[j] && b < m.dof.bodyend.data[j]) rhs[j * nc8 + k] += dot3(cdof_of(j), t);
    }
    KN_SYNC();
}
auto turning_slope = [&](int first, float* N) {  // d(bias)/dv of a free body on its own
    for (int k = 0; k < 36; ++k) N[k] = -rhs[(first + k / 6) * nc8 + nv + first + k % 6];
};
