"""What is drawn of a model: its geoms and sites, sorted into batches of instances that share one surface.

A batch is everything a page can draw in one go: the same surface, the same texture, the same group, moving or not.
Spheres of all sizes are one batch, so 256 humanoids are a dozen batches rather than five thousand objects. Nothing
here knows about pages: it is arrays of a model in, arrays for a renderer out.

Colours follow MuJoCo: a geom's own rgba, unless it is the default grey and there is a material, whose rgba then counts;
a texture is multiplied by it; what is wholly transparent is not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.mujoco_enums import Geom, Texture
from kinema.viewer import surface as shapes
from kinema.viewer import texture as textures
from kinema.viewer.surface import Surface
from kinema.viewer.texture import Paint

UNIT: dict[int, str] = {Geom.SPHERE: "ball", Geom.ELLIPSOID: "ball", Geom.CYLINDER: "cylinder", Geom.BOX: "box"}
"""Shapes that are a unit surface, scaled."""

Rgba = tuple[float, float, float, float]

GREY: Rgba = (0.5, 0.5, 0.5, 1.0)
GROUPS = 6
SHOWN_GROUPS = (0, 1, 2)
"""Groups that are visible at first, as in MuJoCo's viewer."""

ENDLESS = 12.0
"""Half size of a plane without end, in extents of the model."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of one surface in one world.

    Attributes:
        name: Unique in the scene.
        kind: "geom" or "site".
        group: Visualization group.
        moving: Whether poses change while the simulation runs.
        once: Drawn once for all worlds together: a floor.
        surface: What each instance looks like at scale 1.
        paint: Texture and material; None for plain colours.
        ids: (k,) geoms or sites.
        scales: (k, 3).
        rgba: (k, 4) in [0, 1].
    """

    name: str
    kind: str
    group: int
    moving: bool
    once: bool
    surface: Surface
    paint: Paint | None
    ids: np.ndarray
    scales: np.ndarray
    rgba: np.ndarray


@dataclass(eq=False)
class Scene:
    """All batches of a model and the sizes that things drawn on top of it are scaled by."""

    batches: list[Batch]
    extent: float
    center: np.ndarray
    meansize: float


@dataclass(frozen=True, eq=False)
class _Piece:
    """One geom or site before it is sorted into a batch."""

    surface_key: tuple
    scale: np.ndarray
    rgba: Rgba
    material: int  # -1: plain colour


def scene_of(m, *, detail: int = 24) -> Scene:
    """Everything to be drawn of a model.

    Args:
        m: An object with mjModel's attributes.
        detail: Points around round things; fewer where many worlds are drawn.
    """
    moving = _moving_bodies(m)
    looks = _Looks(m)
    found: dict[tuple, list[tuple[int, _Piece]]] = {}
    for kind in ("geom", "site"):
        for i in range(int(getattr(m, f"n{kind}"))):
            piece = _piece(m, looks, kind, i)
            if piece is None:
                continue
            body = int(getattr(m, f"{kind}_bodyid")[i])
            group = int(np.clip(getattr(m, f"{kind}_group")[i], 0, GROUPS - 1))
            paint_key = (piece.material, piece.rgba) if piece.material >= 0 else (-1, piece.rgba[3] < 1)
            key = (kind, group, bool(moving[body]), piece.surface_key, paint_key)
            found.setdefault(key, []).append((i, piece))
    batches = [_batch(m, looks, key, members, number, detail) for number, (key, members) in enumerate(found.items())]
    stat = m.stat
    return Scene(batches, float(stat.extent), np.array(stat.center, dtype=float), float(stat.meansize))


class _Looks:
    """Materials of a model: each picture is taken from it and looked at once."""

    def __init__(self, m):
        self.m = m
        self._pictures: dict[int, np.ndarray] = {}
        self._tints: dict[int, np.ndarray | None] = {}

    def picture(self, texture: int) -> np.ndarray:
        """Pixels of a texture."""
        if texture not in self._pictures:
            self._pictures[texture] = textures.picture(self.m, texture)
        return self._pictures[texture]

    def tint(self, material: int) -> np.ndarray | None:
        """Colour of a material whose texture is of one colour; None where there is no such texture."""
        texture = textures.texture_of(self.m, material)
        if texture >= 0 and texture not in self._tints:
            pixels = self.picture(texture)
            self._tints[texture] = textures.mean_color(pixels) if textures.is_flat_color(pixels) else None
        return self._tints[texture] if texture >= 0 else None

    def texture(self, material: int) -> int:
        """Texture that must be laid on what is of a material; -1 where a colour does."""
        return -1 if self.tint(material) is not None else textures.texture_of(self.m, material)

    def is_plain(self, material: int) -> bool:
        """Whether a colour is all there is to a material: no texture, no light of its own."""
        return material < 0 or (self.texture(material) < 0 and float(self.m.mat_emission[material]) == 0)


