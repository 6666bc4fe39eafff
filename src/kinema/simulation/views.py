"""`sim.d` and `sim.m`: fields by MuJoCo's names; reading gives NumPy arrays, assignment writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import UnknownKey, did_you_mean
from kinema.model.mujoco_fields import model_fields

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation


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
