// Factors of symmetric matrices, and solves with many columns at once: A = L'L, from the last row to the first, so that
// dofs of different branches stay apart. L takes the place of A's lower half; its diagonal is kept inverted.
auto factor = [&](float* A) {
    for (int j = nv - 1; j >= 0; --j) {
        float* row = A + j * n8;
        const float pivot = 1.0f / sqrtf(wp::max(row[j], 1e-15f));
        KN_SYNC();
        KN_EACH(i, j + 1) row[i] = i == j ? pivot : row[i] * pivot;
        KN_SYNC();
#if defined(__CUDA_ARCH__)
        for (int i = 0; i < j; ++i) {  // a lane a column: neighbours read neighbours
            const float s = row[i];
            if (s == 0.0f) continue;
            for (int k = lane; k <= i; k += KN_LANES) A[i * n8 + k] -= s * row[k];
        }
#else
        for (int i = 0; i < j; ++i) {
            if (row[i] == 0.0f) continue;
            for (int k = 0; k <= i; k += 8) store(A + i * n8 + k, load(A + i * n8 + k) - row[i] * load(row + k));
        }
#endif
        KN_SYNC();
    }
};
auto solve = [&](const float* L, float* X, int width, int count) {  // X: rows of `width`, of which `count` columns
#if defined(__CUDA_ARCH__)
    KN_EACH(c, count) {
        for (int j = nv - 1; j >= 0; --j) {
            float y = X[j * width + c];
            for (int i = j + 1; i < nv; ++i)
                if (L[i * n8 + j] != 0.0f) y -= L[i * n8 + j] * X[i * width + c];
            X[j * width + c] = L[j * n8 + j] * y;
        }
        for (int j = 0; j < nv; ++j) {
            float y = X[j * width + c];
            for (int i = 0; i < j; ++i)
                if (L[j * n8 + i] != 0.0f) y -= L[j * n8 + i] * X[i * width + c];
            X[j * width + c] = L[j * n8 + j] * y;
        }
    }
#else
    // who is in whose row of L, listed once; then several columns of eight at once, sums in registers
    for (int j = 0; j < nv; ++j) above[j] = 0;
    for (int j = 0; j < nv; ++j) {
        below[j] = 0;
        for (int i = 0; i < j; ++i)
            if (L[j * n8 + i] != 0.0f) {
                list[j * n8 + below[j]++] = i;
                list[(nv + i) * n8 + above[i]++] = j;
            }
    }
    auto columns = [&](float* x, auto number) {
        constexpr int N = decltype(number)::value;
        for (int pass = 0; pass < 2; ++pass)
            for (int q = 0; q < nv; ++q) {
                const int j = pass ? q : nv - 1 - q, n = pass ? below[j] : above[j];
                const int* who = list + (pass ? j : nv + j) * n8;
                V y[N];
                for (int b = 0; b < N; ++b) y[b] = load(x + j * width + 8 * b);
                for (int k = 0; k < n; ++k) {
                    const float s = pass ? L[j * n8 + who[k]] : L[who[k] * n8 + j];
                    const float* from = x + who[k] * width;
                    for (int b = 0; b < N; ++b) y[b] -= s * load(from + 8 * b);
                }
                const float s = L[j * n8 + j];
                for (int b = 0; b < N; ++b) store(x + j * width + 8 * b, s * y[b]);
            }
    };
    int c = 0;
    for (; c + 40 <= width; c += 40) columns(X + c, Number5());
    for (; c + 16 <= width; c += 16) columns(X + c, Number2());
    for (; c < width; c += 8) columns(X + c, Number1());
#endif
};
auto solve_one = [&](const float* L, float* x) {  // all lanes, of which each has elements of x to itself
    for (int j = nv - 1; j >= 0; --j) {
        KN_SYNC();
        const float y = x[j] * L[j * n8 + j];
        KN_SYNC();
        if (lane == j % KN_LANES) x[j] = y;
        KN_EACH(i, j) x[i] -= L[j * n8 + i] * y;
    }
    for (int j = 0; j < nv; ++j) {
        float y = 0.0f;
        KN_SYNC();
        KN_EACH(i, j) y += L[j * n8 + i] * x[i];
        KN_SUM(y);
        if (lane == j % KN_LANES) x[j] = (x[j] - y) * L[j * n8 + j];
    }
    KN_SYNC();
};
