"""Arrays that nothing computes cost a row, and come when they are wanted."""

import mujoco
import numpy as np
import pytest

from kinema.convex.access import ANYTHING
from kinema.convex.idle import computed, idle, touched
from kinema.convex.stage import Stage
from tests.conformance.staged import StagedEngine

XML = """
<mujoco>
  <option integrator="{integrator}"/>
  <worldbody><geom type="plane" size="3 3 1"/>
    <body pos="0 0 .095"><freejoint/><geom type="box" size=".1 .1 .1"/>
      <body pos=".2 0 0"><joint axis="0 1 0" limited="true" range="-10 10"/><geom size=".05"/></body></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(XML.format(integrator="Euler"))


def engines(m, n=3):
    """The same recipe with every array from the start, and with what it touches only."""
    pair = [StagedEngine(m, n, device="cpu", cuda=True) for _ in range(2)]
    pair[0]._wake(computed())
    for engine in pair:
        engine.write("qvel", np.linspace(0, 0.3, n)[:, None] * np.ones(m.nv))
        engine.step(3)
    return pair


def test_what_no_stage_touches_is_one_row(model):
    engine = StagedEngine(model, 64, device="cpu", cuda=True)
    assert {"qLU", "qDeriv", "cfrc_int", "cacc", "contact_load", "solver_lists"} <= engine.layout.idle
    assert not engine.layout.idle & touched(engine.recipes["step"])
    assert not engine.layout.idle & {"qpos", "userdata", "qacc", "qfrc_applied", "plastic", "status"}
    whole = StagedEngine(model, 64, device="cpu")
    for name in engine.layout.idle:
        assert engine.layout.arrays[name].stored.shape[0] == 1
        if name not in {"efc_J"} and not name.startswith(("contact_", "efc_", "solver_")):
            assert engine.shape(name) == whole.shape(name)
    assert not engine.read("qLU").any() and engine.read("qLU").shape[0] == 64


def test_requests_and_other_recipes_find_their_arrays(model):
    """Loads, momentum and inverse dynamics are what they are where everything was there from the start."""
    whole, frugal = engines(model)
    names = ("cfrc_ext", "cfrc_int", "cacc", "subtree_linvel", "contact_load")
    assert frugal.layout.idle.issuperset(names) and not whole.layout.idle
    for name in names:
        np.testing.assert_array_equal(frugal.in_use(name), whole.in_use(name))
        assert np.ptp(frugal.read(name), axis=0).max() > 0, "worlds differ"
        assert name not in frugal.layout.idle
    for engine in (whole, frugal):
        engine.inverse()
    np.testing.assert_array_equal(frugal.read("qfrc_inverse"), whole.read("qfrc_inverse"))
    for engine in (whole, frugal):
        engine.step(2)
    np.testing.assert_array_equal(frugal.read("qpos"), whole.read("qpos"))


def test_who_asks_for_the_array_gets_one_that_is_kept(model):
    _, frugal = engines(model)
    held = frugal.array("cfrc_ext")
    before = held.numpy().copy()
    frugal.step(5)
    assert held.ptr == frugal.array("cfrc_ext").ptr and np.abs(held.numpy() - before).max() > 0
    plain = frugal.array("qLU")
    assert not hasattr(plain, "stored") and plain.shape[0] == 3


def test_stages_that_may_touch_anything_leave_nothing_idle():
    assert idle([Stage(None, launch=lambda m, d: None)]) == set()
    assert touched([Stage(None, launch=lambda m, d: None, touches=ANYTHING)]) == computed()


def test_growing_leaves_idle_what_is_idle(model):
    engine = StagedEngine(model, 2, device="cpu", cuda=True, nconmax=1)
    engine.step(2)
    assert engine.capacity.contacts > 1 and "contact_load" in engine.layout.idle
    assert engine.in_use("contact_load").shape[1] == engine.read("ncon").max()
