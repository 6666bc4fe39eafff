"""<keyframe> against MuJoCo: completion of short vectors, normalisation, plastic state, and what is refused."""

import numpy as np
import pytest

from kinema.compile.keyframe import compile_keyframe
from kinema.compile.tendon import compile_tendon
from tests.compile.sections import WORLD, assert_refused, differences, document, run

YIELDING = WORLD.replace('name="hinge"', 'name="hinge" springyield=".1" springref="5"').replace(
    'name="ballj"', 'name="ballj" springyield=".1"'
)
TENDON = """<tendon><fixed name="t" springyield=".2"><joint joint="hinge" coef="1"/></fixed>
  <fixed springyield=".2" springlength=".1 .2"><joint joint="slide" coef="1"/></fixed></tendon>"""
ACTUATOR = '<actuator><motor joint="hinge"/><cylinder joint="slide"/></actuator>'

GOOD = {
    "bare": '<key/><key name="k" time="3"/>',
    "short": '<key qpos="1 2" qvel="3" ctrl="4" mpos="5 6" mquat="0 2"/>',
    "act": '<key act="3" ctrl="1 2"/>',
    "quaternions": '<key qpos="1 2  2 0 0 0  1 1 1 0 0 0 3" mquat="1 2 3 4"/>',
    "zero quaternion": '<key qpos="1 2  0 0 0 0"/>',
    "plastic": '<key plastic="7"/><key plastic="1 2 3 4 5 6 7 8 9"/>',
}


def _actuators(c):
    """The two sizes a keyframe needs from the actuators."""
    c.sizes.update(nu=2, na=1)


def _springs(m):
    """Spring lengths as the constants complete them."""
    return lambda c: c.arrays.update(tendon_lengthspring=np.array(m.tendon_lengthspring))


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    xml = document(f"{TENDON}{ACTUATOR}<keyframe>{GOOD[name]}</keyframe>", world=YIELDING)
    _, m = run(xml, [])
    c, m = run(xml, [compile_tendon, _springs(m), _actuators, compile_keyframe])
    assert m.nkey > 0 and m.nplastic == 9
    assert differences(c, m, ("key_",)) == []


BAD = [
    f'<key qpos="{"1 " * 14}"/>',
    f'<key qvel="{"1 " * 12}"/>',
    '<key act="1 2"/>',
    '<key ctrl="1 2 3"/>',
    '<key mpos="1 2 3 4"/>',
    '<key mquat="1 0 0 0 0"/>',
    f'<key plastic="{"1 " * 10}"/>',
    '<key time="soon"/>',
    '<key qpos="1 x"/>',
    '<key name="k"/><key name="k"/>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    stages = [compile_tendon, _actuators, compile_keyframe]
    assert_refused("keyframe", snippet, stages, sections=TENDON + ACTUATOR, world=YIELDING)
