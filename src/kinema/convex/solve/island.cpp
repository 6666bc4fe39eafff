// Newton's method on CUDA for one island: trees that rows couple (find_islands.cpp), or all of a world that has one tree.
// A group of threads (group.cpp) holds it: thread i looks after dof i, and keeps column i of M and of H in registers; rows
// and what all threads read lie in shared memory. Sizes are fixed at compile time, so that loops over columns are unrolled:
//
//     KN_COLUMNS    dofs at most, a multiple of four
//     KN_TILE       rows of J that stay in shared memory; of more, the group takes one tile after the other, again each time
//     KN_ROWS_MAX   rows whose numbers stay in shared memory; systems of more are left to others
//     KN_SPILLS     the numbers of rows are in d.solver.spill instead, of any number of them
//     KN_ROWS_MIN   rows at least, where others do those of fewer; for a world of one tree
//     KN_MAPPED     the island is one of a list, that of bucket KN_BUCKET; else the world has but one
//     KN_ELLIPTIC   there may be elliptic cones
//
// What it minimizes, and the signs, are those of primal.cpp.

#include "group.cpp"
constexpr int N = KN_COLUMNS, E = KN_TILE, V = KN_ROWS_MAX, Q = N / 4, X = 0;
constexpr int LD = Q % 2 ? N : N + 4;  // numbers a row of the tile: 16-byte reads of neighbouring rows do not collide
constexpr bool HELD = T <= 32;  // M in registers
constexpr bool FULL = N <= 64;  // else the lower triangle of M
constexpr int MASS = FULL ? N * N : N * (N + 1) / 2;
constexpr int ROOM = HELD && MASS > E * LD ? MASS : E * LD;
__shared__ __align__(16) float tile_[G][ROOM];
__shared__ __align__(16) float mass_[HELD ? 4 : MASS];
__shared__ __align__(16) float vec_[G][T];
__shared__ float4 pivot_[G][3 * T], pivot_rhs_[G][3], factors_[G][3 * Q];
#if KN_ELLIPTIC
__shared__ float second_[G][6 * E];
float* second = second_[part];
#endif
float *tile = tile_[part], *vec = vec_[part];
float4 *pivot = pivot_[part], *pivot_rhs = pivot_rhs_[part], *factors = factors_[part];

const int nv = m.size.nv, nefc = KN_ROW(int, d.efc.nefc)[0];
const int ne = KN_ROW(int, d.efc.ne)[0], nef = ne + KN_ROW(int, d.efc.nf)[0];
const int i = lane % T;
#if KN_MAPPED
const int* starts = KN_ROW(int, d.island.bucket);
const int island = starts[KN_BUCKET] + lane / T;
if (island >= starts[KN_BUCKET + 1]) return;
const int first = KN_ROW(int, d.island.rowadr)[island], n = KN_ROW(int, d.island.rowadr)[island + 1] - first;
const int* row_list = KN_ROW(int, d.island.row) + first;
int nd = 0, dof = 0, tree = -2;
for (int q = KN_ROW(int, d.island.treeadr)[island]; q < KN_ROW(int, d.island.treeadr)[island + 1]; ++q) {
    const int t = KN_ROW(int, d.island.tree)[q], num = m.tree.dofnum.data[t];
    if (i >= nd && i < nd + num) { dof = m.tree.dofadr.data[t] + i - nd; tree = t; }
    nd += num;
}
__shared__ unsigned pair_[G][E];  // trees of the rows of the tile
__shared__ int which_[G][E];  // and their numbers
unsigned* pair = pair_[part];
int* which = which_[part];
#define KN_WHICH(k) row_list[k]
#else
if (nefc == 0) {
    if (KN_ROWS_MIN < 0)
        for (int q = i; q < nv; q += T) {
            KN_AT(d.frc.qacc, q) = KN_AT(d.frc.qacc_smooth, q);
            KN_AT(d.frc.qfrc_constraint, q) = 0.0f;
        }
    if (KN_ROWS_MIN < 0 && i == 0) KN_ROW(int, d.solver.niter)[0] = 0;
    return;
}
const int first = 0, n = nefc, nd = nv, dof = i;
if (n <= KN_ROWS_MIN || (!KN_SPILLS && n > V)) return;
#define KN_WHICH(k) (k)
#endif
const bool own = i < nd;
const int column = i < N ? i : N - 1;

