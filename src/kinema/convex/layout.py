"""The arrays of a class of identical worlds: what each declared field of a bundle is filled with.

How worlds lie in memory is `kinema.arrays`: fields declared with `rows=True`, which a group of lanes works on, keep a
world's numbers together; parameters that no one made differ per world are stored once.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds, one_of, per_world, row_of, shared
from kinema.convex.activation import family, periodic
from kinema.convex.bundle import Field, fields_of
from kinema.convex.flex.lists import LISTS as FLEX_LISTS
from kinema.convex.flex.lists import flex_list
from kinema.convex.flex.tables import is_wide
from kinema.convex.metric_pattern import METRIC, metric_list
from kinema.convex.sleep import sleepers
from kinema.convex.transmission import (
    dof_moment_actuator,
    dof_moment_adr,
    dof_moment_entry,
    dof_moment_num,
    dof_moment_out,
    moment_adr,
    moment_colind,
    moment_nnz,
    moment_rowadr,
    moment_rownnz,
)
from kinema.model.mujoco_fields import model_fields
from kinema.mujoco_enums import Joint


def _body_ends(source) -> np.ndarray:
    """For each dof the end of the range of bodies it moves; bodies are numbered depth first."""
    parent = np.asarray(source.body_parentid)
    end = np.arange(1, len(parent) + 1)
    for body in range(len(parent) - 1, 0, -1):
        end[parent[body]] = max(end[parent[body]], end[body])
    return end[np.asarray(source.dof_bodyid)]


def lone_bodies(source) -> np.ndarray:
    """For each body, 1 if it moves as one rigid thing with a free joint at the root of its tree."""
    tree = np.asarray(source.body_treeid)
    first = np.asarray(source.tree_dofadr)
    lone = (np.asarray(source.tree_dofnum) == 6) & (np.asarray(source.jnt_type)[source.dof_jntid[first]] == Joint.FREE)
    return np.where(tree >= 0, lone[tree], 0) if len(lone) else np.zeros(len(tree))


def _child_counts(source) -> np.ndarray:
    """For each body the number of its children; the world is not its own child."""
    return np.bincount(np.asarray(source.body_parentid)[1:], minlength=source.nbody)


def _child_starts(source) -> np.ndarray:
    counts = _child_counts(source)
    return np.cumsum(counts) - counts


def _children(source) -> np.ndarray:
    """Children of body 0, of body 1, ...; of each the last one first, which is the order of a backward pass."""
    bodies = np.arange(source.nbody - 1, 0, -1)
    order = np.argsort(np.asarray(source.body_parentid)[bodies], kind="stable")
    return np.append(bodies[order], 0)


def body_levels(source) -> np.ndarray:
    """For each body its distance from the world."""
    level = np.zeros(source.nbody, dtype=np.int32)
    for body in range(1, source.nbody):
        level[body] = level[source.body_parentid[body]] + 1
    return level


def _level_starts(source) -> np.ndarray:
    level = body_levels(source)
    return np.searchsorted(np.sort(level), np.arange(level.max() + 2))


DERIVED: dict[str, Callable[[Any], np.ndarray]] = {
    "body_childadr": _child_starts,
    "body_childnum": _child_counts,
    "body_child": _children,
    "tree_leveladr": _level_starts,
    "tree_levelbody": lambda source: np.argsort(body_levels(source), kind="stable"),
    "body_alone": lone_bodies,
    "tree_qposadr": sleepers.tree_qposadr,
    "tree_qposnum": sleepers.tree_qposnum,
    "tree_mocapid": sleepers.tree_mocapid,
    "sensor_sleeper": sleepers.of_sensors,
    "actuator_sleeper": sleepers.of_actuators,
    "dof_bodyend": _body_ends,
    "dof_momentadr": dof_moment_adr,
    "dof_momentnum": dof_moment_num,
    "dof_momententry": dof_moment_entry,
    "dof_momentout": dof_moment_out,
    "dof_momentactuator": dof_moment_actuator,
    "actuator_momentnnz": moment_nnz,
    "actuator_momentadr": moment_adr,
    "moment_rownnz": moment_rownnz,
    "moment_rowadr": moment_rowadr,
    "moment_colind": moment_colind,
    **{name: partial(metric_list, name) for name in METRIC},
    **{name: partial(flex_list, name) for name in FLEX_LISTS},
    "actuator_family": family,
    "actuator_periodic": periodic,
}
"""Model arrays that MuJoCo does not have: how they follow from those it has."""


PLUGIN_SIZES = ("npluginvalue", "npluginslot", "npluginactuator", "npluginsensor", "npluginbody")
"""Sizes that only plugins give: extension.py."""

OF_FLEXES = {"nconmax_flex": "nconmax", "nefcmax_flex": "nefcmax", "nflexnear": "nconmax"}
OF_OTHERS = {"nefcmax_narrow": "nefcmax"}
"""Lengths of lists that only models with flexes have, or only models without: as long as others."""

TIMES = {"nflexnear": 8}
"""Some of them are so many times as long."""

ALIASES = {"timestep64": "timestep"}
"""Arrays that hold a field once more: name -> MuJoCo's name."""


