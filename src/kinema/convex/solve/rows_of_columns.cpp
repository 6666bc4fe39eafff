// Rows that list their columns, as dual.cpp asks for them: z = J' f, and y = M^-1 z, tree by tree.
double* y = KN_ROW(double, d.solver.wide);
double *z = y + nv, *b = z + nv;
float* last = (float*)(b + nefc);

// s + J_k p, by one thread
auto row_with = [&](int k, double s, auto p) {
    for (int q = 0; q < ncol[k]; ++q) s += (double)J[(size_t)k * width + q] * p(col[(size_t)k * width + q]);
    return s;
};
// y = M^-1 z in one tree, by the factor of M
auto solve_tree = [&](int t) {
    const int first = tree_adr[t], end = first + tree_num[t];
    const int *adr = m.dof.M_rowadr.data, *num = m.dof.M_rownnz.data, *of = m.dof.M_colind.data;
    for (int i = first; i < end; ++i) y[i] = z[i];
    for (int i = end - 1; i >= first; --i)
        for (int a = 0; a < num[i] - 1; ++a) y[of[adr[i] + a]] -= KN_AT(KN_FACTOR, adr[i] + a) * y[i];
    for (int i = first; i < end; ++i) {
        double s = y[i] * KN_AT(KN_FACTOR_INVERSE, i);
        for (int a = 0; a < num[i] - 1; ++a) s -= KN_AT(KN_FACTOR, adr[i] + a) * y[of[adr[i] + a]];
        y[i] = s;
    }
};
auto solve_trees = [&](int k) {  // in those of row k, each once
    const int* at = col + (size_t)k * width;
    for (int q = 0; q < ncol[k]; ++q) {
        bool fresh = true;
        for (int p = 0; p < q && fresh; ++p) fresh = tree_of[at[p]] != tree_of[at[q]];
        if (fresh) solve_tree(tree_of[at[q]]);
    }
};
auto load = [&](int k, double f) {  // z += f J_k, by all lanes
    for (int q = lane; q < ncol[k]; q += KN_LANES) z[col[(size_t)k * width + q]] += f * J[(size_t)k * width + q];
    KN_SYNC();
};
// J_i y for n rows of one contact, by all lanes
auto rows_times = [&](int i, int n, double out[6]) {
    for (int j = 0; j < n; ++j) {
        double s = 0.0;
        const size_t row = (size_t)(i + j) * width;
        for (int q = lane; q < ncol[i + j]; q += KN_LANES) s += J[row + q] * y[col[row + q]];
        KN_SUM(s);
        out[j] = s;
    }
};
// y for forces of n rows of one contact that change by delta
auto add_rows = [&](int i, int n, const double* delta) {
    for (int j = 0; j < n; ++j) if (delta[j] != 0.0) load(i + j, delta[j]);
    if (lane == 0) solve_trees(i);
    KN_SYNC();
};
auto start_y = [&](int isle) {  // of an island; of all where that is -1
    KN_EACH(i, nv) z[i] = 0.0;
    KN_SYNC();
    for (int i = 0; i < nefc; ++i) if (force[i] != 0.0f && (isle < 0 || isle_of[i] == isle)) load(i, force[i]);
    KN_EACH(t, ntree) if (isle < 0 || root_of[t] == isle) solve_tree(t);
    KN_SYNC();
};
auto joint_forces = [&]() {  // y = J' force
    KN_EACH(i, nv) y[i] = z[i];
};

// diagonal blocks of A, row by row, and b
KN_EACH(i, nv) z[i] = 0.0;
KN_SYNC();
for (int k = 0; k < nefc; ++k) {
    load(k, 1.0);
    if (lane == 0) {
        solve_trees(k);
        const int first = first_of(k), shift = k - first;
        for (int j = 0, n = size_of(k); j < n; ++j)
            block[(size_t)(first + j) * WIDE + shift] = row_with(first + j, 0.0, [&](int i) { return y[i]; });
    }
    KN_SYNC();
    for (int q = lane; q < ncol[k]; q += KN_LANES) z[col[(size_t)k * width + q]] = 0.0;
    KN_SYNC();
}
KN_EACH(k, nefc)
    b[k] = row_with(k, -KN_ROW(float, d.efc.aref)[k], [&](int i) { return KN_AT(d.frc.qacc_smooth, i); });
KN_SYNC();
