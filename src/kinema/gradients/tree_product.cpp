// Trees in a product. Of the power of all forces along y, Y the motion that y gives a body (motions.cpp), a body has
//
//   Y . (X - f),   f = I A + v x* (I v),   X: forces from outside
//
// Moving dof k carries Y, A, v and f behind it like one rigid thing, which changes nothing, but for what they have inherited
// from before k (tree_slopes.cpp); and X does not go along. With sums over what is behind k,
//
//   P = sum of I Y,   Q = sum of n - B'Y,   G = sum of f - X,   V = sum of Y x* X + v x* n + hat x* n_a + what moves with S
//
// where n and n_a are forces that go with dv and with d(J) a (contact_product.cpp), N the sum of the latter, and Y_k, A_k,
// v_k, hat_k what k inherits,
//
//   by q_k:  S_k . (V + Y_k x* G + A_k x* P - hat_k x* N)  +  T_k . (Q + v_k x* P)
//   by v_k:  S_k . Q - Z_k . P,        Z_k = 2 T_k + (turning of k's ball) x S_k
//
// and of -z . d(M e), with F = sum of I e, R = sum of I z's motion:  by q_k:  S_k . (Z'_k x* F + E_k x* R), Z' and E inherited.
// Forces along dA, of connects, are taken off P, and v and A of their own body then go to Q and V. Three sweeps, whatever
// the number of dofs: down (motions.cpp), and up here.
KN_EACH(b, nb) {
    if (b == 0) continue;
    const float *I = &KN_AT(d.inertia.cinert, b), *v = &KN_AT(d.vel.cvel, b), *A = move_of(b, A_AT), *Y = move_of(b, Y_AT);
    float *G = bear_of(b, G_AT), *P = bear_of(b, P_AT), *Q = bear_of(b, Q_AT), *V = bear_of(b, V_AT), *N = bear_of(b, N_AT);
    float X[6], f[6], s[6], r[3], p[6], turned[3] = {}, arm[3] = {}, half = 0.5f * (I[0] + I[1] + I[2]);
    applied(b, s);
    offset_to(&KN_AT(d.pose.xipos, b), b, r);
    const float push[6] = {s[3], s[4], s[5], s[0], s[1], s[2]};  // of the user: it stays while its place moves
    float lever[6] = {};
    for (int c = 0; c < 6; ++c) X[c] = G[c];
    push_at(r, push, 1.0f, X);
    cross3(push + 3, Y, 1.0f, lever + 3);
    push_at(r, lever, 1.0f, V);
    auto add_crossf = [&](const float* u, const float* f, float sign, float* y) {
        crossf(u, f, s);
        for (int c = 0; c < 6; ++c) y[c] += sign * s[c];
    };
    add_crossf(Y, X, 1.0f, V);
    add_crossf(v, Q, 1.0f, V);
    add_crossf(A, P, -1.0f, V);
    add_crossf(move_of(b, HAT_AT), N, 1.0f, V);
    add_crossf(v, P, -1.0f, Q);
    inertia(I, v, p);
    inertia(I, A, f);
    add_crossf(v, p, 1.0f, f);
    for (int c = 0; c < 6; ++c) G[c] = f[c] - X[c];
    inertia(I, Y, s);
    for (int c = 0; c < 6; ++c) P[c] += s[c];
    // B'Y = 2 (J - tr J / 2) (Y x w) - 2 (Y x c) x u + 2 p x Y's shift
    cross3(Y, v, 2.0f, turned);
    cross3(Y, I + 6, -2.0f, arm);
    Q[0] -= (I[0] - half) * turned[0] + I[3] * turned[1] + I[4] * turned[2];
    Q[1] -= I[3] * turned[0] + (I[1] - half) * turned[1] + I[5] * turned[2];
    Q[2] -= I[4] * turned[0] + I[5] * turned[1] + (I[2] - half) * turned[2];
    cross3(arm, v + 3, -1.0f, Q);
    cross3(p + 3, Y + 3, -2.0f, Q);
    if (!damped) continue;
    inertia(I, move_of(b, E_AT), bear_of(b, F_AT));
    inertia(I, move_of(b, Z_AT), bear_of(b, R_AT));
}
KN_SYNC();
KN_EACH(q, damped ? FORCES : F_AT)
    for (int b = nb - 1; b > 0; --b) bears[FORCES * m.body.parentid.data[b] + q] += bears[FORCES * b + q];
KN_SYNC();
KN_EACH(k, nv) {
    const int b = m.dof.bodyid.data[k], p = m.body.parentid.data[b], begin = first_of(k);
    const float *S = cdof_of(k), *T = rate_of(k), *P = bear_of(b, P_AT), *Q = bear_of(b, Q_AT);
    float v[6], turning[6] = {}, f[6], t[6], x[6];
    for (int c = 0; c < 6; ++c) {
        v[c] = (&KN_AT(d.vel.cvel, p))[c];
        f[c] = bear_of(b, V_AT)[c];
        t[c] = Q[c];
    }
    auto inherits = [&](int move, int force, float sign) {  // f += what dof k inherits of a motion, x* a force
        float s[6];
        for (int c = 0; c < 6; ++c) s[c] = move_of(p, move)[c];
        for (int i = m.body.dofadr.data[b]; i < begin; ++i) {
            for (int c = 0; c < 6; ++c) s[c] += cdof_of(i)[c] * rates_of(move)[i];
            if (move == A_AT)
                for (int c = 0; c < 6; ++c) s[c] += rate_of(i)[c] * speed[i];
        }
        crossf(s, bear_of(b, force), x);
        for (int c = 0; c < 6; ++c) f[c] += sign * x[c];
    };
    inherits(Y_AT, G_AT, 1.0f);
    inherits(A_AT, P_AT, 1.0f);
    inherits(HAT_AT, N_AT, -1.0f);
    if (damped) {
        inherits(Z_AT, F_AT, 1.0f);
        inherits(E_AT, R_AT, 1.0f);
    }
    for (int i = m.body.dofadr.data[b]; i < begin; ++i)
        for (int c = 0; c < 6; ++c) v[c] += cdof_of(i)[c] * speed[i];
    crossf(v, P, x);
    for (int c = 0; c < 6; ++c) t[c] += x[c];
    to[k] += dot6(S, f) + dot6(T, t) + passed[k];
    if (turns_with_others(k))
        for (int i = begin; i < begin + 3; ++i)
            for (int c = 0; c < 6; ++c) turning[c] += cdof_of(i)[c] * speed[i];
    crossf(turning, P, x);
    to[nv + k] += dot6(S, Q) + dot6(S, x) - 2.0f * dot6(T, P) + passed[nv + k];
}
KN_SYNC();
