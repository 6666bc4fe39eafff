"""Projected Gauss-Seidel and the no-slip pass, one lane group a world: dual.cpp, native code for CPU and CUDA alike."""

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.tables import has_flexes
from kinema.convex.metric_pattern import is_coupled, is_discrete
from kinema.convex.model import Model
from kinema.convex.solve.native import CONTINUOUS, COUPLED, DISCRETE, INERTIA, MASS, RESULT, ROWS, source
from kinema.math.touches import touches
from kinema.mujoco_enums import Solver

READS = f"""
    {ROWS} {MASS} d.efc.aref[w] m.dof.treeid
    d.crow.address[w] d.frc.qacc_smooth[w]
"""
ISLANDS = "d.dual.root[w] d.dual.isle[w]"
BLOCKS = "d.dual.block[w]"
TREES = "d.dual.B[w] d.solver.Jaref[w] d.solver.acc[w]"
COLUMNS = "d.solver.wide[w]"
MOMENTUM = "d.dual.ahead[w]"
LISTED = f"d.efc.col[w] d.efc.ncol[w] {COUPLED}"
FOUND = "d.frc.qacc[w] d.frc.qfrc_constraint[w] m.opt.tolerance[w]"
"""What the solver before has found, and how well."""


def is_dual(m) -> bool:
    """Does the model ask for a solver that works on forces?"""
    return int(m.opt.solver) == Solver.PGS or int(m.opt.noslip_iterations) > 0


def kinds(m) -> dict[str, bool]:
    """Which no-slip pass a model has."""
    at_once = is_discrete(m)
    return {"discrete": at_once, "sparse": has_flexes(m), "coupled": at_once and is_coupled(m)}


def sizes(m) -> dict[str, int]:
    """Room that only these solvers need."""
    dual = int(is_dual(m))
    return {
        "nv_dual": 0 if has_flexes(m) else dual * m.nv, "ntree_dual": dual * m.ntree, "block_dual": 6 * dual,
        "one_dual": dual, "two_dual": 2 * dual,
    }  # fmt: skip


def _parts(discrete: bool, sparse: bool) -> tuple[dict[str, int | str], str, str]:
    """Definitions of native code, what it reads of the system, its factor and rows, and its scratch."""
    system = DISCRETE if discrete else CONTINUOUS
    factor, inverse = system.factor
    matrix = {name: array for name, array in system.definitions.items() if name != "SMOOTH"}
    kind = {"SPARSE": int(sparse), "REPEAT": 0}
    names: dict[str, int | str] = {"FACTOR": factor, "FACTOR_INVERSE": inverse, **kind, **matrix}
    lists = " ".join(f"{system.rows}{part}" for part in ("rowadr", "rownnz", "colind"))
    reads = f"{READS} {factor}[w] {inverse}[w] {system.matrix}[w] {lists} {INERTIA} {LISTED if sparse else ''}"
    return names, reads, f"{BLOCKS} {COLUMNS if sparse else TREES}"


@cache
def projected_gauss_seidel(*, discrete: bool = False, sparse: bool = False) -> wp.Function:
    """Forces of all rows by projected Gauss-Seidel; `sparse`: rows list their columns."""
    names, reads, scratch = _parts(discrete, sparse)
    scratch += f" {ISLANDS} {MOMENTUM} {'' if sparse else 'd.solver.Jv[w]'}"

    @wp.func_native(source("dual.cpp", PGS=1, **names))
    @touches(
        reads=f"{reads} {scratch} d.efc.D[w] d.state.qacc_warmstart[w] m.opt.tolerance[w]",
        writes=f"{RESULT} {scratch}",
    )
    def projected_gauss_seidel(m: Model, d: Data, w: int, lane: int): ...

    return projected_gauss_seidel


@cache
def noslip(
    *, discrete: bool = False, sparse: bool = False, coupled: bool = False, repeat: bool = False
) -> wp.Function:
    """Friction forces once more, without regularization.

    Args:
        discrete: In the metric of the discrete integrator.
        sparse: Rows list their columns.
        coupled: The metric has more than its factor, so that forces must be added up to start from.
        repeat: In dual numbers, after a pass in plain ones: the same islands and sweeps.
    """
    names, reads, scratch = _parts(discrete, sparse)
    given = not sparse and not coupled
    names |= {"REPEAT": int(repeat), "GIVEN": int(given)}
    reads += f" {scratch} {ISLANDS} {FOUND if given else ''}"
    writes = f"{RESULT} {scratch}"
    if repeat:
        writes = writes.replace("d.solver.niter[w]", "")
    else:
        reads += f" d.solver.niter[w] m.opt.noslip_tolerance[w] {'' if sparse else 'd.frc.qacc[w]'}"
        writes += f" {ISLANDS} {'' if sparse else 'd.dual.start[w]'}"

    @wp.func_native(source("dual.cpp", PGS=0, **names))
    @touches(reads=reads, writes=writes)
    def noslip(m: Model, d: Data, w: int, lane: int): ...

    return noslip
