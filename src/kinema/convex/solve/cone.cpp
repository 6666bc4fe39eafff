// What one row, or the rows of one elliptic contact, add to the cost s(r): value, force, zone, slope and curvature
// along a line, and second derivative. One text for every solver, a CPU thread and a CUDA warp; of cones also for floats
// and doubles, as the residuals are.
//
//   equality       1/2 D r^2
//   friction       Huber: 1/2 D r^2 where |r| < R f, else f (|r| - R f / 2)
//   one-sided      1/2 D min(r, 0)^2                           limits, pyramid edges, frictionless contacts
//   elliptic cone  with U = (mu r_0, fri_k r_k), N = U_0, T = |U_1..|:
//                  0 on top (N >= mu T), sum of 1/2 D_k r_k^2 below (mu N + T <= 0), and between them
//                  1/2 Dm (N - mu T)^2,   Dm = D_0 / (mu^2 (1 + mu^2))

enum { EQUALITY_ROW, FRICTION_ROW, ONE_SIDED_ROW, CONE_HEAD, CONE_TAIL, NO_ROW };

auto square_root = [](auto x) -> decltype(x) {
    return sizeof(x) == sizeof(float) ? (decltype(x))sqrtf((float)x) : (decltype(x))sqrt((double)x);
};

// the zone of a cone
auto cone_zone = [](auto N, auto T, float mu) -> int {
    if (N >= mu * T || (T <= 0.0f && N >= 0.0f)) return ConstraintState::SATISFIED;
    if (mu * N + T <= 0.0f || (T <= 0.0f && N < 0.0f)) return ConstraintState::QUADRATIC;
    return ConstraintState::CONE;
};
auto cone_stiffness = [](float D, float mu) -> float { return D / (mu * mu * (1.0f + mu * mu)); };

// force and zone of a row alone at residual r; returns its cost
auto row_cost = [&](int kind, float r, float D, float f, float bound, float& force, int& zone) -> float {
    if (kind == FRICTION_ROW) {
        if (r <= -bound) { force = f; zone = ConstraintState::LINEARNEG; return -f * (0.5f * bound + r); }
        if (r >= bound) { force = -f; zone = ConstraintState::LINEARPOS; return f * (r - 0.5f * bound); }
    } else if (kind == ONE_SIDED_ROW && r >= 0.0f) {
        force = 0.0f; zone = ConstraintState::SATISFIED;
        return 0.0f;
    }
    force = -D * r; zone = ConstraintState::QUADRATIC;
    return 0.5f * D * r * r;
};

// The same for several rows at a time, without a branch: of numbers and masks that are vectors (eights.cpp). A row alone is
// quadratic between two bounds, and linear or nothing beyond them:   low      high
//     equality                                                      -inf      inf
//     friction                                                      -R f      R f
//     one-sided                                                     -inf      0
auto rows_beyond = [](auto r, auto low, auto high) { return (r <= low) | (r >= high); };
auto rows_cost = [](auto r, auto D, auto f, auto bound, auto is_friction, auto outside) {
    const decltype(r) none = {}, linear = is_friction ? f * ((r < 0.0f ? -r : r) - 0.5f * bound) : none;
    return outside ? linear : 0.5f * D * r * r;
};
auto rows_slope = [](auto r, auto D, auto f, auto low, auto outside) { return outside ? (r <= low ? -f : f) : D * r; };

// forces and zone of an elliptic contact at the residuals r of its rows; returns its cost; force may be r itself
auto cone_cost = [&](const auto* r, const float* D, float mu, const float* fri, int dim, auto* force,
                     int& zone) -> decltype(r[0] + 0.0f) {
    typedef decltype(r[0] + 0.0f) Real;
    Real U[6], T = 0.0f, cost = 0.0f;
    U[0] = r[0] * mu;
    for (int k = 1; k < dim; ++k) { U[k] = r[k] * fri[k - 1]; T += U[k] * U[k]; }
    const Real N = U[0];
    T = square_root(T);
    zone = cone_zone(N, T, mu);
    if (zone == ConstraintState::SATISFIED) {
        for (int k = 0; k < dim; ++k) force[k] = 0.0f;
    } else if (zone == ConstraintState::QUADRATIC) {
        for (int k = 0; k < dim; ++k) {
            cost += 0.5f * D[k] * r[k] * r[k];
            force[k] = -D[k] * r[k];
        }
    } else {
        const float Dm = cone_stiffness(D[0], mu);
        const Real NmT = N - mu * T;
        cost += 0.5f * Dm * NmT * NmT;
        force[0] = -Dm * NmT * mu;
        for (int k = 1; k < dim; ++k) force[k] = -force[0] / T * U[k] * fri[k - 1];
    }
    return cost;
};