// numbers of rows
#if KN_SPILLS
const int length = d.efc.D.shape[1];
float* spill = KN_ROW(float, d.solver.spill) + first;
float *r = spill, *v = spill + length, *D = spill + 2 * length, *f = spill + 3 * length;
float *coefficient = spill + 4 * length, *bound = spill + 5 * length;
unsigned char* kind = (unsigned char*)(KN_ROW(float, d.solver.spill) + 6 * length) + first;
unsigned char* zone = (unsigned char*)(KN_ROW(float, d.solver.spill) + 7 * length) + first;
#else
__shared__ float r_[G][V], v_[G][V], D_[G][V], f_[G][V], coefficient_[G][V], bound_[G][V];
__shared__ unsigned char kind_[G][V], zone_[G][V];
float *r = r_[part], *v = v_[part], *D = D_[part], *f = f_[part], *coefficient = coefficient_[part], *bound = bound_[part];
unsigned char *kind = kind_[part], *zone = zone_[part];
#endif
const float* aref = KN_ROW(float, d.efc.aref);
const int* type = KN_ROW(int, d.efc.type);
const int* id = KN_ROW(int, d.efc.id);
#include "cone.cpp"

// reads that nobody waits for yet; rows, too, where M has a place beside them
const int mass_adr = own ? KN_METRIC_ROWADR.data[dof] : 0, mass_nnz = own ? KN_METRIC_ROWNNZ.data[dof] : 0;
const float smooth_force = own ? KN_AT(KN_SMOOTH, dof) : 0.0f;
const float smooth_acc = own ? KN_AT(d.frc.qacc_smooth, dof) : 0.0f;
const bool given = (m.opt.disableflags & Disable::WARMSTART) == 0;
const float last_acc = own && given ? KN_AT(d.state.qacc_warmstart, dof) : 0.0f;
const bool beside = HELD ? n * LD + MASS <= ROOM : n <= E;
float* mass = HELD ? tile + (beside ? ROOM - MASS : 0) : mass_;
#include "tile.cpp"
if (beside) fetch(0, n);
for (int k = i; k < n; k += T) {
    const int g = KN_WHICH(k), what = kind_of(g);
    const float loss = KN_ROW(float, d.efc.frictionloss)[g], R = KN_ROW(float, d.efc.R)[g];  // read with the others
    kind[k] = what;
    zone[k] = ConstraintState::SATISFIED;
    D[k] = KN_ROW(float, d.efc.D)[g];
    f[k] = 0.0f;
    coefficient[k] = what == FRICTION_ROW ? loss : 0.0f;
    bound[k] = what == FRICTION_ROW ? R * loss : 0.0f;
#if KN_ELLIPTIC
    if (what == CONE_HEAD || what == CONE_TAIL) {  // mu, and the friction of each direction; in the head also how many
        const int c = id[g], at = g - *(int*)&KN_AT(d.crow.address, c);
        coefficient[k] = at == 0 ? mu_of(c) : friction_of(c)[at - 1];
        bound[k] = __int_as_float(what == CONE_HEAD ? dim_of(c) : at);  // in a tail, how far the head is
    }
#endif
}

// M; columns beyond those of the island are those of the identity
auto at = [](int p, int q) -> int { return FULL ? p * N + q : p >= q ? p * (p + 1) / 2 + q : q * (q + 1) / 2 + p; };
for (int t = i; t < MASS / 4; t += T) ((float4*)mass)[t] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
for (int t = MASS / 4 * 4 + i; t < MASS; t += T) mass[t] = 0.0f;
KN_SYNC();
if (own) {
    const int moved = i - dof;
    for (int k = 0; k < mass_nnz; k += 8) {  // many reads under way at a time
        float value[8];
        int j[8];
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            const int entry = mass_adr + (k + q < mass_nnz ? k + q : mass_nnz - 1);
            j[q] = KN_METRIC_COLIND.data[entry] + moved;
            value[q] = KN_AT(KN_METRIC, entry);
        }
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            mass[at(i, j[q])] = value[q];
            if (FULL) mass[at(j[q], i)] = value[q];
        }
    }
} else if (i < N) {
    mass[at(i, i)] = 1.0f;
}
KN_SYNC();
float M[HELD ? N : 1];
if (HELD)
    #pragma unroll
    for (int j = 0; j < N; ++j) M[HELD ? j : 0] = mass[at(j, column)];
