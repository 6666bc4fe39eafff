"""An engine whose worlds another program runs: Kinema's arrays on this side, that program's on the other.

It stands beside the convex engine (`kinema.engine`): the same arrays under the same names, [world, ...], float32.
Around every run

    before    numbers of the state that were written since the last run are sent; untouched ones keep the other side's
              precision
    after     arrays that anybody has asked for are brought up to date, the others when they are asked for

Contacts and constraint rows are not brought over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from kinema.collide import upload
from kinema.collide.bundles import Shapes
from kinema.convex.named import NamedArrays, mirrored
from kinema.convex.status import BAD_STATE
from kinema.devices import device_named
from kinema.engine import Capacity
from kinema.errors import BuildError
from kinema.model.mujoco_fields import data_fields, model_fields

INPUTS = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "ctrl", "qfrc_applied", "xfrc_applied",
          "eq_active", "mocap_pos", "mocap_quat", "userdata", "qacc")  # fmt: skip
"""What is sent: the state, and the acceleration that inverse dynamics starts from."""


class BridgeEngine(NamedArrays):
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
        device = device_named(device)
        self.threads = max(1, min(threads, nworld))
        self._make(source, nworld, device)
        super().__init__(source, nworld, device, mirrored(source, nworld, device, self._has))
        self._sent: dict[str, np.ndarray] = {}
        self._stale: set[str] = set()
        self._asked: set[str] = set()
        self._changed: set[str] = set()
        self._shapes: Shapes | None = None
        self._set_status(np.zeros(nworld, dtype=np.int32))
        self._run_done()
        self.reset()

    # ------------------------------------------------------------------------------------------ arrays

    def _current(self, name: str) -> wp.array:
        array = self.layout.arrays[name]
        if name in self._stale:
            self._receive(name)
        self._asked.add(name)
        return array

    def set_parameter(self, name: str, value: Any) -> None:
        """Write a parameter of the model: for all worlds alike, or world by world once it is expanded."""
        self._check_expandable(name)
        super().set_parameter(name, value)
        self._changed.add(name)

    def _refill(self, name: str) -> None:
        super()._refill(name)
        self._changed.add(name)

    def _check_expandable(self, name: str) -> None:
        if name == "geom_size":
            raise BuildError("geom_size is fixed: MuJoCo keeps bounds that follow from it")

    def shapes(self) -> Shapes:
        """The geoms of all worlds where they are now, and what they are made of."""
        xpos, xmat, size = (self.current(name) for name in ("geom_xpos", "geom_xmat", "geom_size"))
        if self._shapes is None:
            with wp.ScopedDevice(self.device):
                geoms = upload.geoms(self.source, self.nworld, xpos, xmat, size)
                made = upload.meshes(self.source), upload.height_fields(self.source), upload.settings(self.source)
            self._shapes = Shapes(geoms, *made)
        return self._shapes

    def may_differ(self, name: str, value: np.ndarray) -> bool:
        """Whether a field of the model may have these values in some worlds and others in others."""
        return name in self.parameters and name != "geom_size"

    def depends(self) -> set[str]:
        """The model's fields that the other side has: all."""
        return {name for name, field in model_fields().items() if field.group == "array"}

    def memory(self) -> tuple[dict[str, int], dict[str, int]]:
        """Nobody knows: the arrays are another program's."""
        raise BuildError("memory is told of Kinema's own arrays: it needs solver='convex'")

    def follow_on_device(self, name: str) -> None:
        """The other side is told before it runs."""
        self._changed.add(name)

    def set_side_stream(self, stream: wp.Stream) -> None:
        """The other side has its own."""

    def make_room(self, bits: int) -> None:
        """The other side makes its own."""

    def last_good(self) -> None:
        """The other side holds the states."""
        return None

    def set_option(self, name: str, value: int) -> None:
        """Change a switch of mjOption."""
        raise BuildError(f"{name} is fixed when a solver of MuJoCo's is made")

    def reset(self, worlds=None) -> None:
        """Put the given worlds (all by default) at the model's initial state, and revive those that were frozen."""
        values = self.initial_state()
        self.put({name: value for name, value in values.items() if name in self.names}, worlds)
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

    def forward(self, worlds: wp.array | None = None) -> None:
        """Compute everything that follows from the state; nothing is advanced. Only the worlds of a mask, if given."""
        self._run("forward", 1, worlds)

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        self._run("step", nstep)

    def inverse(self) -> None:
        """Compute qfrc_inverse from qpos, qvel and qacc."""
        self._run("inverse", 1)

    def motion(self, worlds: wp.array | None = None) -> None:
        """Compute poses and velocities of bodies at the present state, no more; only of a mask's worlds, if given."""
        self._run("motion", 1, worlds)

    def poses(self) -> None:
        """Compute where everything is that can be seen, and nothing else."""
        self._run("poses", 1)

    def _run(self, what: str, count: int, worlds: wp.array | None = None) -> None:
        for name in sorted(self._changed & set(self.parameters)):
            self._put_parameter(name, self.read(name), name in self.expanded)
        self._changed.clear()
        for name in INPUTS:
            if name in self.layout.arrays and name not in self._stale:
                self._send(name)
        status = np.array(self.layout.arrays["status"].numpy())
        chosen = True if worlds is None else self._chosen(worlds)
        found = self._compute(what, count, ((status & int(BAD_STATE)) == 0) & chosen)
        self._set_status(status | np.where(chosen, found, 0))
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

    def _make(self, source: Any, nworld: int, device: wp.Device) -> None:
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
        """Run "step", "forward", "inverse", "motion" or "poses" where worlds are well; gives bits of their status."""
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
    if array.device is not None and array.device.is_cpu:
        target = array.numpy()
        np.copyto(target, values.reshape(target.shape), casting="unsafe")
    else:
        target = array.numpy()
        array.assign(values.reshape(target.shape).astype(target.dtype))
