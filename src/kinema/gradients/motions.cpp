// Five motions of every body, sums of S_i over the dofs that move it (tree_product.cpp): A with qacc, and T_i with qvel,
// from gravity on; hat with qacc alone; with y; with e, by which the step's acceleration differs, and with z. Lanes take a
// component each, and go down the tree on their own.
auto rates_of = [&](int at) -> const float* { return at <= HAT_AT ? accel : at == Y_AT ? y : at == E_AT ? chosen : z; };
KN_EACH(i, FORCES * nb) bears[i] = 0.0f;
KN_EACH(q, damped ? MOTIONS : E_AT) {
    const int c = q % 6, which = q / 6;
    const float* rate = rates_of(6 * which);
    moves[q] = which == 0 && c >= 3 && !(m.opt.disableflags & Disable::GRAVITY) ? -KN_ROW(float, m.opt.gravity)[c - 3] : 0.0f;
    for (int b = 1; b < nb; ++b) {
        float s = moves[MOTIONS * m.body.parentid.data[b] + q];
        const int first = m.body.dofadr.data[b], end = first + m.body.dofnum.data[b];
        for (int k = first; k < end; ++k) {
            s += cdof_of(k)[c] * rate[k];
            if (which == 0) s += rate_of(k)[c] * speed[k];
        }
        moves[MOTIONS * b + q] = s;
    }
}
KN_SYNC();
auto move_of = [&](int b, int at) -> const float* { return moves + MOTIONS * b + at; };
auto bear_of = [&](int b, int at) -> float* { return bears + FORCES * b + at; };
auto offset_to = [&](const float* x, int b, float* r) {  // from the point that vectors of body b are about
    const float* o = centre_of(b);
    for (int i = 0; i < 3; ++i) r[i] = x[i] - o[i];
};
auto cross3 = [](const float* a, const float* b, float s, float* y) {  // y += s a x b
    for (int i = 0; i < 3; ++i) y[i] += s * (a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);
};
auto push_at = [&](const float* r, const float* f, float s, float* y) {  // y += s times a force (moment, force) at r
    for (int i = 0; i < 6; ++i) y[i] += s * f[i];
    cross3(r, f + 3, s, y);
};
auto turns_with_others = [&](int k) -> bool {  // is dof k one of three that turn together?
    const int joint = m.dof.jntid.data[k], kind = m.jnt.type.data[joint];
    return kind == Joint::BALL || (kind == Joint::FREE && k >= m.jnt.dofadr.data[joint] + 3);
};
auto first_of = [&](int k) -> int {  // of them; otherwise itself
    const int joint = m.dof.jntid.data[k];
    return turns_with_others(k) ? m.jnt.dofadr.data[joint] + (m.jnt.type.data[joint] == Joint::FREE ? 3 : 0) : k;
};
