"""Newton's method and conjugate gradients with exact line search, one lane group a world.

Dense linear algebra is where a step spends its time, and where plain array indexing costs most, so these functions are
native code, compiled for CPU and CUDA alike: primal.cpp. On CUDA Newton's method keeps a system of at most 32 dofs in
registers (primal_warp.cpp); for that its size, rounded up, is part of the code.
"""

from functools import cache
from importlib.resources import files

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model

SMALL = 32  # dofs a warp can hold, one column a lane
ROWS_MAX = 64  # rows it can hold beside them
WARPS = 4  # warps of a block


def _source(newton: bool, columns: int) -> str:
    """The native code, with the small path laid in where it is called for."""
    folder = files("kinema.convex.solve")
    general = folder.joinpath("primal.cpp").read_text(encoding="utf-8")
    small = folder.joinpath("primal_warp.cpp").read_text(encoding="utf-8")
    sizes = {"NEWTON": int(newton), "COLUMNS": columns, "ROWS_MAX": ROWS_MAX, "WARPS": WARPS}
    defines = "".join(f"#undef KN_{name}\n#define KN_{name} {value}\n" for name, value in sizes.items())
    return defines + general.replace("#include KN_SMALL", small if columns else "")


@cache
def _newton(columns: int) -> wp.Function:
    @wp.func_native(_source(True, columns))
    def newton(m: Model, d: Data, w: int, lane: int): ...

    return newton


def newton(nv: int) -> wp.Function:
    """Newton's method for a system of nv dofs."""
    return _newton(-(-nv // 4) * 4 if 0 < nv <= SMALL else 0)


@cache
def conjugate_gradient() -> wp.Function:
    """Conjugate gradients, preconditioned by the mass matrix."""

    @wp.func_native(_source(False, 0))
    def conjugate_gradient(m: Model, d: Data, w: int, lane: int): ...

    return conjugate_gradient
