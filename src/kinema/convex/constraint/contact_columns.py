"""The columns of one contact on a CPU thread: all its rows at once, a dof at a time.

A dof moves the point of a contact, and turns its bodies, by

    p = linear + angular x (pos - com)          in the frame of the contact: F p and F angular, up to six numbers

These are one vector, an axis of the contact a lane; the edges of a pyramid, axis 0 +- mu_k axis k, are another. The
arithmetic is that of `contact_columns`, in its order; CUDA, where a lane owns columns, and duals go that way.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.math.lanes import NO_VECTORS
from kinema.math.touches import touches
from kinema.mujoco_enums import Cone


@wp.func_native(f"""
wp::vec_t<6, wp::float32> sum;
#if !({NO_VECTORS})
const int PYRAMIDAL = {int(Cone.PYRAMIDAL)};
""" + """
typedef float vec8 __attribute__((vector_size(32), aligned(4)));
const bool edges = dim > 1 && cone == PYRAMIDAL;
float* first = wp::address(J, w, r, 0);
const size_t pitch = J.strides[1] / sizeof(float);
const char* const motions = (const char*)cdof.data + w * (size_t)cdof.strides[0];
const char* const speeds = (const char*)qvel.data + w * (size_t)qvel.strides[0];
vec8 F[3] = {}, T[3] = {}, mu = {}, velocity = {};  // columns of the frame: for moves, and for turns; friction of edges
for (int j = 0; j < 3; ++j)
    for (int k = 0; k < 3; ++k) { F[j][k] = frame.data[k][j]; T[j][3 + k] = frame.data[k][j]; }
for (int k = 0; k < 4; ++k) { mu[2 * k] = friction[k]; mu[2 * k + 1] = -friction[k]; }
for (int q = 0; q < 2 && trees[q] >= 0; ++q) {
    const int from = dofadr.data[trees[q]], end = from + dofnum.data[trees[q]];
    for (int k = 0; k < rows; ++k) {
        float* row = first + k * pitch;
        for (int i = from; i < end; ++i) row[i] = 0.0f;
    }
    float x, y, z;
    int root = -1;  // motion vectors are about the centre of its bodies; the metric may take several trees as one
    for (int i = from; i < end; ++i) {
        const int body = bodyid.data[i], last = bodyend.data[i];
        const bool one = bodies[0] >= body && bodies[0] < last, two = bodies[1] >= body && bodies[1] < last;
        if (one == two) continue;  // moves neither, or both alike
        if (rootid.data[body] != root) {
            root = rootid.data[body];
            const wp::vec3 com = *wp::address(subtree_com, w, root);
            x = pos[0] - com[0]; y = pos[1] - com[1]; z = pos[2] - com[2];
        }
        const float* const c = (const float*)(motions + i * (size_t)cdof.strides[1]);
        const float sign = two ? 1.0f : -1.0f;
        const float p[3] = {
            c[3] + (c[1] * z - c[2] * y), c[4] + (c[2] * x - c[0] * z), c[5] + (c[0] * y - c[1] * x),
        };
        vec8 axis = F[0] * p[0] + F[1] * p[1] + F[2] * p[2];
        if (dim > 3) axis += T[0] * c[0] + T[1] * c[1] + T[2] * c[2];
        axis *= sign;
        velocity += axis * *(const float*)(speeds + i * (size_t)qvel.strides[1]);
        float* column = first + i;
        if (edges) {
            const vec8 more = __builtin_shufflevector(axis, axis, 1, 1, 2, 2, 3, 3, 4, 4);
            const vec8 edge = axis[0] + mu * more;
            #pragma clang loop unroll(full)
            for (int k = 0; k < 8; k += 2)
                if (k < rows) { column[0] = edge[k]; column[pitch] = edge[k + 1]; column += 2 * pitch; }
            if (dim == 6) {
                const float spin = friction[4] * axis[5];
                column[0] = axis[0] + spin;
                column[pitch] = axis[0] - spin;
            }
        } else {
            #pragma clang loop unroll(full)
            for (int k = 0; k < 6; ++k)
                if (k < dim) { *column = axis[k]; column += pitch; }
        }
    }
}
for (int k = 0; k < 6; ++k) sum[k] = velocity[k];
#endif
return sum;
""")
def put_columns(
    J: wp.array3d(dtype=float), cdof: wp.array2d(dtype=wp.spatial_vector), subtree_com: wp.array2d(dtype=wp.vec3),
    qvel: wp.array2d(dtype=float), rootid: wp.array(dtype=int), dofadr: wp.array(dtype=int),
    dofnum: wp.array(dtype=int), bodyid: wp.array(dtype=int), bodyend: wp.array(dtype=int), w: int, r: int, rows: int,
    dim: int, cone: int, bodies: wp.vec2i, trees: wp.vec2i, pos: wp.vec3, frame: wp.mat33, friction: vec5,
) -> wp.spatial_vector:  # fmt: skip
    """Write J of one contact, and return its velocity: normal, tangents, spin, rolls."""
    ...


touches(
    reads="cdof[w] subtree_com[w] qvel[w] rootid dofadr dofnum bodyid bodyend", writes="J[w]"
)(put_columns.func)
