"""Gradients through rollouts against differences of MuJoCo's rollouts in double precision."""

import copy
import importlib.util
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from kinema import Simulation
from kinema.errors import BuildError
from kinema.gradients.rollout import rollout

from ..conformance.staged import StagedEngine
from .in_double import differences, stepped

torch = pytest.importorskip("torch")
STEPS = 32


@pytest.fixture(scope="module")
def hopper() -> mujoco.MjModel:
    folder = Path(importlib.util.find_spec("dm_control").submodule_search_locations[0])
    m = mujoco.MjModel.from_xml_path(str(folder / "suite" / "hopper.xml"))
    m.opt.iterations, m.opt.ls_iterations, m.opt.tolerance = 100, 50, 1e-12
    return m


def start(m: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    """Standing on the floor."""
    d = mujoco.MjData(m)
    for _ in range(400):
        mujoco.mj_step(m, d)
    return np.float32(d.qpos), np.float32(d.qvel)


def cost(qpos, qvel):
    """Something of all states; the same for tensors and arrays."""
    return (qpos[..., 2:] ** 2).sum() + 0.1 * (qvel**2).sum() + qpos[-1, ..., 0].sum()


def cost_in_double(m: mujoco.MjModel, qpos, qvel, ctrl) -> float:
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = qpos, qvel
    return cost(*stepped(m, d, ctrl))


def test_a_gradient_through_a_hop_agrees_with_differences(hopper):
    qpos, qvel = start(hopper)
    rng = np.random.default_rng(1)
    ctrl = np.float32(0.3 * rng.uniform(-1, 1, (STEPS, hopper.nu)))
    sim = SimpleNamespace(engine=StagedEngine(hopper, nworld=1))

    def gradients(every):
        sim.engine.reset()
        begin = {"qpos": qpos, "qvel": qvel}
        inputs = {name: torch.tensor(value[None], requires_grad=True) for name, value in begin.items()}
        actions = torch.tensor(ctrl[:, None], requires_grad=True)
        found = rollout(sim, actions, every=every, **inputs)
        cost(found.qpos, found.qvel).backward()
        return [actions.grad[:, 0].numpy(), inputs["qpos"].grad[0].numpy(), inputs["qvel"].grad[0].numpy()]

    found = gradients(5)
    theirs = [
        differences(lambda u: cost_in_double(hopper, qpos, qvel, u), ctrl, 1e-6),
        differences(lambda q: cost_in_double(hopper, q, qvel, ctrl), qpos, 1e-6),
        differences(lambda v: cost_in_double(hopper, qpos, v, ctrl), qvel, 1e-6),
    ]
    # by the start, all 32 steps are multiplied up, on a path that single numbers have drawn
    for mine, judge, most in zip(found, theirs, (1e-4, 5e-4, 5e-4), strict=True):
        size = np.linalg.norm(judge)
        assert size > 1e-3
        assert np.linalg.norm(mine - judge) / size < most
        assert float(np.vdot(mine, judge) / (np.linalg.norm(mine) * size)) > 0.99999
    for mine, again in zip(found, gradients(5), strict=True):
        np.testing.assert_array_equal(mine, again)


def test_masses_and_damping_have_gradients(hopper):
    qpos, qvel = start(hopper)
    ctrl = np.full((8, hopper.nu), 0.2, np.float32)
    sim = SimpleNamespace(engine=StagedEngine(hopper, nworld=1))
    names = ("body_mass", "dof_damping")
    values = {name: torch.tensor(np.float32(getattr(hopper, name)), requires_grad=True) for name in names}
    start_at = {"qpos": torch.tensor(qpos[None]), "qvel": torch.tensor(qvel[None])}
    found = rollout(sim, torch.tensor(ctrl[:, None]), parameters=values, every=4, **start_at)
    cost(found.qpos, found.qvel).backward()
    for name in names:

        def of(value, name=name):
            kept = getattr(hopper, name).copy()
            getattr(hopper, name)[:] = value
            result = cost_in_double(hopper, qpos, qvel, ctrl)
            getattr(hopper, name)[:] = kept
            return result

        judge = differences(of, np.float32(getattr(hopper, name)), 1e-5)
        moving = judge != 0
        assert np.linalg.norm((values[name].grad.numpy() - judge)[moving]) / np.linalg.norm(judge) < 1e-3


def test_friction_and_softness_of_geoms_have_gradients(hopper):
    m = copy.copy(hopper)
    m.geom_friction[:, 0] = np.linspace(0.2, 0.5, m.ngeom)  # it slides, and no two geoms tie
    qpos, qvel = start(m)
    qvel = qvel + np.float32([0.8, *[0] * (m.nv - 1)])
    ctrl = np.full((6, m.nu), 0.2, np.float32)
    sim = SimpleNamespace(engine=StagedEngine(m, nworld=1))
    names = ("geom_friction", "geom_solref", "geom_margin")
    values = {name: torch.tensor(np.float32(getattr(m, name)), requires_grad=True) for name in names}
    start_at = {"qpos": torch.tensor(qpos[None]), "qvel": torch.tensor(qvel[None])}
    found = rollout(sim, torch.tensor(ctrl[:, None]), parameters=values, every=4, **start_at)
    cost(found.qpos, found.qvel).backward()
    for name, eps in zip(names, (1e-5, 1e-6, 1e-7), strict=True):

        def of(value, name=name):
            kept = getattr(m, name).copy()
            getattr(m, name)[:] = value
            result = cost_in_double(m, qpos, qvel, ctrl)
            getattr(m, name)[:] = kept
            return result

        judge = differences(of, np.float32(getattr(m, name)), eps)
        assert np.linalg.norm(judge) > 1e-3, name
        assert np.linalg.norm(values[name].grad.numpy() - judge) / np.linalg.norm(judge) < 2e-3, name


def test_sensors_have_gradients_and_memory_is_said_beforehand(hopper, capsys):
    assert hopper.nsensordata
    qpos, qvel = start(hopper)
    ctrl = np.float32(0.3 * np.random.default_rng(1).uniform(-1, 1, (6, hopper.nu)))
    sim = SimpleNamespace(engine=StagedEngine(hopper, nworld=1))
    actions, weights = torch.tensor(ctrl[:, None], requires_grad=True), np.linspace(1, 2, hopper.nsensordata)
    start_at = {"qpos": torch.tensor(qpos[None]), "qvel": torch.tensor(qvel[None])}
    found = rollout(sim, actions, sensors=True, every=4, verbose=True, **start_at)
    assert "6 steps in 1 worlds" in capsys.readouterr().out
    (found.sensordata * torch.tensor(weights, dtype=torch.float32)).sum().backward()

    def of(controls):
        d, total = mujoco.MjData(hopper), 0.0
        d.qpos[:], d.qvel[:] = qpos, qvel
        for action in controls:
            d.ctrl[:] = action
            mujoco.mj_step(hopper, d)
            total += weights @ d.sensordata
        return total

    judge = differences(of, ctrl, 1e-6)
    assert np.linalg.norm(actions.grad[:, 0].numpy() - judge) / np.linalg.norm(judge) < 1e-3


def test_a_margin_for_derivatives_alone_lets_them_know_of_the_floor():
    m = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .12"><joint type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody></mujoco>""")
    sim = SimpleNamespace(engine=StagedEngine(m, nworld=1))

    def gradient(**options):
        sim.engine.reset()
        begin = torch.zeros(1, 1, requires_grad=True)
        path = rollout(sim, torch.zeros(2, 1, 0), qpos=begin, **options)
        path.qvel[-1].sum().backward()
        return float(begin.grad[0, 0]), path.qpos.detach().numpy()

    (hard, states), (soft, same) = gradient(), gradient(smooth={"geom_margin": np.full(2, 0.02)})
    assert hard == 0.0 and soft < -0.01  # nearer the floor, it would be pushed up more
    np.testing.assert_array_equal(states, same)
    np.testing.assert_array_equal(sim.engine.read("geom_margin"), 0.0)
    with pytest.raises(BuildError, match="smooth.*geom_margin"):
        gradient(smooth={"geom_margni": 0.1})


