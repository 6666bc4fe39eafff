"""Inverse dynamics and energy against MuJoCo."""

import mujoco
import numpy as np
import pytest

from . import mechanisms


def at_random(m, random_state, twin):
    d = mujoco.MjData(m)
    random_state(m, d, scale=0.2)
    mujoco.mj_forward(m, d)
    d.qacc[:] = np.random.default_rng(3).normal(size=m.nv)
    engine = twin(m, d)
    engine.write("qacc", d.qacc)
    return engine, d


@pytest.mark.parametrize("discrete", [False, True])
def test_inverse_of_springs(discrete, random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(mechanisms.SPRINGS))
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE) if discrete else 0
    engine, d = at_random(m, random_state, twin)
    mujoco.mj_inverse(m, d)
    engine.inverse()
    agree(engine, d, ("qfrc_inverse", "qacc"), 1e-4)


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_discrete_inverse_in_a_fluid(integrator, random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(mechanisms.FLUID.format(integrator=integrator)))
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_INVDISCRETE)
    engine, d = at_random(m, random_state, twin)
    mujoco.mj_inverse(m, d)
    engine.inverse()
    agree(engine, d, ("qfrc_inverse",), 1e-4)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_inverse_with_constraints(cone, twin, agree):
    m = mujoco.MjModel.from_xml_string(mechanisms.RESTING.format(cone=cone, integrator="Euler"))
    d = mujoco.MjData(m)
    d.qvel[:] = np.random.default_rng(0).normal(size=m.nv) * 0.3
    mujoco.mj_forward(m, d)
    assert d.ncon > 0
    for seed in range(4):
        d.qacc[:] = np.random.default_rng(seed).normal(size=m.nv) * (0.1 if seed else 5.0)
        engine = twin(m, d)
        engine.write("qacc", d.qacc)
        mujoco.mj_inverse(m, d)
        engine.inverse()
        assert np.abs(d.qfrc_constraint).max() > 0
        agree(engine, d, ("qfrc_constraint", "qfrc_inverse"), 1e-3)


def test_energy(random_state, twin, agree, free_motion):
    m = free_motion(mujoco.MjModel.from_xml_string(mechanisms.SPRINGS))
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    for seed in range(3):
        d = mujoco.MjData(m)
        random_state(m, d, seed)
        engine = twin(m, d)
        mujoco.mj_forward(m, d)
        engine.forward()
        agree(engine, d, ("energy",), 1e-5)
        assert np.abs(d.energy).min() > 0.01
