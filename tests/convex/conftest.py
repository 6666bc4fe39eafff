"""Fixtures for tests of the engine against MuJoCo."""

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine

from ..conformance.staged import StagedEngine

INPUTS = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "xfrc_applied", "qfrc_applied", "plastic", "time")


@pytest.fixture
def twin():
    """An engine of two worlds whose second holds MuJoCo's state; the first stays at the initial state.

    Its stages are kernels of their own, which all models share: quick to compile.
    """

    def make(m, d, **options) -> Engine:
        engine = StagedEngine(m, nworld=2, device="cpu", **options)
        for name in INPUTS:
            if np.size(getattr(d, name)):
                engine.write(name, getattr(d, name), worlds=[1])
        return engine

    return make


@pytest.fixture
def agree():
    """Asserts that fields of world 1 agree with mjData's, relative to the largest number of each field."""

    def check(engine, d, names, rtol: float = 1e-4):
        for name in names:
            theirs = np.asarray(getattr(d, name), dtype=float)
            if theirs.size == 0:
                continue
            ours = engine.read(name)[1]
            scale = max(np.abs(theirs).max(), 1e-6)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * scale, err_msg=name)

    return check


@pytest.fixture
def free_motion():
    """Switches contacts, constraints and actuators off, so that motion is smooth and passive."""

    def switch(m):
        for name in ("CONSTRAINT", "CONTACT", "ACTUATION"):
            m.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
        return m

    return switch
