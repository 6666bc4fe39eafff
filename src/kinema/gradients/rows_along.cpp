// Rows of J along motions. One lane adds up a row: whoever asks for it, gets the same bits. Residuals of a stiff row, and its
// share of y, are small differences, and the matrix that finds y must have them as what is made of y later has them.
auto in_row = [&](int k, int i) -> float {  // J_ki
    int from[2], end[2];
    const int n = ranges(k, from, end);
    return (i >= from[0] && i < end[0]) || (n > 1 && i >= from[1] && i < end[1]) ? J[(size_t)k * nv + i] : 0.0f;
};
auto along_row = [&](int k, const float* x) -> float {  // (J x)_k
    int from[2], end[2];
    const int n = ranges(k, from, end);
    float s = 0.0f;
    for (int i = from[0]; i < end[0]; ++i) s += J[(size_t)k * nv + i] * x[i];
    if (n > 1)
        for (int i = from[1]; i < end[1]; ++i) s += J[(size_t)k * nv + i] * x[i];
    return s;
};
auto cone_of = [&](const float* r, int k, int dim) -> Cone {  // that of the contact whose rows begin at k
    Cone e;
    const float* friction = friction_of(id[k]);
    float square = 0.0f;
    e.dim = dim;
    e.mu = mu_of(id[k]);
    for (int q = 0; q < 6; ++q) {  // lengths are known beforehand: numbers stay in registers
        e.s[q] = q ? (q < dim ? friction[q ? q - 1 : 0] : 0.0f) : e.mu;
        e.U[q] = q < dim ? r[q] * e.s[q] : 0.0f;
        if (q) square += e.U[q] * e.U[q];
    }
    e.T = sqrtf(square);
    e.Dm = cone_stiffness(D[k], e.mu);
    return e;
};
auto cone_times = [](const Cone& e, const float* x, float* y) {  // y = G x of a contact on its cone (solve/cone.cpp)
    const float flat = e.mu / e.T, lean = flat * e.U[0];
    float along = 0.0f;
    for (int q = 1; q < 6; ++q)
        if (q < e.dim) along += e.U[q] * e.s[q] * x[q];
    y[0] = e.Dm * e.s[0] * (e.s[0] * x[0] - flat * along);
    for (int q = 1; q < 6; ++q)
        y[q] = q < e.dim ? e.Dm * e.s[q] * ((lean / (e.T * e.T) * along - flat * e.s[0] * x[0]) * e.U[q] + (e.mu * e.mu - lean) * e.s[q] * x[q]) : 0.0f;
};
