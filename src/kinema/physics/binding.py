"""Bindings: elements of a document as handles on the running model.

    physics.bind(joint).qpos = 0.3
    physics.bind([hip, knee]).qpos += 0.1
    physics.bind(geoms)["pos", "z"]

Writing something from which other things follow marks the physics dirty; reading one of those things then computes
first. With several worlds every array has a leading axis of worlds.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.physics.bindable import Bindable, attributes_of
from kinema.physics.named import FieldIndexer

if TYPE_CHECKING:
    from kinema.physics.physics import Physics

PICKLING_NOT_SUPPORTED = "Objects of type {type} cannot be pickled."


class SynchronizingArrayWrapper(np.ndarray):
    """The numbers of a bound attribute; writing into it writes into the model.

    It is refreshed each time the attribute is read, not by itself: hold the binding rather than the array. Arithmetic
    gives plain arrays, as do copies.
    """

    _binding: Binding | None
    _name: str

    def __new__(cls, values: np.ndarray, binding: Binding, name: str):
        made = np.array(values).view(cls)
        made._binding, made._name = binding, name
        return made

    def __array_finalize__(self, source: Any) -> None:
        self._binding, self._name = None, ""  # views and results of arithmetic stand for themselves

    def refresh(self, values: np.ndarray) -> SynchronizingArrayWrapper:
        """Take over the model's numbers."""
        np.copyto(self, values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._binding is None:
            super().__setitem__(index, value)
            return
        value = np.array(value)  # may be a view of this array, which is about to be refreshed
        self._binding.prepare(self._name)
        np.copyto(self, self._binding.values(self._name))  # what is not written stays as it is in the model
        super().__setitem__(index, value)
        rows = np.zeros(self.shape, dtype=bool)
        rows[index] = True
        self._binding.assign(self._name, np.asarray(self), rows)

    def copy(self, order: Any = "C") -> np.ndarray:  # type: ignore[override]  # a plain array, not a view of the model
        """A plain array with the same numbers."""
        return np.array(self, order=order, subok=False)

    def fill(self, value: Any) -> None:
        """Write one value into all."""
        self[...] = value

    def __copy__(self) -> np.ndarray:  # type: ignore[override]
        return self.copy()

    def __deepcopy__(self, memo: dict | None) -> np.ndarray:  # type: ignore[override]
        return self.copy()

    def __reduce__(self) -> Any:
        raise NotImplementedError(PICKLING_NOT_SUPPORTED.format(type=type(self)))


def _in_place(name: str) -> Any:
    """An operator such as `+=` that writes into the model."""
    compute = getattr(operator, name)

    def method(self: SynchronizingArrayWrapper, other: Any) -> SynchronizingArrayWrapper:
        self[...] = compute(np.asarray(self), other)
        return self

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(SynchronizingArrayWrapper, f"__i{_name}__", _in_place(_name))


class Binding:
    """Attributes of bound elements; made by `Physics.bind`.

    Args:
        physics: The running model.
        namespace: Kind of the elements.
        named_index: The element's full identifier, or a list of them.
    """

    __slots__ = ("_arrays", "_attributes", "_element_id", "_indices", "_named_index", "_namespace", "_physics")

    def __init__(self, physics: Physics, namespace: str | None, named_index: Any):
        try:
            attributes = attributes_of(namespace)
        except KeyError:
            raise BuildError(f"elements of type {namespace!r} cannot be bound to physics") from None
        own = {"physics": physics, "namespace": namespace, "named_index": named_index, "attributes": attributes}
        for name, value in {**own, "arrays": {}, "indices": {}, "element_id": None}.items():
            object.__setattr__(self, f"_{name}", value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self._attributes})

    @property
    def element_id(self) -> int | np.ndarray:
        """Id of the element in MuJoCo's arrays; a read-only array of ids for several."""
        if self._element_id is None:
            kind = {"mocap_body": "body"}.get(self._namespace, self._namespace)
            find = self._physics.model.name2id
            if isinstance(self._named_index, list):
                ids = np.array([find(name, kind) for name in self._named_index])
                ids.flags.writeable = False
            else:
                ids = find(self._named_index, kind)
            object.__setattr__(self, "_element_id", ids)
        return self._element_id

    # ------------------------------------------------------------------------------------------ attributes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.prepare(name)
        values = self.values(name)
        if np.ndim(values) == 0:
            return values
        if name not in self._arrays:
            self._arrays[name] = SynchronizingArrayWrapper(values, self, name)
            return self._arrays[name]
        kept = self._arrays[name]
        if kept.shape != values.shape:  # the field was given an axis of worlds since
            del self._arrays[name]
            return getattr(self, name)
        return kept.refresh(values)

    def __setattr__(self, name: str, value: Any) -> None:
        self.prepare(name)
        self.assign(name, value)

    def __getitem__(self, index: Any) -> Any:
        name, key = self._split(index)
        self.prepare(name)
        return self._indexer(name)[key]

    def __setitem__(self, index: Any, value: Any) -> None:
        name, key = self._split(index)
        self.prepare(name)
        self._indexer(name)[key] = value
        self._written(name)

    # ------------------------------------------------------------------------------------------ inside

    def prepare(self, name: str) -> None:
        """Compute first, if the attribute follows from something that was written."""
        if self._physics.is_dirty and not self._attribute(name).triggers_dirty:
            self._physics.forward()

    def values(self, name: str) -> Any:
        """The model's numbers of an attribute."""
        return self._indexer(name).field[self._index(name)]

    def assign(self, name: str, value: Any, where: np.ndarray | None = None) -> None:
        """Write an attribute, or the marked part of it."""
        self._indexer(name).field[self._index(name)] = value
        self._written(name, where)

    def _written(self, name: str, where: np.ndarray | None = None) -> None:
        attribute = self._attribute(name)
        for flag in attribute.disable_on_write:
            flags = self._indexer(flag).field
            rows = self._index(flag)
            if where is not None and isinstance(self._named_index, list):
                marked = where.any(axis=0) if self._indexer(name).leading_axes else where
                rows = np.asarray(rows)[marked.reshape(len(rows), -1).any(axis=1)]
            flags[rows] = 0
        if attribute.triggers_dirty:
            self._physics.mark_as_dirty()

    def _attribute(self, name: str) -> Bindable:
        try:
            return self._attributes[name]
        except KeyError:
            raise UnknownKey(
                f"bound element <{self._namespace}> does not have attribute {name!r}"
                f"{did_you_mean(name, self._attributes)}"
            ) from None

    def _indexer(self, name: str) -> FieldIndexer:
        attribute = self._attribute(name)
        return getattr(getattr(self._physics.named, attribute.struct), attribute.field)

    def _index(self, name: str) -> Any:
        indexer = self._indexer(name)
        key = (name, indexer.field.ndim)
        if key not in self._indices:
            self._indices[key] = indexer.convert_key(self._named_index)
        return self._indices[key]

    def _split(self, index: Any) -> tuple[str, Any]:
        """Attribute and key of an indexing expression; lists of columns are taken for every element."""
        if not isinstance(index, tuple):
            return index, self._named_index
        name, column = index
        if isinstance(self._named_index, list) and isinstance(column, list | np.ndarray):
            return name, np.ix_(self._named_index, column)
        return name, (self._named_index, column)


