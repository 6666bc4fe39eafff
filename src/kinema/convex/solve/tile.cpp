// The tile: some rows of J in shared memory, in the columns of the island (island.cpp).
const float* rows = KN_ROW(float, d.efc.J);
const bool whole = n <= E;  // all of them
int held = -1;  // first row in the tile
#if KN_MAPPED
const int* trees_of_rows = KN_ROW(int, d.efc.trees);  // a lambda that named d would copy all of it
#endif
auto fetch = [=](int base, int count) {  // begin to bring rows
#if KN_MAPPED
    for (int q = i; q < count; q += T) {
        const int row = KN_WHICH(base + q);
        const int* of = trees_of_rows + 2 * row;
        which[q] = row;
        pair[q] = (unsigned)(of[0] + 1) << 16 | (unsigned)(of[1] + 1);
    }
    KN_SYNC();
#endif
    if (i < N)
        #pragma unroll 4
        for (int q = 0; q < count; ++q) {
#if KN_MAPPED
            const unsigned of = pair[q];
            const bool in = own && (of >> 16 == 0u || (int)(of >> 16) == tree + 1 || (int)(of & 0xffffu) == tree + 1);
            KN_COPY(tile + q * LD + i, rows + (in ? (size_t)which[q] * nv + dof : 0), in);
#else
            KN_COPY(tile + q * LD + i, rows + (own ? (size_t)(base + q) * nv + dof : 0), own);
#endif
        }
};
auto bring = [=](int base, int count) __attribute__((noinline)) {  // rare: kept out of the way of the rest
    KN_SYNC();
    fetch(base, count);
    KN_COPIED();
    KN_SYNC();
};
auto take = [&](int base) -> int {  // see to it that rows from base on are in the tile; returns how many
    if (whole) return n;
    int count = n - base;
    if (count > E) {
        count = E;
#if KN_ELLIPTIC
        while (kind[base + count] == CONE_TAIL) --count;  // contacts stay whole
#endif
    }
    if (base != held) bring(base, count);
    held = base;
    return count;
};
