// One world's scratch of a product: on CUDA in shared memory, where it fits. What matrices have taken is free for bodies
// and contacts once they are solved. `closed.py` says how much there is in `room`.
//
// A body has five motions, what it has inherited and what its own dofs add, and seven forces, first its own, then those of
// all that is behind it (tree_product.cpp).
constexpr int MOTIONS = 30, A_AT = 0, HAT_AT = 6, Y_AT = 12, E_AT = 18, Z_AT = 24;
constexpr int FORCES = 42, G_AT = 0, P_AT = 6, Q_AT = 12, V_AT = 18, N_AT = 24, F_AT = 30, R_AT = 36;
constexpr int AT_ONCE = 8, RECORD = 64;  // contacts at once, and numbers of each (contact_product.cpp)
#if defined(__CUDA_ARCH__)
const int n8 = nv | 1;  // lanes that read a row, and lanes that read a column, read from different banks
__shared__ __align__(16) float room_[KN_WORLDS][KN_ROOM];
#else
const int n8 = (nv + 7) & ~7;
#endif
const int nd = discrete ? nv : 0;
float *damp, *chosen, *accel, *speed, *y, *z, *passed, *lone, *mass, *heft, *swells, *weighs, *axes, *to, *H, *Mh, *pivots, *moves, *bears, *records;
auto lay = [&](float* next) -> float* {
    auto take = [&](int count) -> float* { float* p = next; next += (count + 7) & ~7; return p; };
    damp = take(nv); chosen = take(nv); accel = take(nv); speed = take(nv); y = take(nv); z = take(nv); passed = take(2 * nv);
    mass = take(nd); heft = take(nd); swells = take(nd); weighs = take(nd);
    lone = take(109 * nalone);
    axes = take(KN_LANES > 1 ? 12 * nv : 0);
    to = take(KN_LANES > 1 ? nc : 0);
    float* free = next;
    H = take(nv * n8); Mh = take(damped ? nv * n8 : 0); pivots = take(KN_LANES > 1 ? 512 : 0);
    float* end = next;
    next = free;
    moves = take(MOTIONS * nb); bears = take(FORCES * nb); records = take(AT_ONCE * RECORD);
    return next > end ? next : end;
};
float* in_memory = (float*)((char*)room.data + (size_t)slot * room.strides[0]);
const float* l = (const float*)((const char*)along.data + w * (size_t)along.strides[0]);
float* result = (float*)((char*)out.data + w * (size_t)out.strides[0]);
#if defined(__CUDA_ARCH__)
float* near = room_[threadIdx.x / 32 % KN_WORLDS];
if (lay(near) - near > KN_ROOM) lay(in_memory);
KN_EACH(i, 12 * nv) {  // axes are read often, and those of neighbouring dofs lie apart
    const int k = i / 6 % nv, c = i % 6;
    axes[i] = i < 6 * nv ? (&KN_AT(d.inertia.cdof, k))[c] : (&KN_AT(d.vel.cdof_dot, k))[c];
}
KN_EACH(i, nc) to[i] = 0.0f;
auto cdof_of = [&](int k) -> const float* { return axes + 6 * k; };
auto rate_of = [&](int k) -> const float* { return axes + 6 * (nv + k); };
#else
lay(in_memory);
to = result;
for (int i = 0; i < nc; ++i) to[i] = 0.0f;
auto cdof_of = [&](int k) -> const float* { return &KN_AT(d.inertia.cdof, k); };
auto rate_of = [&](int k) -> const float* { return &KN_AT(d.vel.cdof_dot, k); };
#endif
KN_EACH(i, nv) { accel[i] = KN_AT(d.frc.qacc, i); speed[i] = KN_AT(d.state.qvel, i); }
KN_SYNC();
