// Rows whose regularization follows what they push (regularization_slopes.cpp has the formulas), by the discrete integrator.
// A row that gives the power p along y gives to d(log D) the same power: sums of t_i and w_i times p over rows are enough,
// `swells` and `weighs`.
KN_EACH(i, nd) {
    mass[i] = KN_AT(d.inertia.M, m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i] - 1);
    heft[i] = KN_AT(d.metric.value, m.dof.metric_rowadr.data[i] + m.dof.metric_rownnz.data[i] - 1);
    swells[i] = weighs[i] = 0.0f;
}
KN_SYNC();
auto eases = [&](int k, float& l, float& e) -> bool {  // the two sums of row k; false: it pushes nothing but inertia
    bool swelling = false;
    l = e = 0.0f;
    int from[2], end[2];
    const int n = ranges(k, from, end);
    auto add = [&](int first, int last) {
        for (int i = first; i < last; ++i) {
            const float s = J[(size_t)k * nv + i], square = s * s;
            l += square / mass[i];
            e += square / heft[i];
            swelling = swelling || (square != 0.0f && heft[i] != mass[i]);
        }
    };
    add(from[0], end[0]);
    if (n > 1) add(from[1], end[1]);
    return swelling && l > 1e-15f;
};
auto easing_at = [&](int k, int i, float l, float e) -> float {  // c_i
    return 2.0f * in_row(k, i) * (1.0f / (heft[i] * e) - 1.0f / (mass[i] * l));
};
auto stiffen_with = [&](int k, float l, float e, float power, int i) {
    const float s = in_row(k, i), square = power * s * s, lighter = 1.0f / (mass[i] * l), heavier = 1.0f / (heft[i] * e);
    swells[i] += square * (lighter / mass[i] - heavier / heft[i]);
    weighs[i] -= square * heavier / heft[i];
};
auto last_dof = [&](int b) -> int {  // that moves body b; -1: none
    while (b > 0 && m.body.dofnum.data[b] == 0) b = m.body.parentid.data[b];
    return b > 0 ? m.body.dofadr.data[b] + m.body.dofnum.data[b] - 1 : -1;
};
