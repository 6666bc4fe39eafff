// Solves with many columns at once, with the factor of dense_factor.cpp.
struct Number5 { enum { value = 5 }; };
struct Number2 { enum { value = 2 }; };
struct Number1 { enum { value = 1 }; };
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
auto prepare = [&](float* A) { factor(A); };
auto apply_inverse = [&](const float* A, float* x) { solve_one(A, x); };
