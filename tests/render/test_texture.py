"""Textures lie on shapes as MuJoCo lays them, and are read at the right sharpness."""

import numpy as np
import pytest

from kinema.render import FreeCamera, render, write_png
from kinema.resources import clear_cache
from kinema.simulation import Simulation

SIZE = 64
FLAT = '<visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>'
TOP = FreeCamera(azimuth=90, elevation=-90, distance=3, lookat=(0, 0, 0), orthographic=True, fovy=2)


def picture(geom: str, assets: str, camera=TOP, **options) -> np.ndarray:
    text = f"<mujoco>{FLAT}<asset>{assets}</asset><worldbody>{geom}</worldbody></mujoco>"
    return render(Simulation(text), camera, SIZE, SIZE, antialias=False, **options)[0] / 255.0


CHECKER = '<texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="{n}" height="{n}"/>'
LAID = '<material name="m" texture="t" texrepeat="{repeat}" texuniform="{uniform}" specular="0" rgba="1 1 1 1"/>'


def checker(repeat: str = "1 1", uniform: str = "false", n: int = 64) -> str:
    return CHECKER.format(n=n) + LAID.format(repeat=repeat, uniform=uniform)


def squares(row: np.ndarray) -> int:
    """How many squares a row of red and blue pixels crosses."""
    red = row[:, 0] > row[:, 2]
    return 1 + int(np.sum(red[1:] != red[:-1]))


def test_checker_on_a_plane():
    """One texture is two squares by two: a plane that fills the picture has four, the first at the upper left."""
    image = picture('<geom type="plane" size="1 1 .1" material="m"/>', checker())
    for y, x, colour in ((16, 16, [1, 0, 0]), (16, 48, [0, 0, 1]), (48, 16, [0, 0, 1]), (48, 48, [1, 0, 0])):
        np.testing.assert_allclose(image[y, x], colour, atol=0.01)


@pytest.mark.parametrize(
    ("geom", "repeat", "uniform", "across", "down"),
    [
        ('type="plane" size="1 1 .1"', "3 2", "false", 6, 4),
        ('type="plane" size="2 1 .1"', "1 1", "true", 2, 2),
        ('type="plane" size="2 1 .1"', "1 1", "false", 2, 2),
        ('type="box" size="1 1 .1"', "2 3", "false", 4, 6),
        ('type="box" size="1 1 .1" pos="0 0 -.5"', "2 2", "true", 4, 4),
    ],
)  # fmt: skip
def test_repeats(geom, repeat, uniform, across, down):
    image = picture(f'<geom {geom} material="m"/>', checker(repeat, uniform))
    assert squares(image[SIZE // 2 + 3]) == across
    assert squares(image[:, SIZE // 2 + 3]) == down


def test_endless_plane_repeats_by_length():
    image = picture('<geom type="plane" size="0 0 .1" material="m"/>', checker("1 1", "true"))
    assert squares(image[SIZE // 2 + 3]) == 2  # squares are one metre wide and meet at the origin
    np.testing.assert_allclose(image[SIZE // 2 + 3, [5, -5]], [[0, 0, 1], [1, 0, 0]], atol=0.01)


def test_far_away_a_checker_becomes_grey():
    """Where many squares fall into a pixel their mean is seen, not an accident."""
    camera = FreeCamera(azimuth=90, elevation=-90, distance=3, lookat=(0, 0, 0), orthographic=True, fovy=20)
    image = picture('<geom type="plane" size="20 20 .1" material="m"/>', checker("400 400"), camera)
    np.testing.assert_allclose(image.mean(axis=(0, 1)), [0.5, 0, 0.5], atol=0.01)
    assert image.std(axis=(0, 1)).max() < 0.02


CUBE = (
    '<texture name="t" type="cube" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="64" height="384"/>'
    '<material name="m" texture="t" specular="0" rgba="1 1 1 1"/>'
)


@pytest.mark.parametrize("shape", ['type="sphere" size=".9"', 'type="box" size=".9 .9 .9"'])
def test_cube_gradient(shape):
    """A cube's own up is y: the gradient runs from the +y side, in the first colour, to the -y side."""
    back, front = (
        picture(f'<geom {shape} material="m"/>', CUBE, FreeCamera(azimuth=a, elevation=0, distance=4, lookat=(0, 0, 0)))
        for a in (-90, 90)
    )
    middle = SIZE // 2
    np.testing.assert_allclose(back[middle, middle], [1, 0, 0], atol=0.1)
    np.testing.assert_allclose(front[middle, middle], [0, 0, 1], atol=0.1)


def test_mesh_texture_coordinates():
    """A square of two triangles, its texture turned by its coordinates: u runs along -y, v along x."""
    mesh = (
        '<mesh name="q" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0  0 0 -.2" texcoord="1 0  1 1  0 1  0 0  .5 .5"'
        ' face="0 1 2  0 2 3  0 4 1  1 4 2  2 4 3  3 4 0"/>'
    )
    checkered = picture('<geom type="mesh" mesh="q" material="m"/>', mesh + checker("2 1"))
    assert squares(checkered[:, SIZE // 2 + 5]) == 4  # u, which repeats twice, runs along y
    assert squares(checkered[SIZE // 2 + 5]) == 2


def test_texture_that_stays_in_its_file(tmp_path):
    """MuJoCo may leave the pixels in the file: the model holds its path."""
    mujoco = pytest.importorskip("mujoco")
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, :4], pixels[:, 4:] = (255, 0, 0), (0, 0, 255)
    write_png(tmp_path / "t.png", pixels)
    text = f"""<mujoco>{FLAT}<compiler passthrough="textures"/><asset>
        <texture name="t" type="2d" file="{tmp_path / "t.png"}"/>{LAID.format(repeat="1 1", uniform="false")}</asset>
        <worldbody><geom type="plane" size="1 1 .1" material="m"/></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    assert m.tex_adr[0] == -1
    image = render(Simulation(m), TOP, SIZE, SIZE)[0]
    np.testing.assert_array_equal(image[SIZE // 2, [16, 48]], [[255, 0, 0], [0, 0, 255]])
    (tmp_path / "t.png").unlink()
    clear_cache()
    with pytest.warns(UserWarning, match="texture 0 is left white"):
        image = render(Simulation(m), TOP, SIZE, SIZE)[0]
    np.testing.assert_array_equal(image[SIZE // 2, 16], 255)


def test_colour_times_texture():
    assets = CHECKER.format(n=64).replace("1 0 0", "1 1 1").replace("0 0 1", "1 1 1")
    assets += LAID.format(repeat="1 1", uniform="false").replace("1 1 1 1", ".2 .4 .6 1")
    image = picture('<geom type="plane" size="1 1 .1" material="m"/>', assets)
    np.testing.assert_allclose(image[SIZE // 2, SIZE // 2], [0.2, 0.4, 0.6], atol=0.003)
