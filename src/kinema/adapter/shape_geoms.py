"""Shapes of the model layer as geoms of an MJCF document.

    type and scale        geom type and size; meshes, cones and height fields become assets
    collision groups      one bit a group: contype says the own group, conaffinity the groups it meets
    filtered pairs        `exclude` of two bodies where all their shapes are filtered, otherwise an `exclude` and an
                          explicit `pair` for each pair that is left
    ke, kd                solref = (2 / kd, kd / (2 sqrt ke)), so that Newton's defaults are MuJoCo's defaults
    margin                margin: contact begins at the sum of margins. A gap only matters to who looks for contacts

Positions and quaternions are Newton's (xyzw) in the columns, MuJoCo's (wxyz) in the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kinema.errors import BuildError
from kinema.mjcf.source import Node
from kinema.model.enums import GeoType, ShapeFlags
from kinema.model.pairs import groups_meet
from kinema.model.transform import transform_mul

COLUMNS = (
    "shape_label", "shape_transform", "shape_body", "shape_flags", "shape_type", "shape_scale", "shape_source",
    "shape_margin", "shape_gap", "shape_collision_group", "shape_material_ke", "shape_material_kd",
    "shape_material_mu", "shape_material_mu_torsional", "shape_material_mu_rolling",
)  # fmt: skip
"""Fields that a geom is made from."""

NAMES = {
    GeoType.PLANE: "plane", GeoType.HFIELD: "hfield", GeoType.SPHERE: "sphere", GeoType.CAPSULE: "capsule",
    GeoType.ELLIPSOID: "ellipsoid", GeoType.CYLINDER: "cylinder", GeoType.BOX: "box", GeoType.MESH: "mesh",
    GeoType.CONVEX_MESH: "mesh", GeoType.CONE: "mesh",
}  # fmt: skip
GROUP_BITS = 31
CONE_SIDES = 32


def text(*values: Any) -> str:
    """Numbers as MJCF writes them, exactly."""
    return " ".join(repr(float(v)) for v in np.concatenate([np.ravel(v) for v in values]))


def pose_attributes(xform: np.ndarray) -> dict[str, str]:
    """pos and quat of a transform [x y z, qx qy qz qw]."""
    x = np.asarray(xform, dtype=float)
    return {"pos": text(x[:3]), "quat": text(x[6], x[3:6])}


def element(parent: Node, tag: str, **attributes: str) -> Node:
    """Add an element to a document."""
    return parent.add(Node(tag, attributes))


def group_bits(groups: Iterable[int]) -> dict[int, tuple[int, int]]:
    """contype and conaffinity of each collision group; group 1 has MuJoCo's own bit."""
    present = sorted({int(g) for g in groups} - {0}, key=lambda g: (g != 1, g))
    if len(present) > GROUP_BITS:
        raise BuildError(f"{len(present)} collision groups in one world: MuJoCo's bits hold at most {GROUP_BITS}")
    array = np.array(present)
    bit = {g: 1 << k for k, g in enumerate(present)} if 1 in present else {g: 2 << k for k, g in enumerate(present)}
    meets = {g: sum(bit[h] for h in present if groups_meet(np.array(g), np.array(h))) for g in array.tolist()}
    return {0: (0, 0), **{g: (bit[g], meets[g]) for g in array.tolist()}}


