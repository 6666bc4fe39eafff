// Other rows in a product: of one dof, friction losses and limits; and those that couple dofs, which duals know the change of
// by position, while by velocity it is that of aref (contact_slopes.cpp). Connects of continuous time are known already.
for (int k = 0; constrained && k < nefc && type[k] < Constraint::CONTACT_FRICTIONLESS; ++k) {
    if (state[k] != ConstraintState::QUADRATIC) continue;
    const bool limit = type[k] == Constraint::LIMIT_JOINT, equality = type[k] == Constraint::EQUALITY;
    if (equality && !discrete && m.eq.type.data[id[k]] == Equality::CONNECT) continue;
    const bool single = type[k] == Constraint::FRICTION_DOF || (limit && m.jnt.type.data[id[k]] != Joint::BALL);
    const float damper = row_slope[3 * k + 1], slowed = row_slope[3 * k + 2];
    float power = 0.0f, l, e;
    if (discrete || !single) {
        KN_EACH(i, nv) power += y[i] * in_row(k, i);
        KN_SUM(power);
    }
    if (discrete && eases(k, l, e)) KN_EACH(i, nv) stiffen_with(k, l, e, power * force[k], i);
    if (single) {
        const int i = limit ? m.jnt.dofadr.data[id[k]] : id[k];
        if (lane != i % KN_LANES) continue;
        to[i] += y[i] * (D[k] * row_slope[3 * k] + slowed * force[k]);
        to[nv + i] += y[i] * D[k] * damper;
        continue;
    }
    const bool anchored = equality && drifts.shape[1]
        && (m.eq.type.data[id[k]] == Equality::CONNECT || m.eq.type.data[id[k]] == Equality::WELD);
    const float* drift = (const float*)((const char*)drifts.data + slot * (size_t)drifts.strides[0] + (anchored ? k : 0) * (size_t)drifts.strides[1]);
    KN_EACH(i, nv) {
        const float s = in_row(k, i);
        to[nv + i] += D[k] * power * (damper * s - (anchored && s != 0.0f ? slowed * drift[i] : 0.0f));
    }
}
KN_SYNC();
