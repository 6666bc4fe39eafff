// Products of vectors of doubles with rows that live in the columns of one or two trees: one CPU thread goes row by row
// through the columns that are not zero, threads on CUDA add up J' f dof by dof.
#if KN_LANES == 1
#include "vector8.cpp"
#include "columns.cpp"
auto row_by = [&](int k, const double* p) -> double {  // (J p)_k
    int from[2], to[2];
    const float* row = J + (size_t)k * nv;
    double s[4] = {0.0, 0.0, 0.0, 0.0};
    for (int q = 0, n = columns_of(k, from, to); q < n; ++q) {
        int i = from[q];
        for (; i + 4 <= to[q]; i += 4)
            for (int e = 0; e < 4; ++e) s[e] += row[i + e] * p[i + e];
        for (; i < to[q]; ++i) s[0] += row[i] * p[i];
    }
    return (s[0] + s[2]) + (s[1] + s[3]);
};
auto add_row_of = [&](double* out, int k, double s) {  // out += s J_k
    int from[2], to[2];
    const float* row = J + (size_t)k * nv;
    for (int q = 0, n = columns_of(k, from, to); q < n; ++q)
        for (int i = from[q]; i < to[q]; ++i) out[i] += s * row[i];
};
#else
auto row_by = [&](int k, const double* p) -> double {
    int from[2], to[2];
    const float* row = J + (size_t)k * nv;
    double s = 0.0;
    for (int q = 0, n = ranges(k, from, to); q < n; ++q)
        for (int i = from[q]; i < to[q]; ++i) s += row[i] * p[i];
    return s;
};
auto add_rows = [&](double* out, const double* by, double sign) {  // out += sign J' by
    KN_DOFS(i) {
        double s = 0.0;
        for (int k = 0; k < nefc; ++k) {
            const int t = trees[2 * k];
            if (by[k] != 0.0 && (t < 0 || t == tree_of[i] || trees[2 * k + 1] == tree_of[i]))
                s += J[(size_t)k * nv + i] * by[k];
        }
        out[i] += sign * s;
    }
};
#endif
