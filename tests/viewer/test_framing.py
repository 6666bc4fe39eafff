"""The first view: everything that moves is inside the picture, and as near as it may be."""

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.viewer.framing import ASPECT, MARGIN, balls, frame

FOVY = np.deg2rad(45.0)


def angles(centres, radii, eye, look_at) -> tuple[np.ndarray, np.ndarray]:
    """How far each ball reaches up or down and to the sides, as a part of the picture's half (in tangents)."""
    ahead = (look_at - eye) / np.linalg.norm(look_at - eye)
    right = np.cross(ahead, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    found = []
    for axis, wide in ((np.cross(right, ahead), 1.0), (right, ASPECT)):
        depth, off = (centres - eye) @ ahead, np.abs((centres - eye) @ axis)
        distance = np.hypot(depth, off)
        reach = np.arctan2(off, depth) + np.arcsin(np.clip(radii / distance, 0, 1))
        found.append(np.tan(reach) / (wide * np.tan(FOVY / 2)))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(5))
def test_all_balls_are_seen_and_one_touches_the_margin(seed):
    rng = np.random.default_rng(seed)
    centres, radii = rng.normal(size=(20, 3)) * [1, 2, 3], rng.uniform(0.01, 0.5, 20)
    ahead = rng.normal(size=3) * [1, 1, 0.3]
    eye, look_at = frame(centres, radii, ahead / np.linalg.norm(ahead), FOVY)
    tall, wide = angles(centres, radii, eye, look_at)
    assert max(tall.max(), wide.max()) == pytest.approx(MARGIN, rel=1e-6)


ARM = """<mujoco><statistic extent="0.2" center="0 0 0"/><worldbody>
  <geom type="plane" size="9 9 .1"/><geom name="wall" type="box" pos="0 9 0" size="20 .1 5"/>
  <geom name="stand" type="box" size=".1 .1 .2" pos="0 0 -.2"/>
  <body pos="0 0 .5"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".05"/>
  <body pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".05"/></body></body>
</worldbody></mujoco>"""


def test_what_moves_and_its_stand_but_not_the_room():
    """A statistic of 20 cm, as scenes state it, does not cut the arm off."""
    m = compile_model(ARM)
    xpos = np.array([[0, 0, 0], [0, 9, 0], [0, 0, -0.2], [0, 0, 1.0], [0.5, 0, 1.5]])
    centres, radii = balls(m, xpos, {0, 1, 2})
    np.testing.assert_allclose(centres, xpos[[2, 3, 4]])
    np.testing.assert_allclose(radii, m.geom_rbound[[2, 3, 4]])
    eye, look_at = frame(centres, radii, np.array([0.0, 0.9, -np.sqrt(0.19)]), FOVY)
    assert max(a.max() for a in angles(centres, radii, eye, look_at)) <= MARGIN + 1e-9


def test_a_model_that_stands_still_is_seen_too():
    m = compile_model('<mujoco><worldbody><geom size=".3" pos="1 2 3"/></worldbody></mujoco>')
    centres, radii = balls(m, np.array([[1.0, 2.0, 3.0]]), {0})
    assert len(centres) == 1 and radii[0] == pytest.approx(0.3)
