"""Actuators beside the solver: rows of a builder, and the objects of a model that are made of them.

A row is a dof, its coordinate, and the parts of its actuator: a drive, clamps and a delay, each a class with the
numbers it is given. Rows are copied, moved and renumbered as all rows are. Rows whose parts have the same classes and
the same shared arguments (files, tables) become one `Actuator`, in the order in which the first of them was added.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from ..errors import BuildError, WrongKind, did_you_mean
from .enums import JointType
from .frequency import ACTUATOR

Given = tuple[type, dict[str, Any]]
"""A class and what one dof gives it."""


@dataclass(frozen=True)
class Parts:
    """What an actuator of one dof is made of."""

    drive: Given
    clamping: tuple[Given, ...] = ()
    delay_steps: int | None = None

    @cached_property
    def key(self) -> tuple:
        """What actuators of one group have in common."""
        cls, numbers = self.drive
        clamps = tuple((clamp, _hashable(_shared(clamp, given))) for clamp, given in self.clamping)
        return cls, self.delay_steps is not None, clamps, _hashable(_shared(cls, numbers))


@dataclass
class ActuatorEntry:
    """Rows that become one actuator, in Newton's shape."""

    drive_class: type
    clamping_classes: tuple[type, ...]
    clamping_shared_kwargs: tuple[dict[str, Any], ...]
    drive_shared_kwargs: dict[str, Any]
    indices: list[int] = field(default_factory=list)
    pos_indices: list[int] = field(default_factory=list)
    drive_args: list[dict[str, Any]] = field(default_factory=list)
    delay_args: list[dict[str, Any]] = field(default_factory=list)
    clamping_args: list[list[dict[str, Any]]] = field(default_factory=list)


def _shared(cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in getattr(cls, "SHARED_PARAMS", ())}


def _own(cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name not in getattr(cls, "SHARED_PARAMS", ())}


def _hashable(given: Mapping[str, Any]) -> tuple:
    return tuple(sorted((name, tuple(v) if isinstance(v, list) else v) for name, v in given.items()))


# ---- rows


def add_actuator(
    builder: Any, drive_class: Any, index: int | None, clamping: Sequence[Given] | None, delay_steps: int | None,
    pos_index: int | None, numbers: dict[str, Any],
) -> None:  # fmt: skip
    """Add the row of one dof; see `ModelBuilder.add_actuator`."""
    call = "add_actuator()"
    if drive_class is None or index is None:
        raise WrongKind(f"{call} needs {'drive_class' if drive_class is None else 'index'}=")
    if not isinstance(drive_class, type) or not hasattr(drive_class, "resolve_arguments"):
        raise WrongKind(f"{call}: drive_class={drive_class!r} is not a class of drives, such as DrivePD")
    dof = builder.check_index("joint_dof", index, call)
    coord = builder.check_index("joint_coord", dof if pos_index is None else pos_index, call)
    if pos_index is None:
        _warn_of_coordinate(builder, dof)
    drive = (drive_class, _resolved(drive_class, numbers, call))
    clamps = tuple((cls, _resolved(cls, given, call)) for cls, given in clamping or ())
    if delay_steps is not None and (not isinstance(delay_steps, (int, np.integer)) or delay_steps < 0):
        raise BuildError(f"{call}: delay_steps={delay_steps!r} is not a count of steps")
    parts = Parts(drive, clamps, None if delay_steps is None else int(delay_steps))
    columns = {"actuator_dof": [dof], "actuator_coord": [coord], "actuator_parts": [parts]}
    row = builder.commit(ACTUATOR, 1, builder.prepare(ACTUATOR, 1, columns, call))
    joint = int(np.searchsorted(builder.rows("joint_qd_start"), dof, side="right")) - 1
    builder._column(f"{ACTUATOR}#world").write(row, builder.rows("joint_world")[joint : joint + 1])


def _resolved(cls: Any, given: dict[str, Any], call: str) -> dict[str, Any]:
    """Arguments of one part, checked; a number each, but for shared ones."""
    try:
        found = cls.resolve_arguments(dict(given))
    except BuildError as problem:
        raise BuildError(f"{call}: {cls.__name__}: {problem}") from None
    unknown = sorted(set(given) - set(found))
    if unknown:
        names = f"{', '.join(unknown)}, which is left out{did_you_mean(unknown[0], found)}"
        warnings.warn(f"{call}: {cls.__name__} does not know {names}", stacklevel=4)
    for name, value in _own(cls, found).items():
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise WrongKind(f"{call}: {cls.__name__}: {name}={value!r} is not a number: a call is about one dof")
    return found


