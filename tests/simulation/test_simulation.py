"""The Simulation door: loading, running, state, views, parameters, trouble."""

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, KinemaError, SimulationError
from kinema.simulation import Simulation
from tests.simulation.models import ARM as XML


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(XML)


@pytest.fixture
def sim(model):
    return Simulation(model, worlds=4, device="cpu", threads=2)


def test_steps_like_mujoco(sim, model):
    d = mujoco.MjData(model)
    d.qpos[:], d.qvel[:], d.ctrl[:] = [0.1, 0.2], [0.3, -0.4], [0.5]
    sim.set_state(qpos=d.qpos, qvel=d.qvel, ctrl=0.5)
    sim.step(20)
    mujoco.mj_step(model, d, nstep=20)
    for name in ("qpos", "qvel", "time"):
        ours = getattr(sim.d, name)
        np.testing.assert_allclose(ours, np.broadcast_to(getattr(d, name), ours.shape), atol=1e-5)


def test_fields_have_mujocos_shapes(sim, model):
    sim.forward()
    d = mujoco.MjData(model)
    for name in ("xpos", "xmat", "geom_xmat", "cinert", "cvel", "M", "qfrc_bias", "mocap_quat", "xfrc_applied"):
        assert getattr(sim.d, name).shape == (4, *getattr(d, name).shape), name
    assert sim.m.body_mass.shape == (model.nbody,)
    assert sim.m.nv == model.nv
    assert sim.array("qpos").shape == (4, model.nq)


def test_state_can_be_saved_and_put_back(sim):
    sim.set_state(qpos=np.arange(8).reshape(4, 2) * 0.1, ctrl=[[0.1], [0.2], [0.3], [0.4]])
    sim.step(5)
    saved = sim.get_state()
    sim.step(5)
    later = sim.d.qpos
    sim.set_state(**saved)
    sim.step(5)
    np.testing.assert_array_equal(sim.d.qpos, later)


def test_assignment_writes(sim):
    sim.d.qvel = [1.0, 2.0]
    np.testing.assert_array_equal(sim.d.qvel, [[1, 2]] * 4)
    sim.d.qvel[0, 0] = 3.0
    np.testing.assert_array_equal(sim.d.qvel, [[3, 2], *[[1, 2]] * 3])


def test_reset_of_some_worlds_to_a_keyframe(sim):
    sim.set_state(qpos=[1.0, 1.0])
    sim.reset([False, True, False, True], keyframe="up")
    np.testing.assert_allclose(sim.d.qpos, [[1, 1], [0.3, -0.2], [1, 1], [0.3, -0.2]])
    np.testing.assert_allclose(sim.d.time, [0, 3, 0, 3])
    sim.reset()
    assert not sim.d.qpos.any()


def test_worlds_differ_where_a_field_is_expanded(sim, model):
    sim.expand("body_mass", "gravity")
    mass = np.tile(model.body_mass, (4, 1))
    mass[2, 2] *= 3
    sim.m.body_mass = mass
    gravity = np.tile(model.opt.gravity, (4, 1))
    gravity[3] = [0, 0, -1.0]
    sim.m.opt.gravity = gravity
    sim.recompute()
    sim.set_state(qpos=[0.3, 0.4])
    sim.step(10)
    heavy = mujoco.MjModel.from_xml_string(XML)
    heavy.body_mass[2] *= 3
    light = mujoco.MjModel.from_xml_string(XML)
    light.opt.gravity[:] = [0, 0, -1.0]
    for world, m in ((0, model), (2, heavy), (3, light)):
        d = mujoco.MjData(m)
        mujoco.mj_setConst(m, d)
        d.qpos[:] = [0.3, 0.4]
        mujoco.mj_step(m, d, nstep=10)
        np.testing.assert_allclose(sim.d.qpos[world], d.qpos, atol=1e-5)
        np.testing.assert_allclose(sim.m.body_subtreemass[world], m.body_subtreemass, rtol=1e-6)
        np.testing.assert_allclose(sim.array("dof_invweight0").numpy()[world], m.dof_invweight0, rtol=1e-4)


def test_time_step_may_be_changed_and_differ(sim):
    sim.expand("timestep")
    sim.m.opt.timestep = [0.01, 0.002, 0.005, 0.01]
    sim.step(3)
    np.testing.assert_allclose(sim.d.time, [0.03, 0.006, 0.015, 0.03], rtol=1e-12)


def test_a_bad_world_is_frozen_and_the_others_go_on(sim):
    sim.set_state(qpos=[[0.1, 0.2], [np.nan, 0.0], [0.1, 0.2], [0.1, 0.2]])
    sim.step(5)
    assert set(sim.trouble()) == {1}
    np.testing.assert_allclose(sim.d.time, [0.05, 0, 0.05, 0.05])
    with pytest.raises(SimulationError, match="world 1: state is not finite"):
        sim.check()
    sim.reset([1])
    sim.step()
    sim.check()
    assert np.isfinite(sim.d.qpos).all()


def test_mistakes_are_explained(sim):
    with pytest.raises(KinemaError, match="qpos"):
        sim.set_state(qpo=1)
    with pytest.raises(AttributeError, match="xpos"):
        _ = sim.d.xposs
    with pytest.raises(BuildError, match=r"shape \(3,\)"):
        sim.set_state(qpos=[1, 2, 3])
    with pytest.raises(KinemaError, match="body_mass"):
        sim.expand("body_mas")
    with pytest.raises(KinemaError, match="geom_rbound"):
        sim.expand("geom_rbound")
    with pytest.raises(KinemaError, match="keyframe 5"):
        sim.reset(keyframe=5)
    with pytest.raises(BuildError, match="worlds=0: expected a whole number, 1 or more"):
        Simulation(sim.model, worlds=0)


def test_loads_xml_text_and_files(tmp_path, sim):
    path = tmp_path / "arm.xml"
    path.write_text(XML)
    for source in (XML, path, str(path)):
        own = Simulation(source, device="cpu", threads=1)
        own.set_state(qpos=[0.1, 0.2])
        own.step(3)
        sim.reset()
        sim.set_state(qpos=[0.1, 0.2])
        sim.step(3)
        np.testing.assert_allclose(own.d.qpos[0], sim.d.qpos[0], atol=1e-6)
