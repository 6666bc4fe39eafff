"""Recursive Newton-Euler: the force that gravity and velocity ask for, tau = C(q, v), and M a + C(q, v).

    acc_b = acc_parent + cdof_dot v (+ cdof a)        the world accelerates with -gravity
    frc_b = cinert_b acc_b + cvel_b x* (cinert_b cvel_b) + sum of frc over the children of b
    tau_i = cdof_i . frc_b(i)
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.spatial import cross_force, inertia_mul

DISABLE_GRAVITY = wp.constant(1 << 7)


@wp.func
def world_acceleration(m: Model, w: int) -> wp.spatial_vector:
    """Gravity as the acceleration of the world against it."""
    if (m.opt.disableflags & DISABLE_GRAVITY) != 0:
        return wp.spatial_vector()
    return wp.spatial_vector(wp.vec3(0.0), -m.opt.gravity[w])


@wp.func
def newton_euler(m: Model, d: Data, w: int, qacc: wp.array2d(dtype=float), with_qacc: bool):
    """Leave in rne_frc the force each body's subtree needs from its parent joint (mj_rne)."""
    d.scratch.rne_acc[w, 0] = world_acceleration(m, w)
    d.scratch.rne_frc[w, 0] = wp.spatial_vector()
    for b in range(1, m.size.nbody):
        acc = d.scratch.rne_acc[w, m.body.parentid[b]]
        first = m.body.dofadr[b]
        for i in range(first, first + m.body.dofnum[b]):
            acc += d.vel.cdof_dot[w, i] * d.state.qvel[w, i]
            if with_qacc:
                acc += d.inertia.cdof[w, i] * qacc[w, i]
        d.scratch.rne_acc[w, b] = acc
        cinert = d.inertia.cinert[w, b]
        vel = d.vel.cvel[w, b]
        d.scratch.rne_frc[w, b] = inertia_mul(cinert, acc) + cross_force(vel, inertia_mul(cinert, vel))
    for k in range(m.size.nbody - 1):
        b = m.size.nbody - 1 - k
        p = m.body.parentid[b]
        if p > 0:
            d.scratch.rne_frc[w, p] = d.scratch.rne_frc[w, p] + d.scratch.rne_frc[w, b]


@wp.func
def bias_wrenches(m: Model, d: Data, w: int):
    """What bodies need for their motion without acceleration."""
    newton_euler(m, d, w, d.frc.qacc, False)


@wp.func
def bias_force(m: Model, d: Data, w: int, i: int):
    """qfrc_bias of dof i, without the part of tendon armature."""
    d.frc.qfrc_bias[w, i] = wp.dot(d.inertia.cdof[w, i], d.scratch.rne_frc[w, m.dof.bodyid[i]])
