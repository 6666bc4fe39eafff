// From the change of forces to that of the next state.
//
//   H da = right side,   H = M + J'S J         the acceleration that solves the constraints
//   Mh a' = M a,         Mh = M + N            what moves the state: dampers N are taken at the end of the step
//     =>   a' = a + e,   Mh e = -N a,   da' = da - Mh^-1 (N da + d(M e) + dN a')
//   v' = v + h a',       q' = q (+) h v'       quaternions: dq' = exp(-h w') dq + Jr(h w') h dw'
//
// By the discrete integrator a' = a. Free bodies on their own go by a matrix that is not symmetric (lone_slopes.cpp), and
// have rows of the identity in H.
leave_out_free(H);
factor(H);
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
