"""Efforts of actuators are Newton's, on the same states, and move joints as forces do."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import kinema
from kinema import actuators
from kinema.errors import BuildError
from tests.conformance.staged import StagedEngine

LINKS = 3


@pytest.fixture(scope="module")
def newton():
    return pytest.importorskip("newton", reason="the newton package is the oracle of these tests")


def arm(library, *, floating=False, worlds=2, parts=lambda module, dof: [{"drive_class": module.DrivePD}]):
    """Arms of three hinges in some worlds, with the actuators that `parts` says each hinge has."""
    one = library.ModelBuilder()
    first = one.add_link(mass=1.0, inertia=np.diag([0.1, 0.1, 0.1]))
    root = one.add_joint_free(first) if floating else one.add_joint_fixed(-1, first)
    joints, parent = [root], first
    for _ in range(LINKS):
        child = one.add_link(mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]), com=(0.1, 0.0, 0.05))
        joints.append(one.add_joint_revolute(
            parent, child, axis=(0.0, 1.0, 0.0), parent_xform=wp.transform((0.3, 0.0, 0.0), wp.quat_identity()),
            armature=0.05,
        ))  # fmt: skip
        parent = child
    one.add_articulation(joints)
    shift = (6, 7) if floating else (0, 0)
    for k in range(LINKS):
        for each in parts(library.actuators, k):
            one.add_actuator(index=shift[0] + k, pos_index=shift[1] + k, **each)
    builder = library.ModelBuilder()
    builder.replicate(one, worlds)
    return builder.finalize("cpu")


def pd(module, dof):
    return [{"drive_class": module.DrivePD, "kp": 10.0 + dof, "kd": 2, "const_effort": 0.5}]


def pid(module, dof):
    return [{"drive_class": module.DrivePID, "kp": 10.0, "ki": 30.0, "kd": 0.3 * dof, "integral_max": 0.02}]


def clamped(module, dof):
    clamps = [
        [(module.ClampingMaxEffort, {"max_effort": 3.0})],
        [(module.ClampingDCMotor, {"saturation_effort": 5.0, "velocity_limit": 1.5, "max_motor_effort": 4.0}),
         (module.ClampingMaxEffort, {"max_effort": 3.5})],
        [(module.ClampingPositionBased, {"lookup_positions": (-0.5, 0.0, 0.4, 0.4, 1.0),
                                         "lookup_efforts": (1.0, 4.0, 2.0, 3.0, 0.5)})],
    ]  # fmt: skip
    return [{"drive_class": module.DrivePD, "kp": 10.0, "kd": 1.0, "clamping": clamps[dof]}]


def late(module, dof):
    return [{"drive_class": module.DrivePID, "kp": 5.0, "ki": 1.0, "delay_steps": dof,
             "clamping": [(module.ClampingMaxEffort, {"max_effort": 4.0})]}]  # fmt: skip


KINDS = {"pd": pd, "pid": pid, "clamped": clamped, "late": late}


def efforts(model, *, steps=6, mode=None, reset_at=None):
    """What actuators add to joint_f in every step, with random states and commands."""
    draw = np.random.default_rng(7)
    state, control = model.state(), model.control()
    kept = [[a.state(), a.state()] for a in model.actuators]
    if mode is not None:
        mode(model)
    found = []
    for k in range(steps):
        for array, size in ((state.joint_q, 0.5), (state.joint_qd, 2.0)):
            array.assign(draw.normal(size=array.shape[0]).astype(np.float32) * size)
        for array in (control.joint_target_q, control.joint_target_qd, control.joint_act):
            array.assign(draw.normal(size=array.shape[0]).astype(np.float32))
        control.joint_f.zero_()
        for actuator, pair in zip(model.actuators, kept, strict=True):
            if reset_at == k and pair[0] is not None:
                mask = np.zeros(actuator.num_actuators, bool)
                mask[: len(mask) // 2] = True
                pair[0].reset(wp.array(mask, dtype=wp.bool, device="cpu"))
            if getattr(model, "response", None) is not None:
                model.response.refresh(state)
            actuator.step(state, control, *pair, dt=0.01)
            pair.reverse()
        found.append(control.joint_f.numpy().copy())
    return np.array(found)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_efforts_are_newtons(newton, kind, floating):
    theirs, ours = (arm(library, floating=floating, parts=KINDS[kind]) for library in (newton, kinema))
    assert [a.num_actuators for a in ours.actuators] == [a.num_actuators for a in theirs.actuators]
    for mine, other in zip(ours.actuators, theirs.actuators, strict=True):
        for name in ("indices", "pos_indices", "target_pos_indices", "effort_indices"):
            np.testing.assert_array_equal(getattr(mine, name).numpy(), getattr(other, name).numpy())
    expected = efforts(theirs, reset_at=4)
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(efforts(ours, reset_at=4), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["pd", "pid", "clamped"])
def test_efforts_at_the_end_of_a_step_are_newtons(newton, kind):
    found = []
    for library in (newton, kinema):
        model = arm(library, parts=KINDS[kind])
        response = library.actuators.JointSpaceResponse(model)
        for actuator in model.actuators:
            actuator.set_effort_mode_implicit(response)
        object.__setattr__(model, "response", response)
        found.append(efforts(model))
        blocks = response.inverse_blocks.numpy()
        found.append(blocks)
    np.testing.assert_allclose(found[3], found[1], rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-3, atol=1e-3)


def test_a_stiff_drive_solved_for_stops_where_an_explicit_one_flies_apart(monkeypatch):
    """One hinge, kp dt² / I = 40: efforts of the beginning of a step diverge, those of its end reach the target."""
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)
    ends = []
    for implicit in (False, True):
        builder = kinema.ModelBuilder(gravity=0.0)
        link = builder.add_link(mass=1.0, inertia=np.diag([0.1, 0.1, 0.1]))
        builder.add_articulation([builder.add_joint_revolute(-1, link, axis=(0, 1, 0))])
        builder.add_actuator(actuators.DrivePD, 0, kp=4.0e4, kd=400.0)
        model = builder.finalize("cpu")
        solver, state, control = kinema.SolverConvex(model), model.state(), model.control()
        control.joint_target_q.fill_(0.3)
        (actuator,) = model.actuators
        response = actuators.JointSpaceResponse(model)
        if implicit:
            actuator.set_effort_mode_implicit(response)
        for _ in range(40):
            response.refresh(state)
            control.joint_f.zero_()
            actuator.step(state, control, dt=0.01)
            solver.step(state, state, control, None, 0.01)
        ends.append(float(state.joint_q.numpy()[0]))
    assert not abs(ends[0]) < 1.0
    assert ends[1] == pytest.approx(0.3, abs=1e-3)


def test_classes_of_newtons_are_taken(newton):
    own = arm(kinema, parts=pid)
    theirs = arm(kinema, parts=lambda module, dof: pid(newton.actuators, dof))
    assert type(theirs.actuators[0].drive).__module__.startswith("newton")
    np.testing.assert_allclose(efforts(theirs), efforts(own), rtol=1e-5, atol=1e-6)


def test_actuators_survive_a_file(tmp_path):
    model = arm(kinema, parts=clamped)
    model.save(tmp_path / "arm.zip")
    again, _ = kinema.Model.load(tmp_path / "arm.zip", "cpu")
    np.testing.assert_array_equal(efforts(again), efforts(model))


def test_what_a_drive_reads_of_controls_is_there():
    class Driven(actuators.DrivePD):
        custom_inputs = ("payload",)

        def compute(self, *args, custom_inputs=None, **options):
            super().compute(*args, **options)
            wp.copy(args[9], custom_inputs["payload"], count=len(args[9]))

    model = arm(kinema, worlds=1, parts=lambda module, dof: [{"drive_class": Driven}])
    control = model.control()
    control.payload.fill_(3.0)
    model.actuators[0].step(model.state(), control)
    assert control.joint_f.numpy() == pytest.approx([3.0] * LINKS)


def test_rows_may_be_added_to_worlds_that_are_closed():
    """As programs do that replicate a robot and then drive all dofs of all worlds."""
    one = kinema.ModelBuilder()
    link = one.add_link(mass=1.0, inertia=np.eye(3))
    one.add_articulation([one.add_joint_revolute(-1, link)])
    builder = kinema.ModelBuilder()
    builder.replicate(one, 3)
    for dof in (2, 0, 1):
        builder.add_actuator(actuators.DrivePD, dof, kp=float(dof))
    assert list(builder.actuator_entries.values())[0].indices == [2, 0, 1]
    model = builder.finalize("cpu")
    (actuator,) = model.actuators
    assert actuator.indices.numpy().tolist() == [2, 0, 1] and actuator.drive.kp.numpy().tolist() == [2.0, 0.0, 1.0]
    assert len(model.world_classes) == 1


def test_what_is_wrong_is_said():
    builder = kinema.ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    free = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_free(link), builder.add_joint_revolute(link, free, label="knee")])
    with pytest.raises(BuildError, match="kp=-1.0 must be at least 0"):
        builder.add_actuator(actuators.DrivePD, 6, pos_index=7, kp=-1.0)
    with pytest.raises(BuildError, match=r"joint_dof 7 is out of range; valid are 0 to 6"):
        builder.add_actuator(actuators.DrivePD, 7)
    with pytest.raises(TypeError, match="needs drive_class"):
        builder.add_actuator(index=6)
    with pytest.raises(BuildError, match="delay_steps=-1"):
        builder.add_actuator(actuators.DrivePD, 6, pos_index=7, delay_steps=-1)
    with pytest.raises(BuildError, match="positions must rise"):
        tables = {"lookup_positions": (1.0, 0.0), "lookup_efforts": (1.0, 1.0)}
        builder.add_actuator(actuators.DrivePD, 6, [(actuators.ClampingPositionBased, tables)], pos_index=7)
    with pytest.raises(BuildError, match="saturation_effort that is finite"):
        builder.add_actuator(actuators.DrivePD, 6, [(actuators.ClampingDCMotor, {"velocity_limit": 1.0})], pos_index=7)
    with pytest.warns(UserWarning, match="kpp, which is left out; did you mean 'kp'"):
        builder.add_actuator(actuators.DrivePD, 6, pos_index=7, kpp=1.0)
    with pytest.warns(UserWarning, match="'knee', REVOLUTE.*give pos_index=7"):
        builder.add_actuator(actuators.DrivePD, 6)
    assert builder.count("external_actuator") == 2
    model = builder.finalize("cpu")
    with pytest.raises(RuntimeError, match="give two states"):
        actuators.Actuator(model.actuators[0].indices, actuators.DrivePID(*[model.actuators[0].drive.kp] * 4)).step(
            model.state(), model.control()
        )


def test_a_table_is_read_from_a_file(tmp_path):
    path = tmp_path / "limits.txt"
    path.write_text("# position, effort\n-1, 2\n1 6\n")
    clamp = actuators.ClampingPositionBased(str(path))
    clamp.finalize("cpu", 1)
    assert [getattr(clamp, f"lookup_{what}").numpy().tolist() for what in ("positions", "efforts")] == [[-1, 1], [2, 6]]
    path.write_text("0 1\n1 much\n")
    with pytest.raises(BuildError, match="limits.txt:2: '1 much' is not a position and an effort"):
        actuators.ClampingPositionBased(str(path))