class ShapeDocument:
    """Writes shapes into a document.

    Args:
        root: The `mujoco` element.
        columns: The fields in COLUMNS, a row a shape; `shape_body` names the keys of `bodies`.
        bodies: Element that each body's geoms go to; -1: the world.
        names: Name of each of these bodies.
        gaps: Whether contacts are wanted within the gaps too, where they do nothing yet.
    """

    def __init__(
        self, root: Node, columns: Mapping[str, Any], bodies: Mapping[int, Node], names: Mapping[int, str], *,
        gaps: bool = False,
    ):  # fmt: skip
        self.columns, self.bodies, self.names, self.gaps = columns, bodies, names, gaps
        self.assets = element(root, "asset")
        self.contact = element(root, "contact")
        self.bits = group_bits(columns["shape_collision_group"])
        self._assets: dict[Any, str] = {}

    def add(self, shape: int) -> str | None:
        """Add one shape as a geom, or a site; returns the geom's name, None for what has no body of geometry."""
        kind = GeoType(int(self.columns["shape_type"][shape]))
        flags = int(self.columns["shape_flags"][shape])
        body = self.bodies[int(self.columns["shape_body"][shape])]
        collides = bool(flags & ShapeFlags.COLLIDE_SHAPES)
        if kind not in NAMES:
            if collides and kind != GeoType.GAUSSIAN:
                raise BuildError(
                    f"shape {self.columns['shape_label'][shape]!r}: the convex solver has no {kind.name} shapes; "
                    "use a mesh, or an sdf plugin in an MJCF document"
                )
            return None
        placed = pose_attributes(self._frame(kind, shape))
        name = f"shape{shape}"
        if flags & ShapeFlags.SITE:
            plain = kind in (GeoType.SPHERE, GeoType.CAPSULE, GeoType.ELLIPSOID, GeoType.CYLINDER, GeoType.BOX)
            size = self._size(kind, shape) if plain else {}
            element(body, "site", name=name, type=NAMES[kind] if plain else "sphere", **size, **placed)
            return None
        contype, conaffinity = self.bits[int(self.columns["shape_collision_group"][shape])] if collides else (0, 0)
        element(
            body, "geom", name=name, type=NAMES[kind], contype=str(contype), conaffinity=str(conaffinity),
            mass="0", friction=text(self._friction(shape)), solref=text(self._solref(shape)),
            margin=text(self.columns["shape_margin"][shape]), gap=text(self._gap(shape)), **self._size(kind, shape),
            **placed,
        )  # fmt: skip
        return name

    def _frame(self, kind: GeoType, shape: int) -> np.ndarray:
        xform = np.asarray(self.columns["shape_transform"][shape], dtype=float)
        if kind != GeoType.HFIELD:
            return xform
        lowest = self.columns["shape_source"][shape].min_z * float(self.columns["shape_scale"][shape][2])
        return transform_mul(xform, np.array([0.0, 0.0, lowest, 0.0, 0.0, 0.0, 1.0]))

    def filter(self, pairs: np.ndarray) -> None:
        """Keep pairs of shapes, given as rows of the columns, from touching."""
        if len(pairs) == 0:
            return
        body = np.asarray(self.columns["shape_body"])
        filtered: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for a, b in pairs.tolist():
            if body[a] != body[b]:
                a, b = (a, b) if body[a] < body[b] else (b, a)
                filtered.setdefault((int(body[a]), int(body[b])), set()).add((a, b))
        for (first, second), gone in filtered.items():
            left = [pair for pair in self._meeting(first, second) if pair not in gone]
            element(self.contact, "exclude", body1=self.names[first], body2=self.names[second])
            for a, b in left:
                self._pair(a, b)

    def _meeting(self, first: int, second: int) -> list[tuple[int, int]]:
        """Pairs of shapes of two bodies that touch by their groups."""
        body, group = np.asarray(self.columns["shape_body"]), np.asarray(self.columns["shape_collision_group"])
        solid = (np.asarray(self.columns["shape_flags"]) & ShapeFlags.COLLIDE_SHAPES) != 0
        a, b = (np.flatnonzero((body == x) & solid) for x in (first, second))
        i, j = (x.ravel() for x in np.meshgrid(a, b, indexing="ij"))
        keep = groups_meet(group[i], group[j])
        return list(zip(i[keep].tolist(), j[keep].tolist(), strict=True))

    def _pair(self, a: int, b: int) -> None:
        """An explicit pair with what the two shapes would give it."""
        slide, spin, roll = np.maximum(self._friction(a), self._friction(b))
        element(
            self.contact, "pair", geom1=f"shape{a}", geom2=f"shape{b}", condim="3",
            friction=text(slide, slide, spin, roll, roll), solref=text((self._solref(a) + self._solref(b)) / 2),
            margin=text(self.columns["shape_margin"][a] + self.columns["shape_margin"][b]),
            gap=text(self._gap(a) + self._gap(b)),
        )  # fmt: skip

    def _gap(self, shape: int) -> float:
        return float(self.columns["shape_gap"][shape]) if self.gaps else 0.0

    def _friction(self, shape: int) -> np.ndarray:
        names = ("shape_material_mu", "shape_material_mu_torsional", "shape_material_mu_rolling")
        return np.array([float(self.columns[name][shape]) for name in names])

    def _solref(self, shape: int) -> np.ndarray:
        ke, kd = (float(self.columns[f"shape_material_{k}"][shape]) for k in ("ke", "kd"))
        if ke <= 0.0 or kd <= 0.0:
            return np.array([0.02, 1.0])
        return np.array([2.0 / kd, kd / (2.0 * np.sqrt(ke))])

    def _size(self, kind: GeoType, shape: int) -> dict[str, str]:
        scale = np.asarray(self.columns["shape_scale"][shape], dtype=float)
        source = self.columns["shape_source"][shape]
        if kind == GeoType.PLANE:
            return {"size": text(scale[:2] / 2, 1.0)}
        if kind == GeoType.SPHERE:
            return {"size": text(scale[0])}
        if kind in (GeoType.CAPSULE, GeoType.CYLINDER):
            return {"size": text(scale[:2])}
        if kind in (GeoType.ELLIPSOID, GeoType.BOX):
            return {"size": text(scale)}
        if kind == GeoType.CONE:
            return {"mesh": self._mesh(("cone", *scale), _cone(scale[0], scale[1]))}
        if kind == GeoType.HFIELD:
            return {"hfield": self._hfield(source, scale)}
        return {"mesh": self._mesh((id(source), *scale), np.asarray(source.vertices, dtype=float) * scale)}

    def _mesh(self, key: Any, vertices: np.ndarray) -> str:
        """A mesh of which only the hull counts: contacts and bounds are the hull's."""
        if key not in self._assets:
            name = self._assets[key] = f"mesh{len(self._assets)}"
            element(self.assets, "mesh", name=name, vertex=text(vertices), inertia="convex")
        return self._assets[key]

    def _hfield(self, source: Any, scale: np.ndarray) -> str:
        """A height field whose lowest point is at z = 0."""
        key = (id(source), *scale)
        if key not in self._assets:
            name = self._assets[key] = f"hfield{len(self._assets)}"
            top = max((source.max_z - source.min_z) * scale[2], 1e-6)
            element(
                self.assets, "hfield", name=name, nrow=str(source.nrow), ncol=str(source.ncol),
                size=text(source.hx * scale[0], source.hy * scale[1], top, max(0.1, 0.1 * top)),
                elevation=text(np.asarray(source.data)[::-1]),  # the file format begins with the far row
            )  # fmt: skip
        return self._assets[key]


def _cone(radius: float, half_height: float) -> np.ndarray:
    """Vertices of a cone along z with its tip up."""
    angle = np.linspace(0.0, 2.0 * np.pi, CONE_SIDES, endpoint=False)
    rim = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(CONE_SIDES, -half_height)], axis=1)
    return np.concatenate([rim, [[0.0, 0.0, half_height]]])