PENDULUM = """<mujoco><option timestep=".01"/><worldbody><body><joint name="j" axis="0 1 0" damping=".1" {}/>
  <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/></body></worldbody>
  <actuator><motor name="m" joint="j" {}/></actuator><sensor><jointpos joint="j" {}/></sensor></mujoco>"""


@pytest.mark.parametrize(
    "xml",
    [
        PENDULUM.format("", 'nsample="4" delay=".02"', ""),
        PENDULUM.format("", 'nsample="5" delay=".025" interp="cubic"', 'nsample="6" delay=".037" interp="linear"'),
        PENDULUM.format("", "", 'nsample="4" interval=".03"'),
        PENDULUM.format('stiffness="20" springyield=".004"', "", ""),
    ],
    ids=["delay", "between samples", "interval", "yield"],
)
def test_gradients_go_through_what_a_step_remembers(xml):
    m, n = mujoco.MjModel.from_xml_string(xml), 14

    def cost(ctrl):
        d = mujoco.MjData(m)
        sum = 0.0
        for u in ctrl:
            d.ctrl[:] = u
            mujoco.mj_step(m, d)
            sum += d.sensordata[0]
        return sum + d.qpos[0]

    sim, ctrl = Simulation(xml, worlds=2), np.full((n, 1), 0.8)
    actions = torch.tensor(np.float32(np.tile(ctrl[:, None], (1, 2, 1))), requires_grad=True)
    path = rollout(sim, actions, sensors=True, every=4)
    (path.sensordata[:, 0].sum() + path.qpos[-1, 0].sum()).backward()
    expected = differences(cost, ctrl, 1e-5)
    np.testing.assert_allclose(actions.grad[:, 0], expected, atol=2e-4 * np.abs(expected).max())
    assert not torch.any(actions.grad[:, 1])


