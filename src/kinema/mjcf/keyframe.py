"""Keyframes of composed documents: values land on the joints and actuators they were written for.

A <key> lists qpos, qvel, act, ctrl, mpos and mquat of a whole model, in the model's order. When models are composed the
order becomes that of the composition, so the values are put where their owners stand now, and everyone else keeps the
value of the initial configuration. Whose values they are follows from how many there are: those of the whole
composition, of the key's model with all attached to it, or of the model alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinema.errors import BadValue
from kinema.mjcf import orientation
from kinema.mjcf.orientation import DEFAULT_SEQUENCE, DEGREE
from kinema.mjcf.units import meant, resolved

if TYPE_CHECKING:
    from kinema.mjcf.element import RootElement

FIELDS = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")

_JOINT_SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}
_STATEFUL = frozenset(["intvelocity", "cylinder", "muscle"])
_STATELESS = frozenset(["motor", "velocity", "damper", "adhesion"])

# Elements that make joints, bodies or controls only when compiled.
_UNCOUNTED = frozenset(["replicate", "flexcomp", "attach"])


class Slot(NamedTuple):
    """Some consecutive values of a field: whose they are, how many, and what they are initially."""

    owner: Any
    on_frame: bool
    size: int
    initial: Callable[[], np.ndarray]


class _Uncountable(Exception):
    """The document does not say how many values something has; compiling it would."""


class Keyframes:
    """The keys of one written document."""

    def __init__(self, model: RootElement):
        self._model = model
        self._slots: dict[str, list[Slot]] | None = None

    def adjust(self, key: Any) -> dict[str, np.ndarray]:
        """The values to write for a key instead of its own."""
        values = {name: key._get(name) for name in FIELDS if key._get(name) is not None}
        if not values and key._get("plastic") is None:
            return {}
        try:
            if key._get("plastic") is not None:
                raise _Uncountable("plastic deformations are counted only when compiling")
            slots = self._all_slots()
            return {name: self._place(key, name, value, slots[name]) for name, value in values.items()}
        except _Uncountable as reason:
            if key._root is self._model:
                return {}  # the compiler will check its size
            raise _problem(key, f"cannot be placed in the composed model: {reason}") from None

    def _place(self, key: Any, name: str, value: np.ndarray, slots: list[Slot]) -> np.ndarray:
        whole = sum(slot.size for slot in slots)
        if len(value) == whole:
            return value
        for chosen in self._owners(key._root):
            mine = [slot for slot in slots if chosen(slot)]
            if sum(slot.size for slot in mine) == len(value):
                return _spread(value, slots, mine)
        message = f"has {len(value)} values of {name}, which fit neither its model nor the composed one ({whole})"
        raise _problem(key, message)

    @staticmethod
    def _owners(model: RootElement) -> Iterator[Callable[[Slot], bool]]:
        below = set()
        todo = [model]
        while todo:
            below.add(todo[-1])
            todo.extend(todo.pop().attached_models())
        yield lambda slot: slot.owner._root in below
        yield lambda slot: slot.owner._root is model
        yield lambda slot: slot.owner._root is model and not slot.on_frame

    def _all_slots(self) -> dict[str, list[Slot]]:
        if self._slots is None:
            slots: dict[str, list[Slot]] = {name: [] for name in FIELDS}
            for body in _bodies(self._model.worldbody):
                _body_slots(body, slots)
            for actuator in self._model.actuator._present_children():
                _actuator_slots(actuator, slots)
            self._slots = slots
        return self._slots


def _spread(value: np.ndarray, slots: list[Slot], mine: list[Slot]) -> np.ndarray:
    chosen = {id(slot) for slot in mine}
    parts, at = [], 0
    for slot in slots:
        if id(slot) in chosen:
            parts.append(value[at : at + slot.size])
            at += slot.size
        else:
            parts.append(slot.initial())
    return np.concatenate(parts) if parts else np.zeros(0)


def _problem(key: Any, message: str) -> BadValue:
    place = {"file": key.source_file, "line": key.source_line, "path": key._path()}
    return BadValue(f"keyframe {key.full_identifier!r} {message}", **place)


# ---------------------------------------------------------------- what is where


def _contents(element: Any) -> Iterator[Any]:
    """Children of a body in order, those inside <frame> elements as if they stood directly in it."""
    todo = list(reversed(element._present_children()))
    while todo:
        child = todo.pop()
        if child.tag in _UNCOUNTED:
            raise _Uncountable(f"the model holds a <{child.tag}>")
        if child.tag == "frame":
            todo.extend(reversed(child._present_children()))
        else:
            yield child


def _bodies(world: Any) -> Iterator[Any]:
    """All bodies in MuJoCo's order: a body, then those below it."""
    todo = [world]
    while todo:
        body = todo.pop()
        yield body
        todo.extend(reversed([child for child in _contents(body) if child.tag == "body"]))


