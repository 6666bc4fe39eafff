"""Velocities about the trees' centres of mass.

    cvel_b     = cvel_parent + sum of cdof_i qvel_i over the dofs of b
    cdof_dot_i = cvel x cdof_i, with the velocity the body had before dof i was added

The three dofs of a ball turn together, so all take the velocity before the first; the three translations of a free
joint are fixed in space, so their rate is zero.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.kinematics import BALL, FREE
from kinema.convex.model import Model
from kinema.math.spatial import angular, cross_motion, linear


@wp.func
def com_vel(m: Model, d: Data, w: int):
    """cvel and cdof_dot (mj_comVel)."""
    d.vel.cvel[w, 0] = wp.spatial_vector()
    for b in range(1, m.size.nbody):
        vel = d.vel.cvel[w, m.body.parentid[b]]
        first = m.body.jntadr[b]
        for j in range(first, first + m.body.jntnum[b]):
            i = m.jnt.dofadr[j]
            kind = m.jnt.type[j]
            if kind == FREE or kind == BALL:
                if kind == FREE:
                    for a in range(3):
                        d.vel.cdof_dot[w, i + a] = wp.spatial_vector()
                        vel += d.inertia.cdof[w, i + a] * d.state.qvel[w, i + a]
                    i += 3
                before = vel
                for a in range(3):
                    cdof = d.inertia.cdof[w, i + a]
                    d.vel.cdof_dot[w, i + a] = cross_motion(before, cdof)
                    vel += cdof * d.state.qvel[w, i + a]
            else:
                cdof = d.inertia.cdof[w, i]
                d.vel.cdof_dot[w, i] = cross_motion(vel, cdof)
                vel += cdof * d.state.qvel[w, i]
        d.vel.cvel[w, b] = vel


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
def subtree_velocity(m: Model, d: Data, w: int):
    """Linear velocity of, and angular momentum about, each subtree's com (mj_subtreeVel)."""
    nbody = m.size.nbody
    for b in range(nbody):
        v = velocity_at(d.vel.cvel[w, b], d.inertia.subtree_com[w, m.body.rootid[b]], d.pose.xipos[w, b])
        mat = d.pose.ximat[w, b]
        d.vel.subtree_linvel[w, b] = m.body.mass[w, b] * linear(v)
        spin = wp.transpose(mat) * angular(v)
        d.vel.subtree_angmom[w, b] = mat * wp.cw_mul(m.body.inertia[w, b], spin)
    for k in range(nbody):
        b = nbody - 1 - k
        if b > 0:
            p = m.body.parentid[b]
            d.vel.subtree_linvel[w, p] = d.vel.subtree_linvel[w, p] + d.vel.subtree_linvel[w, b]
        d.vel.subtree_linvel[w, b] = d.vel.subtree_linvel[w, b] / wp.max(1.0e-15, m.body.subtreemass[w, b])
    for k in range(nbody - 1):
        b = nbody - 1 - k
        p = m.body.parentid[b]
        com = d.inertia.subtree_com[w, b]
        v = velocity_at(d.vel.cvel[w, b], d.inertia.subtree_com[w, m.body.rootid[b]], d.pose.xipos[w, b])
        momentum = m.body.mass[w, b] * (linear(v) - d.vel.subtree_linvel[w, b])
        d.vel.subtree_angmom[w, b] = d.vel.subtree_angmom[w, b] + wp.cross(d.pose.xipos[w, b] - com, momentum)
        carried = m.body.subtreemass[w, b] * (d.vel.subtree_linvel[w, b] - d.vel.subtree_linvel[w, p])
        d.vel.subtree_angmom[w, p] = (
            d.vel.subtree_angmom[w, p]
            + d.vel.subtree_angmom[w, b]
            + wp.cross(com - d.inertia.subtree_com[w, p], carried)
        )