def test_a_linearization_refuses_delays_as_mujoco_does():
    sim = Simulation(PENDULUM.format("", 'nsample="4" delay=".02"', ""))
    for method in ("exact", "fd"):
        with pytest.raises(BuildError, match=r"actuator_delay\[0\].*rollout"):
            sim.linearize(method=method)
    sim.m.actuator_delay = 0.0
    assert sim.linearize().B[0, 1, 0] > 0
    late = Simulation(PENDULUM.format("", "", 'nsample="4" interval=".03"'))
    with pytest.raises(BuildError, match="sensors=False"):
        late.linearize()
    assert late.linearize(sensors=False).B[0, 1, 0] > 0


def test_going_back_asks_nothing_of_what_happened_since():
    sim = Simulation(PENDULUM.format("", "", ""), worlds=2)

    def forth(damping):
        sim.reset()
        number = torch.tensor([damping], requires_grad=True)
        ctrl = torch.full((6, 2, 1), 0.5, requires_grad=True)
        return number, ctrl, rollout(sim, ctrl, parameters={"dof_damping": number}).qpos[-1].sum()

    number, ctrl, cost = forth(0.1)
    cost.backward()
    again, actions, cost = forth(0.1)
    forth(2.0)  # another value of the same parameter
    sim.m.opt.gravity = [0, 0, -2.0]  # a parameter that nobody gave
    sim.set_state(qpos=0.7)
    cost.backward()
    assert torch.equal(again.grad, number.grad) and torch.equal(actions.grad, ctrl.grad)
    assert np.all(sim.d.qpos == np.float32(0.7)) and sim.m.dof_damping[0] == 2.0 and sim.m.opt.gravity[2] == -2.0
    _, _, cost = forth(0.1)
    sim.engine.set_option("disableflags", int(mujoco.mjtDisableBit.mjDSBL_GRAVITY))
    with pytest.raises(BuildError, match="disableflags was changed between"):
        cost.backward()


