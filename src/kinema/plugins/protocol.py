"""What a plugin is: a class whose annotations are its configuration and whose functions are its device code.

    @plugin("acme.spring")
    class Spring:
        stiffness: float = field(10.0, min=0.0)

        @wp.func
        def actuator(x: ActuatorInput, p: P) -> float:
            return p.stiffness * (x.setpoint - x.length)

The small form is functions over one element, `@wp.func`s that run inside the engine's kernels. Besides the first
argument they take, by name and as needed: `p` (configuration), `state` (State variables of the instance), `act` (Act
variables of the actuator), `k` (index of a sensor's output).

    actuator(x: ActuatorInput, ...) -> float       force
    act_dot(x: ActuatorInput, ...) -> A            rates of the Act variables: fill in and return `act`
    sensor(x: SensorInput, ..., k: int) -> float   k-th output
    passive(x: BodyInput, ...) -> spatial_vector   force and torque on the centre of mass, global frame
    sdf(x: vec3, p) -> float                       signed distance of a point in the geom's frame
    sdf_gradient(x: vec3, p) -> vec3               its gradient; without it, by automatic differentiation
    advance(x: ActuatorInput | Clock, ...) -> S    the states after the step; once an actuator, or once an instance
    advance_act(x: ActuatorInput, ...) -> A        overwrites the activations after the step

What couples elements has the same names with the prefix `compute_`, and runs once an instance and world:

    compute_actuator | compute_act_dot | compute_sensor | compute_passive | compute_advance (m, d, w, instance, [p])

The large form runs on the host and launches kernels of its own: `compute(self, m, d, instance)`, called for each
capability with `instance.capability` set, and `advance(self, m, d, instance)`, `act_dot(self, m, d, instance)`.

On the host, all optional: check(self) -> text or None, nsensordata(self) -> int, init(self, model, instance) -> data,
destroy(self, data), aabb(self) -> half sizes (SDF), visualize(self, model, read, instance, shown) (visual.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import warp as wp

from kinema.compile.plugin import PluginInfo
from kinema.errors import PluginError, did_you_mean
from kinema.mujoco_enums import Capability, Stage, words
from kinema.plugins.config import Field, Path, configured, fields_of
from kinema.resources import resolve

CAPABILITIES = words(Capability)
NEEDSTAGE = words(Stage)
SMALL = ("actuator", "act_dot", "sensor", "passive", "sdf", "sdf_gradient", "advance", "advance_act")
COUPLED = ("compute_actuator", "compute_act_dot", "compute_sensor", "compute_passive", "compute_advance")
HOST = ("compute", "advance", "act_dot")
EXTRAS = ("p", "state", "act", "k")
RETURNS = {"actuator": (float, wp.float32), "sensor": (float, wp.float32), "passive": (wp.spatial_vector,)}


@dataclass(frozen=True)
class State:
    """A variable of an instance, kept in plugin_state.

    Args:
        initial: Value after a reset: a number, the name of a field, or a function of the configuration.
        count: How many numbers; a number or a function of the configuration. Device functions see single ones by name.
        when: Whether a configuration has it at all.
    """

    initial: float | str | Callable[[Any], float] = 0.0
    count: int | Callable[[Any], int] = 1
    when: Callable[[Any], bool] = lambda config: True


@dataclass(frozen=True)
class Act:
    """A variable of an actuator, kept in act and integrated by the engine with the rate that act_dot gives.

    Args:
        when: Whether a configuration has it at all.
    """

    when: Callable[[Any], bool] = lambda config: True


@dataclass(frozen=True, eq=False)
class Plugin:
    """A registered plugin: its name, its class, and what the class declares."""

    name: str
    cls: type
    fields: Mapping[str, Field]
    states: Mapping[str, State]
    acts: Mapping[str, Act]
    functions: Mapping[str, wp.Function]
    host: Mapping[str, Callable]
    capabilities: int
    stage: int

    def configure(self, config: Mapping[str, str]) -> Any:
        """An object of the class with the configuration as attributes."""
        return configured(self.cls, self.fields, config)

    def layout(self, config: Any) -> tuple[list[int], list[float]]:
        """Offset of each state in plugin_state (-1: not used) and the initial values of all."""
        offsets: list[int] = []
        values: list[float] = []
        for name, state in self.states.items():
            if not state.when(config):
                offsets.append(-1)
                continue
            offsets.append(len(values))
            count = state.count(config) if callable(state.count) else state.count
            initial = state.initial
            if isinstance(initial, str):
                initial = getattr(config, initial)
            elif callable(initial):
                initial = initial(config)
            if not isinstance(initial, int | float):
                raise PluginError(f"plugin {self.name}: initial value of state {name} is {initial!r}, not a number")
            values += [float(initial)] * int(count)
        return offsets, values

    def act_offsets(self, config: Any) -> list[int]:
        """Offset of each activation among the actuator's; -1: not used."""
        offsets, used = [], 0
        for act in self.acts.values():
            offsets.append(used if act.when(config) else -1)
            used += int(offsets[-1] >= 0)
        return offsets

    @cached_property
    def info(self) -> PluginInfo:
        """What the compiler must know."""
        has_acts = bool(self.acts) or "act_dot" in self.host or "compute_act_dot" in self.functions
        return PluginInfo(
            self.name, tuple(self.fields), self.capabilities, self.stage,
            states=lambda config: len(self.layout(self.configure(config))[1]),
            outputs=lambda config: outputs(self, self.configure(config)),
            check=self._check,
            activations=None if has_acts and not self.acts else self._activations,
            needs_owner=bool(getattr(self.cls, "needs_owner", False)),
            value=self._value,
        )  # fmt: skip

    def _activations(self, config: Mapping[str, str]) -> int:
        return sum(offset >= 0 for offset in self.act_offsets(self.configure(config)))

    def _check(self, config: Mapping[str, str]) -> str | None:
        try:
            made = self.configure(config)
        except ValueError as error:
            return str(error)
        return made.check() if hasattr(made, "check") else None

    def _value(self, key: str, text: str, file: str | None) -> str:
        self.fields[key].parse(text)
        if self.fields[key].type is Path and text.strip() and file:
            return resolve(text.strip(), file)
        return text


