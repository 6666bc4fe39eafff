"""What is drawn on top of a model to explain it: contacts and their forces, axes of joints, frames, boxes of inertia.

Sizes and colours are those of `<visual>`, times the model's mean size, as in mjv_updateScene. An arrow is a shaft and a
head. Decorations are computed on the host from a world's arrays, as plain rows of `Marks`; they cast no shadow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from kinema.errors import BuildError, did_you_mean
from kinema.mujoco_enums import Geom, Joint

OVERLAYS = ("contacts", "forces", "joints", "frames", "inertia")
"""What may be drawn on top of a picture."""

SHAPES = (Geom.CYLINDER, Geom.ELLIPSOID, Geom.BOX, Geom.SPHERE)
"""Shapes that decorations are made of, each with rooms of its own in a picture's table of items."""

HEAD = 0.3  # of an arrow's length is its head
AXES = np.array([[0.9, 0.1, 0.1, 1.0], [0.1, 0.8, 0.1, 1.0], [0.15, 0.25, 0.95, 1.0]])  # red, green, blue: x, y, z

Read = Callable[[str], np.ndarray]
"""Gives an array of mjData of one world."""


@dataclass(frozen=True, eq=False)
class Marks:
    """Some shapes: (n,) mjtGeom, (n, 3) centres, (n, 3, 3) axes as columns, (n, 3) semi-axes, (n, 4) colours."""

    shape: np.ndarray
    pos: np.ndarray
    mat: np.ndarray
    size: np.ndarray
    rgba: np.ndarray

    def __len__(self) -> int:
        return len(self.shape)

    def of(self, shape: int) -> Marks:
        """Those of one shape."""
        own = self.shape == shape
        return Marks(self.shape[own], self.pos[own], self.mat[own], self.size[own], self.rgba[own])


def marks(shape: int, pos, mat, size, rgba) -> Marks:
    """Shapes of one kind; sizes and colours may be given once for all."""
    pos = np.asarray(pos, float).reshape(-1, 3)
    n = len(pos)
    return Marks(
        np.full(n, int(shape)), pos, np.broadcast_to(np.asarray(mat, float), (n, 3, 3)),
        np.broadcast_to(np.asarray(size, float), (n, 3)), np.broadcast_to(np.asarray(rgba, float), (n, 4)),
    )  # fmt: skip


def together(parts: Collection[Marks]) -> Marks:
    """All of several."""
    parts = [*parts, marks(Geom.BOX, np.zeros((0, 3)), np.eye(3), np.zeros(3), np.zeros(4))]
    return Marks(*(np.concatenate([getattr(part, name) for part in parts]) for name in Marks.__dataclass_fields__))


def check_overlays(overlays: Collection[str]) -> tuple[str, ...]:
    """The overlays that are asked for, each known; one may be given as a word."""
    overlays = (overlays,) if isinstance(overlays, str) else tuple(overlays)
    for name in overlays:
        if name not in OVERLAYS:
            raise BuildError(f"overlay {name!r}{did_you_mean(str(name), OVERLAYS)}: known are {', '.join(OVERLAYS)}")
    return overlays


