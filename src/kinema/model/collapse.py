"""Bodies that fixed joints hold, made part of what holds them.

A body b that is fixed to its parent p at X = X_p X_c^-1 moves with it: its shapes are p's at X, joints that leave it
leave p at X, and

    m = m_p + m_b,    c = (m_p c_p + m_b X c_b) / m,    I about c, both by Steiner

The velocity of p, kept at its centre of mass, is that of the new centre. What is fixed to the world becomes scenery.
Bodies of documents stay: MuJoCo's `fusestatic` makes them one when the document is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError, did_you_mean
from .enums import JointType
from .inertia import add_mass
from .removal import remove_rows
from .transform import IDENTITY, quat_rotate, transform_inverse, transform_mul


def collapse_fixed_joints(builder: Any, joints_to_keep: Sequence[str | int] = ()) -> dict[str, Any]:
    """Remove fixed joints; see `ModelBuilder.collapse_fixed_joints`."""
    rows = builder.rows
    fixed = _collapsing(builder, joints_to_keep)
    parents, children = rows("joint_parent").tolist(), rows("joint_child").tolist()
    holds = {children[joint]: joint for joint in fixed}
    stands = np.arange(builder.body_count)
    poses = np.tile(IDENTITY, (builder.body_count, 1))
    for body in _parents_first(holds, parents):
        joint = holds[body]
        frames = [np.asarray(rows(name)[joint], dtype=float) for name in ("joint_X_p", "joint_X_c")]
        pose = transform_mul(frames[0], transform_inverse(frames[1]))
        parent = parents[joint]
        stands[body] = -1 if parent < 0 else stands[parent]
        poses[body] = pose if parent < 0 else transform_mul(poses[parent], pose)
    merged = np.array(sorted(holds), dtype=int)
    _move_masses(builder, merged, stands, poses)
    _move_frames(builder, merged, stands, poses)
    labels = {builder.body_label[b]: {"relative_xform": poses[b], "parent_body": _label(builder, parents[holds[b]])}
              for b in merged.tolist()}  # fmt: skip
    maps = _remove(builder, merged, fixed, stands)
    _filter(builder)
    kept = {kind: {k: int(v) for k, v in enumerate(m.tolist()) if v >= 0} for kind, m in maps.items()}
    return {
        "body_remap": {-1: -1, **kept["body"]}, "joint_remap": kept["joint"],
        "articulation_remap": kept["articulation"],
        "body_merged_parent": {int(b): int(stands[b]) for b in merged},
        "body_merged_transform": {int(b): poses[b] for b in merged}, "merged_body_data": labels,
    }  # fmt: skip


def _label(builder: Any, body: int) -> str:
    return "world" if body < 0 else builder.body_label[body]


def _collapsing(builder: Any, keep: Sequence[str | int]) -> list[int]:
    """Fixed joints to remove: the first that holds its child, none of a document, none that is to stay."""
    rows, labels = builder.rows, list(builder.joint_label)
    unknown = [name for name in keep if isinstance(name, str) and name not in labels]
    if unknown:
        raise BuildError(f"collapse_fixed_joints(): no joint {unknown[0]!r}{did_you_mean(unknown[0], labels)}")
    kept = {k for k, label in enumerate(labels) if label in keep} | {int(k) for k in keep if not isinstance(k, str)}
    theirs, tied = _of_documents(builder), _constrained(builder)
    found, held = [], set()
    order = np.argsort(rows("joint_articulation") < 0, kind="stable")  # loops come last
    for joint in order.tolist():
        child, parent = int(rows("joint_child")[joint]), int(rows("joint_parent")[joint])
        first = child not in held
        held.add(child)
        if not first or rows("joint_type")[joint] != int(JointType.FIXED) or joint in kept:
            continue
        if child not in theirs and not (parent < 0 and child in tied):
            found.append(joint)
    return found


def _of_documents(builder: Any) -> set[int]:
    attribute = builder.custom_attributes.get("mujoco:body_index")
    return set() if attribute is None else set(np.asarray(attribute.values[:]).reshape(-1).tolist()) - {-1}


def _constrained(builder: Any) -> set[int]:
    """Bodies that equality constraints name: something must be left of them."""
    names = [f"mujoco:equality_constraint_body{k}" for k in (1, 2)]
    return {int(b) for name in names for b in builder.rows(name).tolist() if b >= 0}


def _parents_first(holds: dict[int, int], parents: list[int]) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    for body in holds:
        chain = []
        while body in holds and body not in seen:
            seen.add(body)
            chain.append(body)
            body = parents[holds[body]]
        order += reversed(chain)
    return order


def _move_masses(builder: Any, merged: np.ndarray, stands: np.ndarray, poses: np.ndarray) -> None:
    mass, com, inertia = (builder.edit(f"body_{name}") for name in ("mass", "com", "inertia"))
    before = com.astype(float).copy()
    for body in merged.tolist():
        to = int(stands[body])
        if to < 0:
            continue
        old, part = (
            (float(mass[k]), com[k].astype(float), inertia[k].astype(float).reshape(3, 3)) for k in (to, body)
        )
        mass[to], com[to], total = add_mass(old, part, poses[body])
        inertia[to] = total.reshape(inertia[to].shape)
    moved = sorted({int(k) for k in stands[merged] if k >= 0})
    qd = builder.rows("body_qd")
    for body in moved:
        turn = builder.rows("body_q")[body].astype(float)[3:]
        shift = np.cross(qd[body, 3:].astype(float), quat_rotate(turn, com[body].astype(float) - before[body]))
        if np.any(shift):
            builder.edit("body_qd")[body, :3] += shift
            _move_velocity(builder, body, shift)


def _move_velocity(builder: Any, body: int, shift: np.ndarray) -> None:
    """A free joint's velocity, which is that of the centre of mass too."""
    rows = builder.rows
    for joint in np.flatnonzero(rows("joint_child") == body).tolist():
        if rows("joint_type")[joint] == int(JointType.FREE) and rows("joint_parent")[joint] < 0:
            frame = rows("joint_X_p")[joint].astype(float)
            start = int(rows("joint_qd_start")[joint])
            builder.edit("joint_qd")[start : start + 3] += quat_rotate(transform_inverse(frame)[3:], shift)


