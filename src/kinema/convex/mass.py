"""The mass matrix by composite rigid bodies, in the sparse rows MuJoCo keeps.

    crb_b  = inertia of b and its children's crb, as one body
    M_ij   = cdof_j . (crb_b(i) cdof_i)       j = i or an ancestor of i
    M_ii  += armature of the dof and of the actuators on its joint;  M += armature J^T J for tendons

About the centre of the tree, where crb and cdof are, the inertia of a wheel drowns in that of its mass at a distance,
which cancels in M_ii. So bodies are composed about the centres of their own subtrees, and the force crb cdof is found
there and then moved: sums are of things of one size.

Row i holds the ancestors of dof i from the root on, dof i itself last. `simple` dofs have that last entry only.
"""

import warp as wp

from kinema.convex.bundle import vec10
from kinema.convex.data import Data
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.math.spatial import angular, inertia_about, inertia_moved, inertia_mul, linear
from kinema.math.store import put
from kinema.math.touches import touches
from kinema.mujoco_enums import Transmission


@wp.func
def targets(trntype: int, trnid: wp.vec2i, tendon: bool, target: int) -> bool:
    """Does an actuator pull on this joint (or tendon)?"""
    if tendon:
        return trnid[0] == target and trntype == Transmission.TENDON
    return trnid[0] == target and (trntype == Transmission.JOINT or trntype == Transmission.JOINTINPARENT)


@wp.func
def actuators_on(m: Model, actuator: int) -> wp.vec2i:
    """The range of actuators to look through for a joint or tendon: -1 none, >= 0 the only one, < -1 all."""
    span = wp.vec2i(actuator, actuator + 1)
    if actuator == -1:
        span = wp.vec2i(0, 0)
    elif actuator < -1:
        span = wp.vec2i(0, m.actuator.trntype.shape[0])
    return span


@wp.func
def actuator_armature(m: Model, w: int, tendon: bool, target: int, actuator: int) -> float:
    """Rotor inertia that actuators add to a joint or tendon, seen through the gear."""
    span = actuators_on(m, actuator)
    sum = float(0.0)
    for k in range(span[0], span[1]):
        if targets(m.actuator.trntype[k], m.actuator.trnid[k], tendon, target):
            ratio = m.actuator.gear[w, m.actuator.outadr[k]][0]
            sum += m.actuator.armature[w, k] * ratio * ratio
    return sum


PROJECT = """
    const char* motion = (const char*)cdof.data + w * (size_t)cdof.strides[0];
    char* row = (char*)mat.data + w * (size_t)mat.strides[0] + start * (size_t)mat.strides[1];
    const int* col = colind.data + start;
    for (int a = 0; a < count; a++) {
        const float* c = (const float*)(motion + col[a] * (size_t)cdof.strides[1]);
        *(float*)(row + a * (size_t)mat.strides[1]) =
            force[0] * c[0] + force[1] * c[1] + force[2] * c[2] + force[3] * c[3] + force[4] * c[4] + force[5] * c[5];
    }
"""


@wp.func_native(PROJECT)
@touches(reads="cdof[w] colind", writes="mat[w]")
def project(
    mat: wp.array2d(dtype=float),
    cdof: wp.array2d(dtype=wp.spatial_vector),
    colind: wp.array(dtype=int),
    start: int,
    count: int,
    w: int,
    force: wp.spatial_vector,
):
    """mat[w, start + a] = cdof_colind[start + a] . force, for a below count; plain pointers, for speed on the CPU."""


@wp.func
def composite_inertia(m: Model, d: Data, w: int, b: int):
    """crb of one body, also about its own centre; the world has none."""
    if b == 0:
        put(d.inertia.composite, w, b, vec10())
        put(d.inertia.crb, w, b, vec10())
        return
    centre = d.inertia.subtree_com[w, b]
    offset = d.pose.xipos[w, b] - centre
    sum = inertia_about(m.body.inertia[w, b], d.pose.ximat[w, b], offset, m.body.mass[w, b])
    first = m.body.childadr[b]
    for k in range(first, first + m.body.childnum[b]):
        child = m.body.child[k]
        sum += inertia_moved(d.inertia.composite[w, child], d.inertia.subtree_com[w, child] - centre)
    put(d.inertia.composite, w, b, sum)
    put(d.inertia.crb, w, b, inertia_moved(sum, centre - d.inertia.subtree_com[w, m.body.rootid[b]]))


@wp.func
def composite_force(m: Model, d: Data, w: int, i: int) -> wp.spatial_vector:
    """crb cdof of dof i: the force, about the centre of the tree, that accelerates its subtree along it."""
    b = m.dof.bodyid[i]
    cdof = d.inertia.cdof[w, i]
    offset = d.inertia.subtree_com[w, b] - d.inertia.subtree_com[w, m.body.rootid[b]]
    there = wp.spatial_vector(angular(cdof), point_motion(cdof, offset))
    force = inertia_mul(d.inertia.composite[w, b], there)
    return wp.spatial_vector(angular(force) + wp.cross(offset, linear(force)), linear(force))


@wp.func
def mass_row(m: Model, d: Data, w: int, i: int):
    """The row of M of dof i (mj_crb)."""
    start = m.dof.M_rowadr[i]
    last = start + m.dof.M_rownnz[i] - 1
    force = composite_force(m, d, w, i)
    project(d.inertia.M, d.inertia.cdof, m.dof.M_colind, start, last - start, w, force)
    j = m.dof.jntid[i]
    armature = m.dof.armature[w, i]
    if m.jnt.actuatorid[j] != -1:
        armature += actuator_armature(m, w, False, j, m.jnt.actuatorid[j])
    d.inertia.M[w, last] = armature + wp.dot(d.inertia.cdof[w, i], force)


@wp.func
def tendon_armature(m: Model, d: Data, w: int):
    """M += armature J^T J, tendon by tendon (mj_tendonArmature). The dofs of J are sorted, as those of a row of M."""
    for t in range(m.size.ntendon):
        armature = m.tendon.armature[w, t]
        if m.tendon.actuatorid[t] != -1:
            armature += actuator_armature(m, w, True, t, m.tendon.actuatorid[t])
        if armature != 0.0:
            first = m.tendon.ten_J_rowadr[t]
            end = first + m.tendon.ten_J_rownnz[t]
            for r in range(first, end):
                i = m.tendon.ten_J_colind[r]
                scale = armature * d.ten.J[w, r]
                c = int(first)
                for a in range(m.dof.M_rowadr[i], m.dof.M_rowadr[i] + m.dof.M_rownnz[i]):
                    while c < end and m.tendon.ten_J_colind[c] < m.dof.M_colind[a]:
                        c += 1
                    if c < end and m.tendon.ten_J_colind[c] == m.dof.M_colind[a]:
                        d.inertia.M[w, a] = d.inertia.M[w, a] + scale * d.ten.J[w, c]
