"""What is drawn: one table of items, of geoms, sites, skins, flexes and the segments of spatial tendons.

An item is a shape with a look. The look of an object is that of its material, unless the object has a colour of its own
(any that differs from the default grey), as mjv_updateScene decides it. Sizes are semi-axes: (r, r, r) of a sphere,
(r, r, half length) of capsules and cylinders.

How a texture lies on a shape (the column `mapping`):

    NONE    no texture
    SHAPE   2d, on the shape's own coordinates: around and along a sphere, a face of a box
    VERTEX  2d, texture coordinates of the mesh's vertices
    FLAT    2d, projected along z: meshes without coordinates, height fields
    CUBE    cube, by the direction from the centre
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kinema.mujoco_enums import Geom, Obj, Tendon, Texture, TextureRole

NONE, SHAPE, VERTEX, FLAT, CUBE = range(5)
GREY = np.array([0.5, 0.5, 0.5, 1.0], np.float32)  # the colour of what has none
DEFAULT_LOOK = (0.0, 0.5, 0.5, 0.0)  # emission, specular, shininess, reflectance without a material
GROUPS = (0, 1, 2)
"""Groups that MuJoCo draws unless told otherwise."""


@dataclass
class Items:
    """Columns of the table, one row an item; `owner` holds the row of the geom, site, skin, flex or tendon.

    Attributes:
        objtype: mjtObj of the owner.
        owner: Id of the owner.
        segment: Number of the segment on its tendon, or of the element of a rope; 0 for others.
        shape: mjtGeom.
        dataid: Mesh, height field or skin; -1: none.
        size: Semi-axes.
        rgba: Colour.
        look: Emission, specular, shininess, reflectance.
        texture: Id of the texture; -1: none.
        mapping: How the texture lies on the shape.
        scale: Scale of texture coordinates.
    """

    objtype: np.ndarray
    owner: np.ndarray
    segment: np.ndarray
    shape: np.ndarray
    dataid: np.ndarray
    size: np.ndarray
    rgba: np.ndarray
    look: np.ndarray
    texture: np.ndarray
    mapping: np.ndarray
    scale: np.ndarray

    def __len__(self) -> int:
        return len(self.owner)


def items_of(m, *, geom_groups: Collection[int] = GROUPS, site_groups: Collection[int] = GROUPS,
             tendon_groups: Collection[int] = GROUPS, skin_groups: Collection[int] = GROUPS,
             flex_groups: Collection[int] = GROUPS) -> Items:  # fmt: skip
    """The items of a model (`flex.with_flexes`), those of the given groups that are not wholly transparent."""
    rows = [_geom(m, i) for i in range(m.ngeom) if _shown(m.geom_group[i], geom_groups)]
    rows += [_site(m, i) for i in range(m.nsite) if _shown(m.site_group[i], site_groups)]
    flex_of = getattr(m, "skin_flex", np.full(m.nskin, -1))
    for i in range(m.nskin):
        if _shown(m.skin_group[i], skin_groups if flex_of[i] < 0 else flex_groups):
            rows.append(_skin(m, i, int(flex_of[i])))
    for f in range(getattr(m, "nflex", 0)):
        if int(m.flex_dim[f]) == 1 and _shown(m.flex_group[f], flex_groups):
            rows += _rope(m, f)
    for i in range(m.ntendon):
        if _shown(m.tendon_group[i], tendon_groups):
            rows += _tendon(m, i)
    rows = [row for row in rows if row["rgba"][3] > 0]
    widths = {"size": 3, "rgba": 4, "look": 4, "scale": 3}
    columns = {}
    for name in Items.__dataclass_fields__:
        real = name in widths
        values = np.array([row[name] for row in rows], dtype=np.float32 if real else np.int32)
        columns[name] = values.reshape(len(rows), widths[name]) if real else values
    return Items(**columns)


def with_room(items: Items, room: dict[int, int]) -> Items:
    """The items, and after them rooms for decorations: so many of each shape, hidden until they are placed."""
    shapes = [shape for shape, count in room.items() for _ in range(count)]
    n = len(shapes)
    added = {
        "objtype": np.full(n, Obj.UNKNOWN), "owner": np.full(n, -1), "segment": np.zeros(n), "shape": np.array(shapes),
        "dataid": np.full(n, -1), "size": np.zeros((n, 3)), "rgba": np.tile([0.5, 0.5, 0.5, 0.9], (n, 1)),
        "look": np.tile([0.2, 0.3, 0.5, 0.0], (n, 1)), "texture": np.full(n, -1), "mapping": np.full(n, NONE),
        "scale": np.ones((n, 3)),
    }  # fmt: skip
    columns = {}
    for name, values in added.items():
        own = getattr(items, name)
        columns[name] = np.concatenate([own, values.astype(own.dtype).reshape(n, *own.shape[1:])])
    return Items(**columns)


def _shown(group: int, groups: Collection[int]) -> bool:
    return min(max(int(group), 0), 5) in groups


def semi_axes(shape: int, size: np.ndarray) -> np.ndarray:
    """MuJoCo's size of a shape as semi-axes."""
    if shape == Geom.SPHERE:
        return np.array([size[0]] * 3)
    if shape in (Geom.CAPSULE, Geom.CYLINDER):
        return np.array([size[0], size[0], size[1]])
    return np.asarray(size)


