"""What contacts of 1, 3, 4 and 6 dimensions do, under both cones: slide, spin, roll, stick.

Rules are MuJoCo's: friction by element-wise maximum, pyramids as well as elliptic cones.
"""

import mujoco
import numpy as np
import pytest

from kinema.convex.contact_force import contact_forces
from tests.conformance.dynamics import engine_jacobian
from tests.conformance.staged import StagedEngine

CONES = pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
GRAVITY, RADIUS = 9.81, 0.1
SPIN, ROLL = 0.004, 0.01

BALL = """
<mujoco>
  <option cone="{cone}" timestep=".002"/>
  <worldbody>
    <geom type="plane" size="99 99 9" condim="1" friction="0 0 0"/>
    <body pos="0 0 .1"><freejoint/>
      <geom size=".1" condim="{condim}" friction="{friction}" mass="2" solref=".01 1"/></body>
    <body pos="9 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  </worldbody>
</mujoco>
"""

MIXED = """
<mujoco>
  <option cone="{cone}" solver="{solver}" iterations="{iterations}" tolerance="1e-10"/>
  <worldbody>
    <geom type="plane" size="99 99 9" condim="1"/>
    <body pos="0 0 .098"><freejoint/><geom size=".1" condim="1"/></body>
    <body pos="1 0 .098"><freejoint/><geom size=".1" condim="3"/></body>
    <body pos="2 0 .098"><freejoint/><geom size=".1" condim="4" friction=".5 .02 .01"/></body>
    <body pos="3 0 .098"><freejoint/><geom size=".1" condim="6" friction=".5 .02 .01"/></body>
    <body pos="5 0 .1"><freejoint/><geom type="box" size=".1 .1 .102" condim="{box}"/></body>
  </worldbody>
</mujoco>
"""


def ball(cone, condim, friction=f".8 {SPIN} {ROLL}"):
    return mujoco.MjModel.from_xml_string(BALL.format(cone=cone, condim=condim, friction=friction))


def mixed(cone, box=3, solver="Newton", iterations=100):
    return mujoco.MjModel.from_xml_string(MIXED.format(cone=cone, box=box, solver=solver, iterations=iterations))


def start(m, **state):
    engine = StagedEngine(m, device="cpu")
    for name, value in state.items():
        engine.write(name, value)
    return engine


def velocity(m, **of_ball):
    v = np.zeros(m.nv)
    for i, value in of_ball.items():
        v["xyzabc".index(i)] = value  # linear xyz, angular abc
    return v


def sliding(m):
    """A moving start of the mixed scene: every body slides, spins and rolls a little."""
    return np.random.default_rng(1).normal(size=m.nv) * 0.3


# ------------------------------------------------------------------------------------------- one condim at a time


@CONES
def test_condim_1_pushes_only(cone):
    """Criterion 1: nothing tangential; the ball keeps its speed and its spin."""
    m = ball(cone, 1)
    v = velocity(m, x=1.0, c=5.0)
    engine = start(m, qvel=v)
    engine.step(200)
    force = contact_forces(engine).numpy()[0, 0]
    assert force[0] > 0 and not force[1:].any()
    np.testing.assert_allclose(engine.read("qvel")[0, [0, 1, 5]], v[[0, 1, 5]], atol=1e-5)


@CONES
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_spinning_ball(cone, condim):
    """Criterion 3: from condim 4 on spin is braked by mu_spin N; under condim 3 it lasts."""
    m = ball(cone, condim)
    engine = start(m, qvel=velocity(m, c=8.0))
    engine.step(100)
    before = engine.read("qvel")[0, 5]
    engine.step(200)
    lost = before - engine.read("qvel")[0, 5]
    if condim == 3:
        assert abs(lost) < 1e-4 * 8
    else:
        inertia = 0.4 * 2.0 * RADIUS**2
        assert lost == pytest.approx(SPIN * 2.0 * GRAVITY / inertia * 0.4, rel=0.02 if cone == "elliptic" else 0.12)
        force = contact_forces(engine).numpy()[0, 0]
        assert abs(force[3]) <= SPIN * force[0] * (1 + 1e-4)


