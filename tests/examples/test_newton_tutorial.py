"""A program written for Newton runs with its import changed, on both solvers, and moves as MuJoCo says."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import kinema
from kinema.errors import ArgumentNotNeeded, BuildError, SimulationError

PROGRAM = '''
builder = newton.ModelBuilder()
hx, hy, hz = 1.0, 0.1, 0.1
link_0 = builder.add_link()
builder.add_shape_box(link_0, hx=hx, hy=hy, hz=hz)
link_1 = builder.add_link()
builder.add_shape_box(link_1, hx=hx, hy=hy, hz=hz)
rot = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), -wp.pi * 0.5)
j0 = builder.add_joint_revolute(
    parent=-1, child=link_0, axis=wp.vec3(0.0, 1.0, 0.0),
    parent_xform=wp.transform(p=wp.vec3(0.0, 0.0, 5.0), q=rot),
    child_xform=wp.transform(p=wp.vec3(-hx, 0.0, 0.0), q=wp.quat_identity()),
)
j1 = builder.add_joint_revolute(
    parent=link_0, child=link_1, axis=wp.vec3(0.0, 1.0, 0.0),
    parent_xform=wp.transform(p=wp.vec3(hx, 0.0, 0.0), q=wp.quat_identity()),
    child_xform=wp.transform(p=wp.vec3(-hx, 0.0, 0.0), q=wp.quat_identity()),
)
builder.add_articulation([j0, j1], label="pendulum")
builder.add_ground_plane()
scene = newton.ModelBuilder()
scene.replicate(builder, world_count=2, spacing=(0.0, 4.0, 0.0))
model = scene.finalize(device="cpu")

solver = newton.solvers.{solver}(model)
state_0, state_1, control = model.state(), model.state(), model.control()
newton.eval_fk(model, model.joint_q, model.joint_qd, state_0)
pipeline = newton.CollisionPipeline(model)
contacts = pipeline.contacts()

def simulate(steps, dt):
    global state_0, state_1
    for _ in range(steps):
        state_0.clear_forces()
        pipeline.collide(state_0, contacts)
        solver.step(state_0, state_1, control, contacts, dt)
        state_0, state_1 = state_1, state_0
'''


def _run(module, solver, steps=300):
    scope = {"newton": module, "wp": wp}
    exec(compile(PROGRAM.format(solver=solver), solver, "exec"), scope)
    scope["simulate"](steps, 0.001)
    return scope


def test_a_double_pendulum_of_newtons_tutorials():
    ours, mujoco = _run(kinema, "SolverConvex"), _run(kinema, "SolverMuJoCo")
    for name in ("joint_q", "body_q"):
        x, y = (getattr(scope["state_0"], name).numpy() for scope in (ours, mujoco))
        np.testing.assert_allclose(x, y, atol=1e-4, err_msg=name)
    assert np.abs(ours["state_0"].joint_q.numpy()).max() > 0.2 and ours["model"].world_count == 2


def test_what_a_program_cannot_have_is_said():
    scope = _run(kinema, "SolverConvex", steps=1)
    with pytest.raises(SimulationError, match="cannot be recorded into a graph"), wp.ScopedCapture(device="cpu"):
        scope["simulate"](1, 0.001)
    with pytest.raises(BuildError, match="'broad_fase'.*broad_phase"):
        kinema.CollisionPipeline(scope["model"], broad_fase="sap")
    with pytest.warns(ArgumentNotNeeded, match="contact_matching is taken and not needed"):
        kinema.CollisionPipeline(scope["model"], contact_matching="sticky")
    with pytest.raises(BuildError, match="requires_grad=True is not supported"):
        kinema.CollisionPipeline(scope["model"], requires_grad=True)
