"""Advance velocities, positions and time, given the accelerations (mj_advance).

    v' = v + h a,    q' = q (+) h v'

(+) adds on the manifold: ball and free joints turn their quaternion by h times the local angular velocity.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.kinematics import BALL, FREE
from kinema.convex.model import Model
from kinema.math.quaternion import integrate


@wp.func
def integrate_pos(m: Model, w: int, qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), h: float):
    """qpos (+)= h qvel (mj_integratePos)."""
    for j in range(m.size.njnt):
        a = m.jnt.qposadr[j]
        i = m.jnt.dofadr[j]
        kind = m.jnt.type[j]
        if kind == FREE or kind == BALL:
            if kind == FREE:
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
def advance(m: Model, d: Data, w: int):
    """From qacc_step, the acceleration the integrator chose, to the next velocity, position and time."""
    h = m.opt.timestep[w]
    for i in range(m.size.nv):
        d.state.qvel[w, i] = d.state.qvel[w, i] + h * d.scratch.qacc_step[w, i]
        d.state.qacc_warmstart[w, i] = d.frc.qacc[w, i]
    integrate_pos(m, w, d.state.qpos, d.state.qvel, h)
    d.state.time[w] = d.state.time[w] + m.opt.timestep64[w]
