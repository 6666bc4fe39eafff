// Islands of a world that a block of threads on CUDA has to itself (sparse.cpp): trees that rows couple are minimized apart, as
// in islands.cpp, one island after the other, all threads at each. As in find_islands.cpp two roots that something joins
// become one, the lower, until none do: the same islands, whoever comes first.
#undef KN_ISLANDS
#undef KN_ROWS
#undef KN_DOFS
#undef KN_DOFS_BACK
#undef KN_BUSY
#undef KN_TREES
#undef KN_SHARE
#define KN_BUSY(root) (busy[root] != 0)
#define KN_ISLANDS(root) for (here = 0; here < ntree; ++here) if (KN_BUSY(here))
#define KN_ROWS(i) KN_EACH(i, nefc) if (row_root[i] == here)
#define KN_TREES(t) KN_EACH(t, ntree) if (root_of[t] == here)
#define KN_DOFS(i) KN_EACH(i, nv) if (root_of[tree_of[i]] == here)
#define KN_DOFS_BACK(i) for (int i = nv - 1; i >= 0; --i) if (root_of[tree_of[i]] == here)
#define KN_SHARE(k, n) KN_EACH(k, n)
int* root_of = KN_ROW(int, d.solver.root);
int* busy = KN_ROW(int, d.solver.first_row);  // of a root: has its island rows?
int* row_root = KN_ROW(int, d.solver.next_row);
int here = 0;  // the root of the island at hand
{
const bool split = (m.opt.disableflags & Disable::ISLAND) == 0;
volatile int* root = root_of;
auto find = [&](int t) -> int { while (root[t] != t) t = root[t]; return t; };
auto tree_of_row = [&](int k) -> int {  // one of its trees
#if KN_LISTED
    return ncol[k] > 0 ? tree_of[col[(size_t)k * width]] : 0;
#else
    if (trees[2 * k] >= 0) return trees[2 * k];
    for (int i = 0; i < nv; ++i) if (J[(size_t)k * nv + i] != 0.0f) return tree_of[i];
    return 0;
#endif
};
KN_EACH(t, ntree) { root[t] = split ? t : 0; busy[t] = 0; }
KN_SYNC();
for (bool again = split; again;) {
    double joined = 0.0;
    auto unite = [&](int t, int u) {
        t = find(t); u = find(u);
        if (t == u) return;
        atomicMin(root_of + (t > u ? t : u), t > u ? u : t);
        joined = 1.0;
    };
    KN_EACH(k, nefc) {
        const int t = tree_of_row(k);
#if KN_LISTED
        for (int q = 1; q < ncol[k]; ++q) unite(t, tree_of[col[(size_t)k * width + q]]);
#else
        if (trees[2 * k + 1] >= 0) unite(t, trees[2 * k + 1]);
        if (trees[2 * k] < 0)
            for (int i = 0; i < nv; ++i) if (J[(size_t)k * nv + i] != 0.0f) unite(t, tree_of[i]);
#endif
    }
#if KN_LISTED
#include "flex_islands.cpp"
#endif
    KN_SYNC();
    KN_EACH(t, ntree) root[t] = find(t);
    KN_WIDE_SUM(joined);
    KN_SYNC();
    again = joined > 0.0;
}
KN_EACH(k, nefc) { row_root[k] = root[tree_of_row(k)]; busy[row_root[k]] = 1; }
KN_SYNC();
}
