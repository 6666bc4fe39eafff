"""Where the points and elements of a flexcomp come from: generated, written down, a mesh or a GMSH file.

    grid, box, ...   generated from counts and spacings (geometry/flex_points.py)
    direct           the attributes point and element
    mesh             triangles of a file or of a mesh asset; dim=3 joins each to the origin, dim=1 takes a side of each
    gmsh             triangles or tetrahedra of a GMSH file, which says the dimension
"""

from __future__ import annotations

import numpy as np

from kinema.compile.element import Element
from kinema.compile.tree import Spec
from kinema.geometry.flex_points import FlexPoints, generate

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
    if e.given("texcoord"):
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
    raise e.error(f"flexcomp type {kind!r} is not supported yet", "type")