def upright(axis: np.ndarray) -> np.ndarray:
    """Frames (n, 3, 3) whose z axes are the given unit vectors (n, 3)."""
    other = np.where(np.abs(axis[:, :1]) > 0.9, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    y = np.cross(axis, other)
    y /= np.maximum(np.linalg.norm(y, axis=1, keepdims=True), 1e-12)
    return np.stack([np.cross(y, axis), y, axis], axis=2)


def arrows(start: np.ndarray, vector: np.ndarray, width: float, rgba) -> Marks:
    """Arrows from points along vectors (n, 3); those of no length are left out."""
    length = np.linalg.norm(vector, axis=1)
    there = length > 1e-9
    start, vector, length = start[there], vector[there], length[there, None]
    axis = vector / np.maximum(length, 1e-12)
    mat, thick = upright(axis), np.full_like(length, width)
    head = np.minimum(HEAD * length, 4 * width)  # of a long arrow the head stays short
    shaft = marks(
        Geom.CYLINDER, start + 0.5 * (length - head) * axis, mat, np.hstack([thick, thick, 0.5 * (length - head)]), rgba
    )
    tip = marks(
        Geom.ELLIPSOID, start + (length - head) * axis, mat, np.hstack([2 * thick, 2 * thick, head]), rgba
    )
    return together([shaft, tip])


def contacts(m, read: Read) -> Marks:
    """Contacts as discs across their normals."""
    count = int(read("ncon").reshape(-1)[0])
    normal = read("contact_frame").reshape(-1, 3, 3)[:count, 0].astype(float)
    size = float(m.stat.meansize)
    width, height = float(m.vis.scale.contactwidth) * size, float(m.vis.scale.contactheight) * size
    pos = read("contact_pos").reshape(-1, 3)[:count]
    return marks(Geom.CYLINDER, pos, upright(normal), (width, width, height), m.vis.rgba.contactpoint)


def forces(m, read: Read) -> Marks:
    """Contact forces as arrows, as long as `<visual><map force>` says."""
    count = int(read("ncon").reshape(-1)[0])
    frame = read("contact_frame").reshape(-1, 3, 3)[:count].astype(float)
    local = read("contact_force").reshape(-1, 6)[:count, :3]
    scale = float(m.vis.map.force) / max(float(m.stat.meanmass), 1e-12)
    vector = scale * np.einsum("nji,nj->ni", frame, local)
    width = float(m.vis.scale.forcewidth) * float(m.stat.meansize)
    return arrows(read("contact_pos").reshape(-1, 3)[:count], vector, width, m.vis.rgba.contactforce)


def joints(m, read: Read) -> Marks:
    """Hinges and slides as arrows along their axes, free joints as boxes, balls as balls."""
    kind = np.asarray(m.jnt_type)
    anchor, axis = read("xanchor").reshape(-1, 3).astype(float), read("xaxis").reshape(-1, 3).astype(float)
    size = float(m.stat.meansize)
    length, width = float(m.vis.scale.jointlength) * size, float(m.vis.scale.jointwidth) * size
    one = np.isin(kind, (Joint.HINGE, Joint.SLIDE))
    rgba = m.vis.rgba.joint
    body = np.asarray(m.jnt_bodyid)
    turned = read("xmat").reshape(-1, 3, 3)[body].astype(float)
    return together([
        arrows(anchor[one], length * axis[one], width, rgba),
        marks(Geom.BOX, anchor[kind == Joint.FREE], turned[kind == Joint.FREE], 0.3 * length, rgba),
        marks(Geom.SPHERE, anchor[kind == Joint.BALL], turned[kind == Joint.BALL], 0.3 * length, rgba),
    ])  # fmt: skip


def frames(m, read: Read) -> Marks:
    """Frames of bodies: three rods each, red, green and blue for x, y and z."""
    pos, mat = read("xpos").reshape(-1, 3).astype(float), read("xmat").reshape(-1, 3, 3).astype(float)
    size = float(m.stat.meansize)
    length, width = float(m.vis.scale.framelength) * size, 0.5 * float(m.vis.scale.framewidth) * size
    parts = []
    for k in range(3):
        axis = mat[:, :, k]
        parts.append(
            marks(Geom.CYLINDER, pos + 0.5 * length * axis, upright(axis), (width, width, 0.5 * length), AXES[k])
        )
    return together(parts)


def inertia(m, read: Read) -> Marks:
    """Boxes of even density with the bodies' masses and inertias."""
    mass, moment = np.asarray(m.body_mass, float), np.asarray(m.body_inertia, float)
    heavy = np.flatnonzero(mass > 0)
    squares = moment[heavy].sum(axis=1, keepdims=True) - 2 * moment[heavy]
    half = 0.5 * np.sqrt(np.maximum(6 * squares / mass[heavy, None], 0.0))
    pos, mat = read("xipos").reshape(-1, 3)[heavy], read("ximat").reshape(-1, 3, 3)[heavy]
    return marks(Geom.BOX, pos, mat, half, m.vis.rgba.inertia)


MADE_BY: dict[str, Callable[..., Marks]] = {
    "contacts": contacts, "forces": forces, "joints": joints, "frames": frames, "inertia": inertia,
}  # fmt: skip


def decorations(sim, worlds: np.ndarray, overlays: Collection[str]) -> list[Marks]:
    """The decorations of each of some worlds."""
    kept: dict[str, np.ndarray] = {}

    def array(name: str) -> np.ndarray:
        if name not in kept:
            kept[name] = _contact_forces(sim) if name == "contact_force" else np.asarray(sim.engine.read(name))
        return kept[name]

    return [
        together([MADE_BY[name](sim.model, lambda field, w=int(w): array(field)[w]) for name in overlays])
        for w in worlds
    ]


def _contact_forces(sim) -> np.ndarray:
    from kinema.convex.contact_force import contact_forces

    return contact_forces(sim).numpy()
