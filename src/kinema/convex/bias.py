"""Recursive Newton-Euler: the force that gravity and velocity ask for, tau = C(q, v), and M a + C(q, v).

    acc_b = acc_parent + cdof_dot v (+ cdof a)        the world accelerates with -gravity
    frc_b = cinert_b acc_b + cvel_b x* (cinert_b cvel_b) + sum of frc over the children of b
    tau_i = cdof_i . frc_b(i)
"""

import warp as wp

from kinema.convex.children import with_children
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.spatial import cross_force, inertia_mul
from kinema.math.store import put
from kinema.mujoco_enums import Disable


@wp.func
def world_acceleration(m: Model, w: int) -> wp.spatial_vector:
    """Gravity as the acceleration of the world against it."""
    if (m.opt.disableflags & Disable.GRAVITY) != 0:
        return wp.spatial_vector()
    return wp.spatial_vector(wp.vec3(0.0), -m.opt.gravity[w])


@wp.func
def body_force(m: Model, d: Data, w: int, b: int):
    """Acceleration of one body without that of the dofs, and the force that this motion needs (mj_rne)."""
    if b == 0:
        put(d.scratch.rne_acc, w, b, world_acceleration(m, w))
        put(d.scratch.rne_frc, w, b, wp.spatial_vector())
        return
    acc = d.scratch.rne_acc[w, m.body.parentid[b]]
    first = m.body.dofadr[b]
    for i in range(first, first + m.body.dofnum[b]):
        acc += d.vel.cdof_dot[w, i] * d.state.qvel[w, i]
    cinert = d.inertia.cinert[w, b]
    vel = d.vel.cvel[w, b]
    put(d.scratch.rne_acc, w, b, acc)
    put(d.scratch.rne_frc, w, b, inertia_mul(cinert, acc) + cross_force(vel, inertia_mul(cinert, vel)))


@wp.func
def subtree_force(m: Model, d: Data, w: int, b: int):
    """The force that the subtree of one body needs from its parent joint."""
    if b > 0:
        put(d.scratch.rne_frc, w, b, with_children(m, d.scratch.rne_frc, w, b, d.scratch.rne_frc[w, b]))


@wp.func
def bias_force(m: Model, d: Data, w: int, i: int):
    """qfrc_bias of dof i, without the part of tendon armature."""
    d.frc.qfrc_bias[w, i] = wp.dot(d.inertia.cdof[w, i], d.scratch.rne_frc[w, m.dof.bodyid[i]])
