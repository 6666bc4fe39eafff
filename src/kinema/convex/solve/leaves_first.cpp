// The Hessian on one CPU thread: assembled and factored leaves first, eight columns at a time.
//
//   H = M + J' (d2s/dr2) J = L'L,   k from the last dof to the first:
//   L_k = H_k / sqrt(H_kk),   H_i -= L_ki L_k   over the columns up to i, for every i < k with L_ki != 0
//
// Dofs of a limb come after those it hangs on. So elimination from the last dof couples a dof only with those it hangs on
// and those that rows couple it with: limbs that no row couples stay apart, and their zeros are passed over.
//
// Rows are as long as whole vectors of eight (`pitch`), and every loop runs over whole blocks of eight columns; J, which
// is not kept so, is laid into strips first. Spans are the blocks of the trees that a row of H has columns in. What lies
// in a block beside its pattern is zero; what lies right of the diagonal is not read. Trees coupled in H: bit u of row t of
// `pattern`, u < t.

const int pitch = (nv + 7) & ~7;
const int GATHER = 6, SPANS = 32;
float* strip = KN_ROW(float, d.solver.strip);
float* const inverse = strip + 2 * GATHER * pitch;  // of the diagonal of L
float* const rhs = inverse + pitch;

struct Span { int from, to; };  // blocks of columns
auto extend = [&](Span* s, int n, int from, int to) -> int {  // by columns further right; many spans are bridged over zeros
    const int first = from / 8, end = (to + 7) / 8;
    if (n > 0 && (first <= s[n - 1].to || n == SPANS)) s[n - 1].to = end;
    else { s[n].from = first; s[n].to = end; ++n; }
    return n;
};
auto spans_of_tree = [&](int t, Span* s) -> int {
    int n = 0;
    for (int q = 0; q <= t >> 5; ++q)
        for (unsigned bits = pattern[t * nword + q]; bits; bits &= bits - 1) {
            const int u = 32 * q + __builtin_ctz(bits);
            n = extend(s, n, tree_adr[u], tree_adr[u] + tree_num[u]);
        }
    return extend(s, n, tree_adr[t], tree_adr[t] + tree_num[t]);
};

auto start_hessian = [&]() {  // H = M, with room for what rows and elimination add
    Span s[SPANS];
    KN_TREES(t) {
        const int n = spans_of_tree(t, s), first = tree_adr[t];
        for (int k = first; k < first + tree_num[t]; ++k) {
            float* row = H + (size_t)k * pitch;
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && 8 * b <= k; ++b) block_of(row, b) = vec8{};
            copy(row + first, M + (size_t)k * nv + first, k + 1 - first);
        }
    }
};

