// d(bias)/dv of a free body on its own, S_r . (B S_c + I Z_c), with the names of tree_slopes.cpp.
auto turning_slope = [&](int first, float* N) {
    const int b = m.dof.bodyid.data[first];
    const float *I = &KN_AT(d.inertia.crb, b), *v = &KN_AT(d.vel.cvel, b), half = 0.5f * (I[0] + I[1] + I[2]);
    float p[6], turning[6] = {};
    inertia(I, v, p);
    for (int i = first + 3; i < first + 6; ++i)
        for (int a = 0; a < 6; ++a) turning[a] += cdof_of(i)[a] * speed[i];
    KN_ROLLED for (int c = 0; c < 6; ++c) {
        const float *S = cdof_of(first + c), *T = rate_of(first + c);
        float Z[6] = {}, f[6];
        if (c >= 3) crossm(turning, S, Z);
        for (int a = 0; a < 6; ++a) Z[a] += 2.0f * T[a];
        inertia(I, Z, f);
        const float spin[3] = {(I[0] - half) * S[0] + I[3] * S[1] + I[4] * S[2], I[3] * S[0] + (I[1] - half) * S[1] + I[5] * S[2],
                               I[4] * S[0] + I[5] * S[1] + (I[2] - half) * S[2]};
        const float *u = v + 3, *o = I + 6, shift[3] = {u[1] * S[2] - u[2] * S[1], u[2] * S[0] - u[0] * S[2], u[0] * S[1] - u[1] * S[0]};
        for (int i = 0; i < 3; ++i) {
            const int a = (i + 1) % 3, e = (i + 2) % 3;
            f[i] += 2.0f * (v[a] * spin[e] - v[e] * spin[a]) - 2.0f * (o[a] * shift[e] - o[e] * shift[a]);
            f[3 + i] += 2.0f * (S[a] * p[3 + e] - S[e] * p[3 + a]);
        }
        for (int r = 0; r < 6; ++r) N[6 * r + c] = dot6(cdof_of(first + r), f);
    }
};
