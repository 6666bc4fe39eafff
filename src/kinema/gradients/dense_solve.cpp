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
        KN_EACH(i, j) if (row[i] != 0.0f)
            for (int k = 0; k <= i; ++k) A[i * n8 + k] -= row[i] * row[k];
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
    KN_COLUMNS(c, count) {
        for (int j = nv - 1; j >= 0; --j) {
            const float* row = L + j * n8;
            const V y = row[j] * load(X + j * width + c);
            store(X + j * width + c, y);
            for (int i = 0; i < j; ++i)
                if (row[i] != 0.0f) store(X + i * width + c, load(X + i * width + c) - row[i] * y);
        }
        for (int j = 0; j < nv; ++j) {
            const float* row = L + j * n8;
            V y = load(X + j * width + c);
            for (int i = 0; i < j; ++i)
                if (row[i] != 0.0f) y -= row[i] * load(X + i * width + c);
            store(X + j * width + c, row[j] * y);
        }
    }
};
auto solve_one = [&](const float* L, float* x) {  // one thread
    for (int j = nv - 1; j >= 0; --j) {
        x[j] *= L[j * n8 + j];
        for (int i = 0; i < j; ++i) x[i] -= L[j * n8 + i] * x[j];
    }
    for (int j = 0; j < nv; ++j) {
        for (int i = 0; i < j; ++i) x[j] -= L[j * n8 + i] * x[i];
        x[j] *= L[j * n8 + j];
    }
};
