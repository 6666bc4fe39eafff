// The matrices of a step: M, which rows add to, and Mh = M + h B; and e, by which the two accelerations differ.
KN_EACH(i, nv * n8) H[i] = 0.0f;
KN_EACH(i, nv) damp[i] = 0.0f;
KN_SYNC();
KN_EACH(i, nv)
    for (int k = m.dof.M_rowadr.data[i]; k < m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i]; ++k)
        H[i * n8 + m.dof.M_colind.data[k]] = KN_AT(d.inertia.M, k);
if (lane == 0)
    for (int k = 0; k < forces.shape[0]; ++k) {
        const int* entry = (const int*)((const char*)forces.data + k * (size_t)forces.strides[0]);
        if (entry[4]) damp[entry[0]] -= local[(size_t)entry[2] * colors + entry[3]];
    }
KN_SYNC();
KN_EACH(i, nv) chosen[i] = damped ? -h * damp[i] * KN_AT(d.frc.qacc, i) : 0.0f;
if (damped) {
    KN_EACH(i, nv * n8) Mh[i] = H[i] + (i / n8 == i % n8 ? h * damp[i / n8] : 0.0f);
    KN_SYNC();
    factor(Mh);
    if (lane == 0) solve_one(Mh, chosen);
}
KN_SYNC();