class EmptyBinding:
    """What binding nothing gives."""

    __slots__ = ("_nothing",)

    def __init__(self) -> None:
        object.__setattr__(self, "_nothing", np.empty(0))

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._nothing

    def __setattr__(self, name: str, value: Any) -> None:
        raise BuildError("Cannot assign a value to an empty binding.")


def names_from_elements(elements: Any) -> tuple[str | None, Any]:
    """Kind and full identifier of an element, or kind and identifiers of several of one kind."""
    if not isinstance(elements, Iterable):
        return kind_of_element(elements), elements.full_identifier
    elements = tuple(elements)
    if not elements:
        return None, None
    kinds = [kind_of_element(element) for element in elements]
    for kind in kinds:
        if kind != kinds[0]:
            raise BuildError(
                f"Cannot bind to a collection containing multiple element types ({kind!r} != {kinds[0]!r})."
            )
    return kinds[0], [element.full_identifier for element in elements]


def kind_of_element(element: Any) -> str:
    """The kind of element that decides what a binding offers."""
    if element.tag == "worldbody":
        return "body"
    kind = (element.spec.namespace or element.tag).partition("@")[0]
    if kind == "attachment_frame":
        kind = "body"
    if kind in ("flexcomp", "deformable"):  # a flexcomp is compiled to a flex of its name
        kind = "skin" if element.tag == "skin" else "flex"
    return "mocap_body" if kind == "body" and element.mocap == "true" else kind