def _warn_of_coordinate(builder: Any, dof: int) -> None:
    """After a free joint or a ball, dofs and coordinates no longer have the same numbers."""
    joint = int(np.searchsorted(builder.rows("joint_qd_start"), dof, side="right")) - 1
    own = int(builder.rows("joint_q_start")[joint]) + dof - int(builder.rows("joint_qd_start")[joint])
    if own != dof:
        kind = JointType(int(builder.rows("joint_type")[joint])).name
        warnings.warn(
            f"add_actuator(): dof {dof} (joint {builder.joint_label[joint]!r}, {kind}) reads coordinate {dof}, "
            f"which is another's: give pos_index={own}", stacklevel=4,
        )  # fmt: skip


# ---- groups and objects


def entries_of(dofs: Iterable[int], coords: Iterable[int], parts: Iterable[Parts]) -> dict[tuple, ActuatorEntry]:
    """Rows by group, in order."""
    found: dict[tuple, ActuatorEntry] = {}
    for dof, coord, each in zip(dofs, coords, parts, strict=True):
        entry = found.get(each.key)
        if entry is None:
            clamps = each.clamping
            entry = found[each.key] = ActuatorEntry(
                each.drive[0], tuple(cls for cls, _ in clamps), tuple(_shared(*clamp) for clamp in clamps),
                _shared(*each.drive),
            )  # fmt: skip
        entry.indices.append(dof)
        entry.pos_indices.append(coord)
        entry.drive_args.append(_own(*each.drive))
        entry.clamping_args.append([_own(*clamp) for clamp in each.clamping])
        if each.delay_steps is not None:
            entry.delay_args.append({"delay_steps": each.delay_steps})
    return found


def make_actuators(entries: Iterable[ActuatorEntry], device: Any, *, grad: bool, by_coordinate: bool) -> list[Any]:
    """Actuators of groups, on a device."""
    from ..actuators import Actuator, Delay  # a higher layer, imported on use

    found = []
    for entry in entries:
        drive = entry.drive_class(**_columns(entry.drive_args, device, grad), **entry.drive_shared_kwargs)
        delay = None
        if entry.delay_args:
            steps = [args["delay_steps"] for args in entry.delay_args]
            late: wp.array = wp.array(steps, dtype=wp.int32, device=device)
            delay = Delay(late, max(1, *steps))
        clamps = [
            cls(**_columns([args[k] for args in entry.clamping_args], device, grad), **shared)
            for k, (cls, shared) in enumerate(zip(entry.clamping_classes, entry.clamping_shared_kwargs, strict=True))
        ]
        dofs, coords = (wp.array(rows, dtype=wp.uint32, device=device) for rows in (entry.indices, entry.pos_indices))
        found.append(Actuator(
            dofs, drive=drive, delay=delay, clamping=clamps, pos_indices=coords,
            target_pos_indices=coords if by_coordinate else dofs, requires_grad=grad,
        ))  # fmt: skip
    return found


def _columns(rows: Sequence[Mapping[str, Any]], device: Any, grad: bool) -> dict[str, wp.array]:
    """Numbers of rows as an array for each name."""
    return {
        name: wp.array([float(row[name]) for row in rows], dtype=wp.float32, device=device, requires_grad=grad)
        for name in (rows[0] if rows else ())
    }


# ---- in files


def written(parts: Parts) -> dict[str, Any]:
    """Parts as words and numbers; classes by the names `kinema.actuators` has for them."""
    from .. import actuators  # a higher layer, imported on use

    def named(given: Given) -> list[Any]:
        cls, numbers = given
        if getattr(actuators, cls.__name__, None) is not cls:
            raise BuildError(f"save(): an actuator has a {cls.__name__}, a class that a file cannot hold")
        return [cls.__name__, {name: list(v) if isinstance(v, tuple) else v for name, v in numbers.items()}]

    return {"drive": named(parts.drive), "clamping": [named(c) for c in parts.clamping], "delay": parts.delay_steps}


def read(record: Mapping[str, Any]) -> Parts:
    """Parts of what `written` gave."""
    from .. import actuators  # a higher layer, imported on use

    def given(entry: Sequence[Any]) -> Given:
        if entry[0] not in actuators.__all__:
            raise BuildError(f"load(): no part of an actuator is called {entry[0]!r}")
        numbers = {name: tuple(v) if isinstance(v, list) else v for name, v in entry[1].items()}
        return getattr(actuators, entry[0]), numbers

    return Parts(given(record["drive"]), tuple(given(c) for c in record["clamping"]), record["delay"])
