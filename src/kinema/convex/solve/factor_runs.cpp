// Newton's matrix of an island in rows of runs: H = M + J' (d2s/dr2) J = L'DL, k from the last dof to the first:
//
//   D_k = H_kk,  L_k = H_k / D_k,   H_i -= L_ki H_k   over the columns up to i, for i < k
//
// Row k has the columns below k that anything couples with k. A row of J couples all its dofs: the last of them gets the
// others. Eliminating k couples what it is coupled with: the largest of its columns gets the rest (its parent in the
// elimination tree). Columns of a row come as runs, [from, to), for vertices have three dofs in a row and neighbours are
// often next to each other; loops over runs are vectors. Numbers lie in full rows, so that a run is at its own columns.
// Dofs that hang on others come after them: elimination from the last dof leaves bodies that many vertices hang on to
// the end.

#undef KN_ALL_DOFS
#undef KN_ALL_ROWS
#undef KN_IN_ORDER
#if KN_LANES == 1
#define KN_ALL_DOFS(i) KN_DOFS(i)
#define KN_ALL_ROWS(i) KN_ROWS(i)
#define KN_IN_ORDER(i) KN_DOFS(i)
#else
#define KN_ALL_DOFS(i) for (int i = 0; i < nv; ++i) if (root_of[tree_of[i]] == here)
#define KN_ALL_ROWS(i) for (int i = 0; i < nefc; ++i) if (row_root[i] == here)
#define KN_IN_ORDER(i) KN_ALL_DOFS(i)
#endif
float* H = KN_ROW(float, d.solver.H);
int* run_adr = lists;  // of row k: the runs [run_adr[2 k], run_adr[2 k + 1])
int* elder = run_adr + 2 * nv;  // the last child of k in the elimination tree; the others follow as its siblings
int* sibling = elder + nv;
int* row_head = sibling + nv;  // rows of J by their last dof
int* row_link = row_head + nv;
int* run = row_link + m.size.nefcmax;  // run[2 p], run[2 p + 1]: from and to
const size_t pitch = (size_t)nv;
#if KN_LANES == 1
int* columns = (int*)g;  // of each row, how many: until the first gradient
#endif

#if KN_LANES > 1
auto add_scaled = [](float* __restrict__ y, const float* __restrict__ p, float s, int n) {
    for (int j = 0; j < n; ++j) y[j] += s * p[j];
};
#endif

// one thread finds the columns
if (lane == 0) {  // which columns each row has
    KN_ALL_DOFS(k) { elder[k] = -1; row_head[k] = -1; }
    KN_ALL_ROWS(q) {
        int last = -1;
        for (int p = 0; p < ncol[q]; ++p) last = wp::max(last, col[(size_t)q * width + p]);
        if (last < 0) continue;
        row_link[q] = row_head[last];
        row_head[last] = q;
    }
    int used = 0;
    const int* adr = KN_METRIC_ROWADR.data;
    const int* num = KN_METRIC_ROWNNZ.data;
    const int* of = KN_METRIC_COLIND.data;
    int* mark = (int*)Mv;  // columns below k that are in its row: a byte each would do, but this is at hand
    KN_ALL_DOFS(k) mark[k] = -1;
    KN_DOFS_BACK(k) {
        for (int p = 0; p < num[k] - 1; ++p) mark[of[adr[k] + p]] = k;
        for (int q = row_head[k]; q >= 0; q = row_link[q])
            for (int p = 0; p < ncol[q]; ++p) mark[col[(size_t)q * width + p]] = k;
        int low = k;
        for (int p = 0; p < num[k] - 1; ++p) low = wp::min(low, of[adr[k] + p]);
        for (int q = row_head[k]; q >= 0; q = row_link[q])
            for (int p = 0; p < ncol[q]; ++p) low = wp::min(low, col[(size_t)q * width + p]);
        for (int c = elder[k]; c >= 0; c = sibling[c])
            for (int p = run_adr[2 * c]; p < run_adr[2 * c + 1]; ++p)
                for (int j = run[2 * p]; j < run[2 * p + 1]; ++j) { mark[j] = k; low = wp::min(low, j); }
        run_adr[2 * k] = used;
        int parent = -1;
        for (int j = low; j < k; ++j) {
            if (mark[j] != k) continue;
            int end = j + 1;
            while (end < k && mark[end] == k) ++end;
            run[2 * used] = j; run[2 * used + 1] = end;
            ++used;
            j = parent = end - 1;
        }
        run_adr[2 * k + 1] = used;
#if KN_LANES == 1
        columns[k] = 0;
        for (int p = run_adr[2 * k]; p < used; ++p) columns[k] += run[2 * p + 1] - run[2 * p];
#endif
        if (parent >= 0) { sibling[k] = elder[parent]; elder[parent] = k; }
    }
}

KN_SYNC();