def _moving_bodies(m) -> np.ndarray:
    """Which bodies can move: all but those welded to the world, and mocap bodies, which are moved from outside."""
    moves = np.asarray(m.body_weldid) != 0
    mocap = np.asarray(m.body_mocapid) >= 0
    for body in range(1, int(m.nbody)):  # children come after parents
        moves[body] |= mocap[body] or moves[int(m.body_parentid[body])]
    return moves


def color_of(m, rgba, material: int) -> Rgba:
    """The colour MuJoCo gives something with an rgba of its own and a material."""
    own = _rgba(rgba)
    return _rgba(m.mat_rgba[material]) if material >= 0 and own == GREY else own


def _rgba(values) -> Rgba:
    r, g, b, a = (float(v) for v in values)
    return r, g, b, a


def _piece(m, looks: _Looks, kind: str, i: int) -> _Piece | None:
    """How a geom or a site is drawn; None where it is not."""
    material = int(getattr(m, f"{kind}_matid")[i])
    rgba = color_of(m, getattr(m, f"{kind}_rgba")[i], material)
    if rgba[3] == 0:
        return None
    shape = int(getattr(m, f"{kind}_type")[i])
    size = np.array(getattr(m, f"{kind}_size")[i], dtype=float)
    data = int(getattr(m, f"{kind}_dataid")[i]) if hasattr(m, f"{kind}_dataid") else -1
    tint = looks.tint(material)
    if tint is not None:
        rgba = _rgba((*np.multiply(rgba[:3], tint), rgba[3]))

    one = np.ones(3)
    key: tuple
    if shape == Geom.PLANE:
        half = [side if side > 0 else ENDLESS * float(m.stat.extent) for side in size[:2]]
        key, scale = ("plane", bool((size[:2] <= 0).any())), np.array([*half, 1.0])
        # a floor that reaches under the neighbours is drawn once for all worlds
        key = (*key, bool(min(half) > float(m.stat.extent)))
    elif shape == Geom.HFIELD:
        key, scale = ("hfield", data), one
    elif shape in (Geom.MESH, Geom.SDF):
        if data < 0:
            return None
        key, scale = ("mesh", data), one
    elif shape == Geom.CAPSULE:
        key, scale = ("capsule", round(size[0], 9), round(size[1], 9)), one
    elif shape in UNIT:
        key, scale = (UNIT[shape],), render_size(shape, size)
    else:
        return None  # arrows, lines and such are decoration, never geoms of a model
    if looks.is_plain(material):
        return _Piece(key, scale, rgba, -1)
    # a texture depends on size, so a textured surface is made at its own size, and drawn at scale 1
    return _Piece((*key, shape, *np.round(scale, 9), *np.round(size, 9)), one, rgba, material)


def _batch(m, looks: _Looks, key: tuple, members: list[tuple[int, _Piece]], number: int, detail: int) -> Batch:
    kind, group, moving, surface_key, _ = key
    first, piece = members[0]
    surface = _surface(m, surface_key, detail)
    paint = None
    if piece.material >= 0:
        surface, paint = _painted(m, looks, kind, first, piece, surface, surface_key)
    else:
        surface = surface.welded()
    return Batch(
        name=f"{kind}/{group}/{number}",
        kind=kind,
        group=group,
        moving=moving,
        once=surface_key[0] == "plane" and surface_key[2] and not moving,
        surface=surface,
        paint=paint,
        ids=np.array([i for i, _ in members]),
        scales=np.array([p.scale for _, p in members], dtype=np.float32),
        rgba=np.array([p.rgba for _, p in members], dtype=np.float32),
    )


def _surface(m, key: tuple, detail: int) -> Surface:
    name = key[0]
    if name == "plane":
        return shapes.plane()
    if name == "hfield":
        return shapes.height_field(m, key[1])
    if name == "mesh":
        return shapes.mesh(m, key[1])
    if name == "capsule":
        return shapes.capsule(key[1], key[2], detail)
    if name == "box":
        return shapes.box()
    return shapes.ball(detail) if name == "ball" else shapes.cylinder(detail)


def render_size(shape: int, size) -> np.ndarray:
    """Sizes along x, y and z, as MuJoCo's renderer has them."""
    a, b, c = (float(v) for v in size)
    if shape == Geom.SPHERE:
        return np.array([a, a, a])
    return np.array([a, a, b]) if shape in (Geom.CAPSULE, Geom.CYLINDER) else np.array([a, b, c])


