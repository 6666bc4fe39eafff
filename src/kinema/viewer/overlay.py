"""What is drawn on top of geoms and sites: tendons, contacts and their forces, frames, boxes of inertia, skins, flexes.

Sizes and colours are those of `<visual>`, scaled by the model's mean size as MuJoCo does. All functions take the arrays
of several worlds and the place each world stands at, and give plain arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.model.transform import rotation
from kinema.mujoco_enums import Geom
from kinema.render.flex import rope_ends
from kinema.viewer import texture as textures
from kinema.viewer.scene import GROUPS, color_of, quaternions

AT_PULLEY = -2


@dataclass(frozen=True, eq=False)
class Instances:
    """Poses, scales and colours of instances of one unit surface."""

    positions: np.ndarray
    wxyzs: np.ndarray
    scales: np.ndarray
    rgb: np.ndarray

    def __len__(self) -> int:
        return len(self.positions)


def turn_z_to(directions: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) of the shortest turns that take the z axis to unit vectors (n, 3)."""
    x, y, z = directions.T
    q = np.stack([1 + z, -y, x, np.zeros_like(z)], axis=1)
    q[z < -1 + 1e-9] = (0, 1, 0, 0)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def rods(a: np.ndarray, b: np.ndarray, radius: np.ndarray, rgb: np.ndarray) -> Instances:
    """Unit cylinders stretched from points a to points b."""
    along = b - a
    length = np.linalg.norm(along, axis=1)
    directions = np.where(length[:, None] > 0, along / np.maximum(length, 1e-12)[:, None], [0.0, 0.0, 1.0])
    scales = np.stack([radius, radius, 0.5 * length], axis=1)
    return Instances(
        (0.5 * (a + b)).astype(np.float32), turn_z_to(directions).astype(np.float32), scales.astype(np.float32), rgb
    )


# ------------------------------------------------------------------------------------------------ tendons


def tendon_colors(m) -> np.ndarray:
    """Colours (ntendon, 4) of tendons; a texture counts with its average."""
    colors = np.ones((int(m.ntendon), 4))
    for i in range(len(colors)):
        material = int(m.tendon_matid[i])
        colors[i] = color_of(m, m.tendon_rgba[i], material)
        texture = textures.texture_of(m, material)
        if texture >= 0:
            colors[i, :3] *= textures.mean_color(textures.picture(m, texture))
    return colors


ARC = 8
"""Straight pieces that stand for the arc of a tendon around something."""


def tendons(m, path: dict[str, np.ndarray], offsets: np.ndarray, groups, colors: np.ndarray) -> Instances:
    """Tendons as rods along their paths, in arcs around what they wrap.

    Args:
        m: The model.
        path: ten_wrapadr and ten_wrapnum (worlds, ntendon), wrap_obj (worlds, 2 nwrap), wrap_xpos (worlds, 2 nwrap, 3),
            geom_xpos and geom_xmat (worlds, ngeom, 3 or 9).
        offsets: (worlds, 3).
        groups: Groups that are shown.
        colors: Of `tendon_colors`.
    """
    shown = np.isin(np.clip(m.tendon_group, 0, GROUPS - 1), list(groups)) & (colors[:, 3] > 0)
    counts = np.where(shown, np.maximum(path["ten_wrapnum"] - 1, 0), 0)  # (worlds, ntendon) segments
    worlds, ntendon = counts.shape
    flat = counts.reshape(-1)
    owner = np.repeat(np.arange(flat.size), flat)
    step = np.arange(flat.sum()) - np.repeat(np.cumsum(flat) - flat, flat)
    world, tendon = owner // max(ntendon, 1), owner % max(ntendon, 1)
    at = path["ten_wrapadr"].reshape(-1)[owner] + step
    objects, points = path["wrap_obj"], path["wrap_xpos"]
    first, second = objects[world, at], objects[world, at + 1]
    straight = (first != AT_PULLEY) & (second != AT_PULLEY)
    wrapped = straight & (first >= 0) & (first == second)
    straight &= ~wrapped
    a, b = points[world[straight], at[straight]], points[world[straight], at[straight] + 1]
    which, place = tendon[straight], offsets[world[straight]]
    if wrapped.any():
        w, k, geom = world[wrapped], at[wrapped], first[wrapped]
        bends = arcs(
            points[w, k], points[w, k + 1], points[w, k] - points[w, k - 1],
            path["geom_xpos"][w, geom], path["geom_xmat"][w, geom].reshape(-1, 3, 3)[:, :, 2],
            np.asarray(m.geom_type)[geom] == Geom.CYLINDER,
        )  # fmt: skip
        a, b = np.vstack([a, bends[:, :-1].reshape(-1, 3)]), np.vstack([b, bends[:, 1:].reshape(-1, 3)])
        which = np.concatenate([which, np.repeat(tendon[wrapped], ARC)])
        place = np.vstack([place, np.repeat(offsets[w], ARC, axis=0)])
    radius = np.asarray(m.tendon_width, dtype=float)[which]
    return rods(a + place, b + place, radius, colors[which, :3])


