// The columns of a row of J: on the CPU one or two ranges, each from the first number of a tree that is not zero to the last.
//
// Friction of a dof and the limit of a hinge have one number, a contact has those of the dofs its bodies hang on. A robot
// of fifty joints has more rows of the first kinds than of the last, and to go through all columns of its tree for each
// of them was most of what its solver did.
//
// Two ints a row: two ranges, the first column below the one after the last, 0: there is none; or, of a row with a single
// number, ~column and the number.

#if KN_LANES == 1
int* columns = KN_ROW(int, d.solver.next_row) + d.solver.next_row.shape[2];  // behind the lists of rows
auto range_within = [&](const float* row, int from, int to) -> int {
    int first = to, end = 0, i = from;
    for (; i + 8 <= to; i += 8)
        if (const unsigned bits = which_differ(row + i)) {
            if (first == to) first = i + __builtin_ctz(bits);
            end = i + 32 - __builtin_clz(bits);
        }
    for (; i < to; ++i)
        if (row[i] != 0.0f) { if (first == to) first = i; end = i + 1; }
    return end ? first | end << 16 : 0;
};
for (int k = 0; k < nefc; ++k) {
    int from[2], to[2], *two = columns + 2 * k;
    const float* row = J + (size_t)k * nv;
    two[1] = 0;
    for (int q = 0, n = ranges(k, from, to); q < n; ++q) two[q] = range_within(row, from[q], to[q]);
    const int only = two[0] == 0 ? two[1] : two[1] == 0 ? two[0] : 0, c = only & 0xffff;
    if (only && (only >> 16) - c == 1) { two[0] = ~c; two[1] = __builtin_bit_cast(int, row[c]); }
}
auto is_single = [&](int k) -> bool { return columns[2 * k] < 0; };
auto column_of = [&](int k) -> int { return ~columns[2 * k]; };  // of a row with a single number
auto number_of = [&](int k) -> float { return __builtin_bit_cast(float, columns[2 * k + 1]); };
auto columns_of = [&](int k, int from[2], int to[2]) -> int {
    if (is_single(k)) { from[0] = column_of(k); to[0] = from[0] + 1; return 1; }
    int n = 0;
    for (int q = 0; q < 2; ++q)
        if (const int range = columns[2 * k + q]) { from[n] = range & 0xffff; to[n++] = range >> 16; }
    return n;
};
auto row_times = [&](int k, const float* p) -> float {  // (J p)_k
    if (is_single(k)) return number_of(k) * p[column_of(k)];
    const float* row = J + (size_t)k * nv;
    float s = 0.0f;
    for (int q = 0; q < 2; ++q)
        if (const int range = columns[2 * k + q]) {
            const int from = range & 0xffff, to = range >> 16;
            s += dot(row + from, p + from, to - from);
        }
    return s;
};
auto add_row = [&](float* out, int k, float s) {  // out += s J_k
    if (is_single(k)) { out[column_of(k)] += s * number_of(k); return; }
    const float* row = J + (size_t)k * nv;
    for (int q = 0; q < 2; ++q)
        if (const int range = columns[2 * k + q]) {
            const int from = range & 0xffff, to = range >> 16;
            add_scaled(out + from, row + from, s, to - from);
        }
};
#else
auto columns_of = [&](int k, int from[2], int to[2]) -> int { return ranges(k, from, to); };
auto row_times = [&](int k, const float* p) -> float {  // (J p)_k
    int from[2], to[2];
    const float* row = J + (size_t)k * nv;
    float s = 0.0f;
    for (int q = 0, n = columns_of(k, from, to); q < n; ++q) s += dot(row + from[q], p + from[q], to[q] - from[q]);
    return s;
};
#endif
