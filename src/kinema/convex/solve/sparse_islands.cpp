// Islands of rows that list their columns (sparse.cpp): trees that rows couple are minimized apart, as in islands.cpp.
// Lists run through the trees and rows of an island in ascending order. On CUDA: team_islands.cpp.
#undef KN_ISLANDS
#undef KN_RUNS
#undef KN_ROWS
#undef KN_DOFS
#undef KN_DOFS_BACK
#undef KN_BUSY
#undef KN_TREES
#undef KN_SHARE
#define KN_SHARE(k, n) for (int k = 0; k < (n); ++k)
#define KN_BUSY(root) (first_row[root] >= 0)
#define KN_ISLANDS(root) for (int root = 0; root < ntree; ++root) if (KN_BUSY(root))
#define KN_RUNS(b, e) for (int b = first_row[root], e = 0; b >= 0 && (e = run_end[b]); b = next_row[e - 1])
#define KN_ROWS(i) KN_RUNS(b_##i, e_##i) for (int i = b_##i; i < e_##i; ++i)
#define KN_TREES(t) for (int t = root; t >= 0; t = next_tree[t])
#define KN_DOFS(i) for (int t_##i = root; t_##i >= 0; t_##i = next_tree[t_##i]) \
    for (int i = tree_adr[t_##i]; i < tree_adr[t_##i] + tree_num[t_##i]; ++i)
#define KN_DOFS_BACK(i) for (int t_##i = last_tree[root]; t_##i >= 0; t_##i = t_##i == root ? -1 : last_tree[t_##i]) \
    for (int i = tree_adr[t_##i] + tree_num[t_##i] - 1; i >= tree_adr[t_##i]; --i)
int* root_of = KN_ROW(int, d.solver.root);
int* next_tree = KN_ROW(int, d.solver.next_tree);
int* last_tree = KN_ROW(int, d.solver.last_tree);
int* first_row = KN_ROW(int, d.solver.first_row);
int* next_row = KN_ROW(int, d.solver.next_row);
int* run_end = next_row + 3 * d.solver.next_row.shape[2];  // rows of an island that follow each other: the one after the last
const bool split = (m.opt.disableflags & Disable::ISLAND) == 0;

auto find = [&](int t) -> int {
    while (root_of[t] != t) { root_of[t] = root_of[root_of[t]]; t = root_of[t]; }
    return t;
};
auto unite = [&](int t, int u) {
    t = find(t); u = find(u);
    if (t < u) root_of[u] = t; else root_of[t] = u;
};
for (int t = 0; t < ntree; ++t) { root_of[t] = split ? t : 0; first_row[t] = -1; }
if (split) {
    for (int k = 0; k < nefc; ++k)
        for (int q = 1; q < ncol[k]; ++q) unite(tree_of[col[(size_t)k * width]], tree_of[col[(size_t)k * width + q]]);
#include "flex_islands.cpp"
}
for (int k = nefc - 1; k >= 0; --k) {
    const int t = ncol[k] > 0 ? find(tree_of[col[(size_t)k * width]]) : find(0);
    const int after = first_row[t];
    run_end[k] = after == k + 1 ? run_end[after] : k + 1;
    next_row[k] = after;
    first_row[t] = k;
}
#include "island_trees.cpp"
