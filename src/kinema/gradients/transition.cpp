// From the change of forces to that of the next state.
//
//   H da = right side,   H = M + J'S J         the acceleration that solves the constraints
//   Mh a' = M a,         Mh = M + N            what moves the state: dampers N are taken at the end of the step
//     =>   a' = a + e,   Mh e = -N a,   da' = da - Mh^-1 (N da + d(M e) + dN a')
//   v' = v + h a',       q' = q (+) h v'       quaternions: dq' = exp(-h w') dq + Jr(h w') h dw'
//
// By the discrete integrator a' = a. Free bodies on their own go by a matrix that is not symmetric (lone_slopes.cpp), and
// have rows of the identity in H.
//
// One product with the transposed derivatives, l -> A'l, B'l, goes the other way: with y = h (dv'-part of l),
//
//   z = Mh^-1 y,   x = H^-1 (y - N z),    result = x' (right side) - z' (d(M e) + dN a') + what passes through directly
//
// which takes two solves instead of two for every column.
auto rotation = [&](int j, float* back, float* right) {  // exp(-t) and Jr(t) of t = h w', of a joint that turns freely
    const int i = m.jnt.dofadr.data[j] + (m.jnt.type.data[j] == Joint::FREE ? 3 : 0);
    float t[3], angle = 0.0f;
    for (int a = 0; a < 3; ++a) {
        t[a] = h * (KN_AT(d.state.qvel, i + a) + h * (KN_AT(d.frc.qacc, i + a) + chosen[i + a]));
        angle += t[a] * t[a];
    }
    angle = sqrtf(angle);
    const bool small = angle < 1e-2f;
    const float half = ::sinf(0.5f * angle), s = small ? 1.0f - angle * angle / 6.0f : ::sinf(angle) / angle;
    const float c = small ? 0.5f - angle * angle / 24.0f : 2.0f * half * half / (angle * angle);
    const float e = small ? 1.0f / 6.0f - angle * angle / 120.0f : (1.0f - s) / (angle * angle);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const float square = t[a] * t[b] - (a == b ? angle * angle : 0.0f);  // [t]x [t]x
            const float skew = a == b ? 0.0f : ((b - a + 3) % 3 == 1 ? -t[3 - a - b] : t[3 - a - b]);
            back[3 * a + b] = (a == b ? 1.0f : 0.0f) - s * skew + c * square;
            right[3 * a + b] = (a == b ? 1.0f : 0.0f) - c * skew + e * square;
        }
    return i;
};
auto turns_freely = [&](int j) -> bool { return m.jnt.type.data[j] == Joint::FREE || m.jnt.type.data[j] == Joint::BALL; };
float back[9], right[9];

auto each_free = [&](auto take) {  // first dof and inverse, of those that have no part in H
    for (int b = 0; discrete && b < nalone; ++b)
        if (is_free(b)) take(alone.data[b], lone + 72 * b + 36);
};
if (lane == 0)
    each_free([&](int first, const float*) {
        for (int r = first; r < first + 6; ++r)
            for (int c = first; c <= r; ++c) H[r * n8 + c] = r == c ? 1.0f : 0.0f;
    });
