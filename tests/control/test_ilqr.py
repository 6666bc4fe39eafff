"""Iterative LQR and path integrals against closed forms: Riccati's recursion, and bounded least squares for limits."""

import mujoco
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from kinema import Simulation
from kinema.errors import BuildError

torch = pytest.importorskip("torch")
from kinema.control import ilqr, mppi  # noqa: E402
from kinema.control.box import minimise  # noqa: E402
from kinema.control.expansion import expand  # noqa: E402
from kinema.control.problem import Point  # noqa: E402
from kinema.gradients.manifold import Manifold  # noqa: E402

H, MASS, STEPS = 0.05, 2.0, 80
STATE, FORCE, LAST = np.diag([1.0, 0.3]), 0.1, 5.0  # weights of residuals
XML = f"""
<mujoco>
  <option timestep="{H}" gravity="0 0 0"/>
  <worldbody><body><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="{MASS}"/></body></worldbody>
  <actuator><motor joint="rail"/></actuator>
  <sensor><jointpos joint="rail"/></sensor>
</mujoco>
"""
START = np.array([[1.0, 0.0], [-0.5, 0.3], [0.2, -0.2]])
A, B = np.array([[1, H], [0, 1]]), np.array([[H * H], [H]]) / MASS


@pytest.fixture(scope="module")
def sim():
    made = Simulation(XML, worlds=len(START))
    made.set_state(qpos=START[:, :1], qvel=START[:, 1:])
    return made


def running(point):
    return torch.cat([point.qpos, 0.3 * point.qvel, FORCE * point.ctrl], -1)


def final(point):
    return LAST * torch.cat([point.qpos, point.qvel], -1)


def riccati():
    """The best gains of every step."""
    P, found = LAST**2 * np.eye(2), []
    for _ in range(STEPS):
        K = np.linalg.solve(FORCE**2 + B.T @ P @ B, B.T @ P @ A)
        P = STATE**2 + A.T @ P @ (A - B @ K)
        found.append(K)
    return found[::-1]


def lqr(start):
    x, found = start.astype(float), []
    for K in riccati():
        found.append(-K @ x)
        x = A @ x + B @ found[-1]
    return np.array(found)


def test_a_double_integrator_is_controlled_as_lqr_does(sim):
    before = sim.get_state()
    plan = ilqr.solve(sim, np.zeros((STEPS, 1)), running=running, final=final, mu=0.0)
    assert plan.ctrl.shape == (STEPS, 3, 1) and plan.qpos.shape == (STEPS + 1, 3, 1)
    for world, start in enumerate(START):
        np.testing.assert_allclose(plan.ctrl[:, world], lqr(start), atol=2e-3)
    np.testing.assert_allclose(-plan.gains[0, 0], riccati()[0], rtol=1e-4)
    forever = scipy.linalg.solve_discrete_are(A, B, STATE**2, np.array([[FORCE**2]]))
    gain = np.linalg.solve(FORCE**2 + B.T @ forever @ B, B.T @ forever @ A)
    np.testing.assert_allclose(-plan.gains[0, 0], gain, rtol=1e-3)
    assert plan.converged.all() and len(plan.costs) <= 5 and (np.diff(plan.costs, axis=0) <= 0).all()
    for name, value in sim.get_state().items():
        np.testing.assert_array_equal(value, before[name])
    # the gains answer to being elsewhere as the optimal ones do
    elsewhere = START + [0.1, -0.05]
    wanted = plan.ctrl[0] - (elsewhere - START) @ riccati()[0].T
    np.testing.assert_allclose(plan.control(0, elsewhere[:, :1], elsewhere[:, 1:]), wanted, atol=2e-3)


def within(start, most, braking=0.0):
    """The best controls within limits: the path is linear in them, the cost a sum of squares."""
    rows, right = [], []
    free = start.astype(float)
    effect = np.zeros((2, STEPS))
    for t in range(STEPS):
        rows += [*(STATE @ effect), FORCE * np.eye(STEPS)[t]]
        right += [*(-STATE @ free), 0.0]
        effect = A @ effect
        effect[:, t] += B[:, 0]
        free = A @ free
    rows += [*(LAST * effect), braking * np.eye(STEPS)[-1]]
    right += [*(-LAST * free), 0.0]
    found = scipy.optimize.lsq_linear(np.array(rows), np.array(right), (-most, most), tol=1e-12)
    return found.x, found.cost


