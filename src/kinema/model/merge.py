"""Merging: many copies of templates written into one set of columns.

A copy of a template is a segment (template, world, transform, label prefix). Segments are collected and written out
together, template by template: the rows of all copies of one template form a block of shape (copies, rows, ...),
filled by one broadcast. Values that point at rows move with them:

    v' = v + offset      where v >= 0, offset = first row of the copy in the referenced frequency
    v' = v               where v < 0 (-1 means "none")
    v' = world           where the field references "world"

The same formula with negative offsets turns global indices back into indices local to one world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property

import numpy as np

from ..errors import BuildError
from .fields import Field
from .frequency import EQUALITY


@dataclass
class Template:
    """Frozen rows of a builder: complete columns, counts, and which single values were given."""

    table: dict[str, Field]
    columns: dict[str, np.ndarray]
    counts: dict[str, int]
    given: set[str]
    prepared: dict[str, np.ndarray] = dataclass_field(default_factory=dict)

    @cached_property
    def grows(self) -> tuple[tuple[str, int], ...]:
        """Frequencies a copy adds rows to, and how many."""
        return tuple((kind, n) for kind, n in self.counts.items() if n and kind not in ("once", "world"))

    def column(self, field: Field) -> np.ndarray:
        """Rows of a field, derived ones included; defaults where the template has none."""
        rows = self.prepared.get(field.key)
        if rows is None:
            rows = self.columns.get(field.key)
        if rows is None:
            count = self.counts.get(field.frequency, 0)
            rows = np.empty((count, *field.row_shape), field.numpy_dtype)
            rows[:] = field.fill
        return rows


class AllColumns(Mapping):
    """Columns of a template by key, for hooks: every field of its table, defaults where nobody wrote."""

    def __init__(self, template: Template):
        self._template = template

    def __getitem__(self, key: str) -> np.ndarray:
        return self._template.column(self._template.table[key])

    def __iter__(self):
        return iter(self._template.table)

    def __len__(self) -> int:
        return len(self._template.table)


@dataclass(slots=True)
class Segment:
    """One copy of a template: into which world, where, under which label prefix."""

    template: Template
    world: int
    xform: np.ndarray | None = None
    prefix: str | None = None


@dataclass
class Group:
    """All copies of one template, and the first rows of each by frequency."""

    template: Template
    worlds: np.ndarray
    xforms: np.ndarray | None
    prefixes: list[str | None] | None
    starts: dict[str, np.ndarray]


class Layout:
    """Where every row of base and segments goes: `total` rows by frequency, and the groups of copies."""

    def __init__(self, base: Mapping[str, int], segments: Sequence[Segment], world_count: int):
        templates: dict[int, Template] = {}
        which = np.empty(len(segments), dtype=np.int64)
        numbers: dict[int, int] = {}
        for i, segment in enumerate(segments):
            key = id(segment.template)
            if key not in numbers:
                numbers[key] = len(numbers)
                templates[key] = segment.template
            which[i] = numbers[key]
        kinds = sorted({kind for template in templates.values() for kind in template.counts} | set(base))
        self.total: dict[str, int] = {}
        starts: dict[str, np.ndarray] = {}
        for kind in kinds:
            first = base.get(kind, 0)
            sizes = np.array([t.counts.get(kind, 0) for t in templates.values()], dtype=np.int64)
            if kind in ("once", "world") or not len(segments):
                self.total[kind] = world_count if kind == "world" else first
                continue
            ends = first + np.cumsum(sizes[which])
            starts[kind] = ends - sizes[which]
            self.total[kind] = int(ends[-1])
        worlds = np.array([segment.world for segment in segments], dtype=np.int64)
        self._worlds, self._which, self._templates = worlds, which, list(templates.values())
        self.groups: list[Group] = []
        for number, template in enumerate(templates.values()):
            mine = np.flatnonzero(which == number)
            copies = [segments[i] for i in mine.tolist()]
            xforms = None
            if any(copy.xform is not None for copy in copies):
                identity = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
                xforms = np.stack([identity if copy.xform is None else copy.xform for copy in copies])
            prefixes = [copy.prefix for copy in copies] if any(copy.prefix for copy in copies) else None
            group_starts = {kind: values[mine] for kind, values in starts.items()}
            self.groups.append(Group(template, worlds[mine], xforms, prefixes, group_starts))


    def runs(self, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Worlds and numbers of the rows that the copies add to a frequency, copy by copy."""
        sizes = np.array([t.counts.get(kind, 0) for t in self._templates], dtype=np.int64)
        return (self._worlds, sizes[self._which]) if len(sizes) else (self._worlds, self._worlds)


