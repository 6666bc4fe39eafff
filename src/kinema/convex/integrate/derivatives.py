"""qDeriv = d(qfrc_passive + qfrc_actuator - qfrc_bias) / d qvel, in the sparse rows D of dofs and their relatives.

Forces that act on bodies are projected by composites, as the mass matrix is. cvel_b grows by cdof_c per unit of v_c for
every body b under dof c, so with I the inertia and u the velocity of a body, the bias force on b changes by

    B_b cdof_c + I_b a_c       B_b x = I_b (x x u) + x x* (I_b u) + u x* (I_b x)
                               a_c   = 2 cdof_dot_c + (turning of c's ball joint) x cdof_c

and summed over the subtree S of the deeper of two dofs i, c

    d bias_i / d v_c = cdof_i . (B_S cdof_c + crb_S a_c),      B_S: sum of B_b over S

Fluid forces add their slope F_b to -B_b. Dampers add to the diagonal, tendons and actuators J^T b J.
Row i of D: ancestors of i, i, its descendants. So (i, c) is at D_diag[c] for an ancestor c, at D_diag[i] + c - i below.

Most robots have dampers and actuators on joints of one dof and nothing else that the symmetric part asks for: there
qDeriv is a diagonal, and only that is written.
"""

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.integrate.fluid_slope import body_fluid_slope
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, has_passive_forces, joint_damping
from kinema.convex.tendon import tendon_damping
from kinema.math.spatial import cross_force, cross_motion, inertia_mul, vec10
from kinema.mujoco_enums import Disable, Integrator, Joint, Transmission


def is_diagonal(m) -> bool:
    """Has qDeriv nothing beside its diagonal, whatever the state?"""
    joints = np.isin(m.actuator_trntype, (Transmission.JOINT, Transmission.JOINTINPARENT))
    if m.opt.integrator != Integrator.IMPLICITFAST or m.ntendon or m.opt.density or m.opt.viscosity or not joints.all():
        return False
    driven = np.asarray(m.jnt_type)[np.asarray(m.actuator_trnid).reshape(-1, 2)[:, 0]] if m.nactuator else []
    return bool(np.isin(driven, (Joint.HINGE, Joint.SLIDE)).all())


@wp.func
def bias_slope(cinert: vec10, vel: wp.spatial_vector) -> wp.spatial_matrix:
    """B_b: how a body's bias force changes with its velocity."""
    momentum = inertia_mul(cinert, vel)
    six = int(6)
    res = wp.spatial_matrix()
    for c in range(six):
        x = wp.spatial_vector()
        x[c] = 1.0
        column = inertia_mul(cinert, cross_motion(x, vel)) + cross_force(x, momentum)
        column += cross_force(vel, inertia_mul(cinert, x))
        for r in range(six):
            res[r, c] = column[r]
    return res


@wp.func
def dof_slope(m: Model, d: Data, w: int, i: int) -> wp.spatial_vector:
    """a_i: how the bodies' accelerations, at rest in their own frames, change with the velocity of dof i."""
    j = m.dof.jntid[i]
    kind = m.jnt.type[j]
    slope = 2.0 * d.vel.cdof_dot[w, i]
    if kind == Joint.BALL or kind == Joint.FREE:
        first = m.jnt.dofadr[j]
        if kind == Joint.FREE:
            first += 3
        if i >= first:
            turning = wp.spatial_vector()
            for k in range(first, first + 3):
                turning += d.inertia.cdof[w, k] * d.state.qvel[w, k]
            slope += cross_motion(turning, d.inertia.cdof[w, i])
    return slope


@wp.func
def add_composites(m: Model, d: Data, w: int, with_bias: bool):
    """qDeriv += slopes of the forces on bodies, held in `scratch.body_slope`, and of the inertial part of the bias."""
    for k in range(m.size.nbody - 1):
        b = m.size.nbody - 1 - k
        p = m.body.parentid[b]
        if p > 0:
            d.scratch.body_slope[w, p] = d.scratch.body_slope[w, p] + d.scratch.body_slope[w, b]
    for i in range(m.size.nv):
        b = m.dof.bodyid[i]
        slope = d.scratch.body_slope[w, b]
        crb = d.inertia.crb[w, b]
        cdof = d.inertia.cdof[w, i]
        right = slope * cdof
        left = wp.transpose(slope) * cdof
        below = wp.spatial_vector()
        if with_bias:
            right -= inertia_mul(crb, dof_slope(m, d, w, i))
            below = inertia_mul(crb, cdof)
        row = m.dof.D_rowadr[i]
        c = int(i)
        while c >= 0:
            up = m.dof.D_rowadr[c] + m.dof.D_diag[c] + i - c
            d.inertia.qDeriv[w, up] = d.inertia.qDeriv[w, up] + wp.dot(d.inertia.cdof[w, c], right)
            if c != i:
                value = wp.dot(d.inertia.cdof[w, c], left)
                if with_bias:
                    value -= wp.dot(below, dof_slope(m, d, w, c))
                a = row + m.dof.D_diag[c]
                d.inertia.qDeriv[w, a] = d.inertia.qDeriv[w, a] + value
            c = m.dof.parentid[c]


