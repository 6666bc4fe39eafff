// Projected Gauss-Seidel, or the no-slip pass after another solver, for one world, run by a group of lanes.
//
//   minimize over f:   1/2 f' (A + R) f + b' f    A = J M^-1 J',  b = J a_s - aref
//   subject to         f = any (equality),  |f| <= loss (friction),  f >= 0,  f in the cone of its contact
//
// block by block. A is never formed: with B = M^-1 J', whose rows lie in the same trees as those of J, and y = B' f kept
// up to date, the residual of row i is  b_i + J_i y + R_i f_i. Only the diagonal blocks of A are stored.
//
//   KN_PGS 1: all rows, in an order shuffled alike in every run, with Nesterov's momentum, restarted when it points uphill
//   KN_PGS 0: friction only, without R, normal forces held: what regularization lets slip is held fast
//
// Trees that rows couple are an island (islands.cpp), solved apart: with an order, a momentum and an end of its own.
// Finally  qacc = a_s + y.
//
// Rows that list their columns, of models with flexes (KN_SPARSE), do without B, of which there would be too much: z = J' f
// is kept, and y = M^-1 z is solved for in the trees of a row whenever its force changes; vectors are doubles, for many
// stiff rows pull at each vertex. How J is stored is said in rows_of_trees.cpp and rows_of_columns.cpp.
//
// Derivatives (gradients/stages.py) run the no-slip pass once more in dual numbers (KN_REPEAT): the islands and sweeps are
// those that were, and decisions are by values alone. KN_REAL is a double, KN_VALUE(x) its value, there as here.

#include "lanes.cpp"
#undef KN_REAL
#undef KN_VALUE
#if KN_REPEAT
#define KN_REAL wp::kn_real
#define KN_VALUE(x) (x).v
#else
#define KN_REAL double
#define KN_VALUE(x) (x)
#endif

