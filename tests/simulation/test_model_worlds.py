"""A Newton-style Model as a Simulation: at its own initial state, stepped as a solver steps it, recorded, drawn."""

from __future__ import annotations

import numpy as np
import pytest

from kinema import ModelBuilder, Simulation, SolverConvex
from kinema.errors import BuildError
from tests.adapter.hand_built import quadruped


@pytest.fixture(scope="module")
def model():
    """Three quadrupeds that stand apart, one of them higher."""
    template, _, _ = quadruped()
    main = ModelBuilder()
    SolverConvex.register_custom_attributes(main)
    main.replicate(template, 3, spacing=(2.0, 3.0, 0.0))
    built = main.finalize(device="cpu")
    q = built.joint_q.numpy().reshape(3, -1)
    q[1, 2] += 0.5
    built.joint_q.assign(q.ravel())
    return built


def test_runs_as_its_solver_does(model):
    sim, solver, state, seen = Simulation(model), SolverConvex(model), model.state(), model.state()
    assert sim.worlds == 3 and sim.model.nv == model.joint_dof_count // 3
    height = sim.d.qpos[:, 2]
    assert height[1] == pytest.approx(height[0] + 0.5)
    dt = float(sim.model.opt.timestep)
    for _ in range(5):
        solver.step(state, state, None, None, dt)
        sim.step()
    sim.write_model_state(seen)
    for name in ("joint_q", "joint_qd", "body_q"):
        np.testing.assert_allclose(getattr(seen, name).numpy(), getattr(state, name).numpy(), atol=1e-6)
    sim.reset([1])
    np.testing.assert_array_equal(sim.d.qpos[1, 2], height[1])
    assert np.any(sim.d.qpos[0, 2] != height[0])


def test_shows_and_records_what_a_solver_steps(model):
    solver, state = SolverConvex(model), model.state()
    sim = Simulation(solver)
    assert sim.engine is solver.batches[0].engine
    sim.record()
    for _ in range(4):
        solver.step(state, state)
        sim.read_model_state(state)
    recording = sim.stop_recording()
    assert len(recording.qpos) == 5 and np.all(np.diff(recording.qpos[:, 1, 2]) < 0)
    frames = [sim.d.qpos[:, 2].copy() for _ in sim.replay(recording)]
    np.testing.assert_array_equal(np.array(frames), recording.qpos[:, :, 2])


def test_is_drawn(model):
    sim = Simulation(model)
    picture = sim.render(width=48, height=32)
    assert np.ptp(np.asarray(picture, float)) > 0


def test_refused(model):
    with pytest.raises(BuildError, match="worlds=2: the model has 3"):
        Simulation(model, worlds=2)
    with pytest.raises(BuildError, match="use SolverMuJoCo"):
        Simulation(model, solver="mujoco")
    with pytest.raises(BuildError, match="not made of a Model"):
        Simulation("<mujoco/>").read_model_state(model.state())
    template, _, _ = quadruped()
    other = ModelBuilder()
    other.add_link(mass=1.0)
    both = ModelBuilder()
    both.add_world(template)
    both.add_world(other)
    with pytest.raises(BuildError, match="2 classes of worlds"):
        Simulation(both.finalize(device="cpu"))
