"""Texture coordinates against MuJoCo Warp's renderer, cube faces against OpenGL's table."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.viewer import surface as shapes
from kinema.viewer import texture as textures
from kinema.viewer.scene import render_size

render = pytest.importorskip("mujoco_warp._src.render")


@wp.kernel(enable_backward=False)
def look_up(kind: int, at: wp.array(dtype=wp.vec3), normal: wp.array(dtype=wp.vec3), size: wp.vec3, repeat: wp.vec2,
            uniform: bool, out: wp.array(dtype=wp.vec2)):  # fmt: skip
    i = wp.tid()
    uv = wp.vec2(0.0)
    off = wp.vec2(0.0)
    rep = repeat
    if kind == 0:
        uv, off, rep = render._texture_plane(at[i], size, repeat, uniform)
    elif kind == 2:
        uv, off, rep = render._texture_sphere_ellipsoid(at[i], size, repeat, uniform, True)
    elif kind == 3:
        uv, off, rep = render._texture_capsule(at[i], size, repeat, uniform)
    elif kind == 4:
        uv, off, rep = render._texture_sphere_ellipsoid(at[i], size, repeat, uniform, False)
    elif kind == 5:
        uv, off, rep = render._texture_cylinder(at[i], normal[i], size, repeat, uniform)
    elif kind == 6:
        uv, off, rep = render._texture_box(at[i], normal[i], size, repeat, uniform)
    out[i] = wp.vec2(uv[0] * rep[0] + off[0], uv[1] * rep[1] + off[1])


FINE = 256
CASES = {
    "plane": (0, shapes.plane(1.5, 0.5), (1.5, 0.5, 0.1)),
    "endless plane": (0, shapes.plane(4.0, 4.0), (0.0, 0.0, 0.1)),
    "sphere": (2, shapes.ball(FINE).scaled([0.7] * 3), (0.7, 0.0, 0.0)),
    "capsule": (3, shapes.capsule(0.3, 0.6, FINE), (0.3, 0.6, 0.0)),
    "ellipsoid": (4, shapes.ball(FINE).scaled([0.5, 0.8, 0.3]), (0.5, 0.8, 0.3)),
    "cylinder": (5, shapes.cylinder(FINE).scaled([0.4, 0.4, 0.9]), (0.4, 0.9, 0.0)),
    "box": (6, shapes.box().scaled([0.5, 0.3, 0.2]), (0.5, 0.3, 0.2)),
}


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_flat_textures(name, uniform):
    kind, surface, size = CASES[name]
    repeat = (3.0, 2.0)
    laid = textures.lay_2d(surface, render_size(kind, size), repeat, uniform, endless=name == "endless plane")
    keep = surface.area and _fair(surface)
    corners, normals, uv = (array[laid.faces[keep]].mean(axis=1) for array in (laid.vertices, laid.normals, laid.uv))
    out = wp.empty(len(corners), dtype=wp.vec2, device="cpu")
    wp.launch(
        look_up, dim=len(corners), device="cpu",
        inputs=[
            kind, wp.array(corners, dtype=wp.vec3, device="cpu"), wp.array(normals, dtype=wp.vec3, device="cpu"),
            wp.vec3(*size), wp.vec2(*repeat), uniform, out,
        ],
    )  # fmt: skip
    found = out.numpy()
    assert np.ptp(found, axis=0).min() > 0.1
    # positions within the picture: whole repeats make no difference
    away = np.abs(uv - found)
    away = np.minimum(away, np.abs(away - np.round(away)))
    assert away.max() < 0.03


def _fair(surface) -> np.ndarray:
    """Triangles that are not slivers at a pole, where azimuth means nothing."""
    a, b, c = (surface.vertices[surface.faces[:, k]].astype(float) for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return areas > 0.2 * np.median(areas)


def test_cube_faces():
    """A direction and the place it meets in the picture, by the table of the OpenGL specification."""
    box = textures.lay_cube(shapes.box(), np.ones(3), single=False)
    centres = box.vertices[box.faces].mean(axis=1)
    uv = box.uv[box.faces].mean(axis=1)
    for at, (s, t) in zip(centres.astype(float), uv.astype(float), strict=True):
        axis = int(np.abs(at).argmax())
        face = 2 * axis + (at[axis] < 0)
        x, y, z = at / abs(at[axis])
        want = [(-z, -y), (z, -y), (x, z), (x, -z), (x, -y), (-x, -y)][face]
        assert s == pytest.approx(0.5 + 0.5 * want[0], abs=3e-3)
        assert 6 * t - face == pytest.approx(0.5 + 0.5 * want[1], abs=3e-3)


def test_one_face_repeated_on_all_sides():
    laid = textures.lay_cube(shapes.ball(24), np.ones(3), single=True)
    assert laid.uv.min() >= 0 and laid.uv.max() <= 1
    assert len(laid.vertices) == 3 * len(laid.faces)


MODEL = """
<mujoco>
  <asset>
    <texture name="checker" type="2d" builtin="checker" width="64" height="32" rgb1="1 0 0" rgb2="0 0 1"/>
    <texture name="plain" type="cube" builtin="flat" width="8" height="48" rgb1=".2 .4 .6" rgb2=".2 .4 .6"/>
    <texture name="large" type="2d" builtin="gradient" width="2500" height="2500" rgb1="1 1 1" rgb2="0 0 0"/>
    <material name="checker" texture="checker"/> <material name="none"/> <material name="plain" texture="plain"/>
  </asset>
</mujoco>
"""


def test_pictures():
    m = mujoco.MjModel.from_xml_string(MODEL)
    assert [textures.texture_of(m, k) for k in (-1, 0, 1, 2)] == [-1, 0, -1, 1]
    picture = textures.picture(m, 0)
    assert picture.shape == (32, 64, 3)
    assert {tuple(p) for p in picture.reshape(-1, 3)} == {(255, 0, 0), (0, 0, 255)}
    assert not textures.is_flat_color(picture)
    assert textures.is_flat_color(textures.picture(m, 1))
    np.testing.assert_allclose(textures.mean_color(textures.picture(m, 1)), (0.2, 0.4, 0.6), atol=3e-3)
    assert max(textures.picture(m, 2).shape) <= textures.LARGEST["2d"]
