"""Unconstrained acceleration: M qacc_smooth = qfrc_passive - qfrc_bias + qfrc_applied + qfrc_actuator + J^T xfrc."""

import warp as wp

from kinema.convex.com import wrench_about
from kinema.convex.data import Data
from kinema.convex.factor import solve_like_mass, solve_tree_like_mass, tree_dofs
from kinema.convex.model import Model
from kinema.math.spatial import angular, linear


@wp.func
def applied_force(m: Model, d: Data, w: int, i: int) -> float:
    """Force of xfrc_applied on dof i, from the bodies it moves, at their centres of mass (mj_xfrcAccumulate)."""
    sum = float(0.0)
    for b in range(m.dof.bodyid[i], m.dof.bodyend[i]):
        xfrc = d.state.xfrc_applied[w, b]  # (force, torque)
        if wp.dot(xfrc, xfrc) != 0.0:
            com = d.inertia.subtree_com[w, m.body.rootid[b]]
            wrench = wrench_about(linear(xfrc), angular(xfrc), d.pose.xipos[w, b], com)
            sum += wp.dot(d.inertia.cdof[w, i], wrench)
    return sum


@wp.func
def smooth_force(m: Model, d: Data, w: int, i: int):
    """qfrc_smooth of dof i."""
    internal = d.frc.qfrc_passive[w, i] - d.frc.qfrc_bias[w, i]
    d.frc.qfrc_smooth[w, i] = (
        internal + d.state.qfrc_applied[w, i] + d.frc.qfrc_actuator[w, i] + applied_force(m, d, w, i)
    )


@wp.func
def smooth_acceleration(m: Model, d: Data, w: int):
    """qacc_smooth = M^-1 qfrc_smooth."""
    for i in range(m.size.nv):
        d.frc.qacc_smooth[w, i] = d.frc.qfrc_smooth[w, i]
    solve_like_mass(m, d.frc.qacc_smooth, d.inertia.qLD, d.inertia.qLDiagInv, w)


@wp.func
def smooth_tree_acceleration(m: Model, d: Data, w: int, t: int):
    """`smooth_acceleration` of one tree."""
    dofs = tree_dofs(m, t)
    for i in range(dofs[0], dofs[1]):
        d.frc.qacc_smooth[w, i] = d.frc.qfrc_smooth[w, i]
    solve_tree_like_mass(m, d.frc.qacc_smooth, d.inertia.qLD, d.inertia.qLDiagInv, w, t)


@wp.func
def unconstrained(m: Model, d: Data, w: int, i: int):
    """qacc where nothing constrains the motion."""
    d.frc.qacc[w, i] = d.frc.qacc_smooth[w, i]
    d.frc.qfrc_constraint[w, i] = 0.0


@wp.func
def keep_acceleration(m: Model, d: Data, w: int, i: int):
    """Remember the acceleration as the start of the next step's solve. Forward dynamics alone leaves that alone."""
    d.state.qacc_warmstart[w, i] = d.frc.qacc[w, i]
