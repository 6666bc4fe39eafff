// Islands on CUDA: trees that rows couple, directly or through others, are minimized apart, as MuJoCo does. One warp a world
// finds them and sorts trees and rows by island, and islands by the group that can hold them (bucket): first by what they
// need, then by their first tree.
//
//     root      the first tree of the island of each tree: two roots that a row joins become one, the lower, until none do
//     number    of a root with rows, which island it is; -1 where nothing acts
//
// Trees without rows move freely. The start of the search, the last acceleration or the unconstrained one, is chosen for
// the world as a whole.
#include "group.cpp"
const int nv = m.size.nv, ntree = m.size.ntree, nefc = KN_ROW(int, d.efc.nefc)[0];
const int ne = KN_ROW(int, d.efc.ne)[0], nef = ne + KN_ROW(int, d.efc.nf)[0];
const int* trees = KN_ROW(int, d.efc.trees);
const int* tree_of = m.dof.treeid.data;
const float* J = KN_ROW(float, d.efc.J);
const float* aref = KN_ROW(float, d.efc.aref);
const int* type = KN_ROW(int, d.efc.type);
const int* id = KN_ROW(int, d.efc.id);
#include "cone.cpp"
#undef KN_EACH
#define KN_EACH(k, n) for (int k = lane; k < (n); k += 32)

int* roots = KN_ROW(int, d.island.root);
volatile int* root = roots;
int* number = KN_ROW(int, d.island.number);
int* dofs = KN_ROW(int, d.island.dofs);  // of each root: dofs, rows, trees of its island
int* rows = KN_ROW(int, d.island.rows);
int* members = KN_ROW(int, d.island.members);
int* first_tree = KN_ROW(int, d.island.first);  // of each island its root, later where its next row goes
int* starts = KN_ROW(int, d.island.bucket);
int* treeadr = KN_ROW(int, d.island.treeadr);
int* rowadr = KN_ROW(int, d.island.rowadr);
int* tree = KN_ROW(int, d.island.tree);
int* row = KN_ROW(int, d.island.row);
const bool split = (m.opt.disableflags & Disable::ISLAND) == 0;
const unsigned before = (1u << lane) - 1u;

KN_EACH(t, ntree) { root[t] = split ? t : 0; dofs[t] = rows[t] = members[t] = 0; }
__syncwarp();
auto find = [&](int t) -> int { while (root[t] != t) t = root[t]; return t; };
auto join = [&](int t, int u) -> bool {
    t = find(t); u = find(u);
    if (t == u) return false;
    atomicMin(roots + (t > u ? t : u), t > u ? u : t);
    return true;
};
auto tree_of_row = [&](int k) -> int {  // one of its trees
    if (trees[2 * k] >= 0) return trees[2 * k];
    for (int i = 0; i < nv; ++i) if (J[(size_t)k * nv + i] != 0.0f) return tree_of[i];
    return 0;
};
for (bool again = split; again;) {
    bool joined = false;
    KN_EACH(k, nefc) {
        const int t = tree_of_row(k), u = trees[2 * k + 1];
        if (u >= 0 && join(t, u)) joined = true;
        if (trees[2 * k] < 0)
            for (int i = 0; i < nv; ++i) if (J[(size_t)k * nv + i] != 0.0f && join(t, tree_of[i])) joined = true;
    }
    __syncwarp();
    KN_EACH(t, ntree) root[t] = find(t);
    __syncwarp();
    again = __any_sync(mates, joined);
}
KN_EACH(t, ntree) { atomicAdd(dofs + root[t], m.tree.dofnum.data[t]); atomicAdd(members + root[t], 1); }
KN_EACH(k, nefc) atomicAdd(rows + root[tree_of_row(k)], 1);
__syncwarp();

