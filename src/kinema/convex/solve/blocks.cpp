// H of an island of many small trees in shared memory, for one warp on CUDA: of more dofs than a group holds (island.cpp).
//
// Row k of tree t keeps its own block and those of the later trees it is coupled with, side by side:
//
//   tree t:  | t t | u u | v v |      start[t]: first number; width[t]: numbers a row; place[t][u]: where block u begins
//
// Elimination stays within these blocks, for the pattern holds what it fills in. Systems that are too large, or have rows
// on any tree, are left to the general code.

constexpr int ROOM = 2400, TREES = 32, DOFS = 256, WIDTH = 64;
__shared__ float blocks_[KN_WARPS][ROOM], rhs_[KN_WARPS][DOFS];
__shared__ unsigned char place_[KN_WARPS][TREES * TREES];
float *blocks = blocks_[threadIdx.x >> 5], *rhs = rhs_[threadIdx.x >> 5];
unsigned char* place = place_[threadIdx.x >> 5];
const unsigned everyone = 0xffffffffu;

// lane t knows tree t; those of other islands have no dofs here
bool packed = ntree <= TREES && nv <= DOFS;
const int my_tree = lane < ntree ? lane : 0;
const int my_adr = tree_adr[my_tree], my_num = lane < ntree && is_here(lane) ? tree_num[my_tree] : 0;
const unsigned my_pattern = packed && lane < ntree ? pattern[my_tree * nword] : 0u;
int my_width = my_num;
for (int u = 0; packed && u < ntree; ++u) {
    const int num = __shfl_sync(everyone, my_num, u);
    if (my_pattern >> u & 1u) {
        place[lane * TREES + u] = (unsigned char)wp::min(my_width, 255);
        my_width += num;
    }
}
int my_start = my_num * my_width;  // made a running sum below
for (int o = 1; o < 32; o <<= 1) {
    const int before = __shfl_up_sync(everyone, my_start, o);
    if (lane >= o) my_start += before;
}
const int total = __shfl_sync(everyone, my_start, 31);
my_start -= my_num * my_width;
packed = packed && total <= ROOM && __all_sync(everyone, my_width <= WIDTH && my_num <= 16);
for (int q = lane; packed && q < rows_here + 31 - (rows_here + 31) % 32; q += 32)
    packed = __all_sync(everyone, q >= rows_here || trees[2 * row_list[q]] >= 0);
__syncwarp();

auto start_of = [&](int t) -> int { return __shfl_sync(everyone, my_start, t); };
auto width_of = [&](int t) -> int { return __shfl_sync(everyone, my_width, t); };
auto num_of = [&](int t) -> int { return __shfl_sync(everyone, my_num, t); };
auto adr_of = [&](int t) -> int { return __shfl_sync(everyone, my_adr, t); };

// which tree column c of the rows of tree t belongs to, and where that tree's block begins
auto column_tree = [&](int t, int c, int& tree, int& begin) {
    tree = t; begin = 0;
    for (unsigned bits = __shfl_sync(everyone, my_pattern, t); bits; bits &= bits - 1) {
        const int u = __ffs(bits) - 1, at = place[t * TREES + u];
        if (c >= at) { tree = u; begin = at; }
    }
};

auto pack_mass = [&]() {
    for (int k = lane; k < total; k += 32) blocks[k] = 0.0f;
    __syncwarp();
    KN_TREES(t) {
        const int n = num_of(t), adr = adr_of(t), start = start_of(t), width = width_of(t);
        for (int e = lane; e < n * n; e += 32)
            blocks[start + e / n * width + e % n] = M[(size_t)(adr + e / n) * widest + e % n];
    }
    __syncwarp();
};

