// The inertia of dof i itself, beside which MuJoCo means tolerances, whatever matrix the system is solved in.
auto own_inertia = [&](int i) -> float {
    return KN_AT(d.inertia.M, m.dof.M_rowadr.data[i] + m.dof.M_rownnz.data[i] - 1);
};
