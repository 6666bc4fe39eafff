"""A processed mesh: its arrays, what geoms ask of it, and how a list of them becomes mjModel's mesh arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from kinema.errors import CompileError
from kinema.geometry.bvh import BoundingVolumes
from kinema.geometry.inertia import dot3
from kinema.geometry.mesh import Float32, Float64, Int32
from kinema.geometry.octree import Octree
from kinema.geometry.polygons import Polygons


@dataclass(frozen=True)
class CompiledMesh:
    """One processed mesh; its arrays may be read-only.

    Attributes:
        vert, normal, texcoord, face, facenormal, facetexcoord: As in mjModel, in the inertial frame.
        graph: Convex hull graph, empty without one.
        extrema: (27,) farthest hull vertices by direction.
        poly, polynormal: Flat sides of the hull.
        scale, pos, quat: What was applied to the asset's vertices.
        volume: Volume, or surface area where ``shell``.
        boxsz: Half sizes of the box with the same inertia.
        aamm: (6,) minimum and maximum of the vertices.
        bvh: Hierarchy over the faces.
        octree: Signed distances, empty unless asked for.
        shell: Whether mass sits on the surface.
    """

    name: str
    vert: Float32
    normal: Float32
    texcoord: Float32
    face: Int32
    facenormal: Int32
    facetexcoord: Int32
    graph: Int32
    extrema: Int32
    poly: Polygons
    polynormal: Float64
    scale: Float64
    pos: Float64
    quat: Float64
    volume: float
    boxsz: Float64
    aamm: Float64
    bvh: BoundingVolumes
    octree: Octree
    shell: bool


def to_arrays(mesh: CompiledMesh) -> dict[str, np.ndarray]:
    """Every field of a mesh as an array, nested ones by dotted name."""
    arrays: dict[str, Any] = {}
    for item in fields(mesh):
        value = getattr(mesh, item.name)
        if isinstance(value, (Polygons, BoundingVolumes, Octree)):
            arrays |= {f"{item.name}.{inner.name}": getattr(value, inner.name) for inner in fields(value)}
        elif item.name != "name":
            arrays[item.name] = np.asarray(value)
    return arrays


def from_arrays(name: str, arrays: dict[str, np.ndarray]) -> CompiledMesh:
    nested: dict[str, Any] = {
        "poly": Polygons(**{item.name: arrays[f"poly.{item.name}"] for item in fields(Polygons)}),
        "bvh": BoundingVolumes(**{item.name: arrays[f"bvh.{item.name}"] for item in fields(BoundingVolumes)}),
        "octree": Octree(**{item.name: arrays[f"octree.{item.name}"] for item in fields(Octree)}),
    }
    flat: dict[str, Any] = {key: value for key, value in arrays.items() if "." not in key}
    flat["volume"], flat["shell"] = float(flat["volume"]), bool(flat["shell"])
    return CompiledMesh(name=name, **flat, **nested)


# ---- what geoms ask of a mesh


def mesh_aabb(mesh: CompiledMesh) -> Float64:
    """(6,) centre and half size of the mesh's box, as `geom_aabb`."""
    low, high = mesh.aamm[:3], mesh.aamm[3:]
    return np.concatenate([(high + low) / 2, (high - low) / 2])


def mesh_rbound(mesh: CompiledMesh) -> float:
    """Radius of the sphere about the origin that holds the mesh's box, as `geom_rbound`."""
    corner = np.maximum(np.abs(mesh.aamm[:3]), np.abs(mesh.aamm[3:]))
    return float(np.sqrt(dot3(corner, corner)))


def fit_primitive(
    mesh: CompiledMesh, geom_type: str, *, fitaabb: bool = False, fitscale: float = 1.0
) -> tuple[Float64, Float64]:
    """Size (3,) of the primitive fitted to a mesh, and the centre (3,) to add to the mesh's pose.

    From the inertia box, or with ``fitaabb`` from the bounding box; a value the type does not use is 0.
    """
    center, size = np.zeros(3), np.zeros(3)
    if geom_type not in ("sphere", "capsule", "cylinder", "ellipsoid", "box"):
        raise CompileError(f"invalid geom type in fitting mesh {mesh.name}: {geom_type!r}")
    if fitaabb:
        center = (mesh.aamm[:3] + mesh.aamm[3:]) / 2
        half = mesh.aamm[3:] - center
        if geom_type == "sphere":
            size[0] = half.max()
        elif geom_type in ("capsule", "cylinder"):
            size[0], size[1] = max(half[0], half[1]), half[2]
            if geom_type == "capsule":
                size[1] -= size[0]
        else:
            size[:] = half
    else:
        x, y, z = mesh.boxsz
        if geom_type == "sphere":
            size[0] = (x + y + z) / 3
        elif geom_type in ("capsule", "cylinder"):
            size[0] = (x + y) / 2
            size[1] = max(0.0, z - size[0] / 2) if geom_type == "capsule" else z
        else:
            size[:] = mesh.boxsz
    return size * fitscale, center


# ---- packing