// slope and curvature of a row alone at r + alpha v are added to d1 and d2; returns the change of its cost from r
auto row_line = [&](int kind, float r, float v, float D, float f, float bound, float alpha, float& d1,
                    float& d2) -> float {
    const float y = r + alpha * v;
    if (kind == EQUALITY_ROW) {
        d1 += D * y * v; d2 += D * v * v;
        return D * alpha * v * (r + 0.5f * alpha * v);
    }
    if (kind == FRICTION_ROW) {
        if (y <= -bound) d1 -= f * v;
        else if (y >= bound) d1 += f * v;
        else { d1 += D * y * v; d2 += D * v * v; }
        auto huber = [&](float z) -> float {
            return z <= -bound ? -f * (0.5f * bound + z) : z >= bound ? f * (z - 0.5f * bound) : 0.5f * D * z * z;
        };
        return huber(y) - huber(r);
    }
    if (y < 0.0f) { d1 += D * y * v; d2 += D * v * v; }
    const float lo = r < 0.0f ? r : 0.0f, hi = y < 0.0f ? y : 0.0f;
    return 0.5f * D * (hi - lo) * (hi + lo);
};

// the same for the rows of an elliptic contact
auto cone_line = [&](const auto* r, const auto* v, const float* D, float mu, const float* fri, int dim, auto alpha,
                    auto& d1, auto& d2) -> decltype(r[0] + 0.0f) {
    typedef decltype(r[0] + 0.0f) Real;
    const float Dm = cone_stiffness(D[0], mu);
    const Real U0 = r[0] * mu, V0 = v[0] * mu;
    Real UU = 0.0f, UV = 0.0f, VV = 0.0f, q0 = D[0] * r[0] * r[0], q1 = D[0] * r[0] * v[0], q2 = D[0] * v[0] * v[0];
    for (int k = 1; k < dim; ++k) {
        const Real u = r[k] * fri[k - 1], t = v[k] * fri[k - 1];
        UU += u * u; UV += u * t; VV += t * t;
        q0 += D[k] * r[k] * r[k];
        q1 += D[k] * r[k] * v[k];
        q2 += D[k] * v[k] * v[k];
    }
    auto cost_at = [&](Real s) -> Real {
        const Real N = U0 + s * V0, TT = wp::max(Real(0), UU + s * (2.0f * UV + s * VV)), T = square_root(TT);
        if (N >= mu * T || (T <= 0.0f && N >= 0.0f)) return Real(0);
        if (mu * N + T <= 0.0f) return 0.5f * q0 + s * (q1 + 0.5f * s * q2);
        return 0.5f * Dm * (N - mu * T) * (N - mu * T);
    };
    const Real N = U0 + alpha * V0, TT = UU + alpha * (2.0f * UV + alpha * VV);
    if (TT <= 0.0f) {
        if (N < 0.0f) { d1 += q1 + alpha * q2; d2 += q2; }
    } else {
        const Real T = square_root(TT);
        if (N >= mu * T) {
        } else if (mu * N + T <= 0.0f) {
            d1 += q1 + alpha * q2; d2 += q2;
        } else {
            const Real T1 = (UV + alpha * VV) / T, T2 = VV / T - (UV + alpha * VV) * T1 / TT;
            const Real n1 = V0 - mu * T1;
            d1 += Dm * (N - mu * T) * n1;
            d2 += Dm * (n1 * n1 - (N - mu * T) * mu * T2);
        }
    }
    return cost_at(alpha) - cost_at(Real(0));
};

// second derivative of the cost of an elliptic contact in the middle zone, between its rows p and q
struct Cone { float U[6], s[6], mu, T, Dm; int dim; };
auto cone_at = [&](const float* r, float D, float mu, const float* fri, int dim) -> Cone {
    Cone e;
    e.dim = dim;
    e.mu = mu;
    e.U[0] = r[0] * e.mu; e.s[0] = e.mu; e.T = 0.0f;
    for (int q = 1; q < e.dim; ++q) { e.s[q] = fri[q - 1]; e.U[q] = r[q] * e.s[q]; e.T += e.U[q] * e.U[q]; }
    e.T = sqrtf(e.T);
    e.Dm = cone_stiffness(D, mu);
    return e;
};
auto cone_entry = [](const Cone& e, int p, int q) -> float {
    float h;
    if (p == 0 && q == 0) h = 1.0f;
    else if (p == 0 || q == 0) h = -e.mu / e.T * e.U[p + q];
    else h = e.mu * e.U[0] / (e.T * e.T * e.T) * e.U[p] * e.U[q] + (p == q ? e.mu * e.mu - e.mu * e.U[0] / e.T : 0.0f);
    return e.Dm * e.s[p] * e.s[q] * h;
};

// the rows of world w: their kinds, and the friction of contacts
auto mu_of = [&](int c) -> float { return KN_AT(d.crow.mu, c); };
auto dim_of = [&](int c) -> int { return *(int*)&KN_AT(d.con.dim, c); };
auto friction_of = [&](int c) -> const float* { return &KN_AT(d.con.friction, c); };
auto is_elliptic = [&](int k) -> bool { return type[k] == Constraint::CONTACT_ELLIPTIC; };
auto kind_of = [&](int k) -> int {
    if (k < nef) return k < ne ? EQUALITY_ROW : FRICTION_ROW;
#if defined(KN_LISTED) && KN_LISTED
    if (type[k] == Constraint::EQUALITY) return EQUALITY_ROW;  // passive contact: a spring
#endif
    if (!is_elliptic(k)) return ONE_SIDED_ROW;
    return k == 0 || !is_elliptic(k - 1) || id[k - 1] != id[k] ? CONE_HEAD : CONE_TAIL;
};