KN_SYNC();
factor(H);
if (along.shape[0] > 0) {
    const float* l = (const float*)((const char*)along.data + w * (size_t)along.strides[0]);
    float* to = (float*)((char*)out.data + w * (size_t)out.strides[0]);
    float *y = column, *z = column + n8, *passed = column + 2 * n8;
    KN_EACH(i, nv) { y[i] = l[nv + i] + h * l[i]; passed[i] = l[i]; }
    KN_SYNC();
    if (lane == 0) {
        for (int j = 0; j < m.size.njnt; ++j) {
            if (!turns_freely(j)) continue;
            const int i = rotation(j, back, right);
            for (int a = 0; a < 3; ++a) {
                y[i + a] = l[nv + i + a] + h * (right[a] * l[i] + right[3 + a] * l[i + 1] + right[6 + a] * l[i + 2]);
                passed[i + a] = back[a] * l[i] + back[3 + a] * l[i + 1] + back[6 + a] * l[i + 2];
            }
        }
    }
    KN_SYNC();
    KN_EACH(i, nv) z[i] = damped ? h * y[i] : 0.0f;
    if (damped) solve_one(Mh, z);
    KN_SYNC();
    KN_EACH(b, nalone) {
        float *inverse = lone + 72 * b + 36, *x = z + alone.data[b], s[6] = {};
        for (int k = 0; k < 36; ++k) s[k % 6] += inverse[k] * x[k / 6];
        for (int k = 0; k < 6; ++k) x[k] = s[k];
    }
    KN_SYNC();
    KN_EACH(i, nv) { passed[n8 + i] = y[i]; y[i] = h * y[i] - damp[i] * z[i]; }
    KN_SYNC();
    if (lane == 0) {
        each_pair([&](int i, int j, float n) { y[i] -= n * z[j]; y[j] -= n * z[i]; });
        for (int b = 0; b < nalone; ++b)
            for (int k = 0; k < 36; ++k) y[alone.data[b] + k % 6] -= lone[72 * b + k] * z[alone.data[b] + k / 6];
    }
    KN_SYNC();
    solve_one(H, y);
    if (lane == 0) {
        each_free([&](int first, const float* inverse) {
            float s[6] = {};
            for (int k = 0; k < 36; ++k) s[k % 6] += inverse[k] * y[first + k / 6];
            for (int k = 0; k < 6; ++k) y[first + k] = s[k];
        });
    }
    KN_SYNC();
    KN_COLUMNS(c, nc) {
        V s = 0.0f * load(rhs + c);
        for (int i = 0; i < nv; ++i) s += y[i] * load(rhs + i * nc8 + c);
#if defined(__CUDA_ARCH__)
        to[c] = s;
#else
        for (int q = 0; q < 8 && c + q < nc; ++q) to[c + q] = s[q];
#endif
    }
    KN_SYNC();
    KN_EACH(c, nv) {
        float s = passed[c];
        if (damped)
            for (int i = 0; i < nv; ++i) s -= z[i] * carried[i * n8 + c];
        to[c] += s;
        to[nv + c] += passed[n8 + c];
    }
    KN_SYNC();
    each_entry(states, false, [&](const int* entry) {
        to[entry[1]] += l[2 * nv + entry[0]] * local[(size_t)entry[2] * colors + entry[3]];
    });
    KN_SYNC();
    each_entry(late_forces, false, [&](const int* entry) {
        to[entry[1]] -= z[entry[0]] * local[(size_t)entry[2] * colors + entry[3]];
    });
    KN_SYNC();
    return;
}
auto times_inverse = [&](const float* inverse, float* x) {  // a column, or eight, of a free body on its own
    V y[6];
    for (int r = 0; r < 6; ++r) {
        y[r] = 0.0f * load(x);
        for (int k = 0; k < 6; ++k) y[r] += inverse[6 * r + k] * load(x + k * nc8);
    }
    for (int r = 0; r < 6; ++r) store(x + r * nc8, y[r]);
};
solve(H, rhs, nc8, nc);
KN_SYNC();
KN_COLUMNS(c, nc) each_free([&](int first, const float* inverse) { times_inverse(inverse, rhs + first * nc8 + c); });
KN_SYNC();
if (damped) {
    // in place of d(M e): what is added to da
    KN_COLUMNS(c, nc) {
        for (int i = 0; i < nv; ++i) {
            V y = damp[i] * load(rhs + i * nc8 + c);
#if defined(__CUDA_ARCH__)
            if (c < nv) y += carried[i * n8 + c];
#else
            if (c < nv) {
                V more = load(carried + i * n8 + c);
                for (int l = 0; l < 8; ++l)
                    if (c + l >= nv) more[l] = 0.0f;
                y += more;
            }
#endif
            store(late + i * nc8 + c, y);
        }
        auto add = [&](int i, int j, float n) { store(late + i * nc8 + c, load(late + i * nc8 + c) + n * load(rhs + j * nc8 + c)); };
        each_pair([&](int i, int j, float n) { add(i, j, n); add(j, i, n); });
        for (int b = 0; b < nalone; ++b)
            for (int k = 0; k < 36; ++k) add(alone.data[b] + k / 6, alone.data[b] + k % 6, lone[72 * b + k]);
    }
    KN_SYNC();
    each_entry(late_forces, true, [&](const int* entry) {
        late[entry[0] * nc8 + entry[1]] += local[(size_t)entry[2] * colors + entry[3]];
    });
    KN_SYNC();
    solve(Mh, late, nc8, nc);
    KN_SYNC();
    KN_COLUMNS(c, nc)
        for (int b = 0; b < nalone; ++b) times_inverse(lone + 72 * b + 36, late + alone.data[b] * nc8 + c);
    KN_COLUMNS(c, nc)
        for (int i = 0; i < nv; ++i) store(rhs + i * nc8 + c, load(rhs + i * nc8 + c) - load(late + i * nc8 + c));
    KN_SYNC();
}

char* target = (char*)out.data + w * (size_t)out.strides[0];
auto row_of = [&](int r) -> float* { return (float*)(target + r * (size_t)out.strides[1]); };
for (int i = 0; i < nv; ++i) {
    float *place = row_of(i), *rate = row_of(nv + i);
    const float* change = rhs + i * nc8;
#if defined(__CUDA_ARCH__)
    KN_EACH(c, nc) {
        const float y = h * change[c] + (c == nv + i ? 1.0f : 0.0f);
        rate[c] = y;
        place[c] = h * y + (c == i ? 1.0f : 0.0f);
    }
#else
    int c = 0;
    for (; c + 8 <= nc; c += 8) {
        const V y = h * load(change + c);
        store(rate + c, y);
        store(place + c, h * y);
    }
    for (; c < nc; ++c) {
        rate[c] = h * change[c];
        place[c] = h * rate[c];
    }
    rate[nv + i] += 1.0f;
    place[nv + i] += h;
    place[i] += 1.0f;
#endif
}
KN_SYNC();

// quaternions
for (int j = 0; j < m.size.njnt; ++j) {
    if (!turns_freely(j)) continue;
    const int i = rotation(j, back, right);
    KN_EACH(c, nc) {
        const float y[3] = {row_of(nv + i)[c], row_of(nv + i + 1)[c], row_of(nv + i + 2)[c]};
        for (int a = 0; a < 3; ++a)
            row_of(i + a)[c] = h * (right[3 * a] * y[0] + right[3 * a + 1] * y[1] + right[3 * a + 2] * y[2])
                + (c >= i && c < i + 3 ? back[3 * a + c - i] : 0.0f);
    }
}

// activations depend on few things
KN_EACH(k, na * nc) row_of(2 * nv + k / nc)[k % nc] = 0.0f;
KN_SYNC();
KN_EACH(k, states.shape[0]) {
    const int* entry = (const int*)((const char*)states.data + k * (size_t)states.strides[0]);
    row_of(2 * nv + entry[0])[entry[1]] = local[(size_t)entry[2] * colors + entry[3]];
}
KN_SYNC();
