// Newton's method, or conjugate gradients, for one world of very many dofs: no dense matrix, rows that list their columns.
//
//   minimize over a:   1/2 (a - a_s)' M (a - a_s) + s(J a - aref)
//
// The problem, the maths of rows and the line search are those of primal.cpp. What differs is what is stored:
//
//   J   row k has ncol[k] entries, in the columns col[k]
//   M   sparse rows, as the model lists them; M x goes by the rows of the full matrix, M^-1 g by the factor of M
//   H   in rows of runs: Newton's matrix has, in row k, the columns below k that rows, M, or elimination from the last
//       dof to the first couple with k (factor_runs.cpp)

#include "lanes.cpp"

if (nefc == 0 || nv == 0) {
    KN_EACH(i, nv) {
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
    if (lane == 0) KN_ROW(int, d.solver.niter)[0] = 0;
    return;
}

const int width = m.size.ncolmax, ntree = m.size.ntree;
const float* J = KN_ROW(float, d.efc.J);
const int* col = KN_ROW(int, d.efc.col);
const int* ncol = KN_ROW(int, d.efc.ncol);
const float* R = KN_ROW(float, d.efc.R);
const float* D = KN_ROW(float, d.efc.D);
const float* loss = KN_ROW(float, d.efc.frictionloss);
const float* aref = KN_ROW(float, d.efc.aref);
const int* type = KN_ROW(int, d.efc.type);
const int* id = KN_ROW(int, d.efc.id);
const int* tree_of = m.dof.treeid.data;
const int* tree_adr = m.tree.dofadr.data;
const int* tree_num = m.tree.dofnum.data;
float* force = KN_ROW(float, d.efc.force);
int* state = KN_ROW(int, d.efc.state);
float* a = KN_ROW(float, d.solver.acc);
float* Ma = KN_ROW(float, d.solver.Ma);
float* Mv = KN_ROW(float, d.solver.Mv);
float* g = KN_ROW(float, d.solver.grad);
float* x = KN_ROW(float, d.solver.search);
float* r = KN_ROW(float, d.solver.Jaref);
float* v = KN_ROW(float, d.solver.Jv);

#include "cone.cpp"
#include "sparse_islands.cpp"

auto row_times = [&](int k, const float* p) -> float {  // (J p)_k
    const float* row = J + (size_t)k * width;
    const int* at = col + (size_t)k * width;
    float s = 0.0f;
    for (int q = 0, n = ncol[k]; q < n; ++q) s += row[q] * p[at[q]];
    return s;
};
const int* full_adr = m.dof.D_rowadr.data;
const int* full_num = m.dof.D_rownnz.data;
const int* full_col = m.dof.D_colind.data;
const int* entry_of = m.dof.mapM2D.data;
auto mass_at = [&](int entry) -> float { return entry < 0 ? 0.0f : KN_AT(KN_METRIC, entry); };
auto mass_times = [&](int i, const float* p) -> float {  // (M p)_i
    float s = 0.0f;
    for (int k = full_adr[i], end = k + full_num[i]; k < end; ++k) s += mass_at(entry_of[k]) * p[full_col[k]];
    return s;
};
auto diagonal = [&](int i) -> float { return mass_at(m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i] - 1); };

auto update = [&](int i) -> float {  // force, state and cost of row i at residual r; elliptic contacts with their first
    const int kind = kind_of(i);
    int zone = ConstraintState::SATISFIED, dim = 1;
    float cost = 0.0f;
    if (kind < CONE_HEAD) {
        cost = row_cost(kind, r[i], D[i], loss[i], R[i] * loss[i], force[i], zone);
    } else if (kind == CONE_HEAD) {
        const int c = id[i];
        dim = dim_of(c);
        cost = cone_cost(r + i, D + i, mu_of(c), friction_of(c), dim, force + i, zone);
    } else {
        return 0.0f;
    }
    for (int k = 0; k < dim; ++k) state[i + k] = zone;
    return cost;
};
auto start_at = [&]() -> float {
    KN_SYNC();
    KN_EACH(i, nefc) r[i] = row_times(i, a) - aref[i];
    KN_SYNC();
    float cost = 0.0f;
    KN_EACH(i, nefc) cost += update(i);
    KN_SUM(cost);
    KN_SYNC();
    return cost;
};