@dataclass
class _Packer:
    """Concatenates one array of every mesh and keeps the addresses."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, field_name: str, parts: list[np.ndarray], width: tuple[int, ...], dtype: type) -> list[int]:
        """Store the concatenation, return where each part begins."""
        empty: np.ndarray = np.zeros((0, *width), dtype)
        self.arrays[field_name] = np.ascontiguousarray(np.concatenate([empty, *parts]), dtype)
        return np.concatenate(([0], np.cumsum([len(part) for part in parts])))[:-1].astype(int).tolist()


def _int(values: object) -> Int32:
    return np.asarray(values, np.int32).reshape(-1)


def pack_meshes(meshes: Sequence[CompiledMesh], *, bvh_start: int = 0) -> dict[str, np.ndarray]:
    """All meshes as mjModel arrays.

    Args:
        meshes: In id order.
        bvh_start: How many bounding volumes come before (those of the bodies).

    Returns:
        Every ``mesh_*`` field except ``mesh_pathadr``, all of ``oct_*``, and the meshes' part of ``bvh_*``.
    """
    pack = _Packer()
    a = pack.arrays
    vertadr = pack.add("mesh_vert", [m.vert for m in meshes], (3,), np.float32)
    normaladr = pack.add("mesh_normal", [m.normal for m in meshes], (3,), np.float32)
    texcoordadr = pack.add("mesh_texcoord", [m.texcoord for m in meshes], (2,), np.float32)
    faceadr = pack.add("mesh_face", [m.face for m in meshes], (3,), np.int32)
    pack.add("mesh_facenormal", [m.facenormal for m in meshes], (3,), np.int32)
    facetex = [m.facetexcoord if len(m.texcoord) else np.zeros_like(m.face) for m in meshes]
    pack.add("mesh_facetexcoord", facetex, (3,), np.int32)
    graphadr = pack.add("mesh_graph", [m.graph for m in meshes], (), np.int32)
    polyadr = pack.add("mesh_polynormal", [m.polynormal for m in meshes], (3,), np.float64)
    pack.add("mesh_polyvertnum", [m.poly.num for m in meshes], (), np.int32)
    pack.add("mesh_polyvert", [m.poly.vert for m in meshes], (), np.int32)
    pack.add("mesh_polymap", [m.poly.map for m in meshes], (), np.int32)
    pack.add("mesh_polymapnum", [m.poly.mapnum for m in meshes], (), np.int32)
    bvhadr = pack.add("bvh_child", [m.bvh.child for m in meshes], (2,), np.int32)
    pack.add("bvh_nodeid", [m.bvh.nodeid for m in meshes], (), np.int32)
    pack.add("bvh_depth", [m.bvh.depth for m in meshes], (), np.int32)
    pack.add("bvh_aabb", [m.bvh.aabb for m in meshes], (6,), np.float64)
    a["mesh_polyvertadr"] = _starts(a["mesh_polyvertnum"])
    a["mesh_polymapadr"] = _starts(a["mesh_polymapnum"])
    a["mesh_vertadr"], a["mesh_vertnum"] = _int(vertadr), _int([len(m.vert) for m in meshes])
    a["mesh_normaladr"], a["mesh_normalnum"] = _int(normaladr), _int([len(m.normal) for m in meshes])
    a["mesh_faceadr"], a["mesh_facenum"] = _int(faceadr), _int([len(m.face) for m in meshes])
    a["mesh_texcoordadr"] = _int([adr if len(m.texcoord) else -1 for m, adr in zip(meshes, texcoordadr, strict=True)])
    a["mesh_texcoordnum"] = _int([len(m.texcoord) for m in meshes])
    a["mesh_graphadr"] = _int([adr if len(m.graph) else -1 for m, adr in zip(meshes, graphadr, strict=True)])
    a["mesh_polyadr"], a["mesh_polynum"] = _int(polyadr), _int([len(m.poly.num) for m in meshes])
    a["mesh_bvhadr"] = _int([bvh_start + adr if len(m.face) else -1 for m, adr in zip(meshes, bvhadr, strict=True)])
    a["mesh_bvhnum"] = _int([len(m.bvh.nodeid) for m in meshes])
    octadr = pack.add("oct_child", [m.octree.child for m in meshes], (8,), np.int32)
    pack.add("oct_depth", [m.octree.depth for m in meshes], (), np.int32)
    pack.add("oct_aabb", [m.octree.aabb for m in meshes], (6,), np.float64)
    pack.add("oct_coeff", [m.octree.coeff for m in meshes], (8,), np.float64)
    a["mesh_octnum"] = _int([len(m.octree.depth) for m in meshes])
    a["mesh_octadr"] = _int([adr if len(m.octree.depth) else -1 for m, adr in zip(meshes, octadr, strict=True)])
    a["mesh_extrema"] = np.array([m.extrema for m in meshes], np.int32).reshape(-1, 27)
    a["mesh_scale"] = np.array([m.scale for m in meshes], np.float64).reshape(-1, 3)
    a["mesh_pos"] = np.array([m.pos for m in meshes], np.float64).reshape(-1, 3)
    a["mesh_quat"] = np.array([m.quat for m in meshes], np.float64).reshape(-1, 4)
    return a


def _starts(counts: Int32) -> Int32:
    return (np.cumsum(counts) - counts).astype(np.int32)