auto start_hessian = [&]() {  // H = M, with room for what rows and elimination add
    const int* adr = KN_METRIC_ROWADR.data;
    const int* num = KN_METRIC_ROWNNZ.data;
    const int* of = KN_METRIC_COLIND.data;
    KN_DOFS(k) {
        float* row = H + k * pitch;
        for (int p = run_adr[2 * k]; p < run_adr[2 * k + 1]; ++p)
            for (int j = run[2 * p]; j < run[2 * p + 1]; ++j) row[j] = 0.0f;
        for (int p = 0; p < num[k]; ++p) row[of[adr[k] + p]] = mass_at(adr[k] + p);
    }
    KN_SYNC();
};
#if KN_LANES == 1
auto add_product = [&](int i, int j, float s) {  // H += s J_i' J_j; rows of one contact have the same columns
    const float *left = J + (size_t)i * width, *right = J + (size_t)j * width;
    const int* at = col + (size_t)i * width;
    for (int p = 0; p < ncol[i]; ++p) {
        const float by = s * left[p];
        float* row = H + at[p] * pitch;
        for (int q = 0; q < ncol[i]; ++q) if (at[q] <= at[p]) row[at[q]] += by * right[q];
    }
};
auto add_curvature = [&]() {
    KN_ROWS(k) {
        if (state[k] == ConstraintState::QUADRATIC) add_product(k, k, D[k]);
        else if (state[k] == ConstraintState::CONE && kind_of(k) == CONE_HEAD) {
            const Cone e = contact_cone(k);
            for (int p = 0; p < e.dim; ++p)
                for (int q = 0; q < e.dim; ++q) add_product(k + p, k + q, cone_entry(e, p, q));
        }
    }
};
#else
auto add_curvature = [&]() {  // a thread owns rows of H, and gathers from the rows of J that have its dof
    KN_DOFS(i) {
        float* row = H + i * pitch;
        for (int p = adr_of[i]; p < adr_of[i + 1]; ++p) {
            const int k = entry_list[p] / width;
            const int* at = col + (size_t)k * width;
            if (state[k] == ConstraintState::QUADRATIC) {
                const float by = D[k] * J[entry_list[p]];
                for (int q = 0; q < ncol[k]; ++q) if (at[q] <= i) row[at[q]] += by * J[(size_t)k * width + q];
            } else if (state[k] == ConstraintState::CONE) {
                int head = k;
                while (kind_of(head) != CONE_HEAD) --head;
                const Cone e = contact_cone(head);
                for (int z = 0; z < e.dim; ++z) {
                    const float by = cone_entry(e, k - head, z) * J[entry_list[p]];
                    for (int q = 0; q < ncol[k]; ++q) if (at[q] <= i) row[at[q]] += by * J[(size_t)(head + z) * width + q];
                }
            }
        }
    }
    KN_SYNC();
};
#endif
#if KN_LANES == 1
#include "factor_in_fours.cpp"
#else
auto factor = [&]() {
    KN_DOFS_BACK(k) {
        float* row = H + k * pitch;
        const int first = run_adr[2 * k], end = run_adr[2 * k + 1];
        const float inv = 1.0f / wp::max(row[k], 1e-15f);
        KN_SYNC();
        for (int p = first; p < end; ++p)  // threads share out the rows above
            for (int i = run[2 * p] + lane; i < run[2 * p + 1]; i += KN_LANES) {
                const float by = row[i] * inv;
                if (by == 0.0f) continue;
                float* target = H + i * pitch;
                for (int q = first; q < p; ++q)
                    add_scaled(target + run[2 * q], row + run[2 * q], -by, run[2 * q + 1] - run[2 * q]);
                add_scaled(target + run[2 * p], row + run[2 * p], -by, i + 1 - run[2 * p]);
            }
        KN_SYNC();
        if (lane == 0) row[k] = inv;
        for (int p = first; p < end; ++p)
            for (int j = run[2 * p] + lane; j < run[2 * p + 1]; j += KN_LANES) row[j] *= inv;
    }
    KN_SYNC();
};
#endif
auto solve = [&](double* y) {  // y = (L'DL)^-1 y
    KN_DOFS_BACK(k) {
        const float* row = H + k * pitch;
        const double yk = y[k];
        for (int p = run_adr[2 * k]; p < run_adr[2 * k + 1]; ++p)
            for (int j = run[2 * p] + lane; j < run[2 * p + 1]; j += KN_LANES) y[j] -= row[j] * yk;
        KN_SYNC();
    }
    KN_IN_ORDER(k) {
        const float* row = H + k * pitch;
        double s = 0.0;
        for (int p = run_adr[2 * k]; p < run_adr[2 * k + 1]; ++p)
            for (int j = run[2 * p] + lane; j < run[2 * p + 1]; j += KN_LANES) s += row[j] * y[j];
        KN_WIDE_SUM(s);
        if (lane == 0) y[k] = y[k] * row[k] - s;
        KN_SYNC();
    }
};
// iterative refinement where rows are stiff: refine.cpp says why
const int TURNS = 6;
auto is_stiff = [&]() -> bool {  // asked before H is factored
    double found = 0.0;
    KN_DOFS(i) if (H[i * pitch + i] > 3e3f * diagonal(i)) found = 1.0;
    KN_WIDE_SUM(found);
    return found > 0.0;
};
auto refine = [&](double* x, double* dx) {
    for (int turn = 0; turn < TURNS; ++turn) {
        KN_ROWS(k) v[k] = row_by(k, x);
        KN_SYNC();
        KN_ROWS(k) {  // v = s'(r + J x)
            if (state[k] == ConstraintState::QUADRATIC) v[k] = D[k] * (r[k] + v[k]);
            else if (state[k] != ConstraintState::CONE) v[k] = -f[k];
            else if (kind_of(k) == CONE_HEAD) {
                const Cone e = contact_cone(k);
                double along[6];
                for (int p = 0; p < e.dim; ++p) along[p] = v[k + p];
                for (int p = 0; p < e.dim; ++p) {
                    v[k + p] = -f[k + p];
                    for (int q = 0; q < e.dim; ++q) v[k + p] += cone_entry(e, p, q) * along[q];
                }
            }
        }
        KN_DOFS(i) dx[i] = KN_AT(KN_SMOOTH, i) - Ma[i] - mass_times(i, x);
        KN_SYNC();
        add_rows(dx, v, -1.0);
        KN_SYNC();
        solve(dx);
        double change = 0.0, size = 0.0;
        KN_DOFS(i) { x[i] += dx[i]; change += dx[i] * dx[i]; size += x[i] * x[i]; }
        KN_WIDE_SUM(change, size);
        if (change <= 1e-14 * size) break;
    }
};
