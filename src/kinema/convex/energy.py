"""Energy: potential of gravity and springs, kinetic 1/2 v M v (mj_energyPos, mj_energyVel)."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.convex.passive import spring_offset
from kinema.convex.tendon import stretch
from kinema.math.quaternion import sub_quat
from kinema.mujoco_enums import Disable, Joint


@wp.func
def spring_energy(linear: float, poly: wp.vec2, x: float) -> float:
    """Integral of x k(x)."""
    return x * x * (0.5 * linear + x * (poly[0] / 3.0 + x * poly[1] / 4.0))


@wp.func
def joint_spring_energy(m: Model, d: Data, w: int, j: int) -> float:
    """Energy in the spring of joint j."""
    k0 = m.jnt.stiffness[w, j]
    poly = m.jnt.stiffnesspoly[w, j]
    sum = float(0.0)
    if k0 != 0.0 or poly[0] != 0.0 or poly[1] != 0.0:
        kind = m.jnt.type[j]
        a = m.jnt.qposadr[j]
        rest = m.jnt.plasticadr[j]
        if kind == Joint.FREE or kind == Joint.BALL:
            if kind == Joint.FREE:
                sum += spring_energy(k0, poly, wp.length(spring_offset(m, d, w, a)))
                a += 3
            quat = qpos_quat(m.jnt.qpos_spring, w, a)
            if rest >= 0 and kind == Joint.BALL:
                quat = qpos_quat(d.state.plastic, w, rest)
            sum += spring_energy(k0, poly, wp.length(sub_quat(qpos_quat(d.state.qpos, w, a), quat)))
        else:
            zero = m.jnt.qpos_spring[w, a]
            if rest >= 0:
                zero = d.state.plastic[w, rest]
            sum = spring_energy(k0, poly, d.state.qpos[w, a] - zero)
    return sum


@wp.func
def energy(m: Model, d: Data, w: int):
    """energy[0] potential, energy[1] kinetic."""
    potential = float(0.0)
    if (m.opt.disableflags & Disable.GRAVITY) == 0:
        for b in range(1, m.size.nbody):
            potential -= m.body.mass[w, b] * wp.dot(m.opt.gravity[w], d.pose.xipos[w, b])
    if (m.opt.disableflags & Disable.SPRING) == 0:
        for j in range(m.size.njnt):
            potential += joint_spring_energy(m, d, w, j)
        for t in range(m.size.ntendon):
            bounds = m.tendon.lengthspring[w, t]
            rest = m.tendon.plasticadr[t]
            if rest >= 0:
                bounds = wp.vec2(d.state.plastic[w, rest], d.state.plastic[w, rest + 1])
            x = stretch(d.ten.length[w, t], bounds[0], bounds[1])
            potential += spring_energy(m.tendon.stiffness[w, t], m.tendon.stiffnesspoly[w, t], x)
        for e in range(m.size.nflexedge):  # MuJoCo counts springs along edges of flexes, not their elasticity
            stiffness = m.flex.edgenumber[w, e][2]
            if stiffness != 0.0:
                potential += spring_energy(stiffness, wp.vec2(), d.flex.edge_length[w, e] - m.flex.edgenumber[w, e][0])
    kinetic = float(0.0)
    for i in range(m.size.nv):
        last = m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1
        row = 0.5 * d.inertia.M[w, last] * d.state.qvel[w, i]
        for a in range(m.dof.M_rowadr[i], last):
            row += d.inertia.M[w, a] * d.state.qvel[w, m.dof.M_colind[a]]
        kinetic += row * d.state.qvel[w, i]
    d.frc.energy[w, 0] = potential
    d.frc.energy[w, 1] = kinetic
