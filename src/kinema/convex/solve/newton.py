"""Newton's method with exact line search, one lane group a world; the algorithm is in newton.cpp and newton_warp.cpp.

Dense linear algebra is where a step spends its time, and where plain array indexing costs most, so this one function
is native code, compiled for CPU and CUDA alike. On CUDA a system of at most 32 dofs keeps its matrices in registers;
for that its size, rounded up, is part of the code.
"""

from functools import cache
from importlib.resources import files

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model

SMALL = 32  # dofs a warp can hold, one column a lane
ROWS_MAX = 64  # rows it can hold beside them
WARPS = 4  # warps of a block


def _source(columns: int) -> str:
    """The native code, with the small path laid in where it is called for."""
    folder = files("kinema.convex.solve")
    general = folder.joinpath("newton.cpp").read_text(encoding="utf-8")
    small = folder.joinpath("newton_warp.cpp").read_text(encoding="utf-8")
    sizes = f"#define KN_COLUMNS {columns}\n#define KN_ROWS_MAX {ROWS_MAX}\n#define KN_WARPS {WARPS}\n"
    return sizes + general.replace("#include KN_SMALL", small if columns else "")


@cache
def newton_of(columns: int) -> wp.Function:
    @wp.func_native(_source(columns))
    def newton(m: Model, d: Data, w: int, lane: int): ...

    return newton


def newton(nv: int) -> wp.Function:
    """The solver for a system of nv dofs."""
    return newton_of(-(-nv // 4) * 4 if 0 < nv <= SMALL else 0)
