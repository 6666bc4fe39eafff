// The constraint rows of world w where they list their columns: row k has ncol[k] entries, in the columns col[k].
const int width = m.size.ncolmax;
const float* J = KN_ROW(float, d.efc.J);
const int* col = KN_ROW(int, d.efc.col);
const int* ncol = KN_ROW(int, d.efc.ncol);
const float* R = KN_ROW(float, d.efc.R);
const float* loss = KN_ROW(float, d.efc.frictionloss);
const int* type = KN_ROW(int, d.efc.type);
const int* id = KN_ROW(int, d.efc.id);
const int* tree_adr = m.tree.dofadr.data;
const int* tree_num = m.tree.dofnum.data;
float* force = KN_ROW(float, d.efc.force);
int* state = KN_ROW(int, d.efc.state);
int* lists = KN_ROW(int, d.solver.lists);  // of Newton's matrix, then of entries of J by dof

#include "cone.cpp"
