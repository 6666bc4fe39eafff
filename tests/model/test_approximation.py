"""Meshes replaced by hulls, boxes and spheres: they enclose the mesh, closely, and bodies keep their mass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from kinema.errors import BuildError
from kinema.model import GeoType, Mesh, ModelBuilder, ShapeFlags
from kinema.model.approximation import convex_hull
from kinema.model.transform import quat_rotate, transform_inverse, transform_mul

RNG = np.random.default_rng(1)
TURN = np.array([0.2, -0.4, 0.1, 0.0])
TURN[3] = np.sqrt(1 - TURN @ TURN)
POSE = np.concatenate([[0.3, -0.2, 0.5], TURN])
BOX = RNG.uniform(-1, 1, (400, 3)) * [0.5, 0.2, 0.1]
BOX = np.concatenate([BOX, np.array(np.meshgrid(*[[-h, h] for h in (0.5, 0.2, 0.1)])).reshape(3, -1).T])
POINTS = quat_rotate(TURN, BOX) + [0.1, 0.2, 0.3]


def _built():
    hull = convex_hull(POINTS)
    builder = ModelBuilder()
    body = builder.add_link()
    mesh = Mesh(np.concatenate([hull.vertices, [[0.1, 0.2, 0.3]]]), hull.indices)
    shape = builder.add_shape_mesh(body, mesh=mesh, xform=POSE.tolist(), scale=(1.0, 1.0, 1.0), label="part")
    return builder, body, shape, hull


def test_hull():
    builder, body, shape, hull = _built()
    mass, volume = float(builder.body_mass[body]), 8 * 0.5 * 0.2 * 0.1
    assert builder.approximate_meshes() == {shape} and builder.shape_type[shape] == GeoType.CONVEX_MESH
    found = builder.shape_source[shape]
    a, b, c = found.vertices[found.indices.reshape(-1, 3)].astype(float).transpose(1, 0, 2)
    assert np.sum(a * np.cross(b, c)) / 6 == pytest.approx(volume, rel=1e-4), "faces look outwards"
    assert len(found.vertices) == len(hull.vertices) and builder.body_mass[body] == mass > 0


@pytest.mark.parametrize("method", ["bounding_box", "bounding_sphere"])
def test_what_encloses(method):
    builder, _, shape, hull = _built()
    assert builder.approximate_meshes(method, [shape]) == {shape}
    points = transform_mul(POSE, np.concatenate([hull.vertices, np.tile([0, 0, 0, 1.0], (len(hull.vertices), 1))], 1))
    place = np.asarray(builder.shape_transform[shape], float)
    local = transform_mul(transform_inverse(place), points)[:, :3]
    size = np.asarray(builder.shape_scale[shape], float)
    if method == "bounding_box":
        assert np.all(np.abs(local) <= size + 1e-6) and np.prod(size) <= 1.3 * 0.5 * 0.2 * 0.1
    else:
        far = np.linalg.norm(local, axis=1).max()
        assert far <= size[0] + 1e-6 and size[0] <= 1.02 * np.linalg.norm([0.5, 0.2, 0.1])


def test_meshes_that_are_still_seen():
    builder, body, shape, _ = _built()
    builder.approximate_meshes("bounding_box", keep_visual_shapes=True)
    seen = builder.shape_count - 1
    assert seen == shape + 1 and builder.shape_type[seen] == GeoType.MESH and builder.shape_label[seen] == "part_visual"
    assert not builder.shape_flags[shape] & ShapeFlags.VISIBLE and builder.shape_flags[seen] & ShapeFlags.VISIBLE
    assert not builder.shape_flags[seen] & ShapeFlags.COLLIDE_SHAPES


def test_refused():
    builder, body, shape, _ = _built()
    sheet = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [0, 1, 2])
    flat = builder.add_shape_mesh(body, mesh=sheet, label="flat")
    with pytest.raises(BuildError, match="'convex_hul'.*convex_hull"):
        builder.approximate_meshes("convex_hul")
    with pytest.raises(BuildError, match="'flat'"):
        builder.approximate_meshes(shape_indices=[flat], raise_on_failure=True)
    with pytest.warns(UserWarning, match="'flat' stays a mesh"):
        assert builder.approximate_meshes() == {shape}
    ball = builder.add_shape_sphere(body, radius=0.1, label="ball")
    with pytest.raises(BuildError, match="'ball' is not a mesh"):
        builder.approximate_meshes(shape_indices=[ball])


ANGLE = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]  # an L, 3 m² of it


def _angle():
    corners = [(x, y, z) for z in (0.0, 0.5) for x, y in ANGLE]
    floor = [(0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 5, 4)]
    walls = [face for k in range(6) for j in [(k + 1) % 6] for face in ((k, j, 6 + j), (k, 6 + j, 6 + k))]
    return Mesh(corners, [i for face in (*floor, *((c + 6, b + 6, a + 6) for a, b, c in floor), *walls) for i in face])


def test_a_mesh_is_taken_apart():
    pytest.importorskip("coacd")
    builder = ModelBuilder()
    body = builder.add_body()
    shape = builder.add_shape_mesh(body, mesh=_angle(), label="angle", cfg=ModelBuilder.ShapeConfig(mu=0.3))
    mass = builder.body_mass[body]
    assert builder.approximate_meshes("coacd", threshold=0.05) == {shape}
    parts = [k for k in range(builder.shape_count) if builder.shape_type[k] == GeoType.CONVEX_MESH]
    assert len(parts) > 1 and builder.shape_label[parts[1]] == "angle_convex_1"
    volumes = [float(ConvexHull(builder.shape_source[k].vertices).volume) for k in parts]
    assert sum(volumes) == pytest.approx(1.5, rel=0.05)
    assert builder.body_mass[body] == mass == pytest.approx(1500.0)
    assert builder.shape_material_mu[parts[1]] == pytest.approx(0.3)
    with pytest.raises(BuildError, match="threshold= is an option of method='coacd'"):
        builder.approximate_meshes("bounding_box", threshold=0.1)
