"""Implicit in velocity: (M - h qDeriv) a = qfrc_smooth + qfrc_constraint (mj_implicit).

implicit      all of qDeriv, which is not symmetric: sparse LU in the rows of D, without fill-in
implicitfast  the symmetric part without the bias: the factor of factor.py. A free body on its own is the exception:
              its six equations are solved in full, gyroscopic terms included

    LU  for i from the last dof:  U_ji = A_ji / A_ii,  A_jk -= U_ji A_ik  over ancestors j of i and k of i
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.factor import factor_like_mass, solve_like_mass
from kinema.convex.integrate.derivatives import bias_slope, dof_slope
from kinema.convex.model import Model
from kinema.math.solve6 import solve6
from kinema.math.spatial import inertia_mul
from kinema.mujoco_enums import Joint


@wp.func
def relative(rowadr: wp.array(dtype=int), diag: wp.array(dtype=int), i: int, c: int) -> int:
    """Address in D of (i, c), for dofs of which one is the other's ancestor, or the same."""
    if c < i:
        return rowadr[i] + diag[c]
    return rowadr[i] + diag[i] + c - i


@wp.func
def factor_lu(m: Model, lu: wp.array2d(dtype=float), w: int):
    """Replace a matrix in the rows of D by L and U - 1 (mju_factorLUSparse)."""
    for r in range(m.size.nv):
        i = m.size.nv - 1 - r
        row = m.dof.D_rowadr[i]
        inv = 1.0 / lu[w, row + m.dof.D_diag[i]]
        j = m.dof.parentid[i]
        while j >= 0:
            a = relative(m.dof.D_rowadr, m.dof.D_diag, j, i)
            scale = lu[w, a] * inv
            lu[w, a] = scale
            for c in range(m.dof.D_diag[i]):
                k = relative(m.dof.D_rowadr, m.dof.D_diag, j, m.dof.D_colind[row + c])
                lu[w, k] = lu[w, k] - scale * lu[w, row + c]
            j = m.dof.parentid[j]


@wp.func
def solve_lu(m: Model, lu: wp.array2d(dtype=float), x: wp.array2d(dtype=float), w: int):
    """Replace x by the solution (mju_solveLUSparse)."""
    for r in range(m.size.nv):
        i = m.size.nv - 1 - r
        row = m.dof.D_rowadr[i]
        sum = x[w, i]
        for a in range(row + m.dof.D_diag[i] + 1, row + m.dof.D_rownnz[i]):
            sum -= lu[w, a] * x[w, m.dof.D_colind[a]]
        x[w, i] = sum
    for i in range(m.size.nv):
        row = m.dof.D_rowadr[i]
        diag = row + m.dof.D_diag[i]
        sum = x[w, i]
        for a in range(row, diag):
            sum -= lu[w, a] * x[w, m.dof.D_colind[a]]
        x[w, i] = sum / lu[w, diag]


@wp.func
def implicit_matrix(m: Model, d: Data, w: int):
    """qLU = M - h qDeriv, not yet factored."""
    h = m.opt.timestep[w]
    for a in range(m.size.nD):
        value = float(0.0)
        from_mass = m.dof.mapM2D[a]
        if from_mass >= 0:
            value = d.inertia.M[w, from_mass]
        d.inertia.qLU[w, a] = value - h * d.inertia.qDeriv[w, a]


@wp.func
def implicit(m: Model, d: Data, w: int):
    """qacc_step."""
    implicit_matrix(m, d, w)
    factor_lu(m, d.inertia.qLU, w)
    for i in range(m.size.nv):
        d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]
    solve_lu(m, d.inertia.qLU, d.scratch.qacc_step, w)


