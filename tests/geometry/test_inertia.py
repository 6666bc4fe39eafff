"""Volume, inertia and principal axes, against closed forms and trimesh."""

import numpy as np
import pytest
import trimesh

from kinema.geometry.builtin_mesh import builtin_mesh
from kinema.geometry.inertia import (
    face_centroid,
    principal_axes,
    quat_to_mat,
    triangles,
    unit_density_inertia,
    volume_and_center,
)


def shapes():
    for extents in ((1, 2, 3), (0.1, 0.1, 5)):
        yield trimesh.creation.box(extents=extents)
    yield trimesh.creation.icosphere(subdivisions=3, radius=0.7)
    yield trimesh.creation.torus(1.0, 0.25)


@pytest.mark.parametrize("mesh", list(shapes()), ids=["box", "rod", "sphere", "torus"])
@pytest.mark.parametrize("offset", [(0, 0, 0), (3, -2, 1)])
def test_solid_agrees_with_trimesh(mesh, offset):
    vert, face = np.asarray(mesh.vertices) + offset, np.asarray(mesh.faces)
    area, normal, center = triangles(vert, face)
    total, centroid = face_centroid(area, center)
    assert total == pytest.approx(mesh.area)
    volume, com = volume_and_center(area, normal, center, centroid, absolute=False)
    assert volume == pytest.approx(mesh.volume) and com == pytest.approx(mesh.center_mass + offset, abs=1e-9)
    again, matrix = unit_density_inertia(vert, face, com, shell=False, absolute=False)
    assert again == pytest.approx(volume)
    assert matrix == pytest.approx(mesh.moment_inertia, rel=1e-6, abs=1e-9)


def test_shell_of_a_sphere():
    mesh = builtin_mesh("sphere", [4])
    vert, face = mesh.vert.astype(float), mesh.face
    area, matrix = unit_density_inertia(vert, face, np.zeros(3), shell=True, absolute=False)
    assert area == pytest.approx(4 * np.pi, rel=2e-3)
    assert matrix == pytest.approx(2 / 3 * area * np.eye(3), rel=2e-3, abs=1e-6)


def test_a_face_too_small_has_no_area():
    vert = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], float)
    area, normal, _ = triangles(vert, np.array([[0, 1, 2], [0, 1, 3]]))
    assert area.tolist() == [0, 0.5] and normal[1].tolist() == [0, 0, 1]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_principal_axes(scale):
    rng = np.random.default_rng(0)
    for _ in range(50):
        a = rng.normal(size=(3, 3))
        matrix = scale * (a + a.T)
        value, quat = principal_axes(matrix)
        axes = quat_to_mat(quat)
        assert value == pytest.approx(np.linalg.eigvalsh(matrix)[::-1], abs=1e-6 * np.abs(matrix).max())
        assert axes.T @ axes == pytest.approx(np.eye(3), abs=1e-12) and np.linalg.det(axes) > 0
        off = axes.T @ matrix @ axes - np.diag(value)
        assert np.abs(off).max() <= 1.5e-7 * np.abs(matrix).max()


def test_diagonal_matrices_turn_by_right_angles():
    value, quat = principal_axes(np.diag([3.0, 2.0, 1.0]))
    assert value.tolist() == [3, 2, 1] and quat.tolist() == [1, 0, 0, 0]
    value, quat = principal_axes(np.diag([1.0, 2.0, 3.0]))
    assert value.tolist() == [3, 2, 1]
    assert np.abs(quat_to_mat(quat)).round(12).tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