def _painted(m, looks: _Looks, kind: str, i: int, piece: _Piece, surface: Surface, key: tuple) -> tuple[Surface, Paint]:
    """A surface at its own size under its material."""
    size = render_size(int(getattr(m, f"{kind}_type")[i]), getattr(m, f"{kind}_size")[i])
    endless = key[:2] == ("plane", True)
    scale = np.array(key[-6:-3], dtype=float)
    surface = surface.scaled(scale)
    material = piece.material
    texture = looks.texture(material)
    image = looks.picture(texture) if texture >= 0 else None
    uniform = bool(m.mat_texuniform[material])
    if image is None:
        surface = Surface(surface.vertices, surface.faces, surface.normals)
    elif int(m.tex_type[texture]) == Texture.TEXTURE_2D:
        surface = textures.lay_2d(surface, size, m.mat_texrepeat[material], uniform, endless=endless)
    else:
        # directions are those of the unit object, unless texuniform asks for those of the real one
        half = np.abs(surface.vertices).max(axis=0)
        unit = np.ones(3) if uniform or key[0] == "mesh" else np.where(half > 0, half, 1.0)
        surface = textures.lay_cube(surface, unit, single=image.shape[0] == image.shape[1])
    roughness = float(m.mat_roughness[material])
    paint = Paint(
        image=image,
        rgba=piece.rgba,
        metallic=max(0.0, float(m.mat_metallic[material])),
        roughness=roughness if roughness >= 0 else 1.0,
        emission=float(m.mat_emission[material]),
    )
    return surface, paint


# ------------------------------------------------------------------------------------------------ poses


def quaternions(matrices: np.ndarray) -> np.ndarray:
    """Unit quaternions wxyz of rotation matrices (..., 3, 3) or (..., 9)."""
    r = np.asarray(matrices, dtype=np.float64).reshape(-1, 9)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = r.T
    # four times the outer product of the quaternion with itself; its longest row is the best conditioned
    rows = np.empty((len(r), 4, 4))
    rows[:, 0] = np.stack([1 + xx + yy + zz, zy - yz, xz - zx, yx - xy], 1)
    rows[:, 1] = np.stack([zy - yz, 1 + xx - yy - zz, xy + yx, xz + zx], 1)
    rows[:, 2] = np.stack([xz - zx, xy + yx, 1 - xx + yy - zz, yz + zy], 1)
    rows[:, 3] = np.stack([yx - xy, xz + zx, yz + zy, 1 - xx - yy + zz], 1)
    best = np.einsum("nii->ni", rows).argmax(axis=1)
    q = rows[np.arange(len(r)), best]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return q.reshape(*np.shape(matrices)[: -2 if np.shape(matrices)[-2:] == (3, 3) else -1], 4)


def extents(shape: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Half lengths of shapes along their axes (..., n, 3), from MuJoCo's sizes; 1 for what has none."""
    r, h = size[..., 0], size[..., 1]
    round_ = np.isin(shape, (Geom.SPHERE, Geom.CAPSULE, Geom.CYLINDER))
    sized = round_ | np.isin(shape, (Geom.ELLIPSOID, Geom.BOX))
    kinds = [shape == kind for kind in (Geom.SPHERE, Geom.CAPSULE, Geom.CYLINDER)]
    length = np.select(kinds, [r, r + h, h], size[..., 2])
    found = np.stack([r, np.where(round_, r, h), length], axis=-1)
    return np.where(sized[..., None], found, 1.0)


def grid_offsets(worlds: int, spacing: float) -> np.ndarray:
    """Where worlds stand beside each other: (worlds, 3), a square centred on the origin."""
    columns = int(np.ceil(np.sqrt(worlds)))
    rows = -(-worlds // columns)
    index = np.arange(worlds)
    x = (index % columns - (columns - 1) / 2) * spacing
    y = (index // columns - (rows - 1) / 2) * spacing
    return np.stack([x, y, np.zeros(worlds)], axis=1)


def placed(batch: Batch, xpos: np.ndarray, xmat: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) and quaternions (n, 4) of a batch's instances, worlds outermost.

    Args:
        batch: The batch.
        xpos, xmat: Poses of all geoms (or sites): (worlds, number, 3) and (worlds, number, 9).
        offsets: (worlds, 3) where each world stands.
    """
    if batch.once:
        xpos, xmat, offsets = xpos[:1], xmat[:1], np.zeros((1, 3))
    positions = xpos[:, batch.ids] + offsets[:, None]
    turned = quaternions(xmat[:, batch.ids].reshape(*positions.shape[:2], 9))
    return positions.reshape(-1, 3).astype(np.float32), turned.reshape(-1, 4).astype(np.float32)
