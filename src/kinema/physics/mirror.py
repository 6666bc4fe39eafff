"""Host copies of the engine's arrays, in double precision, that programs read and write as plain NumPy arrays.

Programs written for MuJoCo keep arrays and expect them to be MuJoCo's own memory: what they write is used by the next
step, what a step computes appears in them. The engine's memory is single precision and may be on another device, so:

    before a run    arrays that were handed out are compared with what the device was last sent; differences are sent
    after a run     arrays that someone still holds are brought up to date; the others when they are next asked for

A number that the device gives back unchanged keeps its double precision: qpos = 0.1 reads 0.1, not 0.100000001.
"""

from __future__ import annotations

import weakref

import numpy as np


class _Memory(np.ndarray):
    """Owner of a mirror's memory.

    NumPy lets the base of a view of a view be the owner if that has the same type. With a type of its own a slice of
    what was handed out keeps what was handed out alive, and so tells that someone still looks.
    """


class Mirror:
    """The host's copy of one field.

    Attributes:
        values: The numbers.
        per_world: Whether their first axis is that of worlds; the only world's row is handed out without it.
        fresh: Whether they are the device's.
    """

    __slots__ = ("_handed", "_memory", "fresh", "per_world", "sent", "values")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, *, per_world: bool = False):
        self._memory = np.zeros(shape, dtype).view(_Memory)
        self.values = self._memory.view(np.ndarray)
        self.sent = np.zeros(shape, dtype)
        self.per_world = per_world
        self.fresh = False
        self._handed: weakref.ref | None = None

    def hand_out(self) -> np.ndarray:
        """A view for programs; the same one as long as anyone holds it."""
        handed = self._handed() if self._handed is not None else None
        if handed is None:
            only_world = self.per_world and not self.leading_axes
            handed = (self._memory[0, ...] if only_world else self._memory).view(np.ndarray)
            self._handed = weakref.ref(handed)
        return handed

    @property
    def leading_axes(self) -> int:
        """Number of axes before MuJoCo's in what is handed out: 1 for several worlds, else 0."""
        return int(self.per_world and len(self.values) > 1)

    @property
    def held(self) -> bool:
        """Whether someone still holds what was handed out."""
        return self._handed is not None and self._handed() is not None

    @property
    def changed(self) -> bool:
        """Whether a program has written since the numbers were last sent or received."""
        return not (self.values == self.sent).all()

    def mark_sent(self) -> None:
        """Take the numbers for those of the device."""
        np.copyto(self.sent, self.values)

    def receive(self, numbers: np.ndarray) -> None:
        """Take the device's numbers; those that agree to its precision keep theirs."""
        if self.values.dtype == np.float64 and numbers.dtype == np.float32:
            with np.errstate(over="ignore"):
                known = self.values.astype(np.float32)
            np.copyto(self.values, numbers, where=known != numbers)
        else:
            np.copyto(self.values, numbers, casting="unsafe")
        self.fresh = True
        self.mark_sent()