def arcs(start, end, heading, center, axis, around_axis) -> np.ndarray:
    """Points (n, ARC + 1, 3) of shortest paths on spheres and cylinders, from first touch to last.

    In the plane across the axis the path is an arc, turned the way the tendon comes in; along the axis it is even.

    Args:
        start, end: (n, 3) first and last touch.
        heading: (n, 3) direction the tendon comes in.
        center: (n, 3) of the sphere or cylinder.
        axis: (n, 3) of the cylinder.
        around_axis: (n,) whether it is a cylinder; a sphere is turned around the normal of the plane of the path.
    """
    start, end, heading = (np.asarray(v, dtype=float) for v in (start, end, heading))
    normal = np.cross(start - center, heading)
    axis = np.where(around_axis[:, None], axis * np.sign(_dot(axis, normal)), normal)
    axis = axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-12)
    rise = _dot(end - start, axis)
    arm = start - center
    low = _dot(arm, axis)
    out = arm - low * axis
    side = np.cross(axis, out)
    last = end - center
    square = np.maximum(_dot(out, out), 1e-18)
    angle = np.arctan2(_dot(last, side) / square, _dot(last, out) / square)[:, 0] % (2 * np.pi)
    angle = np.where(angle > 2 * np.pi - 1e-3, 0.0, angle)  # touching in one point, from inside
    t = np.linspace(0, 1, ARC + 1)
    turn = (angle[:, None] * t)[..., None]
    middle = (center + low * axis)[:, None] + (rise * axis)[:, None] * t[:, None]
    found = middle + np.cos(turn) * out[:, None] + np.sin(turn) * side[:, None]
    found[:, -1] = end
    return found


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1, keepdims=True)


# ------------------------------------------------------------------------------------------------ contacts


def contact_discs(m, count: np.ndarray, pos: np.ndarray, frame: np.ndarray, offsets: np.ndarray) -> Instances:
    """Contacts as flat discs across their normals: count (worlds,), pos (worlds, n, 3), frame (worlds, n, 3, 3)."""
    world, contact = np.nonzero(np.arange(pos.shape[1]) < count[:, None])
    size = float(m.stat.meansize)
    width, height = float(m.vis.scale.contactwidth) * size, float(m.vis.scale.contactheight) * size
    scales = np.tile(np.array([width, width, height], np.float32), (len(world), 1))
    rgb = np.tile(np.asarray(m.vis.rgba.contactpoint, dtype=float)[:3], (len(world), 1))
    positions = pos[world, contact] + offsets[world]
    turned = turn_z_to(frame[world, contact, 0].astype(float))
    return Instances(positions.astype(np.float32), turned.astype(np.float32), scales, rgb)


