"""Newton's method with one evaluation a line search: it may go round in a circle, and MuJoCo lets it."""

import copy

import mujoco
import numpy as np

from kinema.cli.oracle import start
from tests.conformance import flex_scenes
from tests.conformance.dynamics import make_engine, put_states

SEED, ITERATION, NOSLIP = 20, 2, 2
"""A scene in which it does, and the iteration that is made to end hardly higher than it began."""


def solved(m: mujoco.MjModel, d: mujoco.MjData, share: float) -> mujoco.MjData:
    """Forward dynamics, begun from a share of the warm start."""
    found = copy.copy(d)
    found.qacc_warmstart[:] = np.float32(share * d.qacc_warmstart)
    mujoco.mj_forward(m, found)
    return found


def rise(d: mujoco.MjData) -> float:
    """How much higher the iteration ends than it began, over what the first one gained."""
    return -d.solver[ITERATION].improvement / d.solver[0].improvement


def test_a_small_rise_does_not_end_a_solve_in_doubles():
    m = mujoco.MjModel.from_xml_string(flex_scenes.scene(SEED))
    d = start(m, 0, speed=1.0)
    mujoco.mj_step(m, d)
    low, high = 0.1, 0.2
    assert rise(solved(m, d, low)) < 0 < rise(solved(m, d, high))
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rise(solved(m, d, middle)) < 0 else (low, middle)
    engine = make_engine(m)
    for further in np.linspace(-4e-6, 8e-6, 25):  # what the engine makes of floats ends as high as it began near here
        theirs = solved(m, d, high + further)
        assert abs(rise(theirs)) < 1e-3 and theirs.solver_niter[0] == m.opt.iterations + NOSLIP
        put_states(engine, [theirs])
        engine.forward()
        assert engine.read("solver_niter")[0] == theirs.solver_niter[0]
        assert np.abs(engine.read("qacc")[0] - theirs.qacc).max() < 1e-4 * np.abs(theirs.qacc).max()
