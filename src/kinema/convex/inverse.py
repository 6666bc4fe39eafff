"""Inverse dynamics: the force that makes a given acceleration (mj_inverse).

    qfrc_inverse = M qacc + qfrc_bias - qfrc_passive - J^T f(J qacc - aref)

Constraint forces f follow from the acceleration row by row, for the constraint model is convex and soft: no solver is
needed. With the enable flag `invdiscrete`, qacc is what the integrator made of it, (v' - v) / h, and is first turned
back into the acceleration of continuous time: M a = (M - h qDeriv) qacc.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.factor import solve_like_mass
from kinema.convex.integrate.implicit import free_body_matrix, implicit_matrix, implicitfast_row
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, joint_damping
from kinema.convex.solve.native import ROWS, source
from kinema.math.touches import touches
from kinema.mujoco_enums import Disable, Joint


@wp.func
def mul_rows(
    y: wp.array2d(dtype=float), mat: wp.array2d(dtype=float), x: wp.array2d(dtype=float), rownnz: wp.array(dtype=int),
    rowadr: wp.array(dtype=int), colind: wp.array(dtype=int), nv: int, w: int,
):  # fmt: skip
    """y = mat x for a symmetric matrix kept as sparse rows of its lower triangle, the diagonal last (mj_mulM)."""
    for i in range(nv):
        y[w, i] = float(0.0)
    for i in range(nv):
        last = rowadr[i] + rownnz[i] - 1
        sum = mat[w, last] * x[w, i]
        for a in range(rowadr[i], last):
            c = colind[a]
            sum += mat[w, a] * x[w, c]
            y[w, c] = y[w, c] + mat[w, a] * x[w, i]
        y[w, i] = y[w, i] + sum


@wp.func
def mul_like_mass(
    m: Model, y: wp.array2d(dtype=float), mat: wp.array2d(dtype=float), x: wp.array2d(dtype=float), w: int
):
    """`mul_rows` of a matrix that is kept as M is."""
    mul_rows(y, mat, x, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.size.nv, w)


@wp.func
def given_acceleration(m: Model, d: Data, w: int):
    """Take qacc as it is."""
    for i in range(m.size.nv):
        d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]


@wp.func
def undo_euler(m: Model, d: Data, w: int):
    """qacc_step: the acceleration before implicit damping."""
    for i in range(m.size.nv):
        d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]
    if (m.opt.disableflags & (Disable.EULERDAMP | Disable.DAMPER)) == 0:
        mul_like_mass(m, d.scratch.qacc_step, d.inertia.M, d.frc.qacc, w)
        for i in range(m.size.nv):
            b = joint_damping(m, w, i)
            slope = damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
            d.scratch.qacc_step[w, i] = d.scratch.qacc_step[w, i] + m.opt.timestep[w] * slope * d.frc.qacc[w, i]
        divide_by_mass(m, d, w)


@wp.func
def undo_implicit(m: Model, d: Data, w: int):
    """qacc_step: the acceleration before `implicit`."""
    implicit_matrix(m, d, w)
    for i in range(m.size.nv):
        sum = float(0.0)
        for a in range(m.dof.D_rowadr[i], m.dof.D_rowadr[i] + m.dof.D_rownnz[i]):
            sum += d.inertia.qLU[w, a] * d.frc.qacc[w, m.dof.D_colind[a]]
        d.scratch.qacc_step[w, i] = sum
    divide_by_mass(m, d, w)


@wp.func
def undo_implicitfast(m: Model, d: Data, w: int):
    """qacc_step: the acceleration before `implicitfast`."""
    for i in range(m.size.nv):
        implicitfast_row(m, d, w, i)
    mul_like_mass(m, d.scratch.qacc_step, d.inertia.qH, d.frc.qacc, w)
    for j in range(m.size.njnt):
        if m.jnt.type[j] == Joint.FREE:
            if m.body.alone[m.jnt.bodyid[j]] != 0:
                first = m.jnt.dofadr[j]
                acc = wp.spatial_vector()
                for c in range(6):
                    acc[c] = d.frc.qacc[w, first + c]
                force = free_body_matrix(m, d, w, j) * acc
                for c in range(6):
                    d.scratch.qacc_step[w, first + c] = force[c]
    divide_by_mass(m, d, w)


@wp.func
def divide_by_mass(m: Model, d: Data, w: int):
    """qacc_step = M^-1 qacc_step."""
    solve_like_mass(m, d.scratch.qacc_step, d.inertia.qLD, d.inertia.qLDiagInv, w)


@wp.func_native(source("row_forces.cpp"))
@touches(reads=f"{ROWS} d.efc.D[w]", writes="d.efc.force[w] d.efc.state[w]")
def row_forces(m: Model, d: Data, w: int):
    """Forces of all rows: efc.force holds their residuals, and gets their forces."""


@wp.func
def inverse_constraint(m: Model, d: Data, w: int):
    """efc_force and qfrc_constraint from the acceleration (mj_invConstraint)."""
    nefc = d.efc.nefc[w]
    for i in range(m.size.nv):
        d.frc.qfrc_constraint[w, i] = 0.0
    for r in range(nefc):
        jar = -d.efc.aref[w, r]
        for i in range(m.size.nv):
            jar += d.efc.J[w, r, i] * d.scratch.qacc_step[w, i]
        d.efc.force[w, r] = jar
    row_forces(m, d, w)
    for r in range(nefc):
        force = d.efc.force[w, r]
        if force != 0.0:
            for i in range(m.size.nv):
                d.frc.qfrc_constraint[w, i] = d.frc.qfrc_constraint[w, i] + d.efc.J[w, r, i] * force


@wp.func
def sparse_inverse_constraint(m: Model, d: Data, w: int):
    """The same of rows that list their columns (constraint/sparse.py)."""
    nefc = d.efc.nefc[w]
    for i in range(m.size.nv):
        d.frc.qfrc_constraint[w, i] = 0.0
    for r in range(nefc):
        jar = -d.efc.aref[w, r]
        for k in range(d.efc.ncol[w, r]):
            jar += d.efc.J[w, r, k] * d.scratch.qacc_step[w, d.efc.col[w, r, k]]
        d.efc.force[w, r] = jar
    row_forces(m, d, w)
    for r in range(nefc):
        force = d.efc.force[w, r]
        if force != 0.0:
            for k in range(d.efc.ncol[w, r]):
                i = d.efc.col[w, r, k]
                d.frc.qfrc_constraint[w, i] = d.frc.qfrc_constraint[w, i] + d.efc.J[w, r, k] * force


@wp.func
def no_constraint(m: Model, d: Data, w: int):
    """qfrc_constraint where there is none."""
    for i in range(m.size.nv):
        d.frc.qfrc_constraint[w, i] = 0.0


@wp.func
def inverse_force(m: Model, d: Data, w: int):
    """qfrc_inverse."""
    mul_like_mass(m, d.frc.qfrc_inverse, d.inertia.M, d.scratch.qacc_step, w)
    for i in range(m.size.nv):
        d.frc.qfrc_inverse[w, i] = (
            d.frc.qfrc_inverse[w, i]
            + d.frc.qfrc_bias[w, i]
            - d.frc.qfrc_passive[w, i]
            - d.frc.qfrc_constraint[w, i]
        )
