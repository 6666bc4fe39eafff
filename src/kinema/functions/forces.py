"""Generalized forces: of forces at points, and those that a motion asks for.

    apply_ft     qfrc += J_p' f + J_r' t
    rne          M qacc + c(q, v) by recursive Newton-Euler, without the armature of joints, actuators and tendons:

        acc_b = acc_parent + cdof' v (+ cdof qacc)        the world accelerates with -gravity
        frc_b = cinert_b acc_b + cvel_b x* (cinert_b cvel_b) + sum of frc over the children of b
        tau_i = cdof_i . frc_b(i)
"""

import warp as wp

from kinema.arrays import empty_worlds
from kinema.convex.bundle import bundle, data, index, per_world, vec10
from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.jacobian import last_dof
from kinema.engine import Engine
from kinema.functions.jacobian import Axes, Bodies, Rates, centre
from kinema.math.spatial import cross_force, inertia_mul
from kinema.mujoco_enums import Disable


@bundle()
class Moving:
    """What recursive Newton-Euler needs besides axes."""

    nbody: int
    disableflags: int
    body_parentid: index()
    gravity: per_world(wp.vec3, kind="param")
    cinert: data(dtype=vec10)
    qvel: data()
    qacc: data()


@wp.kernel(enable_backward=False)
def _apply(
    bodies: Bodies, axes: Axes, body: wp.array(dtype=int), force: wp.array2d(dtype=wp.vec3),
    torque: wp.array2d(dtype=wp.vec3), point: wp.array2d(dtype=wp.vec3), qfrc: wp.array2d(dtype=float),
):  # fmt: skip
    w = wp.tid()
    for k in range(body.shape[0]):
        wrench = wrench_about(torque[w, k], force[w, k], point[w, k], centre(bodies, w, body[k]))
        last = last_dof(bodies.weldid, bodies.dofadr, bodies.dofnum, body[k])
        project_wrench(qfrc, axes.cdof, axes.parentid, w, last, wrench)


@wp.kernel(enable_backward=False)
def _rne(
    bodies: Bodies, axes: Axes, rates: Rates, moving: Moving, with_acceleration: int,
    acc: wp.array2d(dtype=wp.spatial_vector), frc: wp.array2d(dtype=wp.spatial_vector), tau: wp.array2d(dtype=float),
):  # fmt: skip
    w = wp.tid()
    if (moving.disableflags & Disable.GRAVITY) == 0:
        acc[w, 0] = wp.spatial_vector(wp.vec3(0.0), -moving.gravity[w])
    for b in range(1, moving.nbody):
        a = acc[w, moving.body_parentid[b]]
        for i in range(bodies.dofadr[b], bodies.dofadr[b] + bodies.dofnum[b]):
            a += rates.cdof_dot[w, i] * moving.qvel[w, i]
            if with_acceleration != 0:
                a += axes.cdof[w, i] * moving.qacc[w, i]
        acc[w, b] = a
        cinert = moving.cinert[w, b]
        vel = rates.cvel[w, b]
        frc[w, b] = inertia_mul(cinert, a) + cross_force(vel, inertia_mul(cinert, vel))
    for n in range(1, moving.nbody):
        b = moving.nbody - n
        p = moving.body_parentid[b]
        frc[w, p] = frc[w, p] + frc[w, b]
    for i in range(axes.bodyid.shape[0]):
        tau[w, i] = wp.dot(axes.cdof[w, i], frc[w, axes.bodyid[i]])


def apply_forces(
    engine: Engine, force: wp.array, torque: wp.array, point: wp.array, body: list[int], qfrc: wp.array
) -> None:
    """Add to qfrc, [world, nv], what forces and torques, [world, n], at points of bodies do."""
    inputs = [engine.bundle(Bodies), engine.bundle(Axes), wp.array(body, dtype=int, device=engine.device)]
    wp.launch(_apply, engine.nworld, [*inputs, force, torque, point], [qfrc], device=engine.device)


def newton_euler(engine: Engine, with_acceleration: bool) -> wp.array:
    """M qacc + c, or c alone, (nworld, nv)."""
    shape = (engine.nworld, engine.source.nbody)
    acc, frc = (empty_worlds(shape, wp.spatial_vector, engine.device) for _ in range(2))
    tau = wp.zeros((engine.nworld, engine.source.nv), dtype=float, device=engine.device)
    bundles = [engine.bundle(struct) for struct in (Bodies, Axes, Rates, Moving)]
    inputs = [*bundles, int(with_acceleration)]
    if engine.source.nv:
        wp.launch(_rne, engine.nworld, inputs, [acc, frc, tau], device=engine.device)
    return tau
