// How the forces of rows change with position and velocity at a fixed acceleration, and what they add to H.
//
// A contact has up to six components: along and about the axes e_i of its frame. With a and v its relative acceleration
// (without that of moving axes) and velocity, y its distance, and rows r = N (a - s_v v) - s_y y (row_slopes.py),
//
//   force of components:   d phi = -G da + G_v dv + (g + s_D phi) dy        G = N'S N,  G_v = N'S s_v N,  g = N'S s_y
//   force on the bodies:   F = sum of e_i phi_i at the place of contact, M = sum of e_i phi_i+3
//
// y, place and frame change with the poses of the two geoms as geometry.py says: by 6 + 6 rates of turning and moving, of
// both and of the second alone, about the first place of the pair. Only dofs that move one of the two bodies matter:
// `chain`, one column each. Where the metric is more than inertia, forces go with its D as well (regularization_slopes.cpp):
// there dJ c, for the fixed c of the contact, changes as J a does.

#undef KN_COMPONENTS
#if defined(__CUDA_ARCH__)
#define KN_COMPONENTS(i) _Pragma("unroll") for (int i = 0; i < 6; ++i) if (i < dim)  // numbers stay in registers
#else
#define KN_COMPONENTS(i) for (int i = 0; i < dim; ++i)
#endif
float *P = column, *Pd = P + 6 * n8, *Ph = Pd + 6 * n8, *on1 = Ph + 6 * n8, *on2 = on1 + n8;
float *axis = on2 + n8, *pull = axis + 6 * n8, *drag = pull + 6 * n8, *turn = drag + 6 * n8, *shift = turn + 6 * n8;

// the dofs that move one of two bodies into `chain`, with three motion vectors each into P, Pd and Ph; how many
auto gather_dofs = [&](int b1, int b2, auto motions_of) -> int {
    int n = 0;
    for (int first = 0; first < nv; first += KN_LANES) {
        const int k = first + lane;
        bool one = false, two = false;
        if (k < nv) {
            const int from = m.dof.bodyid.data[k], to = m.dof.bodyend.data[k];
            one = b1 >= from && b1 < to;
            two = b2 >= from && b2 < to;
        }
#if defined(__CUDA_ARCH__)
        const unsigned mask = __ballot_sync(0xffffffffu, one || two);
        const int at = n + __popc(mask & ((1u << lane) - 1u));
        n += __popc(mask);
#else
        const int at = n;
        n += one || two;
#endif
        if (one || two) {
            chain[at] = k;
            on1[at] = one ? 1.0f : 0.0f;
            on2[at] = two ? 1.0f : 0.0f;
            float y[18];
            motions_of(k, y);
            for (int i = 0; i < 18; ++i) P[i * n8 + at] = y[i];
        }
    }
    for (int k = n + lane; k < ((n + KN_V - 1) & ~(KN_V - 1)); k += KN_LANES)  // eight at once: fill up with nothing
        for (int i = 0; i < 20; ++i) P[i * n8 + k] = 0.0f;
    KN_SYNC();
    return n;
};

