"""Meshes made by Newton's names are as large as Newton's, closed, and wound outwards."""

from __future__ import annotations

import numpy as np
import pytest

import kinema
from kinema.errors import WrongKind
from kinema.model.inertia import mesh as mesh_mass

MADE = {
    "create_box": ((0.1, 0.2, 0.3), {}), "create_sphere": ((0.2,), {"num_latitudes": 40}),
    "create_ellipsoid": ((0.1, 0.2, 0.3), {}), "create_capsule": ((0.1, 0.3), {"segments": 48}),
    "create_cylinder": ((0.1, 0.3), {"up_axis": "X", "top_radius": 0.05}),
    "create_cone": ((0.1, 0.3), {"up_axis": "Z"}),
    "create_arrow": ((0.05, 0.3), {"cap_radius": 0.1, "cap_height": 0.1}),
    "create_heightfield": ((np.arange(12.0).reshape(3, 4) / 10 + 0.2, 2.0, 3.0), {"center_x": 0.5, "ground_z": -0.1}),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_solids_are_newtons(name):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of these tests")
    args, options = MADE[name]
    up = {"up_axis": newton.Axis.from_any(options["up_axis"])} if "up_axis" in options else {}
    theirs = getattr(newton.Mesh, name)(*args, **{**options, **up}, compute_inertia=False)
    ours = getattr(kinema.Mesh, name)(*args, **options, compute_inertia=False)
    np.testing.assert_allclose(ours.vertices.min(0), np.asarray(theirs.vertices).min(0), atol=2e-3)
    np.testing.assert_allclose(ours.vertices.max(0), np.asarray(theirs.vertices).max(0), atol=2e-3)
    mass, centre, _ = mesh_mass(1.0, ours.vertices.astype(float), ours.indices)
    other, middle, _ = mesh_mass(1.0, np.asarray(theirs.vertices, float), theirs.indices)
    assert ours.is_watertight and mass > 0.0
    np.testing.assert_allclose(mass, other, rtol=0.02)
    np.testing.assert_allclose(centre, middle, atol=5e-3)


def test_copies_and_hulls():
    mesh = kinema.Mesh.create_box(0.1)
    more = kinema.Mesh(np.concatenate([mesh.vertices, [[0.0, 0.0, 0.0]]]), mesh.indices)
    hull = more.compute_convex_hull()
    assert len(hull.vertices) == 8 and hull.is_watertight
    assert mesh_mass(1.0, hull.vertices.astype(float), hull.indices)[0] == pytest.approx(0.008)
    other = mesh.copy(vertices=2.0 * mesh.vertices)
    assert other.vertices.max() == pytest.approx(0.2) and mesh.vertices.max() == pytest.approx(0.1)
    assert not kinema.Mesh.create_plane(1.0, 2.0).is_watertight
    with pytest.raises(WrongKind, match="no argument 'compute_normal'; did you mean 'compute_normals'"):
        kinema.Mesh.create_box(0.1, compute_normal=True)
