// The entries of J by dof, so that threads of CUDA can add up J' f without waiting for each other: count, place, write.
// Which thread writes an entry of a dof first is chance; sorted by row, the sums are the same on every run. A body that a
// whole cloth lies on has thousands of entries: all threads place them, each those of its share of the rows, in order, and
// a warp adds them up.
int* adr_of = lists + KN_NEWTON * (5 * nv + m.size.nefcmax + nv * nv / 2 + 2);  // of dof i: the entries [adr_of[i], adr_of[i + 1])
int* next_of = adr_of + nv + 1;
int* entry_list = next_of + nv;
KN_EACH(i, nv) next_of[i] = 0;
KN_SYNC();
KN_EACH(k, nefc) for (int q = 0; q < ncol[k]; ++q) atomicAdd(next_of + col[(size_t)k * width + q], 1);
KN_SYNC();
{
    __shared__ int chunk_sums[1024];
    const int share = (nv + KN_LANES - 1) / KN_LANES, first = lane * share, end = wp::min(nv, first + share);
    int own = 0;
    for (int i = first; i < end; ++i) own += next_of[i];
    chunk_sums[lane] = own;
    __syncthreads();
    int before = 0;
    for (int q = 0; q < lane; ++q) before += chunk_sums[q];
    for (int i = first; i < end; ++i) { adr_of[i] = before; before += next_of[i]; next_of[i] = adr_of[i]; }
    if (lane == KN_LANES - 1) adr_of[nv] = before;
}
KN_SYNC();
const int FEW = 64;
auto is_long = [&](int i) -> bool { return i < nv && adr_of[i + 1] - adr_of[i] > FEW; };
KN_EACH(k, nefc)
    for (int q = 0; q < ncol[k]; ++q) {
        const int i = col[(size_t)k * width + q];
        if (!is_long(i)) entry_list[atomicAdd(next_of + i, 1)] = k * width + q;
    }
KN_SYNC();
{
    __shared__ int warp_entries[32];
    const int share = (nefc + KN_LANES - 1) / KN_LANES, first = lane * share, end = wp::min(nefc, first + share);
    for (int base = 0; base < nv; base += 32) {
        unsigned found = __ballot_sync(0xffffffffu, is_long(base + (lane & 31)));  // the same in all warps
        for (; found; found &= found - 1) {
            const int i = base + __ffs(found) - 1;
            int own = 0;
            for (int k = first; k < end; ++k)
                for (int q = 0; q < ncol[k]; ++q) own += col[(size_t)k * width + q] == i;
            int sum = own;
            for (int o = 1; o < 32; o <<= 1) {
                const int left = __shfl_up_sync(0xffffffffu, sum, o);
                if ((lane & 31) >= o) sum += left;
            }
            __syncthreads();  // whoever still reads the sums of before
            if ((lane & 31) == 31) warp_entries[lane >> 5] = sum;
            __syncthreads();
            int at = adr_of[i] + sum - own;
            for (int q = 0; q < lane >> 5; ++q) at += warp_entries[q];
            for (int k = first; own > 0 && k < end; ++k)
                for (int q = 0; q < ncol[k]; ++q)
                    if (col[(size_t)k * width + q] == i) entry_list[at++] = k * width + q;
        }
    }
}
KN_SYNC();
KN_EACH(i, nv) {
    int* list = entry_list + adr_of[i];
    const int count = is_long(i) ? 0 : adr_of[i + 1] - adr_of[i];
    for (int p = 1; p < count; ++p) {
        const int e = list[p];
        int q = p;
        for (; q > 0 && list[q - 1] > e; --q) list[q] = list[q - 1];
        list[q] = e;
    }
}
KN_SYNC();
auto add_rows = [&](double* out, const double* by, double sign) {  // out += sign J' by
    KN_EACH(i, nv) if (!is_long(i)) {
        double s = 0.0;
        for (int p = adr_of[i]; p < adr_of[i + 1]; ++p) s += J[entry_list[p]] * by[entry_list[p] / width];
        out[i] += sign * s;
    }
    int number = 0;
    for (int base = 0; base < nv; base += 32) {
        unsigned found = __ballot_sync(0xffffffffu, is_long(base + (lane & 31)));
        for (; found; found &= found - 1) {
            if (number++ % (KN_LANES / 32) != lane >> 5) continue;
            const int i = base + __ffs(found) - 1;
            double s = 0.0;
            for (int p = adr_of[i] + (lane & 31); p < adr_of[i + 1]; p += 32)
                s += J[entry_list[p]] * by[entry_list[p] / width];
            for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
            if ((lane & 31) == 0) out[i] += sign * s;
        }
    }
};