@CONES
@pytest.mark.parametrize("condim", [3, 4, 6])
def test_rolling_ball(cone, condim):
    """Criterion 4: only condim 6 brakes rolling, by mu_roll N about the contact; else it rolls forever."""
    m = ball(cone, condim)
    engine = start(m, qvel=velocity(m, x=2.0, b=2.0 / RADIUS))
    engine.step(100)
    before = engine.read("qvel")[0, 0]
    engine.step(500)
    lost = before - engine.read("qvel")[0, 0]
    if condim == 6:
        rolling = 1.4 * 2.0 * RADIUS**2  # inertia about the contact
        wanted = ROLL * 2.0 * GRAVITY / rolling * RADIUS * 1.0
        if cone == "pyramidal":  # what braking takes of the friction, rolling does not get
            wanted /= 1 + RADIUS * ROLL * 2.0 / (0.8 * rolling)
        assert lost == pytest.approx(wanted, rel=0.03)
        force = contact_forces(engine).numpy()[0, 0]
        assert np.hypot(force[4], force[5]) <= ROLL * force[0] * (1 + 1e-4)
    else:
        assert abs(lost) < 1e-3 * 2.0


@CONES
def test_defaults_are_condim_3(cone):
    """Criteria 2 and 7: no condim and condim 3 are the same bits, and MuJoCo's forces."""
    m = mixed(cone)
    plain = mujoco.MjModel.from_xml_string(MIXED.replace(' condim="{box}"', "").format(
        cone=cone, solver="Newton", iterations=100))  # fmt: skip
    runs = [start(model, qvel=sliding(m)) for model in (m, plain)]
    for engine in runs:
        engine.step(20)
    np.testing.assert_array_equal(runs[0].read("qpos"), runs[1].read("qpos"))
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = runs[0].read("qpos")[0], runs[0].read("qvel")[0]
    mujoco.mj_forward(m, d)
    runs[0].forward()
    theirs = np.zeros((d.ncon, 6))
    for c in range(d.ncon):
        mujoco.mj_contactForce(m, d, c, theirs[c])
    np.testing.assert_allclose(
        contact_forces(runs[0]).numpy()[0, : d.ncon], theirs, atol=5e-3 * np.abs(theirs).max(), rtol=0
    )


# ------------------------------------------------------------------------------------------- together


@CONES
def test_condims_coexist(cone):
    """Criterion 5: in one scene each contact is what it is alone, to the last dimension."""
    m = mixed(cone)
    engine = start(m, qvel=sliding(m))
    engine.forward()
    dims = engine.read("contact_dim")[0]
    forces = contact_forces(engine).numpy()[0]
    assert sorted(dims[:4]) == [1, 3, 4, 6]
    for c in range(4):
        used = np.abs(forces[c]) > 0
        assert used[0] and not used[dims[c] :].any() and (used[1 : dims[c]].any() or dims[c] == 1)


def test_condim_is_the_larger():
    """Criterion 6: plane of condim 1 and ball of condim n make a contact of condim n, friction element by element."""
    for condim in (1, 3, 4, 6):
        m = ball("elliptic", condim, friction=".3 .02 .01")
        m.geom_friction[0] = [0.9, 0.001, 0.5]
        engine = start(m)
        engine.forward()
        assert engine.read("contact_dim")[0, 0] == condim
        np.testing.assert_allclose(engine.read("contact_friction")[0, 0], [0.9, 0.9, 0.02, 0.5, 0.5], rtol=1e-6)


