// Newton's method for one world of very many dofs, and conjugate gradients for any: no dense matrix.
//
//   minimize over a:   1/2 (a - a_s)' M (a - a_s) + s(J a - aref)
//
// The problem, the maths of rows and the line search are those of primal.cpp. What differs is what is stored:
//
//   J   row k has ncol[k] entries, in the columns col[k] (KN_LISTED 1); or the columns of one or two trees (rows.cpp)
//   M   sparse rows, as the model lists them; M x goes by the rows of the full matrix, M^-1 g by the factor of M
//   H   in rows of runs: Newton's matrix has, in row k, the columns below k that rows, M, or elimination from the last
//       dof to the first couple with k (factor_runs.cpp)
//
//
//   KN_NEWTON 1:  H x = -g,  H = M + J' (d2s/dr2) J
//   KN_NEWTON 0:  x = -M^-1 g + beta x_last,  beta by Hager and Zhang
//
// and that vectors and sums are doubles. Hundreds of stiff rows pull at a vertex, and what is left of them is small:
// gradients made of floats end a search before it has come as far as MuJoCo's. So do directions that must be conjugate to
// those before them, of which floats forget half after some twenty. Matrices stay floats, which are what is read most. On
// CUDA a block of KN_TEAM threads works on the world, and gathers J' f dof by dof (gather_rows.cpp).

#include "lanes.cpp"
#include "wide_lanes.cpp"

