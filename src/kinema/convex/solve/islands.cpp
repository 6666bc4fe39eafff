// Islands: trees that rows couple, directly or through others, are minimized apart, as MuJoCo does. This shows when
// iterations are few: every island has its own line search and its own end. Trees without rows move freely.
//
// An island is named by its first tree, its root. On the CPU lists run through its trees and rows in ascending order. A warp
// on CUDA takes those islands that no group can hold, as find_islands.cpp has sorted them (KN_BEYOND), its lanes sharing out
// rows and dofs.
#undef KN_ISLANDS
#undef KN_RUNS
#undef KN_ROWS
#undef KN_TREES
#undef KN_TREES_BACK
#undef KN_DOFS
#undef KN_TOGETHER
#undef KN_BUSY
#if KN_LANES == 1
#define KN_BUSY(root) (first_row[root] >= 0)
#define KN_ISLANDS(root) for (int root = 0; root < ntree; ++root) if (KN_BUSY(root))
#define KN_RUNS(b, e) for (int b = first_row[root], e = 0; b >= 0 && (e = run_end[b]); b = next_row[e - 1])
#define KN_ROWS(i) KN_RUNS(b_##i, e_##i) for (int i = b_##i; i < e_##i; ++i)
#define KN_TOGETHER(t, u) (root_of[t] == root_of[u])
#define KN_TREES(t) for (int t = root; t >= 0; t = next_tree[t])
#define KN_TREES_BACK(t) for (int t = last_tree[root]; t >= 0; t = t == root ? -1 : last_tree[t])
#define KN_DOFS(i) KN_TREES(t_##i) for (int i = tree_adr[t_##i]; i < tree_adr[t_##i] + tree_num[t_##i]; ++i)
int* root_of = KN_ROW(int, d.solver.root);
int* next_tree = KN_ROW(int, d.solver.next_tree);
int* last_tree = KN_ROW(int, d.solver.last_tree);
int* first_row = KN_ROW(int, d.solver.first_row);
int* next_row = KN_ROW(int, d.solver.next_row);
int* run_end = next_row + 3 * d.solver.next_row.shape[2];  // rows of an island that follow each other: the one after the last
int* row_tree = next_row;  // a tree of each row, until the lists are made
const bool split = (m.opt.disableflags & Disable::ISLAND) == 0;

auto find = [&](int t) -> int { while (root_of[t] != t) t = root_of[t]; return t; };
auto unite = [&](int t, int u) {
    t = find(t); u = find(u);
    if (t < u) root_of[u] = t; else root_of[t] = u;
};
KN_EACH(t, ntree) root_of[t] = split ? t : 0;
KN_EACH(k, nefc) {
    int t = trees[2 * k];
    if (t < 0) {  // any tree: the first in which it has columns
        const float* row = J + (size_t)k * nv;
        for (int i = 0; i < nv && t < 0; ++i) if (row[i] != 0.0f) t = tree_of[i];
    }
    row_tree[k] = t < 0 ? 0 : t;
}
KN_SYNC();
if (lane == 0 && split && ntree > 1)
    for (int k = 0; k < nefc; ++k) {
        if (trees[2 * k] >= 0) {
            if (trees[2 * k + 1] >= 0) unite(trees[2 * k], trees[2 * k + 1]);
        } else {
            const float* row = J + (size_t)k * nv;
            for (int i = 0; i < nv; ++i) if (row[i] != 0.0f) unite(row_tree[k], tree_of[i]);
        }
    }
KN_SYNC();
for (int t = 0; t < ntree; ++t) first_row[t] = -1;
for (int k = nefc - 1; k >= 0; --k) {
    const int t = find(next_row[k]), after = first_row[t];
    run_end[k] = after == k + 1 ? run_end[after] : k + 1;
    next_row[k] = after;
    first_row[t] = k;
}
#include "island_trees.cpp"
#else
#define KN_ISLANDS(root) for (int island = starts[KN_BUCKET]; island < starts[KN_BUCKET + 1]; ++island)
#define KN_ROWS(i) KN_EACH(q_##i, rows_here) if (const int i = row_list[q_##i]; true)
#define KN_TOGETHER(t, u) (island_root[t] == island_root[u])
#define KN_TREES(t) for (int q_##t = tree_starts[island]; q_##t < tree_starts[island + 1]; ++q_##t) \
    if (const int t = tree_list[q_##t]; true)
#define KN_TREES_BACK(t) for (int q_##t = tree_starts[island + 1] - 1; q_##t >= tree_starts[island]; --q_##t) \
    if (const int t = tree_list[q_##t]; true)
#define KN_DOFS(i) KN_EACH(i, nv) if (is_here(tree_of[i]))
const int* starts = KN_ROW(int, d.island.bucket);
const int* island_root = KN_ROW(int, d.island.root);
const int* island_number = KN_ROW(int, d.island.number);
const int* tree_starts = KN_ROW(int, d.island.treeadr);
const int* row_starts = KN_ROW(int, d.island.rowadr);
const int* tree_list = KN_ROW(int, d.island.tree);
#endif
