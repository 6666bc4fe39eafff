"""Room for contacts and constraint rows: what is used, and what happens when it does not suffice.

The lists of a world have fixed lengths, first guessed from the model. A world that wants more sets a bit of its status;
the bits are looked at after every call of `forward` or `step`, and nothing is ever dropped in silence:

    "grow"    make room and run again (the default): on the CPU from the state before the call, which is kept for that;
              on CUDA a world that finds no room waits, and is run by itself when there is some. Whether any waits is
              known before a step is half done, so the host goes on while the rest of it runs
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
from kinema.convex.constraint.place import place_rows, wait_for_room
from kinema.convex.data import Marks, State
from kinema.convex.flex.tables import has_flexes
from kinema.convex.last_good import keep_all, room_for
from kinema.convex.resting import lay_down
from kinema.convex.stage import Stage
from kinema.convex.status import OVERFLOW as OVERFLOW_BITS
from kinema.convex.status import PAIR_OVERFLOW, WAITING
from kinema.engine import Capacity
from kinema.errors import BuildError, SimulationError, did_you_mean

OVERFLOW = int(OVERFLOW_BITS)
WAIT = Stage(wait_for_room)
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


@wp.kernel(enable_backward=False)
def _waiting_bits(status: wp.array(dtype=int), bits: wp.array(dtype=int)):
    word = status[wp.tid()]
    if (word & WAITING) != 0:
        wp.atomic_or(bits, 0, word)


@wp.kernel(enable_backward=False)
def _call_waiting(status: wp.array(dtype=int), mask: wp.array(dtype=int)):
    """Which worlds wait; they are to wait no longer."""
    w = wp.tid()
    mask[w] = 0
    if (status[w] & WAITING) != 0:
        mask[w] = 1
        status[w] = status[w] & ~(WAITING | OVERFLOW_BITS)


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
        self._seen = wp.zeros(1, dtype=int, device="cpu", pinned=engine.device.is_cuda)  # bits of worlds that wait
        self._event: wp.Event | None = None
        self._mask: wp.array | None = None

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

    # ------------------------------------------------------------------------------------------ waiting, on CUDA

    @property
    def lets_wait(self) -> bool:
        """Do worlds that find no room in a step wait for it?"""
        engine = self.engine
        if not (self.needed and self.on_overflow == "grow" and engine.device.is_cuda and engine.substeps == 1):
            return False
        return not engine.device.is_capturing and not engine.has_host("step")

    def step(self, nstep: int) -> None:
        """Advance every world; those that find no room are run by themselves once there is some."""
        for _ in range(nstep):
            self.settle(self._step())

    def settle(self, bits: int) -> None:
        """Make the room that worlds wait for, and let them take the step that the others have taken."""
        attempts = 0
        while bits:
            if attempts == ATTEMPTS:
                raise SimulationError(f"contacts or rows still find no room: {self._numbers(OVERFLOW)}")
            attempts += 1
            self._make_room(bits)
            bits = self._step_waiting()

    @property
    def seen(self) -> int:
        """Bits of the worlds that wait, once the first piece of a step has ended."""
        return int(self._seen.numpy()[0]) & OVERFLOW

    def pieces(self) -> list[tuple[tuple[Stage, ...], Callable[[], None] | None]] | None:
        """A step in pieces for a graph of somebody else's, each with something to do after it; None: it cannot be cut.

        Between the two it is known who waits (`seen`); where nobody ever does, there is one.
        """
        if self.lets_wait:
            return self._halves()
        return None if self.needed else [(self.engine.recipes["step"] * self.engine.substeps, None)]

    def _step(self) -> int:
        """One step; returns the bits of worlds that wait, while the second half may still run."""
        engine = self.engine
        self._event = self._event or wp.Event(engine.device)
        first, second = engine.graphs_of("watched step", self._halves)
        wp.capture_launch(first)
        engine.device.stream.record_event(self._event)
        wp.capture_launch(second)
        wp.synchronize_event(self._event)
        return self.seen

    def _halves(self) -> list[tuple[tuple[Stage, ...], Callable[[], None] | None]]:
        """The stages up to where it is known who finds no room, and the rest; and what to do after the former."""
        for kernel in (_call_waiting, lay_down):  # loaded before worlds wait: that takes longer than many steps
            kernel.module.load(self.engine.device, 256)
        stages = self.engine.recipes["step"]
        cut = next(k for k, stage in enumerate(stages) if stage.func is place_rows) + 1
        return [((*stages[:cut], WAIT), self._look_who_waits), (stages[cut:], None)]

    def _look_who_waits(self) -> None:
        status = self.engine.layout.arrays["status"]
        self._bits.zero_()
        wp.launch(_waiting_bits, dim=status.shape[0], inputs=[status, self._bits], device=self.engine.device)
        wp.copy(self._seen, self._bits)

    def _step_waiting(self) -> int:
        engine, status = self.engine, self.engine.layout.arrays["status"]
        if self._mask is None:
            self._mask = wp.zeros_like(status)
        wp.launch(_call_waiting, dim=status.shape[0], inputs=[status, self._mask], device=engine.device)
        with engine.only(self._mask):
            return self._step()

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
        self.engine.layout.arrays["sleep_settled"].zero_()  # what sleeping trees keep is of another state

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
        had = layout.capacity
        old = layout.resize(wanted | self.engine.scratch_sizes(wanted["nefcmax"]))
        self.engine.rebuild(detection=wanted.get("npairmax") != had.get("npairmax"))
        layout.carry(old)  # worlds that had room are not run again
        self.engine.recipes |= self.engine.decide()  # groups that hold the rows


def _with_spare(n: int) -> int:
    return in_sixteens(SPARE * n)


def _holds_all(engine) -> bool:
    """Is there a place for every contact that any pair of geoms could make, and for every row?"""
    m, room, detector = engine.present.to("recipe"), engine.layout.capacity, engine.collider.detector
    contacts = 0
    if has_flexes(m):
        return False  # how many contacts flexes could make is not known
    if engine.collider.active:
        if detector.build.sweep:
            return False
        contacts = int(detector.slots.sum())
        if room["nconmax"] < contacts:
            return False
    return room["nefcmax"] >= constraint_rows(m) + rows_per_contact(m) * contacts