class _Noting:
    """A model that notes which of its fields are read."""

    def __init__(self, source: Any, noted: set[str]):
        self._source, self._noted = source, noted

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._source, name)
        self._noted.add(name)
        return found


def list_of(name: str, source: Any) -> np.ndarray:
    """One of the arrays that MuJoCo does not have, as it follows from a model."""
    return np.asarray(DERIVED[name](source))


@dataclass
class Layout:
    """Allocates and fills the arrays of one class of worlds.

    Attributes:
        source: Any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device.
        capacity: Sizes that are not the model's: nconmax, nefcmax, ...
        arrays: Every array made so far, by MuJoCo's name.
        given: Values of arrays that are not the model's: those of plugins, and lists that follow from numbers.
        expanded: Values of the parameters that differ per world, [world, ...].
        parameters: Names of the arrays that are parameters.
        switches: Switches of mjOption that are not the model's any more.
        declared: What each array was declared as.
        idle: Arrays of the run that nothing computes: worlds share a row of zeros (idle.py).
        noted: The model's fields that lists which MuJoCo does not have were made from.
    """

    source: Any
    nworld: int
    device: wp.Device
    capacity: Mapping[str, int]
    given: Mapping[str, np.ndarray] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    expanded: dict[str, np.ndarray] = field(default_factory=dict)
    parameters: set[str] = field(default_factory=set)
    switches: dict[str, int] = field(default_factory=dict)
    declared: dict[str, Field] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    noted: set[str] = field(default_factory=set)

    def fill(self, struct, build: Mapping[str, object] | None = None):
        """An instance of a bundle, or of a struct of bundles, with every array in place."""
        instance = struct()
        declared = fields_of(struct)
        for name, var in struct.vars.items():
            if name in declared:
                value = self.array(declared[name])
            elif isinstance(var.type, wp.array):  # a bundle behind an array of one, or a struct of another layer's:
                if not fields_of(var.type.dtype):  # whoever runs that layer fills it
                    continue
                value = one_of(self.fill(var.type.dtype), var.type.dtype, self.device)
            elif hasattr(var.type, "vars"):  # a nested struct
                value = build[name] if build and name in build else self.fill(var.type)
            else:
                value = self._number(name)
            setattr(instance, name, value)
        return instance

    def extents(self, what: Field) -> tuple[int, ...]:
        return tuple(s if isinstance(s, int) else self.size(s) for s in what.size or ())

    def size(self, symbol: str) -> int:
        if symbol in self.capacity:
            return int(self.capacity[symbol])
        if symbol in PLUGIN_SIZES:
            return 0
        if symbol in OF_FLEXES:
            return TIMES.get(symbol, 1) * self.size(OF_FLEXES[symbol]) if self.source.nflex else 0
        if symbol in OF_OTHERS:
            return 0 if self.source.nflex else self.size(OF_OTHERS[symbol])
        return int(getattr(self.source, symbol))

    def resize(self, capacity: Mapping[str, int]) -> dict[str, wp.array]:
        """Change lengths; arrays of such lengths are made anew when they are asked for next. Returns the old ones."""
        changed = {s for s in {*capacity, *self.capacity} if capacity.get(s) != self.capacity.get(s)}
        changed |= {s for s, like in (OF_FLEXES | OF_OTHERS).items() if like in changed}
        self.capacity = dict(capacity)
        sized = [name for name, what in self.declared.items() if changed & set(what.size or ()) and name in self.arrays]
        return {name: self.arrays.pop(name) for name in sized}

    def replace(self, values: Mapping[str, np.ndarray]) -> None:
        """Give lists of the model other values; their arrays are made anew when they are asked for next."""
        self.given = {**self.given, **values}
        for name in values:
            self.arrays.pop(name, None)

    def carry(self, old: Mapping[str, wp.array]) -> None:
        """Take over what arrays held before they were made anew, as far as it fits."""
        for name, array in old.items():
            if self.declared[name].kind != "data" or name in self.idle:
                continue
            shapes = zip(array.shape, self.arrays[name].shape, strict=True)
            part = tuple(slice(0, min(a, b)) for a, b in shapes)
            if all(one.stop for one in part):
                wp.copy(self.arrays[name][part], array[part])

    def host(self, name: str) -> np.ndarray:
        """The model's values of a field, as MuJoCo shapes them."""
        if name in self.given:
            return np.asarray(self.given[name])
        if name.startswith("plugin_") and name not in model_fields():
            return np.zeros(0)
        if name in DERIVED:
            return DERIVED[name](_Noting(self.source, self.noted))
        name = ALIASES.get(name, name)
        known = model_fields().get(name)
        group = known.group if known else "array"
        owner = {"option": "opt", "statistic": "stat"}.get(group)
        return np.asarray(getattr(getattr(self.source, owner) if owner else self.source, name))

    def _number(self, name: str) -> int:
        if name in self.switches:
            return self.switches[name]
        if name in self.capacity or hasattr(self.source, name):
            return self.size(name)
        return int(getattr(self.source.opt, name))

    def array(self, what: Field) -> wp.array:
        """The array of a declared field, made when first asked for."""
        if what.name not in self.arrays:
            make = {"index": self._index, "param": self._param, "data": self._data, "shared": self._shared}[what.kind]
            self.arrays[what.name] = make(what)
            self.declared[what.name] = what
        return self.arrays[what.name]

    def remake(self, name: str) -> None:
        """Make an array anew, as what it depends on says now."""
        del self.arrays[name]
        self.array(self.declared[name])

    def _index(self, what: Field) -> wp.array:
        values = self.host(what.name).astype(np.int32).reshape(*self.extents(what), *row_of(what.dtype))
        return wp.array(values, dtype=what.dtype, device=self.device)

    def _param(self, what: Field) -> wp.array:
        self.parameters.add(what.name)
        shape = (*self.extents(what), *row_of(what.dtype))
        values = self.host(what.name).astype(np.float64 if what.dtype in (wp.float64, wp.vec2d) else np.float32)
        if what.name in self.expanded:
            differing = self.expanded[what.name].reshape(self.nworld, *shape)
            return per_world(differing, what.dtype, self.device, rows=what.rows)
        return shared(values.reshape(shape), self.nworld, what.dtype, self.device)

    def _shared(self, what: Field) -> wp.array:
        values = self.host(what.name).astype(np.int32).reshape(self.extents(what))
        return shared(values, self.nworld, what.dtype, self.device)

    def wake(self, names: Collection[str]) -> None:
        """Give worlds rows of their own in arrays that were idle."""
        for name in self.idle & set(names):
            self.idle.remove(name)
            if name in self.arrays:
                self.remake(name)

    def _data(self, what: Field) -> wp.array:
        if what.name in self.idle:
            zeros = np.zeros((*self.extents(what), *row_of(what.dtype)), np.float32)
            return shared(zeros, self.nworld, what.dtype, self.device)
        rows = what.rows or is_wide(self.source)  # a block has a wide world to itself
        return empty_worlds((self.nworld, *self.extents(what)), what.dtype, self.device, rows=rows)
