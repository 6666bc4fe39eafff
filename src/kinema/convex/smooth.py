"""Unconstrained acceleration: M qacc_smooth = qfrc_passive - qfrc_bias + qfrc_applied + qfrc_actuator + J^T xfrc."""

import warp as wp

from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.factor import solve_rows
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.math.spatial import angular, linear


@wp.func
def applied_wrenches(m: Model, d: Data, w: int, qfrc: wp.array2d(dtype=float)):
    """qfrc += J^T xfrc_applied, at the bodies' centres of mass (mj_xfrcAccumulate). xfrc holds (force, torque)."""
    for b in range(1, m.size.nbody):
        xfrc = d.state.xfrc_applied[w, b]
        if wp.dot(xfrc, xfrc) != 0.0:
            com = d.inertia.subtree_com[w, m.body.rootid[b]]
            project_wrench(
                qfrc, d.inertia.cdof, m.dof.parentid, w,
                last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b),
                wrench_about(linear(xfrc), angular(xfrc), d.pose.xipos[w, b], com),
            )  # fmt: skip


@wp.func
def smooth_sum(m: Model, d: Data, w: int, i: int):
    """qfrc_smooth of dof i, without wrenches on bodies."""
    d.frc.qfrc_smooth[w, i] = (
        d.frc.qfrc_passive[w, i] - d.frc.qfrc_bias[w, i] + d.state.qfrc_applied[w, i] + d.frc.qfrc_actuator[w, i]
    )


@wp.func
def smooth_wrenches(m: Model, d: Data, w: int):
    """Add the wrenches on bodies to qfrc_smooth."""
    applied_wrenches(m, d, w, d.frc.qfrc_smooth)


@wp.func
def smooth_acceleration(m: Model, d: Data, w: int):
    """qacc_smooth = M^-1 qfrc_smooth."""
    for i in range(m.size.nv):
        d.frc.qacc_smooth[w, i] = d.frc.qfrc_smooth[w, i]
    solve_rows(
        d.frc.qacc_smooth, d.inertia.qLD, d.inertia.qLDiagInv,
        m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.size.nv, w,
    )  # fmt: skip


@wp.func
def unconstrained(m: Model, d: Data, w: int):
    """qacc where nothing constrains the motion."""
    for i in range(m.size.nv):
        d.frc.qacc[w, i] = d.frc.qacc_smooth[w, i]
        d.frc.qfrc_constraint[w, i] = 0.0


@wp.func
def keep_acceleration(m: Model, d: Data, w: int):
    """Remember the acceleration as the next solve's start."""
    for i in range(m.size.nv):
        d.state.qacc_warmstart[w, i] = d.frc.qacc[w, i]
