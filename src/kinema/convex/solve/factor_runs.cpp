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

float* H = KN_ROW(float, d.solver.H);
int* run = KN_ROW(int, d.solver.runs);  // run[2 p], run[2 p + 1]: from and to
int* run_adr = KN_ROW(int, d.solver.order);  // of row k: the runs [run_adr[2 k], run_adr[2 k + 1])
int* elder = run_adr + 2 * nv;  // the last child of k in the elimination tree; the others follow as its siblings
int* sibling = elder + nv;
int* row_head = sibling + nv;  // rows of J by their last dof
int* row_link = KN_ROW(int, d.solver.row_link);
const size_t pitch = (size_t)nv;

auto add_scaled = [](float* __restrict__ y, const float* __restrict__ p, float s, int n) {
    for (int j = 0; j < n; ++j) y[j] += s * p[j];
};

{  // which columns each row has
    KN_DOFS(k) { elder[k] = -1; row_head[k] = -1; }
    KN_ROWS(q) {
        int last = -1;
        for (int p = 0; p < ncol[q]; ++p) last = wp::max(last, col[(size_t)q * width + p]);
        if (last < 0) continue;
        row_link[q] = row_head[last];
        row_head[last] = q;
    }
    int used = 0;
    const int* adr = m.dof.M_rowadr.data;
    const int* num = m.dof.M_rownnz.data;
    const int* of = m.dof.M_colind.data;
    int* mark = (int*)Mv;  // columns below k that are in its row: a byte each would do, but this is at hand
    KN_DOFS(k) mark[k] = -1;
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
        if (parent >= 0) { sibling[k] = elder[parent]; elder[parent] = k; }
    }
}

auto start_hessian = [&]() {  // H = M, with room for what rows and elimination add
    const int* adr = m.dof.M_rowadr.data;
    const int* num = m.dof.M_rownnz.data;
    const int* of = m.dof.M_colind.data;
    KN_DOFS(k) {
        float* row = H + k * pitch;
        for (int p = run_adr[2 * k]; p < run_adr[2 * k + 1]; ++p)
            for (int j = run[2 * p]; j < run[2 * p + 1]; ++j) row[j] = 0.0f;
        for (int p = 0; p < num[k]; ++p) row[of[adr[k] + p]] = mass_at(adr[k] + p);
    }
};
auto add_product = [&](int i, int j, float s) {  // H += s J_i' J_j; rows of one contact have the same columns
    const float *left = J + (size_t)i * width, *right = J + (size_t)j * width;
    const int* at = col + (size_t)i * width;
    for (int p = 0; p < ncol[i]; ++p) {
        const float f = s * left[p];
        float* row = H + at[p] * pitch;
        for (int q = 0; q < ncol[i]; ++q) if (at[q] <= at[p]) row[at[q]] += f * right[q];
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
auto factor = [&]() {
    KN_DOFS_BACK(k) {
        float* row = H + k * pitch;
        const int first = run_adr[2 * k], end = run_adr[2 * k + 1];
        const float inv = 1.0f / wp::max(row[k], 1e-15f);
        row[k] = inv;
        for (int p = first; p < end; ++p)
            for (int i = run[2 * p]; i < run[2 * p + 1]; ++i) {
                const float f = row[i] * inv;
                if (f == 0.0f) continue;
                float* target = H + i * pitch;
                for (int q = first; q < p; ++q)
                    add_scaled(target + run[2 * q], row + run[2 * q], -f, run[2 * q + 1] - run[2 * q]);
                add_scaled(target + run[2 * p], row + run[2 * p], -f, i + 1 - run[2 * p]);
            }
        for (int p = first; p < end; ++p)
            for (int j = run[2 * p]; j < run[2 * p + 1]; ++j) row[j] *= inv;
    }
};
auto solve = [&](float* y) {  // y = (L'DL)^-1 y
    KN_DOFS_BACK(k) {
        const float* row = H + k * pitch;
        for (int p = run_adr[2 * k]; p < run_adr[2 * k + 1]; ++p)
            add_scaled(y + run[2 * p], row + run[2 * p], -y[k], run[2 * p + 1] - run[2 * p]);
    }
    KN_DOFS(k) {
        const float* row = H + k * pitch;
        float s = y[k] * row[k];
        for (int p = run_adr[2 * k]; p < run_adr[2 * k + 1]; ++p)
            for (int j = run[2 * p]; j < run[2 * p + 1]; ++j) s -= row[j] * y[j];
        y[k] = s;
    }
};
// iterative refinement where rows are stiff: refine.cpp says why
const int TURNS = 6;
auto is_stiff = [&]() -> bool {  // asked before H is factored
    KN_DOFS(i) if (H[i * pitch + i] > 3e3f * diagonal(i)) return true;
    return false;
};
auto refine = [&](float* x, float* dx) {
    for (int turn = 0; turn < TURNS; ++turn) {
        KN_ROWS(k) v[k] = row_times(k, x);
        KN_ROWS(k) {  // v = s'(r + J x)
            if (state[k] == ConstraintState::QUADRATIC) v[k] = D[k] * (r[k] + v[k]);
            else if (state[k] != ConstraintState::CONE) v[k] = -force[k];
            else if (kind_of(k) == CONE_HEAD) {
                const Cone e = contact_cone(k);
                float along[6];
                for (int p = 0; p < e.dim; ++p) along[p] = v[k + p];
                for (int p = 0; p < e.dim; ++p) {
                    v[k + p] = -force[k + p];
                    for (int q = 0; q < e.dim; ++q) v[k + p] += cone_entry(e, p, q) * along[q];
                }
            }
        }
        KN_DOFS(i) dx[i] = KN_AT(KN_SMOOTH, i) - Ma[i] - mass_times(i, x);
        KN_ROWS(k) if (v[k] != 0.0f) add_row(dx, k, -v[k]);
        solve(dx);
        float change = 0.0f, size = 0.0f;
        KN_DOFS(i) { x[i] += dx[i]; change += dx[i] * dx[i]; size += x[i] * x[i]; }
        if (change <= 1e-10f * size) break;
    }
};