#if KN_DISCRETE
#include "own_inertia.cpp"
const float diagonal = own ? own_inertia(dof) : 0.0f;
#else
const float diagonal = own ? mass[at(i, i)] : 0.0f;
#endif
KN_COPIED();
KN_SYNC();
if (whole && !beside) bring(0, n);

auto publish = [&](float number) { KN_MEET(); vec[i] = number; KN_SYNC(); };  // whoever read it last has met since
auto times = [&]() -> float {  // (M p)_i, p in vec
    float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    #pragma unroll
    for (int t = 0; t < Q; ++t) {
        const float4 b = ((const float4*)vec)[t];
        s.x += (HELD ? M[HELD ? 4 * t : 0] : mass[at(4 * t, column)]) * b.x;
        s.y += (HELD ? M[HELD ? 4 * t + 1 : 0] : mass[at(4 * t + 1, column)]) * b.y;
        s.z += (HELD ? M[HELD ? 4 * t + 2 : 0] : mass[at(4 * t + 2, column)]) * b.z;
        s.w += (HELD ? M[HELD ? 4 * t + 3 : 0] : mass[at(4 * t + 3, column)]) * b.w;
    }
    return (s.x + s.y) + (s.z + s.w);
};
auto along = [&](int q) -> float {  // (row q of the tile)' p, p in vec, by one thread
    float4 s = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float4* row = (const float4*)(tile + q * LD);
    #pragma unroll
    for (int t = 0; t < Q; ++t) {
        const float4 b = ((const float4*)vec)[t], c = row[t];
        s.x += c.x * b.x; s.y += c.y * b.y; s.z += c.z * b.z; s.w += c.w * b.w;
    }
    return (s.x + s.y) + (s.z + s.w);
};

// what rows cost where their residuals are those
auto cost_at = [&](const float* residual) -> float {
    float cost = 0.0f, force[6];
    int now;
    for (int k = i; k < n; k += T) {
        const int what = kind[k];
        if (what < CONE_HEAD) cost += row_cost(what, residual[k], D[k], coefficient[k], bound[k], force[0], now);
#if KN_ELLIPTIC
        else if (what == CONE_HEAD)
            cost += cone_cost(residual + k, D + k, coefficient[k], coefficient + k + 1, __float_as_int(bound[k]), force, now);
#endif
    }
    return cost;
};
// forces and zones at r, of the rows this thread looks after; returns their cost, and whether a zone changed
auto update = [&](bool& moved) -> float {
    float cost = 0.0f;
    moved = false;
    for (int k = i; k < n; k += T) {
        const int what = kind[k], before = zone[k];
        int now = before;
        if (what < CONE_HEAD) {
            cost += row_cost(what, r[k], D[k], coefficient[k], bound[k], f[k], now);
#if KN_ELLIPTIC
        } else if (what == CONE_HEAD) {
            const int dim = __float_as_int(bound[k]);
            cost += cone_cost(r + k, D + k, coefficient[k], coefficient + k + 1, dim, f + k, now);
            for (int q = 1; q < dim; ++q) zone[k + q] = now;
        } else {
            continue;
#endif
        }
        zone[k] = now;
        moved = moved || now != before || now == ConstraintState::CONE;
    }
    return cost;
};

// start from the better of the last acceleration and the unconstrained one
float a = smooth_acc, Ma = smooth_force;
{
    auto begin_at = [&](float start) {  // residuals there
        publish(start);
        for (int base = 0, count; base < n; base += count) {
            count = take(base);
            for (int q = i; q < count; q += T) r[base + q] = along(q) - aref[KN_WHICH(base + q)];
        }
    };
    bool moved;
#if KN_MAPPED
    const bool warm = given && KN_ROW(int, d.island.warm)[0] != 0;
    if (warm) a = last_acc;
    begin_at(a);
    if (warm) Ma = times();
#else
    begin_at(smooth_acc);
    if (given) {
        KN_SYNC();
        for (int k = i; k < n; k += T) v[k] = r[k];
        begin_at(last_acc);
        const float Mlast = times();
        KN_SYNC();
        float more = own ? 0.5f * (Mlast - smooth_force) * (last_acc - smooth_acc) : 0.0f;
        #pragma unroll 1
        for (int cold = 0; cold < 2; ++cold) {
            const float cost = cost_at(cold ? v : r);
            more += cold ? -cost : cost;
        }
        if (sum(more) < 0.0f) {
            a = last_acc;
            Ma = Mlast;
        } else {
            for (int k = i; k < n; k += T) r[k] = v[k];
        }
    }
#endif
    KN_SYNC();
    update(moved);
    KN_SYNC();
}

