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
from kinema.compile.mesh import load_mesh, posed_mesh
from kinema.compile.tree import Spec
from kinema.errors import CompileError, ResourceError, did_you_mean
from kinema.geometry.builtin_mesh import builtin_mesh
from kinema.geometry.flex_points import FlexPoints, generate
from kinema.geometry.flex_shapes import FLEX_SHAPES, flex_shape_dim
from kinema.geometry.gmsh import is_gmsh, read_gmsh
from kinema.geometry.mesh import MeshData, remove_repeated_vertices
from kinema.mujoco_enums import MINVAL
from kinema.resources import decode

TYPES = ("grid", "box", "cylinder", "ellipsoid", "square", "disc", "circle", "mesh", "gmsh", "direct")


def flexcomp_points(
    spec: Spec, e: Element, kind: str, dim: int, count: list[int], spacing: list[float]
) -> FlexPoints:
    """The points and elements, in the coordinates of their source."""
    if e.text("mesh", "") and kind not in ("mesh", "gmsh"):
        raise e.error("a mesh asset can only be used by a flexcomp of type mesh or gmsh", "mesh")
    written = _written(e, dim)  # checked whatever the type is
    if kind == "direct":
        points = written
    elif kind in ("mesh", "gmsh"):
        points = _read(spec, e, kind, dim)
    else:
        try:
            points = generate(kind, dim, count, spacing, bool(e.text("material", "")) and not e.given("texcoord"))
        except ValueError as error:
            raise e.error(str(error), "count") from None
    texcoord = e.vector("texcoord", ())
    if len(texcoord) % 2:
        raise e.error(f"texcoord holds {len(texcoord)} numbers, not two for each point", "texcoord")
    if len(texcoord) and not len(points.texcoord):
        points.texcoord = texcoord.astype(np.float32).reshape(-1, 2)
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
        if e.given("file"):
            raise e.error("a flexcomp takes 'file' or 'mesh', not both", "mesh")
        return _asset(spec, e, dim)
    if not e.text("file", ""):
        raise e.error(f"a flexcomp of type {kind} needs a file, or the name of a mesh asset")
    resource = read_file(e, spec.files)
    try:
        if is_gmsh(resource.data) and (kind == "gmsh" or resource.extension != ".msh"):
            mesh = read_gmsh(resource)
            return FlexPoints(mesh.dim, mesh.point, mesh.element)
        if resource.extension == ".msh":
            raise e.error("MuJoCo's own mesh files (.msh) are not for flexcomps: use OBJ or STL, or type gmsh", "file")
        data: MeshData = decode("mesh", resource)
    except ResourceError as error:
        raise e.error(str(error), "file") from None
    vert, number = remove_repeated_vertices(data.vert)
    face = number[data.face] if len(data.face) else data.face
    return _from_faces(e, dim, vert.astype(float), face, data.texcoord, data.facetexcoord)


def _asset(spec: Spec, e: Element, dim: int) -> FlexPoints:
    """A mesh asset where a geom that uses it would be; some hold tetrahedra."""
    name = e.reference("mesh", "mesh")
    known = {asset.name: asset for asset in spec.list("mesh")}
    if name not in known:
        raise e.error(f"unknown mesh {name!r}{did_you_mean(name, known)}", "mesh")
    a = known[name]
    placed = {
        "scale": a.vector("scale", (1, 1, 1), length=3), "refpos": a.vector("refpos", (0, 0, 0), length=3),
        "refquat": a.vector("refquat", (1, 0, 0, 0), length=4),
    }  # fmt: skip
    try:
        solid = _tetrahedra(spec, a)
        if solid is not None:
            point, _, _ = posed_mesh(name, MeshData(solid.point, solid.element[:, :3]), **placed)  # type: ignore[arg-type]
            return FlexPoints(3, point, solid.element)
        builtin, params = a.text("builtin", None), a.vector("params", ()).tolist()
        if builtin is not None:
            data = builtin_mesh(builtin, params)
        else:
            written = {word: a.vector(word) for word in ("vertex", "normal", "texcoord")}
            resource = read_file(a, spec.files) if a.text("file", "") else None
            face = a.vector("face", dtype=int)
            data = load_mesh(name, resource=resource, content_type=a.text("content_type", None), face=face, **written)
        point, face, facetexcoord = posed_mesh(name, data, **placed)
    except (CompileError, ResourceError) as error:
        raise a.error(str(error)) from None
    return _from_faces(e, dim, point, face, data.texcoord, facetexcoord)


def _tetrahedra(spec: Spec, asset: Element) -> FlexPoints | None:
    """The tetrahedra of a mesh asset that has some: a generated solid, or a GMSH file of them."""
    builtin, params = asset.text("builtin", None), asset.vector("params", ()).tolist()
    if builtin in FLEX_SHAPES and flex_shape_dim(builtin, params) == 3:
        builtin_mesh(builtin, params)  # refuses parameters that are wrong
        return generate(builtin, 3, [int(n) for n in params[:3]], params[3:6], False)
    if asset.text("file", ""):
        resource = read_file(asset, spec.files)
        if is_gmsh(resource.data) and resource.extension != ".msh":
            mesh = read_gmsh(resource)
            return FlexPoints(3, mesh.point, mesh.element) if mesh.dim == 3 else None
    return None


def _from_faces(
    e: Element, dim: int, point: np.ndarray, face: np.ndarray, texcoord: np.ndarray, facetexcoord: np.ndarray
) -> FlexPoints:
    """A surface as it is, its triangles joined to the origin, or a side of each."""
    if not len(point) or not len(face):
        raise e.error("the mesh has no vertices or no faces")
    if len(texcoord) and not len(facetexcoord):
        facetexcoord = face
    if dim < 3:
        shape = FlexPoints(dim, point, face[:, : dim + 1].astype(np.int32))
        if len(texcoord):
            shape.texcoord, shape.elemtexcoord = texcoord, facetexcoord[:, : dim + 1]
        return shape
    if not e.given("origin"):
        raise e.error("origin must be given for a mesh flexcomp with dim=3", "dim")
    origin = e.vector("origin", (0, 0, 0), length=3)
    outward = _looks_away(point, face, origin)
    shape = FlexPoints(3, np.concatenate([origin[None], point]), _with_origin(face[outward]))
    if len(texcoord):
        shape.texcoord = np.concatenate([np.zeros((1, 2), np.float32), texcoord])
        shape.elemtexcoord = _with_origin(facetexcoord[outward])
    return shape


def _looks_away(point: np.ndarray, face: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Which triangles look away from the origin."""
    a, b, c = (point[face[:, k]] - origin for k in range(3))
    return (np.cross(a, b) * c).sum(axis=1) >= MINVAL


def _with_origin(face: np.ndarray) -> np.ndarray:
    """Tetrahedra of triangles and the origin, which is number 0."""
    return np.concatenate([np.zeros((len(face), 1), np.int32), face + 1], axis=1).astype(np.int32)
