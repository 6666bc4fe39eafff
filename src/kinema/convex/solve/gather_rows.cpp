// The entries of J by dof, so that threads of CUDA can add up J' f without waiting for each other: count, place, write.
// Which thread writes an entry of a dof first is chance; sorted by row, the sums are the same on every run. Few entries are
// sorted and added up by a thread, more by a warp. A body that a whole cloth lies on has thousands: all threads place them,
// each those of its share of the rows, in order.
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
const int SHORT = 16, FEW = 64, MANY = 512;  // entries that a thread sorts, that it adds up, that a warp sorts
auto count_of = [&](int i) -> int { return i < nv ? adr_of[i + 1] - adr_of[i] : 0; };
KN_EACH(k, nefc)
    for (int q = 0; q < ncol[k]; ++q) {
        const int i = col[(size_t)k * width + q];
        if (count_of(i) <= MANY) entry_list[atomicAdd(next_of + i, 1)] = k * width + q;
    }
KN_SYNC();
int* long_list = next_of;  // dofs that a thread does not sort, in order
__shared__ int long_number;
if (lane < 32) {
    int number = 0;
    for (int base = 0; base < nv; base += 32) {
        const unsigned found = __ballot_sync(0xffffffffu, count_of(base + lane) > SHORT);
        if (found >> lane & 1u) long_list[number + __popc(found & ((1u << lane) - 1u))] = base + lane;
        number += __popc(found);
    }
    if (lane == 0) long_number = number;
}
KN_SYNC();
const int nlong = long_number;
KN_EACH(i, nv) {
    int* list = entry_list + adr_of[i];
    const int count = count_of(i) > SHORT ? 0 : count_of(i);
    for (int p = 1; p < count; ++p) {
        const int e = list[p];
        int q = p;
        for (; q > 0 && list[q - 1] > e; --q) list[q] = list[q - 1];
        list[q] = e;
    }
}
auto sort_by_warp = [&](int* list, int count, auto& mine, auto& place) {  // an entry's place is how many are smaller
    const int own = lane & 31, slots = sizeof(mine) / sizeof(mine[0]);
    #pragma unroll
    for (int t = 0; t < slots; ++t) { mine[t] = own + 32 * t < count ? list[own + 32 * t] : -1; place[t] = 0; }
    for (int q = 0; q < count; ++q) {
        const int e = list[q];
        #pragma unroll
        for (int t = 0; t < slots; ++t) place[t] += e < mine[t];
    }
    __syncwarp();
    #pragma unroll
    for (int t = 0; t < slots; ++t) if (mine[t] >= 0) list[place[t]] = mine[t];
};
for (int z = lane >> 5; z < nlong; z += KN_LANES / 32) {
    const int i = long_list[z], count = count_of(i);
    if (count <= FEW) { int mine[FEW / 32], place[FEW / 32]; sort_by_warp(entry_list + adr_of[i], count, mine, place); }
    else if (count <= MANY) { int mine[MANY / 32], place[MANY / 32]; sort_by_warp(entry_list + adr_of[i], count, mine, place); }
}
{
    __shared__ int warp_entries[32];
    const int share = (nefc + KN_LANES - 1) / KN_LANES, first = lane * share, end = wp::min(nefc, first + share);
    for (int z = 0; z < nlong; ++z) {
        const int i = long_list[z];
        if (count_of(i) <= MANY) continue;
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
KN_SYNC();
auto add_rows = [&](double* out, const double* by, double sign) {  // out += sign J' by
    KN_DOFS(i) if (count_of(i) <= FEW) {
        double s = 0.0;
        for (int p = adr_of[i]; p < adr_of[i + 1]; ++p) s += J[entry_list[p]] * by[entry_list[p] / width];
        out[i] += sign * s;
    }
    for (int z = lane >> 5; z < nlong; z += KN_LANES / 32) {
        const int i = long_list[z];
        if (count_of(i) <= FEW || root_of[tree_of[i]] != here) continue;
        double s = 0.0;
        for (int p = adr_of[i] + (lane & 31); p < adr_of[i + 1]; p += 32)
            s += J[entry_list[p]] * by[entry_list[p] / width];
        for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
        if ((lane & 31) == 0) out[i] += sign * s;
    }
};
