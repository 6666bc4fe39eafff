"""Room for contacts and constraint rows: what is used, and what happens when it does not suffice.

The lists of a world have fixed lengths, first guessed from the model. A world that wants more sets a bit of its status;
the bits are looked at after every call of `forward` or `step`, and nothing is ever dropped in silence:

    "grow"    put the state back to what it was before the call, make room, run again (the default)
    "warn"    go on without what found no room, and say so
    "raise"   SimulationError

Where the lists can hold all that the model could ask for, there is nothing to look at.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.bundle import fields_of
from kinema.convex.call import repeatable
from kinema.convex.collision import constraint_rows, in_sixteens, rows_per_contact
from kinema.convex.data import Marks, State
from kinema.convex.last_good import keep_all, room_for
from kinema.convex.status import CONTACT_OVERFLOW, PAIR_OVERFLOW, ROW_OVERFLOW
from kinema.engine import Capacity
from kinema.errors import BuildError, SimulationError, did_you_mean

OVERFLOW = int(CONTACT_OVERFLOW) | int(ROW_OVERFLOW) | int(PAIR_OVERFLOW)
POLICIES = ("grow", "warn", "raise")
SPARE = 1.5  # room made, over what was wanted
ATTEMPTS = 20


@wp.kernel(enable_backward=False)
def _gather_bits(status: wp.array(dtype=int), bits: wp.array(dtype=int)):
    word = status[wp.tid()]
    if word != 0:
        wp.atomic_or(bits, 0, word)


@wp.kernel(enable_backward=False)
def _clear_bits(status: wp.array(dtype=int), bits: int):
    w = wp.tid()
    status[w] = status[w] & ~bits


class Guard:
    """Watches over the capacity of an engine.

    Args:
        engine: The engine.
        on_overflow: One of POLICIES.
    """

    def __init__(self, engine, on_overflow: str = "grow"):
        if on_overflow not in POLICIES:
            hint = did_you_mean(str(on_overflow), POLICIES)
            raise BuildError(f"on_overflow={on_overflow!r}: expected one of {', '.join(POLICIES)}{hint}")
        self.engine = engine
        self.on_overflow = on_overflow
        self.needed = False
        self.look()
        self._bits = wp.zeros(1, dtype=int, device=engine.device)
        self._kept: tuple[Any, ...] = ()  # State and Marks as they were before the call
        self._saved: dict[str, wp.array] = {}  # their arrays
        self._keep: Callable[[], None] | None = None
        self._version = -1

    def look(self) -> None:
        """See whether the lists can hold all that the model as it is now could ask for."""
        self.needed = not _holds_all(self.engine)

    def run(self, work: Callable[[], None]) -> None:
        """Do the work, then see whether every world had room."""
        if not self.needed or self.engine.device.is_capturing:
            work()
            return
        if self.on_overflow == "grow":
            self._save()
        work()
        for _ in range(ATTEMPTS):
            bits = self._overflow()
            if not bits:
                return
            if self.on_overflow != "grow":
                self._tell(bits)
                return
            self._make_room(bits)
            self._restore()
            work()
        raise SimulationError(f"contacts or rows still find no room: {self._numbers(OVERFLOW)}")

    def catch_up(self, bits: int) -> None:
        """Make the room that was wanted within a graph of somebody else's; what found none there was left out."""
        have = self.capacity
        if have.most_contacts > have.contacts or have.most_rows > have.rows or bits & int(PAIR_OVERFLOW):
            self._make_room(bits)

    @property
    def capacity(self) -> Capacity:
        """Lengths of the lists, and what was wanted of them."""
        engine = self.engine
        detector = engine.collider.detector
        return Capacity(
            contacts=engine.layout.capacity["nconmax"],
            rows=engine.layout.capacity["nefcmax"],
            pairs=len(detector.slots) if detector.build.sweep else 0,
            most_contacts=int(engine.array("contact_most").numpy().max()),
            most_rows=int(engine.array("efc_most").numpy().max()),
        )

    # ------------------------------------------------------------------------------------------ status

    def _overflow(self) -> int:
        """Bits of overflow set in any world."""
        status = self.engine.layout.arrays["status"]
        if not self.engine.device.is_cuda:
            words = self.engine.read("status")
            return (words.item(0) if len(words) == 1 else int(np.bitwise_or.reduce(words))) & OVERFLOW
        self._bits.zero_()
        wp.launch(_gather_bits, dim=status.shape[0], inputs=[status, self._bits], device=self.engine.device)
        return int(self._bits.numpy()[0]) & OVERFLOW

    def _numbers(self, bits: int) -> str:
        """Which worlds, and how much they wanted."""
        status = self.engine.array("status").numpy()
        worlds = np.flatnonzero(status & bits)
        contacts = self.engine.array("contact_most").numpy()
        rows = self.engine.array("efc_most").numpy()
        have = self.capacity
        shown = "; ".join(
            f"world {w}: {contacts[w]} contacts of {have.contacts}, {rows[w]} constraint rows of {have.rows}"
            for w in worlds[:5]
        )
        more = f" and {len(worlds) - 5} more worlds" if len(worlds) > 5 else ""
        pairs = f" Near pairs do not fit into {have.pairs}." if bits & int(PAIR_OVERFLOW) else ""
        return f"{shown}{more}.{pairs}"

    def _tell(self, bits: int) -> None:
        """Warn or raise; what was told is forgotten, so that the next call tells only what is new."""
        text = f"more contacts or constraint rows than there is room for: {self._numbers(bits)}"
        status = self.engine.array("status")
        wp.launch(_clear_bits, dim=status.shape[0], inputs=[status, bits], device=self.engine.device)
        if self.on_overflow == "raise":
            raise SimulationError(f'{text} Use on_overflow="grow" to make room as needed')
        text = f'{text} What found no room was left out; on_overflow="grow" makes room'
        warnings.warn(text, RuntimeWarning, stacklevel=4)

    # ------------------------------------------------------------------------------------------ growing

    def kept_names(self) -> list[str]:
        """Arrays that are kept before every call, to go back to; none where there is nothing to watch."""
        if not self.needed or self.on_overflow != "grow":
            return []
        return [field.name for struct in (State, Marks) for field in fields_of(struct).values()]

    def _save(self) -> None:
        """Keep the state."""
        engine = self.engine
        if self._keep is None or self._version != engine.version:
            if not self._kept:
                state, arrays = room_for(engine, State)
                marks, more = room_for(engine, Marks)
                self._kept, self._saved = (state, marks), {**arrays, **more}
            inputs = [engine.layout.fill(State), engine.layout.fill(Marks), *self._kept]
            self._keep, self._version = repeatable(keep_all, engine.nworld, inputs, engine.device), engine.version
        self._keep()

    def _restore(self) -> None:
        """Put the state back, flags of trouble included."""
        for name, kept in self._saved.items():
            if kept.size:
                wp.copy(self.engine.array(name), kept)

    def _make_room(self, bits: int) -> None:
        """Lengthen the lists that were too short, by what was wanted of them."""
        have = self.capacity
        layout = self.engine.layout
        wanted = dict(layout.capacity)
        if have.most_contacts > have.contacts:
            wanted["nconmax"] = _with_spare(have.most_contacts)
        unseen = max(0, have.most_contacts - have.contacts)  # contacts that found no room have asked for no rows yet
        rows = have.most_rows + unseen * rows_per_contact(self.engine.present.to("recipe"))
        if rows > have.rows:
            wanted["nefcmax"] = _with_spare(rows)
        if bits & int(PAIR_OVERFLOW):
            wanted["npairmax"] = 2 * have.pairs
        if wanted == layout.capacity:
            raise SimulationError(f"no room for contacts or rows, though none more are wanted: {self._numbers(bits)}")
        layout.resize(wanted | self.engine.scratch_sizes(wanted["nefcmax"]))
        self.engine.rebuild()
        self.engine.recipes |= self.engine.decide()  # groups that hold the rows


def _with_spare(n: int) -> int:
    return in_sixteens(SPARE * n)


def _holds_all(engine) -> bool:
    """Is there a place for every contact that any pair of geoms could make, and for every row?"""
    m, room, detector = engine.present.to("recipe"), engine.layout.capacity, engine.collider.detector
    contacts = 0
    if engine.collider.active:
        if detector.build.sweep:
            return False
        contacts = int(detector.slots.sum())
        if room["nconmax"] < contacts:
            return False
    return room["nefcmax"] >= constraint_rows(m) + rows_per_contact(m) * contacts
