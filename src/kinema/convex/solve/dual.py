"""Projected Gauss-Seidel and the no-slip pass, one lane group a world: dual.cpp, native code for CPU and CUDA alike."""

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.solve.native import CONTINUOUS, DISCRETE, MASS, RESULT, ROWS, System, source
from kinema.math.touches import touches
from kinema.mujoco_enums import Solver

READS = f"""
    {ROWS} {MASS} d.efc.aref[w] m.dof.treeid
    d.crow.address[w] d.frc.qacc_smooth[w]
"""
SCRATCH = "d.dual.root[w] d.dual.isle[w] d.dual.B[w] d.dual.block[w] d.solver.Jaref[w] d.solver.acc[w]"
MOMENTUM = "d.dual.ahead[w] d.dual.order[w] d.solver.Jv[w]"


def is_dual(m) -> bool:
    """Does the model ask for a solver that works on forces?"""
    return int(m.opt.solver) == Solver.PGS or int(m.opt.noslip_iterations) > 0


def sizes(m) -> dict[str, int]:
    """Room that only these solvers need."""
    dual = int(is_dual(m))
    return {"nv_dual": dual * m.nv, "ntree_dual": dual * m.ntree, "block_dual": 6 * dual, "one_dual": dual}


def _factor(system: System) -> tuple[dict[str, str], str]:
    """What native code calls a system and its factor, and what it reads of them."""
    factor, inverse = system.factor
    lists = " ".join(f"{system.rows}{part}" for part in ("rowadr", "rownnz", "colind"))
    reads = f"{factor}[w] {inverse}[w] {system.matrix}[w] {lists}"
    names = {name: array for name, array in system.definitions.items() if name != "SMOOTH"}
    return {"FACTOR": factor, "FACTOR_INVERSE": inverse, **names}, reads


@cache
def projected_gauss_seidel(*, discrete: bool = False) -> wp.Function:
    """Forces of all rows by projected Gauss-Seidel."""
    names, factor = _factor(DISCRETE if discrete else CONTINUOUS)

    @wp.func_native(source("dual.cpp", PGS=1, **names))
    @touches(
        reads=f"{READS} {factor} {SCRATCH} {MOMENTUM} d.efc.D[w] d.state.qacc_warmstart[w] m.opt.tolerance[w]",
        writes=f"{RESULT} {SCRATCH} {MOMENTUM}",
    )
    def projected_gauss_seidel(m: Model, d: Data, w: int, lane: int): ...

    return projected_gauss_seidel


@cache
def noslip(*, discrete: bool = False) -> wp.Function:
    """Friction forces once more, without regularization."""
    names, factor = _factor(DISCRETE if discrete else CONTINUOUS)

    @wp.func_native(source("dual.cpp", PGS=0, **names))
    @touches(
        reads=f"{READS} {factor} {SCRATCH} d.solver.niter[w] m.opt.noslip_tolerance[w]",
        writes=f"{RESULT} {SCRATCH}",
    )
    def noslip(m: Model, d: Data, w: int, lane: int): ...

    return noslip
