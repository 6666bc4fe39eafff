"""Worlds: opening them, filling them with copies of builders, and grouping identical ones.

Rows outside any world (world -1) are global and stand before or after all worlds. `add_world` only records a segment,
so a loop over it costs what `replicate` costs. Start arrays have world_count + 2 entries: starts of the worlds, start
of the global rows at the end, total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import BuildError, WrongKind, WrongMoment
from .attributes import AttributeMethods, check_names, same_attribute
from .columns import numeric
from .enums import Axis
from .fields import Field, world_key
from .merge import Layout, Segment, Template
from .transform import IDENTITY


def pose(value: Any, call: str, name: str = "xform") -> np.ndarray | None:
    """A transform given as [x y z, qx qy qz qw] or ((x, y, z), (qx, qy, qz, qw)), as 7 floats; None stays None."""
    if value is None:
        return None
    array = numeric(value)
    if array is None or array.dtype == object or array.size != 7:
        parts = [numeric(part) for part in value] if isinstance(value, (tuple, list)) else []
        if [None if part is None else part.size for part in parts] == [3, 4]:
            array = np.concatenate([part.reshape(-1) for part in parts if part is not None])
    if array is None or array.size != 7 or array.dtype.kind not in "fiu" or not np.all(np.isfinite(array)):
        raise BuildError(f"{call}: {name}={value!r} is not a transform of 7 finite numbers (x y z qx qy qz qw)")
    return array.reshape(7).astype(np.float64)


class WorldMethods(AttributeMethods):
    """The builder's methods about worlds and other builders."""

    particle_max_velocity: float
    _world_labels: dict[int, str]
    _requested_state: set[str]
    _requested_contact: set[str]

    def __init__(self, up_axis: Axis | str | int = Axis.Z, gravity: Any = None) -> None:
        super().__init__()
        self.up_axis = Axis.from_any(up_axis)
        self.gravity = -9.81 if gravity is None else gravity
        self.world_gravity: list[np.ndarray] = []

    @property
    def up_vector(self) -> tuple[float, float, float]:
        """Unit vector against gravity."""
        return tuple(self.up_axis.to_vec3().tolist())

    @property
    def gravity(self) -> np.ndarray:
        """Gravity [m/s²] of global rows and of worlds opened from now on, shape (3,)."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = gravity_vector(value, self.up_axis)
        self._version += 1

    @property
    def current_world(self) -> int:
        """Index of the open world, -1 outside worlds; `begin_world` and `end_world` change it."""
        return self._current_world

    def begin_world(self, label: str | None = None, attributes: dict | None = None, gravity: Any = None) -> None:
        """Open a new world; rows added until `end_world` belong to it.

        Args:
            label: Name of the world, kept in `world_label`.
            attributes: Values of custom attributes of frequency WORLD for this world.
            gravity: Gravity [m/s²] of the world; the builder's if None.
        """
        self.mutable("begin_world()")
        if self._current_world != -1:
            raise WrongMoment(f"begin_world(): world {self._current_world} is still open; call end_world() first")
        vector = self.gravity if gravity is None else gravity_vector(gravity, self.up_axis)
        for key in attributes or {}:
            if self._attribute_field(key, "begin_world()").frequency != "world":
                raise BuildError(f"begin_world(): attribute {key!r} does not have the frequency WORLD")
        self._open_world(vector)
        if label is not None:
            self._world_labels[self._current_world] = label
        for key, value in (attributes or {}).items():
            self.set_custom_value(key, value, world=self._current_world)

    def _open_world(self, gravity: np.ndarray) -> None:
        self._current_world = self.world_count
        self.world_count += 1
        self.world_gravity.append(gravity)
        self._version += 1

    def end_world(self) -> None:
        """Close the open world."""
        if self._current_world == -1:
            raise WrongMoment("end_world(): no world is open")
        self._current_world = -1

    def add_world(self, builder: WorldMethods, xform: Any = None, label_prefix: str | None = None) -> None:
        """Add a copy of another builder as a new world, placed at `xform`."""
        self.mutable("add_world()")
        if self._current_world != -1:
            raise WrongMoment(f"add_world(): world {self._current_world} is still open; call end_world() first")
        placed = _unless_identity(pose(xform, "add_world()"))
        template = self._accept(builder, "add_world()")
        self._open_world(builder.gravity)
        self.append_segment(Segment(template, self._current_world, placed, label_prefix))
        self._current_world = -1

    def add_builder(self, builder: WorldMethods, xform: Any = None, label_prefix: str | None = None) -> None:
        """Add a copy of another builder to the open world, or as global rows outside worlds."""
        self.mutable("add_builder()")
        placed = _unless_identity(pose(xform, "add_builder()"))
        template = self._accept(builder, "add_builder()")
        self.append_segment(Segment(template, self._current_world, placed, label_prefix))
        if self._current_world >= 0:
            self.world_gravity[self._current_world] = builder.gravity
        else:
            self.gravity = builder.gravity

    def replicate(
        self,
        builder: WorldMethods,
        world_count: int,
        spacing: tuple[float, float, float] = (0.0, 0.0, 0.0),
        *,
        xforms: Sequence[Any] | None = None,
        label_prefixes: Sequence[str | None] | None = None,
    ) -> None:
        """Add `world_count` worlds, each a copy of another builder.

        Args:
            builder: What to copy.
            world_count: How many worlds to add.
            spacing: Distances [m] of a grid to place the worlds on; zeros leave them on top of each other.
            xforms: Transform of each world instead of a grid.
            label_prefixes: Label prefix of each world.
        """
        call = "replicate()"
        self.mutable(call)
        if world_count != int(world_count) or world_count < 0:
            raise BuildError(f"{call}: world_count={world_count!r} is not a count")
        if world_count == 0:
            return
        if self._current_world != -1:
            raise WrongMoment(f"{call}: world {self._current_world} is still open; call end_world() first")
        for name, values in (("xforms", xforms), ("label_prefixes", label_prefixes)):
            if values is not None and len(values) != world_count:
                raise BuildError(f"{call}: {name} has {len(values)} entries for {world_count} worlds")
        placed: list[np.ndarray | None] = [None] * world_count
        if xforms is not None:
            placed = [_unless_identity(pose(xform, call)) for xform in xforms]
        elif any(spacing):
            offsets = world_offsets(world_count, spacing, self.up_axis)
            placed = [_unless_identity(np.concatenate([offset, IDENTITY[3:]])) for offset in offsets]
        template = self._accept(builder, call)
        prefixes = label_prefixes or [None] * world_count
        for xform, prefix in zip(placed, prefixes, strict=True):
            self._open_world(builder.gravity)
            self.append_segment(Segment(template, self._current_world, xform, prefix))
        self._current_world = -1

    def _accept(self, builder: WorldMethods, call: str) -> Template:
        """Check that a builder fits into this one, take over what it registered, and return its rows."""
        if not isinstance(builder, WorldMethods):
            raise WrongKind(f"{call}: expected a ModelBuilder, got {type(builder).__name__}")
        if builder is self:
            raise BuildError(f"{call}: a builder cannot be added to itself")
        if builder._current_world != -1:
            raise WrongMoment(f"{call}: the added builder still has world {builder._current_world} open")
        template = builder.template()
        if self._accepted.get(id(template)) is template:
            return template
        if builder.up_axis != self.up_axis:
            raise BuildError(f"{call}: up axis {builder.up_axis.name} does not match {self.up_axis.name}")
        builder.check_all_references()
        check_reference_ranges(template, call)
        new = []
        for key, frequency in builder.custom_frequencies.items():
            if self.custom_frequencies.get(key, frequency) != frequency:
                raise BuildError(f"{call}: frequency {key!r} is registered differently in the two builders")
        for key, attribute in builder.custom_attributes.items():
            known = self.custom_attributes.get(key)
            if known is None:
                check_names(attribute, call)
                new.append(attribute)
            elif not same_attribute(known, attribute):
                raise BuildError(
                    f"{call}: attribute {key!r} is registered differently in the two builders:\n  here  {known}\n  "
                    f"added {attribute}"
                )
        self._merge_once(template, call)
        for frequency in builder.custom_frequencies.values():
            if frequency.key not in self.custom_frequencies:
                self.add_custom_frequency(frequency)
        for attribute in new:
            self.add_custom_attribute(replace(attribute, values=None))
        for key in template.given:
            if template.table[key].frequency == "once":
                self._column(key).write(0, template.columns[key][:1])
        self._requested_state |= builder._requested_state
        self._requested_contact |= builder._requested_contact
        if template.counts["particle"]:
            self.particle_max_velocity = builder.particle_max_velocity
        self._accepted[id(template)] = template
        return template

    def _merge_once(self, template: Template, call: str) -> None:
        """Single values of two builders must agree: there is no order in which one should win."""
        for key in template.given:
            column = self._columns.get(key)
            if template.table[key].frequency == "once" and column is not None and column.is_set(0):
                mine, other = column.rows(1)[0], template.columns[key][0]
                if not np.array_equal(mine, other):
                    raise BuildError(
                        f"{call}: attribute {key!r} (frequency ONCE) is {mine} here and {other} in the added builder"
                    )


def _unless_identity(xform: np.ndarray | None) -> np.ndarray | None:
    return None if xform is None or np.array_equal(xform, IDENTITY) else xform


def gravity_vector(value: Any, up_axis: Axis) -> np.ndarray:
    """Gravity given as a vector, or as a number along the up axis."""
    array = np.asarray(value, dtype=np.float64).reshape(-1)
    if array.size not in (1, 3) or not np.all(np.isfinite(array)):
        raise BuildError(f"gravity={value!r} is neither a number nor three finite numbers")
    return array if array.size == 3 else array[0] * up_axis.to_vec3()


def world_offsets(count: int, spacing: Sequence[float], up_axis: Axis) -> np.ndarray:
    """Centred grid of world positions, shape (count, 3); zero along the up axis' centring."""
    steps = np.asarray(spacing, dtype=np.float64)
    used = np.flatnonzero(steps)
    side = int(np.ceil(count ** (1.0 / max(len(used), 1)) - 1e-9))
    cells = np.arange(count)
    offsets = np.zeros((count, 3))
    for place, axis in enumerate(used):
        cell = cells // side**place
        offsets[:, axis] = (cell % side if place < len(used) - 1 else cell) * steps[axis]
    centre = (offsets.min(axis=0) + offsets.max(axis=0)) / 2.0
    centre[up_axis] = 0.0
    return offsets - centre


