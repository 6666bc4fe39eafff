// Connects in a product, in continuous time (connect_slopes.cpp): with u what the motion y makes of a, the force of its rows
// gives  alpha . da + beta . dv + rho . dr, alpha = -D u, beta = b alpha, rho = s alpha + (s_D u . F + s' alpha . r) r / |r|,
// and the force at a point that moves by dx gives (F x turn of y) . dx. By the rates of a point, for a body that is moved by
// dV, dA and dx, this is
//
//   dA . (alpha at R)  +  dV . (beta' at R, and x' x alpha about it)  +  dx . (rho + alpha x ang A + beta' x w + F x turn of y)
//
// with beta' = beta + alpha x w: forces on the two bodies, of which those along dA are part of P (tree_product.cpp).
for (int e = 0; constrained && e < points.shape[1]; ++e) {
    const float* given = anchor_of(e);
    const int row = (int)given[8];
    if (row < 0) continue;
    const float r[3] = {given[0] - given[3], given[1] - given[4], given[2] - given[5]};
    const float gap = sqrtf(dot3(r, r)), inverse = gap > 1e-15f ? 1.0f / gap : 0.0f, damper = row_slope[3 * row + 1];
    KN_EACH(side, 2) {
        const int b = (int)given[6 + side];
        const float sign = side ? -1.0f : 1.0f, u[3] = {along_row(row, y), along_row(row + 1, y), along_row(row + 2, y)};
        float R[3];
        offset_to(given + 3 * side, b, R);
        const float *v = &KN_AT(d.vel.cvel, b), *F = force + row;
        float alpha[6] = {}, beta[6] = {}, rho[6] = {}, rate[6], push[6] = {}, along_gap = given[11] * dot3(u, F);
        for (int i = 0; i < 3; ++i) along_gap -= given[10] * D[row + i] * u[i] * r[i];
        for (int i = 0; i < 3; ++i) {
            alpha[3 + i] = -sign * D[row + i] * u[i];
            beta[3 + i] = -damper * alpha[3 + i];
            rho[3 + i] = given[9] * alpha[3 + i] + sign * along_gap * inverse * r[i];
            push[3 + i] = sign * F[i];
        }
        at_point(v, R, rate);
        cross3(alpha + 3, v, 1.0f, beta + 3);
        cross3(rate + 3, alpha + 3, 1.0f, beta);
        cross3(alpha + 3, move_of(b, A_AT), 1.0f, rho + 3);
        cross3(beta + 3, v, 1.0f, rho + 3);
        cross3(push + 3, move_of(b, Y_AT), 1.0f, rho + 3);
        push_at(R, push, 1.0f, bear_of(b, G_AT));
        push_at(R, alpha, -1.0f, bear_of(b, P_AT));
        push_at(R, beta, 1.0f, bear_of(b, Q_AT));
        push_at(R, rho, 1.0f, bear_of(b, V_AT));
    }
    KN_SYNC();
}
