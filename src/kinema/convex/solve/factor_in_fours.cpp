// The factor of factor_runs.cpp on one CPU thread, up to four pivots at a time.
//
// The three dofs of a vertex are coupled with the same others, and where elimination has filled rows so are neighbours:
// row k - 1 has the columns of row k but its own. Such pivots are eliminated from each other first, then at once from
// all rows above, which are read and written once for the four; runs go by eights.

typedef float run8 __attribute__((vector_size(32), aligned(4)));
typedef float run4 __attribute__((vector_size(16), aligned(4)));
struct One { enum { n = 1 }; };
struct Two { enum { n = 2 }; };
struct Three { enum { n = 3 }; };
struct Four { enum { n = 4 }; };

// y -= sum over pivots of by[a] p[a], of n numbers
auto take_off = [](auto pivots, float* y, float* const* p, const float* by, int n) {
    constexpr int COUNT = decltype(pivots)::n;
    int j = 0;
    for (; j + 8 <= n; j += 8) {
        run8 sum = by[0] * *(const run8*)(p[0] + j);
        for (int a = 1; a < COUNT; ++a) sum += by[a] * *(const run8*)(p[a] + j);
        *(run8*)(y + j) -= sum;
    }
    if (j + 4 <= n) {
        run4 sum = by[0] * *(const run4*)(p[0] + j);
        for (int a = 1; a < COUNT; ++a) sum += by[a] * *(const run4*)(p[a] + j);
        *(run4*)(y + j) -= sum;
        j += 4;
    }
    for (; j < n; ++j) {
        float sum = by[0] * p[0][j];
        for (int a = 1; a < COUNT; ++a) sum += by[a] * p[a][j];
        y[j] -= sum;
    }
};
// row `target` of H, over its columns up to itself, which are among the runs [first, end)
auto take_off_row = [&](auto pivots, int target, int first, int end, float* const* pivot, const float* by) {
    constexpr int COUNT = decltype(pivots)::n;
    for (int q = first; q < end && run[2 * q] <= target; ++q) {
        float* at[4];
        for (int a = 0; a < COUNT; ++a) at[a] = pivot[a] + run[2 * q];
        const int to = wp::min(run[2 * q + 1], target + 1);
        take_off(pivots, H + target * pitch + run[2 * q], at, by, to - run[2 * q]);
    }
};
// pivots k, k - 1, ..., so many: from each other, then from the rows above
auto eliminate = [&](auto pivots, int k) {
    constexpr int COUNT = decltype(pivots)::n;
    float *pivot[4], inv[4], by[4];
    for (int a = 0; a < COUNT; ++a) {
        pivot[a] = H + (k - a) * pitch;
        inv[a] = 1.0f / wp::max(pivot[a][k - a], 1e-15f);
        KN_UNROLLED for (int b = a + 1; b < COUNT; ++b) {
            by[0] = pivot[a][k - b] * inv[a];
            take_off_row(One(), k - b, run_adr[2 * k], run_adr[2 * k + 1], pivot + a, by);
        }
    }
    const int last = k - COUNT + 1, first = run_adr[2 * last], end = run_adr[2 * last + 1];
    for (int p = first; p < end; ++p)
        for (int i = run[2 * p]; i < run[2 * p + 1]; ++i) {
            bool any = false;
            for (int a = 0; a < COUNT; ++a) { by[a] = pivot[a][i] * inv[a]; any |= by[a] != 0.0f; }
            if (any) take_off_row(pivots, i, first, end, pivot, by);
        }
    for (int a = 0; a < COUNT; ++a) {
        for (int p = run_adr[2 * (k - a)]; p < run_adr[2 * (k - a) + 1]; ++p)
            for (int j = run[2 * p]; j < run[2 * p + 1]; ++j) pivot[a][j] *= inv[a];
        pivot[a][k - a] = inv[a];
    }
};
// does row k - 1 have the columns of row k but its own? Rows keep their columns, so this is asked once a solve, when nobody
// needs the elimination tree any more
int* follows = elder;
KN_ALL_DOFS(k) {
    const int end = run_adr[2 * k + 1];
    follows[k] = end > run_adr[2 * k] && run[2 * end - 1] == k && columns[k] == columns[k - 1] + 1;
}
auto factor = [&]() {
    int passed = nv;  // pivots from here on are done
    KN_DOFS_BACK(k) {
        if (k >= passed) continue;
        int count = 1;
        while (count < 4 && follows[k - count + 1]) ++count;
        if (count == 4) eliminate(Four(), k);
        else if (count == 3) eliminate(Three(), k);
        else if (count == 2) eliminate(Two(), k);
        else eliminate(One(), k);
        passed = k - count + 1;
    }
};
