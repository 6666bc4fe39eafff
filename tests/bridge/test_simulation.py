"""Simulation with MuJoCo behind it: one word, the same door."""

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, UnknownKey
from kinema.simulation import Simulation
from tests.simulation.models import ARM, LIMBS


@pytest.fixture
def sim():
    return Simulation(LIMBS, worlds=3, device="cpu", threads=2, solver="mujoco")


@pytest.fixture
def judge():
    m = mujoco.MjModel.from_xml_string(LIMBS)
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    return m, d


def test_it_is_mujoco_to_the_bit(sim, judge):
    m, d = judge
    sim.reset(keyframe="up")
    sim.step(50)
    d.qpos[:], d.qvel[:], d.act[:], d.ctrl[:] = (np.asarray(getattr(m, f"key_{n}")[0], np.float32) for n in
                                                 ("qpos", "qvel", "act", "ctrl"))  # fmt: skip
    mujoco.mj_step(m, d, nstep=50)
    for name in ("qpos", "qvel", "act", "sensordata", "xpos", "qacc", "actuator_force", "ten_length", "cvel"):
        want = np.asarray(getattr(d, name), np.float32)
        np.testing.assert_array_equal(getattr(sim.d, name).reshape(3, -1), [want.ravel()] * 3, err_msg=name)
    np.testing.assert_array_equal(sim.joint("knee").qpos, np.float32([d.joint("knee").qpos] * 3))


def test_precision_is_kept_between_steps(sim, judge):
    """Numbers that nobody writes stay MuJoCo's, in double precision."""
    m, d = judge
    sim.reset()
    mujoco.mj_resetData(m, d)
    for _ in range(30):
        sim.step()
        sim.d.ctrl = 0.25
        mujoco.mj_step(m, d)
        d.ctrl[:] = 0.25
    np.testing.assert_array_equal(sim.engine.data[1].qpos, d.qpos)


def test_worlds_differ(sim):
    sim.set_state(qpos=[0, 0, 1, 1, 0, 0, 0, 0.1], worlds=[1])
    sim.expand("gravity")
    sim.m.opt.gravity = [[0, 0, -9.81], [0, 0, -9.81], [0, 0, 0]]
    sim.step(10)
    assert sim.joint("root").qvel[2, 2] == pytest.approx(0, abs=1e-3) and sim.joint("root").qvel[0, 2] < -0.3
    assert abs(sim.joint("knee").qpos[1, 0] - sim.joint("knee").qpos[0, 0]) > 0.01
    convex = Simulation(LIMBS, worlds=3, device="cpu", threads=1)
    convex.set_state(qpos=[0, 0, 1, 1, 0, 0, 0, 0.1], worlds=[1])
    convex.expand("gravity")
    convex.m.opt.gravity = sim.m.opt.gravity
    convex.step(10)
    np.testing.assert_allclose(convex.d.qpos, sim.d.qpos, atol=1e-5)


def test_torch_and_recordings(sim, tmp_path):
    qpos = sim.torch("qpos")
    sim.record()
    sim.step(5)
    found = sim.stop_recording()
    np.testing.assert_array_equal(qpos.numpy(), sim.d.qpos)
    np.testing.assert_array_equal(found.qpos[-1], sim.d.qpos)
    again = Simulation(found.source, worlds=3, device="cpu", threads=1, solver="mujoco").rerun(found)
    np.testing.assert_allclose(again.qpos, found.qpos, atol=1e-6)
    other = Simulation.restore(sim.save(tmp_path / "run.npz"), device="cpu", solver="mujoco")
    np.testing.assert_array_equal(other.d.qpos, sim.d.qpos)


def test_inverse_dynamics(judge):
    m, d = judge
    sim = Simulation(LIMBS, device="cpu", solver="mujoco")
    sim.reset(keyframe="up")
    sim.d.qacc = np.arange(7.0)
    sim.inverse()
    d.qpos[:], d.qvel[:], d.act[:] = (np.asarray(getattr(m, f"key_{n}")[0], np.float32) for n in
                                      ("qpos", "qvel", "act"))  # fmt: skip
    d.qacc[:] = np.arange(7.0)
    mujoco.mj_inverse(m, d)
    np.testing.assert_allclose(sim.d.qfrc_inverse[0], d.qfrc_inverse, rtol=1e-6)


def test_bad_worlds_are_frozen_and_reset_revives_them():
    sim = Simulation(ARM, worlds=3, device="cpu", solver="mujoco")
    sim.set_state(qpos=[np.nan, 0], worlds=[1])
    sim.step(4)
    assert sim.trouble() == {1: ["state is not finite"]} and sim.last_failure is None
    sim.step(2)
    np.testing.assert_allclose(sim.d.time[[0, 2]], 0.06)
    sim.reset([1])
    sim.step()
    assert sim.trouble() == {} and np.isfinite(sim.d.qpos).all()


def test_mistakes_are_explained(sim):
    with pytest.raises(BuildError, match="solver='mujocco'; did you mean 'mujoco'"):
        Simulation(ARM, solver="mujocco")
    with pytest.raises(BuildError, match="solver='convex'"):
        sim.memory()
    with pytest.raises(UnknownKey, match="efc_J"):
        _ = sim.d.efc_J
