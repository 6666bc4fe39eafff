// Newton's method for one world, run by a group of lanes (lanes.cpp). Conjugate gradients: sparse.cpp.
//
//   minimize over a:   1/2 (a - a_s)' M (a - a_s) + s(J a - aref)
//
// s is convex and piecewise smooth: a quadratic per equality row, a Huber function per friction row, half a quadratic
// per limit, pyramid edge or frictionless contact, and per elliptic contact a cone with a top (free), a middle and a
// bottom (quadratic) zone. Each iteration takes a direction x and finds the exact minimum along it:
//
//   H x = -g,  H = M + J' (d2s/dr2) J = U'U
//
// Matrices are row-major; U is upper triangular, so that every inner loop runs along a row; one CPU thread takes the lower
// triangle instead, from the last dof to the first (leaves_first.cpp). Trees are the blocks of
// sparsity: a row of J lives in the columns of one or two trees, M couples dofs of one tree, H those of trees that some
// row couples, and those that elimination couples through them. What lies outside is neither cleared nor read. Trees
// that no row couples are minimized apart, one island after the other (islands.cpp).

#include "lanes.cpp"
#undef KN_LEAVES_FIRST
#define KN_LEAVES_FIRST (KN_LANES == 1)

if (nefc == 0 || nv == 0) {
    KN_EACH(i, nv) {
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
    if (lane == 0) KN_ROW(int, d.solver.niter)[0] = 0;
    return;
}

#if KN_LANES > 1 && !KN_BEYOND
return;  // on CUDA islands are found first, if there is anything to move
#else
#if KN_LANES > 1
if (KN_ROW(int, d.island.bucket)[KN_BUCKET] == KN_ROW(int, d.island.bucket)[KN_BUCKET + 1]) return;
#endif

const float* aref = KN_ROW(float, d.efc.aref);
float* M = KN_ROW(float, d.solver.treeM);
const int widest = d.solver.treeM.shape[2];  // row i of M: the columns of its tree, from the first on
const int ntree = m.size.ntree, nword = (ntree + 31) / 32;
const int* tree_of = m.dof.treeid.data;
#include "rows.cpp"
const float* D = KN_ROW(float, d.efc.D);
float* H = KN_ROW(float, d.solver.H);
float* a = KN_ROW(float, d.solver.acc);
float* Ma = KN_ROW(float, d.solver.Ma);
float* Mv = KN_ROW(float, d.solver.Mv);
float* g = KN_ROW(float, d.solver.grad);
float* x = KN_ROW(float, d.solver.search);
float* r = KN_ROW(float, d.solver.Jaref);
float* v = KN_ROW(float, d.solver.Jv);

unsigned* pattern = (unsigned*)KN_ROW(int, d.solver.pattern);

#include "islands.cpp"
#if KN_LANES == 1
#include "vector8.cpp"
#else
auto dot = [&](const float* p, const float* q, int n) -> float {  // by one lane
    float s[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) s[k] += p[i + k] * q[i + k];
    float t = 0.0f;
    for (; i < n; ++i) t += p[i] * q[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])) + t;
};
#endif
#include "columns.cpp"

auto mass_times = [&](int i, const float* p) -> float {  // (M p)_i
    const int t = tree_of[i];
    return dot(M + (size_t)i * widest, p + tree_adr[t], tree_num[t]);
};

// the blocks of M
auto inertia_of = [&](int i) -> float { return M[(size_t)i * widest + i - tree_adr[tree_of[i]]]; };
KN_EACH(i, nv) {
    for (int j = 0; j < tree_num[tree_of[i]]; ++j) M[(size_t)i * widest + j] = 0.0f;
}
KN_SYNC();
KN_EACH(i, nv) {
    const int adr = KN_METRIC_ROWADR.data[i], nnz = KN_METRIC_ROWNNZ.data[i], first = tree_adr[tree_of[i]];
    for (int k = 0; k < nnz; ++k) {
        const int j = KN_METRIC_COLIND.data[adr + k];
        const float value = KN_AT(KN_METRIC, adr + k);
        M[(size_t)i * widest + j - first] = value;
        M[(size_t)j * widest + i - first] = value;
    }
}
KN_SYNC();

