"""Advance velocities, positions and time, given the accelerations (mj_advance).

    v' = v + h a,    q' = q (+) h v'

(+) adds on the manifold: ball and free joints turn their quaternion by h times the local angular velocity.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.quaternion import integrate
from kinema.mujoco_enums import Joint


@wp.func
def integrate_joint(
    m: Model, w: int, j: int, qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), h: float
):
    """qpos (+)= h qvel of one joint."""
    a = m.jnt.qposadr[j]
    i = m.jnt.dofadr[j]
    kind = m.jnt.type[j]
    if kind == Joint.FREE or kind == Joint.BALL:
        if kind == Joint.FREE:
            for c in range(3):
                qpos[w, a + c] = qpos[w, a + c] + h * qvel[w, i + c]
            a += 3
            i += 3
        quat = wp.vec4(qpos[w, a], qpos[w, a + 1], qpos[w, a + 2], qpos[w, a + 3])
        quat = integrate(quat, wp.vec3(qvel[w, i], qvel[w, i + 1], qvel[w, i + 2]), h)
        for c in range(4):
            qpos[w, a + c] = quat[c]
    else:
        qpos[w, a] = qpos[w, a] + h * qvel[w, i]


@wp.func
def integrate_pos(m: Model, w: int, qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), h: float):
    """qpos (+)= h qvel (mj_integratePos)."""
    for j in range(m.size.njnt):
        integrate_joint(m, w, j, qpos, qvel, h)


@wp.func
def advance_joint(m: Model, d: Data, w: int, j: int):
    """The next velocity of a joint by qacc_step, the acceleration the integrator chose, and by it the position."""
    h = m.opt.timestep[w]
    kind = m.jnt.type[j]
    first = m.jnt.dofadr[j]
    for i in range(first, first + wp.where(kind == Joint.FREE, 6, wp.where(kind == Joint.BALL, 3, 1))):
        d.state.qvel[w, i] = d.state.qvel[w, i] + h * d.scratch.qacc_step[w, i]
    integrate_joint(m, w, j, d.state.qpos, d.state.qvel, h)


@wp.func
def advance_time(m: Model, d: Data, w: int):
    d.state.time[w] = d.state.time[w] + m.opt.timestep64[w]


def stages() -> list[Stage]:
    """mj_advance."""
    return [Stage(advance_joint, over="njnt"), Stage(advance_time)]
