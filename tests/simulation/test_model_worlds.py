"""A Newton-style Model as a Simulation: at its own initial state, stepped as a solver steps it, recorded, drawn."""

from __future__ import annotations

import numpy as np
import pytest

from kinema import ModelBuilder, Simulation, SolverConvex
from kinema.errors import BuildError
from kinema.render import FreeCamera
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
    with pytest.raises(BuildError, match="worlds of 2 structures.*of_model"):
        Simulation(both.finalize(device="cpu"))


def test_worlds_of_kin_have_sizes_and_keyframes_of_their_own():
    """Poles of three lengths: one simulation, in which each is drawn as long as it is and raised to its own height."""
    main = ModelBuilder()
    lengths = (0.2, 0.5, 0.9)
    for length in lengths:
        one = ModelBuilder()
        one.add_mjcf(f"""<mujoco><worldbody><light pos="0 0 3"/><body pos="0 0 1"><freejoint/>
          <geom type="capsule" size=".05 {length / 2}"/></body></worldbody>
          <keyframe><key name="up" qpos="0 0 {2 + length} 1 0 0 0"/></keyframe></mujoco>""")
        main.add_world(one)
    sim = Simulation(main.finalize(device="cpu"))
    camera = FreeCamera(lookat=(0, 0, 1), distance=3, azimuth=90, elevation=0)
    seen = np.asarray(sim.render(camera, width=60, height=80, kind="segmentation"))[..., 0] >= 0
    tall = seen.any(axis=2).sum(axis=1)
    pixel = 2 * 3 * np.tan(np.deg2rad(0.5 * 45)) / 80
    np.testing.assert_allclose(tall * pixel, np.array(lengths) + 0.1, atol=2.5 * pixel)
    sim.reset([0, 2], keyframe="up")
    np.testing.assert_allclose(sim.d.qpos[:, 2], [2.2, 1.0, 2.9], atol=1e-6)


def test_worlds_of_several_structures_are_several_simulations():
    template, _, _ = quadruped()
    other, both = ModelBuilder(), ModelBuilder()
    other.add_shape_sphere(other.add_body(xform=((0, 0, 3), (0, 0, 0, 1))), radius=0.1)
    for each in (template, other, template):
        both.add_world(each)
    model = both.finalize(device="cpu")
    one, two = Simulation.of_model(model)
    assert one.newton.worlds.tolist() == [0, 2] and two.newton.worlds.tolist() == [1]
    state = model.state()
    q = state.joint_q.numpy()
    start = model.kind_starts("joint_coord")
    q[start[1] + 2], q[start[2] + 2] = 5.0, 4.0
    state.joint_q.assign(q)
    for sim in (one, two):
        sim.read_model_state(state)
    assert two.d.qpos[0, 2] == 5.0 and one.d.qpos[1, 2] == 4.0 and one.d.qpos[0, 2] != 4.0
