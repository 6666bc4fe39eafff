"""Flexes fall asleep as wholes and are woken as MuJoCo wakes them: the same trees sleep, step by step."""

import mujoco
import numpy as np
import pytest

from tests.conformance.staged import StagedEngine

from .scenes import model

FLEX = """<flexcomp name="soft" type="grid" dim="{}" count="{}" spacing=".1 .1 .1" pos="0 0 {}" radius=".01" {}
  mass="1">{}<contact selfcollide="none" solref=".05 1"/></flexcomp>"""
EDGES = '<edge equality="true" solref=".04 1"/>'
PLATE = '<elasticity young="1e4" poisson=".1" damping=".01" thickness=".02" elastic2d="both"/>'
SCENES = {
    "rope": ("", FLEX.format(1, "4 1 1", 0.02, "", EDGES)),
    "cloth": ("", FLEX.format(2, "3 3 1", 0.02, "", EDGES)),
    "pinned": ("", FLEX.format(2, "4 3 1", 0.02, "", EDGES + '<pin id="4 5 6 7"/>')),
    "plate": ('integrator="discrete"', FLEX.format(2, "3 3 1", 0.02, "", PLATE)),
    "rod": (
        'integrator="discrete"', FLEX.format(1, "4 1 1", 0.02, "", '<elasticity young="1e5" damping=".01"/>'),
    ),
    "strain": ("", FLEX.format(3, "2 2 2", 0.065, 'dof="trilinear"', '<edge equality="strain" solref=".04 1"/>')),
}
BALL = '<body name="ball" pos=".02 .03 .6"><freejoint/><geom type="sphere" size=".04" mass=".2" solref=".05 1"/></body>'


def scene(option: str, flex: str) -> mujoco.MjModel:
    return model(f"""<mujoco><option timestep=".004" sleep_tolerance=".05" tolerance="1e-10" {option}>
      <flag sleep="enable"/></option><worldbody><geom type="plane" size="3 3 1"/>{BALL}{flex}</worldbody></mujoco>""")


@pytest.mark.parametrize("name", SCENES)
def test_the_same_trees_sleep_step_by_step(name):
    """A flex comes to rest and sleeps, a ball falls on it and wakes it, and all come to rest again."""
    m = scene(*SCENES[name])
    d = mujoco.MjData(m)
    engine = StagedEngine(m, 1, device="cpu")
    slept, woken = False, False
    for step in range(400):
        mujoco.mj_step(m, d)
        engine.step(1)
        assert np.array_equal(engine.read("tree_asleep")[0] >= 0, d.tree_asleep >= 0), step
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 2e-3, step
        asleep = np.all(d.tree_asleep[1:] >= 0)
        woken |= slept and not asleep
        slept |= bool(asleep)
    assert slept and woken
    rows = int(engine.read("nefc")[0])
    assert rows == d.nefc


def test_a_sleeping_flex_has_no_rows_and_is_woken_by_a_touch():
    m = scene(*SCENES["cloth"])
    d = mujoco.MjData(m)
    d.qpos[2] = 30.0  # the ball is far
    engine = StagedEngine(m, 1, device="cpu")
    engine.write("qpos", d.qpos[None].astype(np.float32))
    for _ in range(150):
        mujoco.mj_step(m, d)
    engine.step(150)
    for step in range(3):
        assert np.array_equal(engine.read("tree_asleep")[0], d.tree_asleep), step
        assert int(engine.read("nefc")[0]) == d.nefc, step
        if step == 0:
            assert np.all(d.tree_asleep[1:] >= 0) and d.nefc == 0
            d.qpos[9] += 0.001
            qpos = engine.read("qpos").copy()
            qpos[0, 9] += np.float32(0.001)
            engine.write("qpos", qpos)
        mujoco.mj_step(m, d)
        engine.step(1)
    assert np.all(d.tree_asleep < 0) and d.nefc > 0


def test_passive_contact_couples_flexes_that_sleep():
    """Springs have no rows in MuJoCo, and yet what they press together falls asleep together.

    Faces that lie flat on each other part paths, so every step begins where MuJoCo's does.
    """
    solid = """<flexcomp name="{}" type="grid" dim="3" count="{}" spacing=".06 .06 .06" radius=".01" mass="{}"
      pos="0 0 {}"><elasticity young="2e3" damping=".02"/><contact passive="true" selfcollide="none"/></flexcomp>"""
    flexes = solid.format("soft", "3 3 2", 0.3, 0.05) + solid.format("other", "2 2 2", 0.2, 0.2)
    m = model(f"""<mujoco><option integrator="discrete" solver="CG" sleep_tolerance=".03"><flag sleep="enable"/>
      </option><worldbody><geom type="plane" size="3 3 1"/>{flexes}</worldbody></mujoco>""")
    d = mujoco.MjData(m)
    engine = StagedEngine(m, 1, device="cpu")
    coupled = False
    for step in range(250):
        engine.write("qpos", d.qpos[None])
        engine.write("qvel", d.qvel[None])
        mujoco.mj_step(m, d)
        engine.step(1)
        assert np.array_equal(engine.read("tree_asleep")[0] >= 0, d.tree_asleep >= 0), step
        coupled |= d.nisland == 1 and d.ncon > 0 and d.nefc == 0
        if np.all(d.tree_asleep >= 0):
            break
    assert coupled and np.all(d.tree_asleep >= 0)
