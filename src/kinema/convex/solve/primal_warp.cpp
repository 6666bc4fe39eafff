// The same method for small systems on CUDA: one warp a world, lane i keeps column i of M and of H in registers,
// rows and vectors that all lanes read lie in shared memory. Sizes are fixed at compile time, so every loop over
// columns is unrolled: N columns (nv rounded up), E rows at most; larger systems take the general path.

constexpr int N = KN_COLUMNS, E = KN_ROWS_MAX, Q = N / 4, W = KN_WARPS;
__shared__ __align__(16) float J_[W][E * N];
__shared__ __align__(16) float vec_[W][64];
__shared__ float r_[W][E], v_[W][E], D_[W][E], f_[W][E];
const unsigned all = 0xffffffffu;
const int warp = threadIdx.x >> 5;
float *J = J_[warp], *vec = vec_[warp], *r = r_[warp], *v = v_[warp], *D = D_[warp], *f = f_[warp];
const bool own = lane < nv;
const int i = lane < N ? lane : N - 1;

auto sum = [&](float x) -> float {
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(all, x, o);
    return x;
};
// (column i of a symmetric matrix in registers) . (vector in vec)
auto times = [&](const float* column) -> float {
    float s = 0.0f;
    #pragma unroll
    for (int t = 0; t < Q; ++t) {
        const float4 b = ((const float4*)vec)[t];
        s += column[4 * t] * b.x + column[4 * t + 1] * b.y + column[4 * t + 2] * b.z + column[4 * t + 3] * b.w;
    }
    return s;
};
// (row k of J) . (vector in vec), by one lane
auto along = [&](int k) -> float {
    float s = 0.0f;
    const float4* row = (const float4*)(J + k * N);
    #pragma unroll
    for (int t = 0; t < Q; ++t) {
        const float4 b = ((const float4*)vec)[t], c = row[t];
        s += c.x * b.x + c.y * b.y + c.z * b.z + c.w * b.w;
    }
    return s;
};
auto publish = [&](float x) { __syncwarp(); vec[lane] = x; __syncwarp(); };

// M through shared memory into registers; columns beyond nv are those of the identity
for (int t = lane; t < N * N; t += 32) J[t] = t / N == t % N && t / N >= nv ? 1.0f : 0.0f;
__syncwarp();
if (own) {
    const int adr = KN_METRIC_ROWADR.data[lane], nnz = KN_METRIC_ROWNNZ.data[lane];
    for (int k = 0; k < nnz; k += 8) {  // many reads under way at a time
        float value[8];
        int j[8];
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            const int at = adr + wp::min(k + q, nnz - 1);
            j[q] = KN_METRIC_COLIND.data[at];
            value[q] = KN_AT(KN_METRIC, at);
        }
        #pragma unroll
        for (int q = 0; q < 8; ++q) J[lane * N + j[q]] = J[j[q] * N + lane] = value[q];
    }
}
__syncwarp();
float M[N];
#pragma unroll
for (int j = 0; j < N; ++j) M[j] = J[j * N + i];
const float diagonal = own ? J[lane * N + lane] : 0.0f;
__syncwarp();

// rows
const float* rows = KN_ROW(float, d.efc.J);
const int* trees = KN_ROW(int, d.efc.trees);
const int tree = own ? m.dof.treeid.data[lane] : -2;
bool touched = false;  // whether a row acts on the tree of this lane's dof
for (int first = 0; first < nefc; first += 32) {
    const int mine = wp::min(first + lane, nefc - 1), one = trees[2 * mine], two = trees[2 * mine + 1];
    const int count = wp::min(32, nefc - first);
    for (int k = 0; k < count; k += 8) {
        float value[8];
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            const int t = __shfl_sync(all, one, k + q), u = __shfl_sync(all, two, k + q);
            const bool in = own && k + q < count && (t < 0 || t == tree || u == tree);
            touched = touched || in;
            value[q] = in ? rows[(first + k + q) * nv + lane] : 0.0f;
        }
        #pragma unroll
        for (int q = 0; q < 8; ++q) if (lane < N && k + q < count) J[(first + k + q) * N + lane] = value[q];
    }
}
const float* aref = KN_ROW(float, d.efc.aref);
const float* loss = KN_ROW(float, d.efc.frictionloss);
const int* type = KN_ROW(int, d.efc.type);
const int* id = KN_ROW(int, d.efc.id);
int* state = KN_ROW(int, d.efc.state);
for (int k = lane; k < nefc; k += 32) D[k] = KN_ROW(float, d.efc.D)[k];
const float smooth_force = own ? KN_AT(KN_SMOOTH, lane) : 0.0f;
const float smooth_acc = own ? KN_AT(d.frc.qacc_smooth, lane) : 0.0f;
__syncwarp();

