"""What a flex must not be: MuJoCo's refusals and its warning, each where it arises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element

if TYPE_CHECKING:
    from kinema.compile.flex import Flex


def check_elasticity(f: Flex) -> None:
    """Material parameters that do not go together."""
    e, elasticity = f.e, f.child("elasticity")
    if f.row["flex_edgestiffness"] > 0 and f.dim > 1:
        raise e.error("edge stiffness is for dim=1 only: use <elasticity>")
    if f.elastic2d:
        if f.thickness <= 0:
            raise elasticity.error("2d elasticity needs a positive thickness", "thickness")
        if f.dim != 2 and not f.interpolated:
            raise elasticity.error("2d elasticity needs a flex of dim 2", "elastic2d")
    if (f.elastic2d or f.young > 0) and not 0 <= f.poisson < 0.5:
        raise elasticity.error("poisson must be in [0, 0.5)", "poisson")
    if f.row["flex_yield"].min() < 0:
        raise elasticity.error("yield cannot be negative", "yield")
    if f.row["flex_yield"][1] > 0 and (f.dim != 2 or f.interpolated):
        raise elasticity.error("a bending yield needs a flex of dim 2 without interpolation", "yield")
    if f.dim == 1 and f.row["flex_yield"].any():
        raise elasticity.error("flexes of dim 1 have no yield", "yield")
    constrained = f.row["flex_edgeequality"] and not f.rigid
    if constrained and f.young > 0 and f.dim > 1 and f.elastic2d != 1:
        raise e.error("flex constraints and elasticity (young) cannot both be present: remove one of them")
    if constrained and f.row["flex_edgestiffness"]:
        raise e.error("flex constraints and edge stiffness cannot both be present: remove one of them")


def check_attachment(c: Compilation, f: Flex) -> None:
    """Bodies that vertices or nodes cannot hang on."""
    if f.rigid:
        return
    for body in dict.fromkeys(f.nodebody if f.interpolated else f.vertbody):
        first, number = c.arrays["body_dofadr"][body], c.arrays["body_dofnum"][body]
        if number == 3 and c.arrays["dof_damping"][first : first + number].any():
            raise f.e.error(
                f"the body {c.bodies[body].name!r} of a flex cannot have joint damping: "
                "use the flex's elasticity or edge damping"
            )


def warn_where_loose(c: Compilation, f: Flex) -> None:
    """MuJoCo's warning for a flex that nothing holds together."""
    held = ("flex_edgeequality", "flex_edgestiffness", "flex_edgedamping", "flex_damping")
    if not f.rigid and not any(f.row[name] for name in held) and not len(f.row["flex_bending"]):
        c.warn(f"flex {f.e.name!r} is not rigid and has no equality constraints or passive forces", f.e)


def check_strained(c: Compilation, e: Element, flex: int, cell: np.ndarray) -> None:
    """A strain constraint is for a cell of a solid, or a face of a shell."""
