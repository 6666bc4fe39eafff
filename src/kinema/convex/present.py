"""The model as it is now, and who has read what of it.

Much is decided on the host by looking at the model: which stages a step has, how long lists are, what collision
detection is uploaded. What was decided holds only as long as the numbers that were looked at do. So whoever decides is
handed the model through a view that shows the numbers of today and notes which were read:

    present = Present(source)
    m = present.to("recipe")                what `step.py` sees
    if np.any(m.body_gravcomp): ...         noted: "recipe" has read body_gravcomp
    present.readers("body_gravcomp")        {"recipe"}: must decide again when it is written (parameters.py)

A reader therefore cannot forget to say what it depends on. Where worlds differ, a reader sees of each number the one of
largest magnitude, for it asks whether there is any; `world` shows those of one world.

Derivatives along a parameter ask what would be if it were another number. So recipes are decided as for another one,
once it is among those that are `free`: a force that is switched off by a 0 has a slope there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from kinema.convex.layout import ALIASES, Layout

OWNERS = ("opt", "stat")
"""Structs of the model that have numbers of their own."""

RECIPE = "recipe"
"""The reader that decides on stages, and on lists that follow from numbers."""

PRECISE = {of: twin for twin, of in ALIASES.items()}
"""Fields that are kept in double precision as well."""

FOLLOWS: dict[str, Callable[[Any, Any], np.ndarray]] = {}
"""Fields that follow from parameters: name -> f(the present model, the compiled one); of geoms see geom_sizes.py."""


class Present:
    """A model as it is now.

    Args:
        source: Any object with mjModel's attributes: the model as compiled.

    Attributes:
        layout: Where the numbers are kept; None: nowhere yet, the compiled ones are the present ones.
        switches: Switches of mjOption that were changed.
        writes: How often fields were written: whoever keeps what follows from them sees that it has to look again.
        last: Which of these writes was the last of each field.
        free: Parameters that recipes hold for, whatever number they have.
    """

    def __init__(self, source: Any):
        self.source = source
        self.layout: Layout | None = None
        self.switches: dict[str, int] = {}
        self.writes = 0
        self.last: dict[str, int] = {}
        self.free: set[str] = set()
        self._read: dict[str, set[str]] = {}
        self._shown: dict[str, Any] = {}

    def to(self, reader: str, world: int | None = None, *, exactly: bool = False) -> View:
        """The model as one reader sees it, of one world or of all of them.

        With `exactly` free parameters, too, are shown as they are.
        """
        free = self.free if reader == RECIPE and not exactly else frozenset()
        return View(self, self._read.setdefault(reader, set()), world, free)

    def readers(self, name: str) -> set[str]:
        """Who has read a field."""
        return {reader for reader, names in self._read.items() if name in names}

    def read_by(self, reader: str) -> set[str]:
        """The fields a reader has read."""
        return set(self._read.get(reader, ()))

    def all_read(self) -> set[str]:
        """The fields anybody has read."""
        return set().union(*self._read.values())

    def is_expanded(self, reader: str) -> bool:
        """Whether worlds differ in anything that a reader has read."""
        return self.layout is not None and not self.layout.expanded.keys().isdisjoint(self._read.get(reader, ()))

    def forget(self, name: str) -> None:
        """A field was written: look at it anew."""
        self.writes += 1
        self.last[name] = self.writes
        self._shown.pop(name, None)

    def value(self, view: View, owner: str, name: str) -> Any:
        """A field as it is now."""
        if name in self.switches:
            return self.switches[name]
        if name in FOLLOWS:
            return FOLLOWS[name](view, self.source)
        compiled = getattr(getattr(self.source, owner) if owner else self.source, name)
        if self.layout is None or name not in self.layout.parameters:
            return compiled
        if view._world is not None and name in self.layout.expanded:
            return self._exact(self.layout.arrays[PRECISE.get(name, name)].numpy()[view._world], compiled)
        if name not in self._shown:
            array = self.layout.arrays[PRECISE.get(name, name)]
            rows = array.numpy() if name in self.layout.expanded else array.stored.numpy()
            self._shown[name] = self._exact(_largest(rows), compiled)
        return self._shown[name]

    @staticmethod
    def _exact(now: np.ndarray, compiled: Any) -> np.ndarray:
        """Numbers that nobody touched keep the precision they were compiled with."""
        exact = np.asarray(compiled)
        now = now.reshape(exact.shape)
        return np.where(now == exact.astype(now.dtype), exact, now)


class View:
    """The present model as one reader sees it: mjModel's attributes, each noted when it is read."""

    def __init__(
        self, present: Present, read: set[str], world: int | None, free: Collection[str] = (), owner: str = ""
    ):
        self._present, self._notes, self._world, self._free, self._owner = present, read, world, free, owner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._owner and name in OWNERS:
            return View(self._present, self._notes, self._world, self._free, name)
        self._notes.add(name)
        found = self._present.value(self, self._owner, name)
        return _another(found) if name in self._free else found


def _another(number: Any) -> Any:
    """Numbers that are neither these nor 0."""
    return number + np.where(np.less(number, 0.0), -1e-3, 1e-3) * (1.0 + np.abs(number))


def _largest(rows: np.ndarray) -> np.ndarray:
    """Of each number the one of largest magnitude over all rows."""
    if len(rows) == 1:
        return rows[0]
    return np.take_along_axis(rows, np.abs(rows).argmax(axis=0)[None], axis=0)[0]