#include "cone.cpp"

// each lane looks after rows lane, lane + 32, ...
constexpr int P = (E + 31) / 32;
int kind[P], zone[P];
float bound[P];
#pragma unroll
for (int p = 0; p < P; ++p) {
    const int k = lane + 32 * p;
    zone[p] = ConstraintState::SATISFIED;
    bound[p] = 0.0f;
    kind[p] = k < nefc ? kind_of(k) : NO_ROW;
    if (kind[p] == FRICTION_ROW) bound[p] = KN_ROW(float, d.efc.R)[k] * loss[k];
}

auto residuals = [&](float acc) {  // r = J a - aref
    publish(acc);
    for (int k = lane; k < nefc; k += 32) r[k] = along(k) - aref[k];
    __syncwarp();
};

// forces and zones at r; returns the cost of the rows and whether a zone changed
bool changed = false;
auto update = [&]() -> float {
    float cost = 0.0f;
    bool moved = false;
    #pragma unroll
    for (int p = 0; p < P; ++p) {
        const int k = lane + 32 * p, before = zone[p];
        if (kind[p] < CONE_HEAD) {
            const float most = kind[p] == FRICTION_ROW ? loss[k] : 0.0f;
            cost += row_cost(kind[p], r[k], D[k], most, bound[p], f[k], zone[p]);
        } else if (kind[p] == CONE_HEAD) {
            const int c = id[k];
            cost += cone_cost(r + k, D + k, mu_of(c), friction_of(c), dim_of(c), f + k, zone[p]);
        }
        moved = moved || zone[p] != before || zone[p] == ConstraintState::CONE;
    }
    changed = __any_sync(all, moved);
    __syncwarp();
    return sum(cost);
};

// start from the better of the last acceleration and the unconstrained one
float a = smooth_acc, Ma = smooth_force;
residuals(a);
const float cold = update();
if ((m.opt.disableflags & Disable::WARMSTART) == 0) {
    const float last = own ? KN_AT(d.state.qacc_warmstart, lane) : 0.0f;
    residuals(last);
    const float moved = times(M);
    const float warm = update() + sum(own ? 0.5f * (moved - smooth_force) * (last - smooth_acc) : 0.0f);
    if (warm < cold) {
        a = last;
        Ma = moved;
    } else {
        residuals(a);
        update();
    }
}

const bool split = (m.opt.disableflags & Disable::ISLAND) == 0;  // as of one island: all trees that rows act on
const float whole = KN_ROW(float, m.opt.meaninertia)[0] * (float)(nv > 1 ? nv : 1);
const float scale = 1.0f / (split ? sum(touched ? diagonal : 0.0f) : whole);
const float tolerance = KN_ROW(float, m.opt.tolerance)[0];

// slope, curvature and change of the cost at a + alpha x
auto evaluate = [&](float alpha, float c1, float c2, float& slope, float& curve) -> float {
    float dc = 0.0f, d1 = 0.0f, d2 = 0.0f;
    #pragma unroll
    for (int p = 0; p < P; ++p) {
        const int k = lane + 32 * p;
        if (kind[p] < CONE_HEAD) {
            const float most = kind[p] == FRICTION_ROW ? loss[k] : 0.0f;
            dc += row_line(kind[p], r[k], v[k], D[k], most, bound[p], alpha, d1, d2);
        } else if (kind[p] == CONE_HEAD) {
            const int c = id[k];
            dc += cone_line(r + k, v + k, D + k, mu_of(c), friction_of(c), dim_of(c), alpha, d1, d2);
        }
    }
    slope = sum(d1) + c1 + alpha * c2;
    curve = wp::max(sum(d2) + c2, 1e-15f);
    return sum(dc) + alpha * (c1 + 0.5f * alpha * c2);
};

#include "line_search.cpp"