def outputs(plugin: Plugin, config: Any) -> int:
    """Number of outputs of a sensor."""
    count = config.nsensordata() if hasattr(config, "nsensordata") else 1
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise PluginError(f"plugin {plugin.name}: nsensordata gave {count!r}, expected a number of outputs")
    return count


def describe(name: str, cls: type) -> Plugin:
    """Read a plugin class; PluginError says what is wrong with it."""
    members = {key: value for base in reversed(cls.__mro__) for key, value in vars(base).items()}
    functions = {key: value for key, value in members.items() if isinstance(value, wp.Function) and _is_entry(key)}
    host = {key: members[key] for key in HOST if inspect.isfunction(members.get(key))}
    for key, value in members.items():
        if key in SMALL + COUPLED and inspect.isfunction(value) and key not in host:
            raise PluginError(f"plugin {name}: {key} is device code, decorate it with @wp.func")
    for key, function in functions.items():
        _check_signature(name, key, function)
    found = sum(
        bit for word, bit in CAPABILITIES.items() if word in functions or f"compute_{word}" in functions
    )  # fmt: skip
    for word in members.get("capabilities", ()):
        if word not in CAPABILITIES:
            raise PluginError(f"plugin {name}: unknown capability {word!r}{did_you_mean(word, CAPABILITIES)}")
        found |= CAPABILITIES[word]
    if not found:
        raise PluginError(f"plugin {name}: no capability; define actuator, sensor, passive or sdf, or `capabilities`")
    stage = members.get("needstage", "acc")
    if stage not in NEEDSTAGE:
        raise PluginError(f"plugin {name}: needstage {stage!r}; use none, pos, vel or acc")
    return Plugin(
        name, cls, fields_of(cls, name),
        {key: value for key, value in members.items() if isinstance(value, State)},
        {key: value for key, value in members.items() if isinstance(value, Act)},
        functions, host, found, NEEDSTAGE[stage],
    )  # fmt: skip


def _is_entry(key: str) -> bool:
    return key in SMALL or key in COUPLED


def _python(function: wp.Function) -> Callable:
    """What a device function was made of."""
    assert function.func is not None, f"{function.key} is a builtin"
    return function.func


def arguments(function: wp.Function) -> list[str]:
    """Names of the arguments of a device function."""
    return list(inspect.signature(_python(function)).parameters)


def annotation(function: wp.Function, argument: str) -> Any:
    """The annotation of an argument, or of the result ("return"); None without one."""
    return inspect.get_annotations(_python(function), eval_str=True).get(argument)


def _check_signature(name: str, key: str, function: wp.Function) -> None:
    names = arguments(function)
    if key in COUPLED:
        if names[:4] != ["m", "d", "w", "instance"] or set(names[4:]) - {"p"}:
            raise PluginError(f"plugin {name}: {key}({', '.join(names)}) should be {key}(m, d, w, instance[, p])")
        return
    extra = set(names[1:]) - set(EXTRAS)
    if not names or extra:
        raise PluginError(
            f"plugin {name}: {key}({', '.join(names)}) has arguments it cannot be given: {', '.join(sorted(extra))}; "
            f"after the first they are named {', '.join(EXTRAS)}"
        )
    result = annotation(function, "return")
    if key in RETURNS and result not in RETURNS[key]:
        shown = getattr(result, "__name__", result)
        raise PluginError(f"plugin {name}: {key} returns {shown}, expected {RETURNS[key][0].__name__}")
