// From the change of forces to that of the next state.
//
//   H da = right side,   H = M + J'S J         the acceleration that solves the constraints
//   Mh a' = M a,         Mh = M + h B          what moves the state: dampers B are taken at the end of the step
//     =>   a' = a + e,   Mh e = -h B a,   da' = da - Mh^-1 (h B da + d(M e))
//   v' = v + h a',       q' = q (+) h v'       quaternions: dq' = exp(-h w') dq + Jr(h w') h dw'
//
// Matrices are factored from the last dof to the first, H = L'L, which leaves zeros of trees as they are.
factor(H);
solve(H, rhs, nc8, nc);
KN_SYNC();
if (damped) {
    // in place of d(M e): what is added to da
    KN_COLUMNS(c, nc) {
        for (int i = 0; i < nv; ++i) {
            V y = (h * damp[i]) * load(rhs + i * nc8 + c);
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
    }
    KN_SYNC();
    solve(Mh, late, nc8, nc);
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
    const int kind = m.jnt.type.data[j];
    if (kind != Joint::FREE && kind != Joint::BALL) continue;
    const int i = m.jnt.dofadr.data[j] + (kind == Joint::FREE ? 3 : 0);
    float t[3], angle = 0.0f, back[9], right[9];
    for (int a = 0; a < 3; ++a) {
        t[a] = h * (KN_AT(d.state.qvel, i + a) + h * (KN_AT(d.frc.qacc, i + a) + chosen[i + a]));
        angle += t[a] * t[a];
    }
    angle = sqrtf(angle);
    const bool small = angle < 1e-2f;
    const float s = small ? 1.0f - angle * angle / 6.0f : ::sinf(angle) / angle;
    const float half = ::sinf(0.5f * angle), cc = small ? 0.5f - angle * angle / 24.0f : 2.0f * half * half / (angle * angle);
    const float ss = small ? 1.0f / 6.0f - angle * angle / 120.0f : (1.0f - s) / (angle * angle);
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            const float square = t[a] * t[b] - (a == b ? angle * angle : 0.0f);  // [t]x [t]x
            const float skew = a == b ? 0.0f : ((b - a + 3) % 3 == 1 ? -t[3 - a - b] : t[3 - a - b]);
            back[3 * a + b] = (a == b ? 1.0f : 0.0f) - s * skew + cc * square;
            right[3 * a + b] = (a == b ? 1.0f : 0.0f) - cc * skew + ss * square;
        }
    KN_EACH(c, nc) {
        const float y[3] = {row_of(nv + i)[c], row_of(nv + i + 1)[c], row_of(nv + i + 2)[c]};
        for (int a = 0; a < 3; ++a)
            row_of(i + a)[c] = h * (right[3 * a] * y[0] + right[3 * a + 1] * y[1] + right[3 * a + 2] * y[2])
                + (c >= i && c < i + 3 ? back[3 * a + c - i] : 0.0f);
    }
}

// activations depend on their own joint alone
KN_EACH(k, na * nc) row_of(2 * nv + k / nc)[k % nc] = 0.0f;
KN_SYNC();
KN_EACH(k, states.shape[0]) {
    const int* entry = (const int*)((const char*)states.data + k * (size_t)states.strides[0]);
    row_of(2 * nv + entry[0])[entry[1]] = local[(size_t)entry[2] * colors + entry[3]];
}
KN_SYNC();