def test_limits_hold_and_the_rest_is_best(sim):
    plan = ilqr.solve(sim, np.zeros((STEPS, 1)), running=running, final=final, mu=0.0, limits=(-4.0, 4.0))
    again = ilqr.solve(sim, np.zeros((STEPS, 1)), running=running, final=final, mu=0.0, limits=(-4.0, 4.0))
    np.testing.assert_array_equal(plan.ctrl, again.ctrl)
    reached = 0
    for world, start in enumerate(START):
        wanted, cost = within(start, 4.0)
        np.testing.assert_allclose(plan.ctrl[:, world, 0], wanted, atol=0.05)
        assert plan.cost[world] == pytest.approx(cost, rel=1e-4)
        reached += (np.abs(wanted) > 3.999).sum()
    assert reached > 5 and np.abs(plan.ctrl).max() <= 4.0


def test_a_final_cost_may_be_of_the_last_controls(sim):
    def braked(point):
        return torch.cat([final(point), 3.0 * point.ctrl], -1)

    first = np.full((STEPS, 1), 0.5)
    plan = ilqr.solve(sim, first, running=running, final=braked, mu=0.0)
    for world, start in enumerate(START):
        wanted, cost = within(start, 1e3, braking=3.0)
        np.testing.assert_allclose(plan.ctrl[:, world, 0], wanted, atol=5e-3)
        assert plan.cost[world] == pytest.approx(cost, rel=1e-4)


def test_sensors_and_costs_that_are_no_squares_say_the_same(sim):
    goals = torch.tensor([[0.5], [0.0], [-0.5]])

    def by_sensor(point):
        return torch.cat([point.sensordata - goals[point.world], 0.3 * point.qvel, FORCE * point.ctrl], -1)

    def by_cost(point):
        squares = (point.qpos - goals[point.world]) ** 2 + (0.3 * point.qvel) ** 2 + (FORCE * point.ctrl) ** 2
        return 0.5 * squares.sum(-1)

    plans = [ilqr.solve(sim, np.zeros((STEPS, 1)), running=cost, mu=0.0) for cost in (by_sensor, by_cost)]
    np.testing.assert_allclose(plans[0].ctrl, plans[1].ctrl, atol=2e-3)
    np.testing.assert_allclose(plans[0].qpos[-20, :, 0], goals[:, 0], atol=0.02)


def test_path_integrals_come_near_and_never_get_worse(sim):
    options = {"running": running, "final": final, "samples": 48, "iterations": 30, "hold": 8, "limits": (-4.0, 4.0)}
    plan = mppi.solve(sim, np.zeros((STEPS, 1)), seed=1, **options)
    assert (np.diff(plan.costs, axis=0) <= 0).all() and np.abs(plan.ctrl).max() <= 4.0
    best = np.array([within(start, 4.0)[1] for start in START])
    assert (plan.cost < 1.2 * best).all() and (plan.costs[0] > 1.5 * best).any()
    np.testing.assert_array_equal(plan.ctrl, mppi.solve(sim, np.zeros((STEPS, 1)), seed=1, **options).ctrl)
    assert not np.array_equal(plan.ctrl, mppi.solve(sim, np.zeros((STEPS, 1)), seed=2, **options).ctrl)


def test_wrong_calls_say_what_is_expected(sim):
    with pytest.raises(BuildError, match="running cost, a final cost"):
        ilqr.solve(sim, np.zeros((5, 1)))
    with pytest.raises(BuildError, match=r"ctrl of shape \(5, 2\).*\(steps, 3, 1\)"):
        ilqr.solve(sim, np.zeros((5, 2)), running=running)
    with pytest.raises(BuildError, match=r"shape \(150, 1, 1\)"):
        ilqr.solve(sim, np.zeros((5, 1)), running=lambda p: p.qpos[..., None])
    with pytest.raises(BuildError, match="lowest controls are above"):
        ilqr.solve(sim, np.zeros((5, 1)), running=running, limits=(1.0, -1.0))
    with pytest.raises(BuildError, match="not finite"):
        ilqr.solve(sim, np.zeros((5, 1)), running=lambda p: p.qpos / 0)


