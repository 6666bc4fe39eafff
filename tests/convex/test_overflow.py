"""Lists that are too short: grown, warned of, or refused; never silently cut."""

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, SimulationError
from tests.conformance.staged import StagedEngine

HEAP = (
    "<mujoco><worldbody><geom type='plane' size='9 9 9'/>"
    + "".join(
        f"<body pos='{0.05 * (i % 2)} {0.03 * (i % 3)} {0.09 + 0.15 * i}'><freejoint/>"
        "<geom type='box' size='.08 .08 .08'/></body>"
        for i in range(5)
    )
    + "</worldbody></mujoco>"
)
STEPS = 120


@pytest.fixture(scope="module")
def heap():
    return mujoco.MjModel.from_xml_string(HEAP)


def run(m, **options):
    engine = StagedEngine(m, nworld=3, device="cpu", **options)
    engine.write("qvel", [[0.0] * m.nv, [0.1] * m.nv, [-0.2] * m.nv])
    engine.step(STEPS)
    return engine


def test_grown_lists_give_the_same_bits(heap):
    """A run that had to grow is the run that had room from the start."""
    roomy, grown = run(heap), run(heap, nconmax=3)
    assert not roomy.guard.needed, "all slots of a small model fit"
    for name in ("qpos", "qvel", "qacc", "time"):
        np.testing.assert_array_equal(roomy.read(name), grown.read(name))
    assert grown.capacity.contacts > 3
    assert grown.capacity.most_contacts == roomy.capacity.most_contacts <= grown.capacity.contacts
    assert grown.capacity.most_rows == roomy.capacity.most_rows <= grown.capacity.rows
    assert not grown.read("status").any()


def test_forward_grows_too(heap):
    engine = StagedEngine(heap, nworld=2, device="cpu", nconmax=1)
    engine.forward()
    d = mujoco.MjData(heap)
    mujoco.mj_forward(heap, d)
    np.testing.assert_array_equal(engine.read("ncon"), [d.ncon] * 2)
    assert d.ncon > 1


def test_parameters_that_differ_survive(heap):
    engine = StagedEngine(heap, nworld=3, device="cpu", nconmax=3)
    engine.expand("body_mass")
    masses = engine.read("body_mass") * np.array([[1.0], [2.0], [3.0]])
    engine.set_parameter("body_mass", masses)
    engine.step(STEPS)
    np.testing.assert_allclose(engine.read("body_mass"), masses, rtol=1e-6)
    assert engine.capacity.contacts > 3


def test_raise_names_worlds_and_numbers(heap):
    with pytest.raises(SimulationError, match=r"world 0: \d+ contacts of 3, \d+ constraint rows of") as raised:
        run(heap, nconmax=3, on_overflow="raise")
    assert "grow" in str(raised.value)


def test_warn_goes_on_with_what_fits(heap):
    with pytest.warns(RuntimeWarning, match="contacts of 3"):
        engine = run(heap, nconmax=3, on_overflow="warn")
    assert (engine.read("ncon") <= 3).all() and engine.capacity.most_contacts > 3
    assert (engine.read("time") > 0).all()
    with pytest.warns(RuntimeWarning, match="contacts of 3"):
        engine.step()


def test_unknown_policy(heap):
    with pytest.raises(BuildError, match="did you mean 'grow'"):
        StagedEngine(heap, device="cpu", on_overflow="grwo")
