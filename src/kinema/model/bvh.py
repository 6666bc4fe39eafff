"""Bounding volume hierarchies over shapes and particles, with one root per world.

A shape's box in the world is that of its local box turned and moved: centre R c + p, half extents |R| h. Planes without
size get a very large box. Worlds are BVH groups; global rows are the last group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, no_type_check

import numpy as np
import warp as wp

from ..dialect import mend
from ..errors import WrongMoment
from .enums import GeoType

if TYPE_CHECKING:
    from .model import Model

mend()

_INFINITE = 1.0e6


@wp.struct
class ShapeBoxes:
    """Local boxes of shapes and where they are attached."""

    body: wp.array[wp.int32]
    pose: wp.array[wp.transform]
    lower: wp.array[wp.vec3]
    upper: wp.array[wp.vec3]
    enabled: wp.array[wp.uint32]


@no_type_check
@wp.kernel(enable_backward=False)
def _place_shapes(boxes: ShapeBoxes, body_q: wp.array[wp.transform], world_pose: wp.array[wp.transform]):
    shape = wp.tid()
    pose = boxes.pose[shape]
    body = boxes.body[shape]
    if body >= 0:
        pose = body_q[body] * pose
    world_pose[shape] = pose


@no_type_check
@wp.kernel(enable_backward=False)
def _shape_bounds(
    boxes: ShapeBoxes, pose: wp.array[wp.transform], lowers: wp.array[wp.vec3], uppers: wp.array[wp.vec3]
):
    i = wp.tid()
    shape = int(boxes.enabled[i])
    centre = wp.transform_point(pose[shape], 0.5 * (boxes.lower[shape] + boxes.upper[shape]))
    half = 0.5 * (boxes.upper[shape] - boxes.lower[shape])
    turn = wp.quat_to_matrix(wp.transform_get_rotation(pose[shape]))
    reach = wp.vec3(
        wp.dot(wp.abs(turn[0]), half), wp.dot(wp.abs(turn[1]), half), wp.dot(wp.abs(turn[2]), half)
    )
    lowers[i] = centre - reach
    uppers[i] = centre + reach


@no_type_check
@wp.kernel(enable_backward=False)
def _particle_bounds(
    q: wp.array[wp.vec3], radius: wp.array[wp.float32], lowers: wp.array[wp.vec3], uppers: wp.array[wp.vec3]
):
    i = wp.tid()
    reach = wp.vec3(radius[i], radius[i], radius[i])
    lowers[i] = q[i] - reach
    uppers[i] = q[i] + reach


@no_type_check
@wp.kernel(enable_backward=False)
def _group_roots(tree: wp.uint64, roots: wp.array[wp.int32]):
    group = wp.tid()
    roots[group] = wp.bvh_get_group_root(tree, group)


def _roots(model: Model, tree: wp.Bvh) -> wp.array:
    roots = wp.zeros(model.world_count + 1, dtype=wp.int32, device=model.device)
    wp.launch(_group_roots, dim=len(roots), inputs=[tree.id], outputs=[roots], device=model.device)
    return roots


def _groups(model: Model, worlds: np.ndarray) -> wp.array:
    return wp.array(np.where(worlds < 0, model.world_count, worlds), dtype=wp.int32, device=model.device)


def build_shapes(model: Model, state: Any, constructor: str | None, shape_flags: int) -> None:
    """Allocate and build `model.bvh_shapes` and what belongs to it."""
    device = model.device
    types, flags = model.shape_type.numpy(), model.shape_flags.numpy()
    enabled = np.flatnonzero((flags & shape_flags) != 0)
    lower, upper = model.shape_collision_aabb_lower.numpy().copy(), model.shape_collision_aabb_upper.numpy().copy()
    scale = model.shape_scale.numpy()
    planes = types == GeoType.PLANE
    sizes = np.where(scale[planes, :2] > 0.0, 0.5 * scale[planes, :2], _INFINITE)
    upper[planes] = np.column_stack([sizes, np.zeros(len(sizes))])
    lower[planes] = -upper[planes]
    meshes = np.isin(types, (GeoType.MESH, GeoType.CONVEX_MESH, GeoType.HFIELD, GeoType.GAUSSIAN))
    bounds = np.zeros((model.shape_count, 2, 3), np.float32)
    unit = np.where(scale[meshes] == 0.0, 1.0, scale[meshes])
    corners = np.stack([lower[meshes] / unit, upper[meshes] / unit], axis=1)
    bounds[meshes] = np.sort(corners, axis=1)
    model.bvh_shape_bounds = wp.array(bounds, dtype=wp.vec3, device=device)
    model.bvh_shape_enabled = wp.array(enabled.astype(np.uint32), dtype=wp.uint32, device=device)
    model.bvh_shape_count_enabled = len(enabled)
    model.bvh_shape_world_transforms = wp.empty(model.shape_count, dtype=wp.transform, device=device)
    boxes: Any = ShapeBoxes()
    boxes.body, boxes.pose, boxes.enabled = model.shape_body, model.shape_transform, model.bvh_shape_enabled
    boxes.lower = wp.array(lower, dtype=wp.vec3, device=device)
    boxes.upper = wp.array(upper, dtype=wp.vec3, device=device)
    model._shape_boxes = boxes
    model.bvh_shapes = model.bvh_shapes_group_roots = None
    if len(enabled) == 0:
        return
    lowers, uppers = (wp.empty(len(enabled), dtype=wp.vec3, device=device) for _ in range(2))
    _bound_shapes(model, state, lowers, uppers)
    groups = _groups(model, model.shape_world.numpy()[enabled])
    model.bvh_shapes = wp.Bvh(lowers, uppers, constructor=constructor, groups=groups)
    model.bvh_shapes_group_roots = _roots(model, model.bvh_shapes)


def _bound_shapes(model: Model, state: Any, lowers: wp.array, uppers: wp.array) -> None:
    poses = model.bvh_shape_world_transforms
    wp.launch(_place_shapes, dim=model.shape_count, inputs=[model._shape_boxes, state.body_q], outputs=[poses],
              device=model.device)  # fmt: skip
    wp.launch(_shape_bounds, dim=model.bvh_shape_count_enabled, inputs=[model._shape_boxes, poses],
              outputs=[lowers, uppers], device=model.device)  # fmt: skip


def refit_shapes(model: Model, state: Any) -> None:
    """Recompute the boxes of `model.bvh_shapes` in place."""
    if model.bvh_shape_enabled is None:
        raise WrongMoment("Model.bvh_refit_shapes(): call bvh_build_shapes() first")
    if model.bvh_shapes is not None:
        _bound_shapes(model, state, model.bvh_shapes.lowers, model.bvh_shapes.uppers)
        model.bvh_shapes.refit()


def build_particles(model: Model, state: Any, constructor: str | None) -> None:
    """Allocate and build `model.bvh_particles`."""
    if model.particle_count == 0:
        return
    lowers, uppers = (wp.empty(model.particle_count, dtype=wp.vec3, device=model.device) for _ in range(2))
    _bound_particles(model, state, lowers, uppers)
    groups = _groups(model, model.particle_world.numpy())
    model.bvh_particles = wp.Bvh(lowers, uppers, constructor=constructor, groups=groups)
    model.bvh_particles_group_roots = _roots(model, model.bvh_particles)


def _bound_particles(model: Model, state: Any, lowers: wp.array, uppers: wp.array) -> None:
    wp.launch(_particle_bounds, dim=model.particle_count, inputs=[state.particle_q, model.particle_radius],
              outputs=[lowers, uppers], device=model.device)  # fmt: skip


def refit_particles(model: Model, state: Any) -> None:
    """Recompute the boxes of `model.bvh_particles` in place."""
    if model.particle_count == 0:
        return
    if model.bvh_particles is None:
        raise WrongMoment("Model.bvh_refit_particles(): call bvh_build_particles() first")
    _bound_particles(model, state, model.bvh_particles.lowers, model.bvh_particles.uppers)
    model.bvh_particles.refit()
