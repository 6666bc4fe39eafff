// The Hessian on one CPU thread: assembled and factored leaves first, eight columns at a time.
//
//   H = M + J' (d2s/dr2) J = L'DL,   k from the last dof to the first:
//   D_k = H_kk,  L_k = H_k / D_k,   H_i -= L_ki H_k   over the columns up to i, for i < k
//
// Dofs of a limb come after those it hangs on. So elimination from the last dof couples a dof only with those it hangs on
// and those that rows couple it with: limbs that no row couples stay apart, and blocks of zeros are passed over.
//
// H is a matrix of blocks of eight by eight (`pitch` numbers a row), and every loop runs over whole blocks, for a branch
// that is guessed wrong costs more than a block; J, which is not kept so, is laid into strips first. Spans are the blocks
// of the trees that a row of H has columns in. What lies in a block beside its pattern is zero; what lies right of the
// diagonal is not read. The three functions that do the work are compiled once each, not wherever they are called from,
// and keep pointers at hand under names of their own, for a store of a vector may change anything that lies in memory. Trees
// coupled in H: bit u of row t of `pattern`, u < t.
//
// Columns are counted from the first dof of the island, so that the matrix of a small one is small: it begins with a block,
// its rows follow each other closely, and the next island's takes the same place, which is at hand.

const int origin = tree_adr[root];
auto begin_of = [&](int t) -> int { return tree_adr[t] - origin; };  // columns of a tree
auto end_of = [&](int t) -> int { return tree_adr[t] - origin + tree_num[t]; };
const int pitch = (end_of(last_tree[root]) + 7) & ~7;
const int GATHER = 6, SPANS = 32;
float* strip = KN_ROW(float, d.solver.strip);
float *const matrix = H, *const strips = strip, *const inverses = strip + 2 * GATHER * pitch;  // of D; then a right hand side
const int width = pitch;

struct Span { int from, to; };  // blocks of columns
auto extend = [&](Span* s, int n, int from, int to) -> int {  // by columns further right; many spans are bridged over zeros
    const int first = from / 8, end = (to + 7) / 8;
    if (n > 0 && (first <= s[n - 1].to || n == SPANS)) s[n - 1].to = wp::max(s[n - 1].to, end);
    else { s[n].from = first; s[n].to = end; ++n; }
    return n;
};
auto spans_of_tree = [&](int t, Span* s) -> int {
    int n = 0;
    for (int q = 0; q <= t >> 5; ++q)
        for (unsigned bits = pattern[t * nword + q]; bits; bits &= bits - 1) {
            const int u = 32 * q + __builtin_ctz(bits);
            n = extend(s, n, begin_of(u), end_of(u));
        }
    return extend(s, n, begin_of(t), end_of(t));
};

auto start_hessian = [&]() {  // H = M, with room for what rows and elimination add
    Span s[SPANS];
    KN_TREES(t) {
        const int n = spans_of_tree(t, s), first = begin_of(t);
        for (int k = first; k < end_of(t); ++k) {
            float* row = H + (size_t)k * pitch;
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && 8 * b <= k; ++b) block_of(row, b) = vec8{};
            copy(row + first, M + (size_t)(origin + k) * widest, k + 1 - first);
        }
    }
};

