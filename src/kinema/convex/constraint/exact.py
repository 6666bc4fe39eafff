"""The exact diagonal of the constraint-space inertia, which the flag diagexact asks for.

    A_rr = |Y_r|^2,   Y = J L^-1 D^-1/2       M = L^T D L (factor.py)

at the present pose and along the row itself, in place of a mean over directions at the initial one. The discrete
integrator has the backbone of its metric in place of M (metric.py). Rows are written as if it were 1
(`inverse_inertia`), and R, D and what adhesion adds to aref follow here: of a contact from its first row, for all.

Y_r of a row is found in scratch, from its last dof to the first: what a dof has, its ancestors lose a share of. So
only the dofs that a row acts on, and their ancestors, are visited.
"""

from functools import cache
from typing import Any

import warp as wp

from kinema.convex.data import Data
from kinema.convex.factor import tree_dofs
from kinema.convex.flex.tables import has_flexes
from kinema.convex.metric import rescale_row
from kinema.convex.metric_pattern import is_discrete
from kinema.convex.model import Model
from kinema.convex.stage import WARP_LANES, Stage, named
from kinema.math.lanes import lane_count
from kinema.mujoco_enums import Constraint, Disable, Enable


@wp.func
def pass_up(
    m: Model, y: wp.array2d(dtype=float), factor: wp.array2d(dtype=float), w: int, base: int, i: int, value: float
):
    """Take from the ancestors of dof i what it has."""
    first = m.dof.M_rowadr[i]
    for a in range(first, first + m.dof.M_rownnz[i] - 1):
        k = base + m.dof.M_colind[a]
        y[w, k] = y[w, k] - factor[w, a] * value


@wp.func
def range_square(
    m: Model, d: Data, factor: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int, r: int, base: int,
    first: int, end: int,
) -> float:  # fmt: skip
    """|Y_r|^2 of the dofs first to end - 1, which nothing couples to others."""
    y = d.scratch.whitened
    for i in range(first, end):
        y[w, base + i] = d.efc.J[w, r, i]
    sum = float(0.0)
    for k in range(end - first):
        i = end - 1 - k
        value = y[w, base + i]
        if value != 0.0:
            sum += value * value * diaginv[w, i]
            pass_up(m, y, factor, w, base, i, value)
    return sum


@wp.func
def row_square(
    m: Model, d: Data, factor: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int, r: int, base: int
) -> float:
    """|Y_r|^2 of a row that acts on one tree, two, or any."""
    trees = d.efc.trees[w, r]
    if trees[0] < 0:
        return range_square(m, d, factor, diaginv, w, r, base, 0, m.size.nv)
    dofs = tree_dofs(m, trees[0])
    sum = range_square(m, d, factor, diaginv, w, r, base, dofs[0], dofs[1])
    if trees[1] >= 0:
        dofs = tree_dofs(m, trees[1])
        sum += range_square(m, d, factor, diaginv, w, r, base, dofs[0], dofs[1])
    return sum


@wp.func
def dof_before(m: Model, d: Data, w: int, r: int, end: int) -> int:
    """Of the dofs that a row lists and their ancestors the last one before `end`; -1: there is none."""
    last = int(-1)
    for k in range(d.efc.ncol[w, r]):
        i = d.efc.col[w, r, k]
        a = m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1
        while a > m.dof.M_rowadr[i] and m.dof.M_colind[a] >= end:
            a -= 1
        if m.dof.M_colind[a] < end:
            last = wp.max(last, m.dof.M_colind[a])
    return last


@wp.func
def listed_square(
    m: Model, d: Data, factor: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), w: int, r: int, base: int
) -> float:
    """|Y_r|^2 of a row that lists its columns."""
    y = d.scratch.whitened
    for k in range(d.efc.ncol[w, r]):
        i = d.efc.col[w, r, k]
        for a in range(m.dof.M_rowadr[i], m.dof.M_rowadr[i] + m.dof.M_rownnz[i]):
            y[w, base + m.dof.M_colind[a]] = 0.0
    for k in range(d.efc.ncol[w, r]):
        i = d.efc.col[w, r, k]
        y[w, base + i] = y[w, base + i] + d.efc.J[w, r, k]
    sum = float(0.0)
    i = dof_before(m, d, w, r, m.size.nv)
    while i >= 0:
        value = y[w, base + i]
        sum += value * value * diaginv[w, i]
        pass_up(m, y, factor, w, base, i, value)
        i = dof_before(m, d, w, r, i)
    return sum


@wp.func
def follows(d: Data, w: int, r: int) -> int:
    """How many rows follow the diagonal of row r: those of a contact its first, springs (passive_contact.py) none."""
    kind = d.efc.type[w, r]
    if kind >= Constraint.CONTACT_FRICTIONLESS:
        c = d.efc.id[w, r]
        return wp.where(d.crow.address[w, c] == r, d.crow.want[w, c], 0)
    return wp.where(kind == Constraint.EQUALITY and r >= d.efc.ne[w], 0, 1)


@wp.func
def scale_row(m: Model, d: Data, w: int, r: int, head: int, square: float):
    """R, D and aref of a row that was written for an inverse inertia of 1: edges of a pyramid for 1 + mu^2."""
    written = float(1.0)
    if d.efc.type[w, r] == Constraint.CONTACT_PYRAMIDAL:
        mu = d.con.friction[w, d.efc.id[w, r]][0]
        written += mu * mu
    rescale_row(m, d, w, r, head, written, square)


@cache
def exact_rows(*, discrete: bool, listed: bool) -> wp.Function:
    """A stage: R, D and aref by the exact diagonal; lanes share out the rows.

    Args:
        discrete: The factor is that of the metric's backbone.
        listed: Rows list their columns.
    """
    square_of = listed_square if listed else row_square

    def rows(m: Model, d: Data, w: int, lane: int):
        base = lane * m.size.nv
        for r in range(lane, d.efc.nefc[w], lane_count()):
            count = follows(d, w, r)
            if count > 0:
                square = float(0.0)
                if wp.static(discrete):
                    square = wp.static(square_of)(m, d, d.inertia.qH, d.inertia.qHDiagInv, w, r, base)
                else:
                    square = wp.static(square_of)(m, d, d.inertia.qLD, d.inertia.qLDiagInv, w, r, base)
                for k in range(count):
                    scale_row(m, d, w, r + k, r, square)

    kind = ("discrete_" if discrete else "") + ("listed_" if listed else "")
    return named(rows, f"{kind}exact_rows")


def is_exact(m: Any) -> bool:
    """Do rows ask for the exact diagonal, and so for a factor?"""
    return bool(int(m.opt.enableflags) & Enable.DIAGEXACT) and not int(m.opt.disableflags) & Disable.CONSTRAINT


def stages(m: Any) -> list[Stage]:
    """Rows regularized by the exact diagonal, once they are there."""
    return [Stage(exact_rows(discrete=is_discrete(m), listed=has_flexes(m)), lanes=True)]


def sizes(m: Any, *, cuda: bool = False) -> dict[str, int]:
    """Room for a whitened row, of each lane."""
    return {"nv_exact": int(is_exact(m)) * m.nv * (WARP_LANES if cuda else 1)}
