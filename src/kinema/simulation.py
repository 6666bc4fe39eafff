"""Simulation: load a model, run many worlds of it, read and write everything by MuJoCo's names.

    sim = Simulation("humanoid.xml", worlds=64)
    sim.set_state(qpos=start, ctrl=0.1)
    sim.step(100)
    sim.d.qpos            (64, nq)       what was computed, a leading axis of worlds, otherwise as mjData shapes it
    sim.m.body_mass       (nbody,)       the model; (64, nbody) once expanded
    sim.d.ctrl = action                  assignment writes

A world whose state stops being finite is frozen and flagged, and the others go on; `reset` revives it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.engine import Engine
from kinema.convex.status import BAD_PLUGIN, MEANING, PLUGIN_SHIFT
from kinema.errors import BuildError, PluginError, SimulationError, UnknownKey, did_you_mean
from kinema.model.mujoco_fields import model_fields

STATE = ("time", "qpos", "qvel", "act", "history", "plastic", "qacc_warmstart", "plugin_state", "ctrl", "qfrc_applied",
         "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat", "userdata")  # fmt: skip
"""All that must be saved; with the model it determines every later step."""

KEYFRAME = ("time", "qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


class Simulation:
    """Many worlds of one model.

    Args:
        source: Path of an MJCF file, XML text, an `mjcf.RootElement`, or any object with mjModel's attributes
            (compile's HostModel, a `mujoco.MjModel`).
        worlds: Number of worlds.
        device: Warp device such as "cpu" or "cuda:0"; None: the current one.
        threads: CPU threads to spread worlds over; None: one a core, where there are worlds enough.
        on_overflow: What to do when contacts find no room: "grow", "warn" or "raise"; `sim.engine.capacity` tells how
            much there is.
    """

    def __init__(
        self, source, worlds: int = 1, device=None, threads: int | None = None, *, on_overflow: str = "grow"
    ):  # fmt: skip
        if worlds < 1:
            raise BuildError(f"worlds={worlds}: a simulation needs at least one world")
        self.model = load(source)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
        threads = cores if threads is None else threads
        self.engine = Engine(self.model, worlds, device=device, threads=threads, on_overflow=on_overflow)
        self.m = ModelView(self)
        self.d = DataView(self)

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self.engine.nworld

    def __repr__(self) -> str:
        m = self.model
        return f"Simulation(worlds={self.worlds}, nq={m.nq}, nv={m.nv}, nu={m.nu}, device={str(self.engine.device)!r})"

    # ------------------------------------------------------------------------------------------ run

    def forward(self) -> None:
        """Compute everything that follows from the state; nothing is advanced."""
        self.engine.forward()

    def step(self, nstep: int = 1) -> None:
        """Advance every world by nstep time steps."""
        self.engine.step(nstep)

    def inverse(self) -> None:
        """Inverse dynamics: qfrc_inverse, the force that makes the acceleration qacc at the present state."""
        self.engine.inverse()

    # ------------------------------------------------------------------------------------------ state

    def reset(self, mask=None, *, keyframe: int | str | None = None) -> None:
        """Put worlds back to the initial state, or to a keyframe, and revive those that were frozen.

        Args:
            mask: Which worlds: booleans, one a world, or indices, or an integer array on the device; None: all.
            keyframe: Index or name of a keyframe of the model.
        """
        worlds = self._worlds(mask)
        self.engine.reset(worlds)
        if keyframe is not None:
            key = self._keyframe(keyframe)
            fields = {name: getattr(self.model, f"key_{_KEY_NAMES.get(name, name)}") for name in KEYFRAME}
            values = {name: np.asarray(rows)[key] for name, rows in fields.items()}
            values["mocap_pos"] = np.reshape(values["mocap_pos"], (-1, 3))
            values["mocap_quat"] = np.reshape(values["mocap_quat"], (-1, 4))
            self.engine.put(values, worlds, keep=f"keyframe {key}")

    def set_state(self, *, worlds=None, **values) -> None:
        """Write any part of the state, in MuJoCo's conventions; one value is given to all worlds.

        Args:
            worlds: Which worlds: booleans or indices; None: all.
            values: Fields of the state by name: qpos, qvel, act, ctrl, mocap_pos, time, ...
        """
        for name in values:
            if name not in STATE:
                raise UnknownKey(f"{name!r} is not part of the state{did_you_mean(name, STATE)}: {', '.join(STATE)}")
        for name, value in values.items():
            self._write(name, value, self._worlds(worlds))

    def get_state(self) -> dict[str, np.ndarray]:
        """All that must be saved, by name; `set_state(**saved)` puts it back."""
        return {name: self.engine.read(name).copy() for name in STATE}

    def array(self, name: str) -> wp.array:
        """The array of a field on the device, indexed [world, ...], for kernels and for zero-copy exchange."""
        arrays = self.engine.layout.arrays
        if name not in arrays:
            raise UnknownKey(f"no array named {name!r}{did_you_mean(name, arrays)}")
        return arrays[name]

    def trouble(self) -> dict[int, list[str]]:
        """Worlds in which something went wrong since they were reset, and what."""
        status = self.engine.read("status")
        return {
            int(world): [self._meaning(bit, int(status[world])) for bit in MEANING if status[world] & bit]
            for world in np.flatnonzero(status)
        }

    def _meaning(self, bit: int, status: int) -> str:
        """What a bit of a world's status says; of trouble with a plugin, which."""
        if bit != BAD_PLUGIN:
            return MEANING[bit]
        instance = status >> PLUGIN_SHIFT
        return f"plugin {self.engine.extension.names[instance]} (instance {instance}) gave a number that is not finite"

    def check(self) -> None:
        """Raise SimulationError, or PluginError where a plugin is to blame, if something went wrong in any world."""
        found = self.trouble()
        if found:
            first = "; ".join(f"world {world}: {', '.join(what)}" for world, what in list(found.items())[:5])
            more = f" and {len(found) - 5} more worlds" if len(found) > 5 else ""
            broken = np.any(self.engine.read("status") & BAD_PLUGIN)
            error = PluginError if broken else SimulationError
            raise error(f"{first}{more}. reset(mask) revives worlds; smaller time steps often help")

    # ------------------------------------------------------------------------------------------ parameters

    def expand(self, *names: str) -> None:
        """Let parameters of the model differ per world; then write them: `sim.m.body_mass = values`."""
        for name in names:
            if not self.engine.is_parameter(name):
                known = [known for known in self.engine.layout.parameters if self.engine.is_parameter(known)]
                raise UnknownKey(f"{name!r} is no parameter that may differ per world{did_you_mean(name, known)}")
            self.engine.expand(name)

    def plugin_parameter(self, plugin: str, name: str) -> np.ndarray:
        """A number of the configuration of all instances of a plugin, (worlds, instances[, n])."""
        from kinema.plugins.parameters import read_parameter  # the plugin layer is imported on use

        return read_parameter(self.engine, plugin, name)

    def set_plugin_parameter(self, plugin: str, name: str, value) -> None:
        """Write a number of a plugin's configuration: anything that fits (worlds, instances[, n])."""
        from kinema.plugins.parameters import write_parameter

        write_parameter(self.engine, plugin, name, value)

    def recompute(self) -> None:
        """Compute again what derives from the model's parameters (weights, lengths, masses of subtrees), per world."""
        from kinema.compile.constants import derived_constants

        expanded = self.engine.layout.expanded
        alike = not expanded
        worlds = [derived_constants(_Numbers(self, w)) for w in range(1 if alike else self.worlds)]
        for name in DERIVED:
            if not self.engine.is_parameter(name) or np.size(worlds[0][name]) == 0:
                continue
            values = np.stack([found[name] for found in worlds])
            if alike or (np.ptp(values, axis=0).max() == 0 and name not in expanded):
                self.engine.set_parameter(name, values[0])
            else:
                self.engine.expand(name)
                self.engine.set_parameter(name, values)

    # ------------------------------------------------------------------------------------------ inside

    def _worlds(self, mask):
        if mask is None or isinstance(mask, wp.array):
            return mask
        mask = np.asarray(mask)
        if mask.dtype == bool and mask.shape != (self.worlds,):
            raise BuildError(f"mask of shape {mask.shape}: expected one boolean a world, ({self.worlds},)")
        return mask

    def _write(self, name: str, value, worlds=None) -> None:
        shape = self.engine.read(name).shape
        count = shape[:1] if worlds is None else np.empty(shape[0])[worlds].shape
        value = np.asarray(value)
        try:
            np.broadcast_to(value, (*count, *shape[1:]))
        except ValueError:
            raise BuildError(
                f"{name}: an array of shape {value.shape} does not fit {(*count, *shape[1:])} or {shape[1:]}"
            ) from None
        self.engine.write(name, value, worlds)

    def _keyframe(self, keyframe: int | str) -> int:
        if isinstance(keyframe, str):
            return name_to_id(self.model, "key", keyframe)
        if not 0 <= keyframe < self.model.nkey:
            raise UnknownKey(f"keyframe {keyframe}: the model has {self.model.nkey}")
        return keyframe


_KEY_NAMES = {"mocap_pos": "mpos", "mocap_quat": "mquat"}

DERIVED = (
    "body_subtreemass", "dof_M0", "tendon_length0", "actuator_length0", "body_invweight0", "dof_invweight0",
    "tendon_invweight0", "actuator_acc0", "cam_pos0", "cam_poscom0", "cam_mat0", "light_pos0", "light_poscom0",
    "light_dir0",
)  # fmt: skip
"""Parameters that follow from others by a dynamics pass at qpos0."""


class _View:
    """Fields by name; assignment writes."""

    def __init__(self, sim: Simulation):
        object.__setattr__(self, "_sim", sim)

    def _names(self) -> list[str]:
        raise NotImplementedError

    def __dir__(self) -> list[str]:
        return sorted(self._names())

    def _unknown(self, what: str, name: str) -> UnknownKey:
        return UnknownKey(f"{what} has no field {name!r}{did_you_mean(name, self._names())}")


class DataView(_View):
    """What was computed, under mjData's names, with a leading axis of worlds. Reading gives a read-only copy."""

    def _names(self) -> list[str]:
        engine = self._sim.engine
        return [name for name in engine.layout.arrays if not engine.is_parameter(name) and name not in model_fields()]

    def __getattr__(self, name: str) -> np.ndarray:
        engine = self._sim.engine
        if name.startswith("__") or name not in engine.layout.arrays or engine.is_parameter(name):
            raise self._unknown("d", name)
        values = np.array(engine.read(name))
        values.flags.writeable = False  # writing into a copy would be lost
        return values

    def __setattr__(self, name: str, value) -> None:
        if name not in self._names():
            raise self._unknown("d", name)
        self._sim._write(name, value)


class ModelView(_View):
    """The model, under mjModel's names; parameters that were expanded have a leading axis of worlds."""

    def _names(self) -> list[str]:
        return [name for name, field in model_fields().items() if field.group in ("size", "array")]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        engine = self._sim.engine
        if name == "opt":
            return OptionView(self._sim)
        if name in engine.layout.parameters:
            values = np.array(engine.read(name))
            return values if name in engine.layout.expanded else values[0]
        try:
            return getattr(self._sim.model, name)
        except AttributeError:
            raise self._unknown("m", name) from None

    def __setattr__(self, name: str, value) -> None:
        if not self._sim.engine.is_parameter(name):
            raise UnknownKey(f"m.{name} cannot be written while running{did_you_mean(name, self._names())}")
        self._sim.engine.set_parameter(name, value)


class OptionView(_View):
    """mjOption; physical quantities (gravity, timestep, density, ...) can be written, and expanded by their names."""

    def _names(self) -> list[str]:
        return [name for name, field in model_fields().items() if field.group == "option"]

    def __getattr__(self, name: str) -> Any:
        engine = self._sim.engine
        if name in engine.layout.parameters:
            values = np.array(engine.read(name))
            return values if name in engine.layout.expanded else values[0]
        try:
            return getattr(self._sim.model.opt, name)
        except AttributeError:
            raise self._unknown("m.opt", name) from None

    def __setattr__(self, name: str, value) -> None:
        if not self._sim.engine.is_parameter(name):
            raise UnknownKey(f"m.opt.{name} is fixed when the simulation is made{did_you_mean(name, self._names())}")
        self._sim.engine.set_parameter(name, value)


class _Numbers:
    """One world's model as the host sees it: the device's parameters over the source's fields, in float64."""

    def __init__(self, sim: Simulation, world: int):
        self._sim, self._world = sim, world
        names = [n for n, field in model_fields().items() if field.group == "option" and hasattr(sim.model.opt, n)]
        self.opt = SimpleNamespace(**{name: self._value(name, sim.model.opt) for name in names})

    def _value(self, name: str, owner) -> Any:
        source = getattr(owner, name)
        engine = self._sim.engine
        if name not in engine.layout.parameters:
            return source
        values = engine.read(name)[self._world]
        exact = np.asarray(source, dtype=float)
        return np.where(values == exact.astype(np.float32), exact, values)  # untouched ones keep their float64

    def __getattr__(self, name: str) -> Any:
        return self._value(name, self._sim.model)


def load(source) -> Any:
    """An object with mjModel's attributes, from whatever describes a model."""
    if hasattr(source, "qpos0") and hasattr(source, "opt"):
        return source
    from kinema.compile import compile_model

    if isinstance(source, str | Path | os.PathLike) or hasattr(source, "to_xml") or hasattr(source, "tag"):
        return compile_model(source)
    kind = type(source).__name__
    raise BuildError(f"cannot simulate {kind}: give a path, XML text, an mjcf document or a compiled model")


def name_to_id(model, kind: str, name: str) -> int:
    """Id of a named object of a compiled model."""
    if hasattr(model, "names") and callable(model.names):
        return model.id(kind, name)
    names: Mapping[int, str] = {i: getattr(model, kind)(i).name for i in range(getattr(model, f"n{kind}"))}
    for i, known in names.items():
        if known == name:
            return i
    raise UnknownKey(f"no {kind} named {name!r}{did_you_mean(name, names.values())}")
