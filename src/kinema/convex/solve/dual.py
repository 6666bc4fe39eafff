"""Projected Gauss-Seidel and the no-slip pass, one lane group a world: dual.cpp, native code for CPU and CUDA alike."""

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.solve.native import source

PGS = 0  # of mjtSolver


def is_dual(m) -> bool:
    """Does the model ask for a solver that works on forces?"""
    return int(m.opt.solver) == PGS or int(m.opt.noslip_iterations) > 0


def sizes(m) -> dict[str, int]:
    """Room that only these solvers need."""
    dual = int(is_dual(m))
    return {"nv_dual": dual * m.nv, "block_dual": 6 * dual, "one_dual": dual}


@cache
def projected_gauss_seidel() -> wp.Function:
    """Forces of all rows by projected Gauss-Seidel."""

    @wp.func_native(source("dual.cpp", PGS=1))
    def projected_gauss_seidel(m: Model, d: Data, w: int, lane: int): ...

    return projected_gauss_seidel


@cache
def noslip() -> wp.Function:
    """Friction forces once more, without regularization."""

    @wp.func_native(source("dual.cpp", PGS=0))
    def noslip(m: Model, d: Data, w: int, lane: int): ...

    return noslip
