"""Writing one row: what every kind of constraint shares.

A lane group writes a row together: each lane its columns of J, the first lane the scalars. The Jacobian of a point x
of body b has in column i, for a dof whose subtree holds b,

    linear_i = cdof_lin + cdof_ang x (x - c),   angular_i = cdof_ang,   c: com of the tree of the dof

and zero elsewhere. Bodies are numbered depth first, so the subtree of a dof is a range of bodies.
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.data import Rows
from kinema.convex.model import Options
from kinema.math.impedance import (
    damping,
    impedance,
    implicit_factor,
    implicit_regularization,
    resolvable,
    safe_solimp,
    safe_solref,
    stiffness,
)
from kinema.math.spatial import angular, linear
from kinema.mujoco_enums import Constraint, Disable, Enable, Integrator


@wp.func
def geom_body(bodyid: wp.array(dtype=int), g: int) -> int:
    """The body of one side of a contact; -1: it is of a flex."""
    if g < 0:
        return -1
    return bodyid[g]


@wp.func
def holds(body: int, first: int, end: int) -> float:
    """1 when the subtree of bodies [first, end) holds the body, else 0."""
    if body >= first and body < end:
        return 1.0
    return 0.0


@wp.func
def tree_pair(a: int, b: int) -> wp.vec2i:
    """The trees of a row that acts on bodies or dofs of trees a and b; -1 is no tree."""
    if a < 0:
        return wp.vec2i(b, -1)
    if a == b:
        return wp.vec2i(a, -1)
    return wp.vec2i(a, b)


@wp.func
def point_column(cdof: wp.spatial_vector, offset: wp.vec3) -> wp.vec3:
    """Velocity of a point at offset from the com of the tree, for unit velocity of one dof."""
    return linear(cdof) + wp.cross(angular(cdof), offset)


@wp.func
def row_time(opt: Options, w: int) -> wp.vec3:
    """What rows know of the integrator: the smallest time constant it bears, the step at whose end it takes springs and
    dampers (0: at its beginning), and 1 where springs that a step cannot resolve are to be softened.

    With the safety off every time constant is borne, and nothing is softened.
    """
    safe = float(1.0)
    if opt.disableflags & Disable.REFSAFE:
        safe = 0.0
    if opt.integrator == Integrator.DISCRETE:
        return wp.vec3(0.0, opt.timestep[w], safe)
    return wp.vec3(2.0 * safe * opt.timestep[w], 0.0, 0.0)


@wp.func
def inverse_inertia(opt: Options, approximate: float) -> float:
    """The inverse inertia that a row is written for: 1 where the exact one follows (exact.py)."""
    if opt.enableflags & Enable.DIAGEXACT:
        return 1.0
    return approximate


@wp.func
def put_scalars(
    efc: Rows, w: int, r: int, kind: int, ident: int, residual: vec5, solref: wp.vec2, solimp: vec5, time: wp.vec3
):
    """Scalars of a row whose regularization is its own.

    Args:
        residual: position r, margin, friction loss, velocity J v, approximate inverse inertia.
        time: what `row_time` says.
    """
    imp_prm = safe_solimp(solimp)
    ref = safe_solref(solref, time[0])
    imp = impedance(imp_prm, residual[0] - residual[1])
    put_reference(efc, w, r, kind, ident, residual, ref, imp_prm, imp, time, 0.0)


@wp.func
def put_reference(
    efc: Rows, w: int, r: int, kind: int, ident: int, residual: vec5, ref: wp.vec2, solimp: vec5, imp: float,
    time: wp.vec3, drift: float,
):  # fmt: skip
    """Scalars of a row for a given impedance (rows of one connect or weld share theirs); drift: Jdot v."""
    k = stiffness(ref, solimp[1])
    if kind == Constraint.FRICTION_DOF or kind == Constraint.FRICTION_TENDON:
        k = 0.0
    b = damping(ref, solimp[1])
    h = time[1]
    if time[2] > 0.0 and ref[0] > 0.0 and (kind == Constraint.LIMIT_JOINT or kind == Constraint.LIMIT_TENDON):
        softened = resolvable(k, b, imp, h)
        k = softened[0]
        b = softened[1]
    factor = implicit_factor(k, b, imp, h)
    reg = implicit_regularization(imp, residual[4], factor)
    efc.type[w, r] = kind
    efc.id[w, r] = ident
    efc.pos[w, r] = residual[0]
    efc.margin[w, r] = residual[1]
    efc.frictionloss[w, r] = residual[2]
    efc.vel[w, r] = residual[3]
    efc.R[w, r] = reg
    efc.D[w, r] = 1.0 / reg
    efc.aref[w, r] = (-(b + h * k * imp) * residual[3] - k * imp * (residual[0] - residual[1]) - drift) / factor