@CONES
@pytest.mark.parametrize("solver", ["CG", "PGS"])
def test_solvers_agree(cone, solver):
    """Criteria 11 to 13: blocks of 1, 3, 4 and 6 rows in one scene, the same acceleration by every solver."""
    m = mixed(cone)
    exact = start(m, qvel=sliding(m))
    exact.forward()
    other = start(mixed(cone, solver=solver, iterations=500), qvel=sliding(m))
    other.forward()
    scale = np.abs(exact.read("qacc")).max()
    np.testing.assert_allclose(other.read("qacc"), exact.read("qacc"), rtol=0, atol=5e-3 * scale)


def test_frictionless_scene_has_a_row_a_contact():
    """Criterion 16."""
    m = mixed("elliptic", box=1)
    m.geom_condim[:] = 1
    engine = start(m, qvel=sliding(m))
    engine.forward()
    count = engine.read("ncon")[0]
    assert count == 8 and engine.read("nefc")[0] == count
    assert not contact_forces(engine).numpy()[0, :, 1:].any()


def test_warm_start_survives_another_condim():
    """Criterion 17: it is an acceleration, so it helps when contacts stay and does no harm when they change."""
    m = mixed("elliptic")
    engine = start(m, qvel=sliding(m))
    engine.forward()
    cold = int(engine.read("solver_niter")[0])
    engine.write("qacc_warmstart", engine.read("qacc"))  # as a step does
    engine.forward()
    assert engine.read("solver_niter")[0] < cold
    other = mixed("elliptic", box=6)
    warm, fresh = (start(other, qvel=sliding(m)) for _ in range(2))
    warm.write("qacc_warmstart", engine.read("qacc"))
    for run in (warm, fresh):
        run.forward()
    scale = np.abs(fresh.read("qacc")).max()
    np.testing.assert_allclose(warm.read("qacc"), fresh.read("qacc"), rtol=0, atol=2e-3 * scale)


@CONES
def test_no_contacts(cone):
    """Criterion 18: nothing touches, nothing breaks."""
    m = mixed(cone)
    high = m.qpos0.copy()
    high[2::7] += 5.0
    engine = start(m, qpos=high)
    engine.step(10)
    assert engine.read("ncon")[0] == engine.read("nefc")[0] == 0
    np.testing.assert_allclose(engine.read("qvel")[0][2::6], -GRAVITY * 10 * m.opt.timestep, rtol=1e-4)
    assert not contact_forces(engine).numpy().any()


# ------------------------------------------------------------------------------------------- rows


def test_spin_and_roll_rows_by_finite_differences():
    """Criteria 14 and 15: rows 3 to 5 turn joint velocities into relative rotation about the contact's axes."""
    m = mixed("elliptic", box=6)
    engine = start(m)
    engine.forward()
    jacobian = engine_jacobian(engine)
    dims, rows = engine.read("contact_dim")[0], engine.array("contact_address").numpy()[0]
    pick = [c for c in range(engine.read("ncon")[0]) if dims[c] == 6]
    assert pick
    eps = 1e-2
    for c in pick:
        frame = engine.read("contact_frame")[0, c].reshape(3, 3)
        body = m.geom_bodyid[engine.read("contact_geom")[0, c]]
        first = m.body_dofadr[body.max()]
        for dof in range(first, first + 6):
            turned = [rotations(m, dof, sign * eps)[body] for sign in (1, -1)]
            rates = []
            for b in range(2):
                spin = turned[0][b] @ turned[1][b].T
                rates.append(np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2)
            wanted = frame @ (rates[1] - rates[0]) / np.sin(2 * eps)
            np.testing.assert_allclose(jacobian[rows[c] + 3 : rows[c] + 6, dof], wanted, atol=1e-4)


def rotations(m, dof, angle):
    """Orientations of all bodies after a small motion along one dof."""
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, np.eye(m.nv)[dof], angle)
    engine = start(m, qpos=d.qpos)
    engine.forward()
    return engine.read("xmat")[0].reshape(-1, 3, 3).astype(float)
