"""Com-based quantities: where the mass is, how bodies resist motion, how joints move them.

Everything spatial is written in the global orientation about one point per kinematic tree, the tree's centre of mass
c (subtree_com of its root). About that point

    subtree_com_b = (sum of m_i x_i over the subtree of b) / (its mass)
    cinert_b      = inertia of b about c: R diag(I) R^T + m (|r|^2 - r r^T), m r, m      with r = xipos - c
    cdof_i        = (axis, axis x (c - anchor)) for a turning dof, (0, axis) for a sliding one
"""

import warp as wp

from kinema.convex.bundle import vec10
from kinema.convex.children import with_children
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.spatial import inertia_about, motion_of_hinge, motion_of_slide
from kinema.math.store import put
from kinema.math.vector import column
from kinema.mujoco_enums import MINVAL, Joint


@wp.func
def subtree_moment(m: Model, d: Data, w: int, b: int):
    """Sum of mass times position over the subtree of one body, kept where subtree_com goes."""
    own = m.body.mass[w, b] * d.pose.xipos[w, b]
    put(d.inertia.subtree_com, w, b, with_children(m, d.inertia.subtree_com, w, b, own))


@wp.func
def subtree_centre(m: Model, d: Data, w: int, b: int):
    """subtree_com of one body."""
    mass = m.body.subtreemass[w, b]
    if mass < MINVAL:
        put(d.inertia.subtree_com, w, b, d.pose.xipos[w, b])
    else:
        put(d.inertia.subtree_com, w, b, d.inertia.subtree_com[w, b] / mass)


@wp.func
def body_inertia(m: Model, d: Data, w: int, b: int):
    """cinert of one body."""
    inertia = vec10()
    if b > 0:
        com = d.inertia.subtree_com[w, m.body.rootid[b]]
        inertia = inertia_about(
            m.body.inertia[w, b], d.pose.ximat[w, b], d.pose.xipos[w, b] - com, m.body.mass[w, b]
        )
    put(d.inertia.cinert, w, b, inertia)


@wp.func
def joint_axes(m: Model, d: Data, w: int, j: int):
    """cdof of the dofs of one joint."""
    b = m.jnt.bodyid[j]
    i = m.jnt.dofadr[j]
    kind = m.jnt.type[j]
    offset = d.inertia.subtree_com[w, m.body.rootid[b]] - d.pose.xanchor[w, j]
    if kind == Joint.FREE or kind == Joint.BALL:
        if kind == Joint.FREE:
            for a in range(3):
                axis = wp.vec3(0.0)
                axis[a] = 1.0
                put(d.inertia.cdof, w, i + a, motion_of_slide(axis))
            i += 3
        mat = d.pose.xmat[w, b]
        for a in range(3):
            put(d.inertia.cdof, w, i + a, motion_of_hinge(column(mat, a), offset))
    elif kind == Joint.SLIDE:
        put(d.inertia.cdof, w, i, motion_of_slide(d.pose.xaxis[w, j]))
    else:
        put(d.inertia.cdof, w, i, motion_of_hinge(d.pose.xaxis[w, j], offset))


@wp.func
def project_wrench(
    qfrc: wp.array2d(dtype=float),
    cdof: wp.array2d(dtype=wp.spatial_vector),
    parentid: wp.array(dtype=int),
    w: int,
    last: int,
    wrench: wp.spatial_vector,
):
    """qfrc += J^T wrench, for a (torque, force) about the tree's com on the body whose last dof is given."""
    i = int(last)
    while i >= 0:
        qfrc[w, i] = qfrc[w, i] + wp.dot(cdof[w, i], wrench)
        i = parentid[i]


@wp.func
def wrench_about(torque: wp.vec3, force: wp.vec3, point: wp.vec3, com: wp.vec3) -> wp.spatial_vector:
    """Move a force that acts at a point, and a torque, to the tree's com."""
    return wp.spatial_vector(torque + wp.cross(point - com, force), force)


def stages() -> list[Stage]:
    """mj_comPos."""
    return [
        Stage(subtree_moment, sweep="up"),
        Stage(subtree_centre, over="nbody"),
        Stage(body_inertia, over="nbody"),
        Stage(joint_axes, over="njnt"),
    ]
