"""Semi-implicit Euler; joint damping is integrated implicitly (mj_Euler).

    (M + h B) a = qfrc_smooth + qfrc_constraint,     B = diag of d(damping force)/dv

Without damping, or with eulerdamp disabled, a is simply qacc.
"""

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.factor import (
    factor_like_mass,
    factor_tree_like_mass,
    solve_like_mass,
    solve_tree_like_mass,
    tree_dofs,
)
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, joint_damping
from kinema.math.some import is_some
from kinema.mujoco_enums import Disable


def has_damping(m) -> bool:
    """Is there damping to integrate implicitly, in any world?"""
    if m.opt.disableflags & (Disable.EULERDAMP | Disable.DAMPER):
        return False
    moved = np.asarray(m.jnt_actuatorid)[np.asarray(m.dof_jntid)] if m.nv else np.zeros(0)
    return bool(np.any(np.asarray(m.dof_damping) > 0) or np.any(m.dof_dampingpoly) or np.any(moved != -1))


@wp.func
def is_dof_damped(m: Model, w: int, i: int) -> bool:
    """Is there damping of a dof, its joint's own or of an actuator?"""
    poly = m.dof.dampingpoly[w, i]
    own = is_some(m.dof.damping[w, i]) or poly[0] != 0.0 or poly[1] != 0.0
    return own or m.jnt.actuatorid[m.dof.jntid[i]] != -1


@wp.func
def is_damped(m: Model, w: int) -> bool:
    """Is there damping to integrate implicitly?"""
    damped = bool(False)
    if (m.opt.disableflags & (Disable.EULERDAMP | Disable.DAMPER)) == 0:
        for i in range(m.size.nv):
            if is_dof_damped(m, w, i):
                damped = True
    return damped


@wp.func
def euler(m: Model, d: Data, w: int):
    """qacc_step."""
    h = m.opt.timestep[w]
    if is_damped(m, w):
        for i in range(m.size.nv):
            b = joint_damping(m, w, i)
            d.inertia.qHDiagInv[w, i] = h * damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
            d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]
        factor_like_mass(m, d.inertia.M, d.inertia.qHDiagInv, True, d.inertia.qH, d.inertia.qHDiagInv, w)
        solve_like_mass(m, d.scratch.qacc_step, d.inertia.qH, d.inertia.qHDiagInv, w)
    else:
        for i in range(m.size.nv):
            d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]


@wp.func
def euler_tree(m: Model, d: Data, w: int, t: int):
    """`euler` of one tree, in a model that has damping: whether this tree has any is not asked."""
    h = m.opt.timestep[w]
    dofs = tree_dofs(m, t)
    if (m.opt.disableflags & (Disable.EULERDAMP | Disable.DAMPER)) != 0:
        for i in range(dofs[0], dofs[1]):
            euler_undamped(m, d, w, i)
        return
    for i in range(dofs[0], dofs[1]):
        b = joint_damping(m, w, i)
        d.inertia.qHDiagInv[w, i] = h * damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
        d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]
    factor_tree_like_mass(m, d.inertia.M, d.inertia.qHDiagInv, True, d.inertia.qH, d.inertia.qHDiagInv, w, t)
    solve_tree_like_mass(m, d.scratch.qacc_step, d.inertia.qH, d.inertia.qHDiagInv, w, t)


@wp.func
def euler_undamped(m: Model, d: Data, w: int, i: int):
    """qacc_step of one dof where nothing is damped."""
    d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]
