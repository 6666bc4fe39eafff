"""Arrays that no stage of a step touches: worlds share one row of zeros in their place.

What a step touches follows from its stages (access.py). Everything else that mjData has (factors of integrators the
model does not use, loads nobody senses) would be memory for nothing, world after world. It is kept as one row that all
worlds read through a stride of 0: it can be read, it has its shape, and it is all zeros, as if it had been allocated
and never written. When a recipe that touches it is run, or somebody asks for the array itself, it is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from kinema.convex.access import ANYTHING
from kinema.convex.bundle import bundles_of, fields_of
from kinema.convex.data import Data, State

if TYPE_CHECKING:
    from kinema.convex.stage import Stage


@cache
def computed() -> frozenset[str]:
    """Arrays of a run that are no part of its state, but for those of one number a world."""
    fields = [field for bundle in bundles_of(Data).values() for field in fields_of(bundle).values()]
    kept = {field.name for field in fields_of(State).values()} | {"qacc"}  # given by programs
    return frozenset(field.name for field in fields if field.kind == "data" and field.size) - kept


def touched(stages: Iterable[Stage]) -> frozenset[str]:
    """Arrays of `computed` that stages read or write."""
    names = frozenset[str]().union(*(stage.access.reads | stage.access.writes for stage in stages))
    return computed() if names & ANYTHING.writes else names & computed()


def idle(stages: Iterable[Stage]) -> set[str]:
    """Arrays that none of the stages touches."""
    return set(computed() - touched(stages))