const float scale = 1.0f / sum(diagonal);
const float tolerance = KN_ROW(float, m.opt.tolerance)[0];

// slope, curvature and change of the cost at a + alpha x
auto evaluate = [&](float alpha, float c1, float c2, float& slope, float& curve) -> float {
    float s[3] = {0.0f, 0.0f, 0.0f};
    for (int k = i; k < n; k += T) {
        const int what = kind[k];
        if (what < CONE_HEAD) s[0] += row_line(what, r[k], v[k], D[k], coefficient[k], bound[k], alpha, s[1], s[2]);
#if KN_ELLIPTIC
        else if (what == CONE_HEAD)
            s[0] += cone_line(r + k, v + k, D + k, coefficient[k], coefficient + k + 1, __float_as_int(bound[k]), alpha,
                              s[1], s[2]);
#endif
    }
    add_up(s, 3);
    slope = s[1] + c1 + alpha * c2;
    curve = wp::max(s[2] + c2, 1e-15f);
    return s[0] + alpha * (c1 + 0.5f * alpha * c2);
};

typedef float line_t;
#include "line_search.cpp"

int iter = 0;
bool done = false, ended = false;  // ended: at the minimum, as far as numbers tell
#include "lost.cpp"
#include "longer.cpp"
float pull;  // J' f
for (;;) {
    pull = 0.0f;
    for (int base = 0, count; base < n; base += count) {
        count = take(base);
        #pragma unroll 4
        for (int q = 0; q < count; ++q) pull += f[base + q] * tile[q * LD + column];
    }
    if (done) break;
    const float g = own ? Ma - smooth_force - pull : 0.0f;
    float size[2] = {g * g, own ? Ma * Ma + smooth_force * smooth_force : 0.0f};
    add_up(size, 2);
    const bool flat = is_flat(size[0], size[1]);
    if (iter >= m.opt.iterations || (iter > 0 ? flat : is_nothing(size[0], size[1]))) break;

    // H = M + J' (second derivative of the rows) J
    float h[N];
    #pragma unroll
    for (int j = 0; j < N; ++j) h[j] = HELD ? M[HELD ? j : 0] : mass[at(j, column)];
    auto add = [&](int q, float s) {  // h += s (row q of the tile)
        const float4* row = (const float4*)(tile + q * LD);
        #pragma unroll
        for (int t = 0; t < Q; ++t) {
            const float4 b = row[t];
            h[4 * t] += s * b.x; h[4 * t + 1] += s * b.y; h[4 * t + 2] += s * b.z; h[4 * t + 3] += s * b.w;
        }
    };
    for (int base = 0, count; base < n; base += count) {
        count = take(base);
#if KN_ELLIPTIC
        for (int q = i; q < count; q += T)  // of each row of a cone its row of second derivatives
            if (zone[base + q] == ConstraintState::CONE) {
                const int back = kind[base + q] == CONE_HEAD ? 0 : __float_as_int(bound[base + q]), k = base + q - back;
                const Cone e = cone_at(r + k, D[k], coefficient[k], coefficient + k + 1, __float_as_int(bound[k]));
                for (int p = 0; p < e.dim; ++p) second[6 * q + p] = cone_entry(e, back, p);
            }
        KN_SYNC();
#endif
        #pragma unroll 1
        for (int c = 0; c < count; c += CHUNK) {
            const int q = c + here;
            const int now = q < count ? zone[base + q] : ConstraintState::SATISFIED;
            const float weight = q < count ? D[base + q] : 0.0f;
            for (unsigned on = __ballot_sync(mates, now == ConstraintState::QUADRATIC) >> away; on; on &= on - 1) {
                const int next = __ffs(on) - 1;
                add(c + next, __shfl_sync(mates, weight, next, CHUNK) * tile[(c + next) * LD + column]);
            }
#if KN_ELLIPTIC
            for (unsigned on = __ballot_sync(mates, now == ConstraintState::CONE) >> away; on; on &= on - 1) {
                const int row = c + __ffs(on) - 1, k = base + row;
                const int back = kind[k] == CONE_HEAD ? 0 : __float_as_int(bound[k]);
                const int dim = __float_as_int(bound[k - back]);
                float s = 0.0f;
                for (int p = 0; p < dim; ++p) s += second[6 * row + p] * tile[(row - back + p) * LD + column];
                add(row, s);
            }
#endif
        }
    }

    if (shift > 0.0f)
        #pragma unroll
        for (int j = 0; j < N; ++j) h[j] *= j == column ? 1.0f + shift : 1.0f;

    float y = -g, corner[1], y2;  // no block more than threads: a team is quicker
#include "cholesky.cpp"
    const float x = own ? y : 0.0f;

    // exact line search
    publish(x);
    const float Mx = times();
    for (int base = 0, count; base < n; base += count) {
        count = take(base);
        for (int q = i; q < count; q += T) v[base + q] = along(q);
    }
    float c[4] = {own ? x * (Ma - smooth_force) : 0.0f, own ? x * Mx : 0.0f, x * x, g * x};
    add_up(c, 4);
    KN_MEET();
    if (!flat && is_lost(c[3], c[1]) && mend()) continue;
    if ((iter > 0 || flat) && gains_little(c[3])) break;
    float gain;
    const float alpha = line_search(c[0], c[1], c[2], c[3], gain);
    if (is_no_step(alpha)) break;

    a += alpha * x;
    Ma += alpha * Mx;
    for (int k = i; k < n; k += T) r[k] += alpha * v[k];
    KN_SYNC();
    bool moved;
    float cost[2] = {update(moved) + (own ? 0.5f * (Ma - smooth_force) * (a - smooth_acc) : 0.0f), 0.0f};
    cost[1] = moved ? 1.0f : 0.0f;
    add_up(cost, 2);
    KN_MEET();
    done = ended = is_minimum(cost[1] > 0.0f || shift > 0.0f, alpha, gain, cost[0]);
    if (done && has_failed(c[3], alpha, gain, cost[0]) && mend()) done = ended = false;
    else shift = 0.0f;
    ++iter;
}

