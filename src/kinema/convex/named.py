"""The arrays of a class of worlds, read and written by MuJoCo's names, whoever computes what is in them.

Shapes on the host are MuJoCo's with an axis of worlds in front. They follow from the tables and the sizes of the model:
no number is copied to learn them (place.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.bundle import Field, bundles_of, fields_of
from kinema.convex.collision import capacity
from kinema.convex.contact_parameters import declare
from kinema.convex.data import Data, State
from kinema.convex.layout import ALIASES, Layout
from kinema.convex.model import Model
from kinema.convex.parameters import check_held, check_parameter, check_written, is_parameter
from kinema.convex.place import Place, host_shape, scalar_type
from kinema.convex.reset import initial_state
from kinema.model.mujoco_fields import data_fields, model_fields

INPUTS = frozenset(field.name for field in fields_of(State).values()) - {"status"} | {"qacc"}
"""What programs give: the state, and the acceleration that inverse dynamics starts from."""


class NamedArrays:
    """Arrays by name.

    Args:
        source: Any object with mjModel's attributes.
        nworld: Number of worlds.
        device: Warp device.
        layout: What allocates them.
    """

    def __init__(self, source: Any, nworld: int, device: wp.Device, layout: Layout):
        self.source, self.nworld, self.device, self.layout = source, nworld, device, layout
        self.version = 0
        self._places: dict[str, Place] = {}

    # ------------------------------------------------------------------------------------------ names

    @property
    def names(self) -> Collection[str]:
        """Every array there is."""
        return self.layout.arrays.keys()

    @property
    def inputs(self) -> Collection[str]:
        """Arrays that a program may write; those of mjData that are not here are computed."""
        return INPUTS & self.layout.arrays.keys()

    @property
    def parameters(self) -> Collection[str]:
        """Numbers of the model that are held on the device."""
        return self.layout.parameters - ALIASES.keys()

    @property
    def expanded(self) -> Collection[str]:
        """Parameters that differ per world."""
        return self.layout.expanded.keys()

    def is_parameter(self, name: str) -> bool:
        """Is this a number of the model that may be changed, and may differ per world?"""
        return is_parameter(self.layout, name)

    @property
    def plugins(self) -> Sequence[str]:
        """Names of the instances of plugins that run."""
        return ()

    def initial_state(self) -> dict[str, np.ndarray]:
        """One world's state as the model defines it (mj_resetData)."""
        return initial_state(self.source, 0.0)

    def origin(self, name: str) -> tuple[str, list[str]]:
        """What writes a computed array, and the inputs it follows from: another program knows."""
        return "", sorted(self.inputs)

    def built(self, name: str) -> np.ndarray:
        """A field of the model as it was compiled, one world's."""
        return np.asarray(self.layout.host(name))

    # ------------------------------------------------------------------------------------------ numbers

    def array(self, name: str) -> wp.array:
        """The device array of a field of mjModel's or mjData's, [world, ...], up to date and kept so."""
        return self._current(name)

    def current(self, name: str) -> wp.array:
        """The array of a field, up to date now."""
        return self._current(name)

    def _current(self, name: str) -> wp.array:
        return self._held(name)

    def _held(self, name: str) -> wp.array:
        """An array by its name, which may be a wrong one."""
        if name not in self.layout.arrays:
            check_held(self.layout, name)
        return self.layout.arrays[name]

    def bundle(self, struct: Any) -> Any:
        """An instance of a struct of arrays declared by their names, each up to date."""
        for field in fields_of(struct).values():
            if field.name in self.layout.arrays:
                self.array(field.name)
        return self.layout.fill(struct)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a field on the host: (nworld, ...), as MuJoCo shapes it; lists in their whole length."""
        return self._place(name, self._held(name)).shape

    def _place(self, name: str, array: wp.array) -> Place:
        """What is known of an array; found out anew when it is another one."""
        place = self._places.get(name)
        if place is None or place.array is not array:
            declared = self.layout.declared.get(name)
            by_world = declared is None or declared.kind != "index"
            place = self._places[name] = Place(array, self._shape(name, array), by_world=by_world)
        return place

    def _shape(self, name: str, array: wp.array) -> tuple[int, ...]:
        known = ALIASES.get(name, name)
        field = data_fields().get(known) or model_fields().get(known)
        if field is not None and field.group != "size" and not _varies(field.shape):
            return (self.nworld, *(self.layout.size(s) if isinstance(s, str) else s for s in field.shape))
        declared = self.layout.declared.get(name)
        return host_shape(array) if declared is None or declared.kind != "index" else (self.nworld, *host_shape(array))

    def read(self, name: str) -> np.ndarray:
        """A field as a host array with a leading world axis, shaped as MuJoCo shapes it."""
        return self._place(name, self._current(name)).read()

    def in_use(self, name: str) -> np.ndarray:
        """A field as a host array; there are no lists here whose length varies."""
        return self.read(name)

    def write(self, name: str, value: Any, worlds: Any = None) -> None:
        """Write a field; the value is broadcast over worlds. Only the given worlds, when given (mask or indices).

        A parameter is followed by all that was decided from it, and differs per world where the values do.
        """
        if self.is_parameter(name):
            self._write_parameter(name, value, worlds)
        else:
            check_written(self.layout, name)
            self._fill(name, value, worlds)

    def _fill(self, name: str, value: Any, worlds: Any = None) -> None:
        """Write the numbers of an array, and nothing else."""
        self._place(name, self.array(name)).write(value, worlds)

    def _write_parameter(self, name: str, value: Any, worlds: Any) -> None:
        shape, value = self.shape(name), np.asarray(value)
        if worlds is None and name not in self.expanded:
            by_world = value.ndim == len(shape)
            if not by_world or np.array_equal(value, np.broadcast_to(value[:1], value.shape), equal_nan=True):
                self.set_parameter(name, value[0] if by_world else value)
                return
        self.expand(name)
        rows = np.array(self.read(name))
        rows[slice(None) if worlds is None else worlds] = value
        self.set_parameter(name, rows)

    def expand(self, name: str) -> None:
        """Let a parameter of the model differ per world; every world starts with the present values."""
        if name in self.layout.expanded:
            return
        self._check_expandable(name)
        self.layout.expanded[name] = np.broadcast_to(self.read(name), self.shape(name)).copy()
        self._refill(name)

    def set_parameter(self, name: str, value: Any) -> None:
        """Write a parameter of the model: for all worlds alike, or world by world once it is expanded."""
        check_parameter(self.layout, name)
        for twin in (name, *_twins(name)):
            stored = getattr(self.layout.arrays[twin], "stored", None)
            if stored is None:
                self._fill(twin, value)
            else:
                one = np.broadcast_to(np.asarray(value, scalar_type(stored)), self.shape(twin)[1:])
                stored.assign(np.ascontiguousarray(one).reshape(host_shape(stored)))

    def _check_expandable(self, name: str) -> None:
        """Raise where a parameter cannot differ per world."""

    def _refill(self, name: str) -> None:
        """Make the array of a parameter anew."""
        self.version += 1
        for twin in (name, *_twins(name)):
            self.layout.expanded[twin] = self.layout.expanded[name]
            self.layout.remake(twin)


def mirrored(source: Any, nworld: int, device: wp.Device, offers: Callable[[str], bool]) -> Layout:
    """Arrays for an engine that another program computes: the model's numbers, and what it offers of mjData.

    Lists whose lengths are the convex engine's affair are left out.
    """
    layout = Layout(source, nworld, device, {})

    def is_offered(field: Field) -> bool:
        if not all(isinstance(s, int) or hasattr(source, s) for s in field.size or ()):
            return False
        if field.kind == "data":
            return field.name == "status" or (field.name in data_fields() and offers(field.name))
        return field.kind != "shared" and ALIASES.get(field.name, field.name) in model_fields()

    for struct in (Data, Model):
        for bundle in bundles_of(struct).values():
            for field in filter(is_offered, fields_of(bundle).values()):
                layout.array(field)
    declare(layout)
    return layout


def room(source: Any) -> tuple[int, int]:
    """Contacts and constraint rows that a world of this model is likely to need."""
    sizes = capacity(source, source)
    return sizes["nconmax"], sizes["nefcmax"]


def _twins(name: str) -> list[str]:
    """Arrays that hold a field once more."""
    return [twin for twin, of in ALIASES.items() if of == name]


def _varies(shape: tuple[str | int, ...]) -> bool:
    """Whether an extent is the run's, not the model's."""
    return any(isinstance(s, str) and s in data_fields() for s in shape)