def _body_slots(body: Any, slots: dict[str, list[Slot]]) -> None:
    on_frame = getattr(body, "attachment", None) is not None
    for joint in _contents(body):
        if joint.tag not in ("joint", "freejoint"):
            continue
        kind = "free" if joint.tag == "freejoint" else resolved(joint, "type") or "hinge"
        nq, nv = _JOINT_SIZES[kind]
        own = on_frame and joint.parent is body
        slots["qpos"].append(Slot(joint, own, nq, _initial_position(body, joint, kind)))
        slots["qvel"].append(Slot(joint, own, nv, _zeros(nv)))
    if body.tag == "body" and body._get("mocap") == "true":
        slots["mpos"].append(Slot(body, on_frame, 3, lambda: _pose(body)[0]))
        slots["mquat"].append(Slot(body, on_frame, 4, lambda: _pose(body)[1]))


def _zeros(size: int) -> Callable[[], np.ndarray]:
    return lambda: np.zeros(size)


def _initial_position(body: Any, joint: Any, kind: str) -> Callable[[], np.ndarray]:
    def initial() -> np.ndarray:
        if kind == "free":
            aligned = joint._get("align") if joint.tag == "freejoint" else None
            if aligned == "true" or (aligned != "false" and body.root.compiler._get("alignfree") == "true"):
                raise _Uncountable("a free joint is aligned with inertia, which only compiling gives")
            return np.concatenate(_pose(body))
        if kind == "ball":
            return np.array([1.0, 0.0, 0.0, 0.0])
        ref = resolved(joint, "ref") or 0.0
        degrees = kind == "hinge" and (meant(joint._root, "angle") or DEGREE) == DEGREE
        return np.array([ref * np.pi / 180 if degrees else ref])

    return initial


def _pose(body: Any) -> tuple[np.ndarray, np.ndarray]:
    """Position and orientation of a body in the body above it, through the frames around it."""
    position, quat = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    here = body
    while here is not None and (here is body or here.tag == "frame"):
        own = here._get("pos")
        own_position = np.zeros(3) if own is None else own
        degrees = (meant(here._root, "angle") or DEGREE) == DEGREE
        sequence = meant(here._root, "eulerseq") or DEFAULT_SEQUENCE
        own_quat = orientation.quaternion(here._attributes, degrees=degrees, sequence=sequence)
        position = own_position + orientation.rotate(own_quat, position)
        quat = orientation.multiply(own_quat, quat)
        here = here.parent
    return position, quat


def _actuator_slots(actuator: Any, slots: dict[str, list[Slot]]) -> None:
    tag = actuator.tag
    if tag in _STATELESS:
        states = 0
    elif tag in _STATEFUL:
        states = 1
    elif tag == "position":
        states = 1 if (resolved(actuator, "timeconst") or 0) > 0 else 0
    elif tag == "general":
        states = _general_states(actuator)
    else:
        raise _Uncountable(f"the model holds an actuator <{tag}>")
    slots["ctrl"].append(Slot(actuator, False, 1, _zeros(1)))
    slots["act"].append(Slot(actuator, False, states, _zeros(states)))


def _general_states(actuator: Any) -> int:
    if resolved(actuator, "gaintype") in ("so3", "pid", "dcmotor"):
        raise _Uncountable("the model holds an actuator with several controls")
    if (resolved(actuator, "dyntype") or "none") == "none":
        return 0
    size = resolved(actuator, "actdim")
    return 1 if size is None or size < 0 else size
