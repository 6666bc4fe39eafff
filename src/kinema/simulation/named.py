"""Elements by name: `sim.joint("knee").qpos`, `sim.body("torso").mass`, `sim.sensor("imu").data`.

The table of MuJoCo's fields says which belong to an element: those whose first axis counts its kind, and those with a
run of rows for each of its kind (a joint's coordinates, an actuator's controls). Names are MuJoCo's, with or without
the prefix of the kind: `sim.geom("foot").friction` is `geom_friction`. Shapes are those of MuJoCo's own named access,
after an axis of worlds:

    sim.joint("knee").qpos             (worlds, 1)      sim.joint("root").qpos            (worlds, 7)
    sim.body("torso").xpos             (worlds, 3)      sim.body(["torso", "hand"]).xpos  (worlds, 2, 3)
    sim.body("torso").mass             (1,), or (worlds, 1) once body_mass is expanded
    sim.flex("towel").flexvert_xpos    (worlds, vertices, 3)

State, controls and parameters of the model can be assigned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinema.compile.host_model import KINDS
from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.simulation.source import names_of
from kinema.simulation.values import Values, put

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

RUNS: Mapping[str, tuple[str, str, str | None]] = {
    "nq": ("joint", "jnt_qposadr", None), "nv": ("joint", "jnt_dofadr", None),
    "na": ("actuator", "actuator_actadr", "actuator_actnum"),
    "nu": ("actuator", "actuator_ctrladr", "actuator_ctrlnum"),
    "nout": ("actuator", "actuator_outadr", "actuator_outnum"), "nsensordata": ("sensor", "sensor_adr", "sensor_dim"),
    "nnumericdata": ("numeric", "numeric_adr", "numeric_size"), "ntextdata": ("text", "text_adr", "text_size"),
    **{f"nflex{part}": ("flex", f"flex_{part}adr", f"flex_{part}num") for part in ("vert", "node", "edge", "elem")},
}  # fmt: skip
"""Axes on which an element has a run of rows: its kind, and the fields of its address and of the length of the run
(None: up to the next address)."""

PREFIXES = {
    "joint": ("jnt_", "dof_"), "camera": ("cam_",), "tendon": ("ten_", "tendon_"), "texture": ("tex_",),
    "material": ("mat_",), "equality": ("eq_",), "sensor": ("sensor_", "sensor"),
}  # fmt: skip
"""Prefixes of fields by kind, where they are not the kind's name."""

SINGLE = ("na", "nu", "nout")
"""Axes of RUNS on which a run of one row is that row."""


def runs(model: Any, symbol: str) -> list[range]:
    """Rows of each element on an axis of RUNS."""
    _, address, length = RUNS[symbol]
    starts = np.asarray(getattr(model, address))
    lengths = np.asarray(getattr(model, length)) if length else np.diff(np.r_[starts, getattr(model, symbol)])
    pairs = zip(starts.tolist(), lengths.tolist(), strict=True)
    return [range(start, start + count) if start >= 0 else range(0) for start, count in pairs]


def ids_of(model: Any, kind: str, which: int | str | Sequence) -> tuple[list[int], bool]:
    """Ids of the chosen elements, and whether a single one was asked for."""
    names = names_of(model, kind)
    single = isinstance(which, int | str | np.integer)
    found = []
    items: Any = [which] if single else which
    for item in items:
        if isinstance(item, str):
            if not item or item not in names:
                known = [name for name in names if name]
                there = f"; there are {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}" if known else ""
                raise UnknownKey(f"no {kind} named {item!r}{did_you_mean(item, known) or there}")
            found.append(names.index(item))
        elif 0 <= int(item) < len(names):
            found.append(int(item))
        else:
            raise UnknownKey(f"{kind} {int(item)}: the model has {len(names)}")
    return found, single


class _Field(NamedTuple):
    """A field of an element.

    Attributes:
        name: MuJoCo's name.
        is_data: It is of mjData, with an axis of worlds.
        rows: Its rows.
        is_row: It is one row, whose axis is left out.
    """

    name: str
    is_data: bool
    rows: Any
    is_row: bool

    def place(self, worlds: bool) -> Any:
        """Where the element's numbers are in the whole field, which has an axis of worlds or not."""
        rows = self.rows
        if self.is_row:
            rows = rows.start if isinstance(rows, slice) else rows[0]
        return (slice(None), rows) if worlds else rows

    def of(self, values: np.ndarray, worlds: bool) -> np.ndarray:
        """The element's numbers of a whole field."""
        return values[self.place(worlds)]