int ref = 0;
for (int c = 0; c < ncon; ++c) {
    if (c == 0 || KN_INT(d.con.pair, c) != KN_INT(d.con.pair, c - 1)) ref = c;
    const int row = address_of(c);
    if (row < 0) continue;
    const int dim = dim_of(c), b1 = (&KN_INT(d.crow.bodies, c))[0], b2 = (&KN_INT(d.crow.bodies, c))[1];
    const float *e = frame_of(c), *x = &KN_AT(d.con.pos, c), *o = &KN_AT(d.con.pos, ref);
    const float r[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};

    // the motion of both bodies about the first place, and what there is between them at this one
    float v1[6], v2[6], a1[6], a2[6], va[6], aa[6], phi[6], F[3];
    auto motion_at = [&](const float* s, int b, float* y) {
        const float* p = centre_of(b);
        const float from[3] = {o[0] - p[0], o[1] - p[1], o[2] - p[2]};
        at_point(s, from, y);
    };
    motion_at(&KN_AT(d.vel.cvel, b1), b1, v1);
    motion_at(&KN_AT(d.vel.cvel, b2), b2, v2);
    motion_at(hat + 6 * b1, b1, a1);
    motion_at(hat + 6 * b2, b2, a2);
    for (int i = 0; i < 6; ++i) { F[i % 3] = 0.0f; phi[i] = v2[i] - v1[i]; }
    at_point(phi, r, va);
    for (int i = 0; i < 6; ++i) phi[i] = a2[i] - a1[i];
    at_point(phi, r, aa);
    forces_of(c, row, phi);
    for (int i = 0; i < 3; ++i)
        for (int a = 0; a < 3; ++a) F[a] += e[3 * i + a] * phi[i];

    // G, G_v, g
    float G[36] = {}, Gs[36] = {}, g[6] = {};
    const float yields = row_slope[3 * row + 2];
    if (dim == 1 || is_pyramid(row)) {
        for (int k = 0; k < (dim == 1 ? 1 : 2 * (dim - 1)); ++k) {
            if (state[row + k] != ConstraintState::QUADRATIC) continue;
            const int i = dim == 1 ? 0 : k / 2 + 1;
            const float mu = dim == 1 ? 0.0f : (k % 2 ? -1.0f : 1.0f) * friction_of(c)[i - 1];
            const float s = D[row + k], t = s * row_slope[3 * (row + k) + 1], y = s * row_slope[3 * (row + k)];
            G[0] += s; Gs[0] += t; g[0] += y;
            if (i) {
                G[i] += mu * s; G[6 * i] += mu * s; G[7 * i] += mu * mu * s;
                Gs[i] += mu * t; Gs[6 * i] += mu * t; Gs[7 * i] += mu * mu * t;
                g[i] += mu * y;
            }
        }
    } else if (state[row] == ConstraintState::QUADRATIC) {
        for (int i = 0; i < dim; ++i) {
            G[7 * i] = D[row + i];
            Gs[7 * i] = D[row + i] * row_slope[3 * (row + i) + 1];
        }
        g[0] = D[row] * row_slope[3 * row];
    } else if (state[row] == ConstraintState::CONE) {
        float residual[6];
        for (int i = 0; i < dim; ++i) residual[i] = dot3(e + 3 * (i % 3), i < 3 ? aa + 3 : aa) - aref[row + i];
        const Cone cone = cone_at(residual, D[row], mu_of(c), friction_of(c), dim);
        for (int i = 0; i < dim; ++i) {
            for (int k = 0; k < dim; ++k) {
                G[6 * i + k] = cone_entry(cone, i, k);
                Gs[6 * i + k] = G[6 * i + k] * row_slope[3 * (row + k) + 1];
            }
            g[i] = G[6 * i] * row_slope[3 * row];
        }
    }

    const int n = gather_dofs(b1, b2, [&](int k, float* y) {
        const int b = m.dof.bodyid.data[k];
        motion_at(cdof_of(k), b, y);
        motion_at(rate_of(k), b, y + 6);
        motion_at(before + 6 * k, b, y + 12);
    });

    const bool swelling = discrete && ease(J + (size_t)row * nv, chain, n);
    float c1[6] = {}, c2[6] = {}, ca[6] = {};  // c in place of accelerations
    if (swelling) {
        if (lane == 0)
            for (int q = 0; q < ((n + KN_V - 1) & ~(KN_V - 1)); ++q) {
                if (q >= n) {
                    for (int i = 0; i < 6; ++i) eased[i * n8 + q] = 0.0f;
                    continue;
                }
                const int k = chain[q], joint = m.dof.jntid.data[k], kind = m.jnt.type.data[joint], p = m.dof.parentid.data[k];
                const int group = m.jnt.dofadr.data[joint] + (kind == Joint::FREE ? 3 : 0);
                const bool later = (kind == Joint::BALL || kind == Joint::FREE) && k > group;
                at_dof[k] = q;
                for (int i = 0; i < 6; ++i) {
                    const float inherited = p >= 0 ? eased[(6 + i) * n8 + at_dof[p]] : 0.0f;
                    eased[i * n8 + q] = later ? eased[i * n8 + q - 1] : inherited;
                    eased[(6 + i) * n8 + q] = inherited + P[i * n8 + q] * easing[q];
                }
            }
        for (int q = 0; q < n; ++q)
            for (int i = 0; i < 6; ++i) {
                const float s = P[i * n8 + q] * easing[q];
                c1[i] += on1[q] * s;
                c2[i] += on2[q] * s;
            }
        float between[6];
        for (int i = 0; i < 6; ++i) between[i] = c2[i] - c1[i];
        at_point(between, r, ca);
        KN_SYNC();
    }

    const float* distance = (const float*)(geometry_dist + w * dist_world + c * dist_item);
    const float* place = (const float*)(geometry_pos + w * pos_world + c * pos_item);
    const float* frame = (const float*)(geometry_frame + w * frame_world + c * frame_item);
    KN_COLUMNS(k, n) {
        V p[6], q[6], h[6];
        for (int i = 0; i < 6; ++i) { p[i] = load(P + i * n8 + k); q[i] = load(Pd + i * n8 + k); h[i] = load(Ph + i * n8 + k); }
        const V first = load(on1 + k), second = load(on2 + k), sign = second - first;
        auto geometry = [&](const float* t, int numbers) -> V {  // rates along motions of both geoms, and of the second beside the first
            const int block = split ? numbers * number : 4;  // from four of them to the next four
            const float *a = t + 1, *b = a + block, *c = b + block;
            V y = first * (a[0] * p[0] + a[1] * p[1] + a[2] * p[2] + a[3] * p[3] + b[0] * p[4] + b[1] * p[5]);
            return y + sign * (b[2] * p[0] + b[3] * p[1] + c[0] * p[2] + c[1] * p[3] + c[2] * p[4] + c[3] * p[5]);
        };
        V dy = geometry(distance, 1), dx[3], de[9];
        for (int i = 0; i < 3; ++i) dx[i] = geometry(place + i * number, 3);
        for (int i = 0; i < 9; ++i) de[i] = geometry(frame + i * number, 9);

        // what a rigid motion (p) makes of motion vectors that differ between the bodies, at this place
        auto carried_by = [&](const float* s1, const float* s2, const V* own, const float* between, V* y) {
            V s[6];
            for (int i = 0; i < 6; ++i) s[i] = second * s2[i] - first * s1[i];
            V l[3];
            for (int i = 0; i < 3; ++i) {
                const int a = (i + 1) % 3, b = (i + 2) % 3;
                y[i] = p[a] * s[b] - p[b] * s[a] + own[i];
                l[i] = p[a] * s[3 + b] - p[b] * s[3 + a] + p[3 + a] * s[b] - p[3 + b] * s[a] + own[3 + i];
            }
            for (int i = 0; i < 3; ++i) {
                const int a = (i + 1) % 3, b = (i + 2) % 3;
                y[3 + i] = l[i] + y[a] * r[b] - y[b] * r[a] + between[a] * dx[b] - between[b] * dx[a];
            }
        };
        auto inherits = [&](const V* s, V* y) {
            for (int i = 0; i < 3; ++i) {
                const int a = (i + 1) % 3, b = (i + 2) % 3;
                y[i] = sign * (p[b] * s[a] - p[a] * s[b]);
                y[3 + i] = sign * (p[b] * s[3 + a] - p[a] * s[3 + b] + p[3 + b] * s[a] - p[3 + a] * s[b]);
            }
        };
        V own[6], dv[6], da[6];
        for (int i = 0; i < 6; ++i) own[i] = sign * q[i];
        carried_by(v1, v2, own, va, dv);
        inherits(h, own);
        carried_by(a1, a2, own, aa, da);
        if (swelling) {
            V s[6], dc[6];
            for (int i = 0; i < 6; ++i) s[i] = load(eased + i * n8 + k);
            inherits(s, own);
            carried_by(c1, c2, own, ca, dc);
            auto part = [&](int i) -> V {
                const float* u = e + 3 * i;
                const V* du = de + 3 * i;
                return u[0] * dc[3] + u[1] * dc[4] + u[2] * dc[5] + du[0] * ca[3] + du[1] * ca[4] + du[2] * ca[5];
            };
            V eases = part(0);
            if (dim > 1 && is_pyramid(row)) eases += friction_of(c)[0] * part(1);
            store(eased + 12 * n8 + k, eases);
        }

        V lever[3];
        for (int i = 0; i < 3; ++i) lever[i] = p[3 + i] + p[(i + 1) % 3] * r[(i + 2) % 3] - p[(i + 2) % 3] * r[(i + 1) % 3];
        V along[6], dva[6], daa[6];
        KN_COMPONENTS(i) {
            const float* u = e + 3 * (i % 3);
            const V* du = de + 3 * (i % 3);
            const int at = i < 3 ? 3 : 0;
            along[i] = sign * (i < 3 ? u[0] * lever[0] + u[1] * lever[1] + u[2] * lever[2] : u[0] * p[0] + u[1] * p[1] + u[2] * p[2]);
            dva[i] = u[0] * dv[at] + u[1] * dv[at + 1] + u[2] * dv[at + 2] + du[0] * va[at] + du[1] * va[at + 1] + du[2] * va[at + 2];
            daa[i] = u[0] * da[at] + u[1] * da[at + 1] + u[2] * da[at + 2] + du[0] * aa[at] + du[1] * aa[at + 1] + du[2] * aa[at + 2];
        }
        KN_COMPONENTS(i) {
            V s = (g[i] + yields * phi[i]) * dy, t = 0.0f * dy, y = t;
            KN_COMPONENTS(k) {
                s += Gs[6 * i + k] * dva[k] - G[6 * i + k] * daa[k];
                t += G[6 * i + k] * along[k];
                y += Gs[6 * i + k] * along[k];
            }
            store(axis + i * n8 + k, along[i]);
            store(turn + i * n8 + k, s);
            store(pull + i * n8 + k, t);
            store(drag + i * n8 + k, y);
        }
        V dF[3];
        for (int a = 0; a < 3; ++a) dF[a] = de[a] * phi[0] + de[3 + a] * phi[1] + de[6 + a] * phi[2];
        for (int i = 0; i < 3; ++i) {
            const int a = (i + 1) % 3, b = (i + 2) % 3;
            const V M = dx[a] * F[b] - dx[b] * F[a] + r[a] * dF[b] - r[b] * dF[a] + de[i] * phi[3] + de[3 + i] * phi[4] + de[6 + i] * phi[5];
            store(shift + i * n8 + k, M);
            store(shift + (3 + i) * n8 + k, dF[i]);
        }
    }
    KN_SYNC();
    KN_COLUMNS(k, n) {
        V levers[6], turns[6], drags[6], pulls[6];
        for (int i = 0; i < 6; ++i) levers[i] = load(shift + i * n8 + k);
        KN_COMPONENTS(i) {
            turns[i] = load(turn + i * n8 + k);
            drags[i] = load(drag + i * n8 + k);
            pulls[i] = load(pull + i * n8 + k);
        }
        for (int j = 0; j < n; ++j) {
            const float sign = on2[j] - on1[j];
            V q = 0.0f * levers[0], v = q, h = q;
            for (int i = 0; i < 6; ++i) q += (sign * P[i * n8 + j]) * levers[i];
            KN_COMPONENTS(i) {
                const float s = axis[i * n8 + j];
                q += s * turns[i];
                v += s * drags[i];
                h += s * pulls[i];
            }
            float* to = rhs + chain[j] * nc8;
            float* into = H + chain[j] * n8;
#if defined(__CUDA_ARCH__)
            to[chain[k]] += q;
            to[nv + chain[k]] += v;
            if (k <= j) into[chain[k]] += h;
#else
            for (int l = 0; l < 8 && k + l < n; ++l) {
                to[chain[k + l]] += q[l];
                to[nv + chain[k + l]] += v[l];
                if (k + l <= j) into[chain[k + l]] += h[l];
            }
#endif
        }
    }
    KN_SYNC();
    if (swelling) {
        stiffen(chain, n);
        KN_EACH(k, n) stiffer[chain[k]] -= eased[12 * n8 + k];
        KN_SYNC();
        for (int j = 0; j < n; ++j) {
            float s = 0.0f;
            for (int i = 0; i < dim; ++i) s += axis[i * n8 + j] * phi[i];
            push_with(chain[j], s);
        }
        KN_SYNC();
    }
}

