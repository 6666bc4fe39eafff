"""Constraint rows against MuJoCo's, on its own contacts and poses."""

import mujoco
import numpy as np
import pytest

from kinema.convex.constraint import assemble
from tests.convex.stage_harness import Harness, dense_jacobian

SCENE = """
<mujoco>
  <option cone="{cone}" impratio="{impratio}" density="0"/>
  <worldbody>
    <geom type="plane" size="3 3 .1" condim="{condim}" friction=".8 .02 .003"/>
    <body name="a" pos="0 0 .1">
      <freejoint/>
      <geom type="box" size=".2 .1 .11" condim="{condim}" friction=".9 .03 .002"/>
      <body name="b" pos=".3 0 0">
        <joint name="hinge" axis="0 1 0" range="-10 5" frictionloss=".3" damping="1" solreflimit=".03 .9"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0" condim="{condim}"/>
        <site name="tip" pos=".3 0 0"/>
        <body name="c" pos=".3 0 0">
          <joint name="ball" type="ball" range="0 20"/>
          <geom type="sphere" size=".06" mass=".2"/>
        </body>
      </body>
    </body>
    <body name="s" pos="0 1 .3">
      <joint name="slide" type="slide" axis="1 0 .2" range="-.05 .05" margin=".02"/>
      <joint name="slide2" type="slide" axis="0 1 0"/>
      <geom size=".1" condim="{condim}" surfacevel=".1 .2 .3 .4 .5 .6"/>
      <site name="mid" pos="0 .1 0" euler="10 20 30"/>
    </body>
    <body name="t" pos="0 -1 .09"><freejoint/><geom type="cylinder" size=".1 .1"/></body>
  </worldbody>
  <tendon>
    <fixed name="couple" range="-.01 .01" frictionloss=".2">
      <joint joint="slide" coef="1"/><joint joint="hinge" coef="-.5"/>
    </fixed>
    <spatial name="rope" range="0 .9"><site site="tip"/><site site="mid"/></spatial>
  </tendon>
  <equality>
    <connect body1="b" body2="t" anchor=".1 .2 .3" solref="-500 -20"/>
    <weld body1="a" body2="t" relpose="0 .8 0 1 .1 .2 .3" torquescale=".7"/>
    <weld site1="tip" site2="mid" solref=".1 1"/>
    <joint joint1="slide" joint2="hinge" polycoef=".01 .5 .2 -.1 .05"/>
    <joint joint1="slide2"/>
    <tendon tendon1="rope" tendon2="couple" polycoef=".1 .3 0 0 0"/>
  </equality>
</mujoco>
"""


def rows_of(m, harness, world):
    """J with zeros where a row has no columns."""
    trees = harness.read("efc_trees", world)
    inside = (trees[:, :1] < 0) | (trees[:, :, None] == np.asarray(m.dof_treeid)).any(axis=1)
    return np.where(inside, harness.read("efc_J", world), 0.0)


def compare(m, d):
    harness = Harness(m, nworld=2)
    harness.inject(d)
    harness.run(*(stage for part in assemble.stages(m) for stage in part))
    world = 1
    assert harness.read("nefc", world) == d.nefc > 0
    for name in ("ne", "nf", "nl"):
        assert harness.read(name, world) == getattr(d, name), name
    n = d.nefc
    np.testing.assert_array_equal(harness.read("efc_type", world)[:n], d.efc_type)
    np.testing.assert_array_equal(harness.read("efc_id", world)[:n], d.efc_id)
    np.testing.assert_allclose(rows_of(m, harness, world)[:n], dense_jacobian(m, d), atol=3e-6)
    for name in ("pos", "margin", "frictionloss", "vel", "R", "D", "aref"):
        theirs = np.asarray(getattr(d, f"efc_{name}"))
        ours = harness.read(f"efc_{name}", world)[:n]
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-5 * np.abs(theirs).max(), err_msg=name)
    return d


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_every_kind_of_row(cone, condim, random_state):
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, condim=condim, impratio=3.5))
    d = mujoco.MjData(m)
    mujoco.mj_resetData(m, d)
    random_state(m, d, scale=0.15)
    mujoco.mj_forward(m, d)
    assert d.ncon > 2 and d.ne == 3 + 6 + 6 + 1 + 1 + 1 and d.nf == 2 and d.nl >= 3
    compare(m, d)


def test_rows_of_bodies_that_spin(random_state):
    """The velocity product of welds, which fast rotation makes large."""
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone="pyramidal", condim=3, impratio=1))
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.3)
    d.qvel[:] *= 40
    mujoco.mj_forward(m, d)
    compare(m, d)


@pytest.mark.parametrize("model", ["suite/humanoid.xml", "suite/quadruped.xml", "suite/finger.xml"])
def test_rows_of_real_models(model, dm_control_assets, random_state):
    m = mujoco.MjModel.from_xml_path(str(dm_control_assets / model))
    d = mujoco.MjData(m)
    random_state(m, d)
    mujoco.mj_step(m, d, 200)
    mujoco.mj_forward(m, d)
    compare(m, d)


def test_rows_without_room_are_counted_and_flagged():
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone="pyramidal", condim=3, impratio=1))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    harness = Harness(m, nefcmax=20)
    harness.inject(d)
    harness.run(*(stage for part in assemble.stages(m) for stage in part))
    assert harness.read("nefc") + harness.read("efc_dropped") == d.nefc
    assert harness.read("nefc") <= 20 and harness.read("status") == 2
