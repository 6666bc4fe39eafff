// The acceleration that solves the constraints, and how it changes with everything else, at the zones rows are in.
//
//   g(a) = A a - b - J' f(J a - aref) = 0      =>      H da = -dg,   H = A + J' S J,  S = -df/dr
//
// A and b are the mass matrix and the smooth force, or what the discrete integrator has in their place. dg is what g
// changes by when a stays, computed in duals; forces, their zones and S are those of cone.cpp. H is factored from plain
// values (KN_FACTOR), once a world; a solve takes all directions at once.
//
// Rows of models with flexes list their columns (KN_LISTED), and H is in doubles: hundreds of stiff rows hold a vertex. All
// scratch is then in d.solver.wide: residuals, the gradient, and H behind them, for which arrays of duals have room.

#if KN_LISTED
typedef wp::kn_real kn_entry;
typedef wp::dual64 kn_room;  // what the array is made of
kn_room* room = KN_ROW(kn_room, d.solver.wide);
float* r = (float*)room;
float* g = (float*)(room + d.efc.D.shape[1]);
kn_entry* H = (kn_entry*)(room + d.efc.D.shape[1] + nv);
// what row k has in which columns
auto each = [&](int k, auto&& take) {
    const float* row = J + (size_t)k * width;
    const int* at = col + (size_t)k * width;
    for (int q = 0; q < ncol[k]; ++q) take(at[q], row[q]);
};
#else
typedef wp::kn_plain kn_entry;
float* r = KN_ROW(float, d.solver.Jaref);
float* g = KN_ROW(float, d.solver.grad);
kn_entry* H = (kn_entry*)KN_ROW(char, d.solver.H);
auto each = [&](int k, auto&& take) {
    const float* row = J + (size_t)k * nv;
    int from[2], to[2];
    const int n = ranges(k, from, to);
    for (int b = 0; b < n; ++b)
        for (int i = from[b]; i < to[b]; ++i) take(i, row[i]);
};
#endif

#if KN_FACTOR
for (size_t i = 0; i < (size_t)nv * nv; ++i) H[i] = 0.0f;
for (int i = 0; i < nv; ++i)
    for (int e = KN_METRIC_ROWADR.data[i]; e < KN_METRIC_ROWADR.data[i] + KN_METRIC_ROWNNZ.data[i]; ++e) {
        const int j = KN_METRIC_COLIND.data[e];
        const kn_entry x = KN_AT(KN_METRIC, e).v;
        H[(size_t)(j <= i ? i : j) * nv + (j <= i ? j : i)] += x;
    }
auto outer = [&](kn_entry s, int p, int q) {
    each(p, [&](int i, const float& x) {
        const kn_entry xi = s * x.v;
        if (xi != 0.0f)
            each(q, [&](int j, const float& y) {
                if (j <= i) H[(size_t)i * nv + j] += xi * y.v;
            });
    });
};
#endif

const float* D = KN_ROW(float, d.efc.D);
const float* aref = KN_ROW(float, d.efc.aref);
float* a = KN_ROW(float, d.frc.qacc);
float* push = KN_ROW(float, d.frc.qfrc_constraint);
#if KN_NOSLIP  // what the engine has is the acceleration after that pass
for (int i = 0; i < nv; ++i) a[i] = KN_AT(d.dual.start, i);
#endif

// residuals at the acceleration as it is, then forces and zones
auto forces = [&]() {
    for (int k = 0; k < nefc; ++k) {
        float sum = -aref[k];
        each(k, [&](int i, const float& x) { sum += x * a[i]; });
        r[k] = sum;
    }
    for (int k = 0; k < nefc; ++k) {
        const int kind = kind_of(k), c = id[k];
        if (kind < CONE_HEAD) row_cost(kind, r[k], D[k], loss[k], R[k] * loss[k], force[k], state[k]);
        else if (kind == CONE_HEAD) {
            cone_cost(r + k, D + k, mu_of(c), friction_of(c), dim_of(c), force + k, state[k]);
            for (int q = 1; q < dim_of(c); ++q) state[k + q] = state[k];
        }
    }
    for (int i = 0; i < nv; ++i) push[i] = float(0.0);
    for (int k = 0; k < nefc; ++k)
        if (state[k] != ConstraintState::SATISFIED) each(k, [&](int i, const float& x) { push[i] += x * force[k]; });
};
forces();

#if KN_FACTOR
for (int k = 0; k < nefc; ++k) {
    const int kind = kind_of(k), c = id[k];
    if (state[k] == ConstraintState::QUADRATIC) outer(D[k].v, k, k);
    else if (state[k] == ConstraintState::CONE && kind == CONE_HEAD) {
        const Cone e = cone_at(r + k, D[k], mu_of(c), friction_of(c), dim_of(c));
        for (int p = 0; p < e.dim; ++p)
            for (int q = 0; q < e.dim; ++q) outer(cone_entry(e, p, q).v, k + p, k + q);
    }
}
for (int j = 0; j < nv; ++j) {
    kn_entry* column = H + (size_t)j * nv;
    kn_entry x = column[j];
    for (int k = 0; k < j; ++k) x -= column[k] * column[k];
    x = ::sqrt(x > 1e-15f ? x : kn_entry(1e-15f));
    column[j] = kn_entry(1) / x;
    for (int i = j + 1; i < nv; ++i) {
        kn_entry* row = H + (size_t)i * nv;
        kn_entry y = row[j];
        for (int k = 0; k < j; ++k) y -= row[k] * column[k];
        row[j] = y / x;
    }
}
#else
for (int i = 0; i < nv; ++i) g[i] = float(0.0);
for (int i = 0; i < nv; ++i) {
    for (int e = KN_METRIC_ROWADR.data[i]; e < KN_METRIC_ROWADR.data[i] + KN_METRIC_ROWNNZ.data[i]; ++e) {
        const int j = KN_METRIC_COLIND.data[e];
        const float x = KN_AT(KN_METRIC, e);
        g[i] += x * a[j];
        if (j != i) g[j] += x * a[i];
    }
}
for (int i = 0; i < nv; ++i) g[i] -= KN_AT(KN_SMOOTH, i) + push[i];
for (int i = 0; i < nv; ++i) {
    const kn_entry* row = H + (size_t)i * nv;
    for (int j = 0; j < i; ++j) g[i].t = g[i].t - wp::kn_scaled(row[j], g[j].t);
    g[i].t = wp::kn_scaled(row[i], g[i].t);
}
for (int i = nv - 1; i >= 0; --i) {
    const kn_entry* row = H + (size_t)i * nv;
    g[i].t = wp::kn_scaled(row[i], g[i].t);
    for (int j = 0; j < i; ++j) g[j].t = g[j].t - wp::kn_scaled(row[j], g[i].t);
}
for (int i = 0; i < nv; ++i) a[i].t = -g[i].t;
forces();
#endif
