"""`sim.d` and `sim.m`: fields by MuJoCo's names; what is read can be written (values.py), and assignment writes.

What may be written is what a program gives: of mjData the state, controls and applied forces, of mjModel the numbers
that kernels read as they run. Everything else is computed, or fixed when the simulation is made, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.model.mujoco_fields import model_fields
from kinema.mujoco_enums import Sensor
from kinema.simulation.contact import contact_records
from kinema.simulation.values import Values, put

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation


class _View:
    """Fields by name; assignment writes."""

    _sim: Any
    _inputs: set[str]

    def __init__(self, sim: Simulation):
        object.__setattr__(self, "_sim", sim)

    def _names(self) -> list[str]:
        raise NotImplementedError

    def __dir__(self) -> list[str]:
        return sorted(self._names())

    def _unknown(self, what: str, name: str) -> UnknownKey:
        return UnknownKey(f"{what} has no field {name!r}{did_you_mean(name, self._names())}")


class DataView(_View):
    """What was computed, under mjData's names, with a leading axis of worlds.

    Contacts (`contact_pos`, ..., as records `contact`) and constraint rows (`efc_J`, ...) are as long as the longest
    list of any world, zero beyond a world's own `ncon` or `nefc`.
    """

    def _names(self) -> list[str]:
        engine = self._sim.engine
        return [name for name in engine.names if not engine.is_parameter(name) and name not in model_fields()]

    def __dir__(self) -> list[str]:
        return sorted([*self._names(), "contact"])

    def __init__(self, sim: Simulation):
        super().__init__(sim)
        object.__setattr__(self, "_inputs", set())  # fields that are known to be written by programs

    def _has(self, name: str) -> bool:
        engine = self._sim.engine
        return name in engine.names and not engine.is_parameter(name) and name not in model_fields()

    def __getattr__(self, name: str) -> Any:
        engine = self._sim.engine
        if name == "contact":
            return contact_records(engine)
        if name.startswith("__") or name not in engine.names or engine.is_parameter(name):
            raise self._unknown("d", name)

        def write(path: tuple, value: Any) -> None:
            now = np.array(engine.in_use(name))
            put(now, path, value)
            self._assign(name, now)

        return Values.of(engine.in_use(name), write)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._inputs:
            if name == "contact":
                raise UnknownKey("contact is computed: it cannot be assigned")
            if not self._has(name):
                raise self._unknown("d", name)
        self._assign(name, value)

    def _assign(self, name: str, value: Any) -> None:
        sim = self._sim
        if name not in self._inputs:
            if name in sim.engine.inputs:
                self._inputs.add(name)
            elif not (name == "sensordata" and self._keeps_readings(value)):
                raise UnknownKey(refusal(sim, name))
        sim._write(name, value)

    def _keeps_readings(self, value: Any) -> bool:
        """Whether all that a value changes of the sensors' readings are those of user sensors."""
        m, now = self._sim.model, self._sim.engine.read("sensordata")
        kinds = np.repeat(np.asarray(m.sensor_type), np.asarray(m.sensor_dim))
        computed = kinds != Sensor.USER  # MuJoCo leaves the numbers of these to programs
        try:
            given = np.broadcast_to(np.asarray(value, now.dtype), now.shape)
        except ValueError:
            return False
        return not computed.all() and np.array_equal(given[:, computed], now[:, computed], equal_nan=True)


def refusal(sim: Simulation, name: str) -> str:
    """Why a computed field cannot be assigned, and what to assign instead."""
    if name == "status":
        return "status is computed: it cannot be assigned; reset(mask) revives worlds"
    if name == "sensordata":
        has_own = Sensor.USER in np.asarray(sim.model.sensor_type)
        own = "; user sensors can: sim.sensor(name).data = ..." if has_own else ""
        return f"sensordata is computed: it cannot be assigned{own}"
    by, inputs = sim.engine.origin(name)
    inputs = [known for known in inputs if 0 not in sim.engine.shape(known)]
    how = f" by {by}()" if by else ""
    instead = f" Assign what it follows from: {', '.join(inputs)}" if inputs else ""
    return f"{name} is computed{how}: it cannot be assigned.{instead}"


class _ModelPart(_View):
    """Numbers of the model, one world's; parameters that were expanded have a leading axis of worlds."""

    _title = "m"

    def _source(self) -> Any:
        return self._sim.model

    def _fixed(self, name: str) -> str:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        engine = self._sim.engine
        if name in engine.parameters:
            found = self._now(name)
            return Values.of(found, self._writer(name)) if found.ndim else found[()]
        try:
            found = getattr(self._source(), name)
        except AttributeError:
            raise self._unknown(self._title, name) from None
        return Values.of(found, self._writer(name)) if isinstance(found, np.ndarray) else found

    def _now(self, name: str) -> np.ndarray:
        engine = self._sim.engine
        values = engine.read(name)
        return values if name in engine.expanded else values[0]

    def _writer(self, name: str) -> Callable[[tuple, Any], None]:
        def write(path: tuple, value: Any) -> None:
            self._check(name)
            now = np.array(self._now(name))
            put(now, path, value)
            setattr(self, name, now)

        return write

    def _check(self, name: str) -> None:
        if not self._sim.engine.is_parameter(name):
            raise UnknownKey(self._fixed(name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name)
        shape = np.shape(self._now(name))
        given = np.asarray(value)
        try:
            np.broadcast_to(given, shape)
        except ValueError:
            more = ""
            if name not in self._sim.engine.expanded and given.shape[:1] == (self._sim.worlds,):
                more = f": to let worlds differ, call sim.expand({name!r}) first"
            raise BuildError(f"{name}: an array of shape {given.shape} does not fit {shape}{more}") from None
        self._sim.engine.set_parameter(name, given)


class ModelView(_ModelPart):
    """The model, under mjModel's names."""

    def _names(self) -> list[str]:
        return [name for name, field in model_fields().items() if field.group in ("size", "array")]

    @property
    def opt(self) -> OptionView:
        """mjOption."""
        return OptionView(self._sim)

    @property
    def stat(self) -> OptionView:
        """mjStatistic."""
        return OptionView(self._sim, "stat", "statistic")

    def _fixed(self, name: str) -> str:
        field = model_fields().get(name)
        if field is None:
            return f"m.{name} cannot be written while running{did_you_mean(name, self._names())}"
        why = "it is a size" if field.group == "size" else "no kernel reads it, or kernels were built for what it says"
        if name in self._sim.engine.parameters:
            why = "it follows from other numbers"
        return f"m.{name} cannot be written while running: {why}. Change the document and make a new simulation"


class OptionView(_ModelPart):
    """mjOption, or mjStatistic; physical quantities (gravity, timestep, ...) can be written, and expanded by name."""

    def __init__(self, sim: Simulation, part: str = "opt", group: str = "option"):
        super().__init__(sim)
        object.__setattr__(self, "_part", part)
        object.__setattr__(self, "_group", group)
        object.__setattr__(self, "_title", f"m.{part}")

    def _names(self) -> list[str]:
        return [name for name, field in model_fields().items() if field.group == self._group]

    def _source(self) -> Any:
        return getattr(self._sim.model, self._part)

    def _fixed(self, name: str) -> str:
        if name not in self._names():
            return f"{self._title} has no field {name!r}{did_you_mean(name, self._names())}"
        known = [n for n in self._names() if self._sim.engine.is_parameter(n)]
        return (
            f"m.{self._part}.{name} is fixed when the simulation is made: change the document and make a new one. "
            f"While running, {', '.join(known) or 'nothing of it'} can change"
        )
