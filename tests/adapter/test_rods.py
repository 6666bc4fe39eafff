"""Newton's rods in SolverConvex: capsules on ball joints with springs, at rest as they were built."""

from __future__ import annotations

import numpy as np
import pytest

from kinema import ModelBuilder
from kinema.errors import BuildError
from kinema.solvers import SolverConvex

LENGTH, COUNT = 0.1, 8
POINTS = [(LENGTH * k, 0.0, 1.0) for k in range(COUNT + 1)]


def hanging(**gains: float) -> ModelBuilder:
    """A rod held at its first segment by a joint that does not move."""
    builder = ModelBuilder()
    bodies, joints = builder.add_rod(POINTS, radius=0.02, wrap_in_articulation=False, **gains)
    root = builder.add_joint_fixed(-1, bodies[0], parent_xform=(*POINTS[0], *builder.body_q[bodies[0]][3:]))
    builder.add_articulation([*joints, root])
    return builder


def run(builder: ModelBuilder, seconds: float, dt: float = 0.005, gravity: float | None = None):
    model = builder.finalize(device="cpu")
    if gravity is not None:
        model.set_gravity((0.0, 0.0, gravity))
    solver, state = SolverConvex(model), model.state()
    for _ in range(round(seconds / dt)):
        solver.step(state, state, None, None, dt)
    return model, state


@pytest.mark.parametrize("twist", [{}, {"twist_stiffness": 500.0, "twist_damping": 5.0}])
def test_a_cable_hangs_by_its_bend_stiffness(twist):
    """Small bends: the joint at a turns by M(a) / k, M the moment of the weight beyond it; the tip adds them up."""
    stiffness = 200.0
    model, state = run(hanging(bend_stiffness=stiffness, bend_damping=20.0, **twist), 6.0, gravity=-0.5)
    mass = model.body_mass.numpy()
    middle = LENGTH * (np.arange(COUNT) + 0.5)
    at = LENGTH * np.arange(1, COUNT)
    turn = [np.sum((mass * 0.5 * (middle - a))[middle > a]) / stiffness for a in at]
    drop = np.sum(turn * (middle[-1] - at))
    pose = state.body_q.numpy()[-1]
    found = 1.0 - (pose[2] + 0.5 * LENGTH * -np.sum(turn))  # its frame is at the beginning of the segment
    assert drop > 1e-3 and abs(found / drop - 1) < 0.02


def test_a_free_rod_keeps_its_momentum_and_its_shape_at_rest():
    """A bent rod is at rest as it was built; thrown and bent without gravity, its momentum stays."""
    bent = [(0.1 * k, 0.02 * k * k, 1.0) for k in range(5)]
    builder = ModelBuilder()
    builder.add_rod(bent, radius=0.02, bend_stiffness=50.0, bend_damping=0.1)
    model = builder.finalize(device="cpu")
    model.set_gravity((0.0, 0.0, 0.0))
    solver, state = SolverConvex(model), model.state()
    before = state.body_q.numpy().copy()
    for _ in range(50):
        solver.step(state, state, None, None, 0.005)
    np.testing.assert_allclose(state.body_q.numpy(), before, atol=1e-5)
    velocity = state.body_qd.numpy()
    velocity[-1, 3:] = (3.0, 2.0, 1.0)  # the last segment turns
    state.body_qd.assign(velocity)
    mass = model.body_mass.numpy()[:, None]

    solver.step(state, state, None, None, 1e-4)
    momentum = np.sum(mass * state.body_qd.numpy()[:, :3], axis=0)
    for _ in range(400):
        solver.step(state, state, None, None, 1e-3)
    assert np.abs(state.body_qd.numpy()).max() > 1e-2
    np.testing.assert_allclose(np.sum(mass * state.body_qd.numpy()[:, :3], axis=0), momentum, atol=2e-3)


def test_poses_of_bodies_are_the_state():
    """Joints of rods have no coordinates: a rod put elsewhere by its bodies swings from there, hinges as balls do."""
    found = []
    for twist in ({}, {"twist_stiffness": 1.0000001, "twist_damping": 0.05}):
        builder = hanging(bend_stiffness=1.0, bend_damping=0.05, **twist)
        model = builder.finalize(device="cpu")
        solver, state = SolverConvex(model), model.state()
        for _ in range(40):
            solver.step(state, state, None, None, 0.002)
        found.append(state.body_q.numpy())
        again = model.state()
        for name in ("joint_q", "joint_qd", "body_q", "body_qd"):
            getattr(again, name).assign(getattr(state, name).numpy())
        fresh = SolverConvex(model)
        for one, other in ((solver, state), (fresh, again)):
            one.step(other, other, None, None, 0.002)
        np.testing.assert_allclose(state.body_q.numpy(), again.body_q.numpy(), atol=1e-5)
    np.testing.assert_allclose(found[0], found[1], atol=2e-3)


def test_a_disabled_joint_is_refused():
    builder = hanging()
    builder.joint_enabled[1] = False
    with pytest.raises(BuildError, match="is disabled"):
        SolverConvex(builder.finalize(device="cpu"))


def test_a_segment_in_the_middle_cannot_be_pinned_by_its_mass():
    builder = ModelBuilder()
    bodies, _ = builder.add_rod([(0.1 * k, 0.0, 1.0) for k in range(5)], radius=0.01)
    builder.body_mass[bodies[-1]] = 0.0
    builder.body_inertia[bodies[-1]] = np.zeros((3, 3))
    with pytest.raises(BuildError, match="has no mass: only the first one"):
        SolverConvex(builder.finalize("cpu"))
