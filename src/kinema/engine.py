"""What an engine is: many worlds of one model, read, written and run by MuJoCo's names.

Whoever shows, records, trains on or spreads worlds knows this page and nothing behind it. Two rooms implement it side
by side: `convex` (Kinema's own physics) and `bridge` (the mujoco and mujoco-warp packages).

    arrays        engine.names, array(name) on the device, read(name) on the host: [world, ...], shaped as MuJoCo's
    lists         in_use(name): of contacts and constraint rows those that count, padded with zeros to the longest world
    inputs        what a program gives (state, controls, applied forces); everything else is computed
    parameters    numbers of the model that may change while it runs, and differ per world once expanded
    runs          step, forward, inverse; motion and poses compute a part, and nothing that a later step would notice
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import warp as wp


@dataclass(frozen=True)
class Capacity:
    """Lengths of the lists of every world, and the most any world has wanted so far.

    Attributes:
        contacts, rows, pairs: Lengths; pairs is that of the broad phase's list, 0 where there is no broad phase.
        most_contacts, most_rows: The largest numbers any world has wanted.
    """

    contacts: int
    rows: int
    pairs: int
    most_contacts: int
    most_rows: int


class LastGood(Protocol):
    """The last good state of every world, kept from call to call."""

    steps: wp.array
    """Steps asked for since, one number a world."""

    def keep(self, nstep: int) -> None:
        """Copy what is good, before nstep steps are taken."""

    def of_world(self, world: int) -> dict[str, np.ndarray]:
        """The last good state of a world, as arrays of one world."""


@runtime_checkable
class Engine(Protocol):
    """Runs worlds of one model.

    Attributes:
        source: The model: any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device of the arrays.
        threads: CPU threads that worlds are spread over.
        version: How often arrays have moved; a graph captured of an earlier version is of no use any more.
    """

    source: Any
    nworld: int
    device: wp.Device
    threads: int
    version: int

    # ------------------------------------------------------------------------------------------ arrays

    @property
    def names(self) -> Collection[str]:
        """Every array there is, by MuJoCo's name or, where MuJoCo has none, the engine's own."""

    @property
    def inputs(self) -> Collection[str]:
        """Arrays of mjData that a program may write; the others are computed."""

    @property
    def plugins(self) -> Sequence[str]:
        """Names of the instances of plugins that run."""

    def origin(self, name: str) -> tuple[str, list[str]]:
        """The function that writes a computed array ("" where nobody can tell), and the inputs it follows from."""

    def array(self, name: str) -> wp.array:
        """The device array of a field, [world, ...], up to date and kept so."""

    def current(self, name: str) -> wp.array:
        """The device array of a field, [world, ...], up to date now; what a later run does to it is not promised."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a field on the host: (nworld, ...), as MuJoCo shapes it; nothing is copied to know it."""

    def read(self, name: str) -> np.ndarray:
        """A field on the host, (nworld, ...), in the whole length of its list."""

    def in_use(self, name: str) -> np.ndarray:
        """A field on the host; of lists the entries that count, as many as the longest world has, zero beyond."""

    def write(self, name: str, value: Any, worlds: Any = None) -> None:
        """Write a field; the value is broadcast. Only the given worlds, when given (mask or indices)."""

    def put(self, values: Mapping[str, np.ndarray], worlds: Any = None, *, keep: str | None = None) -> None:
        """Write one world's values into the given worlds (mask, indices, or an array on the device)."""

    def bundle(self, struct: Any) -> Any:
        """An instance of a struct of arrays declared by their names (`convex.bundle`), each up to date."""

    def shapes(self) -> Any:
        """The geoms of all worlds where they are now, and what they are made of (`collide.bundles.Shapes`)."""

    # ------------------------------------------------------------------------------------------ parameters

    @property
    def parameters(self) -> Collection[str]:
        """Numbers of the model that the engine holds on the device."""

    @property
    def expanded(self) -> Collection[str]:
        """Parameters that differ per world."""

    def is_parameter(self, name: str) -> bool:
        """Is this a number of the model that may be changed, and may differ per world?"""

    def built(self, name: str) -> np.ndarray:
        """A parameter as the model says it, one world's."""

    def expand(self, name: str) -> None:
        """Let a parameter differ per world; every world starts with the present values."""

    def set_parameter(self, name: str, value: Any) -> None:
        """Write a parameter: for all worlds alike, or world by world once it is expanded."""

    def follow_on_device(self, name: str) -> None:
        """Let parameters of contacts follow one of geoms that was written to its array, without asking the host."""

    def set_option(self, name: str, value: int) -> None:
        """Change a switch of mjOption that is read as worlds run."""

    # ------------------------------------------------------------------------------------------ run

    def initial_state(self) -> dict[str, np.ndarray]:
        """One world's state as the model defines it."""

    def reset(self, worlds: Any = None) -> None:
        """Put worlds (all by default) at the model's initial state, and revive those that were frozen."""

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""

    def forward(self, worlds: wp.array | None = None) -> None:
        """Compute everything that follows from the state; nothing is advanced. Only the worlds of a mask, if given."""

    def inverse(self) -> None:
        """Compute qfrc_inverse from qpos, qvel and qacc."""

    def motion(self, worlds: wp.array | None = None) -> None:
        """Compute poses and velocities of bodies at the present state, no more; only of a mask's worlds, if given."""

    def poses(self) -> None:
        """Compute where everything is that can be seen: bodies, cameras, lights, tendons; and nothing else."""

    # ------------------------------------------------------------------------------------------ about itself

    @property
    def capacity(self) -> Capacity:
        """Room for contacts and rows, and the most that any world has wanted."""

    def set_side_stream(self, stream: wp.Stream) -> None:
        """Launch what runs beside the rest of a step on this stream, on CUDA."""

    def make_room(self, bits: int) -> None:
        """Lengthen the lists that worlds found too short (bits of status) within a graph, where nobody could look."""

    def memory(self) -> tuple[dict[str, int], dict[str, int]]:
        """Bytes by group: those that worlds share, and those of each world."""

    def last_good(self) -> LastGood | None:
        """Something that keeps the last good state of every world; None where another program holds the states."""