// H += sum over p of A_p B_p', rows of the strip: A_p is row p, B_p row GATHER + p
auto add_outer = [&](auto rows, const Span* s, int n) {
    constexpr int COUNT = decltype(rows)::COUNT;
    float *const H = matrix, *const strip = strips;
    const int pitch = width;
    for (int q = 0; q < n; ++q)
        for (int e = s[q].from; e < s[q].to; ++e) {
            vec8 a[COUNT];
            ivec8 any = {};
            for (int p = 0; p < COUNT; ++p) { a[p] = block_of(strip + p * pitch, e); any |= a[p] != 0.0f; }
            if (!__builtin_reduce_or(any)) continue;
            float* target = H + (size_t)8 * e * pitch;
            for (int z = 0; z <= q; ++z)
                for (int b = s[z].from, end = z < q ? s[z].to : e + 1; b < end; ++b) {
                    vec8 right[COUNT];
                    for (int p = 0; p < COUNT; ++p) right[p] = block_of(strip + (GATHER + p) * pitch, b);
                    #pragma clang loop unroll(full)
                    for (int j = 0; j < 8; ++j) {
                        vec8 h = block_of(target + j * pitch, b);
                        for (int p = 0; p < COUNT; ++p) h += a[p][j] * right[p];
                        block_of(target + j * pitch, b) = h;
                    }
                }
        }
};
struct One { enum { COUNT = 1 }; };
struct Two { enum { COUNT = 2 }; };
struct Three { enum { COUNT = 3 }; };
struct Four { enum { COUNT = 4 }; };
struct Six { enum { COUNT = 6 }; };
auto add_rows = [&](int count, const Span* s, int n) __attribute__((noinline)) {
    if (count == 1) add_outer(One(), s, n);
    else if (count == 2) add_outer(Two(), s, n);
    else if (count == 3) add_outer(Three(), s, n);
    else if (count == 4) add_outer(Four(), s, n);
    else if (count == 6) add_outer(Six(), s, n);
};
// Rows with one number add to the diagonal. Others are gathered, up to four, as long as they are of the same trees and the
// blocks of one hold those of the other; the rows of a cone in its middle zone are a group of their own.
auto add_curvature = [&]() {
    Span s[2], held[2] = {};  // the blocks that rows of a group have together: as spans, and tree by tree
    int count = 0, n = 0, group[GATHER];
    auto lay = [&](int k, int p, bool scaled) {  // row k of J, and D times it, into rows of the strip
        int from[2], to[2];
        float *left = strip + p * pitch, *right = strip + (GATHER + p) * pitch;
        for (int q = 0; q < n; ++q)
            for (int b = s[q].from; b < s[q].to; ++b) block_of(left, b) = block_of(right, b) = vec8{};
        for (int q = 0, m = columns_of(k, from, to); q < m; ++q) {
            const float* row = J + (size_t)k * nv + from[q];
            const int first = from[q] - origin, count = to[q] - from[q];
            copy(left + first, row, count);
            if (scaled) copy_scaled(right + first, row, D[k], count);
        }
    };
    auto blocks_of = [&](int k, int q) -> Span {
        const int range = columns[2 * k + q], only = column_of(k) - origin;
        if (is_single(k)) return q ? Span{0, 0} : Span{only / 8, only / 8 + 1};
        if (range == 0) return Span{0, 0};
        return Span{((range & 0xffff) - origin) / 8, ((range >> 16) - origin + 7) / 8};
    };
    auto holds = [](Span a, Span b) -> bool { return b.from == b.to || (a.from <= b.from && b.to <= a.to); };
    auto add_group = [&](bool scaled) __attribute__((noinline)) {
        n = 0;
        const int left = held[1].from < held[0].from ? 1 : 0;
        for (int q = 0; q < 2; ++q) {
            const Span b = held[q ? 1 - left : left];
            if (b.from < b.to) n = extend(s, n, 8 * b.from, 8 * b.to);
        }
        for (int p = 0; p < count; ++p) lay(group[p], p, scaled);
    };
    auto flush = [&]() __attribute__((noinline)) {
        if (count == 0) return;
        add_group(true);
        add_rows(count, s, n);
        count = 0;
    };
    auto gather = [&](int k) {
        const int first = count ? group[0] : k;
        const bool same = trees[2 * k] == trees[2 * first] && trees[2 * k + 1] == trees[2 * first + 1];
        const Span one = blocks_of(k, 0), two = blocks_of(k, 1);
        if (!count || !same || !holds(held[0], one) || !holds(held[1], two)) {
            if (!same || !holds(one, held[0]) || !holds(two, held[1])) flush();
            held[0] = one;
            held[1] = two;
        }
        group[count++] = k;
    };
    KN_ROWS(k) {
        if (state[k] == ConstraintState::QUADRATIC) {
            if (is_single(k)) {
                H[(size_t)(column_of(k) - origin) * (pitch + 1)] += D[k] * number_of(k) * number_of(k);
                continue;
            }
            if (count == 4) flush();
            gather(k);
        } else if (state[k] == ConstraintState::CONE && kind_of(k) == CONE_HEAD) {
            const Cone e = contact_cone(k);
            flush();
            held[0] = held[1] = Span{};
            for (int p = 0; p < e.dim; ++p) {
                group[count++] = k + p;
                for (int q = 0; q < 2; ++q) {
                    const Span b = blocks_of(k + p, q);
                    if (b.from == b.to) continue;
                    if (held[q].from == held[q].to) held[q] = b;
                    held[q].from = wp::min(held[q].from, b.from);
                    held[q].to = wp::max(held[q].to, b.to);
                }
            }
            add_group(false);
            for (int p = 0; p < e.dim; ++p) {  // (second derivative) J
                float entry[GATHER];
                for (int q = 0; q < e.dim; ++q) entry[q] = cone_entry(e, p, q);
                for (int q = 0; q < n; ++q)
                    for (int b = s[q].from; b < s[q].to; ++b) {
                        vec8 sum = {};
                        for (int z = 0; z < e.dim; ++z) sum += entry[z] * block_of(strip + z * pitch, b);
                        block_of(strip + (GATHER + p) * pitch, b) = sum;
                    }
            }
            add_rows(count, s, n);
            count = 0;
        }
    }
    flush();
};

