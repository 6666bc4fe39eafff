"""Colours that can be worked out by hand: lamps, shadows, things seen through, mirrors, sky and haze."""

import numpy as np
import pytest

from kinema.render import FreeCamera, render
from kinema.simulation import Simulation

SIZE = 64
DARK = '<visual><headlight active="0"/></visual>'
RED = (0.8, 0.2, 0.1)
ABOVE = FreeCamera(azimuth=90, elevation=-90, distance=4, lookat=(0, 0, 0), fovy=45)


def picture(text: str, camera=ABOVE, **options) -> np.ndarray:
    """A picture as fractions of one."""
    return render(Simulation(text), camera, SIZE, SIZE, antialias=False, **options)[0] / 255.0


def box(extra: str = "", *, head: str = DARK, lights: str = "", rgba=(*RED, 1), material: str = "", more: str = ""):
    return f"""<mujoco>{head}<asset>{material}</asset><worldbody>{lights}
        <geom type="box" size=".5 .5 .5" rgba="{" ".join(map(str, rgba))}" {extra}/>{more}</worldbody></mujoco>"""


def centre(image: np.ndarray) -> np.ndarray:
    """The middle, where four pixels meet."""
    return image[SIZE // 2 - 1 : SIZE // 2 + 1, SIZE // 2 - 1 : SIZE // 2 + 1].mean(axis=(0, 1))


def test_headlight_on_a_face():
    """Seen and lit from the front: ambient + diffuse, and the whole highlight of the default material."""
    head = '<visual><headlight ambient=".1 .2 .3" diffuse=".4 .4 .5" specular=".2 .2 .2"/></visual>'
    found = centre(picture(box(head=head)))
    expected = np.array(RED) * (np.array([0.1, 0.2, 0.3]) + [0.4, 0.4, 0.5]) + 0.2 * 0.5
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_without_lamps_there_is_some_ambient_light():
    np.testing.assert_allclose(centre(picture(box())), 0.3 * np.array(RED), atol=0.003)


def test_directional_light_falls_off_with_the_cosine():
    slant = np.deg2rad(60)
    direction = f"{np.sin(slant):.4f} 0 {-np.cos(slant):.4f}"
    light = f'<light type="directional" dir="{direction}" diffuse=".9 .9 .9" specular="0 0 0" castshadow="false"/>'
    np.testing.assert_allclose(centre(picture(box(lights=light))), 0.9 * 0.5 * np.array(RED), atol=0.003)


def test_spot_attenuation_and_cutoff():
    light = (
        '<light type="spot" pos="0 0 2.5" dir="0 0 -1" diffuse="1 1 1" specular="0 0 0" attenuation="1 .5 .25"'
        ' cutoff="8" exponent="0" castshadow="false"/>'
    )
    image = picture(box(lights=light))
    np.testing.assert_allclose(centre(image), np.array(RED) / (1 + 0.5 * 2 + 0.25 * 4), atol=0.004)
    away = image[SIZE // 2 - 8, SIZE // 2]  # on the box, about 0.36 from the middle: 10 degrees off the lamp's axis
    np.testing.assert_array_equal(away, 0)


def test_spot_exponent():
    light = (
        '<light type="spot" pos="1 0 2.5" dir="0 0 -1" diffuse="1 1 1" specular="0 0 0" exponent="5" cutoff="80"'
        ' castshadow="false"/>'
    )
    cosine = 2 / np.hypot(1, 2)
    np.testing.assert_allclose(centre(picture(box(lights=light))), cosine**6 * np.array(RED), atol=0.01)


def test_point_light_shines_all_around():
    light = '<light type="point" pos="0 0 2.5" dir="0 0 1" diffuse="1 1 1" specular="0 0 0" castshadow="false"/>'
    np.testing.assert_allclose(centre(picture(box(lights=light))), RED, atol=0.02)


def test_emission_and_material_colour():
    material = '<material name="glow" emission=".5" specular="0" rgba=".2 .4 .6 1"/>'
    found = centre(picture(box('material="glow"', material=material, rgba=(0.5, 0.5, 0.5, 1))))
    np.testing.assert_allclose(found, (0.5 + 0.3) * np.array([0.2, 0.4, 0.6]), atol=0.003)
    own = centre(picture(box('material="glow"', material=material)))  # a colour of its own wins over the material's
    np.testing.assert_allclose(own, (0.5 + 0.3) * np.array(RED), atol=0.003)


@pytest.mark.parametrize("kind", ["directional", "spot"])
def test_shadow_falls_where_it_should(kind):
    """A ball above a floor, a lamp from the left: the shadow lies to the right, the lit floor to the left."""
    text = f"""<mujoco>{DARK}<worldbody>
        <light type="{kind}" pos="-10 0 10" dir="1 0 -1" diffuse="1 1 1" specular="0 0 0" cutoff="60"
               attenuation="1 0 0" exponent="0"/>
        <geom type="plane" size="3 3 .1" rgba=".6 .6 .6 1"/>
        <geom type="sphere" size=".3" pos="0 0 .8" rgba="1 0 0 1"/></worldbody></mujoco>"""
    camera = FreeCamera(azimuth=90, elevation=-90, distance=5, lookat=(0, 0, 0), orthographic=True, fovy=4)
    image = picture(text, camera)

    def at(x: float, y: float) -> np.ndarray:
        return image[int(SIZE / 2 - y * SIZE / 4), int(SIZE / 2 + x * SIZE / 4)]

    np.testing.assert_array_equal(at(0.8, 0), 0)
    expected = 0.6 * np.sqrt(0.5)
    assert np.all(np.abs(at(-0.9, 0) - expected) < 0.06)
    assert np.all(np.abs(at(0.8, 0.9) - expected) < 0.06)
    without = picture(text, camera, shadows=False)
    assert without[SIZE // 2, int(SIZE / 2 + 0.8 * SIZE / 4)].min() > 0.3


def test_lights_that_cast_no_shadow():
    text = """<mujoco><worldbody>
        <light type="directional" dir="0 0 -1" diffuse=".5 .5 .5" specular="0 0 0" castshadow="{}"/>
        <geom type="plane" size="3 3 .1" rgba=".6 .6 .6 1"/><geom type="box" size=".3 .3 .1" pos="0 0 1"/>
        <camera name="below" pos="1.5 0 .2" xyaxes="0 1 0 -.1 0 1"/></worldbody></mujoco>"""
    dark, light = (picture(text.format(value), "below") for value in ("true", "false"))
    assert (light - dark).max() > 0.2
    assert np.all(light >= dark)


def test_things_seen_through():
    """MuJoCo lays a clear thing over what is behind it twice."""
    more = '<geom type="box" size=".6 .6 .01" pos="0 0 .8" rgba="0 0 1 .4"/>'
    found = centre(picture(box(more=more)))
    opacity = 1 - 0.6**2
    expected = opacity * np.array([0, 0, 0.3]) + (1 - opacity) * 0.3 * np.array(RED)
    np.testing.assert_allclose(found, expected, atol=0.004)


def test_wholly_transparent_things_are_not_there():
    more = '<geom type="box" size=".6 .6 .01" pos="0 0 .8" rgba="0 0 1 0"/>'
    np.testing.assert_array_equal(picture(box(more=more)), picture(box()))


def test_plane_from_behind_is_seen_through():
    text = f"""<mujoco>{DARK}<worldbody><geom type="plane" size="2 2 .1" rgba=".8 .8 .8 1"/>
        <geom type="sphere" size=".4" pos="0 0 1" rgba="1 0 0 1"/>
        <camera name="below" pos="0 0 -3" xyaxes="1 0 0 0 -1 0"/></worldbody></mujoco>"""
    red = centre(picture(text, "below"))
    assert red[0] > 1.3 * red[1] and red[1] > 0.05


def test_who_is_inside_looks_out():
    """Only faces that look at the eye are drawn: from within the box the ball is seen."""
    more = '<geom size=".3" pos="2 0 0" rgba="0 1 0 1"/><camera name="in" xyaxes="0 -1 0 0 0 1"/>'
    green = centre(picture(box(more=more), "in"))
    assert green[1] > 0.2 and green[0] == 0


def test_mirror():
    """A floor that reflects half shows the ball above it, and not where there is none."""
    text = f"""<mujoco>{DARK}<asset><material name="glass" reflectance="{{}}" specular="0" rgba="0 0 0 1"/></asset>
        <worldbody><geom type="plane" size="4 4 .1" material="glass"/>
        <geom type="sphere" size=".5" pos="0 0 1" rgba="1 .5 0 1"/>
        <camera name="side" pos="0 -4 1" xyaxes="1 0 0 0 .25 1"/></worldbody></mujoco>"""
    plain, mirrored = (picture(text.format(r), "side") for r in (0, 0.5))
    change = np.abs(mirrored - plain).sum(axis=2)
    ys, xs = np.nonzero(change > 0.05)
    assert len(ys) > 50 and ys.min() > SIZE * 0.4 and abs(xs.mean() - SIZE / 2) < 2
    np.testing.assert_allclose(mirrored[int(ys.mean()), SIZE // 2], 0.5 * 0.3 * np.array([1, 0.5, 0]), atol=0.01)
    np.testing.assert_array_equal(picture(text.format(0.5), "side", reflections=False), plain)


SKY = """<mujoco>
    <asset><texture type="skybox" builtin="gradient" rgb1="{up}" rgb2="{down}" width="64" height="64"/></asset>
    <worldbody>{floor}<geom type="sphere" size=".2" rgba="1 0 0 1"/>
    <camera name="level" pos="0 -3 .6" xyaxes="1 0 0 0 0 1" fovy="90"/></worldbody></mujoco>"""


def test_sky_where_nothing_is():
    image = picture(SKY.format(up="1 0 0", down="0 0 1", floor=""), "level")
    top, bottom = image[0, SIZE // 2], image[-1, SIZE // 2]
    assert top[0] > top[2] and bottom[2] > bottom[0]
    plain = picture(SKY.format(up="1 1 1", down="1 1 1", floor=""), "level")
    assert (plain.min(axis=2) == 1).mean() > 0.9
    assert centre(picture('<mujoco><worldbody><geom size=".1" pos="9 9 9"/></worldbody></mujoco>')).max() == 0


def test_haze_over_an_endless_floor():
    floor = '<geom type="plane" size="0 0 .1" pos="0 0 -.5" rgba="0 0 0 1"/>'
    hazy = picture(SKY.format(up="0 0 0", down="0 0 0", floor=floor), "level")
    column = hazy[:, 4].mean(axis=1)
    peak = column.argmax()
    assert column[peak] > 0.5 and SIZE // 2 - 2 <= peak <= SIZE // 2 + 6  # just below the horizon
    assert column[: SIZE // 2 - 2].max() < 0.05 and column[-1] < 0.2