if (nefc == 0 || nv == 0) {
    KN_EACH(i, nv) {
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
    if (lane == 0) KN_ROW(int, d.solver.niter)[0] = 0;
    return;
}

const int ntree = m.size.ntree;
const int* tree_of = m.dof.treeid.data;
const float* given = KN_ROW(float, d.efc.D);
const float* aref = KN_ROW(float, d.efc.aref);
#if KN_LISTED
#include "listed_rows.cpp"
#else
#include "rows.cpp"
#endif
double* a = KN_ROW(double, d.solver.wide);  // the acceleration, M a, M x, the gradient, the search direction
double *Ma = a + nv, *Mv = Ma + nv, *g = Mv + nv, *x = g + nv;
double *r = x + nv, *v = r + nefc, *f = v + nefc;  // of rows: J a - aref, J x, and the force
#if KN_NEWTON
float* D = (float*)(f + nefc);  // a copy, which may be softened: soften.cpp
KN_EACH(k, nefc) D[k] = given[k];
#else
const float* D = given;
double *g_last = f + nefc, *z = g_last + nv, *z_last = z + nv;
#endif

#if KN_LANES > 1
#include "team_islands.cpp"
#elif KN_LISTED
#include "sparse_islands.cpp"
#else
#include "islands.cpp"
#endif
#if KN_LISTED
auto row_by = [&](int k, const double* p) -> double {  // (J p)_k
    const float* row = J + (size_t)k * width;
    const int* at = col + (size_t)k * width;
    double s = 0.0;
    for (int q = 0, n = ncol[k]; q < n; ++q) s += row[q] * p[at[q]];
    return s;
};
#else
#include "wide_rows.cpp"
#endif
auto mass_at = [&](int entry) -> float { return entry < 0 ? 0.0f : KN_AT(KN_METRIC, entry); };
#if KN_DISCRETE
const auto* full = m.dof.metric_full.data;  // rows: where they begin, then columns and entries
auto mass_times = [&](int i, const double* p) -> double {  // (M p)_i
    double s = 0.0;
    for (int k = full[i][0], end = full[i + 1][0]; k < end; ++k) s += mass_at(full[k][1]) * p[full[k][0]];
    return s;
};
#else
const int* full_adr = m.dof.D_rowadr.data;
const int* full_num = m.dof.D_rownnz.data;
const int* full_col = m.dof.D_colind.data;
const int* entry_of = m.dof.mapM2D.data;
auto mass_times = [&](int i, const double* p) -> double {  // (M p)_i
    double s = 0.0;
    for (int k = full_adr[i], end = k + full_num[i]; k < end; ++k) s += mass_at(entry_of[k]) * p[full_col[k]];
    return s;
};
#endif
auto diagonal = [&](int i) -> float { return mass_at(KN_METRIC_ROWADR.data[i] + KN_METRIC_ROWNNZ.data[i] - 1); };

// force, state and cost of row i at residual r; all rows of an elliptic contact are done with the first
auto update = [&](int i) -> double {
    const int kind = kind_of(i);
    if (kind == CONE_HEAD) {
        const int c = id[i], dim = dim_of(c);
        int zone;
        const double cost = cone_cost(r + i, D + i, mu_of(c), friction_of(c), dim, f + i, zone);
        for (int k = 0; k < dim; ++k) state[i + k] = zone;
        return cost;
    }
    if (kind > CONE_HEAD) return 0.0;
    const double bound = (double)R[i] * loss[i];
    if (kind == FRICTION_ROW && fabs(r[i]) >= bound) {
        f[i] = r[i] < 0.0 ? loss[i] : -loss[i];
        state[i] = r[i] < 0.0 ? ConstraintState::LINEARNEG : ConstraintState::LINEARPOS;
        return loss[i] * (fabs(r[i]) - 0.5 * bound);
    }
    const bool off = kind == ONE_SIDED_ROW && r[i] >= 0.0;
    f[i] = off ? 0.0 : -D[i] * r[i];
    state[i] = off ? ConstraintState::SATISFIED : ConstraintState::QUADRATIC;
    return off ? 0.0 : 0.5 * D[i] * r[i] * r[i];
};
// change of the cost of row i from r to r + alpha v; its slope and curvature there are added to d1 and d2
auto along = [&](int i, double alpha, double& d1, double& d2) -> double {
    const int kind = kind_of(i);
    if (kind == CONE_HEAD) {
        const int c = id[i];
        return cone_line(r + i, v + i, D + i, mu_of(c), friction_of(c), dim_of(c), alpha, d1, d2);
    }
    if (kind > CONE_HEAD) return 0.0;
    const double y = r[i] + alpha * v[i], bound = (double)R[i] * loss[i];
    if (kind == FRICTION_ROW) {
        if (fabs(y) >= bound) d1 += (y < 0.0 ? -loss[i] : loss[i]) * v[i];
        else { d1 += D[i] * y * v[i]; d2 += D[i] * v[i] * v[i]; }
        auto huber = [&](double p) -> double {
            return fabs(p) >= bound ? loss[i] * (fabs(p) - 0.5 * bound) : 0.5 * D[i] * p * p;
        };
        return huber(y) - huber(r[i]);
    }
    const bool always = kind == EQUALITY_ROW;
    if (always || y < 0.0) { d1 += D[i] * y * v[i]; d2 += D[i] * v[i] * v[i]; }
    const double lo = always || r[i] < 0.0 ? r[i] : 0.0, hi = always || y < 0.0 ? y : 0.0;
    return 0.5 * D[i] * (hi - lo) * (hi + lo);
};
#if KN_LANES == 1
#include "wide_eights.cpp"
#endif
auto start_at = [&]() -> double {
#if KN_LANES == 1
    bool moved = false;
    multiply_run(0, nefc, a, r);
    for (int i = 0; i < nefc; ++i) r[i] -= aref[i];
    return settle_run(0, nefc, moved);
#else
    KN_SYNC();
    KN_EACH(i, nefc) r[i] = row_by(i, a) - aref[i];
    KN_SYNC();
    double cost = 0.0;
    KN_EACH(i, nefc) cost += update(i);
    KN_WIDE_SUM(cost);
    return cost;
#endif
};

{  // the better start: the unconstrained acceleration, or the last one; where that is worse, the former once more
    double smooth = 0.0;
    for (int turn = (m.opt.disableflags & Disable::WARMSTART) == 0 ? 0 : 2; turn < 3; ++turn) {
        KN_EACH(i, nv) a[i] = turn == 1 ? KN_AT(d.state.qacc_warmstart, i) : KN_AT(d.frc.qacc_smooth, i);
        KN_SYNC();
        double gauss = 0.0;
        KN_EACH(i, nv) {
            Ma[i] = turn == 1 ? mass_times(i, a) : (double)KN_AT(KN_SMOOTH, i);
            gauss += 0.5 * (Ma[i] - KN_AT(KN_SMOOTH, i)) * (a[i] - KN_AT(d.frc.qacc_smooth, i));
        }
        KN_WIDE_SUM(gauss);
        const double cost = start_at();
        if (turn == 0) smooth = cost;
        if (turn == 1 && cost + gauss < smooth) break;
    }
}
KN_EACH(i, nv)
    if (!KN_BUSY(root_of[tree_of[i]])) {  // trees without rows
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
#if KN_LANES > 1 && KN_LISTED
#include "gather_rows.cpp"
#endif

const float tolerance = KN_ROW(float, m.opt.tolerance)[0];
int iterations = 0;
KN_EACH(i, nv) x[i] = 0.0;
#if KN_LANES > 1 && !KN_NEWTON
double has_large = 0.0;
KN_EACH(t, ntree) if (tree_num[t] > 6) has_large = 1.0;
KN_WIDE_SUM(has_large);
#endif
KN_SYNC();

KN_ISLANDS(root) {

KN_SYNC();
#include "own_inertia.cpp"
double inertia = 0.0;
KN_DOFS(i) inertia += own_inertia(i);
KN_WIDE_SUM(inertia);
const float scale = (float)(1.0 / inertia);

auto contact_cone = [&](int k) -> Cone {  // of the elliptic contact whose rows begin at k
    const int c = id[k], dim = dim_of(c);
    float at[6];
    for (int q = 0; q < dim; ++q) at[q] = (float)r[k + q];
    return cone_at(at, D[k], mu_of(c), friction_of(c), dim);
};
#if KN_LANES == 1
auto add_rows = [&](double* out, const double* by, double sign) {  // out += sign J' by
    KN_RUNS(begin, end) add_run(begin, end, out, by, sign);
};
#endif
double C1 = 0.0, C2 = 0.0;  // slope and curvature of the Gauss term along x
auto evaluate = [&](double alpha, double, double, double& slope, double& curve) -> double {
    double dc = 0.0, d1 = 0.0, d2 = 0.0;
#if KN_LANES == 1
    KN_RUNS(begin, end) dc += along_run(begin, end, alpha, d1, d2);
#else
    KN_ROWS(i) dc += along(i, alpha, d1, d2);
    KN_WIDE_SUM(dc, d1, d2);
#endif
    slope = d1 + C1 + alpha * C2;
    curve = wp::max(d2 + C2, 1e-15);
    return dc + alpha * (C1 + 0.5 * alpha * C2);
};

typedef double line_t;
#include "line_search.cpp"

// where doubles end: floats of J and D leave noise in forces, a hundredth of what floats in vectors would
auto smallest_of = [&](double size) -> float {
    return wp::max(tolerance, wp::min(1e-8f, (float)(1e-8 * scale * size))) / scale;
};

#if KN_NEWTON
#include "factor_runs.cpp"
#include "lost.cpp"
#include "soften.cpp"
#else
auto solve = [&](double* y) {  // y = M^-1 y, by the factor of M (factor.py); trees are apart
    const int* adr = m.dof.M_rowadr.data;
    const int* num = m.dof.M_rownnz.data;
    const int* of = m.dof.M_colind.data;
#if KN_LANES > 1
    const int own = lane & 31;
    int large = 0;  // trees that a warp takes: one thread would wait for every number of them
    for (int base = 0; base < (has_large ? ntree : 0); base += 32) {
        const int mine = wp::min(base + own, ntree - 1);
        unsigned found = __ballot_sync(0xffffffffu, base + own < ntree && root_of[mine] == here && tree_num[mine] > 6);
        for (; found; found &= found - 1) {
            if (large++ % (KN_LANES / 32) != lane >> 5) continue;
            const int t = base + __ffs(found) - 1, first = tree_adr[t], end = first + tree_num[t];
            for (int i = end - 1; i >= first; --i) {
                const double yi = y[i];
                for (int q = own; q < num[i] - 1; q += 32) y[of[adr[i] + q]] -= KN_AT(KN_FACTOR, adr[i] + q) * yi;
                __syncwarp();
            }
            for (int i = first; i < end; ++i) {
                double s = 0.0;
                for (int q = own; q < num[i] - 1; q += 32) s += KN_AT(KN_FACTOR, adr[i] + q) * y[of[adr[i] + q]];
                for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
                __syncwarp();
                if (own == 0) y[i] = y[i] * KN_AT(KN_INVERSE, i) - s;
                __syncwarp();
            }
        }
    }
#endif
    KN_TREES(t) {
        if (KN_LANES > 1 && tree_num[t] > 6) continue;
        const int first = tree_adr[t], end = first + tree_num[t];
        for (int i = end - 1; i >= first; --i)
            for (int q = 0; q < num[i] - 1; ++q) y[of[adr[i] + q]] -= KN_AT(KN_FACTOR, adr[i] + q) * y[i];
        for (int i = first; i < end; ++i) {
            double s = y[i] * KN_AT(KN_INVERSE, i);
            for (int q = 0; q < num[i] - 1; ++q) s -= KN_AT(KN_FACTOR, adr[i] + q) * y[of[adr[i] + q]];
            y[i] = s;
        }
    }
    KN_SYNC();
};
#endif

int iter = 0;
bool done = false;
const int maxiter = m.opt.iterations;
for (;;) {
    // gradient; at the end, J' f
    double* out = done ? x : g;
    KN_DOFS(i) out[i] = done ? 0.0 : Ma[i] - KN_AT(KN_SMOOTH, i);
    KN_SYNC();
    add_rows(out, f, done ? 1.0 : -1.0);
    KN_SYNC();
    if (done) break;
    double gg = 0.0, forces = 0.0;
    KN_DOFS(i) {
        const double smooth = KN_AT(KN_SMOOTH, i);
        gg += g[i] * g[i];
        forces += Ma[i] * Ma[i] + smooth * smooth;
    }
    KN_WIDE_SUM(gg, forces);
    least = smallest_of(sqrt(forces));
    const bool flat = sqrt(gg) < least;
    if (iter >= maxiter || (iter > 0 ? flat : is_nothing((float)gg, (float)forces))) { done = true; continue; }

#if KN_NEWTON
    KN_DOFS(i) x[i] = -g[i];
    KN_SYNC();
    start_hessian();
    add_curvature();
    const bool stiff = is_stiff();
    factor();
    solve(x);
    if (stiff) refine(x, Mv);
#else
    KN_DOFS(i) { z_last[i] = z[i]; z[i] = g[i]; }
    KN_SYNC();
    solve(z);
    double beta = 0.0;
    if (iter > 0) {
        double xy = 0.0, yMy = 0.0, yz = 0.0, xg = 0.0, xx = 0.0;
        KN_DOFS(i) {
            const double y = g[i] - g_last[i];
            xy += x[i] * y; yMy += y * (z[i] - z_last[i]); yz += y * z[i]; xg += x[i] * g[i]; xx += x[i] * x[i];
        }
        KN_WIDE_SUM(xy, yMy, yz, xg, xx);
        if (xy >= 1e-15) {  // else conjugacy is lost: restart downhill
            const double bound = -1.0 / wp::max(1e-15, sqrt(xx) * wp::min(0.01, sqrt(gg)));
            beta = wp::max((yz - 2.0 * yMy / xy * xg) / xy, bound);
        }
    }
    KN_DOFS(i) { x[i] = -z[i] + beta * x[i]; g_last[i] = g[i]; }
    KN_SYNC();
#endif

    // exact line search
    double xx = 0.0, gx = 0.0;
    C1 = C2 = 0.0;
#if KN_LANES == 1
    KN_RUNS(begin, end) multiply_run(begin, end, x, v);
#else
    KN_ROWS(i) v[i] = row_by(i, x);
#endif
    KN_DOFS(i) {
        Mv[i] = mass_times(i, x);
        C1 += x[i] * (Ma[i] - KN_AT(KN_SMOOTH, i)); C2 += x[i] * Mv[i]; xx += x[i] * x[i]; gx += g[i] * x[i];
    }
    KN_WIDE_SUM(C1, C2, xx, gx);
#if KN_NEWTON
    if (!flat && is_lost(gx, C2) && mend()) continue;
#endif
    if ((iter > 0 ? KN_NEWTON : flat || !KN_NEWTON) && gains_little((float)gx)) { done = true; continue; }
    double gain;
    const double alpha = line_search(C1, C2, xx, gx, gain);
    if (is_no_step(alpha)) { done = true; continue; }

    // move
    double cost = 0.0;
    KN_DOFS(i) {
        a[i] += alpha * x[i]; Ma[i] += alpha * Mv[i];
        cost += 0.5 * (Ma[i] - KN_AT(KN_SMOOTH, i)) * (a[i] - KN_AT(d.frc.qacc_smooth, i));
    }
#if KN_LANES == 1
    bool moved = false;
    KN_RUNS(begin, end) {
        for (int k = begin; k < end; ++k) r[k] += alpha * v[k];
        cost += settle_run(begin, end, moved);
    }
#else
    KN_ROWS(i) { r[i] += alpha * v[i]; v[i] = state[i]; }
    KN_SYNC();
    KN_ROWS(i) cost += update(i);
    KN_SYNC();
    double moved = 0.0;
    KN_ROWS(i) moved += (state[i] != (int)v[i] || state[i] == ConstraintState::CONE) ? 1.0 : 0.0;
    KN_WIDE_SUM(moved, cost);
#endif
    done = lands(moved, (float)alpha) || (-gain < smallest_of(cost) && !is_rise(gain, cost));
    ++iter;
}
iterations = wp::max(iterations, iter);
KN_DOFS(i) {
    KN_AT(d.frc.qfrc_constraint, i) = (float)x[i];
    KN_AT(d.frc.qacc, i) = (float)a[i];
}
KN_ROWS(i) force[i] = (float)f[i];
}

if (lane == 0) KN_ROW(int, d.solver.niter)[0] = iterations;
KN_SYNC();