def contact_arrows(
    m, count: np.ndarray, pos: np.ndarray, frame: np.ndarray, force: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Contact forces as arrows (n, 2, 3), in the world's frame, as long as `<visual><map force>` says."""
    world, contact = np.nonzero(np.arange(pos.shape[1]) < count[:, None])
    start = pos[world, contact] + offsets[world]
    vector = np.einsum("nji,nj->ni", frame[world, contact], force[world, contact, :3])
    scale = float(m.vis.map.force) / max(float(m.stat.meanmass), 1e-12)
    arrows = np.stack([start, start + scale * vector], axis=1)
    return arrows[np.linalg.norm(vector, axis=1) > 1e-9].astype(np.float32)


# ------------------------------------------------------------------------------------------------ bodies


def inertia_boxes(m) -> np.ndarray:
    """Half sizes (nbody, 3) of boxes of even density with the bodies' masses and inertias."""
    mass = np.maximum(np.asarray(m.body_mass, dtype=float), 1e-12)
    inertia = np.asarray(m.body_inertia, dtype=float)
    squares = inertia.sum(axis=1, keepdims=True) - 2 * inertia
    return 0.5 * np.sqrt(np.maximum(6 * squares / mass[:, None], 0.0))


def inertias(m, xipos: np.ndarray, ximat: np.ndarray, offsets: np.ndarray) -> Instances:
    """Boxes of inertia of the bodies that have mass, in some worlds."""
    bodies = np.flatnonzero(np.asarray(m.body_mass) > 0)
    worlds = len(xipos)
    rgb = np.asarray(m.vis.rgba.inertia, dtype=float)[:3]
    return Instances(
        (xipos[:, bodies] + offsets[:, None]).reshape(-1, 3).astype(np.float32),
        quaternions(ximat[:, bodies].reshape(-1, 9)).astype(np.float32),
        np.tile(inertia_boxes(m)[bodies].astype(np.float32), (worlds, 1)),
        np.tile(rgb, (worlds * len(bodies), 1)),
    )


FRAMES = {"body": ("xpos", "xmat"), "geom": ("geom_xpos", "geom_xmat"), "site": ("site_xpos", "site_xmat")}
"""What frames can be drawn of, and the arrays that hold them."""


def frames(xpos: np.ndarray, xmat: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and quaternions (n, 4) of coordinate frames of some worlds."""
    positions = (xpos + offsets[:, None]).reshape(-1, 3)
    return positions.astype(np.float32), quaternions(xmat.reshape(-1, 9)).astype(np.float32)


# ------------------------------------------------------------------------------------------------ skins


class Skin:
    """A skin, or a flex as one: vertices that follow several bones each, by weight.

    v = sum over bones of w (R v0 + x - R c), where R turns the bone from its bind pose, at c, to its pose now, at x.
    """

    def __init__(self, m, index: int):
        first, count = int(m.skin_vertadr[index]), int(m.skin_vertnum[index])
        self.rest = np.asarray(m.skin_vert, dtype=float).reshape(-1, 3)[first : first + count]
        face, faces = int(m.skin_faceadr[index]), int(m.skin_facenum[index])
        self.faces = np.asarray(m.skin_face).reshape(-1, 3)[face : face + faces]
        self.group = int(np.clip(m.skin_group[index], 0, GROUPS - 1))
        self.kind = "flex" if int(getattr(m, "skin_flex", np.full(m.nskin, -1))[index]) >= 0 else "skin"
        material = int(m.skin_matid[index])
        self.rgba = np.array(color_of(m, np.asarray(m.skin_rgba).reshape(-1, 4)[index], material))
        texture = textures.texture_of(m, material)
        if texture >= 0:
            self.rgba[:3] *= textures.mean_color(textures.picture(m, texture))
        bones = slice(int(m.skin_boneadr[index]), int(m.skin_boneadr[index]) + int(m.skin_bonenum[index]))
        number = np.asarray(m.skin_bonevertnum)[bones]
        start = int(np.asarray(m.skin_bonevertadr)[bones][0]) if len(number) else 0
        pairs = slice(start, start + int(number.sum()))
        bone = np.repeat(np.arange(len(number)), number)
        vertex = np.asarray(m.skin_bonevertid)[pairs]
        order = np.argsort(vertex, kind="stable")
        bone, self._vertex = bone[order], vertex[order]
        self._body = np.asarray(m.skin_bonebodyid)[bones][bone]
        self._weight = np.asarray(m.skin_bonevertweight, dtype=float)[pairs][order][:, None]
        at = np.asarray(m.skin_bonebindpos, dtype=float).reshape(-1, 3)[bones][bone]
        bind = np.asarray(m.skin_bonebindquat, dtype=float).reshape(-1, 4)[bones]
        turns = np.stack([rotation(q / np.linalg.norm(q)) for q in bind]) if len(bind) else np.zeros((0, 3, 3))
        self._local = np.einsum("nji,nj->ni", turns[bone], self.rest[self._vertex] - at)

    def vertices(self, xpos: np.ndarray, xmat: np.ndarray) -> np.ndarray:
        """Positions (..., V, 3) for poses of all bodies: xpos (..., nbody, 3), xmat (..., nbody, 9)."""
        turn = xmat.reshape(*xpos.shape, 3)[..., self._body, :, :]
        found = self._weight * (np.einsum("...nij,nj->...ni", turn, self._local) + xpos[..., self._body, :])
        out = np.zeros((*xpos.shape[:-2], *self.rest.shape), np.float32)
        held, first = np.unique(self._vertex, return_index=True)
        if len(held):
            out[..., held, :] = np.add.reduceat(found, first, axis=-2)
        return out


def ropes(m, xpos: np.ndarray, xmat: np.ndarray, offsets: np.ndarray, groups) -> Instances:
    """Elements of flexes of one dimension, of some worlds: xpos (worlds, nbody, 3), xmat (worlds, nbody, 9)."""
    ends, radii, colors = [np.zeros((0, 2, 3))], [np.zeros(0)], [np.zeros((0, 3))]
    for f in range(int(m.nflex)):
        material = int(m.flex_matid[int(m.flex_elemadr[f])])
        rgba = np.array(color_of(m, np.asarray(m.flex_rgba).reshape(-1, 4)[f], material))
        group = int(np.clip(m.flex_group[f], 0, GROUPS - 1))
        if int(m.flex_dim[f]) != 1 or rgba[3] == 0 or group not in groups:
            continue
        body, local = rope_ends(m, f)
        turn = xmat.reshape(len(xmat), -1, 3, 3)[:, body]
        at = xpos[:, body] + np.einsum("wneij,nej->wnei", turn, local) + offsets[:, None, None]
        ends.append(at.reshape(-1, 2, 3))
        radii.append(np.full(len(ends[-1]), float(m.flex_radius[f])))
        colors.append(np.tile(rgba[:3], (len(ends[-1]), 1)))
    a, b = np.concatenate(ends).swapaxes(0, 1)
    return rods(a, b, np.concatenate(radii), np.concatenate(colors))