auto factor = [&]() __attribute__((noinline)) {  // H = L'DL in place, eight dofs at a time; the diagonal of L is not kept
    const ivec8 numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    float *const H = matrix, *const inverse = inverses;
    const int pitch = width;
    Span s[SPANS];
    KN_TREES_BACK(t) {
        const int n = spans_of_tree(t, s), first = begin_of(t), end = end_of(t);
        for (int p = (end - 1) / 8; 8 * p + 7 >= first; --p) {
            float* panel = H + (size_t)8 * p * pitch;
            const int low = wp::max(first - 8 * p, 0), high = wp::min(end - 8 * p, 8);  // dofs of this tree among the eight
            for (int k = high - 1; k >= low; --k) {  // each taken off those before it in the panel
                float* row = panel + k * pitch;
                const float inv = 1.0f / wp::max(row[8 * p + k], 1e-15f);
                inverse[8 * p + k] = inv;
                for (int j = k - 1; j >= 0; --j) {
                    const float f = row[8 * p + j] * inv;
                    for (int q = 0; q < n; ++q)
                        for (int b = s[q].from; b < s[q].to && b <= p; ++b)
                            block_of(panel + j * pitch, b) -= f * block_of(row, b);
                }
            }
            for (int q = 0; q < n; ++q)  // all of them off the rows of the blocks e above
                for (int e = s[q].from; e < s[q].to && e < p; ++e) {
                    vec8 f[8] = {};
                    ivec8 any = {};
                    for (int k = low; k < high; ++k) {
                        f[k] = block_of(panel + k * pitch, e) * inverse[8 * p + k];
                        any |= f[k] != 0.0f;
                    }
                    if (!__builtin_reduce_or(any)) continue;
                    float* target = H + (size_t)8 * e * pitch;
                    for (int z = 0; z <= q; ++z)
                        for (int b = s[z].from, stop = z < q ? s[z].to : e + 1; b < stop; ++b) {
                            vec8 h[8];
                            for (int j = 0; j < 8; ++j) h[j] = block_of(target + j * pitch, b);
                            for (int k = low; k < high; ++k) {
                                const vec8 right = block_of(panel + k * pitch, b);
                                for (int j = 0; j < 8; ++j) h[j] -= f[k][j] * right;
                            }
                            for (int j = 0; j < 8; ++j) block_of(target + j * pitch, b) = h[j];
                        }
                }
            for (int k = low; k < high; ++k) {
                float* row = panel + k * pitch;
                for (int q = 0; q < n; ++q)
                    for (int b = s[q].from; b < s[q].to && b < p; ++b) block_of(row, b) *= inverse[8 * p + k];
                block_of(row, p) = (vec8)((ivec8)(block_of(row, p) * inverse[8 * p + k]) & (numbers < k));
            }
        }
    }
};
// y = (L'DL)^-1 y, eight dofs at a time: a triangle on the diagonal, whole blocks left of it
auto solve = [&](float* y) __attribute__((noinline)) {
    float *const H = matrix, *const inverse = inverses, *const rhs = inverses + width;
    const int pitch = width;
    Span s[SPANS];
    KN_TREES(t)
        for (int b = begin_of(t) / 8; 8 * b < end_of(t); ++b) block_of(rhs, b) = vec8{};
    y += origin;
    KN_TREES(t) copy(rhs + begin_of(t), y + begin_of(t), tree_num[t]);
    KN_TREES_BACK(t) {  // L' z = y
        const int n = spans_of_tree(t, s), first = begin_of(t), end = end_of(t);
        for (int e = (end - 1) / 8; 8 * e + 7 >= first; --e) {
            const float* L = H + (size_t)8 * e * pitch;
            const int low = first - 8 * e, high = end - 8 * e;  // dofs of this tree among the eight
            float z[8];
            for (int j = 0; j < 8; ++j) z[j] = rhs[8 * e + j];
            #pragma clang loop unroll(full)
            for (int j = 7; j > 0; --j)
                if (j >= low && j < high)
                    KN_UNROLLED for (int c = 0; c < j; ++c) z[c] -= L[j * pitch + 8 * e + c] * z[j];
            for (int j = 0; j < 8; ++j) rhs[8 * e + j] = z[j];
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && b < e; ++b) {
                    vec8 sum = block_of(rhs, b), more = {};
                    #pragma clang loop unroll(full)
                    for (int j = 0; j < 8; j += 2) {
                        if (j >= low && j < high) sum -= z[j] * block_of((float*)L + j * pitch, b);
                        if (j + 1 >= low && j + 1 < high) more -= z[j + 1] * block_of((float*)L + (j + 1) * pitch, b);
                    }
                    block_of(rhs, b) = sum + more;
                }
        }
    }
    KN_TREES(t) {  // L y = D^-1 z
        const int n = spans_of_tree(t, s), first = begin_of(t), end = end_of(t);
        for (int e = first / 8; 8 * e < end; ++e) {
            const float* L = H + (size_t)8 * e * pitch;
            const int low = first - 8 * e, high = end - 8 * e;
            vec8 left[8] = {};
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && b < e; ++b) {
                    const vec8 x = block_of(rhs, b);
                    #pragma clang loop unroll(full)
                    for (int j = 0; j < 8; ++j)
                        if (j >= low && j < high) left[j] += x * block_of((float*)L + j * pitch, b);
                }
            float z[8];
            for (int j = 0; j < 8; ++j) z[j] = rhs[8 * e + j];
            #pragma clang loop unroll(full)
            for (int j = 0; j < 8; ++j)
                if (j >= low && j < high) {
                    z[j] = z[j] * inverse[8 * e + j] - sum8(left[j]);
                    KN_UNROLLED for (int c = 0; c < j; ++c) z[j] -= L[j * pitch + 8 * e + c] * z[c];
                    y[8 * e + j] = rhs[8 * e + j] = z[j];
                }
        }
    }
};
