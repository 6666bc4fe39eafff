"""Passive forces: springs, dampers, gravity compensation (mj_passive).

    spring   tau = -x k(x),  k(x) = k0 + k1 x + k2 x^2          x: displacement from the rest position
    damper   tau = -v b(v),  b(v) = b0 + b1 |v| + b2 v^2         including the dampers of actuators on the joint
    gravcomp force -gravcomp m g at each body's com

Springs that yield keep their rest position in the plastic state instead of the model. Rotations of ball and free joints
take the rotation vector from rest as x, with one stiffness for its length.
"""

import warp as wp

from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.kinematics import qpos_quat
from kinema.convex.mass import actuators_on, targets
from kinema.convex.model import Model
from kinema.math.quaternion import sub_quat
from kinema.mujoco_enums import Disable, Joint


@wp.func
def has_passive_forces(m: Model) -> bool:
    """Is there any passive force? With both springs and dampers disabled, there is none of any kind, as in MuJoCo."""
    both = Disable.SPRING | Disable.DAMPER
    return (m.opt.disableflags & both) != both


@wp.func
def stiffness_at(linear: float, poly: wp.vec2, x: float) -> float:
    """k(x) of a polynomial spring (mju_polyForce, even powers signed)."""
    return linear + x * (poly[0] + x * poly[1])


@wp.func
def stiffness_slope(linear: float, poly: wp.vec2, x: float) -> float:
    """d(x k(x))/dx."""
    return linear + x * (2.0 * poly[0] + 3.0 * x * poly[1])


@wp.func
def damping_at(linear: float, poly: wp.vec2, v: float) -> float:
    """b(v) of a polynomial damper (mju_polyForce, odd)."""
    a = wp.abs(v)
    return linear + a * (poly[0] + a * poly[1])


@wp.func
def damping_slope(linear: float, poly: wp.vec2, v: float) -> float:
    """d(v b(v))/dv (mjd_xPolyForce)."""
    a = wp.abs(v)
    return linear + a * (2.0 * poly[0] + 3.0 * a * poly[1])


@wp.func
def spring_offset(m: Model, d: Data, w: int, a: int) -> wp.vec3:
    """How far a free joint, whose coordinates begin at a, is from where its spring rests."""
    return wp.vec3(
        d.state.qpos[w, a] - m.jnt.qpos_spring[w, a],
        d.state.qpos[w, a + 1] - m.jnt.qpos_spring[w, a + 1],
        d.state.qpos[w, a + 2] - m.jnt.qpos_spring[w, a + 2],
    )


@wp.func
def actuator_damping(m: Model, w: int, tendon: bool, target: int, actuator: int) -> wp.vec3:
    """(b0, b1, b2) that actuators add to a joint or tendon, seen through the gear."""
    span = actuators_on(m, actuator)
    sum = wp.vec3(0.0)
    for k in range(span[0], span[1]):
        if targets(m.actuator.trntype[k], m.actuator.trnid[k], tendon, target):
            ratio = m.actuator.gear[w, m.actuator.outadr[k]][0]
            poly = m.actuator.dampingpoly[w, k]
            sum += ratio * ratio * wp.vec3(m.actuator.damping[w, k], poly[0], poly[1])
    return sum


@wp.func
def joint_damping(m: Model, w: int, i: int) -> wp.vec3:
    """(b0, b1, b2) of dof i, actuators included."""
    poly = m.dof.dampingpoly[w, i]
    sum = wp.vec3(m.dof.damping[w, i], poly[0], poly[1])
    j = m.dof.jntid[i]
    if m.jnt.actuatorid[j] != -1:
        sum += actuator_damping(m, w, False, j, m.jnt.actuatorid[j])
    return sum


@wp.func
def joint_spring(m: Model, d: Data, w: int, j: int):
    """qfrc_spring of one joint."""
    i = m.jnt.dofadr[j]
    kind = m.jnt.type[j]
    count = wp.where(kind == Joint.FREE, 6, wp.where(kind == Joint.BALL, 3, 1))
    for c in range(count):
        d.frc.qfrc_spring[w, i + c] = 0.0
    if (m.opt.disableflags & Disable.SPRING) == 0:
        k0 = m.jnt.stiffness[w, j]
        poly = m.jnt.stiffnesspoly[w, j]
        if k0 != 0.0 or poly[0] != 0.0 or poly[1] != 0.0:
            a = m.jnt.qposadr[j]
            rest = m.jnt.plasticadr[j]
            if kind == Joint.FREE or kind == Joint.BALL:
                if kind == Joint.FREE:
                    x = spring_offset(m, d, w, a)
                    k = stiffness_at(k0, poly, wp.length(x))
                    for c in range(3):
                        d.frc.qfrc_spring[w, i + c] = -k * x[c]
                    i += 3
                    a += 3
                quat = qpos_quat(m.jnt.qpos_spring, w, a)
                if rest >= 0 and kind == Joint.BALL:
                    quat = qpos_quat(d.state.plastic, w, rest)
                r = sub_quat(qpos_quat(d.state.qpos, w, a), quat)
                k = stiffness_at(k0, poly, wp.length(r))
                for c in range(3):
                    d.frc.qfrc_spring[w, i + c] = -k * r[c]
            else:
                zero = m.jnt.qpos_spring[w, a]
                if rest >= 0:
                    zero = d.state.plastic[w, rest]
                s = d.state.qpos[w, a] - zero
                d.frc.qfrc_spring[w, i] = -s * stiffness_at(k0, poly, s)


@wp.func
def joint_damper(m: Model, d: Data, w: int, i: int):
    """qfrc_damper of dof i, by its joint."""
    force = float(0.0)
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        b = joint_damping(m, w, i)
        v = d.state.qvel[w, i]
        force = -v * damping_at(b[0], wp.vec2(b[1], b[2]), v)
    d.frc.qfrc_damper[w, i] = force


@wp.func
def gravity_compensation(m: Model, d: Data, w: int):
    """qfrc_gravcomp."""
    for i in range(m.size.nv):
        d.frc.qfrc_gravcomp[w, i] = 0.0
    if (m.opt.disableflags & Disable.GRAVITY) == 0 and has_passive_forces(m):
        for b in range(1, m.size.nbody):
            amount = m.body.gravcomp[w, b]
            if amount != 0.0:
                force = -(m.body.mass[w, b] * amount) * m.opt.gravity[w]
                com = d.inertia.subtree_com[w, m.body.rootid[b]]
                project_wrench(
                    d.frc.qfrc_gravcomp, d.inertia.cdof, m.dof.parentid, w,
                    last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b),
                    wrench_about(wp.vec3(0.0), force, d.pose.xipos[w, b], com),
                )  # fmt: skip


@wp.func
def passive_total(m: Model, d: Data, w: int, i: int):
    """qfrc_passive of dof i: the sum."""
    sum = float(0.0)
    if has_passive_forces(m):
        sum = d.frc.qfrc_spring[w, i] + d.frc.qfrc_damper[w, i] + d.frc.qfrc_fluid[w, i] + d.frc.qfrc_adhesion[w, i]
        if m.jnt.actgravcomp[m.dof.jntid[i]] == 0:
            sum += d.frc.qfrc_gravcomp[w, i]
    d.frc.qfrc_passive[w, i] = sum
