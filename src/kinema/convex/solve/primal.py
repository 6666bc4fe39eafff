"""Newton's method with exact line search, for systems of any size.

Dense linear algebra is where a step spends its time, and where plain array indexing costs most, so these functions are
native code: one thread on the CPU, or a warp on CUDA, takes a world through memory, island by island (primal.cpp). On
CUDA those that a group of threads can hold are solved by islands.py instead.
"""

from __future__ import annotations

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.solve.native import CONTINUOUS, DISCRETE, INERTIA, RESULT, ROWS, WARP, source
from kinema.convex.stage import LANE_BLOCK
from kinema.math.touches import touches

READS = f"""
    {ROWS} d.efc.D[w] d.efc.aref[w]
    m.dof.treeid m.opt.tolerance[w] m.opt.ls_tolerance[w]
    d.state.qacc_warmstart[w] d.frc.qacc_smooth[w]
"""
FOUND = """
    d.island.bucket[w] d.island.root[w] d.island.number[w] d.island.treeadr[w] d.island.rowadr[w] d.island.tree[w]
    d.island.row[w]
"""
SCRATCH = """
    d.solver.treeM[w] d.solver.H[w] d.solver.strip[w] d.solver.pattern[w] d.solver.root[w] d.solver.next_tree[w]
    d.solver.last_tree[w] d.solver.first_row[w] d.solver.next_row[w] d.solver.acc[w]
    d.solver.Ma[w] d.solver.Mv[w] d.solver.grad[w] d.solver.search[w] d.solver.Jaref[w] d.solver.Jv[w]
"""


@cache
def newton(bucket: int = -1, *, discrete: bool = False) -> wp.Function:
    """Newton's method for a system of any size; on CUDA for the islands of a bucket (islands.py).

    Without a bucket, there, for worlds in which nothing moves.
    """
    which = {"BEYOND": int(bucket >= 0), "BUCKET": max(bucket, 0)}
    system = DISCRETE if discrete else CONTINUOUS
    more = FOUND if bucket >= 0 else ""

    @wp.func_native(source("primal.cpp", NEWTON=1, WARPS=LANE_BLOCK // WARP, **which, **system.definitions))
    @touches(reads=f"{READS} {system.reads} {INERTIA} {SCRATCH} {more}", writes=f"{RESULT} {SCRATCH}")
    def newton(m: Model, d: Data, w: int, lane: int): ...

    return newton
