"""Runge-Kutta of order four, on the manifold of positions (mj_RungeKutta).

The recipe is run four times a step. After each evaluation F_s at the state X_s, `rk4` records it and sets the next

    X_s = X_0 (+) h A_s F_(s-1),   A = 1/2, 1/2, 1;      X = X_0 (+) h (F_0 + 2 F_1 + 2 F_2 + F_3) / 6

Orientations follow Munthe-Kaas: q = q_0 exp(r), and the angular velocity w at q is turned into the rate of r,

    dr/dt = w + r x w / 2 + c r x (r x w),      c = (1 - (x/2) cot(x/2)) / x^2,   x = |r|

without which the order for ball and free joints would be two.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.integrate.advance import integrate_pos
from kinema.convex.model import Model
from kinema.mujoco_enums import Joint


@wp.func
def rotation_rate(r: wp.vec3, w: wp.vec3) -> wp.vec3:
    """Rate of the rotation vector r when the rotated frame turns with its local angular velocity w."""
    angle = wp.length(r)
    if angle > wp.PI:  # the same orientation by the shorter turn: c is singular at full turns
        turns = wp.floor(angle / (2.0 * wp.PI) + 0.5)
        r = r * ((angle - 2.0 * wp.PI * turns) / angle)
        angle = wp.length(r)
    c = 1.0 / 12.0 + angle * angle / 720.0 + angle * angle * angle * angle / 30240.0
    if angle > 0.3:
        c = (1.0 - 0.5 * angle / wp.tan(0.5 * angle)) / (angle * angle)
    return w + 0.5 * wp.cross(r, w) + c * wp.cross(r, wp.cross(r, w))


@wp.func
def stage_size(s: int) -> float:
    """A_s: the part of the time step that leads to evaluation s."""
    if s == 3:
        return 1.0
    return 0.5


@wp.func
def stage_weight(s: int) -> float:
    """Weight of evaluation s in the step."""
    if s == 0 or s == 3:
        return 1.0 / 6.0
    return 1.0 / 3.0


@wp.func
def correct_rates(m: Model, d: Data, w: int, s: int):
    """Stage velocities, with rates of rotation vectors for ball and free joints."""
    for j in range(m.size.njnt):
        kind = m.jnt.type[j]
        i = m.jnt.dofadr[j]
        if kind == Joint.FREE or kind == Joint.BALL:
            if kind == Joint.FREE:
                for c in range(3):
                    d.rk[0].rate[w, i + c] = d.state.qvel[w, i + c]
                i += 3
            rate = wp.vec3(d.state.qvel[w, i], d.state.qvel[w, i + 1], d.state.qvel[w, i + 2])
            if s > 0:
                h = stage_size(s) * m.opt.timestep[w]
                turn = h * wp.vec3(d.rk[0].rate[w, i], d.rk[0].rate[w, i + 1], d.rk[0].rate[w, i + 2])
                rate = rotation_rate(turn, rate)
            for c in range(3):
                d.rk[0].rate[w, i + c] = rate[c]
        else:
            d.rk[0].rate[w, i] = d.state.qvel[w, i]


@wp.func
def rk4(m: Model, d: Data, w: int):
    """Take in one evaluation; set the state of the next, or after the last restore the first."""
    s = d.scratch.substep[w]
    weight = stage_weight(s)
    if s == 0:
        d.rk[0].time0[w] = d.state.time[w]
        for i in range(m.size.nq):
            d.rk[0].qpos0[w, i] = d.state.qpos[w, i]
        for i in range(m.size.nv):
            d.rk[0].of_dof[w, i, 0] = d.state.qvel[w, i]
            d.rk[0].sum_rate[w, i] = 0.0
            d.rk[0].of_dof[w, i, 1] = 0.0
        for i in range(m.size.na):
            d.rk[0].of_act[w, i, 0] = d.state.act[w, i]
            d.rk[0].of_act[w, i, 1] = 0.0
    correct_rates(m, d, w, s)
    for i in range(m.size.nv):
        d.rk[0].sum_rate[w, i] = d.rk[0].sum_rate[w, i] + weight * d.rk[0].rate[w, i]
        d.rk[0].of_dof[w, i, 1] = d.rk[0].of_dof[w, i, 1] + weight * d.frc.qacc[w, i]
    for i in range(m.size.na):
        d.rk[0].of_act[w, i, 1] = d.rk[0].of_act[w, i, 1] + weight * d.act.act_dot[w, i]

    for i in range(m.size.nq):
        d.state.qpos[w, i] = d.rk[0].qpos0[w, i]
    if s < 3:
        h = stage_size(s + 1) * m.opt.timestep[w]
        integrate_pos(m, w, d.state.qpos, d.rk[0].rate, h)
        for i in range(m.size.nv):
            d.state.qvel[w, i] = d.rk[0].of_dof[w, i, 0] + h * d.frc.qacc[w, i]
        for i in range(m.size.na):
            d.state.act[w, i] = d.rk[0].of_act[w, i, 0] + h * d.act.act_dot[w, i]
        d.state.time[w] = d.rk[0].time0[w] + wp.float64(stage_size(s + 1)) * m.opt.timestep64[w]
        d.scratch.substep[w] = s + 1
    else:
        for i in range(m.size.nv):
            d.state.qvel[w, i] = d.rk[0].of_dof[w, i, 0]
            d.state.qacc_warmstart[w, i] = d.frc.qacc[w, i]
            d.frc.qacc[w, i] = d.rk[0].of_dof[w, i, 1]
        for i in range(m.size.na):
            d.state.act[w, i] = d.rk[0].of_act[w, i, 0]
            d.act.act_dot[w, i] = d.rk[0].of_act[w, i, 1]
        d.state.time[w] = d.rk[0].time0[w]
        d.scratch.substep[w] = 0


@wp.func
def advance_rk4(m: Model, d: Data, w: int):
    """The whole step, once the four evaluations are in."""
    h = m.opt.timestep[w]
    integrate_pos(m, w, d.state.qpos, d.rk[0].sum_rate, h)
    for i in range(m.size.nv):
        d.state.qvel[w, i] = d.state.qvel[w, i] + h * d.rk[0].of_dof[w, i, 1]
    d.state.time[w] = d.state.time[w] + m.opt.timestep64[w]
