"""A compiled model whose numbers may be changed while it runs.

It reads as the model it was made from, by mjModel's names, so an engine can be built from it at any time; a field is
copied when a program first asks for it, and what the program writes is then found there.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinema.compile.host_model import KINDS
from kinema.errors import UnknownKey, did_you_mean
from kinema.model.mujoco_fields import Field, model_fields
from kinema.mujoco_enums import Obj
from kinema.physics.mirror import Mirror

OWNER = {"option": "opt", "statistic": "stat"}
"""Where a group of fields stands on mjModel; arrays stand on it directly."""


class _Part:
    """mjOption or mjStatistic of a model copy, as an engine reads it."""

    def __init__(self, model: ModelCopy, part: Any):
        self._model, self._part = model, part

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        mirror = self._model.mirrors.get(name)
        return getattr(self._part, name) if mirror is None else self._model.template(mirror)


class ModelCopy:
    """mjModel's names over a compiled model and what has been written since.

    Args:
        source: HostModel, `mujoco.MjModel`, or any object with mjModel's attributes; it is not changed.
    """

    def __init__(self, source: Any):
        self.source = source
        self.mirrors: dict[str, Mirror] = {}
        self.opt = _Part(self, source.opt)
        self.stat = _Part(self, source.stat)
        self.runs: weakref.WeakSet = weakref.WeakSet()  # what runs it and must hear of changes
        self._names: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "source":
            raise AttributeError(name)
        mirror = self.mirrors.get(name)
        return getattr(self.source, name) if mirror is None else self.template(mirror)

    @staticmethod
    def template(mirror: Mirror) -> np.ndarray:
        """The numbers of a field without the axis of worlds; a number where the field is one."""
        values = mirror.values[0] if mirror.per_world else mirror.values
        return values if values.ndim else values[()]

    # ------------------------------------------------------------------------------------------ fields

    def field(self, name: str) -> Field:
        """The row of the table of mjModel's fields."""
        found = model_fields().get(name)
        if found is None or not hasattr(self._owner(found), name):
            raise UnknownKey(f"mjModel has no field {name!r}{did_you_mean(name, model_fields())}")
        return found

    def mirror(self, name: str) -> Mirror:
        """The copy of a field, made when first asked for."""
        if name not in self.mirrors:
            numbers = np.asarray(getattr(self._owner(self.field(name)), name))
            if numbers.dtype == bool:
                numbers = numbers.astype(np.uint8)
            copy = Mirror(numbers.shape, numbers.dtype)
            copy.receive(numbers)
            self.mirrors[name] = copy
        return self.mirrors[name]

    def expand(self, name: str, worlds: int) -> None:
        """Give a field an axis of worlds, all with the present numbers."""
        old = self.mirror(name)
        if old.per_world:
            return
        new = Mirror((worlds, *old.values.shape), old.values.dtype, per_world=True)
        new.receive(np.broadcast_to(old.values, new.values.shape))
        self.mirrors[name] = new

    def is_expanded(self, name: str) -> bool:
        """Whether a field has an axis of worlds."""
        return name in self.mirrors and self.mirrors[name].per_world

    def changes(self) -> Iterator[tuple[str, Mirror]]:
        """Fields written since they were last sent."""
        return ((name, mirror) for name, mirror in self.mirrors.items() if mirror.changed)

    def copy(self) -> ModelCopy:
        """The same model, written to apart from this one."""
        other = ModelCopy(self.source)
        other._names = self._names
        for name, mirror in self.mirrors.items():
            new = Mirror(mirror.values.shape, mirror.values.dtype, per_world=mirror.per_world)
            new.receive(mirror.values)
            other.mirrors[name] = new
        return other

    def _owner(self, field: Field) -> Any:
        return getattr(self.source, OWNER[field.group]) if field.group in OWNER else self.source

    # ------------------------------------------------------------------------------------------ names

    def names(self, kind: str) -> list[str]:
        """Names of all objects of a kind in id order, empty where unnamed."""
        if kind not in self._names:
            if kind not in KINDS:
                raise UnknownKey(f"{kind!r} is not a kind of object{did_you_mean(kind, KINDS)}")
            self._names[kind] = self._read_names(kind)
        return self._names[kind]

    def _read_names(self, kind: str) -> list[str]:
        if callable(getattr(self.source, "names", None)):
            return self.source.names(kind)
        text = bytes(self.source.names)  # MuJoCo's: all names in one buffer, and where each begins
        starts = getattr(self.source, f"name_{KINDS[kind][1:]}adr")
        return [text[start : text.index(b"\0", start)].decode() for start in np.asarray(starts).tolist()]

    def id(self, kind: str | int, name: str) -> int:
        """Id of a named object."""
        kind = kind_of(kind)
        names = self.names(kind)
        if name not in names:
            raise UnknownKey(f"no {kind} named {name!r}{did_you_mean(name, filter(None, names))}")
        return names.index(name)


def kind_of(kind: str | int) -> str:
    """The kind of object by its name or its code (mjtObj)."""
    if not isinstance(kind, str):
        kind = Obj(int(kind)).name.lower()
    return {"xbody": "body"}.get(kind, kind)
