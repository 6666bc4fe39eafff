"""Advance velocities, positions, plastic rest positions and time, given the accelerations (mj_advance).

    v' = v + h a,    q' = q (+) h v'

(+) adds on the manifold: ball and free joints turn their quaternion by h times the local angular velocity.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.kinematics import BALL, FREE, qpos_quat
from kinema.convex.model import Model
from kinema.math.quaternion import integrate, sub_quat


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


@wp.func
def yield_springs(m: Model, d: Data, w: int):
    """Springs stretched beyond their yield take their rest position along; runs after `advance`."""
    h = m.opt.timestep[w]
    for j in range(m.size.njnt):
        rest = m.jnt.plasticadr[j]
        if rest >= 0:
            limit = wp.max(0.0, m.jnt.springyield[w, j])
            a = m.jnt.qposadr[j]
            if m.jnt.type[j] == BALL:
                zero = wp.vec4(
                    d.state.plastic[w, rest],
                    d.state.plastic[w, rest + 1],
                    d.state.plastic[w, rest + 2],
                    d.state.plastic[w, rest + 3],
                )
                turn = sub_quat(qpos_quat(d.state.qpos, w, a), zero)
                angle = wp.length(turn)
                if angle > limit:
                    zero = integrate(zero, turn, (angle - limit) / angle)
                    for c in range(4):
                        d.state.plastic[w, rest + c] = zero[c]
            else:
                q = d.state.qpos[w, a]
                d.state.plastic[w, rest] = wp.clamp(d.state.plastic[w, rest], q - limit, q + limit)
    for t in range(m.size.ntendon):
        rest = m.tendon.plasticadr[t]
        if rest >= 0:
            yield_tendon(m, d, w, t, rest, h)


@wp.func
def yield_tendon(m: Model, d: Data, w: int, t: int, rest: int, h: float):
    """The slack range of a tendon's spring follows the length it will have after the step."""
    limit = wp.max(0.0, m.tendon.springyield[w, t])
    first = m.tendon.adr[t]
    length = float(0.0)
    if m.tendon.wrap_type[first] == WRAP_JOINT:
        for k in range(first, first + m.tendon.num[t]):
            length += m.tendon.wrap_prm[w, k] * d.state.qpos[w, m.jnt.qposadr[m.tendon.wrap_objid[k]]]
    else:
        rate = float(0.0)
        row = m.tendon.ten_J_rowadr[t]
        for a in range(row, row + m.tendon.ten_J_rownnz[t]):
            rate += d.ten.J[w, a] * d.state.qvel[w, m.tendon.ten_J_colind[a]]
        length = d.ten.length[w, t] + h * rate
    lower = d.state.plastic[w, rest]
    upper = d.state.plastic[w, rest + 1]
    if length - upper > limit:
        shift = length - upper - limit
        if lower != 0.0 or upper <= 0.0:  # a lower end at zero is none: a cable that only pulls
            d.state.plastic[w, rest] = lower + shift
        d.state.plastic[w, rest + 1] = upper + shift
    elif lower - length > limit:
        shift = lower - length - limit
        d.state.plastic[w, rest] = lower - shift
        d.state.plastic[w, rest + 1] = upper - shift


WRAP_JOINT = wp.constant(1)
