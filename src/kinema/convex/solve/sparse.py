"""Newton's method for models with flexes, conjugate gradients for all models: no dense matrix (sparse.cpp).

Flexes have thousands of dofs. Their rows list their columns (constraint/sparse.py), the mass matrix is kept in the
model's own sparse rows. What a dense solver would want for a towel of 2700 dofs, and here is not there: M in full,
29 MB a world, J in full, 29 MB; and for conjugate gradients H, another 29 MB. Newton's method keeps H in full rows, of
which it touches what is coupled. Conjugate gradients of other models take the rows as they are, in columns of trees.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.rods import chain_of
from kinema.convex.flex.tables import has_flexes
from kinema.convex.metric_pattern import is_discrete, tree_sizes
from kinema.convex.model import Model
from kinema.convex.solve import native
from kinema.convex.solve.native import CONTINUOUS, COUPLED, DISCRETE, INERTIA, MASS, RESULT, System, source
from kinema.convex.stage import WARP_LANES, Stage
from kinema.math.touches import touches
from kinema.mujoco_enums import Equality, Solver

LISTED = """
    d.efc.nefc[w] d.efc.ne[w] d.efc.nf[w] d.efc.J[w] d.efc.col[w] d.efc.ncol[w] d.efc.R[w] d.efc.frictionloss[w]
    d.efc.type[w] d.efc.id[w] d.efc.force[w] d.efc.state[w] d.crow.mu[w] d.con.dim[w] d.con.friction[w] m.tree.dofadr
    m.tree.dofnum
"""
"""What is read of rows that list their columns."""

GIVEN = """
    d.efc.D[w] d.efc.aref[w] m.dof.treeid m.opt.tolerance[w] m.opt.ls_tolerance[w] d.state.qacc_warmstart[w]
    d.frc.qacc_smooth[w]
"""
SCRATCH = """
    d.solver.root[w] d.solver.next_tree[w] d.solver.last_tree[w] d.solver.first_row[w] d.solver.next_row[w]
    d.solver.wide[w]
"""
LISTS = "d.solver.lists[w]"
MATRIX = "d.solver.H[w]"


def _of(discrete: bool, listed: bool) -> tuple[System, str, str, dict[str, Any]]:
    """The system that is solved, what of it and of rows is read, scratch, and definitions."""
    system = DISCRETE if discrete else CONTINUOUS
    whole = "m.dof.metric_full" if discrete else "m.dof.D_rowadr m.dof.D_rownnz m.dof.D_colind m.dof.mapM2D"
    scratch = f"{SCRATCH} {LISTS}" if listed else SCRATCH
    reads = f"{f'{LISTED} {COUPLED}' if listed else native.ROWS} {GIVEN} {system.reads} {INERTIA} {whole} {scratch}"
    return system, reads, scratch, {"DISCRETE": int(discrete), "LISTED": int(listed), **system.definitions}


@cache
def sparse_newton(team: int = 1, discrete: bool = False) -> wp.Function:
    """Newton's method; on CUDA by a block of so many threads."""
    _, reads, scratch, definitions = _of(discrete, True)

    @wp.func_native(source("sparse.cpp", NEWTON=1, TEAM=team, **definitions))
    @touches(reads=f"{reads} {MATRIX}", writes=f"{RESULT} {scratch} {MATRIX}")
    def sparse_newton(m: Model, d: Data, w: int, lane: int): ...

    return sparse_newton


@cache
def conjugate_gradient(team: int = 1, discrete: bool = False, listed: bool = False) -> wp.Function:
    """Conjugate gradients, preconditioned by the mass matrix; on CUDA by a block of so many threads.

    `listed`: rows list their columns.
    """
    system, reads, scratch, definitions = _of(discrete, listed)
    factor, inverse = system.factor

    @wp.func_native(source("sparse.cpp", NEWTON=0, TEAM=team, FACTOR=factor, INVERSE=inverse, **definitions))
    @touches(reads=f"{reads} {MASS} {factor}[w] {inverse}[w]", writes=f"{RESULT} {scratch}")
    def conjugate_gradient(m: Model, d: Data, w: int, lane: int): ...

    return conjugate_gradient