int iter = 0;
bool ended = false;  // at the minimum, as far as numbers tell
for (;; ++iter) {
    float g = own ? Ma - smooth_force : 0.0f;
    for (int k = 0; k < nefc; ++k) g -= f[k] * J[k * N + i];
    if (!own) g = 0.0f;
    const float forces = sum(touched ? Ma * Ma + smooth_force * smooth_force : 0.0f);
    const float gg = sum(g * g);
    const bool flat = is_flat(gg, forces);
    if (iter >= m.opt.iterations || (iter > 0 ? flat : is_nothing(gg, forces))) break;

    // H = M + J' (second derivative of the rows) J
    float h[N];
    #pragma unroll
    for (int j = 0; j < N; ++j) h[j] = M[j];
    auto add = [&](int k, float c) {
        const float4* row = (const float4*)(J + k * N);
        #pragma unroll
        for (int t = 0; t < Q; ++t) {
            const float4 b = row[t];
            h[4 * t] += c * b.x; h[4 * t + 1] += c * b.y; h[4 * t + 2] += c * b.z; h[4 * t + 3] += c * b.w;
        }
    };
    #pragma unroll 1
    for (int p = 0; p < P; ++p) {
        const bool alone = zone[p] == ConstraintState::QUADRATIC && kind[p] < CONE_HEAD;
        for (unsigned on = __ballot_sync(all, alone); on; on &= on - 1) {
            const int k = __ffs(on) - 1 + 32 * p;
            add(k, D[k] * J[k * N + i]);
        }
        const bool leads = zone[p] != ConstraintState::SATISFIED && kind[p] == CONE_HEAD;
        for (unsigned on = __ballot_sync(all, leads); on; on &= on - 1) {
            const int k = __ffs(on) - 1 + 32 * p, c = id[k], dim = dim_of(c);
            const int cone = __shfl_sync(all, zone[p], __ffs(on) - 1) == ConstraintState::CONE;
            const Cone e = cone_at(r + k, D[k], mu_of(c), friction_of(c), dim);
            for (int s = 0; s < dim; ++s) {
                float t = 0.0f;
                if (cone) {
                    for (int q = 0; q < dim; ++q) t += cone_entry(e, s, q) * J[(k + q) * N + i];
                } else {
                    t = D[k + s] * J[(k + s) * N + i];
                }
                add(k + s, t);
            }
        }
    }

    float y = -g;
    float* pivot = vec;
#undef KN_PIVOT
#undef KN_WORKS
#define KN_PIVOT(k) true
#define KN_WORKS true
#include "cholesky.cpp"
    const float x = own ? y : 0.0f;

    // exact line search
    publish(x);
    const float Mx = times(M);
    for (int k = lane; k < nefc; k += 32) v[k] = along(k);
    __syncwarp();
    const float c1 = sum(own ? x * (Ma - smooth_force) : 0.0f), c2 = sum(own ? x * Mx : 0.0f), xx = sum(x * x);
    const float gx = sum(own ? g * x : 0.0f);
    if ((iter > 0 || flat) && gains_little(gx)) break;
    float gain;
    const float alpha = line_search(c1, c2, xx, gx, gain);
    if (!(alpha > 0.0f)) break;

    a += alpha * x;
    Ma += alpha * Mx;
    for (int k = lane; k < nefc; k += 32) r[k] += alpha * v[k];
    __syncwarp();
    const float cost = update() + sum(own ? 0.5f * (Ma - smooth_force) * (a - smooth_acc) : 0.0f);
    ended = is_minimum(changed, alpha, gain, cost);
    if (ended) { ++iter; break; }
}

float total = 0.0f;
for (int k = 0; k < nefc; ++k) total += f[k] * J[k * N + i];
const float inertial = own ? Ma - smooth_force : 0.0f;
const float rest = sum(own ? (inertial - total) * (inertial - total) : 0.0f), size = sum(inertial * inertial);
bool spoilt = (ended || iter < m.opt.iterations) && differs(rest, size);
if (spoilt) {
    publish(a);
    float noise = 0.0f;
    #pragma unroll
    for (int p = 0; p < P; ++p) {
        const int k = lane + 32 * p, dim = kind[p] == CONE_HEAD ? dim_of(id[k]) : kind[p] < CONE_HEAD ? 1 : 0;
        if (zone[p] != ConstraintState::QUADRATIC && zone[p] != ConstraintState::CONE) continue;
        for (int q = 0; q < dim; ++q) {
            float length = 0.0f, terms = fabsf(aref[k + q]);
            for (int j = 0; j < N; ++j) {
                length += J[(k + q) * N + j] * J[(k + q) * N + j];
                terms += fabsf(J[(k + q) * N + j] * vec[j]);
            }
            noise += row_noise(D[k + q], terms, length);
        }
    }
    spoilt = sqrtf(rest) < sum(noise);
}
if (own) {
    KN_AT(d.frc.qacc, lane) = a;
    KN_AT(d.frc.qfrc_constraint, lane) = spoilt ? inertial : total;
}
float* force = KN_ROW(float, d.efc.force);
#pragma unroll
for (int p = 0; p < P; ++p) {
    const int k = lane + 32 * p;
    if (k < nefc) force[k] = f[k];
    if (kind[p] < CONE_HEAD) state[k] = zone[p];
    else if (kind[p] == CONE_HEAD) for (int q = 0; q < dim_of(id[k]); ++q) state[k + q] = zone[p];
}
if (lane == 0) KN_ROW(int, d.solver.niter)[0] = iter;
return;