// J' f, unless rounding of stiff rows has spoilt it (line_search.cpp)
const float inertial = own ? Ma - smooth_force : 0.0f;
float off[2] = {own ? (inertial - pull) * (inertial - pull) : 0.0f, inertial * inertial};
add_up(off, 2);
bool spoilt = (ended || iter < m.opt.iterations) && differs(off[0], off[1]);
if (spoilt && !(is_raised && ended && iter < m.opt.iterations)) {
    publish(a);
    float noise = 0.0f;
    for (int base = 0, count; base < n; base += count) {
        count = take(base);
        for (int q = i; q < count; q += T) {
            if (zone[base + q] != ConstraintState::QUADRATIC && zone[base + q] != ConstraintState::CONE) continue;
            float square = 0.0f, terms = fabsf(aref[KN_WHICH(base + q)]);
            #pragma unroll 1
            for (int j = 0; j < N; ++j) {
                square += tile[q * LD + j] * tile[q * LD + j];
                terms += fabsf(tile[q * LD + j] * vec[j]);
            }
            noise += row_noise(D[base + q], terms, square);
        }
    }
    spoilt = sqrtf(off[0]) < sum(noise);
}
if (own) {
    KN_AT(d.frc.qacc, dof) = a;
    KN_AT(d.frc.qfrc_constraint, dof) = spoilt ? inertial : pull;
}
for (int k = i; k < n; k += T) {
    const int g = KN_WHICH(k);
    KN_ROW(float, d.efc.force)[g] = f[k];
    KN_ROW(int, d.efc.state)[g] = zone[k];
}
#if KN_MAPPED
int* most = KN_ROW(int, d.solver.niter);
if (i == 0) atomicMax(most, iter);
#else
if (i == 0) KN_ROW(int, d.solver.niter)[0] = iter;
#endif
#undef KN_WHICH
