// The constraint rows of world w, as every solver reads them.
const float* J = KN_ROW(float, d.efc.J);
const float* R = KN_ROW(float, d.efc.R);
const float* loss = KN_ROW(float, d.efc.frictionloss);
const int* type = KN_ROW(int, d.efc.type);
const int* id = KN_ROW(int, d.efc.id);
const int* trees = KN_ROW(int, d.efc.trees);
const int* tree_adr = m.tree.dofadr.data;
const int* tree_num = m.tree.dofnum.data;
float* force = KN_ROW(float, d.efc.force);
int* state = KN_ROW(int, d.efc.state);

#include "cone.cpp"

// the columns of row k: one or two ranges, ascending
auto ranges = [&](int k, int from[2], int to[2]) -> int {
    int t = trees[2 * k], u = trees[2 * k + 1];
    if (t < 0) { from[0] = 0; to[0] = nv; return 1; }
    if (u >= 0 && u < t) { const int swap = t; t = u; u = swap; }
    from[0] = tree_adr[t]; to[0] = from[0] + tree_num[t];
    if (u < 0) return 1;
    from[1] = tree_adr[u]; to[1] = from[1] + tree_num[u];
    return 2;
};
