"""`notify_model_changed` carries every field its flags name: as a model built with the value, or a refusal by name."""

import mujoco
import numpy as np
import pytest

from kinema import ModelBuilder
from kinema.adapter.core_changes import REFUSED
from kinema.errors import BuildError
from kinema.model import Model, ModelFlags
from kinema.solvers import SolverConvex
from tests.conformance.staged import StagedEngine

from .hand_built import link

DT = 0.005
PREFIXES = ("joint_", "body_", "shape_")
UNIT = np.array([0.02, -0.03, 0.01, 0.05, 0.02, -0.04, 0.998])
DOCUMENT = """
<mujoco><compiler angle="radian"/><option integrator="implicitfast" timestep="0.005"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body name="arm" pos="0 0 1"><joint name="shoulder" axis="0 1 0" range="-2 2" limited="true" damping=".1"/>
    <geom name="arm" type="capsule" size=".05 .2" pos=".2 0 0" mass="1"/><site name="hand" pos=".4 0 0"/>
    <body name="fore" pos=".4 0 0"><joint name="elbow" axis="0 0 1" pos=".02 0 0" range="-1 1"/>
      <geom type="box" size=".1 .05 .05" pos=".1 0 0" mass=".5"/></body></body>
  <body name="ball" pos="1 1 .12"><freejoint/><geom name="ball" size=".1" mass=".3"/></body>
</worldbody></mujoco>
"""


@pytest.fixture(autouse=True)
def staged(monkeypatch):
    """Kernels that all models share: quick to compile."""
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)


def built(change=None) -> ModelBuilder:
    """A pendulum of two links over a floor, and a box that lies on it."""
    b = ModelBuilder()
    SolverConvex.register_custom_attributes(b)
    upper, lower = link(b, com=(0, 0, -0.5)), link(b, 0.5, (0, 0.1, -0.25), (0.02, 0.03, 0.04))
    first = b.add_joint_revolute(
        -1, upper, axis=(0, 1, 0), parent_xform=((0, 0, 2), (0, 0, 0, 1)), armature=0.05, friction=0.1, damping=0.02,
        limit_lower=-0.1, limit_upper=0.1, target_ke=5.0, target_kd=0.5, effort_limit=50.0,
    )  # fmt: skip
    second = b.add_joint_revolute(upper, lower, axis=(1, 0, 0), parent_xform=((0, 0, -1), (0, 0, 0, 1)))
    b.add_articulation([first, second])
    box = b.add_body(xform=((1.0, 0.0, 0.11), (0, 0, 0, 1)))
    b.add_shape_box(box, hx=0.2, hy=0.1, hz=0.1)
    b.add_ground_plane()
    if change:
        change(b)
    return b


def run(solver, model, steps: int = 12) -> np.ndarray:
    state = model.state()
    qd = state.joint_qd.numpy()
    qd[:] = np.linspace(0.5, 1.0, len(qd))
    state.joint_qd.assign(qd)
    for _ in range(steps):
        solver.step(state, state, None, None, DT)
    return np.concatenate([state.joint_q.numpy(), state.joint_qd.numpy(), state.body_q.numpy().ravel()])


def changed(values: np.ndarray, key: str) -> np.ndarray:
    """Other values of a column."""
    new = np.array(values)
    if key in ("joint_X_p", "joint_X_c", "shape_transform"):
        new[..., :3] += UNIT[:3]
        return new
    if key == "joint_axis":
        return np.broadcast_to([0.0, 0.6, 0.8], new.shape).astype(new.dtype)
    if key == "body_inertia":
        return new * 1.5
    if new.dtype.kind == "f":
        return np.where(np.abs(new) > 1e5, new, new * 1.3 + 0.01).astype(new.dtype)
    return new


FIELDS = [
    key for key, field in built().finalize(device="cpu").fields.items()
    if key.startswith(PREFIXES) and field.assignment == Model.AttributeAssignment.MODEL and not field.is_object
    and not field.runtime and not field.prefixed and np.issubdtype(field.numpy_dtype, np.floating)
    and not getattr(field, "derived", None)
]  # fmt: skip


def test_the_walk_sees_all_kinds():
    assert {"shape_transform", "joint_X_p", "joint_X_c", "joint_axis", "shape_scale", "body_com"} <= set(FIELDS)


@pytest.mark.parametrize("key", FIELDS)
def test_built_by_hand(key):
    """The effect of a change is that of building with the value, or the change is refused."""
    model = built().finalize(device="cpu")
    solver = SolverConvex(model)
    array = getattr(model, key)
    new = changed(array.numpy(), key)
    array.assign(new)

    def give(builder):
        column = getattr(builder, key)
        for row in range(len(column)):
            column[row] = new[row].tolist() if np.ndim(new[row]) else float(new[row])

    try:
        solver.notify_model_changed(int(ModelFlags.ALL))
    except BuildError:
        return
    fresh = built(give).finalize(device="cpu")
    np.testing.assert_allclose(run(solver, model), run(SolverConvex(fresh), fresh), atol=2e-4)