def test_boxed_programs_agree_with_scipy():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(30, 4, 4))
    Q = np.swapaxes(roots, 1, 2) @ roots + 0.1 * np.eye(4)
    q = rng.normal(size=(30, 4))
    low, high = -rng.uniform(0, 0.5, (30, 4)), rng.uniform(0, 0.5, (30, 4))
    found, free = minimise(torch, *(torch.tensor(x) for x in (Q, q, low, high)))
    for k in range(30):
        factor = np.linalg.cholesky(Q[k]).T
        right = -np.linalg.solve(factor.T, q[k])
        wanted = scipy.optimize.lsq_linear(factor, right, (low[k], high[k]), tol=1e-14)
        np.testing.assert_allclose(found[k], wanted.x, atol=1e-6)
    assert 0 < free.double().mean() < 1


BALLS = """
<mujoco><worldbody>
  <body><freejoint/><geom size=".1"/><body pos=".2 0 0"><joint type="ball"/><geom size=".1"/></body></body>
  <body pos="0 1 0"><joint/><geom size=".1"/></body>
</worldbody></mujoco>
"""


def test_positions_move_on_their_manifold_as_in_mujoco():
    m = mujoco.MjModel.from_xml_string(BALLS)
    manifold, rng = Manifold(m), np.random.default_rng(1)
    q = [m.qpos0.copy() for _ in range(2)]
    for each in q:
        mujoco.mj_integratePos(m, each, rng.normal(size=m.nv), 1.0)
    wanted = np.zeros(m.nv)
    mujoco.mj_differentiatePos(m, wanted, 1.0, q[0], q[1])
    tensors = [torch.tensor(each) for each in q]
    np.testing.assert_allclose(manifold.difference(tensors[1], tensors[0]), wanted, atol=1e-10)
    many = manifold.difference(tensors[1].expand(2, 3, m.nq), tensors[0].expand(3, m.nq))  # copies, against originals
    np.testing.assert_allclose(many, np.broadcast_to(wanted, (2, 3, m.nv)), atol=1e-10)
    small = 1e-4 * rng.normal(size=m.nv)
    moved = q[0].copy()
    mujoco.mj_integratePos(m, moved, small, 1.0)
    np.testing.assert_allclose(manifold.moved(tensors[0], torch.tensor(small)), moved, atol=1e-11)


def test_costs_are_expanded_in_the_tangent_space():
    m = mujoco.MjModel.from_xml_string(BALLS)
    manifold, rng = Manifold(m), np.random.default_rng(2)
    q = m.qpos0.copy()
    mujoco.mj_integratePos(m, q, rng.normal(size=m.nv), 1.0)
    weight = torch.tensor(rng.normal(size=(m.nq, 3)), dtype=torch.float32)

    def cost(point):
        return torch.sin(point.qpos @ weight).sum(-1) ** 2 + (point.qvel**2).sum(-1) + point.ctrl[:, 0] ** 2

    def at(z):
        place = q.copy()
        mujoco.mj_integratePos(m, place, z[: m.nv], 1.0)
        parts = place, z[m.nv : 2 * m.nv], np.zeros(0), z[2 * m.nv :], np.zeros(0)
        tensors = (torch.tensor(part[None], dtype=torch.float64) for part in parts)
        return Point(*tensors, torch.zeros(1).long(), torch.zeros(1).long())

    def value(z):
        point = at(z)
        return float(torch.sin(point.qpos @ weight.double()).sum() ** 2 + (point.qvel**2).sum() + point.ctrl[0, 0] ** 2)

    n = 2 * m.nv + 1
    point = at(np.zeros(n))
    names = ("qpos", "qvel", "act", "ctrl", "sensordata")
    point = Point(*(getattr(point, name).float() for name in names), point.step, point.world)
    found = expand(torch, manifold, cost, point)
    eye, eps = np.eye(n), 1e-4
    g = np.array([(value(eps * e) - value(-eps * e)) / (2 * eps) for e in eye])
    np.testing.assert_allclose(found.g[0], g, atol=1e-4)
    H = np.array([[
        (value(eps * (a + b)) - value(eps * (a - b)) - value(eps * (b - a)) + value(-eps * (a + b))) / (4 * eps**2)
        for b in eye] for a in eye])  # fmt: skip
    values, vectors = np.linalg.eigh(H)
    assert values.min() < -0.01  # so that something is cut off
    np.testing.assert_allclose(found.H[0], (vectors * values.clip(0)) @ vectors.T, atol=2e-3)