class Elements:
    """One or several elements of a kind, in all worlds.

    Args:
        sim: The simulation.
        kind: One of `KINDS`.
        which: Name or id; or a sequence of them.
    """

    __slots__ = ("_found", "_ids", "_kind", "_rows", "_sim", "_single")
    _found: dict[str, _Field]
    _ids: list[int]
    _kind: str
    _rows: dict[Any, list[int]]
    _sim: Any
    _single: bool

    def __init__(self, sim: Simulation, kind: str, which: int | str | Sequence):
        ids, single = ids_of(sim.model, kind, which)
        rows = {KINDS[kind]: ids}
        for symbol, (owner, _, _) in RUNS.items():
            if owner == kind:
                spans = runs(sim.model, symbol)
                rows[symbol] = [row for i in ids for row in spans[i]]
        if kind == "body":
            mocap = np.asarray(sim.model.body_mocapid)[ids]
            rows["nmocap"] = [int(row) for row in mocap if row >= 0]
        own = {"sim": sim, "kind": kind, "ids": ids, "rows": rows, "single": single, "found": {}}
        for name, value in own.items():
            object.__setattr__(self, f"_{name}", value)

    @property
    def id(self) -> int | list[int]:
        """Its id; a list where several were asked for."""
        return self._ids[0] if self._single else list(self._ids)

    @property
    def name(self) -> str | list[str]:
        """Its name; a list where several were asked for."""
        names = [names_of(self._sim.model, self._kind)[i] for i in self._ids]
        return names[0] if self._single else names

    def _has(self, name: str) -> bool:
        """Whether a field of MuJoCo's is there, and is of this kind."""
        engine, field = self._sim.engine, data_fields().get(name)
        if field is not None:
            return bool(field.shape) and field.shape[0] in self._rows and name in engine.names
        field = model_fields().get(name)
        if field is None or field.group != "array" or not field.shape or field.shape[0] not in self._rows:
            return False
        return name in engine.parameters or hasattr(self._sim.model, name)

    def _fields(self) -> Iterator[str]:
        """MuJoCo's names of the fields there are for this kind."""
        return filter(self._has, (*data_fields(), *model_fields()))

    def _find(self, name: str) -> _Field:
        """A field that may be named without its prefix."""
        found = self._found.get(name)
        if found is None:
            prefixes = PREFIXES.get(self._kind, (f"{self._kind}_",))
            full = next((full for full in (name, *(prefix + name for prefix in prefixes)) if self._has(full)), None)
            if full is None:
                raise UnknownKey(f"a {self._kind} has no field {name!r}{did_you_mean(name, dir(self))}")
            found = self._found[name] = self._field(full)
        return found

    def _field(self, full: str) -> _Field:
        table = data_fields() if full in data_fields() else model_fields()
        first, *rest = table[full].shape
        at = self._rows[first]
        is_vector = bool(rest) and (first not in RUNS or first in SINGLE)
        run = bool(at) and at == list(range(at[0], at[0] + len(at)))
        rows = slice(at[0], at[0] + len(at)) if run else at  # of a run no copy is made
        return _Field(full, full in data_fields(), rows, self._single and is_vector and len(at) == 1)

    def __dir__(self) -> list[str]:
        prefixes = PREFIXES.get(self._kind, (f"{self._kind}_",))
        short = set()
        for name in self._fields():
            short.add(next((name.removeprefix(p) for p in prefixes if name.startswith(p)), name))
        return sorted({"id", "name", *short})

    def __repr__(self) -> str:
        return f"<{self._kind} {self.name!r} in {self._sim.worlds} worlds>"

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        field = self._find(name)

        def write(path: tuple, value: Any) -> None:
            now = np.array(self._now(field))
            put(now, path, value)
            setattr(self, field.name, now)

        return Values.of(self._now(field), write)

    def _now(self, field: _Field) -> np.ndarray:
        """Its rows of a field, as they are."""
        sim = self._sim
        if field.is_data:
            return field.of(sim.engine.in_use(field.name), True)
        return field.of(np.asarray(getattr(sim.m, field.name)), field.name in sim.engine.expanded)

    def __setattr__(self, name: str, value: Any) -> None:
        sim, field = self._sim, self._find(name)
        full = field.name
        parameter = not field.is_data and sim.engine.is_parameter(full)
        if not parameter and not field.is_data:
            raise UnknownKey(f"{full} is fixed when the simulation is made: it cannot be assigned")
        worlds = field.is_data or full in sim.engine.expanded
        values = np.array(sim.engine.in_use(full) if field.is_data else getattr(sim.m, full))
        part = field.of(values, worlds)
        given = np.asarray(value)
        try:
            fitted = np.broadcast_to(given, part.shape)
        except ValueError:
            more = ""
            if parameter and not worlds and given.shape[:1] == (sim.worlds,):
                more = f": to let worlds differ, call sim.expand({full!r}) first"
            raise BuildError(f"{full}: an array of shape {given.shape} does not fit {part.shape}{more}") from None
        values[field.place(worlds)] = fitted
        setattr(sim.m if parameter else sim.d, full, values)


def accessor(kind: str):
    """The method of Simulation that gives elements of a kind."""

    def elements(self: Simulation, which: int | str | Sequence) -> Elements:
        if not isinstance(which, str | int):
            return Elements(self, kind, which)
        found = self._elements.get((kind, which))
        if found is None:
            found = self._elements[kind, which] = Elements(self, kind, which)
        return found

    elements.__name__ = kind
    elements.__qualname__ = f"Simulation.{kind}"
    elements.__doc__ = f"A {kind} by name or id, or several: its fields in all worlds, by MuJoCo's names (named.py)."
    return elements
