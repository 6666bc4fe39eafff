"""Newton's method and conjugate gradients with exact line search, one lane group a world.

Dense linear algebra is where a step spends its time, and where plain array indexing costs most, so these functions are
native code, compiled for CPU and CUDA alike: primal.cpp. On CUDA Newton's method keeps a system of at most 32 dofs in
the registers of a warp (primal_warp.cpp), one of at most 128 in those of a team of warps (team.cpp, columns.cpp); for
that its size, rounded up, is part of the code.
"""

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.solve.native import CONTINUOUS, DISCRETE, RESULT, ROWS, WARP, System, source
from kinema.math.touches import touches

SMALL = 32  # dofs a warp can hold, one column a lane
LARGE = 128  # dofs a team of warps can hold, one column a thread
WARP_ROWS = 64  # rows a warp can hold beside them
TEAM_MEMORY = 40 * 1024  # bytes of shared memory for the rows of a team
WARPS = 4  # warps of a block
QUARTERS, REGISTERS = 4, 512  # parts of a multiprocessor, and the registers that the warps of a part share, a lane


def team(nv: int) -> int:
    """Threads on CUDA that hold a system of nv dofs, one column each, in whole warps."""
    return -(-nv // WARP) * WARP if SMALL < nv <= LARGE else WARP


def columns(nv: int) -> int:
    """nv rounded up, so that models share kernels; 0 for a system that no team can hold."""
    return -(-nv // 4) * 4 if 0 < nv <= LARGE else 0


def rows_held(nv: int) -> int:
    """Rows of J that stay in shared memory; more are read again in each iteration."""
    if team(nv) == WARP:
        return WARP_ROWS
    return min(96, TEAM_MEMORY // (4 * (columns(nv) + 4 + 16)) // 16 * 16)


def blocks(nv: int) -> int:
    """Blocks a multiprocessor is to hold at least: as many as there are registers for, beside a column 80 a thread."""
    if team(nv) == WARP:
        return WARPS
    return QUARTERS * (REGISTERS // (columns(nv) + 80)) * WARP // team(nv)

READS = f"""
    {ROWS} d.efc.D[w] d.efc.aref[w]
    m.dof.treeid m.opt.tolerance[w] m.opt.ls_tolerance[w] m.opt.meaninertia[w]
    d.state.qacc_warmstart[w] d.frc.qacc_smooth[w]
"""
SCRATCH = """
    d.solver.fullM[w] d.solver.H[w] d.solver.strip[w] d.solver.pattern[w] d.solver.root[w] d.solver.next_tree[w]
    d.solver.last_tree[w] d.solver.first_row[w] d.solver.next_row[w] d.solver.acc[w] d.solver.Ma[w] d.solver.Mv[w]
    d.solver.grad[w] d.solver.search[w] d.solver.Jaref[w] d.solver.Jv[w]
"""
CONJUGATE = "d.solver.grad_last[w] d.solver.Mgrad[w] d.solver.Mgrad_last[w]"


@cache
def _newton(columns: int, threads: int, rows: int, split: bool, system: System) -> wp.Function:
    sizes = {"COLUMNS": columns, "ROWS_MAX": rows, "WARPS": WARPS, "TEAM": threads, "SPLIT": int(split)}

    more = "d.crow.address[w]" if threads > WARP else ""

    @wp.func_native(source("primal.cpp", NEWTON=1, **sizes, **system.definitions))
    @touches(reads=f"{READS} {system.reads} {SCRATCH} {more}", writes=f"{RESULT} {SCRATCH}")
    def newton(m: Model, d: Data, w: int, lane: int): ...

    return newton


def newton(nv: int = 0, ntree: int = 0, *, discrete: bool = False) -> wp.Function:
    """Newton's method for a system of nv dofs in ntree trees; of any size on the CPU, where sizes bring nothing."""
    system = DISCRETE if discrete else CONTINUOUS
    return _newton(columns(nv), team(nv), rows_held(nv), ntree > 1 and team(nv) > WARP, system)


@cache
def conjugate_gradient(*, discrete: bool = False) -> wp.Function:
    """Conjugate gradients, preconditioned by the mass matrix, or the metric in its place."""
    system = DISCRETE if discrete else CONTINUOUS

    @wp.func_native(source("primal.cpp", NEWTON=0, COLUMNS=0, **system.definitions))
    @touches(reads=f"{READS} {system.reads} {SCRATCH} {CONJUGATE}", writes=f"{RESULT} {SCRATCH} {CONJUGATE}")
    def conjugate_gradient(m: Model, d: Data, w: int, lane: int): ...

    return conjugate_gradient
