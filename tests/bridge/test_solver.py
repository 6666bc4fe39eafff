"""SolverMuJoCo and SolverConvex run the same Model, and agree."""

import sys

import mujoco
import numpy as np
import pytest

from kinema import ModelBuilder, ModelFlags, SolverConvex, SolverMuJoCo
from kinema.errors import BuildError, MissingExtra
from tests.adapter.hand_built import cartpole, double_pendulum, quadruped
from tests.conformance.models import corpus
from tests.simulation.models import ARM, LIMBS, REMEMBERING

DT = 0.004
OPEN = {
    "humanoid": "dm_control/suite/humanoid.xml",
    "ant": "gymnasium/envs/mujoco/assets/ant.xml",
    "barkour": "shared/menagerie/google_barkour_vb/scene.xml",
}


def of_document(source, worlds=2):
    template = ModelBuilder()
    template.add_mjcf(source)
    main = ModelBuilder()
    SolverMuJoCo.register_custom_attributes(main)
    main.replicate(template, worlds)
    return main.finalize("cpu")


def run(solver, model, steps, dt=DT, **options):
    """States after every step, with controls that differ from world to world."""
    solver = solver(model, **options)
    state, control = model.state(), model.control()
    rng = np.random.default_rng(0)
    if "mujoco:ctrl" in model.fields:
        count = len(control.mujoco.ctrl)
    states = []
    for _ in range(steps):
        if "mujoco:ctrl" in model.fields and count:
            control.mujoco.ctrl.assign(rng.uniform(-0.3, 0.3, count))
        solver.step(state, state, control, None, dt)
        states.append({name: getattr(state, name).numpy().copy() for name in ("joint_q", "joint_qd", "body_q")})
    return solver, states


@pytest.mark.parametrize("name", OPEN)
def test_open_models(name):
    path = next((model.path for model in corpus() if model.name == OPEN[name]), None)
    if path is None:
        pytest.skip(f"{OPEN[name]} is not here")
    model = of_document(path)
    ours, theirs = (run(solver, model, 25)[1] for solver in (SolverConvex, SolverMuJoCo))
    for step in (0, 9, 24):
        for field in ("joint_q", "body_q"):
            np.testing.assert_allclose(ours[step][field], theirs[step][field], atol=5e-4, err_msg=f"{field} {step}")
    moved = np.abs(theirs[-1]["joint_q"] - model.joint_q.numpy()).max()
    assert moved > 5e-4 and not np.array_equal(*np.split(theirs[-1]["joint_q"], 2)), "controls of the worlds differ"


@pytest.mark.parametrize("build", [double_pendulum, cartpole, quadruped])
def test_built_by_hand(build):
    builder, _, start = build()
    main = ModelBuilder()
    SolverMuJoCo.register_custom_attributes(main)
    main.replicate(builder, 2, spacing=(2.0, 0.0, 0.0))
    model = main.finalize("cpu")
    ours, theirs = (run(solver, model, 40, 0.005)[1] for solver in (SolverConvex, SolverMuJoCo))
    for field in ("joint_q", "body_q"):
        np.testing.assert_allclose(ours[-1][field], theirs[-1][field], atol=3e-4)
    np.testing.assert_allclose(ours[-1]["joint_qd"], theirs[-1]["joint_qd"], atol=1e-2)
    assert np.abs(theirs[-1]["joint_qd"]).max() > 1e-3


def test_a_document_beside_shapes_of_no_world():
    main = ModelBuilder()
    SolverMuJoCo.register_custom_attributes(main)
    template = ModelBuilder()
    template.add_mjcf(LIMBS)
    main.add_ground_plane()
    main.replicate(template, 3)
    model = main.finalize("cpu")
    solver, states = run(SolverMuJoCo, model, 200, 0.005, threads=2)
    assert solver.trouble() == {}
    assert solver.mj_model.nq * 3 == model.joint_coord_count and solver.mj_data.time > 0.0
    heights = states[-1]["body_q"].reshape(3, -1, 7)[:, 0, 2]
    assert (heights > 0.02).all() and (heights < 0.5).all(), "they lie on the ground"


