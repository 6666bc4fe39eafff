"""Where a computed number comes from: the stage that writes it, and the inputs that reach it through the stages before.

Both follow from what stages read and write (access.py): walking a recipe backwards from the array, whatever a stage
reads to write something that is needed is needed too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kinema.convex.stage import Stage


def origin(stages: Iterable[Stage], name: str, inputs: Collection[str]) -> tuple[str, list[str]]:
    """The function that writes an array, "" where none does; and the inputs it follows from."""
    needed, by = {name}, ""
    for stage in reversed(list(stages)):
        if stage.access.writes & needed:
            if name in stage.access.writes and stage.func is not None:
                by = stage.func.key
            needed |= stage.access.reads
    return by, sorted(needed & set(inputs) - {name})
