"""Derivatives of Runge-Kutta steps against MuJoCo's centered differences in double precision."""

import importlib.util
from pathlib import Path

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.engine import Engine
from kinema.convex.integrate.rk4 import rotation_rate
from kinema.errors import BuildError
from kinema.gradients.closed import Closed
from kinema.gradients.linearize import Linearizer
from kinema.gradients.runge_kutta import evaluate, finish, follow, rate_slope, take_in
from kinema.gradients.tangents import Tangents
from kinema.simulation import Simulation

from ..conformance.dynamics import put_states
from ..conformance.gradients import converging, error
from ..convex.hopper import compile_kernel, stack
from .test_linearize import settled

MUSCLES = """
<mujoco><option integrator="RK4" timestep=".004"/>
  <worldbody><body><joint name="a" axis="0 1 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>
    <body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
  </body></worldbody>
  <actuator>
    <muscle joint="a" lengthrange="-1 1" ctrllimited="true" ctrlrange="0 1"/>
    <general joint="b" dyntype="filterexact" dynprm=".02" gainprm="2"/>
    <general joint="a" dyntype="integrator" gainprm="3" actlimited="true" actrange="-.5 .5"/>
  </actuator>
</mujoco>"""


@wp.kernel
def slopes_of(r: wp.array(dtype=wp.vec3), w: wp.array(dtype=wp.vec3), dr: wp.array(dtype=wp.vec3),
              dw: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3)):  # fmt: skip
    i = wp.tid()
    out[i, 0] = rate_slope(r[i], w[i], dr[i], dw[i])
    out[i, 1] = rotation_rate(r[i] + 1.0e-2 * dr[i], w[i] + 1.0e-2 * dw[i])
    out[i, 2] = rotation_rate(r[i] - 1.0e-2 * dr[i], w[i] - 1.0e-2 * dw[i])


@pytest.mark.parametrize("size", [1e-3, 0.1, 0.6, 2.0, 3.5])
def test_the_slope_of_a_rate_of_rotation(size):
    rng = np.random.default_rng(0)
    r, w, dr, dw = (rng.normal(size=(20, 3)).astype(np.float32) for _ in range(4))
    r *= size / np.linalg.norm(r, axis=1, keepdims=True)
    out = wp.zeros((20, 3), dtype=wp.vec3, device="cpu")
    given = [wp.array(x, dtype=wp.vec3, device="cpu") for x in (r, w, dr, dw)]
    wp.launch(slopes_of, dim=20, inputs=[*given, out], device="cpu")
    found, up, down = np.moveaxis(out.numpy(), 1, 0)
    np.testing.assert_allclose(found, (up - down) / 2e-2, atol=2e-3 * max(1.0, np.abs(found).max()))


def judge(m: mujoco.MjModel, d: mujoco.MjData, eps: float = 1e-6) -> tuple[np.ndarray, np.ndarray]:
    """Centered differences of MuJoCo's steps: of the next state, and of sensors. `mjd_transitionFD` refuses RK4."""
    nx = 2 * m.nv + m.na

    def stepped(k: int, by: float) -> mujoco.MjData:
        end = mujoco.MjData(m)
        for name in ("qpos", "qvel", "act", "ctrl"):
            getattr(end, name)[:] = getattr(d, name)
        move = np.zeros(nx + m.nu)
        move[k] = by
        mujoco.mj_integratePos(m, end.qpos, move[: m.nv], 1.0)
        end.qvel[:] += move[m.nv : 2 * m.nv]
        end.act[:] += move[2 * m.nv : nx]
        end.ctrl[:] += move[nx:]
        mujoco.mj_step(m, end)
        return end

    states, readings = np.zeros((nx, nx + m.nu)), np.zeros((m.nsensordata, nx + m.nu))
    for k in range(nx + m.nu):
        up, down = stepped(k, eps), stepped(k, -eps)
        turn = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, turn, 2 * eps, down.qpos, up.qpos)
        states[:, k] = np.concatenate([turn, (up.qvel - down.qvel) / (2 * eps), (up.act - down.act) / (2 * eps)])
        readings[:, k] = (up.sensordata - down.sensordata) / (2 * eps)
    return states, readings


