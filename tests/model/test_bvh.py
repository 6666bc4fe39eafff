"""BVHs over shapes and particles: boxes hold what they bound, worlds are apart, refit follows the state."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema.model import Mesh, Model, ModelBuilder

from .rich import rich_model


@wp.kernel
def hits(tree: wp.uint64, root: int, lower: wp.vec3, upper: wp.vec3, found: wp.array[wp.int32]):
    query = wp.bvh_query_aabb(tree, lower, upper, root)
    row = int(0)
    while wp.bvh_query_next(query, row):
        wp.atomic_add(found, row, 1)


def query(tree: wp.Bvh, root: int, lower, upper, count: int) -> list[int]:
    found = wp.zeros(count, dtype=wp.int32, device="cpu")
    wp.launch(hits, dim=1, inputs=[tree.id, int(root), wp.vec3(*lower), wp.vec3(*upper), found], device="cpu")
    return np.flatnonzero(found.numpy()).tolist()


def boxes_and_mesh() -> ModelBuilder:
    b = ModelBuilder()
    turn = wp.transform(wp.vec3(1, 2, 3), wp.quat_from_axis_angle(wp.vec3(0.6, 0.0, 0.8), 0.7))
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)
    mesh = Mesh(vertices, [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    b.add_shape_box(b.add_body(xform=turn), hx=0.1, hy=0.2, hz=0.3)
    b.add_shape_mesh(b.add_body(xform=turn), mesh=mesh, scale=(0.5, -1.0, 2.0))
    b.add_shape_capsule(b.add_body(), radius=0.1, half_height=0.5, xform=turn)
    b.add_shape_sphere(-1, radius=0.5)
    b.add_shape_sphere(0, radius=0.5, cfg=b.ShapeConfig(is_visible=False))
    return b


def surface_points(model: Model, shape: int) -> np.ndarray:
    """Points of a shape's surface in the world, the corners of its local box aside."""
    pose = wp.transform(*model.bvh_shape_world_transforms.numpy()[shape])
    lower, upper = (getattr(model, f"shape_collision_aabb_{end}").numpy()[shape] for end in ("lower", "upper"))
    source = model.shape_source[shape]
    if source is not None:
        local = source.vertices * model.shape_scale.numpy()[shape]
    else:
        directions = np.random.default_rng(0).normal(size=(200, 3))
        local = np.clip(directions * 10, lower, upper)
        if shape != 0:  # round shapes: the ellipsoid inside the box is inside them
            local = directions / np.linalg.norm(directions, axis=1, keepdims=True) * upper
    return np.array([wp.transform_point(pose, wp.vec3(*p)) for p in local])


def test_boxes_hold_their_shapes():
    model = boxes_and_mesh().finalize("cpu")
    assert model.bvh_shape_enabled.numpy().tolist() == [0, 1, 2, 3] and model.bvh_shape_count_enabled == 4
    for i, shape in enumerate(model.bvh_shape_enabled.numpy().tolist()):
        points = surface_points(model, shape)
        assert (points >= model.bvh_shapes.lowers.numpy()[i] - 1e-5).all()
        assert (points <= model.bvh_shapes.uppers.numpy()[i] + 1e-5).all()
    size = (model.bvh_shapes.uppers.numpy() - model.bvh_shapes.lowers.numpy())[3]
    np.testing.assert_allclose(size, [1, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(model.bvh_shape_bounds.numpy()[1], [[0, 0, 0], [1, 2, 3]], atol=1e-6)


def test_worlds_have_their_own_roots():
    b = ModelBuilder()
    b.add_shape_box(-1, hx=5.0, hy=5.0, hz=0.1)
    b.replicate(boxes_and_mesh(), 3)
    model = b.finalize("cpu")
    everywhere = ([-100] * 3, [100] * 3, model.bvh_shape_count_enabled)
    owner = model.shape_world.numpy()[model.bvh_shape_enabled.numpy()]
    roots = model.bvh_shapes_group_roots.numpy()
    assert len(roots) == 4
    for world in range(4):
        rows = query(model.bvh_shapes, roots[world], *everywhere)
        assert rows == np.flatnonzero(owner == (world if world < 3 else -1)).tolist()


def test_refit_follows_the_state():
    model = boxes_and_mesh().finalize("cpu")
    state = model.state()
    poses = state.body_q.numpy()
    poses[:, 0] += 50.0
    state.body_q.assign(poses)
    root = model.bvh_shapes_group_roots.numpy()[-1]
    assert query(model.bvh_shapes, root, [40] * 3, [60] * 3, 4) == []
    before = model.bvh_shapes
    model.bvh_refit_shapes(state)
    assert model.bvh_shapes is before
    np.testing.assert_allclose(model.bvh_shape_world_transforms.numpy()[0, :3], [51, 2, 3])
    assert query(model.bvh_shapes, root, [40, -10, -10], [60, 10, 10], 4) == [0, 1, 2]
    model.bvh_build_shapes(state, bvh_constructor="median")
    assert model.bvh_shapes is not before


def test_particles():
    model = rich_model(2)
    state = model.state()
    lowers, uppers = model.bvh_particles.lowers.numpy(), model.bvh_particles.uppers.numpy()
    radius = model.particle_radius.numpy()[:, None]
    np.testing.assert_allclose(lowers, model.particle_q.numpy() - radius, atol=1e-6)
    np.testing.assert_allclose(uppers, model.particle_q.numpy() + radius, atol=1e-6)
    roots = model.bvh_particles_group_roots.numpy()
    rows = query(model.bvh_particles, roots[1], [-100] * 3, [100] * 3, model.particle_count)
    assert rows == np.flatnonzero(model.particle_world.numpy() == 1).tolist()
    state.particle_q.fill_(9.0)
    model.bvh_refit_particles(state)
    np.testing.assert_allclose(model.bvh_particles.lowers.numpy(), 9.0 - np.repeat(radius, 3, axis=1), rtol=1e-6)


def test_refit_needs_a_build():
    model = Model("cpu")
    model.shape_count = 1
    with pytest.raises(RuntimeError, match="bvh_build_shapes"):
        model.bvh_refit_shapes(model)
    model.particle_count = 1
    with pytest.raises(RuntimeError, match="bvh_build_particles"):
        model.bvh_refit_particles(model)
    assert ModelBuilder().finalize("cpu").bvh_shapes is None
