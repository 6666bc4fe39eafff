"""An engine whose worlds another program runs: Kinema's arrays on this side, that program's on the other.

It is used as the convex engine is: the same arrays under the same names, [world, ...], float32. Around every run

    before    numbers of the state that were written since the last run are sent; untouched ones keep the other side's
              precision
    after     arrays that anybody has asked for are brought up to date, the others when they are asked for

Contacts and constraint rows are not brought over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.convex.bundle import Field, fields_of
from kinema.convex.capacity import Capacity
from kinema.convex.contact_parameters import declare
from kinema.convex.data import Data
from kinema.convex.engine import Engine
from kinema.convex.extension import NONE
from kinema.convex.layout import ALIASES, Layout
from kinema.convex.model import Model
from kinema.convex.reset import initial_state
from kinema.convex.status import BAD_STATE
from kinema.errors import BuildError
from kinema.model.mujoco_fields import data_fields, model_fields

INPUTS = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied",
          "eq_active", "mocap_pos", "mocap_quat", "userdata", "qacc")  # fmt: skip
"""What is sent: the state, and the acceleration that inverse dynamics starts from."""


class BridgeEngine(Engine):
    """The part that both programs have in common; what a subclass must say is at the end.

    Args:
        source: Any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device of the arrays on this side; None: the current one.
        threads: CPU threads to spread worlds over.
    """

    def __init__(self, source: Any, nworld: int = 1, *, device=None, threads: int = 1):
        if source.nplugin:
            raise BuildError("the model has plugins, which are Kinema's own: run it with the convex solver")
        self.source, self.nworld, self.device = source, nworld, wp.get_device(device)
        self.threads = max(1, min(threads, nworld))
        self.extension = NONE
        self._putters = {}
        self.layout = Layout(source, nworld, self.device, {})
        self._make()
        self._declare()
        self._sent: dict[str, np.ndarray] = {}
        self._stale: set[str] = set()
        self._asked: set[str] = set()
        self._changed: set[str] = set()
        self._set_status(np.zeros(nworld, dtype=np.int32))
        self._run_done()
        self.reset()

    def _declare(self) -> None:
        """Allocate the arrays of this side, those that the convex engine also has and the other side can fill."""
        for struct in (Data, Model):
            for var in struct.vars.values():
                for field in fields_of(var.type).values():
                    if self._is_offered(field):
                        self.layout.array(field)
        declare(self.layout)

    def _is_offered(self, field: Field) -> bool:
        if not all(isinstance(s, int) or hasattr(self.source, s) for s in field.size):
            return False  # of a list whose length is the convex engine's affair
        if field.kind == "data":
            return field.name == "status" or (field.name in data_fields() and self._has(field.name))
        return field.kind != "shared" and ALIASES.get(field.name, field.name) in model_fields()

    # ------------------------------------------------------------------------------------------ arrays

    def array(self, name: str) -> wp.array:
        """The device array of a field of mjModel's or mjData's, [world, ...], up to date."""
        array = self.layout.arrays[name]
        if name in self._stale:
            self._receive(name)
        self._asked.add(name)
        return array

    def set_parameter(self, name: str, value: Any) -> None:
        """Write a parameter of the model: for all worlds alike, or world by world once it is expanded."""
        super().set_parameter(name, value)
        self._changed.add(name)

    def _refill(self, name: str) -> None:
        twins = (name, *(twin for twin, of in ALIASES.items() if of == name))
        for twin in twins:
            self.layout.expanded[twin] = self.layout.expanded[name]
            del self.layout.arrays[twin]
        self._declare()
        self._changed.add(name)

    def _check_expandable(self, name: str) -> None:
        """The other side lets everything differ."""

    def _mix(self, name: str) -> bool:
        return False  # the other side mixes parameters of geoms itself

    def _check_sizes(self, size: np.ndarray) -> None:
        raise BuildError("geom_size is fixed: MuJoCo keeps bounds that follow from it")

    def _resize(self, name: str) -> None:
        """Nothing follows: sizes are fixed."""

    def set_option(self, name: str, value: int) -> None:
        """Change a switch of mjOption."""
        raise BuildError(f"{name} is fixed when a solver of MuJoCo's is made")

    def reset(self, worlds=None) -> None:
        """Put the given worlds (all by default) at the model's initial state, and revive those that were frozen."""
        values = initial_state(self.source, 0.0)
        self.put({name: value for name, value in values.items() if name in self.layout.arrays}, worlds)
        self._forget(range(self.nworld) if worlds is None else np.arange(self.nworld)[self._chosen(worlds)])

    def put(self, values, worlds=None, *, keep: str | None = None) -> None:
        """Write one world's values into the given worlds (all by default: mask, indices, or an array)."""
        for name, value in values.items():
            if np.size(value) and self.layout.arrays[name].size:
                self.write(name, value, None if worlds is None else self._chosen(worlds))

    @staticmethod
    def _chosen(worlds) -> np.ndarray:
        return worlds.numpy().astype(bool) if isinstance(worlds, wp.array) else np.asarray(worlds)

    def _set_status(self, status: np.ndarray) -> None:
        _fill(self.layout.arrays["status"], status)

    # ------------------------------------------------------------------------------------------ run

    def forward(self) -> None:
        """Compute everything that follows from the state; nothing is advanced."""
        self._run("forward", 1)

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        self._run("step", nstep)

    def inverse(self) -> None:
        """Compute qfrc_inverse from qpos, qvel and qacc."""
        self._run("inverse", 1)

    def motion(self) -> None:
        """Compute poses and velocities of bodies at the present state, and nothing else."""
        self._run("motion", 1)

    def _run(self, what: str, count: int) -> None:
        for name in sorted(self._changed - set(ALIASES)):
            self._put_parameter(name, self.read(name), name in self.layout.expanded)
        self._changed.clear()
        for name in INPUTS:
            if name in self.layout.arrays and name not in self._stale:
                self._send(name)
        status = np.array(self.layout.arrays["status"].numpy())
        found = self._compute(what, count, (status & int(BAD_STATE)) == 0)
        self._set_status(status | found)
        self._run_done()

    def _send(self, name: str) -> None:
        now = self.layout.arrays[name].numpy()
        before = self._sent.get(name)
        if before is None:
            worlds = np.arange(self.nworld)
        else:
            differs = ~((now == before) | ((now != now) & (before != before)))
            worlds = np.flatnonzero(differs.reshape(self.nworld, -1).any(axis=1))
        if len(worlds) and now.size:
            self._put(name, worlds, now[worlds])
            self._sent[name] = np.array(now)

    def _run_done(self) -> None:
        self._stale = {name for name in self.layout.arrays if name in data_fields()}
        for name in self._asked & self._stale:
            self._receive(name)

    def _receive(self, name: str) -> None:
        array = self.layout.arrays[name]
        if array.size:
            _fill(array, np.asarray(self._get(name)))
        if name in INPUTS:
            self._sent[name] = np.array(array.numpy())
        self._stale.discard(name)

    # ------------------------------------------------------------------------------------------ the other side

    def _make(self) -> None:
        """Make the other side's model and data."""
        raise NotImplementedError

    def _has(self, name: str) -> bool:
        """Whether the other side computes a field of mjData."""
        raise NotImplementedError

    def _get(self, name: str) -> np.ndarray:
        """A field of all worlds."""
        raise NotImplementedError

    def _put(self, name: str, worlds: np.ndarray, values: np.ndarray) -> None:
        """Write a field of some worlds."""
        raise NotImplementedError

    def _put_parameter(self, name: str, values: np.ndarray, per_world: bool) -> None:
        """Write a number of the model, (worlds, ...); the same in all worlds unless `per_world`."""
        raise NotImplementedError

    def _compute(self, what: str, count: int, well: np.ndarray) -> np.ndarray:
        """Run "step", "forward", "inverse" or "motion" in the worlds that are well; returns bits of their status."""
        raise NotImplementedError

    def _forget(self, worlds) -> None:
        """Forget what went wrong in worlds that were reset."""
        raise NotImplementedError

    @property
    def capacity(self) -> Capacity:
        """Room for contacts and rows, and the most that any world has wanted."""
        raise NotImplementedError


def _fill(array: wp.array, values: np.ndarray) -> None:
    """Write a whole array; on the CPU its memory is the host's."""
    if array.device.is_cpu:
        target = array.numpy()
        np.copyto(target, values.reshape(target.shape), casting="unsafe")
    else:
        target = array.numpy()
        array.assign(values.reshape(target.shape).astype(target.dtype))
