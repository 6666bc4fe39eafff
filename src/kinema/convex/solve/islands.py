"""Newton's method on CUDA, island by island.

A group of threads holds an island of at most 128 dofs in registers and shared memory (island.cpp). Islands are found
first (find_islands.cpp), sorted into buckets by the group that can hold them, and each bucket is a kernel over (world,
island). A world that is one tree is one island, and need not be searched; islands beyond 128 dofs are
taken through memory, one after the other (primal.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.metric_pattern import is_discrete, tree_sizes
from kinema.convex.model import Model
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.solve.groups import LARGE, UNBOUNDED, Group, group
from kinema.convex.solve.native import CONTINUOUS, DISCRETE, INERTIA, RESULT, WARP, source
from kinema.convex.solve.primal import newton
from kinema.convex.stage import LANE_BLOCK, Stage, named
from kinema.math.lanes import lane_count
from kinema.math.touches import touches
from kinema.mujoco_enums import Solver

CAPS = (8, 16, 32, 64, 128)  # dofs of buckets, at most
GIVEN = """
    d.efc.nefc[w] d.efc.ne[w] d.efc.nf[w] d.efc.J[w] d.efc.R[w] d.efc.frictionloss[w] d.efc.type[w] d.efc.id[w]
    d.efc.D[w] d.efc.aref[w] d.crow.mu[w] d.con.dim[w] d.con.friction[w]
    d.state.qacc_warmstart[w] d.frc.qacc_smooth[w]
"""
LIMITS = "m.opt.tolerance[w] m.opt.ls_tolerance[w]"
TREES = "d.efc.trees[w] m.tree.dofadr m.tree.dofnum"
LISTS = "d.island.bucket[w] d.island.tree[w] d.island.row[w] d.island.treeadr[w] d.island.rowadr[w]"
FOUND = f"""
    {LISTS} d.island.root[w] d.island.number[w] d.island.dofs[w] d.island.rows[w] d.island.members[w]
    d.island.first[w] d.island.start[w]
"""


@cache
def _island(
    holds: Group, *, elliptic: bool, discrete: bool = False, bucket: int = -1, least: int = -1
) -> wp.Function:
    """Newton's method on CUDA for the islands of a bucket, or for worlds of one tree with more than `least` rows."""
    sizes = {
        "COLUMNS": holds.columns, "TEAM": holds.threads, "GROUPS": holds.block // holds.threads, "TILE": holds.tile,
        "ROWS_MAX": holds.rows, "ROWS_MIN": least, "MAPPED": int(bucket >= 0), "BUCKET": bucket,
        "ELLIPTIC": int(elliptic), "SPILLS": int(holds.spills),
        "DISCRETE": int(discrete),
    }  # fmt: skip
    lists = f"{LISTS} {TREES} d.island.warm[w] d.solver.niter[w]" if bucket >= 0 else ""
    spill = "d.solver.spill[w]" if holds.spills else ""
    cones = "d.crow.address[w]" if elliptic else ""
    system = DISCRETE if discrete else CONTINUOUS
    inertia = INERTIA if discrete else ""
    reads, writes = f"{GIVEN} {LIMITS} {system.reads} {inertia} {lists} {spill} {cones}", f"{RESULT} {spill}"

    @wp.func_native(on_cuda(source("island.cpp", NEWTON=1, **sizes, **system.definitions)))
    @touches(reads=reads, writes=writes)
    def newton(m: Model, d: Data, w: int, lane: int): ...

    return newton


