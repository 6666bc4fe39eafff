// Spatial vectors, about one fixed point of a tree: motions (angular, linear), forces (moment, force), inertias.
auto crossm = [](const float* u, const float* s, float* y) {
    y[0] = u[1] * s[2] - u[2] * s[1];
    y[1] = u[2] * s[0] - u[0] * s[2];
    y[2] = u[0] * s[1] - u[1] * s[0];
    y[3] = u[1] * s[5] - u[2] * s[4] + u[4] * s[2] - u[5] * s[1];
    y[4] = u[2] * s[3] - u[0] * s[5] + u[5] * s[0] - u[3] * s[2];
    y[5] = u[0] * s[4] - u[1] * s[3] + u[3] * s[1] - u[4] * s[0];
};
auto crossf = [](const float* u, const float* f, float* y) {
    y[0] = u[1] * f[2] - u[2] * f[1] + u[4] * f[5] - u[5] * f[4];
    y[1] = u[2] * f[0] - u[0] * f[2] + u[5] * f[3] - u[3] * f[5];
    y[2] = u[0] * f[1] - u[1] * f[0] + u[3] * f[4] - u[4] * f[3];
    y[3] = u[1] * f[5] - u[2] * f[4];
    y[4] = u[2] * f[3] - u[0] * f[5];
    y[5] = u[0] * f[4] - u[1] * f[3];
};
auto inertia = [](const float* i, const float* s, float* y) {
    y[0] = i[0] * s[0] + i[3] * s[1] + i[4] * s[2] + i[7] * s[5] - i[8] * s[4];
    y[1] = i[3] * s[0] + i[1] * s[1] + i[5] * s[2] + i[8] * s[3] - i[6] * s[5];
    y[2] = i[4] * s[0] + i[5] * s[1] + i[2] * s[2] + i[6] * s[4] - i[7] * s[3];
    y[3] = i[9] * s[3] - i[7] * s[2] + i[8] * s[1];
    y[4] = i[9] * s[4] - i[8] * s[0] + i[6] * s[2];
    y[5] = i[9] * s[5] - i[6] * s[1] + i[7] * s[0];
};
auto dot3 = [](const float* a, const float* b) -> float { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
auto dot6 = [&](const float* a, const float* b) -> float { return dot3(a, b) + dot3(a + 3, b + 3); };
auto slope_of = [](const float* b, const float* a, float* y) {  // B (a, .)
    for (int r = 0; r < 3; ++r) y[r] = b[3 * r] * a[0] + b[3 * r + 1] * a[1] + b[3 * r + 2] * a[2];
    y[3] = 2.0f * (a[1] * b[11] - a[2] * b[10]);
    y[4] = 2.0f * (a[2] * b[9] - a[0] * b[11]);
    y[5] = 2.0f * (a[0] * b[10] - a[1] * b[9]);
};
auto at_point = [](const float* s, const float* r, float* y) {  // a motion vector moved by r
    for (int c = 0; c < 3; ++c) y[c] = s[c];
    y[3] = s[3] + s[1] * r[2] - s[2] * r[1];
    y[4] = s[4] + s[2] * r[0] - s[0] * r[2];
    y[5] = s[5] + s[0] * r[1] - s[1] * r[0];
};
auto centre_of = [&](int b) -> const float* { return &KN_AT(d.inertia.subtree_com, m.body.rootid.data[b]); };

// what is applied to a body from outside: forces of the user, and weights that are compensated
auto applied = [&](int b, float* f) {
    for (int c = 0; c < 6; ++c) f[c] = (&KN_AT(d.state.xfrc_applied, b))[c];
    if (weightless) {
        const float s = KN_AT(m.body.mass, b) * KN_AT(m.body.gravcomp, b);
        for (int c = 0; c < 3; ++c) f[c] -= s * KN_ROW(float, m.opt.gravity)[c];
    }
};