def is_conjugate(m: Any) -> bool:
    """Does the model ask for conjugate gradients?"""
    return int(m.opt.solver) == Solver.CG


def stage(m: Any, cuda: bool = False) -> Stage:
    """The solver the model asks for."""
    team = team_of(m) if cuda else 1
    discrete = is_discrete(m)
    solve = conjugate_gradient(team, discrete, has_flexes(m)) if is_conjugate(m) else sparse_newton(team, discrete)
    return Stage(solve, lanes=True, alone=True, threads=team if cuda else WARP_LANES)


def team_of(m: Any) -> int:
    """Threads that share a world on CUDA: about one for two dofs, in whole warps."""
    return min(1024, max(64, 1 << (int(m.nv) // 2 - 1).bit_length()))


def chain_lengths(m: Any) -> np.ndarray:
    """For each body how many dofs move it."""
    found = np.zeros(m.nbody, dtype=int)
    for body in range(1, m.nbody):
        found[body] = found[m.body_parentid[body]] + int(m.body_dofnum[body])
    return found


def widest_row(m: Any) -> int:
    """Columns that a row of a model with flexes could list."""
    chain = chain_lengths(m)
    tendons = np.asarray(m.ten_J_rownnz) if m.ntendon else np.zeros(1, int)
    wide = [3, *(2 * tendons).tolist(), *np.asarray(m.flexedge_J_rownnz).tolist()]
    bodies = int(chain[np.asarray(m.geom_bodyid)].max(initial=0))
    kinds = np.asarray(m.eq_type)
    if np.isin(kinds, (Equality.CONNECT, Equality.WELD)).any():
        bodies = max(bodies, int(chain.max()))
    sides = [bodies]
    for f in range(m.nflex):
        if m.flex_interp[f]:
            own = chain[np.asarray(m.flex_nodebodyid)[int(m.flex_nodeadr[f]) :][: int(m.flex_nodenum[f])]]
            sides.append(int(np.sort(own)[-min(len(own), 4 * (abs(int(m.flex_interp[f])) + 1) ** 3) :].sum()))
        else:
            own = chain[np.asarray(m.flex_vertbodyid)[int(m.flex_vertadr[f]) :][: int(m.flex_vertnum[f])]]
            turns = chain_of(m, f) is not None  # then the hinge of a segment bears as well
            sides.append((int(m.flex_dim[f]) + 1) * int(own.max(initial=0)) + int(turns))
    largest = sorted(sides + sides)[-2:]  # a contact has two sides, which may be of one flex
    return min(int(m.nv), max([*wide, sum(largest)]))


def sizes(m: Any, rows: int, cuda: bool = False) -> dict[str, int]:
    """Lengths of what dense and sparse solvers keep."""
    nv, vector = int(m.nv), -(-int(m.nv) // 8) * 8
    if not has_flexes(m):
        return {
            "ncolmax": nv, "nv_dense": nv, "nv_tree": int(tree_sizes(m).max(initial=0)), "nv_hessian": vector,
            "nv_vector": vector, "ntree_dense": int(m.ntree), "nwide": is_conjugate(m) * (8 * nv + 3 * rows),
            "nsparselist": 0, "nv_narrow": nv,
        }  # fmt: skip
    newton = int(m.opt.solver) == Solver.NEWTON
    columns = widest_row(m)
    return {
        "ncolmax": columns, "nv_dense": 0, "nv_tree": 0, "nv_hessian": newton * nv, "nv_vector": 0,
        "ntree_dense": 0, "nwide": 8 * nv + (3 + newton) * rows, "nv_narrow": 0,
        "nsparselist": newton * (5 * nv + rows + nv * nv // 2 + 2) + cuda * (2 * nv + 1 + rows * columns),
    }  # fmt: skip