{  // the better start: the unconstrained acceleration, or the last one; where that is worse, the former once more
    float smooth = 0.0f;
    for (int turn = (m.opt.disableflags & Disable::WARMSTART) == 0 ? 0 : 2; turn < 3; ++turn) {
        KN_EACH(i, nv) a[i] = turn == 1 ? KN_AT(d.state.qacc_warmstart, i) : KN_AT(d.frc.qacc_smooth, i);
        KN_SYNC();
        float gauss = 0.0f;
        KN_EACH(i, nv) {
            Ma[i] = turn == 1 ? mass_times(i, a) : KN_AT(KN_SMOOTH, i);
            gauss += 0.5f * (Ma[i] - KN_AT(KN_SMOOTH, i)) * (a[i] - KN_AT(d.frc.qacc_smooth, i));
        }
        KN_SUM(gauss);
        const float cost = start_at();
        if (turn == 0) smooth = cost;
        if (turn == 1 && cost + gauss < smooth) break;
    }
}
#if KN_LANES == 1
for (int i = 0; i < nv; ++i)
    if (!KN_BUSY(root_of[tree_of[i]])) {  // trees without rows
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
#endif

const float tolerance = KN_ROW(float, m.opt.tolerance)[0];
int iterations = 0;
KN_EACH(i, nv) x[i] = 0.0f;
KN_SYNC();

KN_ISLANDS(root) {

float scale = 0.0f;
KN_DOFS(i) scale += diagonal(i);
KN_SUM(scale);
scale = 1.0f / scale;

auto contact_cone = [&](int k) -> Cone {  // of the elliptic contact whose rows begin at k
    const int c = id[k];
    return cone_at(r + k, D[k], mu_of(c), friction_of(c), dim_of(c));
};
auto add_row = [&](float* out, int k, float f) {  // out += f J_k
    const float* row = J + (size_t)k * width;
    const int* at = col + (size_t)k * width;
    for (int q = 0, n = ncol[k]; q < n; ++q) out[at[q]] += f * row[q];
};
auto add_forces = [&](float* out, float sign) {
    KN_ROWS(k) if (force[k] != 0.0f) add_row(out, k, sign * force[k]);
};
auto evaluate = [&](float alpha, float c1, float c2, float& slope, float& curve) -> float {
    float dc = 0.0f, d1 = 0.0f, d2 = 0.0f;
    KN_ROWS(i) {
        const int kind = kind_of(i), c = id[i];
        if (kind < CONE_HEAD) dc += row_line(kind, r[i], v[i], D[i], loss[i], R[i] * loss[i], alpha, d1, d2);
        else if (kind == CONE_HEAD)
            dc += cone_line(r + i, v + i, D + i, mu_of(c), friction_of(c), dim_of(c), alpha, d1, d2);
    }
    KN_SUM3(dc, d1, d2);
    slope = d1 + c1 + alpha * c2;
    curve = wp::max(d2 + c2, 1e-15f);
    return dc + alpha * (c1 + 0.5f * alpha * c2);
};

#include "line_search.cpp"

#if KN_NEWTON
#include "factor_runs.cpp"
#else
float* g_last = KN_ROW(float, d.solver.grad_last);
float* z = KN_ROW(float, d.solver.Mgrad);
float* z_last = KN_ROW(float, d.solver.Mgrad_last);
auto solve = [&](float* y) {  // y = M^-1 y, by the factor of M (factor.py)
    const int* adr = m.dof.M_rowadr.data;
    const int* num = m.dof.M_rownnz.data;
    const int* of = m.dof.M_colind.data;
    KN_DOFS_BACK(i)
        for (int q = 0; q < num[i] - 1; ++q) y[of[adr[i] + q]] -= KN_AT(KN_FACTOR, adr[i] + q) * y[i];
    KN_DOFS(i) {
        float s = y[i] * KN_AT(KN_INVERSE, i);
        for (int q = 0; q < num[i] - 1; ++q) s -= KN_AT(KN_FACTOR, adr[i] + q) * y[of[adr[i] + q]];
        y[i] = s;
    }
};
#endif

int iter = 0;
bool done = false, ended = false;  // ended: at the minimum, as far as numbers tell
const int maxiter = m.opt.iterations;
for (;;) {
    // gradient; at the end, J' f
    float* out = done ? x : g;
    KN_DOFS(i) out[i] = done ? 0.0f : Ma[i] - KN_AT(KN_SMOOTH, i);
    KN_SYNC();
    add_forces(out, done ? 1.0f : -1.0f);
    if (done) break;
    float gg = 0.0f, forces = 0.0f;
    KN_DOFS(i) {
        const float smooth = KN_AT(KN_SMOOTH, i);
        gg += g[i] * g[i];
        forces += Ma[i] * Ma[i] + smooth * smooth;
    }
    KN_SUM(gg); KN_SUM(forces);
    KN_SYNC();
    const bool flat = is_flat(gg, forces);
    if (iter >= maxiter || (iter > 0 ? flat : is_nothing(gg, forces))) { done = true; continue; }

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
    float beta = 0.0f;
    if (iter > 0) {
        float xy = 0.0f, yMy = 0.0f, yz = 0.0f, xg = 0.0f, xx = 0.0f;
        KN_DOFS(i) {
            const float y = g[i] - g_last[i];
            xy += x[i] * y; yMy += y * (z[i] - z_last[i]); yz += y * z[i]; xg += x[i] * g[i]; xx += x[i] * x[i];
        }
        KN_SUM(xy); KN_SUM(yMy); KN_SUM(yz); KN_SUM(xg); KN_SUM(xx);
        if (xy >= 1e-15f)  // else conjugacy is lost: restart downhill
            beta = wp::max((yz - 2.0f * yMy / xy * xg) / xy,
                           -1.0f / wp::max(1e-15f, sqrtf(xx) * wp::min(0.01f, sqrtf(gg))));
    }
    KN_DOFS(i) { x[i] = -z[i] + beta * x[i]; g_last[i] = g[i]; }
    KN_SYNC();
#endif

    // exact line search
    float c1 = 0.0f, c2 = 0.0f, xx = 0.0f, gx = 0.0f;
    KN_ROWS(i) v[i] = row_times(i, x);
    KN_DOFS(i) {
        Mv[i] = mass_times(i, x);
        c1 += x[i] * (Ma[i] - KN_AT(KN_SMOOTH, i)); c2 += x[i] * Mv[i]; xx += x[i] * x[i]; gx += g[i] * x[i];
    }
    KN_SUM3(c1, c2, xx); KN_SUM(gx);
    if ((iter > 0 ? KN_NEWTON : flat || !KN_NEWTON) && gains_little(gx)) { done = true; continue; }
    float gain;
    const float alpha = line_search(c1, c2, xx, gx, gain);
    if (!(alpha > 0.0f)) { done = true; continue; }

    // move
    float cost = 0.0f;
    KN_DOFS(i) {
        a[i] += alpha * x[i]; Ma[i] += alpha * Mv[i];
        cost += 0.5f * (Ma[i] - KN_AT(KN_SMOOTH, i)) * (a[i] - KN_AT(d.frc.qacc_smooth, i));
    }
    KN_ROWS(i) { r[i] += alpha * v[i]; v[i] = (float)state[i]; }
    KN_SYNC();
    KN_ROWS(i) cost += update(i);
    KN_SYNC();
    float moved = 0.0f;
    KN_ROWS(i) moved += (state[i] != (int)v[i] || state[i] == ConstraintState::CONE) ? 1.0f : 0.0f;
    KN_SUM(moved); KN_SUM(cost);
    done = ended = is_minimum(moved > 0.0f, alpha, gain, cost);
    ++iter;
}
iterations = wp::max(iterations, iter);

// J' f, unless rounding of stiff rows has spoilt it (line_search.cpp)
float rest = 0.0f, size = 0.0f;
KN_DOFS(i) {
    g[i] = Ma[i] - KN_AT(KN_SMOOTH, i);
    rest += (g[i] - x[i]) * (g[i] - x[i]);
    size += g[i] * g[i];
}
KN_SUM(rest); KN_SUM(size);
bool spoilt = KN_NEWTON && (ended || iter < maxiter) && differs(rest, size);
if (spoilt) {
    float noise = 0.0f;
    KN_ROWS(k) if (state[k] == ConstraintState::QUADRATIC || state[k] == ConstraintState::CONE) {
        const float* row = J + (size_t)k * width;
        const int* at = col + (size_t)k * width;
        float length = 0.0f, terms = fabsf(aref[k]);
        for (int q = 0; q < ncol[k]; ++q) { length += row[q] * row[q]; terms += fabsf(row[q] * a[at[q]]); }
        noise += row_noise(D[k], terms, length);
    }
    KN_SUM(noise);
    spoilt = sqrtf(rest) < noise;
}
KN_DOFS(i) {
    KN_AT(d.frc.qfrc_constraint, i) = spoilt ? g[i] : x[i];
    KN_AT(d.frc.qacc, i) = a[i];
}
}

if (lane == 0) KN_ROW(int, d.solver.niter)[0] = iterations;
KN_SYNC();
