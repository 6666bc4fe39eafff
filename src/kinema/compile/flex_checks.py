"""What a flex must not be: MuJoCo's refusals and its warning, each where it arises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.flex_cells import idle_nodes
from kinema.mujoco_enums import Integrator, Solver

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
    a, bodies = c.arrays, list(dict.fromkeys(f.nodebody if f.interpolated else f.vertbody))
    for body in bodies:
        dofs = slice(a["body_dofadr"][body], a["body_dofadr"][body] + a["body_dofnum"][body])
        joints = slice(a["body_jntadr"][body], a["body_jntadr"][body] + a["body_jntnum"][body])
        damping = a["dof_damping"][dofs], a["dof_dampingpoly"][dofs], c.scratch["springdamper"][joints]
        if a["body_dofnum"][body] == 3 and any(map(np.any, damping)):
            raise f.e.error(
                f"the body {c.bodies[body].name!r} of a flex cannot have joint damping: "
                "use the flex's elasticity or edge damping"
            )
    still = f.dim == 1 and not f.row["flex_damping"]
    if f.young > 0 and not f.interpolated and not still:
        for body in bodies:
            held = int(body)
            while held:  # through slides as well
                if a["body_mocapid"][held] >= 0:
                    raise f.e.error(f"an elastic flex cannot hang on the mocap body {c.bodies[held].name!r}")
                held = int(a["body_parentid"][held])


def check_pins(c: Compilation, f: Flex) -> None:
    """Where nothing is pinned, what carries the bodies must not move; nodes that move nothing do not count."""
    if f.rigid:
        return
    a, bodies = c.arrays, np.array(f.nodebody if f.interpolated else f.vertbody)
    slides = (a["body_dofnum"][bodies] == 3) & (a["body_jntnum"][bodies] == 3)
    slides &= ~np.isin(bodies, a["body_parentid"][bodies])  # what carries others is what they are pinned to
    if slides.all() or (f.interpolated and slides.any() and not (~slides & ~idle_nodes(f)).any()):
        for body in dict.fromkeys(bodies[slides].tolist()):
            _check_ancestors(c, f, int(a["body_parentid"][body]))


def _check_ancestors(c: Compilation, f: Flex, body: int) -> None:
    while body > 0:
        if c.arrays["body_jntnum"][body]:
            raise f.e.error(
                f"body {c.bodies[body].name!r} has joints, but no vertex or node of the flex is pinned to it: "
                "remove its joints or pin one"
            )
        body = int(c.arrays["body_parentid"][body])


def check_options(c: Compilation, f: Flex) -> None:
    """Integrators and solvers that do not go with what the flex asks for."""
    if f.rigid:
        return
    integrator, discrete = c.option["integrator"], c.option["integrator"] == Integrator.DISCRETE
    elastic = f.young > 0 and bool(np.any(f.row["flex_stiffness"]) or len(f.row["flex_bending"]))
    passive = f.row["flex_passive"] and f.dim > 1
    if passive and not discrete:
        raise f.e.error("passive contact of a flex needs integrator='discrete'")
    if elastic and integrator in (Integrator.IMPLICIT, Integrator.IMPLICITFAST):
        raise f.e.error("elasticity of a flex needs integrator='discrete', or Euler or RK4 with a small timestep")
    if discrete and (f.row["flex_edgestiffness"] or f.row["flex_edgedamping"]):
        raise f.e.error("integrator='discrete' takes no edge stiffness or damping: use <elasticity> or edge equality")
    if discrete and (elastic or passive):
        if c.option["solver"] == Solver.PGS or c.option["noslip_iterations"] > 0:
            raise f.e.error("an elastic flex with integrator='discrete' needs the solver CG or Newton, and no noslip")


def warn_where_loose(c: Compilation, f: Flex) -> None:
    """MuJoCo's warning for a flex that nothing holds together."""
    held = ("flex_edgeequality", "flex_edgestiffness", "flex_edgedamping", "flex_damping")
    if not f.rigid and not any(f.row[name] for name in held) and not len(f.row["flex_bending"]):
        c.warn(f"flex {f.e.name!r} is not rigid and has no equality constraints or passive forces", f.e)


def check_strained(c: Compilation, e: Element, flex: int, cell: np.ndarray) -> None:
    """A strain constraint is for a cell of a solid, or a face of a shell."""
    name, interp = e.reference("flex", "flex"), int(c.arrays["flex_interp"][flex])
    if not interp:
        raise e.error(f"strain can only be held of a flex with trilinear or quadratic dofs, which {name!r} has not")
    x, y, z = c.arrays["flex_cellnum"][flex].tolist()
    if (interp < 0) != (cell[1] < 0):
        wanted = "the number of a face, -1 and -1" if interp < 0 else "three lattice coordinates"
        raise e.error(f"cell of flex {name!r} must be {wanted}", "cell")
    most = (2 * (y * z + x * z + x * y),) if interp < 0 else (x, y, z)
    if any(not 0 <= value < limit for value, limit in zip(cell.tolist(), most, strict=False)):
        raise e.error(f"flex {name!r} has no such cell: it has {x} x {y} x {z}", "cell")