// force and state of row i at residual r, and its cost; all rows of an elliptic contact are done with the first
auto update = [&](int i) -> float {
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
#if KN_LANES == 1
#include "eights.cpp"
#endif
auto start_at = [&]() -> float {  // residuals, forces and states at a; returns the cost of all rows
    KN_SYNC();
    KN_EACH(i, nefc) r[i] = row_times(i, a) - aref[i];
    KN_SYNC();
#if KN_LANES == 1
    bool any = false;
    return settle(0, nefc, any);
#else
    float cost = 0.0f;
    KN_EACH(i, nefc) cost += update(i);
    KN_SUM(cost);
    KN_SYNC();
    return cost;
#endif
};

// choose the better start: the unconstrained acceleration, or the last one; where that is worse, the former once more
{
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
KN_EACH(i, nv)
    if (!KN_BUSY(root_of[tree_of[i]])) {  // trees without rows
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
#endif

// trees coupled in H: by a row, or by eliminating a tree that couples both
if (lane == 0) {
    for (int t = 0; t < ntree * nword; ++t) pattern[t] = 0u;
    auto couple = [&](int t, int u) { pattern[t * nword + (u >> 5)] |= 1u << (u & 31); };
    auto coupled = [&](int t, int u) -> bool { return pattern[t * nword + (u >> 5)] >> (u & 31) & 1u; };
    bool any = false;
    for (int k = 0; k < nefc; ++k) {
        const int t = trees[2 * k], u = trees[2 * k + 1];
        if (t < 0) any = true;
        else if (u >= 0) KN_LEAVES_FIRST ? couple(t < u ? u : t, t < u ? t : u) : couple(t < u ? t : u, t < u ? u : t);
    }
#if KN_LEAVES_FIRST
    for (int t = ntree - 1; t >= 0; --t) {
        if (any) for (int u = 0; u < t; ++u) if (KN_TOGETHER(t, u)) couple(t, u);
        for (int u = 0; u < t; ++u)
            if (coupled(t, u))
                for (int q = 0; q <= u >> 5; ++q)
                    pattern[u * nword + q] |= pattern[t * nword + q] & (q == u >> 5 ? ~(~0u << (u & 31)) : ~0u);
    }
#else
    for (int t = 0; t < ntree; ++t) {
        if (any) for (int u = t + 1; u < ntree; ++u) if (KN_TOGETHER(t, u)) couple(t, u);
        for (int u = t + 1; u < ntree; ++u)
            if (coupled(t, u))
                for (int q = u >> 5; q < nword; ++q)
                    pattern[u * nword + q] |= pattern[t * nword + q] & (q == u >> 5 ? ~1u << (u & 31) : ~0u);
    }
#endif
}
KN_SYNC();

const float tolerance = KN_ROW(float, m.opt.tolerance)[0];
int iterations = 0;
KN_EACH(i, nv) x[i] = 0.0f;
KN_SYNC();

KN_ISLANDS(root) {

#if KN_LANES > 1
KN_SYNC();
auto is_here = [&](int t) -> bool { return island_number[island_root[t]] == island; };
const int* row_list = KN_ROW(int, d.island.row) + row_starts[island];
const int rows_here = row_starts[island + 1] - row_starts[island];
#endif
#include "rank_one.cpp"
#if KN_LANES > 1
#include "blocks.cpp"
#endif

#include "own_inertia.cpp"
float scale = 0.0f;
KN_DOFS(i) scale += own_inertia(i);
KN_SUM(scale);
scale = 1.0f / scale;

// cost change, slope and curvature at a + alpha x
auto evaluate = [&](float alpha, float c1, float c2, float& slope, float& curve) -> float {
    float dc = 0.0f, d1 = 0.0f, d2 = 0.0f;
#if KN_LANES == 1
    vec8 change = {}, first = {}, second = {};
    KN_EIGHTS(k, end) {
        const int at = place_of(k);
        const Alone e = alone(at, k, end);
        const vec8 from = floats_of(r, at), along = floats_of(v, at), step = alpha * along, y = from + step;
        const ivec8 outside = beyond(e, y), was = beyond(e, from);
        const vec8 bent = cost_of(e, y, outside) - cost_of(e, from, was);
        change += e.live ? (outside | was ? bent : e.D * step * (from + 0.5f * step)) : vec8{};
        first += e.live ? rows_slope(y, e.D, e.f, e.low, outside) * along : vec8{};
        second += e.live & ~outside ? e.D * along * along : vec8{};
    }
    dc = sum8(change); d1 = sum8(first); d2 = sum8(second);
    if (cones)
#endif
    KN_ROWS(i) {
        const int kind = kind_of(i), c = id[i];
        if (kind == CONE_HEAD)
            dc += cone_line(r + i, v + i, D + i, mu_of(c), friction_of(c), dim_of(c), alpha, d1, d2);
        else if (KN_LANES > 1 && kind < CONE_HEAD)
            dc += row_line(kind, r[i], v[i], D[i], loss[i], R[i] * loss[i], alpha, d1, d2);
    }
    KN_SUM3(dc, d1, d2);
    slope = d1 + c1 + alpha * c2;
    curve = wp::max(d2 + c2, 1e-15f);
    return dc + alpha * (c1 + 0.5f * alpha * c2);
};

typedef float line_t;
#include "line_search.cpp"

#if KN_LEAVES_FIRST
#include "leaves_first.cpp"
#else
// the columns of the rows of tree t in H and U: ascending ranges; many of them are bridged over zeros
const int SEGMENTS = 32;
auto segments = [&](int t, int from[SEGMENTS], int to[SEGMENTS]) -> int {
    int n = 1;
    from[0] = tree_adr[t]; to[0] = from[0] + tree_num[t];
    for (int q = t >> 5; q < nword; ++q)
        for (unsigned bits = pattern[t * nword + q]; bits; bits &= bits - 1) {
            int low = 0;
            while (!(bits >> low & 1u)) ++low;
            const int u = 32 * q + low, start = tree_adr[u], end = start + tree_num[u];
            if (start == to[n - 1] || n == SEGMENTS) to[n - 1] = end;
            else { from[n] = start; to[n] = end; ++n; }
        }
    return n;
};

auto factor = [&]() {  // H = U'U in place
    int from[SEGMENTS], to[SEGMENTS];
    KN_TREES(t) {
        const int n = segments(t, from, to);
        for (int k = tree_adr[t]; k < tree_adr[t] + tree_num[t]; ++k) {
            float* row = H + (size_t)k * nv;
            const float inv = 1.0f / sqrtf(wp::max(row[k], 1e-15f));
            KN_SYNC();
            for (int q = 0; q < n; ++q)
                for (int j = (q ? from[q] : k) + lane; j < to[q]; j += KN_LANES) row[j] *= inv;
            KN_SYNC();
            for (int p = 0; p < n; ++p)  // lanes share out the rows below: blocks are narrow
                for (int i = (p ? from[p] : k + 1) + lane; i < to[p]; i += KN_LANES) {
                    const float f = row[i];
                    if (f != 0.0f) {
                        float* below = H + (size_t)i * nv;
                        for (int q = p; q < n; ++q) {
                            const int j = q == p ? i : from[q];
                            add_scaled(below + j, row + j, -f, to[q] - j);
                        }
                    }
                }
            KN_SYNC();
        }
    }
};
auto solve = [&](float* y) {  // y = (U'U)^-1 y
    int from[SEGMENTS], to[SEGMENTS];
    KN_TREES(t) {
        const int n = segments(t, from, to);
        for (int k = tree_adr[t]; k < tree_adr[t] + tree_num[t]; ++k) {
            const float* row = H + (size_t)k * nv;
            const float yk = y[k] / row[k];
            KN_SYNC();
            if (lane == 0) y[k] = yk;
            for (int q = 0; q < n; ++q)
                for (int j = (q ? from[q] : k + 1) + lane; j < to[q]; j += KN_LANES) y[j] -= row[j] * yk;
            KN_SYNC();
        }
    }
    KN_TREES_BACK(t) {
        const int n = segments(t, from, to);
        for (int k = tree_adr[t] + tree_num[t] - 1; k >= tree_adr[t]; --k) {
            const float* row = H + (size_t)k * nv;
            float s = 0.0f;
            for (int q = 0; q < n; ++q)
                for (int j = (q ? from[q] : k + 1) + lane; j < to[q]; j += KN_LANES) s += row[j] * y[j];
            KN_SUM(s);
            if (lane == 0) y[k] = (y[k] - s) / row[k];
            KN_SYNC();
        }
    }
};
auto start_hessian = [&]() {  // H = M, with room for what rows and elimination add
    int from[SEGMENTS], to[SEGMENTS];
    KN_DOFS(k) {
        const int t = tree_of[k], n = segments(t, from, to);
        for (int q = 0; q < n; ++q)
            for (int j = q ? from[q] : k; j < to[q]; ++j)
                H[(size_t)k * nv + j] =
                    q || j >= tree_adr[t] + tree_num[t] ? 0.0f : M[(size_t)k * widest + j - tree_adr[t]];
    }
    KN_SYNC();
};
#endif

#if KN_LANES == 1
#include "refine.cpp"
#endif

int iter = 0;
bool done = false, ended = false;  // ended: at the minimum, as far as numbers tell
#include "lost.cpp"
#include "longer.cpp"
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

    // H = M + J' D J over active rows, and the Hessians of cones
    KN_DOFS(i) x[i] = -g[i];
    KN_SYNC();
#if KN_LANES > 1
    if (packed) {
        pack_mass();
        pack_curvature();
        if (shift > 0.0f) pack_shift(shift);
        pack_factor();
        pack_solve(x);
    } else
#endif
    {
        start_hessian();
        add_curvature();
#if KN_LANES == 1
        const bool stiff = is_stiff();
        if (shift > 0.0f) KN_DOFS(i) H[(size_t)(i - origin) * (pitch + 1)] *= 1.0f + shift;
#else
        if (shift > 0.0f) KN_DOFS(i) H[(size_t)i * nv + i] *= 1.0f + shift;
        KN_SYNC();
#endif
        factor();
        solve(x);
#if KN_LANES == 1
        if (stiff) refine(x, Mv);
#endif
    }

    // exact line search
    float c1 = 0.0f, c2 = 0.0f, xx = 0.0f, gx = 0.0f;
    KN_ROWS(i) v[i] = row_times(i, x);
    KN_DOFS(i) {
        Mv[i] = mass_times(i, x);
        c1 += x[i] * (Ma[i] - KN_AT(KN_SMOOTH, i)); c2 += x[i] * Mv[i]; xx += x[i] * x[i]; gx += g[i] * x[i];
    }
    KN_SUM3(c1, c2, xx); KN_SUM(gx);
    if (!flat && is_lost(gx, c2) && mend()) continue;
    if ((iter > 0 || flat) && gains_little(gx)) { done = true; continue; }
    float gain;
    const float alpha = line_search(c1, c2, xx, gx, gain);
    if (is_no_step(alpha)) { done = true; continue; }

    // move
    float cost = 0.0f;
    KN_DOFS(i) {
        a[i] += alpha * x[i]; Ma[i] += alpha * Mv[i];
        cost += 0.5f * (Ma[i] - KN_AT(KN_SMOOTH, i)) * (a[i] - KN_AT(d.frc.qacc_smooth, i));
    }
    float moved = 0.0f;
#if KN_LANES == 1
    KN_EIGHTS(k, end) {
        const int at = place_of(k);
        const vec8 from = floats_of(r, at);
        put_floats(r, at, within(at, k, end), from + alpha * floats_of(v, at));
    }
    bool any = false;
    KN_RUNS(begin, end) cost += settle(begin, end, any);
    moved = any ? 1.0f : 0.0f;
#else
    KN_ROWS(i) { r[i] += alpha * v[i]; v[i] = (float)state[i]; }
    KN_SYNC();
    KN_ROWS(i) cost += update(i);
    KN_SYNC();
    KN_ROWS(i) moved += (state[i] != (int)v[i] || state[i] == ConstraintState::CONE) ? 1.0f : 0.0f;
    KN_SUM(moved); KN_SUM(cost);
#endif
    done = ended = is_minimum(moved > 0.0f || shift > 0.0f, alpha, gain, cost);
    if (done && has_failed(gx, alpha, gain, cost) && mend()) done = ended = false;
    else shift = 0.0f;
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
bool spoilt = (ended || iter < maxiter) && differs(rest, size);
if (spoilt && !(is_raised && ended && iter < maxiter)) {
    float noise = 0.0f;
    KN_ROWS(k) if (state[k] == ConstraintState::QUADRATIC || state[k] == ConstraintState::CONE) {
        int from[2], to[2];
        const float* row = J + (size_t)k * nv;
        float length = 0.0f, terms = fabsf(aref[k]);
        for (int q = 0, n = columns_of(k, from, to); q < n; ++q)
            for (int j = from[q]; j < to[q]; ++j) { length += row[j] * row[j]; terms += fabsf(row[j] * a[j]); }
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
#endif