const int most_dofs[] = KN_MOST_DOFS, most_rows[] = KN_MOST_ROWS;
auto bucket_of = [&](int q) -> int {
    int b = 0;
    while (b < KN_BUCKETS - 1 && (dofs[q] > most_dofs[b] || rows[q] > most_rows[b])) ++b;
    return b;
};
int count = 0;
KN_EACH(t, ntree) number[t] = -1;
__syncwarp();
for (int b = 0; b < KN_BUCKETS; ++b) {
    if (lane == 0) starts[b] = count;
    for (int c = 0; c < ntree; c += 32) {
        const int t = c + lane;
        const bool on = t < ntree && root[t] == t && rows[t] > 0 && bucket_of(t) == b;
        const unsigned all = __ballot_sync(mates, on);
        if (on) { number[t] = count + __popc(all & before); first_tree[number[t]] = t; }
        count += __popc(all);
    }
}
if (lane == 0) starts[KN_BUCKETS] = count;
__syncwarp();
for (int c = 0, at_tree = 0, at_row = 0; c < count + 1; c += 32) {  // where lists begin
    const int s = c + lane, q = s < count ? first_tree[s] : -1;
    int a = q < 0 ? 0 : members[q], b = q < 0 ? 0 : rows[q];
    const int its_a = a, its_b = b;
    for (int o = 1; o < 32; o <<= 1) {
        const int x = __shfl_up_sync(mates, a, o), y = __shfl_up_sync(mates, b, o);
        if (lane >= o) { a += x; b += y; }
    }
    if (s <= count) { treeadr[s] = at_tree + a - its_a; rowadr[s] = at_row + b - its_b; }
    at_tree += __shfl_sync(mates, a, 31);
    at_row += __shfl_sync(mates, b, 31);
}
__syncwarp();
int* next = first_tree;
auto sort = [&](int n, const int* begin, int* list, auto root_of) {  // things by island, in their own order
    __syncwarp();
    KN_EACH(s, count) next[s] = begin[s];
    __syncwarp();
    for (int c = 0; c < n; c += 32) {
        const int k = c + lane, s = k < n ? number[root_of(k)] : -1;
        const unsigned same = __match_any_sync(mates, s);
        const int place = s < 0 ? 0 : next[s] + __popc(same & before);
        __syncwarp();
        if (s >= 0) {
            list[place] = k;
            if ((same & before) == 0u) next[s] += __popc(same);
        }
        __syncwarp();
    }
};
sort(ntree, treeadr, tree, [&](int t) -> int { return root[t]; });
sort(nefc, rowadr, row, [&](int k) -> int { return root[tree_of_row(k)]; });

KN_EACH(i, nv)
    if (number[root[tree_of[i]]] < 0) {
        KN_AT(d.frc.qacc, i) = KN_AT(d.frc.qacc_smooth, i);
        KN_AT(d.frc.qfrc_constraint, i) = 0.0f;
    }
if (lane == 0) KN_ROW(int, d.solver.niter)[0] = 0;

// what the last acceleration costs more than the unconstrained one
float more = 0.0f;
if ((m.opt.disableflags & Disable::WARMSTART) == 0 && count > 0) {
    float* cold = KN_ROW(float, d.island.start);
    float* step = cold + nv;
    KN_EACH(i, nv) {
        cold[i] = KN_AT(d.frc.qacc_smooth, i);
        step[i] = KN_AT(d.state.qacc_warmstart, i) - cold[i];
    }
    __syncwarp();
    KN_EACH(i, nv) {  // 1/2 x' M x by the lower triangle
        const int adr = KN_METRIC_ROWADR.data[i], nnz = KN_METRIC_ROWNNZ.data[i];
        float s = 0.0f;
        for (int k = 0; k < nnz; ++k)
            s += (k == nnz - 1 ? 0.5f : 1.0f) * KN_AT(KN_METRIC, adr + k) * step[KN_METRIC_COLIND.data[adr + k]];
        more += s * step[i];
    }
    auto residual = [&](int k, float& r, float& v) {  // at the unconstrained acceleration, and what the step adds
        r = -aref[k]; v = 0.0f;
        const int t = trees[2 * k], u = trees[2 * k + 1];
        for (int z = 0; z < 2; ++z) {
            const int which = z ? u : t;
            if (which < 0 && (z || t >= 0)) continue;
            const int from = which < 0 ? 0 : m.tree.dofadr.data[which], to = which < 0 ? nv : from + m.tree.dofnum.data[which];
            for (int i = from; i < to; ++i) {
                const float entry = J[(size_t)k * nv + i];
                r += entry * cold[i]; v += entry * step[i];
            }
        }
    };
    KN_EACH(k, nefc) {
        const int kind = kind_of(k);
        float r[6], v[6], D[6], force[6];
        int zone;
        if (kind < CONE_HEAD) {
            residual(k, r[0], v[0]);
            const float loss = kind == FRICTION_ROW ? KN_ROW(float, d.efc.frictionloss)[k] : 0.0f;
            const float bound = KN_ROW(float, d.efc.R)[k] * loss, stiff = KN_ROW(float, d.efc.D)[k];
            more -= row_cost(kind, r[0], stiff, loss, bound, force[0], zone);
            more += row_cost(kind, r[0] + v[0], stiff, loss, bound, force[0], zone);
        } else if (kind == CONE_HEAD) {
            const int c = id[k], dim = dim_of(c);
            for (int q = 0; q < dim; ++q) { residual(k + q, r[q], v[q]); D[q] = KN_ROW(float, d.efc.D)[k + q]; }
            more -= cone_cost(r, D, mu_of(c), friction_of(c), dim, force, zone);
            for (int q = 0; q < dim; ++q) r[q] += v[q];
            more += cone_cost(r, D, mu_of(c), friction_of(c), dim, force, zone);
        }
    }
    more = sum(more);
}
if (lane == 0) KN_ROW(int, d.island.warm)[0] = more < 0.0f;
