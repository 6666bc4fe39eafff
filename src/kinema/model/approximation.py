"""Meshes of shapes replaced by something simpler to touch: their convex hull, a box or a sphere around them.

    hull      SciPy's (Qhull)
    box       the smaller of the box along the mesh's own axes and that along the principal axes of its hull's corners
    sphere    centre by steps of 1/k towards the farthest corner (Badoiu and Clarkson), radius to the farthest one

Bodies keep the mass and inertia that the meshes gave them. Shapes of documents are left alone: MuJoCo touches hulls of
their meshes anyway.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError, did_you_mean
from .enums import GeoType, ShapeFlags
from .sources import Mesh
from .transform import quat_rotate, transform_mul

METHODS = ("convex_hull", "bounding_box", "bounding_sphere")
STEPS = 400


def convex_hull(vertices: np.ndarray) -> Mesh:
    """The convex hull of points, faces turned outwards."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(vertices)
    used = np.unique(hull.simplices)
    corners = vertices[used]
    faces = np.searchsorted(used, hull.simplices)
    normal = np.cross(corners[faces[:, 1]] - corners[faces[:, 0]], corners[faces[:, 2]] - corners[faces[:, 0]])
    inwards = np.sum(normal * hull.equations[:, :3], axis=1) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    return Mesh(corners, faces.reshape(-1))


def bounding_box(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pose of a box around points, xyzw, and its half extents."""
    from scipy.spatial.transform import Rotation

    corners = convex_hull(vertices).vertices.astype(float)
    _, axes = np.linalg.eigh(np.cov(corners.T))
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    boxes = []
    for turn in (np.eye(3), axes):
        local = vertices @ turn
        low, high = local.min(axis=0), local.max(axis=0)
        pose = np.concatenate([turn @ ((low + high) / 2), Rotation.from_matrix(turn).as_quat()])
        boxes.append((pose, (high - low) / 2))
    return min(boxes, key=lambda box: np.prod(box[1]))


def bounding_sphere(vertices: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of a sphere around points."""
    centre = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    for k in range(2, STEPS):
        far = vertices[np.argmax(np.sum((vertices - centre) ** 2, axis=1))]
        centre = centre + (far - centre) / k if k > 2 else centre
    return centre, float(np.sqrt(np.sum((vertices - centre) ** 2, axis=1).max()))


def approximate_meshes(
    builder: Any, method: str = "convex_hull", shape_indices: Sequence[int] | None = None, *,
    raise_on_failure: bool = False, keep_visual_shapes: bool = False,
) -> set[int]:  # fmt: skip
    """Replace meshes of a builder; see `ModelBuilder.approximate_meshes`."""
    if method not in METHODS:
        raise BuildError(f"approximate_meshes(): method={method!r}{did_you_mean(str(method), METHODS)}; known are "
                         f"{', '.join(METHODS)}")  # fmt: skip
    kinds, flags = builder.rows("shape_type"), builder.rows("shape_flags")
    theirs: set[int] = set()
    if "mujoco:geom_shape" in builder.custom_attributes:
        theirs = set(np.asarray(builder.custom_attributes["mujoco:geom_shape"].values[:]).tolist())
    if shape_indices is None:
        meshes = np.flatnonzero((kinds == GeoType.MESH) & (flags & ShapeFlags.COLLIDE_SHAPES != 0)).tolist()
        chosen = [k for k in meshes if k not in theirs]
    else:
        chosen = [builder.check_index("shape", k, "approximate_meshes() shape_indices") for k in shape_indices]
        wrong = [k for k in chosen if kinds[k] != GeoType.MESH or k in theirs]
        if wrong:
            why = "of a document, whose meshes are touched as hulls already" if wrong[0] in theirs else "not a mesh"
            raise BuildError(f"approximate_meshes(): shape {builder.shape_label[wrong[0]]!r} is {why}")
    done = set()
    for shape in chosen:
        if keep_visual_shapes:
            _keep_visual(builder, shape)
        try:
            _replace(builder, shape, method)
        except Exception as error:  # Qhull, for a mesh that is flat
            if raise_on_failure:
                raise BuildError(f"approximate_meshes(): shape {builder.shape_label[shape]!r}: {error}") from error
            warnings.warn(f"shape {builder.shape_label[shape]!r} stays a mesh: {error}", stacklevel=3)
            continue
        done.add(shape)
    return done


def _replace(builder: Any, shape: int, method: str) -> None:
    mesh = builder.shape_source[shape]
    scale = np.asarray(builder.rows("shape_scale")[shape], dtype=float)
    vertices = np.asarray(mesh.vertices, dtype=float) * scale
    pose = np.asarray(builder.rows("shape_transform")[shape], dtype=float)
    if method == "convex_hull":
        values = {"shape_type": GeoType.CONVEX_MESH, "shape_source": convex_hull(np.asarray(mesh.vertices, float))}
    elif method == "bounding_box":
        place, half = bounding_box(vertices)
        values = {"shape_type": GeoType.BOX, "shape_source": None, "shape_scale": half,
                  "shape_transform": transform_mul(pose, place),
                  "shape_collision_radius": float(np.linalg.norm(half))}  # fmt: skip
    else:
        centre, radius = bounding_sphere(vertices)
        moved = np.concatenate([pose[:3] + quat_rotate(pose[3:], centre), pose[3:]])
        values = {"shape_type": GeoType.SPHERE, "shape_source": None, "shape_scale": np.array([radius, 0.0, 0.0]),
                  "shape_transform": moved, "shape_collision_radius": radius}  # fmt: skip
    for name, value in values.items():
        getattr(builder, name)[shape] = value


def _keep_visual(builder: Any, shape: int) -> None:
    """A copy of a shape that is seen and does not touch; the shape itself is then not seen."""
    from .shapes import ShapeConfig

    rows = builder.rows
    builder.add_shape(
        body=int(rows("shape_body")[shape]), type=GeoType.MESH, xform=rows("shape_transform")[shape].tolist(),
        cfg=ShapeConfig(density=0.0, has_shape_collision=False, has_particle_collision=False, collision_group=0),
        scale=rows("shape_scale")[shape], src=builder.shape_source[shape], is_static=True,
        color=rows("shape_color")[shape], label=f"{builder.shape_label[shape]}_visual",
    )  # fmt: skip
    builder.shape_flags[shape] = int(rows("shape_flags")[shape]) & ~int(ShapeFlags.VISIBLE)
