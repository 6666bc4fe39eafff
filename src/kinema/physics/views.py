"""`physics.model` and `physics.data`: mjModel and mjData by name. What is read can be written, in place or by
assignment; it takes effect when the model next runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinema.errors import UnknownKey, did_you_mean
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.mujoco_enums import Disable, words
from kinema.physics.contact import contact_force, contacts, object_velocity
from kinema.physics.model_copy import OWNER, kind_of
from kinema.physics.run import Run

DISABLE_BITS = words(Disable)


class _View:
    """Fields by name over a run."""

    def __init__(self, run: Run):
        object.__setattr__(self, "_run", run)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._fields()})

    def _fields(self) -> list[str]:
        raise NotImplementedError

    def _array(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        self._array(name)[...] = value


class ModelView(_View):
    """The model under mjModel's names."""

    def _fields(self) -> list[str]:
        source = self._run.model.source
        return [n for n, f in model_fields().items() if f.group in ("size", "array") and hasattr(source, n)]

    def _array(self, name: str) -> np.ndarray:
        field = self._run.model.field(name)
        if field.group != "array":
            raise UnknownKey(f"model.{name} cannot be written")
        return self._run.model.mirror(name).hand_out()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("ptr", "_model"):
            raise AttributeError(f"model.{name}: there is no mjModel behind this; read the fields by their names")
        if name in ("opt", "stat"):
            return OptionView(self._run, name)
        field = model_fields().get(name)
        if field is not None and field.group == "array" and hasattr(self._run.model.source, name):
            return self._array(name)
        try:
            return getattr(self._run.model.source, name)
        except AttributeError:
            raise UnknownKey(f"model has no field {name!r}{did_you_mean(name, self._fields())}") from None

    @property
    def name(self) -> str:
        """Name of the model."""
        source = self._run.model.source
        if hasattr(source, "modelname"):
            return source.modelname
        return bytes(source.names).partition(b"\0")[0].decode()

    def name2id(self, name: str, object_type: str | int) -> int:
        """Id of a named object; the type as a word ("geom") or a code (mjtObj)."""
        return self._run.model.id(object_type, name)

    def id2name(self, object_id: int, object_type: str | int) -> str:
        """Name of an object by its id, empty if it has none."""
        names = self._run.model.names(kind_of(object_type))
        return names[object_id] if 0 <= object_id < len(names) else ""

    @contextlib.contextmanager
    def disable(self, *flags: str | int) -> Iterator[None]:
        """Within this, parts of the physics are left out: "gravity", "contact", "actuation", ... or bits."""
        bits = 0
        for flag in flags:
            if isinstance(flag, str) and flag not in DISABLE_BITS:
                raise UnknownKey(f"{flag!r} is not a part to disable{did_you_mean(flag, DISABLE_BITS)}")
            bits |= DISABLE_BITS[flag] if isinstance(flag, str) else int(flag)
        kept = self.opt.disableflags
        self.opt.disableflags = kept | bits
        try:
            yield
        finally:
            self.opt.disableflags = kept


class OptionView(_View):
    """mjOption or mjStatistic."""

    def __init__(self, run: Run, part: str):
        super().__init__(run)
        object.__setattr__(self, "_part", part)

    def _fields(self) -> list[str]:
        return [name for name, field in model_fields().items() if OWNER.get(field.group) == self._part]

    def _array(self, name: str) -> np.ndarray:
        if name not in self._fields():
            raise UnknownKey(f"model.{self._part} has no field {name!r}{did_you_mean(name, self._fields())}")
        return self._run.model.mirror(name).hand_out()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        array = self._array(name)
        return array if array.ndim else array.item()


class DataView(_View):
    """State and results under mjData's names; with several worlds, arrays have a leading axis of worlds."""

    def _fields(self) -> list[str]:
        return [*self._run.names(), "contact"]

    def _array(self, name: str) -> np.ndarray:
        return self._run.mirror(name).hand_out()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "ptr":
            raise AttributeError("data.ptr: there is no mjData behind this; read the fields by their names")
        mirror = self._run.mirror(name)
        array = mirror.hand_out()
        if data_fields()[name].shape == () and not mirror.leading_axes:
            return array.item()
        if "nefc" in data_fields()[name].shape and not mirror.leading_axes:
            return array[: self.nefc]
        return array

    @property
    def model(self) -> ModelView:
        """The model these are the data of."""
        return ModelView(self._run)

    @property
    def contact(self) -> np.recarray:
        """The contacts of the only world as records: geom1, geom2, dist, pos, frame, ..."""
        return contacts(self._run)

    def contact_force(self, contact_id: int) -> np.ndarray:
        """Force and torque of a contact in its frame (normal, tangent, tangent), (2, 3)."""
        return contact_force(self._run, contact_id)

    def object_velocity(self, object_id: int | str, object_type: str | int, local_frame: bool = False) -> np.ndarray:
        """Linear and angular velocity of an object, (2, 3), in the world's axes or its own."""
        if isinstance(object_id, str):
            object_id = self._run.model.id(object_type, object_id)
        return object_velocity(self._run, object_type, object_id, local_frame)