// H += sum over p of left_p' right_p for rows on trees t and, where u >= 0, u > t; lane c holds column c of both
auto add_products = [&](int t, int u, const float* left, const float* right, int dim) {
    const int n = num_of(t), more = num_of(u < 0 ? t : u), count = u < 0 ? n : n + more;
    const int start = start_of(t), width = width_of(t), second = start_of(u < 0 ? t : u), wide = width_of(u < 0 ? t : u);
    const int beyond = u < 0 ? 0 : place[t * TREES + u];
    for (int i = 0; i < count; ++i) {
        float sum = 0.0f;
        for (int p = 0; p < dim; ++p) sum += __shfl_sync(everyone, left[p], i) * right[p];
        if (lane >= i && lane < count) {
            const int at = i < n ? start + i * width + (lane < n ? lane : beyond + lane - n)
                                 : second + (i - n) * wide + lane - n;
            blocks[at] += sum;
        }
    }
    __syncwarp();
};
auto pack_curvature = [&]() {
    for (int first = 0; first < rows_here; first += 32) {
        const int mine = row_list[wp::min(first + lane, rows_here - 1)];
        const int my_state = state[mine], one = trees[2 * mine], two = trees[2 * mine + 1];
        const float my_D = D[mine];
        const bool my_head = kind_of(mine) == CONE_HEAD;
        for (int k = 0; k < 32 && first + k < rows_here; ++k) {
            const int zone = __shfl_sync(everyone, my_state, k);
            const bool cone_head = zone == ConstraintState::CONE && __shfl_sync(everyone, (int)my_head, k);
            if (zone != ConstraintState::QUADRATIC && !cone_head) continue;
            const int row = __shfl_sync(everyone, mine, k);
            int t = __shfl_sync(everyone, one, k), u = __shfl_sync(everyone, two, k);
            if (u >= 0 && u < t) { const int swap = t; t = u; u = swap; }
            const int n = num_of(t), count = n + (u < 0 ? 0 : num_of(u < 0 ? t : u));
            const int from = adr_of(t), beyond = adr_of(u < 0 ? t : u);
            const int column = lane < n ? from + lane : beyond + lane - n;
            float left[6], right[6];
            if (zone == ConstraintState::QUADRATIC) {
                left[0] = lane < count ? J[(size_t)row * nv + column] : 0.0f;
                right[0] = __shfl_sync(everyone, my_D, k) * left[0];
                add_products(t, u, left, right, 1);
            } else {
                const Cone e = contact_cone(row);
                for (int p = 0; p < e.dim; ++p)
                    left[p] = lane < count ? J[(size_t)(row + p) * nv + column] : 0.0f;
                for (int p = 0; p < e.dim; ++p) {
                    right[p] = 0.0f;
                    for (int q = 0; q < e.dim; ++q) right[p] += cone_entry(e, p, q) * left[q];
                }
                add_products(t, u, left, right, e.dim);
            }
        }
    }
};
auto pack_shift = [&](float shift) {
    KN_TREES(t) {
        const int n = num_of(t), start = start_of(t), width = width_of(t);
        for (int k = lane; k < n; k += 32) blocks[start + k * width + k] *= 1.0f + shift;
    }
    __syncwarp();
};
auto pack_factor = [&]() {  // U'U in place
    KN_TREES(t) {
        const int n = num_of(t), start = start_of(t), width = width_of(t);
        int tree[2], begin[2];
        column_tree(t, lane, tree[0], begin[0]);
        column_tree(t, lane + 32, tree[1], begin[1]);
        for (int k = 0; k < n; ++k) {
            float* row = blocks + start + k * width;
            const float inv = rsqrtf(wp::max(row[k], 1e-15f));
            __syncwarp();
            for (int c = k + lane; c < width; c += 32) row[c] *= inv;
            __syncwarp();
            for (int i = k + 1; i < width; ++i) {
                const float f = row[i];
                const int u = __shfl_sync(everyone, i < 32 ? tree[0] : tree[1], i & 31);
                const int base = __shfl_sync(everyone, i < 32 ? begin[0] : begin[1], i & 31);
                float* below = blocks + start_of(u) + (i - base) * width_of(u);
                #pragma unroll
                for (int q = 0; q < 2; ++q) {
                    const int c = lane + 32 * q;
                    if (c >= i && c < width)
                        below[tree[q] == u ? c - base : place[u * TREES + tree[q]] + c - begin[q]] -= f * row[c];
                }
            }
            __syncwarp();
        }
    }
};
auto pack_solve = [&](float* y) {  // y = (U'U)^-1 y
    KN_DOFS(i) rhs[i] = y[i];
    __syncwarp();
    const int begins = tree_starts[island], ends = tree_starts[island + 1] - 1;
    for (int pass = 0; pass < 2; ++pass)
        for (int q = begins; q <= ends; ++q) {
            const int t = tree_list[pass ? begins + ends - q : q];
            const int n = num_of(t), adr = adr_of(t), start = start_of(t), width = width_of(t);
            int tree[2], begin[2], dof[2];  // the dof of column lane, and of column lane + 32
            #pragma unroll
            for (int z = 0; z < 2; ++z) {
                column_tree(t, lane + 32 * z, tree[z], begin[z]);
                dof[z] = adr_of(tree[z]) + lane + 32 * z - begin[z];
            }
            for (int s = 0; s < n; ++s) {
                const int k = pass ? n - 1 - s : s;
                const float* row = blocks + start + k * width;
                if (pass == 0) {
                    const float value = rhs[adr + k] / row[k];
                    __syncwarp();
                    if (lane == 0) rhs[adr + k] = value;
                    if (lane > k && lane < width) rhs[dof[0]] -= row[lane] * value;
                    if (lane + 32 < width) rhs[dof[1]] -= row[lane + 32] * value;
                } else {
                    float sum = lane > k && lane < width ? row[lane] * rhs[dof[0]] : 0.0f;
                    if (lane + 32 < width) sum += row[lane + 32] * rhs[dof[1]];
                    KN_SUM(sum);
                    if (lane == 0) rhs[adr + k] = (rhs[adr + k] - sum) / row[k];
                }
                __syncwarp();
            }
        }
    KN_DOFS(i) y[i] = rhs[i];
    __syncwarp();
};
