// One world's scratch of A and B. `closed.py` says how much there is.
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
float* lone = take(109 * nalone);
const int nd = discrete ? nv : 0, nd8 = discrete ? n8 : 0;  // regularization_slopes.cpp
float *mass = take(nd), *heft = take(nd), *swell = take(nd * nd8), *stiffer = take(discrete ? nc8 : 0);
float *easing = take(4 * nd8), *eased = take(13 * nd8);
int* at_dof = (int*)take(nd8);
auto cdof_of = [&](int k) -> const float* { return &KN_AT(d.inertia.cdof, k); };
auto rate_of = [&](int k) -> const float* { return &KN_AT(d.vel.cdof_dot, k); };
