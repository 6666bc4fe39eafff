"""What a task sees of a simulation: the arrays of all worlds, by MuJoCo's names, in the library the task is run with.

With torch every array is the engine's own memory, handed over by DLPack's rules: nothing is copied, on a GPU nothing
passes through the host, and what is written into an array is seen by the next step. NumPy arrays are the engine's own
memory on the CPU and copies on a GPU. On a GPU, Warp's stream and torch's default one wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

from kinema.errors import BuildError, UnknownKey, did_you_mean, need
from kinema.simulation import Simulation
from kinema.simulation.named import ids_of

BACKENDS = ("numpy", "torch")


class Worlds:
    """Arrays of all worlds: `worlds.qpos` is (count, nq), `worlds.xpos` (count, nbody, 3), ...

    Attributes:
        xp: The library arrays belong to, numpy or torch. Tasks written with functions both have (`xp.cos`, `xp.where`,
            `xp.stack(…, -1)`, `a.sum(-1)`, …) run with either.
        count: Number of worlds.
        model: The compiled model, mjModel's names.
        dt: Seconds that an action is held for.

    Args:
        sim: The simulation.
        backend: "numpy" or "torch".
    """

    def __init__(self, sim: Simulation, backend: str = "numpy"):
        if backend not in BACKENDS:
            raise BuildError(f"backend={backend!r}: expected numpy or torch{did_you_mean(str(backend), BACKENDS)}")
        self.sim = sim
        self.backend = backend
        self.xp: ModuleType = np if backend == "numpy" else need("torch", "torch", 'Environments with backend="torch"')
        self.count = sim.worlds
        self.dt = float(sim.model.opt.timestep)
        self.model = sim.model
        self.device = None if backend == "numpy" else wp.device_to_torch(sim.engine.device)
        self._shared = backend == "torch" or not sim.engine.device.is_cuda
        self._seen: dict[str, tuple[wp.array, Any]] = {}
        self._lent: dict[int, tuple[wp.array, Any]] = {}
        self._defaults: dict[str, Any] = {}
        self._spans: tuple[Any, Any] | None = None
        self._age: wp.array | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        engine = self.sim.engine
        if name not in engine.names:
            known = [known for known in engine.names if "_" not in known[:1]]
            raise UnknownKey(f"worlds have no array {name!r}{did_you_mean(name, known)}")
        if not self._shared:
            return engine.read(name)
        array = engine.array(name)
        held = self._seen.get(name)
        if held is None or held[0] is not array:  # the engine makes some anew as lists of contacts grow
            held = self._seen[name] = (array, self._hand_over(array, name))
        return held[1]

    @property
    def age(self) -> Any:
        """Actions made in each world's present episode, (count,) integers: 0 where one has just begun."""
        return self.full(0, "int64") if self._age is None else self.share(self._age)

    def share(self, array: wp.array) -> Any:
        """An array on the simulation's device as one of this library: the same memory, or a copy for NumPy on a GPU."""
        if not self._shared:
            return array.numpy()
        held = self._lent.get(id(array))
        if held is None:
            held = self._lent[id(array)] = (array, self._in_library(array))
        return held[1]

    def fill(self, array: wp.array, values: Any) -> None:
        """Write values of this library, one a world, into an array on the simulation's device."""
        if self._shared:
            self.share(array)[...] = values
        else:
            array.assign(np.broadcast_to(np.asarray(values, wp.dtype_to_numpy(array.dtype)), array.shape))

    def _in_library(self, array: wp.array) -> Any:
        if self.backend == "numpy":
            return array.numpy()
        with self.xp.inference_mode(False):  # it may be written outside the mode it is first asked for in
            return wp.to_torch(array)

    def _hand_over(self, array: wp.array, name: str) -> Any:
        shared = self._in_library(array)
        shape = self.sim.engine.shape(name)
        if tuple(shared.shape) == shape:
            return shared
        return shared.view(shape) if self.backend == "torch" else shared.reshape(shape, copy=False)  # never a copy

    # ------------------------------------------------------------------------------------------ make, read, write

    def array(self, values: Any, dtype: str = "float32") -> Any:
        """Values from anywhere as an array of this library, on this device."""
        if hasattr(values, "detach"):
            values = values.detach()  # the simulation is no part of the network's graph
            values = values.cpu().numpy() if self.backend == "numpy" else values
        if self.backend == "numpy":
            return np.asarray(values, dtype=dtype)
        kind = getattr(self.xp, dtype)
        if isinstance(values, np.ndarray) and not values.flags.writeable:
            values = values.copy()  # torch has no arrays that cannot be written
        return self.xp.as_tensor(values, dtype=kind, device=self.device)

    def full(self, value: Any, dtype: str = "float32") -> Any:
        """One value a world, (count,)."""
        if self.backend == "numpy":
            return np.full(self.count, value, dtype=dtype)
        return self.xp.full((self.count,), value, dtype=getattr(self.xp, dtype), device=self.device)

    def default(self, name: str) -> Any:
        """The model's own values of a field such as qpos0, body_mass, actuator_ctrlrange: one world's, (n, ...)."""
        if name not in self._defaults:
            owner = self.model if hasattr(self.model, name) else self.model.opt
            self._defaults[name] = self.array(np.asarray(getattr(owner, name)))
        return self._defaults[name]

    def id(self, kind: str, name: str) -> int:
        """Index of a named body, joint, geom, site, actuator, sensor, ..."""
        return ids_of(self.model, kind, name)[0][0]

    def qpos_index(self, joint: str) -> int:
        """Where a joint's position begins in qpos."""
        return int(self.model.jnt_qposadr[self.id("joint", joint)])

    def qvel_index(self, joint: str) -> int:
        """Where a joint's velocity begins in qvel."""
        return int(self.model.jnt_dofadr[self.id("joint", joint)])

    def write(self, values: Mapping[str, Any], mask: Any = None) -> None:
        """Write arrays, each (count, ...) or one world's, into the worlds where the mask is true (None: all)."""
        for name, value in values.items():
            target = getattr(self, name)
            value = self.array(value, str(target.dtype).removeprefix("torch."))
            try:
                value = self.xp.broadcast_to(value, target.shape)
            except (ValueError, RuntimeError):
                shape, given = tuple(target.shape), tuple(value.shape)
                raise BuildError(f"{name}: an array of shape {given} does not fit {shape} or {shape[1:]}") from None
            if not self._shared:
                chosen = slice(None) if mask is None else mask
                self.sim.engine.write(name, value[chosen], mask)
            elif mask is None:
                target[...] = value
            else:
                if self.backend == "numpy":
                    rows = np.flatnonzero(mask)
                    target[rows] = value[rows]
                else:
                    where = mask.reshape(-1, *[1] * (len(target.shape) - 1))
                    self.xp.where(where, value, target, out=target)

    def controls(self, action: Any) -> Any:
        """Actions in [-1, 1] as controls: the range of each actuator that has one, others as they are."""
        if self._spans is None:
            span, limited = self.default("actuator_ctrlrange"), self.default("actuator_ctrllimited") > 0
            middle, half = (span[:, 0] + span[:, 1]) / 2, (span[:, 1] - span[:, 0]) / 2
            none = self.xp.zeros_like(middle)
            self._spans = self.xp.where(limited, middle, none), self.xp.where(limited, half, none + 1)
        middle, half = self._spans
        return middle + half * action
