"""Bodies and joints that no articulation of the stage has.

A solver in joint coordinates needs trees, and a stage need not name any. So trees are found among the joints that are
left: from the world, from bodies that are held already, and from bodies that are nobody's child, each joint that
reaches a body for the first time holds it. In a circle the first body is let go free. Joints that reach a body again
close loops, and stand in no articulation. Bodies that nothing holds get free joints.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..model import JointType
from .bodies import LOOPS, hold
from .joints import SINGLE, add_joint, ends, frame_of_child, kind_of
from .scene import Scene
from .shapes import applies

Groups = list[tuple[int, int, list[Any]]]
"""Parent, child, and descriptions of the joint (several hinges and slides are one)."""


def add_loose(scene: Scene, left: dict[str, Any], touching: dict[int, bool]) -> None:
    """Add joints that are left, as trees and loops, and free joints for bodies with mass that nothing holds."""
    groups = _groups(scene, left)
    closing = [group for group in groups if _closes(scene, group)]
    open_ends = [group for group in groups if group not in closing]
    trees, loops = _forest(scene, open_ends)
    for root, members in trees:
        made = [] if root is None or not _has_mass(scene, root) else [hold(scene, root)]
        made += [joint for group in members if (joint := _add(scene, group)) is not None]
        _articulate(scene, made, touching)
    for group in [*loops, *closing]:
        _add(scene, group)
    _hold_the_rest(scene, touching)


def _groups(scene: Scene, left: dict[str, Any]) -> Groups:
    found: dict[tuple, tuple[int, int, list[Any]]] = {}
    for path, desc in left.items():
        if scene.wishes.only_load_enabled_joints and not desc.jointEnabled:
            continue
        joined = ends(desc, scene.bodies)
        if joined is None:
            warnings.warn(f"{path}: left out, neither end of the joint is a body", stacklevel=4)
            continue
        pair = joined[:2]
        key = pair if kind_of(desc) in SINGLE and not desc.excludeFromArticulation else (*pair, path)
        found.setdefault(key, (*pair, []))[2].append(desc)
    return list(found.values())


def _closes(scene: Scene, group: tuple[int, int, list[Any]]) -> bool:
    """Whether a joint says that it is no part of a tree."""
    first = group[2][0]
    return bool(first.excludeFromArticulation) or applies(scene.prim(first.primPath), *LOOPS)


def _forest(scene: Scene, groups: Groups) -> tuple[list[tuple[int | None, Groups]], Groups]:
    """Trees (with the body to let go free, if any) and what closes loops."""
    held = set(scene.builder.rows("joint_child").tolist()) | {-1}
    leaving: dict[int, Groups] = {}
    for group in groups:
        leaving.setdefault(group[0], []).append(group)
    children = {group[1] for group in groups}
    trees: list[tuple[int | None, Groups]] = []
    used: list[int] = []

    def grow(start: int) -> Groups:
        members: Groups = []
        stack = list(leaving.get(start, ()))
        while stack:
            group = stack.pop(0)
            if group[1] in held:
                continue
            held.add(group[1])
            used.append(id(group))
            members.append(group)
            stack = [*leaving.get(group[1], ()), *stack]
        return members

    for start in [body for body in leaving if body in held]:
        trees += [(None, members)] if (members := grow(start)) else []
    first = [body for body in leaving if body not in held and body not in children]
    for start in [*first, *leaving]:  # then what is left of circles
        if start not in held:
            held.add(start)
            trees.append((start, grow(start)))
    return trees, [group for group in groups if id(group) not in used]


def _add(scene: Scene, group: tuple[int, int, list[Any]]) -> int | None:
    return add_joint(scene, group[2], frame_of_child(scene, group[2][0]) if group[0] < 0 else None)


def _articulate(scene: Scene, joints: list[int], touching: dict[int, bool]) -> None:
    if joints:
        body = int(scene.builder.rows("joint_child")[joints[0]])
        label = _label(scene, scene.builder.body_label[body])
        touching[scene.builder.add_articulation(joints, label=label)] = scene.wishes.enable_self_collisions


def _label(scene: Scene, path: str) -> str:
    """The articulation root above a body, or the body."""
    roots = sorted((root for root, _ in scene.found.get("Articulation", ())), key=len, reverse=True)
    return next((root for root in roots if path.startswith(f"{root}/") or path == root), path)


def _has_mass(scene: Scene, body: int) -> bool:
    return bool(scene.builder.rows("body_mass")[body] > 0.0)


def _hold_the_rest(scene: Scene, touching: dict[int, bool]) -> None:
    held = set(scene.builder.rows("joint_child").tolist())
    for body in scene.bodies.values():
        if body not in held and _has_mass(scene, body):
            _articulate(scene, [hold(scene, body)], touching)


def set_free_velocities(scene: Scene) -> None:
    """What bodies begin with, as velocities of the free joints that hold them."""
    builder = scene.builder
    ours = set(scene.bodies.values())
    for joint in np.flatnonzero(builder.rows("joint_type") == int(JointType.FREE)).tolist():
        child = int(builder.rows("joint_child")[joint])
        twist = np.asarray(builder.rows("body_qd")[child], dtype=float)
        if child in ours and np.any(twist):
            dof = int(builder.rows("joint_qd_start")[joint])
            builder.edit("joint_qd")[dof : dof + 6] = twist
