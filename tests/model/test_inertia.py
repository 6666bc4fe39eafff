"""Mass properties against Monte Carlo free references: meshes of the same shapes, and MuJoCo's closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from kinema.model import GeoType, Mesh, ModelBuilder
from kinema.model.inertia import add_mass, correct_inertia, hollow_mesh, mesh, shape_mass

DENSITY = 500.0

SOLIDS = {
    "sphere": (GeoType.SPHERE, (0.3, 0, 0), lambda: trimesh.creation.icosphere(5, 0.3)),
    "box": (GeoType.BOX, (0.1, 0.2, 0.3), lambda: trimesh.creation.box((0.2, 0.4, 0.6))),
    "capsule": (
        GeoType.CAPSULE, (0.2, 0.3, 0), lambda: trimesh.creation.capsule(height=0.6, radius=0.2, count=(128, 128))
    ),
    "cylinder": (GeoType.CYLINDER, (0.2, 0.3, 0), lambda: trimesh.creation.cylinder(0.2, 0.6, sections=512)),
    "cone": (GeoType.CONE, (0.2, 0.3, 0), lambda: trimesh.creation.cone(0.2, 0.6, sections=512)),
    "ellipsoid": (
        GeoType.ELLIPSOID, (0.1, 0.2, 0.3), lambda: trimesh.creation.icosphere(5, 1.0).apply_scale((0.1, 0.2, 0.3))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLIDS)
def test_primitives_weigh_what_their_meshes_weigh(name):
    kind, scale, make = SOLIDS[name]
    reference = make()
    if kind in (GeoType.CONE, GeoType.CAPSULE):  # trimesh puts the base of cones at z = 0 and centres depend on version
        reference.apply_translation(-(reference.bounds[0] + reference.bounds[1]) / 2.0)
    reference.density = DENSITY
    m, com, inertia = shape_mass(kind, np.array(scale, float), None, DENSITY, True, 0.0)
    assert m == pytest.approx(reference.mass, rel=3e-3)
    np.testing.assert_allclose(com, reference.center_mass, atol=1e-3)
    np.testing.assert_allclose(inertia, reference.moment_inertia, rtol=6e-3, atol=1e-3 * np.trace(inertia))


def test_mesh_agrees_with_trimesh_also_turned_inside_out():
    shape = trimesh.creation.annulus(0.1, 0.3, 0.2)
    shape.apply_translation((1.0, 2.0, 3.0))
    shape.density = DENSITY
    for faces in (shape.faces, shape.faces[:, ::-1]):
        m, com, inertia = mesh(DENSITY, shape.vertices, faces)
        assert m == pytest.approx(shape.mass)
        np.testing.assert_allclose(com, shape.center_mass)
        np.testing.assert_allclose(inertia, shape.moment_inertia, rtol=1e-6, atol=1e-6)


def test_hollow_box_is_box_minus_box():
    scale = np.array([0.3, 0.2, 0.1])
    outer = shape_mass(GeoType.BOX, scale, None, DENSITY, True, 0.0)
    inner = shape_mass(GeoType.BOX, scale - 0.02, None, DENSITY, True, 0.0)
    m, _, inertia = shape_mass(GeoType.BOX, scale, None, DENSITY, False, 0.02)
    assert m == pytest.approx(outer[0] - inner[0])
    np.testing.assert_allclose(inertia, outer[2] - inner[2])


def test_hollow_mesh_is_a_thin_shell():
    ball = trimesh.creation.icosphere(5, 1.0)
    m, com, inertia = hollow_mesh(DENSITY, ball.vertices, ball.faces, 0.001)
    assert m == pytest.approx(DENSITY * 4 * np.pi * 0.002, rel=2e-3)
    np.testing.assert_allclose(com, 0.0, atol=1e-9)
    np.testing.assert_allclose(inertia, np.eye(3) * 2 / 3 * m, rtol=2e-3, atol=1e-6)


def test_parts_add_up_to_the_whole():
    """Two half boxes make the box, wherever they are put together."""
    half = shape_mass(GeoType.BOX, np.array([0.1, 0.2, 0.3]), None, DENSITY, True, 0.0)
    whole = shape_mass(GeoType.BOX, np.array([0.2, 0.2, 0.3]), None, DENSITY, True, 0.0)
    body = (0.0, np.zeros(3), np.zeros((3, 3)))
    for x in (-0.1, 0.1):
        body = add_mass(body, half, np.array([x, 0, 0, 0, 0, 0, 1.0]))
    assert body[0] == pytest.approx(whole[0])
    np.testing.assert_allclose(body[2], whole[2], rtol=1e-12)
    quarter_turn = np.array([0, 0, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    turned = add_mass((0.0, np.zeros(3), np.zeros((3, 3))), half, quarter_turn)
    np.testing.assert_allclose(np.diag(turned[2]), np.diag(half[2])[[1, 0, 2]], rtol=1e-12)


def test_corrections():
    mass = np.array([1.0, -1.0, 1.0, 1.0, np.nan, 0.5], np.float32)
    inertia = np.stack([np.eye(3), np.eye(3), np.diag([1.0, 1.0, 3.0]), np.zeros((3, 3)), np.eye(3), np.eye(3)])
    inertia = inertia.astype(np.float32)
    m, fixed, changed = correct_inertia(mass, inertia, balance=True, bound_mass=0.6, bound_inertia=None)
    assert m.tolist() == pytest.approx([1.0, 0.0, 1.0, 1.0, 0.0, 0.6])
    assert changed.tolist() == [False, True, True, True, True, True]
    low, middle, high = np.linalg.eigvalsh(fixed[2])
    assert low + middle >= high
    assert np.linalg.eigvalsh(fixed[3]).min() > 0.0
    assert not fixed[1].any() and not fixed[4].any()


def test_a_body_gets_the_mass_of_its_shapes():
    b = ModelBuilder()
    body = b.add_body()
    b.add_shape_sphere(body, radius=0.1, xform=((1, 0, 0), (0, 0, 0, 1)))
    b.add_shape_sphere(body, radius=0.1, xform=((-1, 0, 0), (0, 0, 0, 1)), cfg=b.ShapeConfig(density=0.0))
    box = trimesh.creation.box((0.2, 0.2, 0.2))
    locked = b.add_body(mass=2.0, inertia=np.eye(3), lock_inertia=True)
    b.add_shape_mesh(locked, mesh=Mesh(box.vertices, box.faces))
    model = b.finalize("cpu")
    m = 1000.0 * 4 / 3 * np.pi * 0.001
    np.testing.assert_allclose(model.body_mass.numpy(), [m, 2.0], rtol=1e-6)
    np.testing.assert_allclose(model.body_com.numpy()[0], [1, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(np.diag(model.body_inertia.numpy()[0]), 0.4 * m * 0.01, rtol=1e-5)
    np.testing.assert_allclose(model.body_inv_mass.numpy(), [1 / m, 0.5], rtol=1e-6)
    product = model.body_inertia.numpy()[0] @ model.body_inv_inertia.numpy()[0]
    np.testing.assert_allclose(product, np.eye(3), atol=1e-5)
