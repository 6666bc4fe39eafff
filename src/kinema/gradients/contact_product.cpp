// Contacts in a product. With the names of contact_slopes.cpp, and u what its components are of the motion y,
//
//   sum of y_j (d force of dof j) = u . d phi + power of F and M, whose place and axes move, along y
//                                 = n . dv - n_a . da + p dy + f . dx + sum of g_i . de_i,     n = G_v'u,  n_a = G u
//
// n and n_a are forces at the place of contact: what they do with dv and da goes up the trees with all that bodies bear. f,
// g and p go with the geometry of the contact, and so are a force on each of the two geoms. A lane takes a contact.
//
// A record: force on the second body, n, -n_a (6 each), p, f, g (13), forces on both geoms (12); by the discrete
// integrator the force that c goes with, the two sums, and the power (9); the bodies, -1: there are no rows (2); J y of its
// rows, at most ten (rows_along.cpp).
constexpr int NOW = 0, DRAGS = 6, PULLS = 12, SLOPES = 18, GEOMS = 31, EASING = 43, SUMS = 49, WHO = 52, MOVED = 54, ROWS = 10;
for (int base = 0; base < ncon; base += AT_ONCE) {
    const int count = wp::min(AT_ONCE, ncon - base);
    KN_EACH(i, ROWS * count) {
        const int row = address_of(base + i / ROWS);
        if (row < 0) continue;
        const int dim = dim_of(base + i / ROWS), k = i % ROWS;
        if (k < (dim > 1 && is_pyramid(row) ? 2 * dim - 2 : dim)) records[RECORD * (i / ROWS) + MOVED + k] = along_row(row + k, y);
    }
    KN_SYNC();
    KN_EACH(q, count) {
        const int c = base + q, row = address_of(c);
        float* record = records + RECORD * q;
        int* who = (int*)(record + WHO);
        who[0] = -1;
        if (row < 0) continue;
        const int dim = dim_of(c), b1 = (&KN_INT(d.crow.bodies, c))[0], b2 = (&KN_INT(d.crow.bodies, c))[1];
        const float *e = frame_of(c), *x = &KN_AT(d.con.pos, c);
        float r1[3], r2[3], va[6], aa[6], ya[6], phi[6], eta[6], gamma[6];
        offset_to(x, b1, r1);
        offset_to(x, b2, r2);
        auto between = [&](const float* s1, const float* s2, float* y) {
            float other[6];
            at_point(s2, r2, y);
            at_point(s1, r1, other);
            for (int i = 0; i < 6; ++i) y[i] -= other[i];
        };
        between(&KN_AT(d.vel.cvel, b1), &KN_AT(d.vel.cvel, b2), va);
        between(move_of(b1, HAT_AT), move_of(b2, HAT_AT), aa);
        between(move_of(b1, Y_AT), move_of(b2, Y_AT), ya);
        forces_of(c, row, phi);
        const float* u = record + MOVED;  // of rows
        const bool pyramid = dim > 1 && is_pyramid(row);
        float p = 0.0f, power = 0.0f;
        for (int i = 0; i < 6; ++i) eta[i] = gamma[i] = 0.0f;
        for (int i = 0; i < ROWS; ++i)
            if (i < (pyramid ? 2 * dim - 2 : dim)) power += u[i] * force[row + i];
        if (dim == 1 || pyramid) {
            for (int i = 0; i < 6; ++i)
                for (int side = 0; side < 2; ++side) {
                    if (i ? i >= dim : side || dim > 1) continue;
                    const int k = row + (i ? 2 * i - 2 + side : 0);
                    if (state[k] != ConstraintState::QUADRATIC) continue;
                    const float mu = i ? (side ? -1.0f : 1.0f) * friction_of(c)[i ? i - 1 : 0] : 0.0f;
                    const float s = D[k] * u[k - row], t = s * row_slope[3 * k + 1];
                    p += s * row_slope[3 * k];
                    gamma[0] -= s;
                    eta[0] += t;
                    if (i) { gamma[i] -= mu * s; eta[i] += mu * t; }
                }
        } else {
            if (state[row] == ConstraintState::QUADRATIC) {
                for (int i = 0; i < 6; ++i)
                    if (i < dim) gamma[i] = -D[row + i] * u[i];
            } else if (state[row] == ConstraintState::CONE) {
                float residual[6];
                for (int i = 0; i < 6; ++i)
                    residual[i] = i < dim ? along_row(row + i, accel) - aref[row + i] : 0.0f;
                cone_times(cone_of(residual, row, dim), u, gamma);
                for (int i = 0; i < 6; ++i) gamma[i] = -gamma[i];
            }
            for (int i = 0; i < 6; ++i)
                if (i < dim) eta[i] = -gamma[i] * row_slope[3 * (row + i) + 1];
            p = -gamma[0] * row_slope[3 * row];
        }

        auto in_world = [&](const float* of, float* f) {  // components along the axes, as a force (moment, force)
            for (int a = 0; a < 3; ++a) {
                f[a] = e[a] * of[3] + e[3 + a] * of[4] + e[6 + a] * of[5];
                f[3 + a] = e[a] * of[0] + e[3 + a] * of[1] + e[6 + a] * of[2];
            }
        };
        in_world(phi, record + NOW);
        in_world(eta, record + DRAGS);
        in_world(gamma, record + PULLS);
        float f[3] = {}, g[9];
        cross3(record + NOW + 3, ya, 1.0f, f);
        cross3(record + DRAGS + 3, va, 1.0f, f);
        cross3(record + PULLS + 3, aa, 1.0f, f);
        for (int i = 0; i < 3; ++i)
            for (int a = 0; a < 3; ++a)
                g[3 * i + a] = phi[i] * ya[3 + a] + phi[3 + i] * ya[a] + eta[i] * va[3 + a] + eta[3 + i] * va[a]
                    + gamma[i] * aa[3 + a] + gamma[3 + i] * aa[a];
        float* sums = record + SUMS;
        sums[2] = 0.0f;
        if (discrete && eases(row, sums[0], sums[1])) {
            float c1[6] = {}, c2[6] = {}, ca[6], push[6] = {};
            auto gather = [&](int b, float* y) {
                for (int k = last_dof(b); k >= 0; k = m.dof.parentid.data[k]) {
                    const float s = easing_at(row, k, sums[0], sums[1]);
                    for (int i = 0; i < 6; ++i) y[i] += s * cdof_of(k)[i];
                }
            };
            gather(b1, c1);
            gather(b2, c2);
            between(c1, c2, ca);
            push[0] = -power;
            push[1] = pyramid ? -power * friction_of(c)[0] : 0.0f;
            in_world(push, record + EASING);
            cross3(record + EASING + 3, ca, 1.0f, f);
            for (int a = 0; a < 3; ++a) { g[a] += push[0] * ca[3 + a]; g[3 + a] += push[1] * ca[3 + a]; }
            sums[2] = power;
        }
        record[SLOPES] = p + row_slope[3 * row + 2] * power;
        for (int i = 0; i < 3; ++i) record[SLOPES + 1 + i] = f[i];
        for (int i = 0; i < 9; ++i) record[SLOPES + 4 + i] = g[i];
        who[0] = b1;
        who[1] = b2;
    }
    KN_SYNC();
    KN_EACH(i, 12 * count) {  // rates along motions of both geoms and of the second (geometry.py)
        const int c = base + i / 12, motion = i % 12;
        float* record = records + RECORD * (i / 12);
        if (((int*)(record + WHO))[0] < 0) continue;
        auto rate = [&](const char* from, int k, int numbers) -> float {
            const int block = split ? numbers * number : 4;  // from four of them to the next four
            return ((const float*)from)[k * number + 1 + motion / 4 * block + motion % 4];
        };
        const float* s = record + SLOPES;
        float y = s[0] * rate(geometry_dist + w * dist_world + c * dist_item, 0, 1);
        for (int k = 0; k < 3; ++k) y += s[1 + k] * rate(geometry_pos + w * pos_world + c * pos_item, k, 3);
        for (int k = 0; k < 9; ++k) y += s[4 + k] * rate(geometry_frame + w * frame_world + c * frame_item, k, 9);
        record[GEOMS + motion] = y;
    }
    KN_SYNC();
    auto bear = [&](int q, int side, int b) {
        const int c = base + q;
        int first = c;  // of its pair: what geoms move about
        while (first > 0 && KN_INT(d.con.pair, first - 1) == KN_INT(d.con.pair, c)) --first;
        const float *record = records + RECORD * q, sign = side ? 1.0f : -1.0f;
        float r[3];
        offset_to(&KN_AT(d.con.pos, c), b, r);
        push_at(r, record + NOW, sign, bear_of(b, G_AT));
        push_at(r, record + DRAGS, sign, bear_of(b, Q_AT));
        push_at(r, record + PULLS, sign, bear_of(b, N_AT));
        offset_to(&KN_AT(d.con.pos, first), b, r);
        if (side == 0) push_at(r, record + GEOMS, 1.0f, bear_of(b, V_AT));
        push_at(r, record + GEOMS + 6, sign, bear_of(b, V_AT));
    };
#if defined(__CUDA_ARCH__)
    KN_EACH(b, nb)
        for (int i = 0; i < 2 * count; ++i) {
            const int* who = (const int*)(records + RECORD * (i / 2) + WHO);
            if (who[0] >= 0 && who[i % 2] == b) bear(i / 2, i % 2, b);
        }
#else
    for (int i = 0; i < 2 * count; ++i) {
        const int* who = (const int*)(records + RECORD * (i / 2) + WHO);
        if (who[0] >= 0) bear(i / 2, i % 2, who[i % 2]);
    }
#endif
    for (int q = 0; discrete && q < count; ++q) {  // what the dofs behind k have of c, the force moves with
        const float *record = records + RECORD * q, *sums = record + SUMS;
        const int *who = (const int*)(record + WHO), row = address_of(base + q);
        if (who[0] < 0 || sums[2] == 0.0f) continue;
        KN_EACH(k, nv) {
            stiffen_with(row, sums[0], sums[1], sums[2], k);
            const int begin = first_of(k);
            for (int side = 0; side < 2; ++side) {
                const int b = who[side];
                if (b < m.dof.bodyid.data[k] || b >= m.dof.bodyend.data[k]) continue;
                float s[6] = {}, f[6] = {}, r[3], y[6];
                for (int i = last_dof(b); i >= begin; i = m.dof.parentid.data[i]) {
                    const float part = easing_at(row, i, sums[0], sums[1]);
                    for (int a = 0; a < 6; ++a) s[a] += part * cdof_of(i)[a];
                }
                offset_to(&KN_AT(d.con.pos, base + q), b, r);
                push_at(r, record + EASING, side ? 1.0f : -1.0f, f);
                crossf(s, f, y);
                to[k] += dot6(cdof_of(k), y);
            }
        }
    }
    KN_SYNC();
}
