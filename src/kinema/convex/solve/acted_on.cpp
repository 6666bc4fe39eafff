// Where all trees are taken as one island (islands.cpp), the dofs that belong to it: those of all trees that rows act on.
const bool whole = (m.opt.disableflags & Disable::ISLAND) != 0;
int* acted_on = KN_ROW(int, d.solver.root);
KN_EACH(t, ntree) acted_on[t] = whole;
KN_SYNC();
if (!whole) {
    KN_EACH(k, nefc) {
        const int t = trees[2 * k], u = trees[2 * k + 1];
        if (t < 0) for (int all = 0; all < ntree; ++all) acted_on[all] = 1;
        else acted_on[t] = 1;
        if (u >= 0) acted_on[u] = 1;
    }
}
KN_SYNC();
auto is_acted_on = [&](int i) -> bool { return acted_on[tree_of[i]] != 0; };
