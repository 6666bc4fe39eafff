// Rows that lie in the columns of one or two trees, as dual.cpp asks for them: J and B = M^-1 J' in full rows.
float* B = KN_ROW(float, d.dual.B);
float* b = KN_ROW(float, d.solver.Jaref);
float* y = KN_ROW(float, d.solver.acc);
#if KN_PGS
float* last = KN_ROW(float, d.solver.Jv);
#endif

// s + J_k p, by one thread
auto row_with = [&](int k, float s, auto p) {
    int from[2], to[2];
    for (int q = 0, n = ranges(k, from, to); q < n; ++q)
        for (int i = from[q]; i < to[q]; ++i) s += J[(size_t)k * nv + i] * p(i);
    return s;
};
// J_i y for n rows of one contact, by all lanes
auto rows_times = [&](int i, int n, double out[6]) {
    int from[2], to[2];
    const int parts = ranges(i, from, to);
    for (int j = 0; j < n; ++j) {
        const float* row = J + (size_t)(i + j) * nv;
        float s = 0.0f;
        for (int q = 0; q < parts; ++q)
            for (int k = from[q] + lane; k < to[q]; k += KN_LANES) s += row[k] * y[k];
        KN_SUM(s);
        out[j] = s;
    }
};
// y += B' delta for n rows of one contact
auto add_rows = [&](int i, int n, const double* delta) {
    int from[2], to[2];
    const int parts = ranges(i, from, to);
    for (int j = 0; j < n; ++j) {
        const float* row = B + (size_t)(i + j) * nv;
        const float f = (float)delta[j];
        if (f != 0.0f)
            for (int q = 0; q < parts; ++q)
                for (int k = from[q] + lane; k < to[q]; k += KN_LANES) y[k] += f * row[k];
    }
    KN_SYNC();
};
auto start_y = [&](int isle) {  // y = B' force of an island; of all where that is -1
    KN_EACH(k, nv) y[k] = 0.0f;
    KN_SYNC();
    for (int i = 0; i < nefc; ++i) {
        const double f = (double)force[i];
        if (f != 0.0 && (isle < 0 || isle_of[i] == isle)) add_rows(i, 1, &f);
    }
};

// Z = J L^-1, by the factor M = L' D L: one row a lane
KN_EACH(k, nefc) {
    if (!is_swept(k)) continue;
    int from[2], to[2];
    float* x = B + (size_t)k * nv;
    for (int q = 0, n = ranges(k, from, to); q < n; ++q) {
        for (int i = from[q]; i < to[q]; ++i) x[i] = J[(size_t)k * nv + i];
        for (int i = to[q] - 1; i >= from[q]; --i) {
            const int adr = m.dof.M_rowadr.data[i], above = m.dof.M_rownnz.data[i] - 1;
            if (x[i] != 0.0f)
                for (int a = 0; a < above; ++a) x[m.dof.M_colind.data[adr + a]] -= KN_AT(KN_FACTOR, adr + a) * x[i];
        }
    }
}
KN_SYNC();
// Diagonal blocks of A = Z D^-1 Z', in doubles. A body of small inertia makes them nearly singular: sums of squares keep
// small eigenvalues, which products of J with a rounded B would not.
KN_EACH(k, nefc) {
    if (!is_swept(k)) continue;
    int from[2], to[2];
    const int parts = ranges(k, from, to), first = first_of(k), size = size_of(k);
    const float* row = B + (size_t)k * nv;
    for (int j = 0; j < size; ++j) {
        if (!is_swept(first + j)) continue;
        const float* other = B + (size_t)(first + j) * nv;
        double s = 0.0;
        for (int q = 0; q < parts; ++q)
            for (int i = from[q]; i < to[q]; ++i) s += (double)row[i] * (double)KN_AT(KN_FACTOR_INVERSE, i) * (double)other[i];
        block[(size_t)k * WIDE + j] = s;
    }
}
KN_SYNC();
// B = Z D^-1 L'^-1, and b
KN_EACH(k, nefc) {
    if (!is_swept(k)) continue;
    int from[2], to[2];
    float* x = B + (size_t)k * nv;
    const int parts = ranges(k, from, to);
    for (int q = 0; q < parts; ++q)
        for (int i = from[q]; i < to[q]; ++i) {
            const int adr = m.dof.M_rowadr.data[i], above = m.dof.M_rownnz.data[i] - 1;
            float s = x[i] * KN_AT(KN_FACTOR_INVERSE, i);
            for (int a = 0; a < above; ++a) s -= KN_AT(KN_FACTOR, adr + a) * x[m.dof.M_colind.data[adr + a]];
            x[i] = s;
        }
    const float* row = J + (size_t)k * nv;
    float s = -KN_ROW(float, d.efc.aref)[k];
    for (int q = 0; q < parts; ++q) for (int i = from[q]; i < to[q]; ++i) s += row[i] * KN_AT(d.frc.qacc_smooth, i);
    b[k] = s;
}
KN_SYNC();
auto joint_forces = [&]() {  // y = J' force
    KN_EACH(i, nv) y[i] = 0.0f;
    KN_SYNC();
    for (int k = 0; k < nefc; ++k) {
        int from[2], to[2];
        for (int q = 0, n = ranges(k, from, to); q < n; ++q)
            for (int i = from[q] + lane; i < to[q]; i += KN_LANES) y[i] += force[k] * J[(size_t)k * nv + i];
        KN_SYNC();
    }
};
