"""What a stage reads and writes: worked out from its source, through everything it calls (reader.py).

    access(passive.joint_damper)  ->  reads {dof_damping, qvel, ...}, writes {qfrc_damper}

Arrays go by MuJoCo's names (bundle.fields_of), so that two bundles which hold the same array speak of one thing; those
of structs that are no bundles by the struct and the attribute ("Sweep.order"). For every array it is known as well
whether all accesses are to the item of the stage, `a[w, i]`: a stage that touches nothing else of another stage over
the same items may follow it without a barrier (schedule.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import warp as wp

from kinema.convex.reader import Index, Place, read


@dataclass(frozen=True)
class Access:
    """What is read and written, by names of arrays.

    Attributes:
        own_reads: Those of `reads` that are read at the item of the stage only.
        own_writes: Those of `writes` that are written at the item of the stage only.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    own_reads: frozenset[str] = frozenset()
    own_writes: frozenset[str] = frozenset()

    def __or__(self, other: Access) -> Access:
        """What both touch together."""
        return Access(
            self.reads | other.reads,
            self.writes | other.writes,
            (self.own_reads | other.own_reads) - (self.reads - self.own_reads) - (other.reads - other.own_reads),
            (self.own_writes | other.own_writes) - (self.writes - self.own_writes) - (other.writes - other.own_writes),
        )


@cache
def access(func: wp.Function | wp.Kernel) -> Access:
    """What a stage's function, or a kernel, reads and writes of model and data.

    The stage's own item is given by its third and fourth arguments, `w` and `i`.
    """
    root = read(func)
    item = tuple(name for name in list(root.types)[2:4]) if isinstance(func, wp.Function) else ()
    reads, writes = (_by_name(root.types, touched, item) for touched in (root.reads, root.writes))
    return Access(*map(frozenset, (reads, writes, _all_own(reads), _all_own(writes))))


ANYTHING = Access(frozenset({"*"}), frozenset({"*"}))
"""What runs on the host and does not say what it touches."""


def written(stages: Iterable) -> frozenset[str]:
    """Names of all arrays that stages write: what is computed. What functions on the host write is not known."""
    return frozenset[str]().union(*(stage.access.writes for stage in stages)) - ANYTHING.writes


def _by_name(types: Mapping[str, Any], touched: set[tuple[Place, Index]], item: tuple[str, ...]) -> dict[str, bool]:
    """Names of arrays, and whether every access is to the stage's item."""
    own: dict[str, bool] = {}
    for place, index in touched:
        name = place.name(types)
        own[name] = own.get(name, True) and len(item) == 2 and index[:2] == item
    return own


def _all_own(names: Mapping[str, bool]) -> set[str]:
    return {name for name, own in names.items() if own}
