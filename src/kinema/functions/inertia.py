"""The inertia matrix M as a whole, and products and solves with it.

M is kept as sparse rows: row i holds dof i and its ancestors (`convex.mass`). A solve factors a copy of it, L' D L
without fill-in (`convex.factor`), for on a GPU the step keeps its factor in registers.
"""

import warp as wp

from kinema.arrays import empty_worlds
from kinema.convex.bundle import bundle, data, index
from kinema.convex.factor import factor_rows, solve_rows
from kinema.convex.inverse import mul_rows
from kinema.engine import Engine


@bundle()
class Mass:
    nv: int
    M_rownnz: index()
    M_rowadr: index()
    M_colind: index()
    M: data()


@wp.kernel(enable_backward=False)
def _full(mass: Mass, full: wp.array3d(dtype=float)):
    w, i = wp.tid()
    for a in range(mass.M_rowadr[i], mass.M_rowadr[i] + mass.M_rownnz[i]):
        j = mass.M_colind[a]
        full[w, i, j] = mass.M[w, a]
        full[w, j, i] = mass.M[w, a]


@wp.kernel(enable_backward=False)
def _mul(mass: Mass, x: wp.array3d(dtype=float), y: wp.array3d(dtype=float)):
    k, w = wp.tid()
    mul_rows(y[k], mass.M, x[k], mass.M_rownnz, mass.M_rowadr, mass.M_colind, mass.nv, w)


@wp.kernel(enable_backward=False)
def _factor(mass: Mass, qLD: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float)):
    w = wp.tid()
    factor_rows(mass.M, diaginv, False, qLD, diaginv, mass.M_rownnz, mass.M_rowadr, mass.M_colind, mass.nv, w)


@wp.kernel(enable_backward=False)
def _solve(mass: Mass, qLD: wp.array2d(dtype=float), diaginv: wp.array2d(dtype=float), x: wp.array3d(dtype=float)):
    k, w = wp.tid()
    solve_rows(x[k], qLD, diaginv, mass.M_rownnz, mass.M_rowadr, mass.M_colind, mass.nv, w)


def full_inertia(engine: Engine) -> wp.array:
    """M as a dense matrix, (nworld, nv, nv)."""
    nv = engine.source.nv
    full = wp.zeros((engine.nworld, nv, nv), dtype=float, device=engine.device)
    wp.launch(_full, (engine.nworld, nv), [engine.bundle(Mass)], [full], device=engine.device)
    return full


def mul_inertia(engine: Engine, x: wp.array) -> wp.array:
    """M x, vector by vector: [n, world, nv] to the same."""
    y = wp.zeros_like(x)
    wp.launch(_mul, x.shape[:2], [engine.bundle(Mass), x], [y], device=engine.device)
    return y


def solve_inertia(engine: Engine, y: wp.array) -> wp.array:
    """The solution of M x = y, vector by vector: [n, world, nv] to the same."""
    mass, x = engine.bundle(Mass), wp.clone(y)
    qLD = empty_worlds((engine.nworld, mass.M.shape[1]), float, engine.device)
    diaginv = empty_worlds((engine.nworld, engine.source.nv), float, engine.device)
    wp.launch(_factor, engine.nworld, [mass], [qLD, diaginv], device=engine.device)
    wp.launch(_solve, x.shape[:2], [mass, qLD, diaginv], [x], device=engine.device)
    return x