def test_what_states_carry_is_read_and_written():
    """Activations and time, forces on joints and bodies, a step out of place."""
    model = of_document(LIMBS)
    solver = SolverMuJoCo(model)
    m = mujoco.MjModel.from_xml_string(LIMBS)
    d = mujoco.MjData(m)
    state, out, control = model.state(), model.state(), model.control()
    d.ctrl[:] = [0.2, 0.7]
    control.mujoco.ctrl.assign(np.tile(d.ctrl, 2))
    wrench = np.zeros((model.body_count, 6), np.float32)
    wrench[0] = (3, 0, 1, 0.1, 0.2, 0)
    state.body_f.assign(wrench)
    d.xfrc_applied[1] = wrench[0]
    solver.step(state, out, control, None, 0.005)
    mujoco.mj_step(m, d)
    np.testing.assert_allclose(out.mujoco.act.numpy(), [d.act[0]] * 2, rtol=1e-6)
    np.testing.assert_allclose(out.mujoco.time.numpy(), d.time)
    np.testing.assert_allclose(out.joint_q.numpy()[:3], d.qpos[:3], atol=1e-6)
    assert state.mujoco.time.numpy().max() == 0 and not np.array_equal(state.joint_q.numpy(), out.joint_q.numpy())


def test_options_and_changes_of_the_model():
    model = of_document(ARM)
    heavy = SolverMuJoCo(model, integrator="rk4", tolerance=1e-10, iterations=7)
    options = heavy.batches[0].engine.models[0].opt
    assert (options.integrator, options.iterations, options.tolerance) == (1, 7, 1e-10)
    ours, theirs = SolverConvex(model), SolverMuJoCo(model)
    mass = model.body_mass.numpy()
    mass[1] *= 3  # of the first world only
    model.body_mass.assign(mass)
    gravity = model.gravity.numpy()
    gravity[1] = [0.0, 0.0, -3.0]
    model.gravity.assign(gravity)
    states = []
    for solver in (ours, theirs):
        solver.notify_model_changed(ModelFlags.BODY_INERTIAL_PROPERTIES | ModelFlags.MODEL_PROPERTIES)
        state = model.state()
        for _ in range(30):
            solver.step(state, state, None, None, 0.01)
        states.append(state.joint_q.numpy().reshape(2, -1))
    np.testing.assert_allclose(*states, atol=1e-5)
    assert len(theirs.batches[0].engine.models) == 2 and np.abs(states[0][0] - states[0][1]).max() > 1e-3


def test_bad_worlds_are_told_and_the_state_decides_again():
    model = of_document(ARM)
    solver, state = SolverMuJoCo(model), model.state()
    q = state.joint_q.numpy()
    q[2] = np.nan
    state.joint_q.assign(q)
    solver.step(state, state, None, None, 0.01)
    assert solver.trouble() == {1: ["state is not finite"]}
    fresh = model.state()
    solver.step(fresh, fresh, None, None, 0.01)
    assert np.isfinite(fresh.joint_q.numpy()).all()


def test_mujoco_warp_agrees():
    pytest.importorskip("mujoco_warp")
    model = of_document(ARM)
    warp, theirs = (run(SolverMuJoCo, model, 20, 0.01, backend=backend)[1] for backend in ("warp", "c"))
    np.testing.assert_allclose(warp[-1]["joint_q"], theirs[-1]["joint_q"], atol=1e-4)
    np.testing.assert_allclose(warp[-1]["body_q"], theirs[-1]["body_q"], atol=1e-4)


def test_mistakes_are_explained(monkeypatch):
    model = of_document(ARM)
    with pytest.raises(BuildError, match="backend='C'.*known are c, warp"):
        SolverMuJoCo(model, backend="C")
    with pytest.raises(BuildError, match="integrator='eulr'; did you mean 'euler'"):
        SolverMuJoCo(model, integrator="eulr")
    with pytest.raises(BuildError, match="plugins"):
        SolverMuJoCo(of_document(REMEMBERING))
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    for backend in ("c", "warp"):
        with pytest.raises(MissingExtra, match=r"pip install 'kinema\[mujoco\]'"):
            SolverMuJoCo(model, backend=backend)
