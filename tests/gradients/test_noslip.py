"""Derivatives through the no-slip pass, whose sweeps end where they end and solve no equation."""

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.parts import parts
from kinema.gradients import closed, transcribe
from kinema.gradients.rollout import rollout
from kinema.gradients.tangent_kernels import in_phases, part_kernel_of_warps

from ..conformance.dynamics import put_states
from ..conformance.gradients import changes, converging, error, judge, staged_tangents
from ..conformance.models import FULL_STATE, SHARED
from ..conformance.staged import StagedEngine

SCENE = """
<mujoco>
  <option timestep="0.004" integrator="{integrator}" cone="{cone}" gravity="1.5 .5 -9.81" noslip_iterations="{sweeps}"
    impratio="3"/>
  <default><geom friction=".5 .02 .005" solimp=".7 .85 .01"/></default>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .12 .1" mass="2" condim="{condim}"/></body>
    <body pos=".02 .01 .285" quat="1 0 0 .2"><freejoint/><geom type="box" size=".07 .09 .09" condim="{condim}"/></body>
    <body pos="1 0 .1"><freejoint/><geom size=".1" mass=".5" condim="6"/></body>
    <body pos="1 1 .1"><freejoint/><geom type="ellipsoid" size=".1 .12 .09" mass=".5" condim="1"/></body>
    <body pos="0 1 .12">
      <joint name="x" type="slide" axis="1 0 0" frictionloss="1.2"/><joint name="z" type="slide" axis="0 0 1"/>
      <joint name="turn" axis="0 1 0" frictionloss=".05" damping=".02"/>
      <geom type="capsule" fromto="-.1 0 -.02 .15 0 -.05" size=".05" condim="4"/>
      <body pos=".2 0 0"><joint name="tip" axis="0 1 .2" frictionloss=".3" armature=".01"/>
        <geom type="capsule" fromto="0 0 0 .15 .02 -.08" size=".04" condim="3"/><site name="end" pos=".1 0 0"/></body>
    </body>
    <body pos="0 -1 .5"><joint name="far" axis="0 1 0" frictionloss=".05"/><geom size=".05" pos=".1 0 0"/></body>
  </worldbody>
  <tendon><fixed name="pair" frictionloss=".04" damping=".02" stiffness="2">
    <joint joint="far" coef="1"/><joint joint="tip" coef="-.6"/></fixed></tendon>
  <actuator><position joint="tip" kp="4" kv=".2"/><motor joint="x"/><position tendon="pair" kp="1"/></actuator>
  <sensor><accelerometer site="end"/><force site="end"/><jointvel joint="x"/></sensor>
</mujoco>
"""
"""Bodies that are held and bodies that slide, alone and on each other; joints and a tendon with friction."""


def is_smooth(m: mujoco.MjModel, d: mujoco.MjData) -> bool:
    """Are there the same rows and zones all around, and no corner in a sweep, which shows in the judge alone?"""
    state = np.zeros(mujoco.mj_stateSize(m, FULL_STATE))
    mujoco.mj_getState(m, d, state, FULL_STATE)
    both, one = judge(m, d, 1e-6)[0], judge(m, d, 1e-6, centered=False)[0]
    return error(one, both) < 1e-3 and not changes(m, state, 1e-6)


def slid(m: mujoco.MjModel, first: int = 60, apart: int = 7, count: int = 2) -> list[mujoco.MjData]:
    """States in motion that single numbers hold, and the judge is sure of."""
    m = converging(m)
    d, rng, found = mujoco.MjData(m), np.random.default_rng(3), []
    d.qvel[:] = 0.4 * rng.normal(size=m.nv)
    for k in range(first + 40 * apart):
        d.ctrl[:] = 0.5 * rng.normal(size=m.nu)
        mujoco.mj_step(m, d)
        if k >= first and k % apart == 0:
            state = mujoco.MjData(m)
            for name in ("qpos", "qvel", "act", "ctrl"):
                getattr(state, name)[:] = np.float32(getattr(d, name))
            if is_smooth(m, state):
                found.append(state)
            if len(found) == count:
                return found
    raise AssertionError("no such states")


def linearized(m: mujoco.MjModel, states: list[mujoco.MjData], *, sensors: bool = False) -> np.ndarray:
    """All derivatives there are, the same bits twice."""
    engine = StagedEngine(m, nworld=len(states))
    put_states(engine, states)
    engine.forward()
    tangents = staged_tangents(engine, sensors=sensors)
    found = tangents.run().numpy().copy()
    np.testing.assert_array_equal(tangents.run().numpy(), found)
    return found.astype(float)


def compare(m: mujoco.MjModel, states: list[mujoco.MjData], most: float, *, sensors: bool = False) -> None:
    found, nx = linearized(m, states, sensors=sensors), 2 * m.nv + m.na
    for world, d in enumerate(states):
        theirs = judge(m, d, 1e-6, sensors=sensors)
        mine = found[world, :nx, :nx], found[world, :nx, nx:], found[world, nx:, :nx], found[world, nx:, nx:]
        errors = [error(*pair) for pair in zip(mine, theirs, strict=True) if pair[1] is not None]
        assert max(errors) < most, errors


