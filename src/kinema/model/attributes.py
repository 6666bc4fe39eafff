"""Custom attributes: arrays that users and solvers add to the table, and the values they put there.

`CustomAttribute` describes an array as users do; registering it turns it into a `Field` of the builder's table, after
which nothing distinguishes it from a built-in one. Values come with the adders (`custom_attributes={key: value}`), as
rows of a frequency of their own (`add_custom_values`), or one by one (`set_custom_value`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np
import warp as wp

from ..errors import BuildError, UnknownKey, WrongKind, did_you_mean
from .columns import convert, numeric
from .fields import ALIASES, FIELDS, Field, References
from .frequency import BUILT_IN, AttributeAssignment, AttributeFrequency, CustomFrequency, frequency_key
from .merge import resolve_reference
from .rows import Prepared, RowStore

_PYTHON_TYPES = {float: wp.float32, int: wp.int32, bool: wp.bool}


@dataclass
class CustomAttribute:
    """An array a user adds to models.

    Args:
        name: Name; with a namespace the array is ``model.<namespace>.<name>``.
        dtype: Warp scalar, vector, matrix, quaternion or transform type, or `str`.
        frequency: What counts its rows: an `AttributeFrequency`, the key of a custom frequency, or None for rows of
            its own.
        assignment: Object that holds it at run time.
        namespace: Namespace, if any.
        references: What its values point at: ``"body"``, ``"shape"``, …, ``"world"``, the key of a custom frequency or
            of another attribute; a tuple of these, one per component; or a hook ``remap(values, offsets, columns)``
            that gets values of shape (copies, rows, ...), offsets by key that broadcast against it, and the columns of
            the template, and returns the moved values. -1 means "none".
        default: Value of rows nobody set.
        values: Values to start with: a list of rows, or a dict from row to value.
        shape: Further dimensions of a row; ``(5,)`` gives a 2-D array.
        transform: What the transform of a merge does to its rows (see `transform.py`).
        mjcf_attribute_name: XML attribute it is read from; its name if None.
        mjcf_value_transformer: ``(text, context) -> value`` instead of the plain conversion; None means absent.
    """

    name: str
    dtype: Any = wp.float32
    frequency: AttributeFrequency | str | None = None
    assignment: AttributeAssignment = AttributeAssignment.MODEL
    namespace: str | None = None
    references: References = None
    default: Any = None
    values: Any = dataclass_field(default=None, compare=False)
    usd_attribute_name: str | None = None
    mjcf_attribute_name: str | None = None
    urdf_attribute_name: str | None = None
    usd_value_transformer: Callable[[Any, dict[str, Any] | None], Any] | None = None
    mjcf_value_transformer: Callable[[str, dict[str, Any] | None], Any] | None = None
    urdf_value_transformer: Callable[[str, dict[str, Any] | None], Any] | None = None
    shape: tuple[int, ...] = ()
    transform: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        if not self.name or ":" in self.name:
            raise BuildError(f"CustomAttribute(name={self.name!r}): must be non-empty and hold no ':'")
        self.dtype = _PYTHON_TYPES.get(self.dtype, self.dtype)
        if self.dtype is not str and not (isinstance(self.dtype, type) and wp.types.type_is_value(self.dtype)):
            raise BuildError(f"CustomAttribute({self.key!r}): dtype {self.dtype!r} is neither a Warp type nor str")

    @property
    def key(self) -> str:
        """``namespace:name``, or the bare name."""
        return f"{self.namespace}:{self.name}" if self.namespace else self.name

    def field(self, *, prefixed: bool = False) -> Field:
        """The row of the table this attribute is."""
        return Field(
            name=self.name,
            frequency=frequency_key(self.frequency, self.key),
            dtype=self.dtype,
            default=self.default,
            shape=tuple(self.shape),
            assignment=AttributeAssignment(self.assignment),
            namespace=self.namespace,
            references=tuple(self.references) if isinstance(self.references, list) else self.references,
            prefixed=prefixed,
            grad=self.dtype is not str and np.issubdtype(wp.dtype_to_numpy(_scalar(self.dtype)), np.floating),
            transform=self.transform,
            custom=True,
        )


def _scalar(dtype: Any) -> Any:
    return getattr(dtype, "_wp_scalar_type_", dtype)


class AttributeValues:
    """What `builder.custom_attributes[key].values` shows: the rows, by index; assigning an item sets a row."""

    def __init__(self, builder: AttributeMethods, key: str):
        self._builder, self._key = builder, key

    def _rows(self) -> np.ndarray:
        self._builder.flush()
        column = self._builder._column(self._key)
        return column.rows(column.size)

    def __len__(self) -> int:
        return len(self._rows())

    def __getitem__(self, index: Any) -> Any:
        return self._rows()[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._builder.set_custom_value(self._key, value, index=index)

    def __iter__(self):
        return iter(self._rows())

    def get(self, index: int, default: Any = None) -> Any:
        """The row, or `default` where nobody set it."""
        self._builder.flush()
        column = self._builder._column(self._key)
        return column.rows(column.size)[index] if column.is_set(index) else default


class AttributeMethods(RowStore):
    """The builder's methods about custom frequencies, attributes and values."""

    def __init__(self) -> None:
        super().__init__()
        self.custom_attributes: dict[str, CustomAttribute] = {}
        self.custom_frequencies: dict[str, CustomFrequency] = {}
        self._world_attributes: dict[str, list[str]] = {}  # by frequency, those that reference the world

    def add_custom_frequency(self, frequency: CustomFrequency) -> None:
        """Register an entity of its own, whose rows `add_custom_values` adds; doing so twice changes nothing."""
        self.mutable("add_custom_frequency()")
        known = self.custom_frequencies.get(frequency.key)
        if known is not None and known != frequency:
            raise BuildError(f"add_custom_frequency({frequency.key!r}): already registered differently: {known}")
        if frequency.key in BUILT_IN or (known is None and frequency.key in self._counts):
            raise BuildError(f"add_custom_frequency({frequency.key!r}): the name is taken")
        self.custom_frequencies[frequency.key] = frequency
        self.add_frequency(frequency.key)
        self._version += 1

    def add_custom_attribute(self, attribute: CustomAttribute) -> None:
        """Register an array; again the same changes nothing, another one under the same key is an error."""
        self.mutable("add_custom_attribute()")
        key, call = attribute.key, f"add_custom_attribute({attribute.key!r})"
        known = self.custom_attributes.get(key)
        if known is not None:
            if not same_attribute(known, attribute):
                raise BuildError(f"{call}: already registered differently:\n  first {known}\n  now   {attribute}")
            return
        kind = frequency_key(attribute.frequency, key)
        if attribute.frequency is not None and kind not in self._counts and kind != "world":
            raise BuildError(
                f"{call}: frequency {kind!r} is not registered; call add_custom_frequency first"
                + did_you_mean(kind, self._counts)
            )
        check_names(attribute, call)
        owner = self.custom_frequencies.get(kind)
        labels = owner is not None and owner.label_attribute in (attribute.name, f"{owner.name}_{attribute.name}")
        field = attribute.field(prefixed=bool(labels))
        check_references(field, call)
        if attribute.default is not None:
            convert(field, attribute.default, 1, call=f"{call} default")
        if attribute.frequency is None:
            if key in self._counts:
                raise BuildError(f"{call}: the key is taken by a frequency")
            self.add_frequency(key)
        values = attribute.values
        attribute = replace(attribute, values=AttributeValues(self, key))  # the caller's object stays his
        self._table[key] = field
        self.custom_attributes[key] = attribute
        self._version += 1
        if field.references == "world":
            self._world_attributes.setdefault(kind, []).append(key)
        if values is not None and len(values):
            self._start_values(field, values, call)

    def _start_values(self, field: Field, values: Any, call: str) -> None:
        if isinstance(values, Mapping):
            for row, value in values.items():
                self._column(field.key).write(row, convert(field, value, 1, call=call))
        elif field.frequency == field.key:
            self.add_custom_values_batch({field.key: values})
        else:
            self._column(field.key).write(0, convert(field, values, len(values), call=call))

    def has_custom_attribute(self, key: str) -> bool:
        """Whether an attribute is registered under the key."""
        return key in self.custom_attributes

    def get_custom_attributes_by_frequency(self, frequencies: Sequence[AttributeFrequency | str]) -> list:
        """Registered attributes of the given frequencies, in order of registration."""
        kinds = {frequency_key(frequency) for frequency in frequencies}
        return [a for key, a in self.custom_attributes.items() if self._table[key].frequency in kinds]

    def get_custom_frequency_keys(self) -> set[str]:
        """Keys of the registered custom frequencies."""
        return set(self.custom_frequencies)

    def _attribute_field(self, key: str, call: str) -> Field:
        field = self._table.get(key)
        if field is None or not field.custom:
            raise UnknownKey(
                f"{call}: no custom attribute {key!r} is registered{did_you_mean(key, self.custom_attributes)}"
            )
        return field

    # values

    def add_custom_values(self, **values: Any) -> dict[str, int]:
        """Add one row to each frequency the given attributes belong to; returns the row of each key.

        Attributes of such a frequency that are not given stay at their default, except those that reference the world,
        which get the current world.
        """
        found = self._add_rows({key: _one(value) for key, value in values.items()}, 1, "add_custom_values()")
        return {key: int(rows[0]) for key, rows in found.items()}

    def add_custom_values_batch(self, entries: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Any:
        """Add many rows: a list of dicts (returns the list of their rows), or a dict of whole columns (returns, for
        each key, the array of its rows)."""
        call = "add_custom_values_batch()"
        if isinstance(entries, Mapping):
            counts = {key: len(column) for key, column in entries.items()}
            if len(set(counts.values())) > 1:
                raise BuildError(f"{call}: columns of one call must have as many rows each, got {counts}")
            return self._add_rows(dict(entries), next(iter(counts.values()), 0), call)
        entries = list(entries)
        if not entries:
            return []
        if all(entry.keys() == entries[0].keys() for entry in entries):
            columns = {key: [entry[key] for entry in entries] for key in entries[0]}
            found = self._add_rows(columns, len(entries), call)
            return [{key: int(rows[i]) for key, rows in found.items()} for i in range(len(entries))]
        for entry in entries:  # check all before adding any
            self._check_rows({key: _one(value) for key, value in entry.items()}, 1, call)
        return [self.add_custom_values(**entry) for entry in entries]

    def _check_rows(self, columns: dict[str, Any], count: int, call: str) -> dict[str, Prepared]:
        groups: dict[str, Prepared] = {}
        for key, values in columns.items():
            field = self._attribute_field(key, call)
            if field.frequency in BUILT_IN:
                raise WrongKind(
                    f"{call}: {key!r} has the built-in frequency {field.frequency!r}; "
                    "pass its values to the adder of that entity"
                )
            if field.references == "world" and not field.is_object and isinstance(values, list):
                values = [self._current_world if value is None else value for value in values]
            groups.setdefault(field.frequency, []).append((key, convert(field, values, count, call=call)))
        for kind, prepared in groups.items():
            given = {key for key, _ in prepared}
            for key in self._world_attributes.get(kind, ()):
                if key not in given:
                    prepared.append((key, np.full(count, self._current_world, self._table[key].numpy_dtype)))
        return groups

    def _add_rows(self, columns: dict[str, Any], count: int, call: str) -> dict[str, np.ndarray]:
        self.mutable(call)
        groups = self._check_rows(columns, count, call)
        found = {}
        for kind, prepared in groups.items():
            start = self.commit(kind, count, prepared)
            found.update({key: np.arange(start, start + count) for key, _ in prepared})
        return found

    def set_custom_value(self, key: str, value: Any, *, index: int = 0, world: int | None = None) -> None:
        """Set one row of an attribute of any frequency: the row of ONCE, a world's of WORLD, or row `index`."""
        call = f"set_custom_value({key!r})"
        self.mutable(call)
        field = self._attribute_field(key, call)
        if field.frequency == "world":
            index = world if world is not None else (index or max(self._current_world, 0))
        index = self.check_index(field.frequency, index, call)
        rows = convert(field, [value] if field.is_object else value, 1, call=call)
        self.flush()
        self._column(key).write(index, rows)
        self._touched.add(key)
        self._version += 1

    def prepare_custom(
        self, kinds: Mapping[str, int], values: Mapping[str, Any] | None, call: str
    ) -> dict[str, list[tuple[str, int, np.ndarray]]]:
        """Check the `custom_attributes=` of an adder that adds `kinds[frequency]` rows to each of some frequencies.

        The first frequency is the entity's own. Returns, by frequency, (key, local row, rows).
        """
        found: dict[str, list[tuple[str, int, np.ndarray]]] = {kind: [] for kind in kinds}
        own = next(iter(kinds))
        for key, value in (values or {}).items():
            field = self._attribute_field(key, call)
            kind = field.frequency
            if kind not in kinds:
                raise BuildError(
                    f"{call}: {key!r} has frequency {kind!r}, but this call adds rows of {', '.join(map(repr, kinds))}"
                )
            count = kinds[kind]
            if isinstance(value, Mapping) and kind != own:
                for local, item in value.items():
                    if not isinstance(local, (int, np.integer)) or isinstance(local, bool):
                        raise WrongKind(f"{call}: {key!r} is given by local index, got {local!r}")
                    if not 0 <= local < count:
                        raise BuildError(f"{call}: {key!r} has rows 0 to {count - 1} here, got index {local}")
                    found[kind].append((key, int(local), convert(field, _one(item), 1, call=call)))
            elif count:
                found[kind].append((key, 0, self._spread(field, value, count, kind == own and count == 1, call)))
        return found

    @staticmethod
    def _spread(field: Field, value: Any, count: int, single: bool, call: str) -> np.ndarray:
        """One value for all rows, or a list with one value for each."""
        if single:
            return convert(field, _one(value) if field.is_object else value, 1, call=call)
        if field.is_object:
            return convert(field, value if isinstance(value, (list, tuple)) else [value] * count, count, call=call)
        array = numeric(value)
        is_list = isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)
        if array is not None and is_list and array.shape[1:] == field.row_shape and len(array) != count:
            raise BuildError(f"{call}: {field.key!r} needs {count} values, got {len(array)}")
        if is_list and (array is None or array.shape != field.row_shape):
            return convert(field, value, count, call=call)
        return np.repeat(convert(field, value, 1, call=call), count, axis=0)

    def commit_custom(self, kind: str, start: int, rows: Iterable[tuple[str, int, np.ndarray]]) -> None:
        """Write rows checked by `prepare_custom`, whose entity now starts at row `start`."""
        for key, local, values in rows:
            self._column(key).write(start + local, values)

    def check_all_references(self) -> None:
        """Every `references` names something that exists; called before a merge and at finalize."""
        for field in self._table.values():
            if field.custom and field.references is not None and not callable(field.references):
                names = field.references if isinstance(field.references, tuple) else (field.references,)
                for name in names:
                    if name not in (None, "world"):
                        try:
                            resolve_reference(name, self._table, self._counts)
                        except BuildError:
                            raise BuildError(
                                f"custom attribute {field.key!r}: references={name!r} names neither a frequency nor an "
                                f"attribute{did_you_mean(name, [*self._counts, *self.custom_attributes])}"
                            ) from None