def _move_frames(builder: Any, merged: np.ndarray, stands: np.ndarray, poses: np.ndarray) -> None:
    """Shapes, joints and points of constraints in the frame of what bodies became part of."""
    of = np.isin(np.arange(builder.body_count + 1), merged)  # the last row stands for the world
    frames = {"shape_body": "shape_transform", "joint_parent": "joint_X_p", "joint_child": "joint_X_c"}
    for owner, frame in frames.items():
        bodies = builder.rows(owner)
        rows = np.flatnonzero(of[bodies])
        if len(rows):
            values = builder.edit(frame)
            values[rows] = transform_mul(poses[bodies[rows]], values[rows].astype(float))
    name = "mujoco:equality_constraint"
    first, second = (builder.rows(f"{name}_body{k}") for k in (1, 2))
    for row in np.flatnonzero(of[first] | of[second]).tolist():
        kind = int(builder.rows(f"{name}_type")[row])
        anchor, relpose = builder.edit(f"{name}_anchor"), builder.edit(f"{name}_relpose")
        a, b = int(first[row]), int(second[row])
        if of[a] and kind == 0:  # connect: its anchor is in the first body
            anchor[row] = transform_mul(poses[a], np.concatenate([anchor[row], IDENTITY[3:]]))[:3]
        if of[a] and kind == 1:
            relpose[row] = transform_mul(poses[a], relpose[row].astype(float))
        if of[b] and kind == 1:  # weld: in the second
            anchor[row] = transform_mul(poses[b], np.concatenate([anchor[row], IDENTITY[3:]]))[:3]
            relpose[row] = transform_mul(relpose[row].astype(float), transform_inverse(poses[b]))


def _remove(builder: Any, merged: np.ndarray, fixed: list[int], stands: np.ndarray) -> dict[str, np.ndarray]:
    rows, count = builder.rows, builder.count
    gone = {kind: np.zeros(count(kind), dtype=bool) for kind in ("body", "joint", "articulation", "joint_constraint")}
    gone["body"][merged] = True
    gone["joint"][fixed] = True
    owners = rows("joint_articulation")
    left = set(owners[~gone["joint"]].tolist())
    gone["articulation"][[k for k in range(count("articulation")) if k not in left]] = True
    starts = [*rows("joint_cts_start").tolist(), count("joint_constraint")]
    for joint in fixed:
        gone["joint_constraint"][starts[joint] : starts[joint + 1]] = True
    return remove_rows(builder, gone, {"body": stands})


def _filter(builder: Any) -> None:
    """Shapes that came to joined bodies do not touch each other either."""
    known = {tuple(pair) for pair in builder.rows("shape_filter_pairs").tolist()}
    before = builder.count("shape_filter_pair")
    for joint in np.flatnonzero(builder.rows("joint_collision_filter_parent")).tolist():
        builder._filter_between(int(builder.rows("joint_parent")[joint]), int(builder.rows("joint_child")[joint]))
    pairs = builder.rows("shape_filter_pairs")[before:]
    again = np.array([tuple(pair) in known for pair in pairs.tolist()], dtype=bool)
    if again.any():
        remove_rows(builder, {"shape_filter_pair": np.concatenate([np.zeros(before, bool), again])})
