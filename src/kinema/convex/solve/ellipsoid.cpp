// Friction of one contact for a given normal force, as dual.cpp asks for it: the least cost within an ellipsoid.

// Newton's method for the multiplier la of an ellipsoid:  (S + la) x = -h,  |x| <= normal.  L holds the factor, t what x
// changes by with -la. false: S + la is singular, which MuJoCo tells by the determinant of two or three rows, and by each
// pivot of five. Rows about which nothing turns have pivots near 0, and light bodies large ones beside them. Where friction
// turns and rolls, S spans eight decades and MuJoCo's twenty steps may end far from the ellipsoid: the answer is where they
// end, so its derivative is that of the steps themselves.
auto ellipsoidal = [&](int n, const auto* S, const auto* h, auto normal, auto* x, auto& la) -> bool {
    decltype(x[0] + x[0]) L[25], t[5];
    for (int iter = 0; iter < 20; ++iter) {
        decltype(x[0] + x[0]) determinant = 1.0;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j) {
                auto s = S[i * n + j];
                if (i == j) s += la;
                for (int k = 0; k < j; ++k) s -= L[i * n + k] * L[j * n + k];
                if (i == j) {
                    determinant *= s;
                    const bool small = n > 3 ? s < 1e-10 : i == n - 1 && determinant < 1e-10;
                    if (small || !(s > 0.0)) return false;
                    L[i * n + i] = sqrt(s);
                } else {
                    L[i * n + j] = s / L[j * n + j];
                }
            }
        auto solve = [&](const auto* rhs, auto* out) {
            for (int i = 0; i < n; ++i) {
                auto s = rhs[i];
                for (int k = 0; k < i; ++k) s -= L[i * n + k] * out[k];
                out[i] = s / L[i * n + i];
            }
            for (int i = n - 1; i >= 0; --i) {
                auto s = out[i];
                for (int k = i + 1; k < n; ++k) s -= L[k * n + i] * out[k];
                out[i] = s / L[i * n + i];
            }
        };
        solve(h, x);
        decltype(x[0] + x[0]) value = -normal * normal, slope = 0.0;
        for (int i = 0; i < n; ++i) { x[i] = -x[i]; value += x[i] * x[i]; }
        if (value < 1e-10) break;
        solve(x, t);
        for (int i = 0; i < n; ++i) slope -= 2.0 * x[i] * t[i];
        const auto step = -value / slope;
        if (step < 1e-10) break;
        la += step;
    }
    return true;
};
// the tangential force that minimizes 1/2 x'Ax + g'x within the ellipsoid sum (x_j / mu_j)^2 <= normal^2
auto tangential = [&](int n, const double* A, const double* g, const float* mu, double normal, double* x) {
    double S[25], h[5], la = 0.0;
    for (int i = 0; i < n; ++i) {
        h[i] = g[i] * (double)mu[i];
        for (int j = 0; j < n; ++j) S[i * n + j] = A[i * n + j] * (double)mu[i] * (double)mu[j];
    }
    const bool regular = ellipsoidal(n, S, h, normal, x, la), bound = la != 0.0;
    if (!regular) { for (int i = 0; i < n; ++i) x[i] = 0.0; return; }
    double length = 0.0;
    for (int i = 0; i < n; ++i) length += x[i] * x[i];
    const double onto = bound ? normal / sqrt(length > 1e-30 ? length : 1e-30) : 1.0;  // Newton stops a little short
    for (int i = 0; i < n; ++i) x[i] *= onto * (double)mu[i];
};
// Change of cost from old to new forces; a change for the worse is undone. Friction of a contact, a float, may stand outside
// its ellipsoid by rounding, where costs are less: what counts is the change from the ellipsoid. tail: its n - tail .. n - 1
auto gain = [&](int n, const double* A, const double* res, const double* old, int tail, const float* mu, double normal,
                double* now) -> KN_REAL {
    KN_REAL change = 0.0, length = 0.0, delta[6];
    for (int i = 0; i < n; ++i) delta[i] = KN_VALUE(now[i]) - KN_VALUE(old[i]);
    for (int i = n - tail, k = 0; k < tail; ++i, ++k) {
        const KN_REAL x = KN_VALUE(old[i]) / KN_VALUE(mu[k]);
        length += x * x;
    }
    const KN_REAL beyond = length > KN_VALUE(normal) * KN_VALUE(normal) ? 1.0 - KN_VALUE(normal) / sqrt(length) : 0.0;
    if (beyond < 1e-5) for (int i = n - tail; i < n; ++i) delta[i] += beyond * KN_VALUE(old[i]);
    for (int i = 0; i < n; ++i) {
        KN_REAL s = 0.0;
        for (int j = 0; j < n; ++j) s += KN_VALUE(A[i * n + j]) * delta[j];
        change += delta[i] * (0.5 * s + KN_VALUE(res[i]));
    }
    if (change > 1e-10) { for (int i = 0; i < n; ++i) now[i] = old[i]; return 0.0; }
    return -change;
};