def _one(value: Any) -> list[Any]:
    return [value]


def _stated(a: CustomAttribute) -> tuple:
    """What decides the array, as it was written: quickly compared, and equal for most that are the same."""
    default = a.default.tolist() if isinstance(a.default, np.ndarray) else a.default
    kind = type(default) in (int, float, bool, str, list, tuple, type(None))
    return (a.name, a.namespace, a.frequency, a.dtype, tuple(a.shape), a.assignment, a.references, a.transform,
            default if kind else id(default))  # fmt: skip


def same_attribute(a: CustomAttribute, b: CustomAttribute) -> bool:
    """Whether two descriptions mean the same array (importers' names and callbacks do not matter)."""
    if a is b or _stated(a) == _stated(b):
        return True
    first, second = a.field(), b.field()
    simple = ("name", "namespace", "frequency", "dtype", "shape", "assignment", "references", "transform")
    if any(getattr(first, part) != getattr(second, part) for part in simple):
        return False
    return bool(np.array_equal(first.fill, second.fill)) if not first.is_object else first.fill == second.fill


def check_names(attribute: CustomAttribute, call: str) -> None:
    """Names and namespaces must not hide what a model already has."""
    from .model import Model  # the class knows its members; imported late because it imports this module's siblings

    top = attribute.namespace or attribute.name
    taken = top in FIELDS or top in ALIASES or hasattr(Model, top) or top in Model.MEMBERS
    if (taken and top != "mujoco") or attribute.key in FIELDS:
        what = "namespace" if attribute.namespace and attribute.key not in FIELDS else "name"
        raise UnknownKey(f"{call}: the {what} {top!r} is taken by the model; choose another one")


