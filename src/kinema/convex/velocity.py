"""Velocities about the trees' centres of mass.

    cvel_b     = cvel_parent + sum of cdof_i qvel_i over the dofs of b
    cdof_dot_i = cvel x cdof_i, with the velocity the body had before dof i was added

The three dofs of a ball turn together, so all take the velocity before the first; the three translations of a free
joint are fixed in space, so their rate is zero.
"""

import warp as wp

from kinema.convex.children import with_children
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.spatial import angular, cross_motion, linear
from kinema.math.store import put
from kinema.mujoco_enums import Joint


@wp.func
def com_vel(m: Model, d: Data, w: int, b: int):
    """cvel of one body and cdof_dot of its dofs (mj_comVel)."""
    if b == 0:
        put(d.vel.cvel, w, b, wp.spatial_vector())
        return
    vel = d.vel.cvel[w, m.body.parentid[b]]
    first = m.body.jntadr[b]
    for j in range(first, first + m.body.jntnum[b]):
        i = m.jnt.dofadr[j]
        kind = m.jnt.type[j]
        if kind == Joint.FREE or kind == Joint.BALL:
            if kind == Joint.FREE:
                for a in range(3):
                    put(d.vel.cdof_dot, w, i + a, wp.spatial_vector())
                    vel += d.inertia.cdof[w, i + a] * d.state.qvel[w, i + a]
                i += 3
            before = vel
            for a in range(3):
                cdof = d.inertia.cdof[w, i + a]
                put(d.vel.cdof_dot, w, i + a, cross_motion(before, cdof))
                vel += cdof * d.state.qvel[w, i + a]
        else:
            cdof = d.inertia.cdof[w, i]
            put(d.vel.cdof_dot, w, i, cross_motion(vel, cdof))
            vel += cdof * d.state.qvel[w, i]
    put(d.vel.cvel, w, b, vel)


@wp.func
def velocity_at(cvel: wp.spatial_vector, com: wp.vec3, point: wp.vec3) -> wp.spatial_vector:
    """A body's velocity moved from the tree's com to a point, in global orientation."""
    w = angular(cvel)
    return wp.spatial_vector(w, linear(cvel) + wp.cross(w, point - com))


@wp.func
def local_velocity(cvel: wp.spatial_vector, com: wp.vec3, point: wp.vec3, mat: wp.mat33) -> wp.spatial_vector:
    """The same in the orientation of a frame fixed at that point (mj_objectVelocity with flg_local)."""
    v = velocity_at(cvel, com, point)
    inverse = wp.transpose(mat)
    return wp.spatial_vector(inverse * angular(v), inverse * linear(v))


@wp.func
def com_velocity(m: Model, d: Data, w: int, b: int) -> wp.spatial_vector:
    """Velocity of a body's own centre of mass."""
    return velocity_at(d.vel.cvel[w, b], d.inertia.subtree_com[w, m.body.rootid[b]], d.pose.xipos[w, b])


@wp.func
def subtree_momentum(m: Model, d: Data, w: int, b: int):
    """Linear momentum of a body's subtree and the spin of the body itself, kept where their results go."""
    v = com_velocity(m, d, w, b)
    mat = d.pose.ximat[w, b]
    spin = wp.transpose(mat) * angular(v)
    put(d.vel.subtree_angmom, w, b, mat * wp.cw_mul(m.body.inertia[w, b], spin))
    put(d.vel.subtree_linvel, w, b, with_children(m, d.vel.subtree_linvel, w, b, m.body.mass[w, b] * linear(v)))


@wp.func
def subtree_linear(m: Model, d: Data, w: int, b: int):
    """subtree_linvel of one body."""
    put(d.vel.subtree_linvel, w, b, d.vel.subtree_linvel[w, b] / wp.max(1.0e-15, m.body.subtreemass[w, b]))


@wp.func
def subtree_angular(m: Model, d: Data, w: int, b: int):
    """subtree_angmom of one body: its children's, moved to its own subtree's com, and its own."""
    com = d.inertia.subtree_com[w, b]
    linvel = d.vel.subtree_linvel[w, b]
    sum = d.vel.subtree_angmom[w, b]
    first = m.body.childadr[b]
    for k in range(first, first + m.body.childnum[b]):
        c = m.body.child[k]
        carried = m.body.subtreemass[w, c] * (d.vel.subtree_linvel[w, c] - linvel)
        sum += d.vel.subtree_angmom[w, c]
        sum += wp.cross(d.inertia.subtree_com[w, c] - com, carried)
    if b > 0:
        momentum = m.body.mass[w, b] * (linear(com_velocity(m, d, w, b)) - linvel)
        sum += wp.cross(d.pose.xipos[w, b] - com, momentum)
    put(d.vel.subtree_angmom, w, b, sum)


def subtree_stages() -> list[Stage]:
    """Linear velocity of, and angular momentum about, each subtree's com (mj_subtreeVel)."""
    return [
        Stage(subtree_momentum, sweep="up"),
        Stage(subtree_linear, over="nbody"),
        Stage(subtree_angular, sweep="up"),
    ]
