"""Lengths and Jacobian rows of tendons at a pose.

    fixed     L = Σ c_k q_k,  J = c
    spatial   L = Σ |segment| / divisor over the path
              J += uᵀ(J_end - J_start) / divisor where the segment joins two bodies

A path is cut once into segments site → site, some with an object to wrap around between them. A pulley starts a new
branch with its own divisor. All segments of the model are measured together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.compile.constants.kinematics import Pose, wrench_rows
from kinema.compile.constants.tree import Tree
from kinema.compile.constants.wrap import wrap
from kinema.mujoco_enums import Geom, Wrap

Array = np.ndarray


@dataclass(frozen=True)
class Segments:
    """Site-to-site pieces of all spatial tendons; geom and side are -1 where there is none."""

    tendon: Array
    start: Array
    end: Array
    geom: Array
    side: Array
    divisor: Array


def segments(m) -> Segments:
    """Cut the paths of all spatial tendons of a model."""
    rows: list[tuple] = []
    kind, obj, prm = (np.asarray(x).tolist() for x in (m.wrap_type, m.wrap_objid, m.wrap_prm))
    for t in range(m.ntendon):
        first, number = int(m.tendon_adr[t]), int(m.tendon_num[t])
        if number == 0 or kind[first] == Wrap.JOINT:
            continue
        divisor, j, last = 1.0, first, first + number - 1
        while j < last:
            if Wrap.PULLEY in (kind[j], kind[j + 1]):
                if kind[j] == Wrap.PULLEY:
                    divisor = prm[j]
                j += 1
            elif kind[j + 1] in (Wrap.SPHERE, Wrap.CYLINDER):
                rows.append((t, obj[j], obj[j + 2], obj[j + 1], int(round(prm[j + 1])), divisor))
                j += 2
            else:
                rows.append((t, obj[j], obj[j + 1], -1, -1, divisor))
                j += 1
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    tendon, one, two, geom, side = (np.array(c, dtype=int) for c in columns[:5])
    return Segments(tendon, one, two, geom, side, np.array(columns[5], dtype=float))


def tendon_lengths(m, pose: Pose, cut: Segments) -> tuple[Array, tuple]:
    """Lengths (W, ntendon), and the points of every piece for the Jacobian."""
    worlds = len(pose.xpos)
    length = np.zeros((worlds, m.ntendon))
    joint_wraps = np.flatnonzero(np.asarray(m.wrap_type) == Wrap.JOINT)
    if len(joint_wraps):
        owner = wrap_owner(m)[joint_wraps]
        joint = np.asarray(m.wrap_objid)[joint_wraps]
        value = pose.qpos[:, np.asarray(m.jnt_qposadr)[joint]] * np.asarray(m.wrap_prm)[joint_wraps]
        at: Any = (slice(None), owner)
        np.add.at(length, at, value)
    x0, x1 = pose.site_xpos[:, cut.start], pose.site_xpos[:, cut.end]
    arc = np.full((worlds, len(cut.start)), -1.0)
    p0, p1 = x0.copy(), x0.copy()
    around = np.flatnonzero(cut.geom >= 0)
    if len(around):
        geom, side = cut.geom[around], cut.side[around]
        sphere = np.asarray(m.geom_type)[geom] == Geom.SPHERE
        shape = (worlds, len(around))
        arc[:, around], p0[:, around], p1[:, around] = wrap(
            x0[:, around],
            x1[:, around],
            pose.geom_xpos[:, geom],
            pose.geom_xmat[:, geom],
            np.broadcast_to(np.asarray(m.geom_size)[geom, 0], shape),
            np.broadcast_to(sphere, shape),
            pose.site_xpos[:, np.maximum(side, 0)],
            np.broadcast_to(side >= 0, shape),
        )
    wraps = arc >= 0
    distance = lambda a, b: np.sqrt(np.sum((a - b) ** 2, axis=-1))  # noqa: E731
    piece = np.where(wraps, distance(x0, p0) + arc + distance(p1, x1), distance(x0, x1)) / cut.divisor
    every: Any = (slice(None), cut.tendon)
    np.add.at(length, every, piece)
    return length, (x0, x1, p0, p1, wraps)


def tendon_rows(m, tree: Tree, pose: Pose, cut: Segments, points: tuple) -> Array:
    """Jacobian rows (W, ntendon, nv)."""
    x0, x1, p0, p1, wraps = points
    worlds = len(pose.xpos)
    rows = np.zeros((worlds, m.ntendon, m.nv))
    if not m.nv or not m.ntendon:
        return rows
    joint_wraps = np.flatnonzero(np.asarray(m.wrap_type) == Wrap.JOINT)
    if len(joint_wraps):
        dof = np.asarray(m.jnt_dofadr)[np.asarray(m.wrap_objid)[joint_wraps]]
        at: Any = (slice(None), wrap_owner(m)[joint_wraps], dof)
        np.add.at(rows, at, np.asarray(m.wrap_prm)[joint_wraps])
    if not len(cut.start):
        return rows
    site_body = np.asarray(m.site_bodyid)
    b0, b1 = site_body[cut.start], site_body[cut.end]
    bg = np.where(cut.geom >= 0, np.asarray(m.geom_bodyid)[cut.geom] if m.ngeom else 0, b0)
    straight = _pull(m, tree, pose, b0, x0, b1, x1)
    if wraps.any():
        bent = _pull(m, tree, pose, b0, x0, bg, p0) + _pull(m, tree, pose, bg, p1, b1, x1)
        straight = np.where(wraps[..., None], bent, straight)
    starts = np.flatnonzero(np.diff(cut.tendon, prepend=-1))  # segments stand in the order of their tendons
    rows[:, cut.tendon[starts]] += np.add.reduceat(straight / cut.divisor[:, None], starts, axis=1)
    return rows


def _pull(m, tree: Tree, pose: Pose, body0: Array, x0: Array, body1: Array, x1: Array) -> Array:
    """Rows uᵀ(J₁ - J₀) of straight pieces, zero where both ends are on one body."""
    along = x1 - x0
    norm = np.sqrt(np.sum(along * along, axis=-1, keepdims=True))
    short = norm < 1e-15
    unit = np.where(short, np.array([1.0, 0.0, 0.0]), along / np.where(short, 1.0, norm))
    unit = unit * (body0 != body1)[:, None]
    return wrench_rows(m, pose, tree, body1, x1, unit) - wrench_rows(m, pose, tree, body0, x0, unit)


def wrap_owner(m) -> Array:
    """Tendon of each wrap object."""
    return np.repeat(np.arange(m.ntendon), np.asarray(m.tendon_num))