def check_references(field: Field, call: str) -> None:
    """References need integers, one per component; a bare word must be a built-in frequency."""
    if field.references is None:
        return
    if field.is_object or field.numpy_dtype.kind not in "iu":
        raise BuildError(f"{call}: an attribute with references={field.references!r} must hold integers")
    if isinstance(field.references, tuple) and len(field.references) != (field.row_shape or (1,))[-1]:
        raise BuildError(f"{call}: {len(field.references)} references for rows of shape {field.row_shape}")


_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def value_from_text(field: Field, text: str) -> Any:
    """The value an XML attribute's text means for a field."""
    if field.dtype is str:
        return text
    words = text.replace(",", " ").split()
    if field.numpy_dtype.kind == "b":
        lower = [word.lower() for word in words]
        if not all(word in _TRUE + _FALSE for word in lower):
            raise BuildError(f"{field.key!r}: {text!r} is not a truth value")
        numbers: list[Any] = [word in _TRUE for word in lower]
    else:
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            raise BuildError(f"{field.key!r}: {text!r} is not a list of numbers") from None
    if field.row_size > 1 and len(numbers) == 1:
        numbers = numbers * field.row_size
    return convert(field, numbers, 1, call=field.key)[0]


def parse_custom_attributes(
    dictlike: Mapping[str, str],
    attributes: Sequence[CustomAttribute],
    parsing_mode: str = "mjcf",
    context: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Values of the attributes an XML element carries, by key; absent ones are left out.

    Args:
        dictlike: The element's attributes, as text.
        attributes: Attributes to look for.
        parsing_mode: ``"mjcf"``, ``"urdf"`` or ``"usd"``: whose names and transformers to use.
        context: Passed on to transformers.
    """
    if parsing_mode not in ("mjcf", "urdf", "usd"):
        raise BuildError(f"parse_custom_attributes: parsing_mode {parsing_mode!r} is not 'mjcf', 'urdf' or 'usd'")
    found = {}
    for attribute in attributes:
        name = getattr(attribute, f"{parsing_mode}_attribute_name") or attribute.name
        transformer = getattr(attribute, f"{parsing_mode}_value_transformer")
        if name not in dictlike:
            continue
        text = dictlike[name]
        value = transformer(text, context) if transformer is not None else value_from_text(attribute.field(), text)
        if value is not None:
            found[attribute.key] = value
    return found
