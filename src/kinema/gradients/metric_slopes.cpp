// The matrices of a step: M, which rows add to, and Mh = M + N; and e, by which the two accelerations differ.
//
// The discrete integrator has one matrix, M + h D + h^2 K (convex/metric.py), in the place of M, and one acceleration.
// N = -h qDeriv: what the integrator takes at the end of the step, of dofs alone (damped 1), or in the pattern of M (2).
// Free bodies on their own have a matrix that is not symmetric (lone_slopes.cpp), and rows of the identity here.
auto is_alone = [&](int i) -> bool { return nalone && m.body.alone.data[m.dof.bodyid.data[i]]; };
auto late_at = [&](int a) -> float { return damped ? -h * *(const float*)(slope_of_dofs + w * slope_world + a * slope_item) : 0.0f; };
auto each_pair = [&](auto take) {  // N beside the diagonal: dof, an earlier one, entry
    if (damped > 1)
        for (int i = 0; i < nv; ++i)
            for (int k = m.dof.M_rowadr.data[i]; k < m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i] - 1 && !is_alone(i); ++k) {
                const float n = late_at(m.dof.mapD2M.data[k]);
                if (n != 0.0f) take(i, m.dof.M_colind.data[k], n);
            }
};
KN_EACH(i, nv * n8) H[i] = 0.0f;
KN_SYNC();
KN_EACH(i, nv) {
    if (discrete)
        for (int k = m.dof.metric_rowadr.data[i]; k < m.dof.metric_rowadr.data[i] + m.dof.metric_rownnz.data[i]; ++k)
            H[i * n8 + m.dof.metric_colind.data[k]] = KN_AT(d.metric.value, k);
    else
        for (int k = m.dof.M_rowadr.data[i]; k < m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i]; ++k)
            H[i * n8 + m.dof.M_colind.data[k]] = KN_AT(d.inertia.M, k);
    damp[i] = is_alone(i) ? 0.0f : late_at(m.dof.D_rowadr.data[i] + m.dof.D_diag.data[i]);
    chosen[i] = settled ? KN_AT(d.scratch.qacc_step, i) - KN_AT(d.frc.qacc, i) : -damp[i] * KN_AT(d.frc.qacc, i);
}
KN_SYNC();
if (damped) {
    KN_EACH(i, nv * n8) {
        const int r = i / n8, c = i % n8;
        Mh[i] = is_alone(r) ? (r == c ? 1.0f : 0.0f) : H[i] + (r == c ? damp[r] : 0.0f);
    }
    KN_SYNC();
    if (lane == 0)
        each_pair([&](int i, int j, float n) {
            Mh[i * n8 + j] += n;
            if (!settled) {
                chosen[i] -= n * KN_AT(d.frc.qacc, j);
                chosen[j] -= n * KN_AT(d.frc.qacc, i);
            }
        });
    KN_SYNC();
    prepare(Mh);
    if (!settled) apply_inverse(Mh, chosen);
}
KN_SYNC();
