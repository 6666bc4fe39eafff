// x = -H^-1 g for the dofs of one island, H = M + J' (d2s/dr2) J: thread i keeps column i of H in registers.
// Pivots of other islands are passed over; their columns are those of the identity.

auto acts_on = [&](int k, int t) -> bool { const int u = trees[2 * k]; return u < 0 || u == t || trees[2 * k + 1] == t; };
auto add_forces = [&](float* out, float sign) {  // out += sign J' f, of the rows of the island
    const int t = lane < nv ? tree_of[lane] : -1;
    if (t >= 0 && KN_HERE(root_of[t])) {
        float sum = out[lane];
        #pragma unroll 4
        for (int k = 0; k < nefc; ++k) {
            if (resident) sum += sign * force[k] * tile[k * LD + lane];
            else if (acts_on(k, t)) sum += sign * force[k] * J[(size_t)k * nv + lane];
        }
        out[lane] = sum;
    }
    KN_SYNC();
};
auto add_row = [&](float* h, int k, float s) {  // h += s (row k of the tile)
    const float4* row = (const float4*)(tile + k * LD);
    #pragma unroll
    for (int t = 0; t < Q; ++t) {
        const float4 b = row[t];
        h[4 * t] += s * b.x; h[4 * t + 1] += s * b.y; h[4 * t + 2] += s * b.z; h[4 * t + 3] += s * b.w;
    }
};
auto direction = [&]() {
    const int tree = lane < nv ? tree_of[lane] : -1;
    const bool mine = tree >= 0 && KN_HERE(root_of[tree]);
    const int from = mine ? tree_adr[tree] : 0, to = mine ? from + tree_num[tree] : 0;
    const int column = lane < N ? lane : N - 1;
    __shared__ int member[KN_LANES];  // dofs of the island
    member[lane] = mine;
    const bool works = !KN_SPLIT || __any_sync(0xffffffffu, mine);  // a warp without dofs of the island only keeps time
    float h[N];
    #pragma unroll
    for (int j = 0; j < N; ++j) h[j] = j >= from && j < to ? M[(size_t)j * nv + lane] : j == lane ? 1.0f : 0.0f;

    for (int first = 0; first < nefc;) {
        int count = nefc;
        if (!resident) {
            count = wp::min(E, nefc - first);
            while (first + count < nefc && kind_of(first + count) == CONE_TAIL)
                --count;  // contacts stay whole
            KN_SYNC();
            load(first, count);
        }
        for (int k = lane; k < count; k += KN_LANES)  // of each row of a cone its row of second derivatives
            if (state_[k] == ConstraintState::CONE) {
                const Cone e = contact_cone(first + id_[k]);
                for (int q = 0; q < e.dim; ++q) second[6 * k + q] = cone_entry(e, k - id_[k], q);
            }
        KN_SYNC();
        for (int k = 0; works && k < count; ++k) {
            const int zone = state_[k];
            if (!KN_HERE(root_[k])) continue;
            const float* own = tile + k * LD + column;
            if (zone == ConstraintState::QUADRATIC) {
                add_row(h, k, D_[k] * own[0]);
            } else if (zone == ConstraintState::CONE) {
                const int first_row = id_[k], dim = dim_[k];
                float s = 0.0f;
                for (int q = 0; q < dim; ++q) s += second[6 * k + q] * tile[(first_row + q) * LD + column];
                add_row(h, k, s);
            }
        }
        first += count;
    }

    float y = mine ? -g[lane] : 0.0f;
#undef KN_PIVOT
#undef KN_WORKS
#define KN_PIVOT(k) (!KN_SPLIT || member[k])
#define KN_WORKS works
#include "cholesky.cpp"
    if (mine) x[lane] = y;
    KN_SYNC();
};