@cache
def _find(most_dofs: tuple[int, ...], most_rows: tuple[int, ...], discrete: bool) -> wp.Function:
    system = DISCRETE if discrete else CONTINUOUS
    caps = {"MOST_DOFS": _braces(most_dofs), "MOST_ROWS": _braces(most_rows)}
    groups = {"BUCKETS": len(most_dofs), "GROUPS": LANE_BLOCK // WARP}
    text = source("find_islands.cpp", **groups, **caps, **system.definitions)

    @wp.func_native(on_cuda(text))
    @touches(
        reads=f"{GIVEN} {system.reads} {FOUND} {TREES} m.dof.treeid",
        writes=f"{FOUND} d.island.warm[w] d.frc.qacc[w] d.frc.qfrc_constraint[w] d.solver.niter[w]",
    )
    def find_islands(m: Model, d: Data, w: int, lane: int): ...

    return find_islands


@cache
def _find_if_any(find: wp.Function, buckets: int) -> wp.Function:
    """The same where trees may sleep: most worlds then have no rows, and need not be searched."""

    def find_islands(m: Model, d: Data, w: int, lane: int):
        if d.efc.nefc[w] > 0:
            find(m, d, w, lane)
        else:
            for i in range(lane, m.size.nv, lane_count()):
                d.frc.qacc[w, i] = d.frc.qacc_smooth[w, i]
                d.frc.qfrc_constraint[w, i] = 0.0
            for b in range(lane, wp.static(buckets + 1), lane_count()):
                d.island.bucket[w, b] = 0
            if lane == 0:
                d.solver.niter[w] = 0

    return named(find_islands, f"{find.key}_if_any__find_islands")


def on_cuda(text: str) -> str:
    """Code that the CPU leaves out."""
    return f"#if defined(__CUDA_ARCH__)\n{text}\n#endif\n"


def _braces(numbers: tuple[int, ...]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def island_sizes(trees: tuple[int, ...]) -> list[int]:
    """Every number of dofs that an island made of these trees could have, ascending."""
    reached = np.zeros(sum(trees) + 1, dtype=bool)
    reached[0] = True
    for size in trees:
        reached[size:] |= reached[: len(reached) - size].copy()
    return np.flatnonzero(reached)[1:].tolist()


@dataclass(frozen=True)
class Bucket:
    """Islands that one kind of group holds.

    Attributes:
        holds: The group.
        most: How many of them a world could have.
    """

    holds: Group
    most: int

    @property
    def dofs(self) -> int:
        """Dofs of an island at most."""
        return self.holds.columns

    @property
    def rows(self) -> int:
        """Rows of an island at most."""
        return self.holds.rows


@cache
def buckets(trees: tuple[int, ...], rows: int) -> list[Bucket]:
    """The buckets for islands of these trees with room for so many rows; small islands first.

    An island comes into the first that holds its dofs and its rows. So a bucket gets islands that have more dofs than
    those before it can hold, or more rows.
    """
    sizes, held = island_sizes(trees), []
    for low, high in pairwise((0, *CAPS)):
        within = [size for size in sizes if low < size <= high]
        held += [(group(within[-1]), within[0])] if within else []
    if not held:
        return []
    largest, least = held[-1]
    if rows > largest.rows:  # islands of many rows; an empty bucket of their own would be a kernel more
        spills = group(largest.columns, spills=True)
        held[-1:] = [(spills, least)] if largest.is_team else [(largest, least), (spills, sum(trees) + 1)]
    made: list[Bucket] = []
    for holds, least in held:
        most = sum(trees) // least + (rows // (made[-1].rows + 1) if made else 0)
        made += [Bucket(holds, min(most, len(trees)))] if most else []
    return made


def _trees(m) -> tuple[int, ...]:
    sizes = tree_sizes(m)
    return tuple(sizes[sizes > 0].tolist())


def newton_stages(m, rows: int) -> list[Stage]:
    """Newton's method on CUDA, for a model with room for so many rows."""
    kind, trees = {"elliptic": bool(m.opt.cone), "discrete": is_discrete(m)}, _trees(m)
    if is_island(trees):
        return _one_tree(trees[0], rows, kind)
    held, beyond = buckets(trees, rows), sum(trees) > LARGE
    most = [(bucket.dofs, bucket.rows) for bucket in held] + [(UNBOUNDED, UNBOUNDED)] * beyond
    find = _find(*zip(*most, strict=True), kind["discrete"])
    find = _find_if_any(find, len(most)) if sleeps(m) else find
    stages = [Stage(find, lanes=True, alone=True)]
    if beyond:
        stages.append(Stage(newton(len(held), discrete=kind["discrete"]), lanes=True, alone=True))
    for k, bucket in reversed(list(enumerate(held))):
        stages.append(_stage(_island(bucket.holds, **kind, bucket=k), bucket.holds, bucket.most))
    if sleeps(m):  # most worlds have no rows
        stages[1:] = [replace(stage, rows=True) for stage in stages[1:]]
    return stages


def is_island(trees: tuple[int, ...]) -> bool:
    """Is the world one island, and can a group hold it?"""
    return len(trees) == 1 and trees[0] <= LARGE


def _one_tree_groups(nv: int, rows: int) -> list[Group]:
    """Groups for worlds that are one island, of which one after the other takes those with more rows."""
    held = group(nv)
    if not held.is_team and rows > held.rows:
        warp = group(WARP)
        held = Group(held.columns, WARP, warp.tile, warp.rows)
    return [held] if rows <= held.rows else [held, group(nv, spills=True)]


def _one_tree(nv: int, rows: int, kind: dict[str, bool]) -> list[Stage]:
    least, stages = -1, []
    for holds in _one_tree_groups(nv, rows):
        stages.append(_stage(_island(holds, **kind, least=least), holds, 1))
        least = holds.rows
    return stages


def _stage(func: wp.Function, holds: Group, groups: int) -> Stage:
    return Stage(
        func, lanes=True, alone=True, threads=holds.threads, groups=groups, block=holds.block, blocks=holds.blocks
    )


def sizes(m, rows: int) -> dict[str, int]:
    """Room that islands need on CUDA, as sizes of arrays in data.py."""
    trees = _trees(m)
    if m.opt.solver != Solver.NEWTON or not trees:
        return NO_ISLANDS
    if is_island(trees):
        held, many = _one_tree_groups(trees[0], rows), 0
    else:
        held, many = [bucket.holds for bucket in buckets(trees, rows)], 1
    spills = any(holds.spills for holds in held)
    return {
        "ntree_island": many * m.ntree,
        "nlist_island": many * (m.ntree + 1),
        "nefc_island": many * rows,
        "nbucket_island": many * (len(held) + 2),
        "nstart_island": many * 2 * m.nv,
        "none_island": many,
        "nspill": 8 * rows * spills,
    }


NO_ISLANDS = dict.fromkeys(
    ("ntree_island", "nlist_island", "nefc_island", "nbucket_island", "nstart_island", "none_island", "nspill"), 0
)