def check_reference_ranges(source: Template, call: str, within: Mapping[str, int] | None = None) -> None:
    """Values that point at rows must point at rows that exist."""
    limits = within or source.counts
    for key, rows in source.columns.items():
        field = source.table[key]
        if isinstance(field.references, str) and field.references != "world" and rows.size:
            _check_range(field, rows, field.references, source, limits, call)
        elif isinstance(field.references, tuple) and rows.size:
            for component, name in enumerate(field.references):
                if name not in (None, "world"):
                    _check_range(field, rows[..., component], name, source, limits, call)


def _check_range(
    field: Field, rows: np.ndarray, reference: str, source: Template, limits: Mapping[str, int], call: str
) -> None:
    kind = reference if reference in limits else source.table[reference].frequency
    # starts and ends may point one past the last row
    limit = limits[kind] + (field.name.endswith(("_start", "_end")) and not field.custom)
    if rows.max() >= limit:
        row = int(np.argwhere(rows >= limit)[0][0])
        raise BuildError(
            f"{call}: {field.key!r} row {row} refers to {kind} {rows[row]}, but there are only {limits[kind]}"
        )


def world_runs(kind: str, base: Template, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Worlds of the rows of a frequency, in order, as (world, number of rows) pairs."""
    stored = base.columns.get(world_key(kind))
    worlds, sizes = layout.runs(kind)
    if stored is not None and len(stored):
        worlds = np.concatenate([stored, worlds])
        sizes = np.concatenate([np.ones(len(stored), np.int64), sizes])
    return worlds[sizes > 0], sizes[sizes > 0]


def world_starts(worlds: np.ndarray, sizes: np.ndarray, world_count: int) -> np.ndarray:
    """Starts of the worlds in a frequency whose rows belong to `worlds`; two more entries than worlds."""
    own = worlds >= 0
    front = int(sizes[: np.argmax(own)].sum()) if own.any() else int(sizes.sum())
    per_world = np.bincount(worlds[own], weights=sizes[own], minlength=world_count).astype(np.int64)
    starts = np.empty(world_count + 2, dtype=np.int32)
    starts[0] = front
    starts[1:-1] = front + np.cumsum(per_world)
    starts[-1] = sizes.sum()
    return starts


def check_world_order(worlds: np.ndarray, key: str, world_count: int) -> None:
    """Worlds in rising order, global rows only before or after them."""
    if len(worlds) == 0:
        return
    if worlds.min() < -1 or worlds.max() >= max(world_count, 1):
        raise BuildError(f"finalize(): {key!r} holds a world outside -1 to {world_count - 1}")
    own = np.flatnonzero(worlds >= 0)
    if len(own) == 0:
        return
    if own[-1] - own[0] + 1 != len(own):
        raise BuildError(
            f"finalize(): {key!r} has global rows (world -1) between worlds; add them before or after all worlds"
        )
    if np.any(np.diff(worlds[own]) < 0):
        raise BuildError(f"finalize(): {key!r} has worlds out of order")
