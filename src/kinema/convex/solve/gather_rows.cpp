// The entries of J by dof, so that threads of CUDA can add up J' f without waiting for each other: count, place, write.
// Which thread writes an entry of a dof first is chance; sorted by row, the sums are the same on every run.
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
KN_EACH(k, nefc)
    for (int q = 0; q < ncol[k]; ++q) {
        const int e = k * width + q;
        entry_list[atomicAdd(next_of + col[(size_t)k * width + q], 1)] = e;
    }
KN_SYNC();
KN_EACH(i, nv) {
    int* list = entry_list + adr_of[i];
    const int count = adr_of[i + 1] - adr_of[i];
    auto sink = [&](int at, int n) {  // heap sort: a body that a whole cloth lies on has a long list
        for (int child = 2 * at + 1; child < n; child = 2 * at + 1) {
            if (child + 1 < n && list[child] < list[child + 1]) ++child;
            if (list[at] >= list[child]) return;
            const int swap = list[at]; list[at] = list[child]; list[child] = swap;
            at = child;
        }
    };
    if (count <= 16)
        for (int p = 1; p < count; ++p) {
            const int e = list[p];
            int q = p;
            for (; q > 0 && list[q - 1] > e; --q) list[q] = list[q - 1];
            list[q] = e;
        }
    else {
        for (int p = count / 2 - 1; p >= 0; --p) sink(p, count);
        for (int n = count - 1; n > 0; --n) {
            const int swap = list[0]; list[0] = list[n]; list[n] = swap;
            sink(0, n);
        }
    }
}
KN_SYNC();
auto add_rows = [&](double* out, const double* by, double sign) {  // out += sign J' by
    KN_EACH(i, nv) {
        double s = 0.0;
        for (int p = adr_of[i]; p < adr_of[i + 1]; ++p) s += J[entry_list[p]] * by[entry_list[p] / width];
        out[i] += sign * s;
    }
};