def _geom(m, i: int) -> dict:
    shape, dataid = int(m.geom_type[i]), int(m.geom_dataid[i])
    return _row(m, Obj.GEOM, i, shape, dataid, m.geom_size[i], m.geom_matid[i], m.geom_rgba[i])


def _site(m, i: int) -> dict:
    return _row(m, Obj.SITE, i, int(m.site_type[i]), -1, m.site_size[i], m.site_matid[i], m.site_rgba[i])


def _skin(m, i: int, flex: int) -> dict:
    """A skin, or a flex that is one."""
    rgba = np.asarray(m.skin_rgba).reshape(-1, 4)[i]
    kind, owner = (Obj.SKIN, i) if flex < 0 else (Obj.FLEX, flex)
    return _row(m, kind, owner, Geom.SKIN, i, np.zeros(3), m.skin_matid[i], rgba)


def _rope(m, f: int) -> list[dict]:
    """Elements of a flex of one dimension."""
    radius, first = float(m.flex_radius[f]), int(m.flex_elemadr[f])
    rgba = np.asarray(m.flex_rgba).reshape(-1, 4)[f]
    rows = []
    for segment in range(int(m.flex_elemnum[f])):
        row = _row(m, Obj.FLEX, f, Geom.CAPSULE, -1, (radius, radius, 0.0), int(m.flex_matid[first + segment]), rgba)
        rows.append({**row, "segment": segment})
    return rows


def _tendon(m, i: int) -> list[dict]:
    """Segments of a spatial tendon: as many as its path can have; those it does not have now are hidden."""
    if int(m.tendon_type[i]) != Tendon.SPATIAL:
        return []
    width = float(m.tendon_width[i])
    rows = []
    for segment in range(2 * int(m.tendon_num[i]) - 1):
        row = _row(m, Obj.TENDON, i, Geom.CAPSULE, -1, (width, width, 0.0), m.tendon_matid[i], m.tendon_rgba[i])
        rows.append({**row, "segment": segment})
    return rows


def _row(m, objtype: int, owner: int, shape: int, dataid: int, size, material: int, rgba) -> dict:
    size, rgba = semi_axes(shape, np.asarray(size, float)), np.asarray(rgba, np.float32)
    colour, look, texture, mapping, scale = rgba, DEFAULT_LOOK, -1, NONE, (1.0, 1.0, 1.0)
    if material >= 0:
        look = tuple(
            float(np.asarray(getattr(m, f"mat_{name}"))[material])
            for name in ("emission", "specular", "shininess", "reflectance")
        )
        if np.array_equal(rgba, GREY):
            colour = np.asarray(m.mat_rgba)[material]
        texture, mapping, scale = _texture(m, int(material), shape, dataid, size)
    return {
        "objtype": objtype, "owner": owner, "segment": 0, "shape": shape, "dataid": dataid, "size": size,
        "rgba": colour, "look": look, "texture": texture, "mapping": mapping, "scale": scale,
    }  # fmt: skip


def has_texcoords(m, shape: int, dataid: int) -> bool:
    """Whether the vertices of a mesh or skin have texture coordinates."""
    return int(np.asarray(m.skin_texcoordadr if shape == Geom.SKIN else m.mesh_texcoordadr)[dataid]) >= 0


def _texture(m, material: int, shape: int, dataid: int, size: np.ndarray) -> tuple[int, int, tuple]:
    """Texture, mapping and scale of the texture coordinates of a shape with a material."""
    roles = np.asarray(m.mat_texid).reshape(int(m.nmat), -1)[material]
    texture = int(roles[TextureRole.RGB] if roles[TextureRole.RGB] >= 0 else roles[TextureRole.RGBA])
    if texture < 0:
        return -1, NONE, (1.0, 1.0, 1.0)
    uniform = bool(np.asarray(m.mat_texuniform)[material])
    spread = np.where(uniform & (size > 0), size, 1.0)  # repeats count per unit of length rather than per object
    if int(m.tex_type[texture]) != Texture.TEXTURE_2D:
        return texture, CUBE, tuple(size if uniform else (1.0, 1.0, 1.0))
    repeat = np.asarray(m.mat_texrepeat, float).reshape(-1, 2)[material]
    if shape in (Geom.MESH, Geom.SDF, Geom.SKIN) and dataid >= 0 and has_texcoords(m, shape, dataid):
        scale, mapping = np.where(repeat > 0, repeat, 1.0), VERTEX
    elif shape in (Geom.MESH, Geom.SDF, Geom.SKIN, Geom.HFIELD):
        scale, mapping = repeat / np.where(size[:2] > 0, size[:2], 1.0), FLAT
    else:
        scale, mapping = np.where(repeat > 0, repeat, 1.0), SHAPE
    return texture, mapping, (*(scale * spread[:2]), 1.0)
