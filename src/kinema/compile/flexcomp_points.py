"""Where the points and elements of a flexcomp come from: generated, written down, a mesh or a GMSH file.

    grid, box, ...   generated from counts and spacings (geometry/flex_points.py)
    direct           the attributes point and element
    mesh             triangles of a file or of a mesh asset; dim=3 joins each to the origin, dim=1 takes a side of each
    gmsh             triangles or tetrahedra of a GMSH file, which says the dimension
"""

from __future__ import annotations

import numpy as np

from kinema.compile.asset import read_file
from kinema.compile.element import Element
from kinema.compile.tree import Spec
from kinema.errors import ResourceError
from kinema.geometry.flex_points import FlexPoints, generate
from kinema.geometry.gmsh import read_gmsh
from kinema.geometry.mesh import MeshData
from kinema.mujoco_enums import MINVAL
from kinema.resources import decode

TYPES = ("grid", "box", "cylinder", "ellipsoid", "square", "disc", "circle", "mesh", "gmsh", "direct")


def flexcomp_points(
    spec: Spec, e: Element, kind: str, dim: int, count: list[int], spacing: list[float]
) -> FlexPoints:
    """The points and elements, in the coordinates of their source."""
    if e.given("mesh") and kind not in ("mesh", "gmsh"):
        raise e.error("a mesh asset can only be used by a flexcomp of type mesh or gmsh", "mesh")
    if kind == "mesh" and dim == 3 and not e.given("origin"):
        raise e.error("origin must be given for a mesh flexcomp with dim=3", "dim")
    if kind == "direct":
        points = _written(e, dim)
    elif kind in ("mesh", "gmsh"):
        points = _read(spec, e, kind, dim)
    else:
        try:
            points = generate(kind, dim, count, spacing, e.given("material") and not e.given("texcoord"))
        except ValueError as error:
            raise e.error(str(error), "count") from None
    if e.given("texcoord") and not len(points.texcoord):
        points.texcoord = e.vector("texcoord", ()).astype(np.float32).reshape(-1, 2)
    return points


def _written(e: Element, dim: int) -> FlexPoints:
    point, element = e.vector("point", ()), e.vector("element", (), dtype=int)
    if len(point) % 3:
        raise e.error(f"point holds {len(point)} numbers, not a multiple of 3", "point")
    if len(element) % (dim + 1):
        raise e.error(f"element holds {len(element)} numbers, not a multiple of dim+1 = {dim + 1}", "element")
    return FlexPoints(dim, point.reshape(-1, 3).astype(float), element.reshape(-1, dim + 1).astype(np.int32))


def _read(spec: Spec, e: Element, kind: str, dim: int) -> FlexPoints:
    """Triangles or tetrahedra of a file, or of a mesh asset."""
    if e.given("mesh"):
        return _from_mesh(e, dim, _asset(spec, e))
    if not e.text("file", ""):
        raise e.error(f"a flexcomp of type {kind} needs a file, or the name of a mesh asset")
    resource = read_file(e, spec.files)
    try:
        if kind == "gmsh":
            mesh = read_gmsh(resource)
            return FlexPoints(mesh.dim, mesh.point, mesh.element)
        if resource.extension == ".msh":
            raise e.error("MuJoCo's own mesh files (.msh) are not for flexcomps: use OBJ or STL, or type gmsh", "file")
        return _from_mesh(e, dim, decode("mesh", resource))
    except ResourceError as error:
        raise e.error(str(error), "file") from None


def _asset(spec: Spec, e: Element) -> MeshData:
    """The triangles of a mesh asset where a geom that uses it would have them."""
    raise e.error("mesh is not supported yet", "mesh")


def _from_mesh(e: Element, dim: int, mesh: MeshData) -> FlexPoints:
    """A surface as it is, its triangles joined to the origin, or a side of each."""
    if not len(mesh.vert) or not len(mesh.face):
        raise e.error("the mesh has no vertices or no faces")
    point, face = mesh.vert.astype(float), mesh.face
    if dim == 1:
        element = face[:, :2]
    elif dim == 2:
        element = face
    else:
        point, element = _joined_to_origin(point, face, e.vector("origin", (0, 0, 0), length=3))
    shape = FlexPoints(dim, point, element.astype(np.int32))
    if len(mesh.texcoord):
        shape.texcoord, shape.elemtexcoord = mesh.texcoord, mesh.facetexcoord
    return shape


def _joined_to_origin(point: np.ndarray, face: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tetrahedra of the origin, which becomes point 0, and every triangle that looks away from it."""
    a, b, c = (point[face[:, k]] - origin for k in range(3))
    outward = (np.cross(a, b) * c).sum(axis=1) >= MINVAL
    element = np.concatenate([np.zeros((int(outward.sum()), 1), np.int64), face[outward] + 1], axis=1)
    return np.concatenate([origin[None], point]), element
