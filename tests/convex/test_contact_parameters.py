"""Contact parameters of geoms that are changed while running, and per world, against MuJoCo run world by world."""

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError
from kinema.simulation import Simulation
from tests.conformance.staged import StagedEngine

SLIDING = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" friction="0.4"/>
    <body name="sled" pos="0 0 .1"><freejoint/>
      <geom name="sled" type="box" size=".2 .1 .1" friction="0.3" solref="0.04 1"/></body>
    <body name="ball" pos="0 1 .3"><freejoint/><geom name="ball" size=".1" solref="0.03 1" priority="1"/></body>
    <body name="post" pos="1 0 .2"><freejoint/><geom name="post" type="box" size=".1 .3 .2"/></body>
  </worldbody>
  <contact><pair geom1="sled" geom2="post" friction="0.9 0.9 0.1 0.1 0.1"/></contact>
</mujoco>
"""
VALUES = {
    "geom_friction": [[0.9, 0.01, 0.001], [0.1, 0.005, 0.0001], [0.6, 0.1, 0.01]],
    "geom_solref": [[0.05, 1.0], [0.02, 0.5], [0.01, 1.2]],
    "geom_solimp": [[0.5, 0.9, 0.01, 0.5, 2], [0.9, 0.99, 0.001, 0.5, 2], [0.8, 0.9, 0.002, 0.4, 3]],
    "geom_solmix": [3.0, 1.0, 0.0],
    "geom_margin": [0.0, 0.02, 0.01],
    "geom_gap": [0.0, 0.01, 0.005],
}


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(SLIDING)


@pytest.fixture
def sim(model):
    sim = Simulation(model, worlds=3, device="cpu", threads=1)
    sim.set_state(qvel=start(model))
    return sim


def start(m):
    qvel = np.zeros(m.nv)
    qvel[0], qvel[7] = 2.0, -1.0
    return qvel


def judged(values, geoms, steps=60):
    """Where MuJoCo ends with the values in the given geoms."""
    m = mujoco.MjModel.from_xml_string(SLIDING)
    for name, value in values.items():
        for geom in geoms:
            getattr(m, name)[m.geom(geom).id] = value
    d = mujoco.MjData(m)
    d.qvel[:] = start(m)
    mujoco.mj_step(m, d, nstep=steps)
    return d


@pytest.mark.parametrize("name", VALUES)
def test_worlds_differ(sim, name):
    sim.expand(name)
    geoms = ("floor", "ball")
    for geom in geoms:
        value = np.array(VALUES[name])
        sim.geom(geom).__setattr__(name, value.reshape(3, *getattr(sim.geom(geom), name).shape[1:]))
    sim.step(60)
    ends = [judged({name: VALUES[name][world]}, geoms) for world in range(3)]
    for world, d in enumerate(ends):
        np.testing.assert_allclose(sim.d.qpos[world], d.qpos, atol=2e-3, err_msg=f"world {world}")
    if name in ("geom_solmix", "geom_gap"):  # which move nothing here
        column = {"geom_solmix": "solref", "geom_gap": "gap"}[name]
        assert np.ptp(getattr(sim.engine.collider.detector.pairs, column).numpy(), axis=0).max() > 0
    else:
        assert np.ptp([d.qpos for d in ends], axis=0).max() > 2e-3


def test_changes_for_all_worlds_alike(sim):
    sim.geom("floor").friction = [1.0, 0.005, 0.0001]
    sim.step(60)
    d = judged({"geom_friction": [1.0, 0.005, 0.0001]}, ["floor"])
    np.testing.assert_allclose(sim.d.qpos, [d.qpos] * 3, atol=1e-3)
    before = judged({}, []).qpos
    assert np.abs(d.qpos - before).max() > 0.01
    sim.geom("floor").friction = [0.4, 0.005, 0.0001]
    sim.reset()
    sim.set_state(qvel=start(sim.model))
    sim.step(60)
    np.testing.assert_allclose(sim.d.qpos, [before] * 3, atol=1e-3)


def test_explicit_pairs_keep_theirs(sim, model):
    sim.expand("geom_friction")
    sim.m.geom_friction = np.full((3, model.ngeom, 3), 0.05)
    pairs = sim.engine.collider.detector
    forced = np.flatnonzero(pairs.host.explicit >= 0)
    assert len(forced) == 1
    friction = pairs.pairs.friction.numpy()
    np.testing.assert_allclose(friction[:, forced[0]], [[0.9, 0.9, 0.1, 0.1, 0.1]] * 3)
    others = np.delete(friction, forced, axis=1)
    np.testing.assert_allclose(others, 0.05)


def test_room_that_grows_keeps_them(model):
    """A longer list of contacts makes detection anew; what was changed stays."""
    sim = Simulation(model, worlds=2, device="cpu", threads=1)
    sim.expand("geom_friction")
    sim.m.geom_friction = np.stack([np.full((model.ngeom, 3), 0.2), np.full((model.ngeom, 3), 0.7)])
    sim.engine.rebuild()
    np.testing.assert_allclose(sim.engine.collider.detector.pairs.friction.numpy()[:, 0, 0], [0.2, 0.7])


def test_the_same_as_a_model_compiled_with_them(sim):
    """Per world to the bit what a simulation of a model with these numbers gives."""
    sim.expand("geom_friction")
    for geom in ("floor", "ball"):
        sim.geom(geom).friction = VALUES["geom_friction"]
    sim.step(40)
    for world in range(3):
        m = mujoco.MjModel.from_xml_string(SLIDING)
        for geom in ("floor", "ball"):
            m.geom_friction[m.geom(geom).id] = VALUES["geom_friction"][world]
        one = Simulation(m, device="cpu", threads=1)
        one.set_state(qvel=start(m))
        one.step(40)
        np.testing.assert_array_equal(one.d.qpos[0], sim.d.qpos[world])


def test_many_geoms_are_the_same_in_all_worlds():
    balls = "".join(f'<body pos="{i % 20} {i // 20} 1"><freejoint/><geom size=".1"/></body>' for i in range(360))
    plane = '<geom name="floor" type="plane" size="30 30 1"/>'
    sim = Simulation(f"<mujoco><worldbody>{plane}{balls}</worldbody></mujoco>", worlds=2, device="cpu", threads=1)
    detector = sim.engine.collider.detector
    assert detector.build.sweep
    with pytest.raises(BuildError, match="cannot differ per world"):
        sim.expand("geom_friction")
    sim.m.geom_friction = np.full((sim.m.ngeom, 3), 0.25)
    np.testing.assert_allclose(detector.sweep.special.friction.numpy(), 0.25)
    np.testing.assert_allclose(detector.sweep.parameters.friction.numpy(), 0.25)


def test_margins_and_sizes_reach_the_broad_phase():
    """In a scene so large that cells find the pairs, what is written is what a model compiled with it gives."""
    balls = "".join(
        f'<body pos="{0.25 * (i % 20)} {0.25 * (i // 20)} 1"><freejoint/><geom size=".1"/></body>' for i in range(360)
    )
    xml = f"<mujoco><option gravity='0 0 0'/><worldbody>{balls}</worldbody></mujoco>"
    m = mujoco.MjModel.from_xml_string(xml)
    engine = StagedEngine(m, nworld=2, device="cpu")
    assert engine.collider.detector.build.sweep
    engine.forward()
    assert not engine.read("ncon").any()
    for name, value in (("geom_margin", 0.03), ("geom_size", [0.126, 0, 0])):
        before = np.array(getattr(m, name))
        getattr(m, name)[:] = value
        if name == "geom_size":
            m.geom_rbound[:], m.geom_aabb[:, 3:] = value[0], value[0]
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        engine.set_parameter(name, getattr(m, name))
        engine.forward()
        np.testing.assert_array_equal(engine.read("ncon"), [d.ncon] * 2, err_msg=name)
        assert d.ncon > 600
        getattr(m, name)[:] = before
        engine.set_parameter(name, before)
