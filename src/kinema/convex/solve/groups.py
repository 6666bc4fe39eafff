"""Groups of threads that hold a system on CUDA: how many, and what they keep in shared memory.

A system of nv dofs is held one column a thread: by part of a warp, by a warp, or by a team of warps that has a block to
itself. Sizes are rounded up, so that models share kernels. For a single solve a warp may hold a block of pivots more
than it has threads (cholesky.cpp): many robots have 29 joints and a free base.
"""

from dataclasses import dataclass

from kinema.convex.solve.native import WARP

LARGE = 128  # dofs a group can hold
UNBOUNDED = 1 << 30  # rows
WIDE = WARP + 4  # dofs a warp can hold for a single solve
ROOM = {8: (32, 32), 16: (64, 64), 32: (64, 160)}  # threads: rows of J and rows in shared memory, of groups in a warp
TEAM_ROOM = {44: (64, 256), 64: (48, 192), 96: (32, 256), 128: (8, 64)}  # the same of teams, by the dofs they hold
QUARTERS, REGISTERS = 4, 512  # parts of a multiprocessor, and the registers that the warps of a part share, a lane


def columns(nv: int) -> int:
    """nv rounded up to whole blocks of pivots; 0 for a system that no group can hold."""
    return -(-nv // 4) * 4 if 0 < nv <= LARGE else 0


def threads(nv: int, *, once: bool = False) -> int:
    """Threads that hold a system of nv dofs; `once`: for a single solve."""
    if not 0 < nv <= LARGE:
        return WARP
    if once and nv <= WIDE:
        nv = min(nv, WARP)
    return next((size for size in (8, 16) if nv <= size), -(-nv // WARP) * WARP)


def teams_at_once(columns: int, threads: int) -> int:
    """Teams a multiprocessor has registers for: beside a column a thread wants about 80."""
    return QUARTERS * (REGISTERS // (columns + 80)) * WARP // threads


@dataclass(frozen=True)
class Group:
    """A group that searches for the accelerations of one island.

    Attributes:
        columns: Dofs it can hold.
        threads: Threads.
        tile: Rows of J in shared memory.
        rows: Rows it can hold: their numbers are in shared memory.
        spills: They are in global memory instead, for any number of rows.
    """

    columns: int
    threads: int
    tile: int
    rows: int
    spills: bool = False

    @property
    def is_team(self) -> bool:
        return self.threads > WARP

    @property
    def block(self) -> int:
        """Threads of a block: of small groups a warp, so that none waits for a neighbour that takes longer."""
        return max(self.threads, WARP)

    @property
    def blocks(self) -> int:
        """Blocks a multiprocessor is to hold at least: as many as there are registers for."""
        return teams_at_once(self.columns, self.threads) if self.is_team else 16


def group(nv: int, *, spills: bool = False) -> Group:
    """The group for an island of nv dofs; `spills`: at least two warps, which take any number of rows."""
    width, size = columns(nv), threads(nv)
    if size <= WARP and not spills:
        return Group(width, size, *ROOM[size])
    tile, rows = next(room for most, room in TEAM_ROOM.items() if width <= most)
    return Group(width, max(size, 2 * WARP), tile, UNBOUNDED if spills else rows, spills)
