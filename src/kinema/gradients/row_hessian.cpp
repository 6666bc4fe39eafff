// H = M + J'S J, S = -df/dr (solve/cone.cpp): a row alone adds D J'J, the rows of a contact on its cone J'G J.
//
// On CUDA a lane keeps 32 numbers of a column of H in registers and goes through all rows, up to eight at a time; what the
// others need of them is in shared memory.
leave_out_free(H);
#if defined(__CUDA_ARCH__)
for (int column = 0; constrained && column < nv; column += 32)
    for (int first = column; first < nv; first += 32) {
        const int j = column + lane;
        float sums[32], *others = pivots, *pushes = pivots + 256;
        #pragma unroll
        for (int i = 0; i < 32; ++i) sums[i] = 0.0f;
        for (int k = 0, count; k < nefc; k += count) {
            const int dim = is_elliptic(k) ? dim_of(id[k]) : 1;
            count = dim;
            if (!is_elliptic(k))
                while (count < 8 && k + count < nefc && !is_elliptic(k + count)) ++count;
            #pragma unroll 4
            for (int q = 0; q < count; ++q) {  // rows come from far away: several are asked for at once
                int from[2], end[2];
                const int n = ranges(k + q, from, end);
                auto at = [&](int i) -> float {
                    const bool is = i < nv && ((i >= from[0] && i < end[0]) || (n > 1 && i >= from[1] && i < end[1]));
                    return is ? J[(size_t)(k + q) * nv + i] : 0.0f;
                };
                const float own = at(j);
                others[32 * q + lane] = first == column ? own : at(first + lane);
                pushes[32 * q + lane] = state[k + q] == ConstraintState::QUADRATIC ? D[k + q] * own : own;
            }
            if (is_elliptic(k) && state[k] == ConstraintState::CONE) {
                const float mine = lane < dim ? along_row(k + lane, accel) - aref[k + lane] : 0.0f;
                float residual[6], x[6], push[6];
                #pragma unroll
                for (int q = 0; q < 6; ++q) {
                    residual[q] = __shfl_sync(0xffffffffu, mine, q);
                    x[q] = q < dim ? pushes[32 * q + lane] : 0.0f;
                }
                cone_times(cone_of(residual, k, dim), x, push);
                #pragma unroll
                for (int q = 0; q < 6; ++q)
                    if (q < dim) pushes[32 * q + lane] = push[q];
            }
            KN_SYNC();
            KN_ROLLED for (int q = 0; q < count; ++q) {
                if (state[k + q] != ConstraintState::QUADRATIC && state[k + q] != ConstraintState::CONE) continue;
                const float push = pushes[32 * q + lane];
                #pragma unroll
                for (int i = 0; i < 32; i += 4) {
                    const float4 x = ((const float4*)(others + 32 * q))[i / 4];
                    sums[i] += x.x * push;
                    sums[i + 1] += x.y * push;
                    sums[i + 2] += x.z * push;
                    sums[i + 3] += x.w * push;
                }
            }
            KN_SYNC();
        }
        #pragma unroll
        for (int i = 0; i < 32; ++i)
            if (first + i < nv && j <= first + i) H[(first + i) * n8 + j] += sums[i];
    }
#else
for (int k = 0; constrained && k < nefc; ++k) {
    int from[2], end[2];
    const int n = ranges(k, from, end), dim = is_elliptic(k) ? dim_of(id[k]) : 1;
    auto outer = [&](float s, const float* row, const float* other) {
        for (int a = 0; a < n; ++a)
            for (int i = from[a]; i < end[a]; ++i) {
                const float t = s * row[i];
                if (t == 0.0f) continue;
                for (int b = 0; b <= a; ++b) {
                    const int last = wp::min(end[b], i + 1);
                    int j = from[b];
                    for (; j + 8 <= last; j += 8) store(H + i * n8 + j, load(H + i * n8 + j) + t * load(other + j));
                    for (; j < last; ++j) H[i * n8 + j] += t * other[j];
                }
            }
    };
    const float* row = J + (size_t)k * nv;
    if (state[k] == ConstraintState::QUADRATIC) outer(D[k], row, row);
    else if (state[k] == ConstraintState::CONE) {
        float residual[6] = {};
        for (int q = 0; q < dim; ++q) residual[q] = along_row(k + q, accel) - aref[k + q];
        const Cone cone = cone_of(residual, k, dim);
        for (int q = 0; q < dim; ++q) {
            float unit[6] = {}, entries[6];
            unit[q] = 1.0f;
            cone_times(cone, unit, entries);
            for (int p = 0; p < dim; ++p) outer(entries[p], row + p * nv, row + q * nv);
        }
        k += dim - 1;
    }
}
#endif
KN_SYNC();
