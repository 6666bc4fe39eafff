"""Bundles: small `wp.struct`s of arrays, declared once, filled from tables.

A bundle is a class whose annotations say what each array is; a kernel reads it as `m.body.pos[w, b]`.

    index(...)   (n, ...) integers that are the same in every world: types, ids, addresses
    param(...)   (nworld, n) numbers of the model; world stride 0 until expanded, so that worlds may differ
    data(...)    (nworld, n) numbers of the run: state and workspace
    shared(...)  (nworld, n) integers of the run that are the same in every world and never change: sparsity
    size         plain `int` fields: counts such as nbody

The name of the MuJoCo field is the bundle's prefix plus the attribute's name ("body_" + "pos"), or the attribute's name
itself where that is a field of its own ("qpos0"). Its length comes from the table of MuJoCo's fields; arrays MuJoCo
does not have say their own.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import warp as wp

from kinema.model.mujoco_fields import data_fields, model_fields

vec5 = wp.types.vector(length=5, dtype=float)
vec6 = wp.types.vector(length=6, dtype=float)
vec10 = wp.types.vector(length=10, dtype=float)
vec12 = wp.types.vector(length=12, dtype=float)
vec17 = wp.types.vector(length=17, dtype=float)
vec5i = wp.types.vector(length=5, dtype=int)
vec7 = wp.types.vector(length=7, dtype=float)
vec6i = wp.types.vector(length=6, dtype=int)
vec7i = wp.types.vector(length=7, dtype=int)
vec9i = wp.types.vector(length=9, dtype=int)
vec10i = wp.types.vector(length=10, dtype=int)

Size = tuple[str | int, ...]
SCALARS = (int, float, wp.int32, wp.float32, wp.float64)


@dataclass(frozen=True)
class Field:
    """What one array of a bundle is.

    Attributes:
        kind: "index", "param", "data" or "shared".
        dtype: Warp type of one element.
        size: Extents after the world axis, as size symbols or ints; None: MuJoCo's table knows.
        rows: Keep a world's numbers together also on CUDA (for lane groups); otherwise worlds are interleaved there.
        name: MuJoCo's name, filled in by `bundle`.
    """

    kind: str
    dtype: type
    size: Size | None
    rows: bool = False
    name: str = ""

    @property
    def ndim(self) -> int:
        return len(self.size or ()) + (self.kind != "index")


def index(*size: str | int, dtype: type = int) -> Field:
    return Field("index", dtype, size or None)


def param(*size: str | int, dtype: type = float) -> Field:
    return Field("param", dtype, size or None)


def data(*size: str | int, dtype: type = float, rows: bool = False) -> Field:
    return Field("data", dtype, size or None, rows)


def shared(*size: str | int, dtype: type = int) -> Field:
    return Field("shared", dtype, size or None)


PER_WORLD = ()  # size of a field with one element a world

_declared: dict[int, dict[str, Field]] = {}
_same: dict[tuple[int, str], str] = {}


def per_world(dtype: type = float, kind: str = "data") -> Field:
    """One element a world: time, ncon, gravity."""
    return Field(kind, dtype, PER_WORLD)


def bundle(prefix: str = ""):
    """Turn a class of `index`/`param`/`data` annotations into a `wp.struct`, remembering the declarations."""

    def declare(cls):
        fields, annotations = {}, {}
        for name, what in cls.__annotations__.items():
            if not isinstance(what, Field):
                annotations[name] = what
                continue
            field = _resolved(prefix, name, what)
            fields[name] = field
            annotations[name] = wp.array(dtype=field.dtype, ndim=max(field.ndim, 1))
        cls.__annotations__ = annotations
        struct = wp.struct(cls)
        _declared[id(struct)] = fields
        return struct

    return declare


def adopt(struct, prefix: str, size: str, shared: Collection[str] = ()):
    """Treat a struct of arrays declared elsewhere as a bundle of data: 1-D per world, 2-D with the given size.

    Names in `shared` are arrays of other bundles too.
    """
    _declared[id(struct)] = {
        name: Field("data", var.type.dtype, () if var.type.ndim == 1 else (size,), False,
                    name if name in data_fields() or name in shared else prefix + name)
        for name, var in struct.vars.items()
    }  # fmt: skip
    return struct


def fields_of(struct) -> dict[str, Field]:
    """The declared arrays of a bundle, by attribute name."""
    return _declared.get(id(struct), {})


def bundles_of(struct) -> dict[str, Any]:
    """The bundles of a struct of bundles, by attribute: those behind arrays of one as well."""
    kinds = {name: getattr(var.type, "dtype", var.type) for name, var in struct.vars.items()}
    return {name: kind for name, kind in kinds.items() if fields_of(kind)}


def same(struct, **names: str) -> None:
    """Say that arrays of a struct declared elsewhere are arrays of bundles: attribute -> name."""
    _same.update({(id(struct), attribute): name for attribute, name in names.items()})


def array_name(struct, attribute: str) -> str:
    """The one name of an array, whichever struct holds it: MuJoCo's, or the struct's and the attribute's."""
    known = fields_of(struct).get(attribute)
    return known.name if known else _same.get((id(struct), attribute), f"{struct.key}.{attribute}")


def _resolved(prefix: str, name: str, field: Field) -> Field:
    """Complete a declaration with MuJoCo's name and, where not given, the length from MuJoCo's table."""
    table = data_fields() if field.kind in ("data", "shared") else model_fields()
    known = next((n for n in (prefix + name, name) if n in table), None)
    full = known or prefix + name
    if field.size is not None:
        return Field(field.kind, field.dtype, field.size, field.rows, full)
    if known is None:
        raise TypeError(f"{full} is not a field of MuJoCo's: say its size")
    shape = table[known].shape
    if field.dtype not in SCALARS:  # the element type takes up the last extent: (nbody, 3) of vec3 is (nbody,)
        shape = shape[:-1]
    return Field(field.kind, field.dtype, tuple(shape), field.rows, full)
