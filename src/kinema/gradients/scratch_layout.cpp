// One world's scratch, and the numbers that go by the names of the formulas. `closed.py` says how much there is.
#undef KN_V
#undef KN_COLUMNS
#undef KN_INT
#undef KN_EACH
#undef KN_ROLLED
#if defined(__CUDA_ARCH__)
typedef float V, V_anywhere;  // a lane takes a column
#define KN_V 1
#define KN_ROLLED _Pragma("unroll 1")  // a lane has an item or two: more copies of a body would only crowd the cache
#else
typedef float V __attribute__((vector_size(32)));  // eight columns at once
typedef V V_anywhere __attribute__((aligned(4)));  // in memory; a generic function forgets it of its arguments
#define KN_V 8
#define KN_ROLLED
#endif
#define KN_EACH(i, n) KN_ROLLED for (int i = lane; i < (n); i += KN_LANES)
#define KN_COLUMNS(k, n) KN_ROLLED for (int k = lane * KN_V; k < (n); k += KN_LANES * KN_V)
#define KN_INT(a, i) (*(int*)((char*)(a).data + (size_t)w * (a).strides[0] + (size_t)(i) * (a).strides[1]))

const int nb = m.size.nbody, na = m.size.na, nc = 2 * nv + na + m.size.nu;
const int nc8 = (nc + 7) & ~7, n8 = (nv + 7) & ~7;
float* next = (float*)((char*)room.data + (size_t)slot * room.strides[0]);
auto take = [&](int count) -> float* { float* p = next; next += (count + 7) & ~7; return p; };
float *rhs = take(nv * nc8), *carried = take(nv * n8), *H = take(nv * n8), *Mh = take(nv * n8);
float* late = take(nv * nc8);
float *before = take(6 * nv), *C = take(6 * nv), *Ce = take(6 * nv), *Z = take(6 * nv), *U = take(6 * nv), *W = take(3 * nv);
float *Y = take(6 * nv), *Gq = take(6 * nv), *Gv = take(6 * nv), *Ge = take(6 * nv);
float *acc = take(6 * nb), *hat = take(6 * nb), *del = take(6 * nb), *frc = take(6 * nb), *fre = take(6 * nb);
float *ext = take(6 * nb), *slope = take(12 * nb);
float *damp = take(nv), *chosen = take(nv);
float* column = take(52 * n8);
int* chain = (int*)take(n8);
int *list = (int*)take(2 * nv * n8), *above = (int*)take(nv), *below = (int*)take(nv);
const int nalone = alone.shape[0];
float* lone = take(73 * nalone);
const bool discrete = m.opt.integrator == Integrator::DISCRETE;
const int nd = discrete ? nv : 0, nd8 = discrete ? n8 : 0;  // regularization_slopes.cpp
float *mass = take(nd), *heft = take(nd), *swell = take(nd * nd8), *stiffer = take(discrete ? nc8 : 0);
float *easing = take(4 * nd8), *eased = take(13 * nd8);
int* at_dof = (int*)take(nd8);

struct Number5 { enum { value = 5 }; };
struct Number2 { enum { value = 2 }; };
struct Number1 { enum { value = 1 }; };
auto load = [](const float* p) -> V { return *(const V_anywhere*)p; };
auto store = [](float* p, V x) { *(V_anywhere*)p = x; };

const bool constrained = !(m.opt.disableflags & Disable::CONSTRAINT);
const int ncon = constrained && !(m.opt.disableflags & Disable::CONTACT) ? KN_ROW(int, d.con.ncon)[0] : 0;
const float* D = KN_ROW(float, d.efc.D);
const float* aref = KN_ROW(float, d.efc.aref);
const float* row_slope = (const float*)((const char*)slopes.data + (size_t)slot * slopes.strides[0]);  // row_slopes.py
auto anchor_of = [&](int e) -> const float* {  // anchor_slopes.py
    return (const float*)((const char*)points.data + slot * (size_t)points.strides[0] + e * (size_t)points.strides[1]);
};
auto address_of = [&](int c) -> int { return KN_INT(d.crow.address, c); };
auto frame_of = [&](int c) -> const float* { return &KN_AT(d.con.frame, c); };
auto is_pyramid = [&](int row) -> bool { return type[row] == Constraint::CONTACT_PYRAMIDAL; };

// forces of a contact along and about the axes of its frame
auto forces_of = [&](int c, int row, float* phi) {
    const int dim = dim_of(c);
    for (int i = 0; i < 6; ++i) phi[i] = 0.0f;
    if (is_pyramid(row))
        for (int e = 0; e < 2 * (dim - 1); ++e) {
            const float mu = friction_of(c)[e / 2];
            phi[0] += force[row + e];
            phi[e / 2 + 1] += (e % 2 ? -mu : mu) * force[row + e];
        }
    else
        for (int i = 0; i < dim; ++i) phi[i] = force[row + i];
};

// the rows of a table (coloring.py); of those that share a column, and a dof if asked, one lane takes all
auto each_entry = [&](const auto& table, bool by_dof, auto use) {
    const int rows = table.shape[0];
    auto entry = [&](int k) -> const int* { return (const int*)((const char*)table.data + k * (size_t)table.strides[0]); };
    auto alike = [&](int i, int j) -> bool { return entry(i)[1] == entry(j)[1] && (!by_dof || entry(i)[0] == entry(j)[0]); };
    KN_EACH(k, rows) {
        if (k && alike(k, k - 1)) continue;
        for (int i = k; i < rows && alike(i, k); ++i) use(entry(i));
    }
};

const int colors = colored.shape[2];
const float* local = (const float*)((const char*)colored.data + (size_t)w * colored.strides[0]);  // coloring.py
const char *geometry_dist = (const char*)places.data[0], *geometry_pos = (const char*)places.data[3];
const char* geometry_frame = (const char*)places.data[6];
const long long dist_world = places.data[1], dist_item = places.data[2], pos_world = places.data[4], pos_item = places.data[5];
const long long frame_world = places.data[7], frame_item = places.data[8];
const int number = (int)places.data[9];  // floats of a dual
const bool split = places.data[10] != 0;  // four directions each, one after the other (moving_pairs.py)
const char* slope_of_dofs = (const char*)places.data[11];  // qDeriv (others.py)
const long long slope_world = places.data[12], slope_item = places.data[13];
const float h = *(const float*)((const char*)m.opt.timestep.data + (size_t)w * m.opt.timestep.strides[0]);