@wp.func
def free_bias_matrix(m: Model, d: Data, w: int, j: int) -> wp.spatial_matrix:
    """h d(bias)/dv of a free body on its own."""
    h = m.opt.timestep[w]
    b = m.jnt.bodyid[j]
    first = m.jnt.dofadr[j]
    six = int(6)
    crb = d.inertia.crb[w, b]
    slope = wp.spatial_matrix()
    for k in range(b, m.dof.bodyend[first]):  # the body and what is welded to it
        slope += bias_slope(d.inertia.cinert[w, k], d.vel.cvel[w, k])
    res = wp.spatial_matrix()
    for c in range(six):
        change = slope * d.inertia.cdof[w, first + c] + inertia_mul(crb, dof_slope(m, d, w, first + c))
        for r in range(six):
            res[r, c] = h * wp.dot(d.inertia.cdof[w, first + r], change)
    return res


@wp.func
def free_body_matrix(m: Model, d: Data, w: int, j: int) -> wp.spatial_matrix:
    """M - h qDeriv + h d(bias)/dv of a free body on its own."""
    h = m.opt.timestep[w]
    first = m.jnt.dofadr[j]
    six = int(6)
    res = free_bias_matrix(m, d, w, j)
    for r in range(six):
        row = m.dof.M_rowadr[first + r]
        for a in range(row, row + m.dof.M_rownnz[first + r]):
            c = m.dof.M_colind[a] - first
            res[r, c] = res[r, c] + d.inertia.M[w, a]
            if c != r:
                res[c, r] = res[c, r] + d.inertia.M[w, a]
        row = m.dof.D_rowadr[first + r]
        for a in range(row, row + m.dof.D_rownnz[first + r]):
            c = m.dof.D_colind[a] - first
            res[r, c] = res[r, c] - h * d.inertia.qDeriv[w, a]
    return res


@wp.func
def implicitfast_row(m: Model, d: Data, w: int, i: int):
    """Row i of qH = M - h qDeriv, not yet factored, and the force; rows of free bodies on their own are those of M."""
    scale = -m.opt.timestep[w]
    if m.body.alone[m.dof.bodyid[i]] != 0:
        scale = 0.0
    for a in range(m.dof.M_rowadr[i], m.dof.M_rowadr[i] + m.dof.M_rownnz[i]):
        d.inertia.qH[w, a] = d.inertia.M[w, a] + scale * d.inertia.qDeriv[w, m.dof.mapD2M[a]]
    d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]


@wp.func
def implicitfast_diagonal(m: Model, d: Data, w: int, i: int):
    """The same where qDeriv is a diagonal: what is added to that of M, and the force."""
    slope = float(0.0)
    if m.body.alone[m.dof.bodyid[i]] == 0:
        slope = -m.opt.timestep[w] * d.inertia.qDeriv[w, m.dof.D_rowadr[i] + m.dof.D_diag[i]]
    d.inertia.qHDiagInv[w, i] = slope
    d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]


@wp.func
def implicitfast_shifted(m: Model, d: Data, w: int):
    """qacc_step, from M and what is added to its diagonal."""
    factor_like_mass(m, d.inertia.M, d.inertia.qHDiagInv, True, d.inertia.qH, d.inertia.qHDiagInv, w)
    solve_like_mass(m, d.scratch.qacc_step, d.inertia.qH, d.inertia.qHDiagInv, w)


@wp.func
def implicitfast(m: Model, d: Data, w: int):
    """qacc_step."""
    factor_like_mass(m, d.inertia.qH, d.inertia.qHDiagInv, False, d.inertia.qH, d.inertia.qHDiagInv, w)
    solve_like_mass(m, d.scratch.qacc_step, d.inertia.qH, d.inertia.qHDiagInv, w)


@wp.func
def free_body(m: Model, d: Data, w: int, j: int):
    """qacc_step of a free body on its own, gyroscopic terms included."""
    if m.jnt.type[j] == Joint.FREE:
        if m.body.alone[m.jnt.bodyid[j]] != 0:
            first = m.jnt.dofadr[j]
            force = wp.spatial_vector()
            for c in range(6):
                force[c] = d.frc.qfrc_smooth[w, first + c] + d.frc.qfrc_constraint[w, first + c]
            acc = solve6(free_body_matrix(m, d, w, j), force)
            for c in range(6):
                d.scratch.qacc_step[w, first + c] = acc[c]
