"""Gradients of costs through steps with flexes against differences of MuJoCo's rollouts in double precision."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema.gradients.rollout import rollout

from ..conformance.dynamics import put_states
from ..conformance.gradients import error
from ..conformance.staged import StagedEngine
from .flexes import DAMPED, FREE, ROD, SHEET, TABLE, TOUCH, at_once, copied, flex, scene, settled, thing
from .in_double import differences, stepped
from .test_flexes import PIN, PINS, WEAK

torch = pytest.importorskip("torch")
STEPS = 10
SCENES = {
    "a cloth": scene(flex("cloth", DAMPED + FREE + PINS)),
    "a rope drawn over a table": scene(flex("rope", DAMPED + TOUCH + PIN), around=TABLE),
    "an elastic cloth on a ball": scene(flex("cloth", SHEET + TOUCH + PINS), around=thing("sphere"), **at_once()),
    "a rod": scene(flex("rope", ROD + FREE + PIN), **at_once()),
    "a cloth that yields": scene(loose=flex("cloth", WEAK + FREE + PINS, "0 0 .6"), **at_once()),
}  # fmt: skip
PARAMETERS = (
    "geom_friction", "geom_solref", "geom_solimp", "geom_solmix", "geom_margin", "geom_size", "eq_solref",
)  # fmt: skip


def cost(qpos, qvel):
    """Something of all states; the same for tensors and arrays."""
    return (qpos**2).sum() + 0.01 * (qvel**2).sum() + (qpos[-1] ** 2).sum()


def cost_in_double(m: mujoco.MjModel, start: mujoco.MjData, ctrl, **begin) -> float:
    d = copied(m, start)
    for name, value in begin.items():
        getattr(d, name)[:] = value
    return cost(*stepped(m, d, ctrl))


def started(m: mujoco.MjModel, state: mujoco.MjData) -> SimpleNamespace:
    """Something to roll out from a state."""
    sim = SimpleNamespace(engine=StagedEngine(m, nworld=1))
    put_states(sim.engine, [state])
    return sim


@pytest.mark.parametrize("name", SCENES)
def test_gradients_by_controls_and_start(name):
    m, (state, *_) = settled(SCENES[name], (50,))
    ctrl = np.float32(0.3 * np.random.default_rng(1).uniform(-1, 1, (STEPS, m.nu)))
    begin = {name: np.float32(getattr(state, name)) for name in ("qpos", "qvel")}
    inputs = {name: torch.tensor(value[None], requires_grad=True) for name, value in begin.items()}
    actions = torch.tensor(ctrl[:, None], requires_grad=True)
    path = rollout(started(m, state), actions, every=4, **inputs)
    cost(path.qpos, path.qvel).backward()
    theirs = differences(lambda u: cost_in_double(m, state, u), ctrl)
    assert np.linalg.norm(theirs) > 1e-5 and error(actions.grad[:, 0].numpy(), theirs) < 1e-3
    for which, value in begin.items():
        theirs = differences(lambda x, which=which: cost_in_double(m, state, ctrl, **{which: x}), value)
        assert error(inputs[which].grad[0].numpy(), theirs) < 1e-3


def test_what_yields_does_so_within_the_rollout():
    m, (state, *_) = settled(SCENES["a cloth that yields"], (50,))
    before = state.plastic.copy()
    for _ in range(STEPS):
        mujoco.mj_step(m, state)
    assert np.abs(state.plastic - before).max() > 0


@pytest.fixture(scope="module")
def lying() -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A cloth that slides on a box and a plane, whose parameters are mixed in every way that two sides can be."""
    box = thing("box", 'margin=".002" friction=".5 .01 .001" solimp=".8 .9 .01 .4 2"')
    cloth = flex("cloth", DAMPED + TOUCH.replace('friction=".6', 'solmix="2" friction=".3'), ".08 .06 .64")
    plane = '<geom type="plane" size="2 2 .1" pos="0 0 .5" friction=".7"/>'
    m, states = settled(scene(loose=cloth, around=box + plane, cone="elliptic"), (70,))
    return m, states[0]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_contacts_reach_flexes(lying, name):
    m, state = lying
    ctrl = np.zeros((6, m.nu), np.float32)
    sim = started(m, state)
    begin = {which: torch.tensor(np.float32(getattr(state, which))[None]) for which in ("qpos", "qvel")}
    value = torch.tensor(np.float32(sim.engine.read(name)[0]), requires_grad=True)
    path = rollout(sim, torch.tensor(ctrl[:, None]), parameters={name: value}, **begin)
    cost(path.qpos, path.qvel).backward()
    kept = np.array(getattr(m, name), float)

    def of(new):
        getattr(m, name)[:] = new
        found = cost_in_double(m, state, ctrl)
        getattr(m, name)[:] = kept
        return found

    theirs = differences(of, kept)
    assert np.linalg.norm(theirs) > 1e-4
    assert error(value.grad.numpy().reshape(theirs.shape), theirs) < 1e-3