// other rows: of one dof, friction losses and limits; and those that couple dofs, which duals know the change of by
// position (others.py) if connect_slopes.cpp does not, while by velocity it is that of aref = -b J v - Jdot v (row_slopes.py, anchor_slopes.py)
for (int k = 0; constrained && k < nefc && type[k] < Constraint::CONTACT_FRICTIONLESS; ++k) {
    if (state[k] != ConstraintState::QUADRATIC) continue;
    const bool limit = type[k] == Constraint::LIMIT_JOINT;
    const float* row = J + (size_t)k * nv;
    if (discrete) {
        int from[2], to[2], n = 0;
        const int count = ranges(k, from, to);
        for (int a = 0; a < count; ++a)
            for (int i = from[a]; i < to[a]; ++i)
                if (row[i] != 0.0f) chain[n++] = i;
        KN_SYNC();
        if (ease(row, chain, n)) {
            stiffen(chain, n);
            for (int q = 0; q < n; ++q) push_with(chain[q], row[chain[q]] * force[k]);
        }
        KN_SYNC();
    }
    if (type[k] == Constraint::FRICTION_DOF || (limit && m.jnt.type.data[id[k]] != Joint::BALL)) {
        const int i = limit ? m.jnt.dofadr.data[id[k]] : id[k];
        if (lane != i % KN_LANES) continue;
        rhs[i * nc8 + i] += D[k] * row_slope[3 * k] + row_slope[3 * k + 2] * force[k];
        rhs[i * nc8 + nv + i] += D[k] * row_slope[3 * k + 1];
        H[i * n8 + i] += D[k];
    } else {
        const float damper = row_slope[3 * k + 1], slowed = row_slope[3 * k + 2];
        const bool anchored = type[k] == Constraint::EQUALITY && drifts.shape[1]
            && (m.eq.type.data[id[k]] == Equality::CONNECT || m.eq.type.data[id[k]] == Equality::WELD);
        const float* drift = (const float*)((const char*)drifts.data + slot * (size_t)drifts.strides[0] + (anchored ? k : 0) * (size_t)drifts.strides[1]);
        int from[2], to[2];
        const int n = ranges(k, from, to);
        for (int a = 0; a < n; ++a)
            for (int i = from[a]; i < to[a]; ++i) {
                const float s = D[k] * row[i];
                if (s == 0.0f || lane != i % KN_LANES) continue;
                for (int b = 0; b < n; ++b)
                    for (int j = from[b]; j < to[b]; ++j) {
                        rhs[i * nc8 + nv + j] += s * (damper * row[j] - (anchored ? slowed * drift[j] : 0.0f));
                        if (j <= i) H[i * n8 + j] += s * row[j];
                    }
            }
    }
}
KN_SYNC();