def document(worlds: int = 1):
    main = ModelBuilder()
    one = ModelBuilder()
    one.add_mjcf(DOCUMENT)
    main.replicate(one, worlds, spacing=(3.0, 0.0, 0.0)) if worlds > 1 else main.add_mjcf(DOCUMENT)
    return main.finalize(device="cpu")


def test_frames_of_a_document_move():
    """shape_transform, joint_X_p and joint_X_c reach the engine, in the one world that was changed."""
    model = document(2)
    solver = SolverConvex(model)
    engine = solver.batches[0].engine
    m = mujoco.MjModel.from_xml_string(DOCUMENT)
    shape = [k for k, label in enumerate(model.shape_label) if label.endswith("arm")][1]
    joint = [k for k, label in enumerate(model.joint_label) if label.endswith("elbow")][1]
    for key, row in (("shape_transform", shape), ("joint_X_p", joint), ("joint_X_c", joint)):
        values = getattr(model, key).numpy()
        values[row, :3] += UNIT[:3]
        getattr(model, key).assign(values)
    solver.notify_model_changed(int(ModelFlags.SHAPE_PROPERTIES | ModelFlags.JOINT_PROPERTIES))
    geom, body, j = m.geom("arm").id, m.body("fore").id, m.joint("elbow").id
    places = [m.geom_pos[geom], m.geom_pos[geom] + UNIT[:3]]
    np.testing.assert_allclose(engine.read("geom_pos")[:, geom], places, atol=1e-6)
    np.testing.assert_allclose(engine.read("jnt_pos")[:, j], [m.jnt_pos[j], m.jnt_pos[j] + UNIT[:3]], atol=1e-6)
    np.testing.assert_allclose(engine.read("body_pos")[:, body], [m.body_pos[body]] * 2, atol=1e-6)  # the two cancel


@pytest.mark.parametrize("key", sorted(k for k in REFUSED if k not in ("shape_source",)))
def test_what_a_document_cannot_follow_is_refused(key):
    model = document()
    solver = SolverConvex(model)
    values = getattr(model, key).numpy()
    if not len(values):
        pytest.skip("the document has none")
    values[0] = not values[0] if values.dtype == bool else values[0] + 1
    getattr(model, key).assign(values)
    with pytest.raises(BuildError, match=f"{key} of .* changed"):
        solver.notify_model_changed(int(ModelFlags.ALL))


def test_worlds_that_differ_still_do_when_something_else_changes():
    """What a flag does not name is as it is in the arrays of each world, not as in the first."""
    template, builder = ModelBuilder(), ModelBuilder()
    template.add_mjcf(DOCUMENT)
    builder.replicate(template, 3)
    model = builder.finalize(device="cpu")
    solver = SolverConvex(model)
    mass = model.body_mass.numpy().reshape(3, -1) * np.array([[1.0], [2.0], [4.0]], np.float32)
    model.body_mass.assign(mass.ravel())
    for flag in ModelFlags.BODY_INERTIAL_PROPERTIES, ModelFlags.JOINT_DOF_PROPERTIES, ModelFlags.SHAPE_PROPERTIES:
        solver.notify_model_changed(flag)
        assert np.allclose(solver.batches[0].engine.read("body_mass")[:, 1:], mass)


@pytest.mark.parametrize("dt", [-0.01, np.nan, np.inf])
def test_a_step_lasts_a_finite_time(dt):
    model = built().finalize(device="cpu")
    solver, state = SolverConvex(model), model.state()
    with pytest.raises(BuildError, match="a step lasts a finite time"):
        solver.step(state, state, None, None, dt)


def test_a_solver_begins_with_the_arrays_as_they_are():
    """What was changed between finalize and the solver counts, world by world, in frames too."""
    template, builder = ModelBuilder(), ModelBuilder()
    template.add_mjcf(DOCUMENT)
    template.add_shape_box(-1, xform=((3.0, 0.0, 0.5), (0, 0, 0, 1)), hx=0.1, hy=0.1, hz=0.1)
    turn = (0.0, 0.0, np.sin(0.4), np.cos(0.4))
    for place in ((0.0, 0.0, 0.0), (10.0, -3.0, 0.0)):
        builder.add_world(template, xform=(place, turn))
    model = builder.finalize(device="cpu")
    untouched = SolverConvex(model).batches[0].engine
    mass, frames = model.body_mass.numpy(), model.shape_transform.numpy()
    mass[: len(mass) // 2] *= 3.0
    model.body_mass.assign(mass)
    boxes = np.flatnonzero(model.shape_body.numpy() < 0)[[1, 3]]  # beside the floors
    frames[boxes[1], 2] += 0.25
    model.shape_transform.assign(frames)
    engine = SolverConvex(model).batches[0].engine
    assert np.allclose(engine.read("body_mass")[:, 1:4], mass.reshape(2, -1))
    moved = engine.read("geom_pos") - untouched.read("geom_pos")
    box = 4  # after those of the document
    assert np.allclose(moved[1, box], [0.0, 0.0, 0.25], atol=1e-6)
    assert np.count_nonzero(np.abs(moved).max(axis=2)) == 1