def test_a_frozen_world_has_the_derivatives_of_one_that_stays():
    sim = Simulation(PENDULUM.format("", "", ""), worlds=2)
    sim.set_state(qvel=[[1e12], [0.0]])
    sim.step()
    number = torch.tensor([0.1], requires_grad=True)
    qpos = torch.tensor([[0.3], [0.0]], requires_grad=True)
    ctrl = torch.full((6, 2, 1), 0.5, requires_grad=True)
    rollout(sim, ctrl, qpos=qpos, parameters={"dof_damping": number}).qpos[-1].sum().backward()
    assert not torch.any(ctrl.grad[:, 0]) and torch.all(ctrl.grad[:, 1] > 0)
    assert qpos.grad[0] == 1 and abs(float(number.grad)) < 1
    assert list(sim.trouble()) == [0]


@pytest.mark.parametrize(
    "options, said",
    [
        ({"ctrl": np.zeros((5, 3, 1))}, "ctrl of shape"),
        ({"ctrl": np.zeros((0, 2, 1))}, "a step at least"),
        ({"qpos": np.zeros((3, 1))}, r"qpos of shape \(3, 1\): expected \(2, 1\)"),
        ({"qvel": np.zeros(1)}, "qvel of shape"),
        ({"every": 0}, "every=0"),
        ({"every": 2.5}, "every=2.5"),
        ({"parameters": {"dof_dampin": np.zeros(1)}}, "did you mean 'dof_damping'"),
    ],
)
def test_mistakes_of_a_rollout_are_explained(options, said):
    sim = Simulation(PENDULUM.format("", "", ""), worlds=2)
    with pytest.raises(BuildError, match=said):
        rollout(sim, **{"ctrl": np.zeros((5, 2, 1)), **options})


def test_arrays_will_do_for_tensors_and_refusals_come_before_the_steps():
    xml = PENDULUM.format("", "", "").replace("<worldbody>", '<option><flag sleep="enable"/></option><worldbody>')
    sim = Simulation(xml, worlds=2)
    assert rollout(sim, np.zeros((5, 2, 1)), qpos=np.ones((2, 1))).qpos.shape == (5, 2, 1)
    with pytest.raises(BuildError, match="sleep"):
        rollout(sim, torch.zeros(5, 2, 1, requires_grad=True))


@pytest.mark.gpu
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_a_rollout_on_cuda_has_the_gradients_of_the_cpu(hopper, where):
    """Wherever torch's tensors are; twice the same bits."""
    qpos, qvel = start(hopper)
    ctrl = np.float32(0.3 * np.random.default_rng(1).uniform(-1, 1, (8, 3, hopper.nu)))

    def gradient(device: str, tensors: str) -> tuple[np.ndarray, np.ndarray]:
        sim = Simulation(hopper, worlds=3, device=device)
        sim.set_state(qpos=qpos, qvel=qvel)
        actions = torch.tensor(ctrl, device=tensors, requires_grad=True)
        damping = torch.tensor(np.float32(hopper.dof_damping), device=tensors, requires_grad=True)
        path = rollout(sim, actions, parameters={"dof_damping": damping}, every=3)
        assert path.qpos.device.type == tensors
        cost(path.qpos, path.qvel).backward()
        return actions.grad.cpu().numpy(), damping.grad.cpu().numpy()

    expected, found, again = gradient("cpu", "cpu"), gradient("cuda:0", where), gradient("cuda:0", where)
    for k in range(2):
        np.testing.assert_allclose(found[k], expected[k], rtol=1e-3, atol=1e-4 * np.abs(expected[k]).max())
        assert np.array_equal(found[k], again[k])
