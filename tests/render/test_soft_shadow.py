"""Edges of shadows against the closed form: a bulb of radius R behind a straight edge.

A disc of radius R at height H above the floor, an edge at height h above it. At a distance x from where the shadow of a
point light ends, the edge cuts the disc at u = x (H - h) / h from its middle, and the part that is seen is
1/2 + (u sqrt(R^2 - u^2) + R^2 asin(u / R)) / (pi R^2).
"""

import numpy as np
import pytest

from kinema import Simulation
from kinema.render import FreeCamera

HIGH, EDGE, RADIUS = 2.0, 1.0, 0.1
SCENE = f"""<mujoco><visual><headlight active="0"/></visual><statistic extent="4" center="0 0 0"/>
<worldbody>
  <light name="bulb" pos="0 0 {HIGH}" dir="0 0 -1" cutoff="180" exponent="0" attenuation="1 0 0" bulbradius="{RADIUS}"
    diffuse=".8 .8 .8" specular="0 0 0" ambient="0 0 0"/>
  <geom type="plane" size="3 3 .1" rgba="1 1 1 1"/>
  <geom type="box" size="1 1 .001" pos="-1 0 {EDGE}"/>
</worldbody></mujoco>"""
CAMERA = FreeCamera(lookat=(0.0, 0.0, 0.0), distance=0.5, azimuth=90, elevation=-90, fovy=0.5, orthographic=True)
SIZE = 100
"""Pixels of 5 mm: the penumbra is 2 R h / (H - h) = 20 cm wide, of which 8 pixels either side are looked at."""


def row(sim, **options) -> np.ndarray:
    """The middle of the picture, from left to right, as parts of the brightest."""
    picture = sim.render(CAMERA, SIZE, SIZE, **options)[0][SIZE // 2, :, 0].astype(float)
    return picture / picture.max()


@pytest.fixture(scope="module")
def sim():
    return Simulation(SCENE, device="cpu")


def seen(x: np.ndarray) -> np.ndarray:
    u = np.clip(x * (HIGH - EDGE) / EDGE, -RADIUS, RADIUS)
    return 0.5 + (u * np.sqrt(RADIUS**2 - u**2) + RADIUS**2 * np.arcsin(u / RADIUS)) / (np.pi * RADIUS**2)


def test_the_penumbra_of_a_bulb(sim):
    x = (np.arange(SIZE) + 0.5) / SIZE * 0.5 - 0.25
    found = row(sim)
    near = np.abs(x) < 7 * 0.005
    lambert = HIGH**2 / (HIGH**2 + x**2)
    # sixteen places of the bulb are looked at, so a part is off by a ray or two
    np.testing.assert_allclose(found[near], (seen(x) * np.sqrt(lambert))[near], atol=1.5 / 16)
    assert np.all(np.diff(found[near]) >= 0) and len(set(found[near])) >= 6


def test_without_smoothing_the_edge_is_sharp(sim):
    found = row(sim, antialias=False)
    assert set(np.round(found, 1)) == {0.0, 1.0}


def test_a_small_bulb_still_gives_an_edge_as_wide_as_a_pixel():
    """A slanted edge steps from pixel to pixel unless pixels on it are mixed."""
    text = SCENE.replace(f'bulbradius="{RADIUS}"', 'bulbradius="0"').replace('pos="-1 0', 'euler="0 0 3" pos="-1 0')
    sim = Simulation(text, device="cpu")
    picture = sim.render(CAMERA, SIZE, SIZE)[0][:, :, 0].astype(int)
    hard = sim.render(CAMERA, SIZE, SIZE, antialias=False)[0][:, :, 0].astype(int)
    between = (picture > 10) & (picture < picture.max() - 10)
    assert not ((hard > 10) & (hard < hard.max() - 10)).any()
    assert 0.3 * SIZE < between.sum() < 3 * SIZE