// H += sum over p of A_p B_p', rows of the strip: A_p is row p, B_p row GATHER + p
auto add_outer = [&](int count, const Span* s, int n) {
    for (int q = 0; q < n; ++q)
        for (int i = 8 * s[q].from; i < 8 * s[q].to && i < nv; ++i) {
            float a[GATHER];
            bool any = false;
            for (int p = 0; p < count; ++p) { a[p] = strip[p * pitch + i]; any |= a[p] != 0.0f; }
            if (!any) continue;
            float* row = H + (size_t)i * pitch;
            for (int z = 0; z <= q; ++z)
                for (int b = s[z].from; b < s[z].to && 8 * b <= i; ++b) {
                    vec8 h = block_of(row, b);
                    for (int p = 0; p < count; ++p) h += a[p] * block_of(strip + (GATHER + p) * pitch, b);
                    block_of(row, b) = h;
                }
        }
};
auto add_curvature = [&]() {
    Span s[2];
    int count = 0, n = 0, last[2] = {-2, -2};
    auto lay = [&](int k, int p) {  // row k of J into row p of the strip
        int from[2], to[2];
        float* row = strip + p * pitch;
        for (int q = 0; q < n; ++q)
            for (int b = s[q].from; b < s[q].to; ++b) block_of(row, b) = vec8{};
        for (int q = 0, m = ranges(k, from, to); q < m; ++q) copy(row + from[q], J + (size_t)k * nv + from[q], to[q] - from[q]);
    };
    auto flush = [&]() { if (count > 0) add_outer(count, s, n); count = 0; };
    auto take = [&](int k) {  // rows of other trees have other spans
        if (trees[2 * k] == last[0] && trees[2 * k + 1] == last[1]) return;
        flush();
        int from[2], to[2];
        const int m = ranges(k, from, to);
        n = 0;
        for (int q = 0; q < m; ++q) n = extend(s, n, from[q], to[q]);
        last[0] = trees[2 * k]; last[1] = trees[2 * k + 1];
    };
    KN_ROWS(k) {
        if (state[k] == ConstraintState::QUADRATIC) {
            take(k);
            lay(k, count);
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to; ++b)
                    block_of(strip + (GATHER + count) * pitch, b) = D[k] * block_of(strip + count * pitch, b);
            if (++count == GATHER) flush();
        } else if (state[k] == ConstraintState::CONE && kind_of(k) == CONE_HEAD) {
            const Cone e = contact_cone(k);
            take(k);
            flush();
            for (int p = 0; p < e.dim; ++p) lay(k + p, p);
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
            count = e.dim;
            flush();
        }
    }
    flush();
};

auto factor = [&]() {  // H = L'L in place
    const ivec8 numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    Span s[SPANS];
    KN_TREES_BACK(t) {
        const int n = spans_of_tree(t, s), first = tree_adr[t];
        for (int k = first + tree_num[t] - 1; k >= first; --k) {
            float* row = H + (size_t)k * pitch;
            const float inv = 1.0f / sqrtf(wp::max(row[k], 1e-15f));
            inverse[k] = inv;
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && 8 * b <= k; ++b) block_of(row, b) *= inv;
            vec8& end = block_of(row, k / 8);
            end = (vec8)((ivec8)end & (numbers <= (k & 7)));
            for (int q = 0; q < n; ++q)
                for (int i = 8 * s[q].from; i < 8 * s[q].to && i < k; ++i) {
                    const float f = row[i];
                    if (f == 0.0f) continue;
                    float* other = H + (size_t)i * pitch;
                    for (int z = 0; z <= q; ++z)
                        for (int b = s[z].from; b < s[z].to && 8 * b <= i; ++b) block_of(other, b) -= f * block_of(row, b);
                }
        }
    }
};
auto solve = [&](float* y) {  // y = (L'L)^-1 y
    Span s[SPANS];
    KN_TREES(t)
        for (int b = tree_adr[t] / 8; 8 * b < tree_adr[t] + tree_num[t]; ++b) block_of(rhs, b) = vec8{};
    KN_TREES(t) copy(rhs + tree_adr[t], y + tree_adr[t], tree_num[t]);
    KN_TREES_BACK(t) {
        const int n = spans_of_tree(t, s), first = tree_adr[t];
        for (int k = first + tree_num[t] - 1; k >= first; --k) {
            float* row = H + (size_t)k * pitch;
            const float z = rhs[k] * inverse[k];
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && 8 * b <= k; ++b) block_of(rhs, b) -= z * block_of(row, b);
            rhs[k] = z;
        }
    }
    KN_TREES(t) {
        const int n = spans_of_tree(t, s), first = tree_adr[t];
        for (int k = first; k < first + tree_num[t]; ++k) {
            float* row = H + (size_t)k * pitch;
            vec8 sum = {};
            for (int q = 0; q < n; ++q)
                for (int b = s[q].from; b < s[q].to && b < k / 8; ++b) sum += block_of(row, b) * block_of(rhs, b);
            float rest = rhs[k];  // the last block one by one: its numbers were just written
            for (int i = k & ~7; i < k; ++i) rest -= row[i] * rhs[i];
            y[k] = rhs[k] = (rest - sum8(sum)) * inverse[k];
        }
    }
};
