"""Arrays by name, of which some are made when somebody first reads them.

The sky of a small robot is 11 MB of pixels that a third of a second goes into and most programs never look at. It has
its length from the start, and its pixels from the first read:

    arrays = DeferredArrays({"tex_adr": [0]})
    arrays.later("tex_data", lambda: pixels())
    arrays["tex_data"]                            made now, and kept

What can be wrong with a model is found before: only what cannot fail is left for later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np


class DeferredArrays(MutableMapping[str, np.ndarray]):
    """A dictionary of arrays that can also hold how to make one.

    Args:
        made: Arrays that are there.
    """

    def __init__(self, made: Mapping[str, np.ndarray] | None = None):
        self._made: dict[str, np.ndarray] = dict(made or {})
        self._later: dict[str, Callable[[], np.ndarray]] = {}

    def later(self, name: str, make: Callable[[], np.ndarray]) -> None:
        """Let an array be made by whoever reads it first; it takes its place among the names now."""
        self._later[name] = make
        self._made[name] = np.zeros(0)  # until then

    def __getitem__(self, name: str) -> np.ndarray:
        make = self._later.get(name)
        if make is not None:
            self._made[name] = make()
            self._later.pop(name, None)
        return self._made[name]

    def __setitem__(self, name: str, value: np.ndarray) -> None:
        self._later.pop(name, None)
        self._made[name] = value

    def __delitem__(self, name: str) -> None:
        self._later.pop(name, None)
        del self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __ior__(self, others: Mapping[str, np.ndarray]) -> DeferredArrays:
        self.update(others)
        return self

    def take(self, others: DeferredArrays) -> None:
        """As `update`, with what is not made yet left so."""
        for name in others:
            if name in others._later:
                self.later(name, others._later[name])
            else:
                self[name] = others[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return DeferredArrays, (dict(self),)
