"""All rows of a world, in MuJoCo's order: equality, friction loss, limits, contacts."""

import numpy as np

from kinema.convex.constraint import still
from kinema.convex.constraint.contact import (
    contact_columns,
    contact_columns_in_lanes,
    contact_scalars,
    want_contact,
)
from kinema.convex.constraint.equality import anchor_rows, coupling_rows, want_equality
from kinema.convex.constraint.flex_contact import sparse_contacts, want_flex_contact
from kinema.convex.constraint.friction import (
    friction_columns,
    friction_columns_in_lanes,
    friction_scalars,
    open_dof_friction,
    open_tendon_friction,
    want_dof_friction,
    want_tendon_friction,
)
from kinema.convex.constraint.limit import (
    limit_columns,
    limit_columns_in_lanes,
    limit_scalars,
    open_joint_limit,
    open_tendon_limit,
    want_joint_limit,
    want_tendon_limit,
)
from kinema.convex.constraint.passive_contact import passive_contacts
from kinema.convex.constraint.place import place_rows
from kinema.convex.constraint.sparse import (
    shared_by,
    sparse_edges,
    sparse_equalities,
    sparse_friction,
    sparse_limits,
    sparse_strain,
    want_equality_rows,
)
from kinema.convex.flex.pairs import has_passive_contacts
from kinema.convex.flex.tables import has_flexes, is_wide
from kinema.convex.stage import LANE_BLOCK, WARP_LANES, Stage
from kinema.mujoco_enums import Disable, Equality, Joint

ROW_BLOCKS = (1, 8)
"""Blocks of threads on CUDA that share out the rows of a world with flexes, and of one with many dofs."""


def has_equalities(m) -> bool:
    """Is anything tied to anything?"""
    return not int(m.opt.disableflags) & Disable.EQUALITY and bool(m.neq)


def has_friction(m) -> bool:
    """Does any dof or tendon lose force to friction?"""
    off = int(m.opt.disableflags) & Disable.FRICTIONLOSS
    return not off and bool(np.any(m.dof_frictionloss) or np.any(m.tendon_frictionloss))


def has_limits(m) -> bool:
    """Is any joint or tendon limited?"""
    return not int(m.opt.disableflags) & Disable.LIMIT and bool(np.any(m.jnt_limited) or np.any(m.tendon_limited))


def sizes(m) -> dict[str, int]:
    """The slots of constraints other than contacts (place.py): where each kind begins, and their number."""
    friction = int(m.neq)
    limit = friction + (m.nv + m.ntendon) * has_friction(m)
    return {"slot_friction": friction, "slot_limit": limit, "nslot": limit + (m.njnt + m.ntendon) * has_limits(m)}


def stages(m, in_lanes: int = 0, *, cuda: bool = False) -> tuple[list[Stage], list[Stage]]:
    """The stages for the rows a model can have: those that give constraints their rows, and those that fill them.

    Args:
        in_lanes: So many dofs have a lane of their own; 0: they are shared out.
        cuda: Rows that list their columns are filled by blocks of threads.
    """
    if has_flexes(m):
        return sparse_stages(m, cuda=cuda)
    anchors = np.isin(np.asarray(m.eq_type), (Equality.CONNECT, Equality.WELD))
    want, name, fill = [], [], []
    if has_equalities(m):
        want.append((want_equality, "neq"))
        fill += [anchor_rows] if anchors.any() else []
        fill += [coupling_rows] if (~anchors).any() else []
    if has_friction(m):
        want += [(want_dof_friction, "nv"), (want_tendon_friction, "ntendon")]
        name += [(open_dof_friction, "nv"), (open_tendon_friction, "ntendon")]
        single = in_lanes > 0 and not np.any(m.tendon_frictionloss)
        fill += [friction_columns_in_lanes if single else friction_columns, friction_scalars]
    if has_limits(m):
        want += [(want_joint_limit, "njnt"), (want_tendon_limit, "ntendon")]
        name += [(open_joint_limit, "njnt"), (open_tendon_limit, "ntendon")]
        balls = np.asarray(m.jnt_limited).astype(bool) & (np.asarray(m.jnt_type) == Joint.BALL)
        single = in_lanes > 0 and not np.any(balls) and not np.any(m.tendon_limited)
        fill += [limit_columns_in_lanes if single else limit_columns, limit_scalars]
    count = [Stage(func, over, apart=("efc_want",)) for func, over in want]
    count += still.stages(m, has_equalities(m), has_friction(m), has_limits(m))
    if not int(m.opt.disableflags) & Disable.CONTACT:
        count.append(Stage(want_contact, "ncon"))
        fill += [contact_columns_in_lanes(in_lanes) if in_lanes else contact_columns, contact_scalars]
    name = [Stage(func, over, apart=("efc_type", "efc_id", "efc_pos", "efc_margin")) for func, over in name]
    return [*count, Stage(place_rows), *name], [Stage(func, lanes=True, blocks=6) for func in fill]


def sparse_stages(m, *, cuda: bool = False) -> tuple[list[Stage], list[Stage]]:
    """The same for models with flexes, whose rows list their columns."""
    want, name, fill, scalars = [], [], [], []
    if has_equalities(m):
        want.append((want_equality_rows, "neq"))
        flexes = np.asarray(m.eq_type) == Equality.FLEX
        fill += [sparse_equalities] if (~flexes).any() else []
        fill += [sparse_edges] if flexes.any() else []
        fill += [sparse_strain] if np.any(np.asarray(m.eq_type) == Equality.FLEXSTRAIN) else []
    if has_friction(m):
        want += [(want_dof_friction, "nv"), (want_tendon_friction, "ntendon")]
        name += [(open_dof_friction, "nv"), (open_tendon_friction, "ntendon")]
        fill += [sparse_friction]
        scalars = [Stage(friction_scalars, lanes=True, blocks=6)]
    if has_limits(m):
        want += [(want_joint_limit, "njnt"), (want_tendon_limit, "ntendon")]
        name += [(open_joint_limit, "njnt"), (open_tendon_limit, "ntendon")]
        fill += [sparse_limits]
    count = [Stage(func, over, apart=("efc_want",)) for func, over in want]
    count += still.stages(m, has_equalities(m), has_friction(m), has_limits(m))
    if not int(m.opt.disableflags) & Disable.CONTACT:
        count.append(Stage(want_flex_contact, "ncon"))
        fill += [sparse_contacts, passive_contacts] if has_passive_contacts(m) else [sparse_contacts]
    name = [Stage(func, over, apart=("efc_type", "efc_id", "efc_pos", "efc_margin")) for func, over in name]
    threads, groups = (LANE_BLOCK, ROW_BLOCKS[is_wide(m)]) if cuda else (WARP_LANES, 1)
    rows = [
        Stage(shared_by(func, threads * groups), lanes=True, threads=threads, groups=groups, blocks=6) for func in fill
    ]
    return [*count, Stage(place_rows), *name], rows + scalars