@pytest.mark.parametrize("condim", [3, 4, 6])
@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit", "discrete"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_sweeps_are_differentiated_as_they_were_made(cone, integrator, condim):
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone=cone, integrator=integrator, condim=condim, sweeps=4))
    states = slid(m)
    assert "noslip" in closed.against(m) or integrator == "implicit"
    compare(m, states, 3e-4, sensors=True)
    with_it = judge(m, states[0], 1e-6)[0]
    m.opt.noslip_iterations = 0
    assert error(judge(m, states[0], 1e-6)[0], with_it) > 0.01, "the pass matters"


@pytest.mark.parametrize("sweeps", [1, 2, 30])
@pytest.mark.parametrize("together", [False, True])
def test_islands_end_each_on_its_own(sweeps, together):
    """With a tolerance that some reach early, or as one island."""
    xml = SCENE.format(cone="elliptic", integrator="Euler", condim=4, sweeps=sweeps)
    m = mujoco.MjModel.from_xml_string(xml)
    m.opt.noslip_tolerance = 1e-4
    if together:
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    compare(m, slid(m), 3e-4)


GRIPPERS = ("robotiq_2f85/2f85.xml", "shadow_hand/right_hand.xml", "wonik_allegro/scene_right.xml")


@pytest.mark.parametrize("name", GRIPPERS)
def test_hands_of_others(name):
    path = SHARED / "menagerie" / name
    if not path.exists():
        pytest.skip("no such model here")
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.noslip_iterations = 5
    compare(m, slid(m, count=1), 1e-3)


def test_a_gradient_goes_back_through_a_rollout():
    torch = pytest.importorskip("torch")
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone="elliptic", integrator="Euler", condim=3, sweeps=3))
    (state,) = slid(m, count=1)
    ctrl = np.float32(0.3 * np.random.default_rng(5).normal(size=(4, m.nu)))

    def cost_of(actions):
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = state.qpos, state.qvel
        for action in actions:
            d.ctrl[:] = action
            mujoco.mj_step(m, d)
        return np.sum(d.qvel**2)

    sim = SimpleNamespace(engine=StagedEngine(m, nworld=1))
    actions = torch.tensor(ctrl[:, None], requires_grad=True)
    begin = {name: torch.tensor(np.float32(getattr(state, name))[None]) for name in ("qpos", "qvel")}
    (rollout(sim, actions, **begin).qvel[-1] ** 2).sum().backward()
    theirs = np.zeros_like(ctrl, float)
    for k in np.ndindex(ctrl.shape):
        up, down = ctrl.astype(float), ctrl.astype(float)
        up[k] += 1e-5
        down[k] -= 1e-5
        theirs[k] = (cost_of(up) - cost_of(down)) / 2e-5
    assert np.linalg.norm(theirs) > 1e-3
    assert error(actions.grad[:, 0].numpy(), theirs) < 1e-3


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_the_pass_in_duals_compiles_for_cuda(integrator, tmp_path):
    m = mujoco.MjModel.from_xml_string(SCENE.format(cone="elliptic", integrator=integrator, condim=3, sweeps=3))
    engine = StagedEngine(m, nworld=1)
    transcribe.install()
    tangents = staged_tangents(engine)
    (chosen,) = [stage for stage in tangents.stages if stage.func.key.startswith("noslip")]
    assert any(chosen in part for part in parts(tangents.stages))
    kernel = part_kernel_of_warps(in_phases([chosen]), 8)
    wp.compile_aot_module(kernel.module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    assert list(tmp_path.glob("*.ptx"))


ROLLING = """<mujoco><option cone="elliptic" noslip_iterations="5"/><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .05"><freejoint/><geom type="box" size=".05 .05 .05" mass=".2" condim="6"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("spin", [0.0, 1.0, 5.0])
def test_friction_of_contacts_that_turn_and_roll(spin):
    """Coefficients span four decades, and the search for a multiplier ends before it is at its goal."""
    m = converging(mujoco.MjModel.from_xml_string(ROLLING))
    states = []
    for seed in range(40):
        rng, d = np.random.default_rng(seed), mujoco.MjData(m)
        d.qpos[2] = 0.05 - rng.uniform(0.001, 0.006)
        d.qpos[4:6] = 0.01 * rng.normal(size=2)
        d.qvel[:] = [*(0.05 * rng.normal(size=3)), *(0.2 * rng.normal(size=2)), spin * rng.normal()]
        d.qpos[:], d.qvel[:] = np.float32(d.qpos), np.float32(d.qvel)
        if is_smooth(m, d):
            states.append(d)
    assert len(states) > 10
    compare(m, states, 1e-3)
