"""Motion without constraints, stage by stage, against MuJoCo at random states."""

import mujoco
import numpy as np
import pytest

from . import mechanisms

SUITE = ["acrobot", "cheetah", "cartpole", "fish", "humanoid", "humanoid_CMU", "manipulator", "quadruped", "walker"]
POSITION = ("subtree_com", "cinert", "cdof", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "crb", "M")
FACTOR = ("qLD", "qLDiagInv")
VELOCITY = ("cvel", "cdof_dot", "qfrc_bias")
PASSIVE = ("qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive")
ACCELERATION = ("qfrc_smooth", "qacc_smooth", "qacc")


def pushed(m, random_state, seed: int):
    """mjData at a random state, with forces on bodies and joints."""
    d = mujoco.MjData(m)
    random_state(m, d, seed)
    rng = np.random.default_rng(seed + 100)
    d.xfrc_applied[1:] = rng.normal(size=(m.nbody - 1, 6)) * (rng.uniform(size=(m.nbody - 1, 1)) < 0.5)
    d.qfrc_applied[:] = rng.normal(size=m.nv)
    d.ctrl[:] = np.clip(d.ctrl, -1, 1)
    return d


def check_all(m, random_state, twin, agree, seed: int):
    d = pushed(m, random_state, seed)
    engine = twin(m, d)
    mujoco.mj_forward(m, d)
    engine.forward()
    agree(engine, d, POSITION, 2e-6)
    agree(engine, d, FACTOR, 1e-3)
    agree(engine, d, VELOCITY, 1e-4)
    agree(engine, d, PASSIVE, 1e-5)
    agree(engine, d, ACCELERATION, 5e-4)
    return engine, d


@pytest.mark.parametrize("name", SUITE)
def test_stages_agree_with_mujoco(name, dm_control_assets, random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite" / f"{name}.xml")))
    for seed in range(3):
        check_all(m, random_state, twin, agree, seed)


@pytest.mark.parametrize("name", ["SPRINGS", "LOOKING", "YIELDING"])
def test_mechanisms_agree_with_mujoco(name, random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(getattr(mechanisms, name)))
    for seed in range(3):
        check_all(m, random_state, twin, agree, seed)


def test_fluid_forces_agree_with_mujoco(random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(mechanisms.FLUID.format(integrator="Euler")))
    for seed in range(3):
        check_all(m, random_state, twin, agree, seed)
    assert np.abs(mujoco.MjData(m).qfrc_fluid).max() == 0


@pytest.mark.parametrize("name", ["cheetah", "fish", "humanoid", "quadruped"])
def test_a_hundred_steps_agree_with_mujoco(name, dm_control_assets, random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite" / f"{name}.xml")))
    d = mujoco.MjData(m)
    random_state(m, d)
    engine = twin(m, d)
    for steps, rtol in ((1, 1e-5), (9, 1e-4), (90, 1e-3)):
        mujoco.mj_step(m, d, nstep=steps)
        engine.step(steps)
        agree(engine, d, ("qpos", "qvel", "time", "act"), rtol)


def test_springs_that_yield_keep_their_new_rest(random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(mechanisms.YIELDING))
    d = mujoco.MjData(m)
    random_state(m, d, scale=1.0)
    d.qvel[:] = 2.0
    before = d.plastic.copy()
    engine = twin(m, d)
    mujoco.mj_step(m, d, nstep=50)
    engine.step(50)
    assert np.abs(d.plastic - before).max() > 0.1
    agree(engine, d, ("plastic", "qpos", "qvel"), 1e-3)


@pytest.mark.parametrize("flag", ["SPRING", "DAMPER", "GRAVITY", "EULERDAMP"])
def test_disable_flags(flag, random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(mechanisms.SPRINGS))
    m.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    engine, d = check_all(m, random_state, twin, agree, 0)
    mujoco.mj_step(m, d, nstep=5)
    engine.step(5)
    agree(engine, d, ("qpos", "qvel"), 1e-4)
