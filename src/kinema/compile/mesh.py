"""Mesh assets: from raw mesh data and the asset's attributes to mjModel's mesh arrays, as MuJoCo compiles them.

How the asset section uses it, once for each mesh, then once for all:

    mesh = mesh_asset(
        name,
        resource=resources.read(file, ...), content_type=None,           # of file=, or
        vertex=None, normal=None, texcoord=None, face=None,              # what the document gives itself, or
        builtin=None, params=(),                                         # builtin=
        scale=(1, 1, 1), refpos=(0, 0, 0), refquat=(1, 0, 0, 0), inertia="legacy", smoothnormal=False,
        maxhullvert=-1, needhull=True, needsdf=False)
    arrays = pack_meshes([mesh, ...], bvh_start=number_of_bvh_nodes_of_bodies)

`mesh_asset` is `load_mesh` (or `builtin_mesh`) and `compile_mesh`, with the disk cache around them. `pack_meshes` gives
every mesh_* field (mesh_pathadr excepted), oct_*, and the meshes' part of bvh_*, to stand after the bodies' part.

`needhull` is true where a colliding geom of type mesh (or sdf), an explicit contact pair or a site uses it; a mesh
without faces, or with inertia="convex", gets its hull anyway. `needsdf` is true where a geom of type sdf without a
plugin uses the mesh. A geom of type mesh composes its own pose with `mesh.pos, mesh.quat`; its mass is density *
`mesh.volume` (the surface area for inertia="shell") and its inertia that of a box with half sizes `mesh.boxsz` and that
mass. `mesh.aamm` is (min, max) of the processed vertices; `fit_primitive`, `mesh_aabb` and `mesh_rbound` derive from
the mesh what geoms need.

Errors are `CompileError` without a place (the caller adds the element), or `ResourceError` for files that do not
decode.

The stages, MuJoCo's: checks; hull; normals; polygons; mirrored faces; refpos, refquat, scale; volume and inertia;
centring and rotation to the inertial frame; bounding volumes. Positions are float64 until the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinema.compile import mesh_cache
from kinema.compile.mesh_model import (
    CompiledMesh,
    fit_primitive,
    from_arrays,
    mesh_aabb,
    mesh_rbound,
    pack_meshes,
    to_arrays,
)
from kinema.errors import CompileError
from kinema.geometry import octree
from kinema.geometry.builtin_mesh import builtin_inertia, builtin_mesh
from kinema.geometry.bvh import mesh_bvh
from kinema.geometry.hull import DegenerateHull, graph_faces, hull_extrema, hull_faces, hull_graph, mirrored_graph
from kinema.geometry.inertia import (
    area_and_center,
    dot3,
    face_centroid,
    principal_axes,
    quat_to_mat,
    triangles,
    unit_density_inertia,
    volume_and_center,
)
from kinema.geometry.mesh import Float32, Float64, Int32, MeshData
from kinema.geometry.normals import vertex_normals
from kinema.geometry.polygons import Polygons, mirrored, newell_normals, polygons
from kinema.mujoco_enums import MINVAL, MeshInertia, words
from kinema.resources import Resource, decode

__all__ = [
    "INERTIA_MODES",
    "CompiledMesh",
    "compile_mesh",
    "fit_primitive",
    "load_mesh",
    "mesh_aabb",
    "mesh_asset",
    "mesh_rbound",
    "pack_meshes",
    "posed_mesh",
]

INERTIA_MODES = tuple(words(MeshInertia))


_recent: mesh_cache.Recent[CompiledMesh] = mesh_cache.Recent()


def mesh_asset(
    name: str,
    *,
    resource: Resource | None = None,
    content_type: str | None = None,
    vertex: Sequence[float] | np.ndarray | None = None,
    normal: Sequence[float] | np.ndarray | None = None,
    texcoord: Sequence[float] | np.ndarray | None = None,
    face: Sequence[int] | np.ndarray | None = None,
    builtin: str | None = None,
    params: Sequence[float] | np.ndarray = (),
    scale: Sequence[float] | np.ndarray = (1.0, 1.0, 1.0),
    refpos: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    refquat: Sequence[float] | np.ndarray = (1.0, 0.0, 0.0, 0.0),
    inertia: str = "legacy",
    smoothnormal: bool = False,
    maxhullvert: int = -1,
    needhull: bool = True,
    needsdf: bool = False,
) -> CompiledMesh:
    """A mesh asset from its attributes, taken from the disk cache where the same one was processed before."""
    face = None if builtin is not None else face  # MuJoCo reads them, and then makes its own
    written: dict[str, Any] = {"vertex": vertex, "normal": normal, "texcoord": texcoord, "face": face}
    if builtin is not None and (resource is not None or any(value is not None for value in written.values())):
        raise CompileError(f"mesh {name!r} has builtin={builtin!r} and also a file or data of its own; give only one")
    options: dict[str, Any] = {
        "scale": tuple(float(x) for x in scale),
        "refpos": tuple(float(x) for x in refpos),
        "refquat": tuple(float(x) for x in refquat),
        "inertia": inertia,
        "smoothnormal": bool(smoothnormal),
        "maxhullvert": int(maxhullvert),
        "needhull": bool(needhull),
        "needsdf": bool(needsdf),
    }
    if resource is None:
        data = builtin_mesh(builtin, params) if builtin is not None else load_mesh(name, **written)
        options["inertia"] = builtin_inertia(builtin, params, inertia) if builtin is not None else inertia
        return compile_mesh(name, data, **options)
    source = (resource.data, content_type or resource.media_type or resource.extension)
    given = [None if value is None else np.asarray(value, np.float64) for value in written.values()]
    # the same bytes in the same process: Python hashes a bytes object once, and finds it again by identity
    short = (*source, *(None if array is None else array.tobytes() for array in given), *options.values())
    mesh = _recent.get(short)
    if mesh is None:
        key = mesh_cache.key(*source, *given, *options.values())
        arrays = mesh_cache.load(key)
        if arrays is None:
            mesh = compile_mesh(
                name, load_mesh(name, resource=resource, content_type=content_type, **written), **options
            )
            arrays = to_arrays(mesh)
            mesh_cache.store(key, arrays)
            for array in arrays.values():  # what is shared must not change
                array.flags.writeable = False
        else:
            mesh = from_arrays(name, arrays)
        _recent.put(short, mesh, len(resource.data) + sum(array.nbytes for array in arrays.values()))
    return replace(mesh, name=name)


def _array(values: object, width: int, dtype: type, what: str) -> np.ndarray:
    flat: np.ndarray = np.asarray([] if values is None else values, dtype).ravel()
    if len(flat) % width:
        raise CompileError(f"{what} data must be a multiple of {width}, got {len(flat)} numbers")
    return flat.reshape(-1, width)


def load_mesh(
    name: str,
    *,
    resource: Resource | None = None,
    content_type: str | None = None,
    vertex: Sequence[float] | np.ndarray | None = None,
    normal: Sequence[float] | np.ndarray | None = None,
    texcoord: Sequence[float] | np.ndarray | None = None,
    face: Sequence[int] | np.ndarray | None = None,
) -> MeshData:
    """The raw mesh of an asset: decoded from a file, written in the document, or some of both."""
    written = MeshData(
        vert=_array(vertex, 3, np.float32, "vertex"),
        normal=_array(normal, 3, np.float32, "normal"),
        texcoord=_array(texcoord, 2, np.float32, "texcoord"),
        face=_array(face, 3, np.int32, "face"),
    )
    if resource is None:
        return written
    data: MeshData = decode("mesh", resource, content_type=content_type)
    for what, attribute in (("normal",) * 2, ("texcoord",) * 2, ("face",) * 2, ("vertex", "vert")):
        given = getattr(written, attribute)
        if len(given) and len(getattr(data, attribute)):
            raise CompileError(f"repeated {what} specification: mesh {name!r} has it in its file {resource.name!r} too")
        if len(given):
            setattr(data, attribute, given)
    return data


def _check(name: str, data: MeshData) -> None:
    nvert = len(data.vert)
    if nvert < 4:
        raise CompileError(f"at least 4 vertices required: mesh {name!r} has {nvert}")
    bad = np.flatnonzero(~np.isfinite(data.vert).all(axis=1))
    if len(bad):
        raise CompileError(f"vertex coordinate {bad[0]} is not finite in mesh {name!r}")
    if (
        len(data.texcoord)
        and len(data.texcoord) != nvert
        and not len(data.facetexcoord)
        and data.media_type != "model/obj"
    ):
        raise CompileError(
            "texcoord must be 2*nv if face texcoord indices are not provided in an OBJ file: "
            f"mesh {name!r} has {len(data.texcoord)} pairs for {nvert} vertices"
        )
    outside = (data.face < 0) | (data.face >= nvert)
    if outside.any():
        index, corner = np.argwhere(outside)[0]
        raise CompileError(
            f"in face {index}, vertex index {data.face[index, corner]} does not exist: "
            f"mesh {name!r} has {nvert} vertices"
        )
    if len(data.facenormal) and len(data.facenormal) != len(data.face):
        raise CompileError(f"face data must have the same size as face normal data in mesh {name!r}")
    wrong = (data.facenormal < 0) | (data.facenormal >= len(data.normal))
    if wrong.any():
        raise CompileError(
            f"normal index out of bounds in mesh {name!r}: face {np.argwhere(wrong)[0][0]} has no normal, "
            f"or one beyond the {len(data.normal)} there are"
        )


def _check_orientation(name: str, vert: Float64, face: Int32) -> None:
    """No directed edge may occur twice: a well-oriented closed surface uses each once in each direction."""
    area, _, _ = triangles(vert, face)
    used = face[area > np.sqrt(MINVAL)].astype(np.int64)
    start, end = used.ravel(), used[:, [1, 2, 0]].ravel()
    code = np.sort(start * len(vert) + end)
    twice = np.flatnonzero(code[1:] == code[:-1])
    if len(twice):
        first, second = divmod(int(code[twice[0]]), len(vert))
        raise CompileError(
            f"faces of mesh '{name}' have inconsistent orientation. "
            f"Please check the faces containing the vertices {first + 1} and {second + 1}."
        )


def compile_mesh(
    name: str,
    data: MeshData,
    *,
    scale: Sequence[float] | np.ndarray = (1.0, 1.0, 1.0),
    refpos: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    refquat: Sequence[float] | np.ndarray = (1.0, 0.0, 0.0, 0.0),
    inertia: str = "legacy",
    smoothnormal: bool = False,
    maxhullvert: int = -1,
    needhull: bool = True,
    needsdf: bool = False,
    reorient: bool = True,
) -> CompiledMesh:
    """Process one mesh as MuJoCo does.

    Args:
        name: Used in messages.
        data: What `load_mesh` or `builtin_mesh` gave.
        scale, refpos, refquat, inertia, smoothnormal, maxhullvert: The asset's attributes.
        needhull: Whether a convex hull is wanted; see the module's text.
        needsdf: Whether an octree of signed distances is wanted.
        reorient: False leaves the mesh where it is (meshes made from signed distance functions).

    Raises:
        CompileError: for whatever MuJoCo refuses, in its words.
    """
    if inertia not in INERTIA_MODES:
        raise CompileError(f"mesh {name!r} has inertia={inertia!r}; expected one of {', '.join(INERTIA_MODES)}")
    if maxhullvert != -1 and maxhullvert <= 3:
        raise CompileError(f"maxhullvert must be larger than 3: mesh {name!r} has {maxhullvert}")
    _check(name, data)
    scale = np.asarray(scale, np.float64)
    vert = data.vert.astype(np.float64)
    face = data.face
    if inertia == "exact" and len(face):
        _check_orientation(name, vert, face)

    graph = np.zeros(0, np.int32)
    if needhull or len(face) == 0 or inertia == "convex":
        try:
            graph = hull_graph(hull_faces(vert, maxhullvert=maxhullvert))
        except DegenerateHull as error:
            raise CompileError(f"mesh '{name}' {error}") from None
    hull = graph_faces(graph) if len(graph) else np.zeros((0, 3), np.int32)
    if len(face) == 0:
        face = hull.copy()

    normal, facenormal, facetexcoord = data.normal, data.facenormal, data.facetexcoord
    if len(normal) == 0:
        normal, facenormal = vertex_normals(vert, face, smooth=smoothnormal), face
    if len(facetexcoord) == 0 and len(data.texcoord):
        facetexcoord = face
    if len(facenormal) == 0:
        facenormal = (len(normal) // len(vert)) * face
    sides = polygons(vert, hull) if len(graph) else _no_polygons(len(vert))

    if scale.prod() <= 0:
        face, facenormal, facetexcoord, hull = (_mirrored(a) for a in (face, facenormal, facetexcoord, hull))
        if len(graph):
            graph, sides = mirrored_graph(graph), mirrored(sides)
    vert, normal = _placed(vert, normal, np.asarray(refpos, np.float64), np.asarray(refquat, np.float64), scale)

    solid_face = hull if inertia == "convex" else face
    com, volume, value, quat = _inertial_frame(name, vert, face, solid_face, inertia)
    a, b, c = value
    boxsz = 0.5 * np.sqrt(np.maximum(6 * np.array([b + c - a, a + c - b, a + b - c]) / volume, 0))
    if not reorient:
        com, quat = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    inverse = quat_to_mat(quat * (1, -1, -1, -1))
    vert = _rotated(vert - com, inverse)
    normal = _rotated(normal.astype(np.float64), inverse).astype(np.float32)
    aamm = np.concatenate([vert.min(axis=0), vert.max(axis=0)])
    stored = vert.astype(np.float32)
    bvh = mesh_bvh(vert, face)
    return CompiledMesh(
        name=name,
        vert=stored,
        normal=normal,
        texcoord=data.texcoord,
        face=face,
        facenormal=facenormal,
        facetexcoord=facetexcoord,
        graph=graph,
        extrema=hull_extrema(graph, stored) if len(graph) else np.zeros(27, np.int32),
        poly=sides,
        polynormal=newell_normals(vert, sides),
        scale=scale,
        pos=com,
        quat=quat,
        volume=volume,
        boxsz=boxsz,
        aamm=aamm,
        bvh=bvh,
        octree=octree.build(vert, face, aamm, bvh) if needsdf else octree.no_octree(),
        shell=inertia == "shell",
    )


def posed_mesh(
    name: str,
    data: MeshData,
    *,
    scale: Sequence[float] | np.ndarray = (1.0, 1.0, 1.0),
    refpos: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    refquat: Sequence[float] | np.ndarray = (1.0, 0.0, 0.0, 0.0),
) -> tuple[Float64, Int32, Int32]:
    """Vertices (float64), faces and texture indices of an asset where a geom that uses it would have them."""
    vert, face, facetexcoord = data.vert.astype(np.float64), data.face, data.facetexcoord
    if len(face) == 0:
        try:
            face = graph_faces(hull_graph(hull_faces(vert, maxhullvert=-1)))
        except DegenerateHull as error:
            raise CompileError(f"mesh '{name}' {error}") from None
    scale = np.asarray(scale, np.float64)
    if scale.prod() <= 0:
        face, facetexcoord = _mirrored(face), _mirrored(facetexcoord)
    none = np.zeros((0, 3), np.float32)
    vert, _ = _placed(vert, none, np.asarray(refpos, np.float64), np.asarray(refquat, np.float64), scale)
    return vert, face, facetexcoord


def _no_polygons(nvert: int) -> Polygons:
    none = np.zeros(0, np.int32)
    return Polygons(none, none, none, np.zeros(nvert, np.int32))


def _mirrored(face: Int32) -> Int32:
    return np.ascontiguousarray(face[:, [0, 2, 1]])


def _rotated(vector: Float64, mat: Float64) -> Float64:
    """mat @ v for each row, with each sum in index order."""
    return np.stack([dot3(vector, row) for row in mat], axis=-1)


def _placed(
    vert: Float64, normal: Float32, refpos: Float64, refquat: Float64, scale: Float64
) -> tuple[Float64, Float32]:
    """Vertices moved, turned back and scaled; normals turned, divided by the scale and made unit."""
    if refpos.any():
        vert = vert - refpos
    if (refquat != (1, 0, 0, 0)).any():
        mat = quat_to_mat(refquat / np.linalg.norm(refquat)).T
        vert = _rotated(vert, mat)
        normal = _rotated(normal.astype(np.float64), mat).astype(np.float32)
    if (scale != 1).any():
        vert = vert * scale
        # normals are covectors: they transform by the inverse
        normal = (normal / scale).astype(np.float32)
    squared = dot3(normal, normal)
    good = squared > MINVAL
    unit = normal * (np.float32(1) / np.sqrt(np.where(good, squared, np.float32(1))))[:, None]
    unit[~good] = (0, 0, 1)
    return vert, unit.astype(np.float32)


def _inertial_frame(
    name: str, vert: Float64, face: Int32, solid_face: Int32, inertia: str
) -> tuple[Float64, float, Float64, Float64]:
    """Centre of mass, volume (or area), principal moments and axes for unit density."""
    shell, legacy = inertia == "shell", inertia == "legacy"
    area, normal, center = triangles(vert, face)
    total, centroid = face_centroid(area, center)
    if total < MINVAL:
        raise CompileError(f"mesh surface area is too small: {name}")
    if shell:
        _, com = area_and_center(area, center, centroid)
    else:
        if solid_face is not face:
            area, normal, center = triangles(vert, solid_face)
        volume, com = volume_and_center(area, normal, center, centroid, absolute=legacy)
        if volume < 0:
            raise CompileError(f"mesh volume is negative (misoriented triangles): {name}")
        if volume < MINVAL:
            raise CompileError(f"mesh volume is too small: {name} . Try setting inertia to shell")
    volume, matrix = unit_density_inertia(vert, face if shell else solid_face, com, shell=shell, absolute=legacy)
    value, quat = principal_axes(matrix)
    if value[2] <= 0:
        raise CompileError(f"eigenvalue of mesh inertia must be positive: {name}")
    bound = value * (1.0 - 1e-6) - 1e-9
    if value[0] + value[1] < bound[2] or value[0] + value[2] < bound[1] or value[1] + value[2] < bound[0]:
        raise CompileError(f"eigenvalues of mesh inertia violate A + B >= C: {name}")
    return com, volume, value, quat