def one_copy(field: Field, segment: Segment) -> np.ndarray:
    """Rows of a field in one copy, as if it were alone: placed and labelled, but with indices of its own."""
    template = segment.template
    rows = np.empty((1, template.counts.get(field.frequency, 0), *field.row_shape), field.numpy_dtype)
    starts = {kind: np.zeros(1, np.int64) for kind in template.counts}
    xforms = None if segment.xform is None else segment.xform[None]
    write_block(field, Group(template, np.zeros(1, np.int64), xforms, [segment.prefix], starts), rows)
    return rows[0]


def gather(field: Field, base: Template, layout: Layout) -> np.ndarray:
    """The whole column of a field: stored rows, then every copy in its place."""
    out = np.empty((layout.total.get(field.frequency, 0), *field.row_shape), field.numpy_dtype)
    if field.frequency in ("once", "world"):
        _gather_single(field, base, layout, out)
        return out
    count = base.counts.get(field.frequency, 0)
    if count:
        out[:count] = base.column(field)
    write_copies(field, layout, out)
    return out


def write_copies(field: Field, layout: Layout, out: np.ndarray) -> None:
    """Write every copy's rows of a field into their places of a column."""
    for group in layout.groups:
        rows = group.template.counts.get(field.frequency, 0)
        if rows:
            first = group.starts[field.frequency]
            copies = len(first)
            if first[-1] - first[0] == (copies - 1) * rows:
                block = out[first[0] : first[0] + copies * rows].reshape(copies, rows, *field.row_shape)
                write_block(field, group, block)
            else:
                block = np.empty((copies, rows, *field.row_shape), field.numpy_dtype)
                write_block(field, group, block)
                out[first[:, None] + np.arange(rows)] = block


def _gather_single(field: Field, base: Template, layout: Layout, out: np.ndarray) -> None:
    """ONCE keeps the builder's row; WORLD takes row 0 of each template for its copies' worlds."""
    out[:] = field.fill
    stored = base.columns.get(field.key)
    if stored is not None:
        out[: len(stored)] = stored[: len(out)]
    if field.frequency == "world":
        for group in layout.groups:
            if field.key in group.template.given:
                out[group.worlds[group.worlds >= 0]] = group.template.columns[field.key][0]


def write_block(field: Field, group: Group, block: np.ndarray) -> None:
    """Fill the block (copies, rows, ...) of one group."""
    if block.size == 0:
        return
    template = group.template
    source = template.column(field)
    if field.references is None:
        block[...] = source
    else:
        offsets = Offsets(template, group.starts, group.worlds, block.ndim)
        block[...] = remap(field, source, offsets, AllColumns(template), block.shape)
    if field.transform is not None and group.xforms is not None:
        field.transform(block, group.xforms, AllColumns(template))
    if field.prefixed and group.prefixes is not None:
        for copy, prefix in enumerate(group.prefixes):
            if prefix:
                block[copy] = [f"{prefix}/{label}" if label else label for label in source.tolist()]


class Offsets(Mapping):
    """First rows of the copies by frequency, shaped to broadcast against blocks (copies, rows, ...)."""

    def __init__(self, template: Template, starts: Mapping[str, np.ndarray], worlds: np.ndarray, ndim: int):
        self._table, self._starts = template.table, starts
        self._shape = (len(worlds),) + (1,) * (ndim - 1)
        self.world = worlds.reshape(self._shape)

    def __getitem__(self, reference: str) -> np.ndarray:
        kind = resolve_reference(reference, self._table, self._starts)
        return self._starts[kind].reshape(self._shape)

    def __iter__(self):
        return iter(self._starts)

    def __len__(self) -> int:
        return len(self._starts)


def resolve_reference(reference: str, table: Mapping[str, Field], kinds: Mapping[str, object]) -> str:
    """Frequency key that a reference (a frequency, or an attribute of it) stands for."""
    if reference in kinds:
        return reference
    if reference == "equality_constraint":
        return EQUALITY
    if reference in table:
        return table[reference].frequency
    raise BuildError(f"references={reference!r} names neither a frequency nor an attribute")


def remap(
    field: Field, values: np.ndarray, offsets: Offsets, columns: Mapping[str, np.ndarray], shape: tuple[int, ...]
) -> np.ndarray:
    """Values of a referencing field after their targets moved by `offsets`."""
    references = field.references
    if callable(references):
        return references(np.broadcast_to(values, shape), offsets, columns)
    if references == "world":
        return np.broadcast_to(offsets.world, shape)
    if isinstance(references, str):
        return _shift(values, offsets[references], field.numpy_dtype)
    out = np.array(np.broadcast_to(values, shape))
    for component, reference in enumerate(references or ()):
        if reference == "world":
            out[..., component] = offsets.world[..., 0]
        elif reference is not None:
            out[..., component] = _shift(values[..., component], offsets[reference][..., 0], field.numpy_dtype)
    return out


def _shift(values: np.ndarray, offset: np.ndarray, dtype: np.dtype) -> np.ndarray:
    offset = offset.astype(dtype)
    if values.size and values.min() >= 0:
        return values + offset
    return values + offset * (values >= 0)