def compare(m: mujoco.MjModel, states: list[mujoco.MjData], *, sensors: bool = False, asked: float = 1e-3):
    """A, B, C and D of an engine beside the judge's; the state and what follows from it stay."""
    engine = Engine(m, len(states), device="cpu")
    put_states(engine, states)
    engine.forward()
    before = {name: engine.read(name).copy() for name in ("qpos", "qvel", "act", "time", "qacc", "xpos", "ncon")}
    line = Linearizer(engine, sensors=sensors)
    found, nx = line().numpy().copy(), line.nx
    for name, value in before.items():
        np.testing.assert_array_equal(engine.read(name), value, err_msg=name)
    for w, d in enumerate(states):
        states_by, readings_by = judge(m, d)
        assert error(found[w, :nx, :nx], states_by[:, :nx]) < asked
        assert not m.nu or error(found[w, :nx, nx:], states_by[:, nx:]) < asked
        if sensors:
            assert error(found[w, nx:, :nx], readings_by[:, :nx]) < asked
            assert error(found[w, nx:, nx:], readings_by[:, nx:]) < asked
    return engine, line, found


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_mechanism_that_turns_and_touches(cone):
    m, states = settled("RK4", cone)
    engine, line, found = compare(m, states, sensors=True)
    again = line().numpy()
    assert np.array_equal(found, again)
    along = np.random.default_rng(0).normal(size=(2, line.nx)).astype(np.float32)
    only = Linearizer(engine, sensors=False)
    engine.forward()
    pulled = only.pull(wp.array(along, device="cpu")).numpy()[:, 0]
    expected = np.einsum("wr,wrc->wc", along, found[:, : line.nx])
    np.testing.assert_allclose(pulled, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_activations_end_as_their_dynamics_say():
    m = mujoco.MjModel.from_xml_string(MUSCLES)
    states = []
    for seed in range(3):
        d, rng = mujoco.MjData(m), np.random.default_rng(seed)
        d.qpos[:], d.qvel[:] = np.float32(rng.normal(size=2)), np.float32(rng.normal(size=2))
        d.act[:] = np.float32([0.3, 0.2, 0.1 if seed else 0.4999])  # the last one reaches its limit within the step
        d.ctrl[:] = np.float32([0.6, 0.4, 0.9])
        states.append(d)
    compare(m, states, asked=2e-5)


@pytest.mark.parametrize("name", ["hopper", "walker2d", "ant"])
def test_models_of_gymnasium(name):
    folder = Path(importlib.util.find_spec("gymnasium").submodule_search_locations[0]) / "envs/mujoco/assets"
    m = converging(mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml")))
    assert m.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    d, rng = mujoco.MjData(m), np.random.default_rng(1)
    states = []
    for k in range(300):
        d.ctrl[:] = rng.uniform(-0.4, 0.4, m.nu)
        mujoco.mj_step(m, d)
        if k in (20, 299):
            state = mujoco.MjData(m)
            for field in ("qpos", "qvel", "ctrl"):
                getattr(state, field)[:] = np.float32(getattr(d, field))
            states.append(state)
    compare(m, states)


def test_gradients_through_a_rollout():
    """Of controls and of parameters, also those that say how activations end, by differences of MuJoCo."""
    torch = pytest.importorskip("torch")
    from kinema.gradients.rollout import rollout

    m = mujoco.MjModel.from_xml_string(MUSCLES)
    given = {"dof_damping": np.array([0.1, 0.05]), "actuator_dynprm": m.actuator_dynprm.copy()}
    ctrl = np.random.default_rng(2).uniform(0.2, 0.8, (6, 3))

    def cost(ctrl: np.ndarray, values: dict[str, np.ndarray]) -> float:
        for name, value in values.items():
            getattr(m, name)[:] = value.reshape(getattr(m, name).shape)
        d = mujoco.MjData(m)
        for u in ctrl:
            d.ctrl[:] = u
            mujoco.mj_step(m, d)
        return float((d.qvel**2).sum() + d.act.sum())

    sim = Simulation(MUSCLES, device="cpu")
    leaves = {name: torch.tensor(np.float32(value), requires_grad=True) for name, value in given.items()}
    controls = torch.tensor(np.float32(ctrl[:, None]), requires_grad=True)
    path = rollout(sim, controls, parameters=leaves, every=4)
    ((path.qvel[-1] ** 2).sum() + path.act[-1].sum()).backward()
    ours = float((path.qvel[-1] ** 2).sum().detach() + path.act[-1].sum().detach())
    assert abs(cost(ctrl, given) - ours) < 1e-4

    def slope(name: str, at: tuple[int, ...]) -> float:
        ends = []
        for sign in (1, -1):
            values = {key: value.copy() for key, value in given.items()} | {"ctrl": ctrl.copy()}
            values[name][at] += sign * 1e-6
            ends.append(cost(values.pop("ctrl"), values))
        return (ends[0] - ends[1]) / 2e-6

    by_control = np.array([[slope("ctrl", (t, k)) for k in range(3)] for t in range(6)])
    np.testing.assert_allclose(controls.grad.numpy()[:, 0], by_control, rtol=1e-3, atol=1e-3 * np.abs(by_control).max())
    for name, at in (("dof_damping", (1,)), ("actuator_dynprm", (1, 0)), ("actuator_dynprm", (0, 1))):
        found = float(leaves[name].grad.numpy()[at])
        assert found == pytest.approx(slope(name, at), rel=2e-3), (name, at)


def test_what_is_not_differentiated_is_refused_by_name():
    motor = MUSCLES.replace(
        '<general joint="b" dyntype="filterexact" dynprm=".02" gainprm="2"/>',
        '<dcmotor joint="b" motorconst=".05" resistance="2" inductance=".003"/>',
    )
    with pytest.raises(BuildError, match='DC motors.*RK4.*use method="fd"'):
        Simulation(motor, device="cpu").linearize()


def test_kernels_compile_for_hopper():
    text = compile_kernel(follow)
    assert all(kernel.key in text for kernel in (take_in, evaluate, follow, finish)) and stack(text) < 1000


def test_evaluations_are_in_closed_form_where_there_is_one():
    """The same numbers as by duals; a damper of two powers makes no difference to an integrator that takes none in."""
    xml = MUSCLES[: MUSCLES.index("<muscle")] + '<position joint="a" kp="20"/></actuator></mujoco>'
    for damping in (".1", ".1 .3"):
        sim = Simulation(xml.replace('damping=".1"', f'damping="{damping}"'), worlds=2, device="cpu")
        sim.set_state(qpos=[[0.3, 0.1], [-0.2, 0.5]], qvel=[[1.0, -2.0], [0.5, 0.0]], ctrl=0.7)
        one = Linearizer(sim.engine, sensors=False)
        found, each = one().numpy().copy(), one.runs()[0].evaluations
        assert isinstance(each.slopes()[0], Closed)
        each.euler, each._made, each._seen = None, None, (-1, None)
        np.testing.assert_allclose(one().numpy(), found, atol=1e-5)
        assert isinstance(each.slopes()[0], Tangents)


def test_what_a_step_keeps_beside_its_state_is_refused():
    torch = pytest.importorskip("torch")
    from kinema.gradients.rollout import rollout

    late = MUSCLES[: MUSCLES.index("<muscle")] + '<motor joint="a" delay=".008" nsample="4"/></actuator></mujoco>'
    sim = Simulation(late, device="cpu")
    with pytest.raises(BuildError, match="Runge-Kutta step keeps history"):
        rollout(sim, torch.zeros(3, 1, 1, requires_grad=True))
    assert rollout(sim, torch.zeros(3, 1, 1)).qpos.shape == (3, 1, 2)
