"""Triangle meshes out of a stage.

Faces are cut into triangles as fans from their first corner; left-handed meshes are turned inside out, so that normals
point outwards. Subdivision is not evaluated: the cage is the mesh.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BuildError, did_you_mean
from ..model import Mesh
from .pose import decompose


def fans(counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles of polygons, shape (n, 3): corner 0 with corners k and k + 1 of each."""
    counts = np.asarray(counts, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    number = np.maximum(counts - 2, 0)
    first = np.repeat(starts, number)
    k = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    return np.stack([corners[first], corners[first + k + 1], corners[first + k + 2]], axis=1)


def mesh_of(prim: Any) -> Mesh:
    """The mesh of a prim, in its own frame."""
    from pxr import UsdGeom

    gprim = UsdGeom.Mesh(prim)
    points = gprim.GetPointsAttr().Get()
    counts, corners = gprim.GetFaceVertexCountsAttr().Get(), gprim.GetFaceVertexIndicesAttr().Get()
    if not points or not counts or not corners:
        raise BuildError(f"{prim.GetPath()}: a mesh without points or faces")
    triangles = fans(np.array(counts), np.array(corners))
    if gprim.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        triangles = triangles[:, ::-1]
    return Mesh(np.array(points, dtype=float), triangles.reshape(-1))


def scaled(mesh: Mesh, scale: np.ndarray) -> tuple[Mesh, np.ndarray]:
    """The mesh and the scale to give a shape; negative scales go into the corners, and mirrored faces are turned."""
    if np.all(scale > 0.0):
        return mesh, scale
    faces = mesh.indices.reshape(-1, 3)
    faces = faces[:, ::-1] if np.prod(scale) < 0.0 else faces
    return Mesh(mesh.vertices * scale, faces.reshape(-1), color=mesh.color), np.ones(3)


LOOKS = (
    "apply_stage_units", "face_varying_normal_conversion", "load_visual_materials", "maxhullvert",
    "preserve_facevarying_uvs", "return_uv_indices", "vertex_splitting_angle_threshold_deg",
)  # fmt: skip


def get_mesh(
    source: Any = None, *, load_normals: bool = False, load_uvs: bool = False, root_path: str | None = None,
    compute_inertia: bool = True, prim: Any = None, **looks: Any,
) -> Mesh:  # fmt: skip
    """The mesh of a prim in its own frame, or all meshes of a stage or a file as one, in the stage's frame.

    Args:
        source: A mesh prim, a stage, or a path.
        load_normals: Not needed: a mesh here has corners and faces alone.
        load_uvs: As above.
        compute_inertia: As above: masses are computed where a mesh gets a density.
        root_path: Where to look for meshes.
        prim: Another name of `source`.
        looks: How Newton reads normals, texture coordinates and materials: taken, and nothing to do.
    """
    for name, value in looks.items():
        if name not in LOOKS:
            raise BuildError(f"get_mesh() has no argument {name!r}{did_you_mean(name, LOOKS)}")
        if name == "apply_stage_units" and value:
            raise BuildError("get_mesh(): apply_stage_units=True is not supported: stages are in metres")
    from pxr import Usd, UsdGeom

    source = prim if source is None else source
    if isinstance(source, Usd.Prim) and source.IsA(UsdGeom.Mesh) and root_path is None:
        return mesh_of(source)
    from .scene import open_stage

    stage = source.GetStage() if isinstance(source, Usd.Prim) else open_stage(source)
    start = source if isinstance(source, Usd.Prim) else stage.GetPseudoRoot()
    start = start if root_path is None else stage.GetPrimAtPath(root_path)
    cache = UsdGeom.XformCache()
    vertices, faces, count = [], [], 0
    for found in Usd.PrimRange(start, Usd.TraverseInstanceProxies()):
        if not found.IsA(UsdGeom.Mesh):
            continue
        mesh = mesh_of(found)
        place, _ = cache.ComputeRelativeTransform(found, start)
        matrix = np.array(place)
        vertices.append(mesh.vertices @ matrix[:3, :3] + matrix[3, :3])
        triangles = mesh.indices.reshape(-1, 3)
        mirrored = np.prod(decompose(place)[1]) < 0.0
        faces.append((triangles[:, ::-1] if mirrored else triangles) + count)
        count += len(mesh.vertices)
    if not vertices:
        raise BuildError(f"{start.GetPath()}: there are no meshes")
    unit = UsdGeom.GetStageMetersPerUnit(stage)
    return Mesh(np.concatenate(vertices) * unit, np.concatenate(faces).reshape(-1))
