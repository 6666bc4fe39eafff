"""Meshes of shapes replaced by something simpler to touch: convex parts, their hull, a box or a sphere around them.

    coacd     convex parts that together are the mesh, up to a concavity (Wei and others, 2022); the coacd package
    hull      SciPy's (Qhull)
    box       the smaller of the box along the mesh's own axes and that along the principal axes of its hull's corners
    sphere    centre by steps of 1/k towards the farthest corner (Badoiu and Clarkson), radius to the farthest one

What fails falls back on the next of these (coacd, hull, box), with a warning. Bodies keep the mass and inertia that the
meshes gave them. Shapes of documents are left alone: MuJoCo touches hulls of their meshes anyway.
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

METHODS = ("convex_hull", "bounding_box", "bounding_sphere", "coacd")
NEXT = {"coacd": "convex_hull", "convex_hull": "bounding_box"}
"""What to try where a method fails."""
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


def convex_parts(mesh: Any, **options: Any) -> list[Mesh]:
    """Convex parts of a mesh, by the coacd package."""
    try:
        import coacd
    except ImportError as error:
        raise BuildError("method='coacd' needs the coacd package: pip install 'kinema[decompose]'") from error
    coacd.set_log_level("error")
    given = coacd.Mesh(np.asarray(mesh.vertices, float), np.asarray(mesh.indices, int).reshape(-1, 3))
    parts = coacd.run_coacd(given, **{"threshold": 0.5, "seed": 0, **options})
    return [Mesh(np.asarray(vertices), np.asarray(faces).reshape(-1)) for vertices, faces in parts]


def approximate_meshes(
    builder: Any, method: str = "convex_hull", shape_indices: Sequence[int] | None = None, *,
    raise_on_failure: bool = False, keep_visual_shapes: bool = False, **options: Any,
) -> set[int]:  # fmt: skip
    """Replace meshes of a builder; see `ModelBuilder.approximate_meshes`."""
    if method not in METHODS:
        raise BuildError(f"approximate_meshes(): method={method!r}{did_you_mean(str(method), METHODS)}; known are "
                         f"{', '.join(METHODS)}")  # fmt: skip
    if options and method != "coacd":
        raise BuildError(f"approximate_meshes(): {next(iter(options))}= is an option of method='coacd'")
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
        done |= _approximate(builder, shape, method, raise_on_failure, options)
    return done


def _approximate(builder: Any, shape: int, method: str, strict: bool, options: dict[str, Any]) -> set[int]:
    """One shape, by a method or what is next; empty where it stays as it is."""
    label = builder.shape_label[shape]
    try:
        if method == "coacd":
            _decompose(builder, shape, options)
        else:
            _replace(builder, shape, method)
        return {shape}
    except Exception as error:  # Qhull, for a mesh that is flat; a package that is not there
        if strict:
            raise BuildError(f"approximate_meshes(): shape {label!r}: {error}") from error
        if method in NEXT:
            warnings.warn(f"shape {label!r}: {NEXT[method]} instead of {method}: {error}", stacklevel=4)
            return _approximate(builder, shape, NEXT[method], strict, {})
        warnings.warn(f"shape {label!r} stays a mesh: {error}", stacklevel=4)
        return set()


def _decompose(builder: Any, shape: int, options: dict[str, Any]) -> None:
    """The first convex part in the shape's place, the others beside it, alike in everything but geometry."""
    first, *others = convex_parts(builder.shape_source[shape], **options)
    label = builder.shape_label[shape]
    for k, part in enumerate(others, 1):
        add_like(builder, shape, part, f"{label}_convex_{k}")
    builder.shape_type[shape] = GeoType.CONVEX_MESH
    builder.shape_source[shape] = first


def add_like(builder: Any, shape: int, source: Any, label: str) -> int:
    """A shape of another source, its numbers those of a shape that is there; it gives its body no mass."""
    from .shapes import MATERIAL, ShapeConfig

    rows = builder.rows
    materials: dict[str, Any] = {name: float(rows(f"shape_material_{name}")[shape]) for name in MATERIAL}
    cfg = ShapeConfig(
        density=0.0, margin=float(rows("shape_margin")[shape]), gap=float(rows("shape_gap")[shape]),
        collision_group=int(rows("shape_collision_group")[shape]), is_solid=bool(rows("shape_is_solid")[shape]),
        **materials,
    )  # fmt: skip
    flags = int(rows("shape_flags")[shape])
    cfg.is_visible = bool(flags & ShapeFlags.VISIBLE)
    cfg.has_shape_collision = bool(flags & ShapeFlags.COLLIDE_SHAPES)
    cfg.has_particle_collision = bool(flags & ShapeFlags.COLLIDE_PARTICLES)
    new = builder.add_shape(
        body=int(rows("shape_body")[shape]), type=GeoType.CONVEX_MESH, cfg=cfg, src=source, label=label,
        xform=rows("shape_transform")[shape].tolist(), scale=rows("shape_scale")[shape], is_static=True,
        color=rows("shape_color")[shape], opacity=float(rows("shape_opacity")[shape]),
    )  # fmt: skip
    for a, b in [tuple(pair) for pair in rows("shape_filter_pairs").tolist() if shape in pair]:
        builder.add_shape_collision_filter_pair(new, b if a == shape else a)
    return new


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
        cfg=ShapeConfig(density=0.0, has_shape_collision=False, has_particle_collision=False,
                        collision_group=int(rows("shape_collision_group")[shape])),
        scale=rows("shape_scale")[shape], src=builder.shape_source[shape], is_static=True,
        color=rows("shape_color")[shape], label=f"{builder.shape_label[shape]}_visual",
    )  # fmt: skip
    builder.shape_flags[shape] = int(rows("shape_flags")[shape]) & ~int(ShapeFlags.VISIBLE)
