// Factors of symmetric matrices, and solves: A = L'L, from the last row to the first, so that
// dofs of different branches stay apart. L takes the place of A's lower half; its diagonal is kept inverted.
auto factor = [=](float* A) KN_APART {
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
auto solve_one = [=](const float* L, float* x) KN_APART {  // all lanes, of which each has elements of x to itself
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
