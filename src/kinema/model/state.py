"""State: everything that changes while a model runs and must be saved. Control: what is applied to it.

Both hold the arrays that the table assigns to them, cloned from the model's initial values, in namespaces where the
fields have one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, no_type_check

import numpy as np
import warp as wp

from ..closed import Closed
from ..dialect import mend
from ..errors import BuildError, did_you_mean
from .fields import Field

if TYPE_CHECKING:
    from .model import Model

mend()


class AttributeNamespace(Closed):
    """Arrays of one namespace, as attributes."""

    def __init__(self, name: str):
        self._name = name
        self._deprecated: dict[str, tuple[Any, str]] = {}
        self._lazy: dict[str, Any] = {}

    def _refusal(self, name: str) -> str:
        return f"namespace {self._name!r} has no attribute {name!r}{did_you_mean(name, self._known())}"

    def add_deprecated_alias(self, name: str, getter: Any, message: str) -> None:
        """Let an old name answer, with a warning."""
        self._deprecated[name] = (getter, message)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._lazy:
            value = self._lazy.pop(name)()
            object.__setattr__(self, name, value)
            return value
        if not name.startswith("_") and name in self._deprecated:
            getter, message = self._deprecated[name]
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getter()
        raise AttributeError(f"namespace {self.__dict__.get('_name')!r} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"AttributeNamespace({self._name!r}, {sorted(n for n in vars(self) if not n.startswith('_'))})"


def space_of(owner: Any, namespace: str | None) -> Any:
    """The object a namespace's attributes lie on; made if it is not there yet."""
    if namespace is None:
        return owner
    if namespace not in owner.__dict__:
        object.__setattr__(owner, namespace, AttributeNamespace(namespace))
    return owner.__dict__[namespace]


def place(owner: Any, field: Field, value: Any, *, lazy: bool = False) -> None:
    """Set a field's value (or, where lazy, the function that computes it on first use) on an object."""
    space = space_of(owner, field.namespace)
    if lazy:
        space._lazy[field.name] = value
    else:
        object.__setattr__(space, field.name, value)


def find(owner: Any, field: Field) -> Any:
    """A field's value on an object."""
    return getattr(getattr(owner, field.namespace) if field.namespace else owner, field.name)


@no_type_check
@wp.kernel(enable_backward=False)
def _copy_words(
    world: wp.array[wp.int32], mask: wp.array[wp.bool], src: wp.array2d[wp.uint32], dst: wp.array2d[wp.uint32]
):
    row, word = wp.tid()
    w = world[row]
    if w >= 0 and mask[w]:
        dst[row, word] = src[row, word]


@no_type_check
@wp.kernel(enable_backward=False)
def _copy_bytes(
    world: wp.array[wp.int32], mask: wp.array[wp.bool], src: wp.array2d[wp.uint8], dst: wp.array2d[wp.uint8]
):
    row, byte = wp.tid()
    w = world[row]
    if w >= 0 and mask[w]:
        dst[row, byte] = src[row, byte]


def _raw(array: wp.array, rows: int) -> wp.array:
    """The memory of an array as rows of 4-byte words, or of bytes where words do not fit."""
    size = array.size * wp.types.type_size_in_bytes(array.dtype) // max(rows, 1)
    dtype, width = (wp.uint32, size // 4) if size % 4 == 0 else (wp.uint8, size)
    return wp.array(ptr=array.ptr, dtype=dtype, shape=(rows, width), device=array.device)


class Holder(Closed):
    """Object that holds the arrays of one assignment; an array that the table does not know cannot be set."""

    if TYPE_CHECKING:  # arrays are set by name, as the table says

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, fields: dict[str, Field] | None = None):
        self._fields: dict[str, Field] = dict(fields or {})

    def _takes(self, name: str) -> bool:
        return any(field.name == name and field.namespace is None for field in self._fields.values())

    def _known(self) -> Iterable[str]:
        return {*super()._known(), *(field.name for field in self._fields.values() if field.namespace is None)}

    def arrays(self) -> Iterator[tuple[Field, wp.array]]:
        """Fields and arrays that are allocated."""
        for field in self._fields.values():
            value = find(self, field)
            if isinstance(value, wp.array):
                yield field, value

    def assign(self, other: Holder) -> None:
        """Copy every array from another object of the same model."""
        mine, theirs = dict(_named(self)), dict(_named(other))
        if mine.keys() != theirs.keys():
            odd = sorted(mine.keys() ^ theirs.keys())
            raise BuildError(f"assign(): only one of the two objects has {', '.join(map(repr, odd))}")
        for key, array in mine.items():
            if array.shape != theirs[key].shape:
                raise BuildError(f"assign(): {key!r} has shape {array.shape} here and {theirs[key].shape} there")
        for key, array in mine.items():
            wp.copy(array, theirs[key])

    def copy_worlds(self, other: Holder, mask: Any, model: Model) -> None:
        """Copy the rows of chosen worlds from another object.

        Args:
            other: Object of the same model.
            mask: One truth value per world, shape (world_count,); a `wp.array` of `wp.bool` keeps it on the device.
            model: The model both belong to.
        """
        if not isinstance(mask, wp.array):
            mask = wp.array(np.asarray(mask, dtype=bool), dtype=wp.bool, device=model.device)
        if mask.shape != (model.world_count,):
            raise BuildError(f"copy_worlds(): mask has shape {mask.shape} for {model.world_count} worlds")
        theirs = dict(_named(other))
        for field, array in self.arrays():
            if array.size == 0 or field.key not in theirs or field.frequency == "once":
                continue
            worlds = model.row_worlds(field.frequency)
            dst, src = _raw(array, len(worlds)), _raw(theirs[field.key], len(worlds))
            kernel = _copy_words if dst.dtype == wp.uint32 else _copy_bytes
            wp.launch(kernel, dim=dst.shape, inputs=[worlds, mask, src], outputs=[dst], device=model.device)


def _named(holder: Holder) -> Iterator[tuple[str, wp.array]]:
    return ((field.key, array) for field, array in holder.arrays())


class State(Holder):
    """Positions, velocities, forces, and whatever else changes."""

    particle_q: Any
    particle_f: Any
    body_q: Any
    body_f: Any
    joint_q: Any
    joint_qd: Any

    def __init__(self, fields: dict[str, Field] | None = None):
        super().__init__(fields)
        self.particle_q = self.particle_qd = self.particle_f = None
        self.body_q = self.body_qd = self.body_f = self.body_qdd = self.body_parent_f = None
        self.joint_q = self.joint_qd = None

    def clear_forces(self) -> None:
        """Set the external forces to zero."""
        for array in (self.particle_f, self.body_f):
            if array is not None:
                array.zero_()

    def clear(self) -> None:
        """Set every array to zero."""
        for _, array in self.arrays():
            array.zero_()

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow through the arrays."""
        return any(array.requires_grad for _, array in self.arrays())

    @property
    def body_count(self) -> int:
        """Number of bodies."""
        return 0 if self.body_q is None else len(self.body_q)

    @property
    def particle_count(self) -> int:
        """Number of particles."""
        return 0 if self.particle_q is None else len(self.particle_q)

    @property
    def joint_coord_count(self) -> int:
        """Number of joint coordinates."""
        return 0 if self.joint_q is None else len(self.joint_q)

    @property
    def joint_dof_count(self) -> int:
        """Number of joint dofs."""
        return 0 if self.joint_qd is None else len(self.joint_qd)