#if !KN_PGS && !KN_SPARSE && !KN_REPEAT
KN_EACH(i, nv) KN_AT(d.dual.start, i) = KN_AT(d.frc.qacc, i);
#endif
if (nefc == 0 || nv == 0) {
#if KN_PGS
    KN_EACH(i, nv) {
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
    if (lane == 0) KN_ROW(int, d.solver.niter)[0] = 0;
#endif
    return;
}

#include "rows.cpp"

#if KN_SPARSE
const int width = m.size.ncolmax;
const int* col = KN_ROW(int, d.efc.col);
const int* ncol = KN_ROW(int, d.efc.ncol);
#endif
// of each tree, and of each row, the first tree of its island
const int ntree = m.size.ntree;
const int* tree_of = m.dof.treeid.data;
int* root_of = KN_ROW(int, d.dual.root);
int* isle_of = KN_ROW(int, d.dual.isle);
#if !KN_REPEAT
if (lane == 0) {
    const bool split = (m.opt.disableflags & Disable::ISLAND) == 0;
    auto find = [&](int t) -> int { while (root_of[t] != t) t = root_of[t]; return t; };
    auto unite = [&](int t, int u) {
        t = find(t); u = find(u);
        if (t < u) root_of[u] = t; else root_of[t] = u;
    };
    for (int t = 0; t < ntree; ++t) root_of[t] = split ? t : 0;
    for (int k = 0; k < nefc; ++k) {
        int t = trees[2 * k], u = trees[2 * k + 1];
        if (t < 0) {  // any tree: those in which it has columns
#if KN_SPARSE
            for (int q = 0; q < ncol[k]; ++q) {
                const int i = col[(size_t)k * width + q];
                if (t >= 0) unite(t, tree_of[i]);
                t = tree_of[i];
            }
#else
            const float* row = J + (size_t)k * nv;
            for (int i = 0; i < nv; ++i)
                if (row[i] != 0.0f) { if (t >= 0) unite(t, tree_of[i]); t = tree_of[i]; }
#endif
        } else if (u >= 0) {
            unite(t, u);
        }
        isle_of[k] = t < 0 ? 0 : t;
    }
#if KN_SPARSE
#undef KN_SHARE
#define KN_SHARE(k, n) for (int k = 0; k < (n); ++k)
#include "flex_islands.cpp"
#endif
    for (int t = 0; t < ntree; ++t) root_of[t] = find(t);
    for (int k = 0; k < nefc; ++k) isle_of[k] = root_of[isle_of[k]];
}
#endif
KN_SYNC();

double* block = KN_ROW(double, d.dual.block);

const int WIDE = 6;  // rows of the largest block

// first row of the block that row k is part of: its elliptic contact, its pair of opposite pyramid edges, or itself
auto first_of = [&](int k) -> int {
    if (!is_elliptic(k) && type[k] != Constraint::CONTACT_PYRAMIDAL) return k;
    const int start = *(int*)&KN_AT(d.crow.address, id[k]);
    return is_elliptic(k) ? start : k - ((k - start) & 1);
};
auto size_of = [&](int k) -> int {
    return is_elliptic(k) ? dim_of(id[k]) : type[k] == Constraint::CONTACT_PYRAMIDAL ? 2 : 1;
};

// is a row needed? Where the pass is repeated from a given y, one that it may change: friction of what is pressed
auto is_swept = [&](int k) -> bool {
#if KN_REPEAT && KN_GIVEN
    if (k < nef) return k >= ne;
    const int first = first_of(k);
    if (is_elliptic(k)) return k != first && KN_VALUE(force[first]) >= 1e-15f;
    return type[k] == Constraint::CONTACT_PYRAMIDAL && (force[first] != 0.0f || force[first + 1] != 0.0f);
#else
    return true;
#endif
};

#if KN_SPARSE
#include "rows_of_columns.cpp"
#else
#include "rows_of_trees.cpp"
#endif

#include "ellipsoid.cpp"
auto clip = [&](double x, double bound) -> double { return x < -bound ? -bound : x > bound ? bound : x; };

// iterations end when what one gains, divided by the sum of an island's inertias, falls below the tolerance
#include "own_inertia.cpp"
auto scale_of = [&](int isle) -> double {
    float inertia = 0.0f;
    KN_EACH(i, nv)
        if (root_of[tree_of[i]] == isle) inertia += own_inertia(i);
    KN_SUM(inertia);
    return 1.0 / (double)inertia;
};
const double TINY = 1e-15;
int most = 0;  // iterations of the island that took most

#if KN_PGS
float* ahead = KN_ROW(float, d.dual.ahead);
int* order = isle_of + m.size.nefcmax;  // of an island, the first rows of its blocks

// start: the forces that go with the last acceleration, or none if that costs less
if ((m.opt.disableflags & Disable::WARMSTART) == 0) {
    const float* aref = KN_ROW(float, d.efc.aref);
    const float* D = KN_ROW(float, d.efc.D);
    KN_EACH(k, nefc) last[k] = row_with(k, -aref[k], [&](int i) { return KN_AT(d.state.qacc_warmstart, i); });
    KN_SYNC();
    KN_EACH(i, nefc) {
        const int kind = kind_of(i), c = id[i];
        int zone;
        if (kind < CONE_HEAD) row_cost(kind, last[i], D[i], loss[i], R[i] * loss[i], force[i], zone);
        else if (kind == CONE_HEAD)
            cone_cost(last + i, D + i, mu_of(c), friction_of(c), dim_of(c), force + i, zone);
    }
    KN_SYNC();
    start_y(-1);
    float cost = 0.0f;
    KN_EACH(k, nefc) cost += force[k] * (b[k] + 0.5f * row_with(k, R[k] * force[k], [&](int i) { return y[i]; }));
    KN_SUM(cost);
    if (cost > 0.0f) KN_EACH(k, nefc) force[k] = 0.0f;
} else {
    KN_EACH(k, nefc) force[k] = 0.0f;
}
KN_SYNC();

unsigned long long random = 0;
auto next_random = [&]() -> unsigned {  // PCG-XSH-RR, O'Neill 2014
    const unsigned long long old = random;
    random = old * 6364136223846793005ULL + 1ULL;
    const unsigned shifted = (unsigned)(((old >> 18u) ^ old) >> 27u), turn = (unsigned)(old >> 59u);
    return (shifted >> turn) | (shifted << ((0u - turn) & 31u));
};

const double tolerance = KN_ROW(float, m.opt.tolerance)[0];
KN_EACH(k, nefc) last[k] = force[k];
KN_SYNC();
for (int isle = 0; isle < ntree; ++isle) {
int nblock = 0;
for (int k = 0; k < nefc; k += is_elliptic(k) ? dim_of(id[k]) : 1)
    if (isle_of[k] == isle) {
        if (lane == 0) order[nblock] = k;
        ++nblock;
    }
KN_SYNC();
if (nblock == 0) continue;
const double scale = scale_of(isle);
random = 0;
next_random();

int iter = 0, since = 0;
while (iter < m.opt.iterations) {
    // momentum, back inside the constraints
    const float beta = iter > 0 ? (float)(since - 1) / (float)(since + 2) : 0.0f;
    KN_EACH(k, nefc) {
        if (isle_of[k] != isle) continue;
        const float f = force[k];
        if (beta > 0.0f) force[k] = f + beta * (f - last[k]);
        last[k] = f;
    }
    KN_SYNC();
    if (beta > 0.0f)
        KN_EACH(k, nefc) {
            if (k < ne || isle_of[k] != isle) continue;
            if (k < nef) force[k] = (float)clip(force[k], loss[k]);
            else if (!is_elliptic(k)) force[k] = force[k] < 0.0f ? 0.0f : force[k];
            else if (first_of(k) == k) {
                const int dim = dim_of(id[k]);
                const float* fri = friction_of(id[k]);
                float s = 0.0f;
                for (int j = 1; j < dim; ++j) s += force[k + j] * force[k + j] / (fri[j - 1] * fri[j - 1]);
                if (force[k] < 0.0f) for (int j = 0; j < dim; ++j) force[k + j] = 0.0f;
                else if (s > force[k] * force[k]) for (int j = 1; j < dim; ++j) force[k + j] *= force[k] / sqrtf(s);
            }
        }
    KN_SYNC();
    KN_EACH(k, nefc) ahead[k] = force[k];
    start_y(isle);

    double improvement = 0.0;
    if (lane == 0)
        for (int i = nblock - 1; i > 0; --i) {
            const int j = (int)(next_random() % (unsigned)(i + 1)), swap = order[i];
            order[i] = order[j]; order[j] = swap;
        }
    KN_SYNC();
    for (int at = 0; at < nblock; ++at) {
        const int i = order[at], dim = is_elliptic(i) ? dim_of(id[i]) : 1;
        double A[36], res[6], old[6], now[6], delta[6];
        rows_times(i, dim, res);
        for (int j = 0; j < dim; ++j) {
            old[j] = now[j] = force[i + j];
            res[j] += b[i + j] + (double)R[i + j] * old[j];
            const int shift = i - first_of(i);  // a pyramid edge is alone here
            for (int k = 0; k < dim; ++k)
                A[j * dim + k] = block[(size_t)(i + j) * WIDE + shift + k] + (j == k ? (double)R[i + j] : 0.0);
        }
        if (!is_elliptic(i)) {
            now[0] -= res[0] / A[0];
            if (i >= nef) now[0] = now[0] < 0.0 ? 0.0 : now[0];
            else if (i >= ne) now[0] = clip(now[0], loss[i]);
        } else {
            if (now[0] < TINY) {  // the normal alone
                now[0] -= res[0] / A[0];
                if (now[0] < 0.0) now[0] = 0.0;
            } else {  // along the force
                double along = 0.0, curve = 0.0;
                for (int j = 0; j < dim; ++j) {
                    along += now[j] * res[j];
                    for (int k = 0; k < dim; ++k) curve += now[j] * A[j * dim + k] * now[k];
                }
                double x = curve >= TINY ? -along / curve : 0.0;
                if (x < -1.0) x = -1.0;
                for (int j = 0; j < dim; ++j) now[j] += x * old[j];
            }
            if (now[0] < TINY) {
                for (int j = 1; j < dim; ++j) now[j] = 0.0;
            } else {  // friction for this normal force
                double At[25], g[5];
                for (int j = 1; j < dim; ++j) {
                    g[j - 1] = res[j] + A[j * dim] * (now[0] - old[0]);
                    for (int k = 1; k < dim; ++k) {
                        At[(j - 1) * (dim - 1) + k - 1] = A[j * dim + k];
                        g[j - 1] -= A[j * dim + k] * old[k];
                    }
                }
                tangential(dim - 1, At, g, friction_of(id[i]), now[0], now + 1);
            }
        }
        improvement += gain(dim, A, res, old, dim - 1, friction_of(id[i]), old[0], now);
        for (int j = 0; j < dim; ++j) delta[j] = now[j] - old[j];
        KN_SYNC();
        if (lane == 0) for (int j = 0; j < dim; ++j) force[i + j] = (float)now[j];
        add_rows(i, dim, delta);
    }

    float along = 0.0f;
    KN_EACH(k, nefc) if (isle_of[k] == isle) along += (force[k] - ahead[k]) * (ahead[k] - last[k]);
    KN_SUM(along);
    since = iter > 0 && along < 0.0f ? 0 : since + 1;
    ++iter;
    if (scale * improvement < tolerance) break;
}
most = iter > most ? iter : most;
}
if (lane == 0) KN_ROW(int, d.solver.niter)[0] = most;

#else
#if !KN_REPEAT
const double tolerance = KN_ROW(float, m.opt.noslip_tolerance)[0];
#endif
int* sweeps = root_of + ntree;
// Where the solver before has converged, y is the a - a_s that it found, and J' f of all forces is M y. To add the forces
// up and divide by M is to lose dofs of small inertia: of large forces on the bodies around, only what cancels moves them.
#if KN_GIVEN && KN_REPEAT
const bool solved = true;
#else
start_y(-1);
#endif
#if KN_GIVEN
#if !KN_REPEAT
const bool solved = KN_ROW(int, d.solver.niter)[0] < m.opt.iterations && KN_ROW(float, m.opt.tolerance)[0] <= 1e-6f;
#endif
if (solved) KN_EACH(i, nv) y[i] = KN_AT(d.frc.qacc, i) - KN_AT(d.frc.qacc_smooth, i);
KN_SYNC();
#endif
for (int isle = 0; isle < ntree; ++isle) {
int busy = 0;
for (int k = ne; k < nefc && !busy; ++k) busy = isle_of[k] == isle;
if (!busy) continue;
#if KN_REPEAT
const int most_sweeps = sweeps[isle];
#else
const int most_sweeps = m.opt.noslip_iterations;
const double scale = scale_of(isle);
#endif
int iter = 0;
while (iter < most_sweeps) {
    KN_REAL improvement = 0.0;
#if !KN_REPEAT
    if (iter == 0) {
        float was = 0.0f;
        KN_EACH(k, nefc) if (isle_of[k] == isle) was += 0.5f * force[k] * force[k] * R[k];
        KN_SUM(was);
        improvement = was;
    }
#endif
    for (int i = ne; i < nefc; i += size_of(i)) {
        const bool rubs = i < nef, cone = is_elliptic(i);
        if (isle_of[i] != isle) continue;
        if (!rubs && !cone && type[i] != Constraint::CONTACT_PYRAMIDAL) continue;
        if (!is_swept(cone ? i + 1 : i)) continue;
        const int first = cone ? i + 1 : i, n = cone ? dim_of(id[i]) - 1 : size_of(i);
        double A[25], res[6], old[6], now[6], delta[6];
        rows_times(first, n, res);
        for (int j = 0; j < n; ++j) {
            old[j] = now[j] = force[first + j];
            res[j] += (double)b[first + j];
            for (int k = 0; k < n; ++k) A[j * n + k] = block[(size_t)(first + j) * WIDE + first - i + k];
            A[j * n + j] = A[j * n + j] > (rubs ? TINY : 1e-10) ? A[j * n + j] : (rubs ? TINY : 1e-10);
        }
        if (rubs) {
            now[0] = clip(now[0] - res[0] / A[0], (double)loss[i]);
        } else if (cone) {
            double g[5];
            for (int j = 0; j < n; ++j) {
                g[j] = res[j];
                for (int k = 0; k < n; ++k) g[j] -= A[j * n + k] * old[k];
            }
            if ((double)force[i] < TINY) for (int j = 0; j < n; ++j) now[j] = 0.0;
            else tangential(n, A, g, friction_of(id[i]), (double)force[i], now);
        } else {  // opposite edges: their sum, which is normal force, is held
            const double mid = 0.5 * (old[0] + old[1]), curve = A[0] + A[3] - A[1] - A[2];
            const double slope = mid * (A[0] - A[3]) + (res[0] - A[0] * old[0] - A[1] * old[1])
                               - (res[1] - A[2] * old[0] - A[3] * old[1]);
            const double x = curve < TINY ? 0.0 : clip(-slope / curve, mid);
            now[0] = mid + x;
            now[1] = mid - x;
        }
        improvement += gain(n, A, res, old, cone ? n : 0, friction_of(id[i]), (double)force[i], now);
        for (int j = 0; j < n; ++j) delta[j] = now[j] - old[j];
        KN_SYNC();
        if (lane == 0) for (int j = 0; j < n; ++j) force[first + j] = (float)now[j];
        add_rows(first, n, delta);
    }
    ++iter;
#if !KN_REPEAT
    if (scale * improvement < tolerance) break;
#endif
}
#if !KN_REPEAT
if (lane == 0) sweeps[isle] = iter;
#endif
most = iter > most ? iter : most;
}
#if !KN_REPEAT
if (lane == 0) KN_ROW(int, d.solver.niter)[0] += most;
#endif
#endif

// what forces say of the rows: the zones of the dual cone
KN_EACH(i, nefc) {
    const float f = force[i];
    const int kind = kind_of(i);
    int zone = ConstraintState::QUADRATIC, dim = 1;
    if (kind == FRICTION_ROW) {
        if (f <= -loss[i]) zone = ConstraintState::LINEARPOS;
        else if (f >= loss[i]) zone = ConstraintState::LINEARNEG;
    } else if (kind == ONE_SIDED_ROW) {
        if (f <= 0.0f) zone = ConstraintState::SATISFIED;
    } else if (kind == CONE_HEAD) {
        const float mu = mu_of(id[i]), *fri = friction_of(id[i]), N = f / mu;
        float T = 0.0f;
        dim = dim_of(id[i]);
        for (int k = 1; k < dim; ++k) T += force[i + k] * force[i + k] / (fri[k - 1] * fri[k - 1]);
        T = sqrtf(T);
        zone = mu * N >= T ? ConstraintState::SATISFIED : ConstraintState::CONE;
        if (mu * N < T && N + mu * T <= 0.0f) zone = ConstraintState::QUADRATIC;
    } else if (kind == CONE_TAIL) {
        continue;
    }
    for (int k = 0; k < dim; ++k) state[i + k] = zone;
}
// to joint space; y afresh, where it is not given: it has gathered rounding
#if !KN_PGS && KN_GIVEN
if (solved) {
    KN_EACH(i, nv) KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i) + y[i];
    KN_EACH(i, nv) KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    KN_SYNC();
    if (lane == 0)
        for (int i = 0; i < nv; ++i)
            for (int k = KN_METRIC_ROWADR.data[i]; k < KN_METRIC_ROWADR.data[i] + KN_METRIC_ROWNNZ.data[i]; ++k) {
                const int j = KN_METRIC_COLIND.data[k];
                KN_AT(d.frc.qfrc_constraint, i) += KN_AT(KN_METRIC, k) * y[j];
                if (j != i) KN_AT(d.frc.qfrc_constraint, j) += KN_AT(KN_METRIC, k) * y[i];
            }
    KN_SYNC();
    return;
}
#endif
start_y(-1);
KN_EACH(i, nv) KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i) + y[i];
joint_forces();
KN_EACH(i, nv) KN_AT(d.frc.qfrc_constraint, i) = y[i];
KN_SYNC();
