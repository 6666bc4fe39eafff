// What a team of threads keeps in shared memory, under the names that rows.cpp gives: the constraint rows, as long as
// they fit, and vectors over dofs. Thread i looks after dof i. KN_COLUMNS is nv rounded up.

constexpr int N = KN_COLUMNS, E = KN_ROWS_MAX, Q = N / 4;
constexpr int LD = Q % 2 ? N : N + 4;  // numbers a row of the tile: 16-byte reads of neighbouring rows do not collide
__shared__ __align__(16) float tile[E * LD];
__shared__ __align__(16) float a[KN_LANES], x[KN_LANES], pivot[2 * KN_LANES];
__shared__ float Ma[KN_LANES], Mv[KN_LANES], g[KN_LANES], pivot_rhs[2];
__shared__ float r_[E], v_[E], D_[E], R_[E], force_[E], loss_[E], coefficient_[E], second[6 * E];
__shared__ int type_[E], id_[E], state_[E], dim_[E], root_[E];
__shared__ int root_of[N], busy[N];

const float* J = KN_ROW(float, d.efc.J);
const int* trees = KN_ROW(int, d.efc.trees);
const int* tree_adr = m.tree.dofadr.data;
const int* tree_num = m.tree.dofnum.data;
const bool resident = nefc <= E;
const float* R = resident ? R_ : KN_ROW(float, d.efc.R);
const float* D = resident ? D_ : KN_ROW(float, d.efc.D);
const float* loss = resident ? loss_ : KN_ROW(float, d.efc.frictionloss);
const int* type = resident ? type_ : KN_ROW(int, d.efc.type);
const int* id = resident ? id_ : KN_ROW(int, d.efc.id);
float* force = resident ? force_ : KN_ROW(float, d.efc.force);
int* state = resident ? state_ : KN_ROW(int, d.efc.state);
int* row_root = resident ? root_ : KN_ROW(int, d.solver.next_row);
float* r = resident ? r_ : KN_ROW(float, d.solver.Jaref);
float* v = resident ? v_ : KN_ROW(float, d.solver.Jv);

// the columns of row k: one or two ranges
auto ranges = [&](int k, int from[2], int to[2]) -> int {
    const int t = trees[2 * k], u = trees[2 * k + 1];
    from[0] = t < 0 ? 0 : tree_adr[t]; to[0] = t < 0 ? nv : from[0] + tree_num[t];
    if (t < 0 || u < 0) return 1;
    from[1] = tree_adr[u]; to[1] = from[1] + tree_num[u];
    return 2;
};

// a contact is named by its first row where rows are resident, and its numbers stand in its rows
auto mu_of = [&](int c) -> float { return resident ? coefficient_[c] : KN_AT(d.crow.mu, c); };
auto dim_of = [&](int c) -> int { return resident ? dim_[c] : *(int*)&KN_AT(d.con.dim, c); };
auto friction_of = [&](int c) -> const float* { return resident ? coefficient_ + c + 1 : &KN_AT(d.con.friction, c); };

#include "cone.cpp"

// some rows, in full length: columns outside the trees of a row are zero
auto load = [&](int first, int count) {
    KN_EACH(q, count) {
        const int k = first + q;
        D_[q] = KN_ROW(float, d.efc.D)[k];
        type_[q] = KN_ROW(int, d.efc.type)[k];
        id_[q] = KN_ROW(int, d.efc.id)[k];
        if (type_[q] == Constraint::CONTACT_ELLIPTIC) {
            const int c = id_[q], head = *(int*)&KN_AT(d.crow.address, c) - first;
            id_[q] = head;
            dim_[q] = *(int*)&KN_AT(d.con.dim, c);
            coefficient_[q] = q == head ? KN_AT(d.crow.mu, c) : (&KN_AT(d.con.friction, c))[q - head - 1];
        }
        if (resident) {
            R_[q] = KN_ROW(float, d.efc.R)[k];
            loss_[q] = KN_ROW(float, d.efc.frictionloss)[k];
        } else {
            state_[q] = state[k];
            root_[q] = row_root[k];
        }
    }
    #pragma unroll 4
    for (int e = lane; e < count * LD; e += KN_LANES) {
        const int k = first + e / LD, i = e % LD, t = trees[2 * k], u = trees[2 * k + 1];
        const int own = i < nv ? tree_of[i] : -2;
        tile[e] = i < nv && (t < 0 || t == own || u == own) ? J[(size_t)k * nv + i] : 0.0f;
    }
};
if (resident) load(0, nefc);
a[lane] = x[lane] = Ma[lane] = Mv[lane] = g[lane] = 0.0f;
KN_SYNC();

auto row_times = [&](int k, const float* p) -> float {  // (J p)_k
    float s = 0.0f;
    if (resident) {
        const float4* row = (const float4*)(tile + k * LD);
        #pragma unroll
        for (int t = 0; t < Q; ++t) {
            const float4 b = ((const float4*)p)[t], c = row[t];
            s += c.x * b.x + c.y * b.y + c.z * b.z + c.w * b.w;
        }
        return s;
    }
    int from[2], to[2];
    for (int q = 0, n = ranges(k, from, to); q < n; ++q)
        for (int i = from[q]; i < to[q]; ++i) s += J[(size_t)k * nv + i] * p[i];
    return s;
};
auto mass_times = [&](int i, const float* p) -> float {  // (M p)_i; neighbours read neighbouring numbers
    const int t = tree_of[i], to = tree_adr[t] + tree_num[t];
    float s = 0.0f;
    #pragma unroll 4
    for (int j = tree_adr[t]; j < to; ++j) s += M[(size_t)j * nv + i] * p[j];
    return s;
};