@wp.func
def add_outer(
    mat: wp.array2d(dtype=float),
    rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int),
    colind: wp.array(dtype=int),
    jac: wp.array2d(dtype=float),
    jac_colind: wp.array(dtype=int),
    first: int,
    nnz: int,
    scale: float,
    w: int,
):
    """mat += scale J^T J for a sparse row J with sorted columns; pairs of unrelated dofs are left out, as in MuJoCo."""
    end = first + nnz
    for r in range(first, end):
        i = jac_colind[r]
        value = scale * jac[w, r]
        c = int(first)
        for a in range(rowadr[i], rowadr[i] + rownnz[i]):
            while c < end and jac_colind[c] < colind[a]:
                c += 1
            if c < end and jac_colind[c] == colind[a]:
                mat[w, a] = mat[w, a] + value * jac[w, c]


@wp.func
def damper_derivative(m: Model, d: Data, w: int, i: int):
    """Row i of qDeriv = the slope of the joint's damper, and 0."""
    row = m.dof.D_rowadr[i]
    for a in range(row, row + m.dof.D_rownnz[i]):
        d.inertia.qDeriv[w, a] = 0.0
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        b = joint_damping(m, w, i)
        slope = damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
        d.inertia.qDeriv[w, row + m.dof.D_diag[i]] = -slope


@wp.func
def damper_diagonal(m: Model, d: Data, w: int, i: int):
    """The same where qDeriv has nothing beside its diagonal, and zeros stay as they are (`is_diagonal`)."""
    slope = float(0.0)
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        b = joint_damping(m, w, i)
        slope = damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
    d.inertia.qDeriv[w, m.dof.D_rowadr[i] + m.dof.D_diag[i]] = -slope


@wp.func
def tendon_derivative(m: Model, d: Data, w: int):
    """qDeriv += the slopes of tendons' dampers."""
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        for t in range(m.size.ntendon):
            b = tendon_damping(m, w, t)
            slope = damping_slope(b[0], wp.vec2(b[1], b[2]), d.ten.velocity[w, t])
            if slope != 0.0:
                add_outer(
                    d.inertia.qDeriv, m.dof.D_rownnz, m.dof.D_rowadr, m.dof.D_colind, d.ten.J, m.tendon.ten_J_colind,
                    m.tendon.ten_J_rowadr[t], m.tendon.ten_J_rownnz[t], -slope, w,
                )  # fmt: skip


@wp.func
def fluid_derivative(m: Model, d: Data, w: int):
    """qDeriv += the slopes of fluid forces, made symmetric where the matrix to factor must be (implicitfast)."""
    if has_passive_forces(m):
        for b in range(1, m.size.nbody):
            d.scratch.body_slope[w, b] = body_fluid_slope(m, d, w, b, m.body.alone[b] == 0)
        add_composites(m, d, w, False)


@wp.func
def bias_derivative(m: Model, d: Data, w: int):
    """qDeriv -= the slopes of the bias force."""
    for b in range(1, m.size.nbody):
        d.scratch.body_slope[w, b] = -bias_slope(d.inertia.cinert[w, b], d.vel.cvel[w, b])
    add_composites(m, d, w, True)


@wp.func
def bias_and_fluid_derivative(m: Model, d: Data, w: int):
    """Both at once, in full (implicit)."""
    enabled = has_passive_forces(m)
    for b in range(1, m.size.nbody):
        slope = -bias_slope(d.inertia.cinert[w, b], d.vel.cvel[w, b])
        if enabled:
            slope += body_fluid_slope(m, d, w, b, False)
        d.scratch.body_slope[w, b] = slope
    add_composites(m, d, w, True)
