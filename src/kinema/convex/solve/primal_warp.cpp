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
    const int adr = m.dof.M_rowadr.data[lane], nnz = m.dof.M_rownnz.data[lane];
    for (int k = 0; k < nnz; k += 8) {  // many reads under way at a time
        float value[8];
        int j[8];
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            const int at = adr + wp::min(k + q, nnz - 1);
            j[q] = m.dof.M_colind.data[at];
            value[q] = KN_AT(d.inertia.M, at);
        }
        #pragma unroll
        for (int q = 0; q < 8; ++q) J[lane * N + j[q]] = J[j[q] * N + lane] = value[q];
    }
}
__syncwarp();
float M[N];
#pragma unroll
for (int j = 0; j < N; ++j) M[j] = J[j * N + i];
__syncwarp();

// rows
const float* rows = KN_ROW(float, d.efc.J);
const int* trees = KN_ROW(int, d.efc.trees);
const int tree = own ? m.dof.treeid.data[lane] : -2;
for (int first = 0; first < nefc; first += 32) {
    const int mine = wp::min(first + lane, nefc - 1), one = trees[2 * mine], two = trees[2 * mine + 1];
    const int count = wp::min(32, nefc - first);
    for (int k = 0; k < count; k += 8) {
        float value[8];
        #pragma unroll
        for (int q = 0; q < 8; ++q) {
            const int t = __shfl_sync(all, one, k + q), u = __shfl_sync(all, two, k + q);
            const bool in = own && k + q < count && (t < 0 || t == tree || u == tree);
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
const float smooth_force = own ? KN_AT(d.frc.qfrc_smooth, lane) : 0.0f;
const float smooth_acc = own ? KN_AT(d.frc.qacc_smooth, lane) : 0.0f;
__syncwarp();

auto head = [&](int k) -> bool { return k == 0 || type[k - 1] != Constraint::CONTACT_ELLIPTIC || id[k - 1] != id[k]; };
auto mu_of = [&](int c) -> float { return KN_AT(d.crow.mu, c); };
auto dim_of = [&](int c) -> int { return *(int*)&KN_AT(d.con.dim, c); };
auto friction_of = [&](int c) -> const float* { return &KN_AT(d.con.friction, c); };

// each lane looks after rows lane, lane + 32, ...: kind 0 equality, 1 friction, 2 one-sided, 3 cone head, 4 cone tail
constexpr int P = (E + 31) / 32;
int kind[P], zone[P];
float bound[P];
#pragma unroll
for (int p = 0; p < P; ++p) {
    const int k = lane + 32 * p;
    zone[p] = ConstraintState::SATISFIED;
    bound[p] = 0.0f;
    kind[p] = 5;
    if (k < nefc) {
        kind[p] = k < ne ? 0 : k < nef ? 1 : type[k] != Constraint::CONTACT_ELLIPTIC ? 2 : head(k) ? 3 : 4;
        if (kind[p] == 1) bound[p] = KN_ROW(float, d.efc.R)[k] * loss[k];
    }
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
        if (kind[p] == 0 || kind[p] == 2) {
            const bool on = kind[p] == 0 || r[k] < 0.0f;
            zone[p] = on ? ConstraintState::QUADRATIC : ConstraintState::SATISFIED;
            f[k] = on ? -D[k] * r[k] : 0.0f;
            cost += on ? 0.5f * D[k] * r[k] * r[k] : 0.0f;
        } else if (kind[p] == 1) {
            const float x = r[k], b = bound[p], g = loss[k];
            if (x <= -b) { zone[p] = ConstraintState::LINEARNEG; f[k] = g; cost += -g * (0.5f * b + x); }
            else if (x >= b) { zone[p] = ConstraintState::LINEARPOS; f[k] = -g; cost += g * (x - 0.5f * b); }
            else { zone[p] = ConstraintState::QUADRATIC; f[k] = -D[k] * x; cost += 0.5f * D[k] * x * x; }
        } else if (kind[p] == 3) {
            const int c = id[k], dim = dim_of(c);
            const float mu = mu_of(c), *fri = friction_of(c), Nn = r[k] * mu;
            float T = 0.0f;
            for (int q = 1; q < dim; ++q) T += r[k + q] * fri[q - 1] * r[k + q] * fri[q - 1];
            T = sqrtf(T);
            if (Nn >= mu * T || (T <= 0.0f && Nn >= 0.0f)) {
                zone[p] = ConstraintState::SATISFIED;
                for (int q = 0; q < dim; ++q) f[k + q] = 0.0f;
            } else if (mu * Nn + T <= 0.0f || (T <= 0.0f && Nn < 0.0f)) {
                zone[p] = ConstraintState::QUADRATIC;
                for (int q = 0; q < dim; ++q) {
                    f[k + q] = -D[k + q] * r[k + q];
                    cost += 0.5f * D[k + q] * r[k + q] * r[k + q];
                }
            } else {
                zone[p] = ConstraintState::CONE;
                const float Dm = D[k] / (mu * mu * (1.0f + mu * mu)), gap = Nn - mu * T;
                cost += 0.5f * Dm * gap * gap;
                f[k] = -Dm * gap * mu;
                for (int q = 1; q < dim; ++q) f[k + q] = Dm * gap * mu / T * r[k + q] * fri[q - 1] * fri[q - 1];
            }
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

const float scale = 1.0f / (KN_ROW(float, m.opt.meaninertia)[0] * (float)(nv > 1 ? nv : 1));
const float tolerance = wp::max(KN_ROW(float, m.opt.tolerance)[0], 1e-6f);
const float gtol_factor = tolerance * KN_ROW(float, m.opt.ls_tolerance)[0] / scale;

// slope, curvature and change of the cost at a + alpha x
float slope, curve;
auto evaluate = [&](float alpha, float c1, float c2) -> float {
    float dc = 0.0f, d1 = 0.0f, d2 = 0.0f;
    #pragma unroll
    for (int p = 0; p < P; ++p) {
        const int k = lane + 32 * p;
        if (kind[p] == 0 || kind[p] == 2) {
            const float x = r[k], y = x + alpha * v[k], Dv = D[k] * v[k];
            const float lo = kind[p] == 0 || x < 0.0f ? x : 0.0f, hi = kind[p] == 0 || y < 0.0f ? y : 0.0f;
            if (hi == y) { d1 += Dv * y; d2 += Dv * v[k]; }
            dc += 0.5f * D[k] * (hi - lo) * (hi + lo);
        } else if (kind[p] == 1) {
            const float x = r[k], y = x + alpha * v[k], b = bound[p], g = loss[k];
            if (y <= -b) d1 -= g * v[k];
            else if (y >= b) d1 += g * v[k];
            else { d1 += D[k] * y * v[k]; d2 += D[k] * v[k] * v[k]; }
            auto huber = [&](float z) -> float {
                return z <= -b ? -g * (0.5f * b + z) : z >= b ? g * (z - 0.5f * b) : 0.5f * D[k] * z * z;
            };
            dc += huber(y) - huber(x);
        } else if (kind[p] == 3) {
            const int c = id[k], dim = dim_of(c);
            const float mu = mu_of(c), *fri = friction_of(c);
            const float U0 = r[k] * mu, V0 = v[k] * mu, Dm = D[k] / (mu * mu * (1.0f + mu * mu));
            float UU = 0.0f, UV = 0.0f, VV = 0.0f, q0 = 0.0f, q1 = 0.0f, q2 = 0.0f;
            for (int q = 0; q < dim; ++q) {
                const float x = r[k + q], y = v[k + q], Dq = D[k + q];
                q0 += Dq * x * x; q1 += Dq * x * y; q2 += Dq * y * y;
                if (q > 0) {
                    const float u = x * fri[q - 1], t = y * fri[q - 1];
                    UU += u * u; UV += u * t; VV += t * t;
                }
            }
            auto cone_cost = [&](float s) -> float {
                const float n = U0 + s * V0, T = sqrtf(wp::max(0.0f, UU + s * (2.0f * UV + s * VV)));
                if (n >= mu * T || (T <= 0.0f && n >= 0.0f)) return 0.0f;
                if (mu * n + T <= 0.0f) return 0.5f * q0 + s * (q1 + 0.5f * s * q2);
                return 0.5f * Dm * (n - mu * T) * (n - mu * T);
            };
            dc += cone_cost(alpha) - cone_cost(0.0f);
            const float n = U0 + alpha * V0, TT = UU + alpha * (2.0f * UV + alpha * VV), T = sqrtf(wp::max(0.0f, TT));
            if (TT <= 0.0f ? n < 0.0f : mu * n + T <= 0.0f) {
                d1 += q1 + alpha * q2; d2 += q2;
            } else if (TT > 0.0f && n < mu * T) {
                const float T1 = (UV + alpha * VV) / T, T2 = VV / T - (UV + alpha * VV) * T1 / TT, n1 = V0 - mu * T1;
                d1 += Dm * (n - mu * T) * n1;
                d2 += Dm * (n1 * n1 - (n - mu * T) * mu * T2);
            }
        }
    }
    slope = sum(d1) + c1 + alpha * c2;
    curve = wp::max(sum(d2) + c2, 1e-15f);
    return sum(dc) + alpha * (c1 + 0.5f * alpha * c2);
};

int iter = 0;
for (;; ++iter) {
    float g = own ? Ma - smooth_force : 0.0f;
    for (int k = 0; k < nefc; ++k) g -= f[k] * J[k * N + i];
    if (!own) g = 0.0f;
    if (iter >= m.opt.iterations || scale * sqrtf(sum(g * g)) < tolerance) break;

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
        for (unsigned on = __ballot_sync(all, zone[p] == ConstraintState::QUADRATIC && kind[p] < 3); on; on &= on - 1) {
            const int k = __ffs(on) - 1 + 32 * p;
            add(k, D[k] * J[k * N + i]);
        }
        for (unsigned on = __ballot_sync(all, zone[p] != ConstraintState::SATISFIED && kind[p] == 3); on; on &= on - 1) {
            const int k = __ffs(on) - 1 + 32 * p, c = id[k], dim = dim_of(c);
            const int cone = __shfl_sync(all, zone[p], __ffs(on) - 1) == ConstraintState::CONE;
            const float mu = mu_of(c), *fri = friction_of(c);
            float T = 0.0f;
            for (int q = 1; q < dim; ++q) T += r[k + q] * fri[q - 1] * r[k + q] * fri[q - 1];
            T = sqrtf(T);
            const float Nn = r[k] * mu, Dm = D[k] / (mu * mu * (1.0f + mu * mu));
            for (int s = 0; s < dim; ++s) {
                float t = 0.0f;
                if (cone) {
                    const float ss = s ? fri[s - 1] : mu, us = s ? r[k + s] * ss : Nn;
                    for (int q = 0; q < dim; ++q) {
                        const float sq = q ? fri[q - 1] : mu, uq = q ? r[k + q] * sq : Nn;
                        float e;
                        if (s == 0 && q == 0) e = 1.0f;
                        else if (s == 0 || q == 0) e = -mu / T * (s ? us : uq);
                        else e = mu * Nn / (T * T * T) * us * uq + (s == q ? mu * mu - mu * Nn / T : 0.0f);
                        t += Dm * ss * sq * e * J[(k + q) * N + i];
                    }
                } else {
                    t = D[k + s] * J[(k + s) * N + i];
                }
                add(k + s, t);
            }
        }
    }

    // H = L L', solving for x along the way; lane k stops at step k and so keeps column k of L, unscaled
    float x = -g, inv = 0.0f;
    #pragma unroll
    for (int k = 0; k < N; ++k) {
        float* now = vec + 32 * (k & 1);  // two buffers: no lane can still be reading the one written now
        now[lane] = h[k];
        __syncwarp();
        const float s = rsqrtf(wp::max(now[k], 1e-15f));
        const float l = h[k] * s, e = lane > k ? l * s : 0.0f;
        if (lane == k) inv = s;
        #pragma unroll
        for (int t = k / 4; t < Q; ++t) {
            const float4 b = ((const float4*)now)[t];
            if (4 * t > k) h[4 * t] -= e * b.x;
            if (4 * t + 1 > k) h[4 * t + 1] -= e * b.y;
            if (4 * t + 2 > k) h[4 * t + 2] -= e * b.z;
            if (4 * t + 3 > k) h[4 * t + 3] -= e * b.w;
        }
        const float y = __shfl_sync(all, x, k) * s;
        if (lane == k) x = y; else if (lane > k) x -= l * y;
    }
    #pragma unroll
    for (int k = N - 1; k > 0; --k) {
        const float y = __shfl_sync(all, x * inv, k);
        if (lane < k) x -= h[k] * inv * y;
    }
    x = own ? x * inv : 0.0f;
    __syncwarp();

    // exact line search: Newton on the slope, kept inside a bracket
    publish(x);
    const float Mx = times(M);
    for (int k = lane; k < nefc; k += 32) v[k] = along(k);
    __syncwarp();
    const float c1 = sum(own ? x * (Ma - smooth_force) : 0.0f), c2 = sum(own ? x * Mx : 0.0f), xx = sum(x * x);
    evaluate(0.0f, c1, c2);
    const float gtol = wp::max(gtol_factor * sqrtf(xx), 1e-5f * fabsf(slope));
    float lo = 0.0f, hi = -1.0f, alpha = -slope / curve, gain = 0.0f;
    if (!(alpha > 0.0f)) break;
    for (int ls = 0; ls < m.opt.ls_iterations; ++ls) {
        gain = evaluate(alpha, c1, c2);
        if (fabsf(slope) < gtol) break;
        if (slope < 0.0f) lo = alpha; else hi = alpha;
        float next = alpha - slope / curve;
        if (next <= lo || (hi >= 0.0f && next >= hi)) next = hi >= 0.0f ? 0.5f * (lo + hi) : 2.0f * alpha;
        if (next == alpha) break;
        alpha = next;
    }

    a += alpha * x;
    Ma += alpha * Mx;
    for (int k = lane; k < nefc; k += 32) r[k] += alpha * v[k];
    __syncwarp();
    update();
    if ((!changed && fabsf(alpha - 1.0f) < 1e-3f) || -scale * gain < tolerance) { ++iter; break; }
}

float total = 0.0f;
for (int k = 0; k < nefc; ++k) total += f[k] * J[k * N + i];
if (own) {
    KN_AT(d.frc.qacc, lane) = a;
    KN_AT(d.frc.qfrc_constraint, lane) = total;
}
float* force = KN_ROW(float, d.efc.force);
#pragma unroll
for (int p = 0; p < P; ++p) {
    const int k = lane + 32 * p;
    if (k < nefc) force[k] = f[k];
    if (kind[p] < 3) state[k] = zone[p];
    else if (kind[p] == 3) for (int q = 0; q < dim_of(id[k]); ++q) state[k + q] = zone[p];
}
if (lane == 0) KN_ROW(int, d.solver.niter)[0] = iter;
return;
