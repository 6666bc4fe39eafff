"""Newton's method and conjugate gradients with exact line search, one lane group a world.

Dense linear algebra is where a step spends its time, and where plain array indexing costs most, so these functions are
native code, compiled for CPU and CUDA alike: primal.cpp. On CUDA Newton's method keeps a system of at most 32 dofs in
registers (primal_warp.cpp); for that its size, rounded up, is part of the code.
"""

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.solve.native import MASS, RESULT, ROWS, source
from kinema.math.touches import touches

SMALL = 32  # dofs a warp can hold, one column a lane
ROWS_MAX = 64  # rows it can hold beside them
WARPS = 4  # warps of a block

READS = f"""
    {ROWS} {MASS} d.efc.D[w] m.dof.treeid m.opt.tolerance[w] m.opt.ls_tolerance[w] m.opt.meaninertia[w] d.inertia.M[w]
    d.state.qacc_warmstart[w] d.frc.qacc_smooth[w] d.frc.qfrc_smooth[w]
"""
SCRATCH = """
    d.solver.fullM[w] d.solver.H[w] d.solver.cone[w] d.solver.pattern[w] d.solver.root[w] d.solver.next_tree[w]
    d.solver.last_tree[w] d.solver.first_row[w] d.solver.next_row[w] d.solver.acc[w] d.solver.Ma[w] d.solver.Mv[w]
    d.solver.grad[w] d.solver.search[w] d.solver.Jaref[w] d.solver.Jv[w]
"""
CONJUGATE = "d.solver.grad_last[w] d.solver.Mgrad[w] d.solver.Mgrad_last[w]"


@cache
def _newton(columns: int) -> wp.Function:
    @wp.func_native(source("primal.cpp", NEWTON=1, COLUMNS=columns, ROWS_MAX=ROWS_MAX, WARPS=WARPS))
    @touches(reads=f"{READS} {SCRATCH}", writes=f"{RESULT} {SCRATCH}")
    def newton(m: Model, d: Data, w: int, lane: int): ...

    return newton


def newton(nv: int) -> wp.Function:
    """Newton's method for a system of nv dofs."""
    return _newton(-(-nv // 4) * 4 if 0 < nv <= SMALL else 0)


@cache
def conjugate_gradient() -> wp.Function:
    """Conjugate gradients, preconditioned by the mass matrix."""

    @wp.func_native(source("primal.cpp", NEWTON=0, COLUMNS=0))
    @touches(reads=f"{READS} {SCRATCH} {CONJUGATE}", writes=f"{RESULT} {SCRATCH} {CONJUGATE}")
    def conjugate_gradient(m: Model, d: Data, w: int, lane: int): ...

    return conjugate_gradient