FLYER = """
<mujoco>
  <option timestep="0.02" integrator="implicitfast"/>
  <worldbody>
    <body name="flyer" pos="0 0 1">
      <freejoint/>
      <geom type="box" size=".2 .15 .03" mass="1"/>
      <site name="a" pos=".2 .2 0"/><site name="b" pos="-.2 .2 0"/>
      <site name="c" pos="-.2 -.2 0"/><site name="d" pos=".2 -.2 0"/>
    </body>
  </worldbody>
  <actuator>
    <general site="a" gear="0 0 1 0 0 .1" ctrlrange="0 5"/>
    <general site="b" gear="0 0 1 0 0 -.1" ctrlrange="0 5"/>
    <general site="c" gear="0 0 1 0 0 .1" ctrlrange="0 5"/>
    <general site="d" gear="0 0 1 0 0 -.1" ctrlrange="0 5" dyntype="filter" dynprm=".05"/>
  </actuator>
  <sensor><framepos objtype="site" objname="a"/></sensor>
</mujoco>
"""
FLIGHT, GOAL, HOVER = 25, (0.5, 0.2, 1.2), 9.81 / 4


def residuals(xp, corner, qpos, qvel, ctrl):
    """Of a flight, the same for tensors and arrays, [..., n]."""
    goal = corner * 0 + xp.asarray(GOAL, dtype=corner.dtype)
    parts = [corner - goal, qpos[..., 4:7], 0.1 * qvel, 0.1 * (ctrl - HOVER) + 0.1 * qvel[..., :4]]
    return xp.concatenate(parts, -1) if xp is np else torch.cat(parts, -1)


def test_flights_are_as_good_as_mujoco_can_tell():
    """With a free joint, a filtered motor and a sensor: no derivative of the cost by controls is left, in MuJoCo."""
    sim = Simulation(FLYER)
    start = {"qpos": np.array([0, 0, 1, 0.95, 0.2, -0.1, 0.2]), "qvel": np.array([0.1, 0, 0, 0.5, 0, 0])}
    start["qpos"][3:] /= np.linalg.norm(start["qpos"][3:])
    start = {name: np.float32(value) for name, value in start.items()}
    sim.set_state(**start, act=HOVER)

    def cost(point):
        return residuals(torch, point.sensordata, point.qpos, point.qvel, point.ctrl)

    m = mujoco.MjModel.from_xml_string(FLYER)

    def in_double(ctrl):
        d, total = mujoco.MjData(m), 0.0
        d.qpos[:], d.qvel[:], d.act[:] = start["qpos"], start["qvel"], HOVER
        for action in [*ctrl, ctrl[-1]]:
            d.ctrl[:] = action
            mujoco.mj_forward(m, d)
            total += 0.5 * (residuals(np, d.sensordata, d.qpos, d.qvel, d.ctrl) ** 2).sum()
            mujoco.mj_step(m, d)
        return total

    def gradient(ctrl):
        found = np.zeros_like(ctrl)
        for at in np.ndindex(ctrl.shape):
            step = np.zeros_like(ctrl)
            step[at] = 1e-5
            found[at] = (in_double(ctrl + step) - in_double(ctrl - step)) / 2e-5
        return found

    first = np.full((FLIGHT, 4), HOVER)
    plan = ilqr.solve(sim, first, running=cost, final=cost, tolerance=1e-7)
    ctrl = plan.ctrl[:, 0].astype(float)
    assert plan.cost[0] == pytest.approx(in_double(ctrl), rel=1e-4) and plan.cost[0] < 0.5 * plan.costs[0, 0]
    left = gradient(ctrl)
    held = ((ctrl <= 0) & (left > 0)) | ((ctrl >= 5) & (left < 0))
    assert 0 < held.sum() < held.size // 2
    assert np.linalg.norm(left[~held]) < 5e-3 * np.linalg.norm(gradient(first)), np.linalg.norm(left[~held])
