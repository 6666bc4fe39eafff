"""Surfaces against closed formulas, and against MuJoCo's meshes and height fields."""

import mujoco
import numpy as np
import pytest

from kinema.viewer import surface as shapes


def volume(surface) -> float:
    a, b, c = (surface.vertices[surface.faces[:, k]].astype(float) for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def faces_outwards(surface) -> bool:
    a, b, c = (surface.vertices[surface.faces[:, k]].astype(float) for k in range(3))
    normals = surface.normals[surface.faces].mean(axis=1)
    return bool((np.einsum("ij,ij->i", np.cross(b - a, c - a), normals) > -1e-9).all())


CLOSED = {
    "box": (shapes.box(), 8.0, 24.0),
    "ball": (shapes.ball(96), 4 / 3 * np.pi, 4 * np.pi),
    "cylinder": (shapes.cylinder(96), 2 * np.pi, 6 * np.pi),
    "capsule": (
        shapes.capsule(0.5, 1.0, 96), np.pi * 0.25 * 2 + 4 / 3 * np.pi * 0.125, 2 * np.pi * 0.5 * 2 + 4 * np.pi * 0.25,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLOSED)
def test_volume_and_area(name):
    surface, solid, skin = CLOSED[name]
    assert volume(surface) == pytest.approx(solid, rel=3e-3)
    assert surface.area == pytest.approx(skin, rel=3e-3)
    assert faces_outwards(surface)
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1, atol=1e-6)
    assert surface.uv.min() >= 0 and surface.uv.max() <= 1


@pytest.mark.parametrize("name", CLOSED)
def test_welding_keeps_the_shape_and_drops_seams(name):
    surface = CLOSED[name][0]
    welded = surface.welded()
    assert volume(welded) == pytest.approx(volume(surface), rel=1e-6)
    assert len(welded.vertices) <= len(surface.vertices)
    assert welded.uv is None
    if name in ("ball", "capsule"):  # smooth all over: every edge has two triangles
        edges = np.sort(np.vstack([welded.faces[:, [0, 1]], welded.faces[:, [1, 2]], welded.faces[:, [2, 0]]]), axis=1)
        _, times = np.unique(edges, axis=0, return_counts=True)
        assert (times == 2).all()
    if name == "box":
        assert len(welded.vertices) == 24  # edges stay sharp


def test_scaling_turns_normals_as_it_should():
    squeezed = shapes.ball(48).scaled([2.0, 1.0, 0.5])
    gradient = squeezed.vertices / np.array([2.0, 1.0, 0.5]) ** 2
    gradient /= np.linalg.norm(gradient, axis=1, keepdims=True)
    np.testing.assert_allclose(squeezed.normals, gradient, atol=1e-5)


MESH = """
<mujoco>
  <asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1" texcoord="0 0 1 0 0 1 1 1" face="0 2 1 0 1 3 1 2 3 2 0 3"/>
    <mesh name="ball" builtin="sphere" params="2"/>
  </asset>
  <worldbody>
    <geom type="mesh" mesh="wedge"/> <geom type="mesh" mesh="ball"/>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("index", [0, 1])
def test_mesh(index):
    m = mujoco.MjModel.from_xml_string(MESH)
    surface = shapes.mesh(m, index)
    first, count = m.mesh_faceadr[index], m.mesh_facenum[index]
    corners = m.mesh_vert[m.mesh_vertadr[index] + m.mesh_face[first : first + count]]
    np.testing.assert_array_equal(surface.vertices[surface.faces], corners)
    normals = m.mesh_normal[m.mesh_normaladr[index] + m.mesh_facenormal[first : first + count]]
    np.testing.assert_array_equal(surface.normals[surface.faces], normals)
    assert volume(surface) > 0
    assert (surface.uv is not None) == (m.mesh_texcoordadr[index] >= 0)


def test_height_field_has_the_heights_that_rays_find():
    rng = np.random.default_rng(0)
    data = " ".join(f"{v:.3f}" for v in rng.random(30))
    m = mujoco.MjModel.from_xml_string(f"""
        <mujoco><asset><hfield name="h" nrow="5" ncol="6" size="2 1 .5 .1" elevation="{data}"/></asset>
        <worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>""")
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    surface = shapes.height_field(m, 0)
    assert faces_outwards(surface)
    top = surface.vertices[:30].astype(float)
    assert np.ptp(top[:, 2]) > 0.1
    hit = np.zeros(1, np.int32)
    for x, y, z in top:
        inside = [0.999 * x, 0.999 * y, 2.0]
        distance = mujoco.mj_ray(m, d, np.array(inside), np.array([0, 0, -1.0]), None, 1, -1, hit)
        assert 2.0 - distance == pytest.approx(z, abs=5e-3)
    base = float(m.hfield_size[0, 3])
    cells = surface.vertices[:30, 2].reshape(5, 6)
    mean = (cells[:-1, :-1] + cells[1:, :-1] + cells[1:, 1:] + cells[:-1, 1:]) / 4
    assert volume(surface) == pytest.approx((mean.mean() + base) * 4 * 2, rel=0.05)
