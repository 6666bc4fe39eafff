"""Keyframes of attached models, spread over the whole model: what the child says of its joints, the rest at rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.joint import NQ, NV, joint_type
from kinema.compile.tree import AttachedKey
from kinema.mjcf.source import Node

Slots = list[np.ndarray | int]
"""For each run of numbers in a child's vector: where they go in the whole model, or how many to pass over."""


def spread_attached_keys(c: Compilation) -> None:
    """Replace each attached keyframe by one whose vectors have the whole model's length."""
    keys: list[AttachedKey] = c.scratch["attached_keys"]
    if not keys:
        return
    start = len(c.elements["key"]) - len(keys)
    # <size nkey> may have appended empty keyframes behind them
    while start > 0 and c.elements["key"][start] is not keys[0].element:
        start -= 1
    for index, key in enumerate(keys):
        c.elements["key"][start + index] = _spread(c, key)


def _spread(c: Compilation, key: AttachedKey) -> Element:
    a, e = c.arrays, key.element
    joints = {id(joint): i for i, joint in enumerate(c.elements["joint"])}
    actuators = {id(actuator): i for i, actuator in enumerate(c.elements["actuator"])}
    joint_ids = [None if j is None else joints.get(id(j)) for j in key.joints]
    actuator_ids = [None if u is None else actuators.get(id(u)) for u in key.actuators]
    mocap_ids = [None if body is None else int(a["body_mocapid"][body.id]) for body in key.mocaps]
    kinds = [joint_type(joint) for joint in key.joint_elements]
    bodies = [int(b) for b in np.flatnonzero(a["body_mocapid"] >= 0)]
    slots = {
        "qpos": (_ranges(joint_ids, a["jnt_qposadr"], [NQ[k] for k in kinds]), a["qpos0"]),
        "qvel": (_ranges(joint_ids, a["jnt_dofadr"], [NV[k] for k in kinds]), np.zeros(c.size("nv"))),
        "ctrl": (_actuator_ranges(actuator_ids, a, "ctrl"), np.zeros(c.size("nu"))),
        "act": (_actuator_ranges(actuator_ids, a, "act"), np.zeros(c.size("na"))),
        "mpos": (_blocks(mocap_ids, 3), a["body_pos"][bodies].ravel()),
        "mquat": (_blocks(mocap_ids, 4), a["body_quat"][bodies].ravel()),
    }
    attributes = dict(e.node.attributes)
    for name, (runs, rest) in slots.items():
        given = e.vector(name, None)
        if given is not None and len(given):
            attributes[name] = _text(e, name, given, runs, rest)
    node = Node(e.node.tag, attributes, e.node.children, e.node.file, e.node.line, e.node.parent)
    return replace(e, node=node, layers=(attributes,))


def _text(e: Element, name: str, given: np.ndarray, runs: Slots, rest: np.ndarray) -> str:
    whole = np.array(rest, dtype=np.float64)
    at = 0
    for run in runs:
        width = len(run) if isinstance(run, np.ndarray) else run
        if isinstance(run, np.ndarray):
            piece = given[at : at + width]
            whole[run[: len(piece)]] = piece
        at += width
    if at < len(given):
        raise e.error(f"keyframe has {len(given)} values of {name}, its model {at}", name)
    return " ".join(repr(float(x)) for x in whole)


def _ranges(ids: list, start: np.ndarray, width: list[int]) -> Slots:
    return [
        n if index is None else np.arange(start[index], start[index] + n) for index, n in zip(ids, width, strict=True)
    ]


def _actuator_ranges(ids: list, a: Mapping, name: str) -> Slots:
    found: Slots = []
    for index in ids:
        if index is None:
            found.append(1 if name == "ctrl" else 0)
        else:
            start, number = int(a[f"actuator_{name}adr"][index]), int(a[f"actuator_{name}num"][index])
            found.append(np.arange(start, start + number) if number else np.zeros(0, dtype=int))
    return found


def _blocks(ids: Iterable, width: int) -> Slots:
    return [width if index is None else np.arange(width * index, width * index + width) for index in ids]
