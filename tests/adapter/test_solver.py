"""SolverConvex on finalized models: against MuJoCo, in many worlds, with everything that State and Control bring."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.compile import register_mujoco_attributes
from kinema.errors import BuildError
from kinema.model import ModelBuilder, ModelFlags
from kinema.model.transform import quat_rotate
from kinema.solvers import SolverConvex, SolverMuJoCo
from tests.adapter.hand_built import link, quadruped

DT = 0.005
HALVES = (slice(0, 3), slice(3, 6))


def _quadrupeds(worlds=3, **more):
    """A ground plane of no world, and worlds of the quadruped that stand on it."""
    template, xml, start = quadruped()
    main = ModelBuilder()
    SolverConvex.register_custom_attributes(main)
    main.replicate(template, worlds, **more)
    return main.finalize(device="cpu"), xml, start


def _reference(xml, start, steps, edit=None):
    m = mujoco.MjModel.from_xml_string(xml)
    m.opt.timestep = DT
    if edit:
        edit(m)
    d = mujoco.MjData(m)
    for name, value in start.items():
        getattr(d, name)[:] = value
    mujoco.mj_step(m, d, steps)
    mujoco.mj_forward(m, d)
    return m, d


@pytest.fixture(scope="module")
def standing():
    """Three quadrupeds on a grid, after 60 steps."""
    model, xml, start = _quadrupeds(3, spacing=(2.0, 3.0, 0.0))
    solver, state = SolverConvex(model), model.state()
    for _ in range(60):
        solver.step(state, state, None, None, DT)
    return model, solver, state, _reference(xml, start, 60)


def test_hand_built_worlds_follow_mujoco(standing):
    model, solver, state, (m, d) = standing
    assert solver.trouble() == {} and d.ncon >= 4
    places = model.world_classes[0].xforms
    q = state.joint_q.numpy().reshape(3, -1)
    for world in range(3):
        np.testing.assert_allclose(q[world, :3] - places[world, :3], d.qpos[:3], atol=1e-4)
        np.testing.assert_allclose(q[world, 3:7], d.qpos[[4, 5, 6, 3]], atol=2e-4)
        np.testing.assert_allclose(q[world, 7:], d.qpos[7:], atol=3e-4)
    poses = state.body_q.numpy().reshape(3, -1, 7)
    np.testing.assert_allclose(poses[1, :, :3] - places[1, :3], d.xpos[1:], atol=2e-4)
    speeds = state.body_qd.numpy().reshape(3, -1, 6)
    for body in range(1, m.nbody):
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_BODY, body, velocity, 0)
        np.testing.assert_allclose(speeds[2, body - 1], np.roll(velocity, 3), atol=1e-2)
    assert model.world_count == 3


def test_a_step_into_another_state(standing):
    """Out of place gives what in place gives, and leaves the input alone; worlds are alike wherever they stand."""
    model, solver, state, _ = standing
    before = state.joint_q.numpy().copy()
    other = model.state()
    solver.step(state, other, None, None, DT)
    assert np.array_equal(state.joint_q.numpy(), before)
    same = model.state()
    same.assign(state)
    solver.step(same, same, None, None, DT)
    assert np.array_equal(same.joint_q.numpy(), other.joint_q.numpy())
    assert not np.array_equal(same.joint_q.numpy(), before)
    legs = other.joint_q.numpy().reshape(3, -1)[:, 7:]
    np.testing.assert_allclose(legs, legs[[0, 0, 0]], atol=1e-6)


def test_forces_on_joints_and_bodies(standing):
    model, solver, state, (m, reference) = standing
    d = mujoco.MjData(m)
    begin = _to_mujoco(m, d, model, state, world=0).qvel.copy()
    control, forced, out = model.control(), model.state(), model.state()
    forced.assign(state)
    f = np.zeros((3, model.joint_dof_count // 3), np.float32)
    f[0, 8] = 5.0  # a hip
    control.joint_f.assign(f.ravel())
    wrench = np.zeros((model.body_count, 6), np.float32)
    wrench[0] = (30, 0, 10, 0, 2, 1)
    forced.body_f.assign(wrench)
    solver.step(forced, out, control, None, DT)
    d.qfrc_applied[8] = 5.0
    d.xfrc_applied[1] = wrench[0]
    mujoco.mj_step(m, d)
    moved = _to_mujoco(m, mujoco.MjData(m), model, out, world=0)
    np.testing.assert_allclose(moved.qvel, d.qvel, atol=3e-3)
    assert np.abs(moved.qvel[8] - begin[8]) > 0.1
    calm = model.state()
    solver.step(state, calm, None, None, DT)
    pushed, quiet = (x.joint_qd.numpy().reshape(3, -1) for x in (out, calm))
    assert np.array_equal(pushed[1:], quiet[1:]) and not np.allclose(pushed[0], quiet[0], atol=1e-2)


def _to_mujoco(m, d, model, state, world):
    """A world's state in MuJoCo's arrays, by hand."""
    q = state.joint_q.numpy().reshape(model.world_count, -1)[world].astype(float)
    qd = state.joint_qd.numpy().reshape(model.world_count, -1)[world].astype(float)
    d.qpos[:] = q
    d.qpos[3:7] = q[[6, 3, 4, 5]]
    if model.world_classes[0].xforms is not None:
        d.qpos[:3] -= model.world_classes[0].xforms[world][:3]
    d.qvel[:] = qd
    mat = np.zeros(9)
    mujoco.mju_quat2Mat(mat, d.qpos[3:7])
    turn = mat.reshape(3, 3)
    d.qvel[:3] = qd[:3] - np.cross(qd[3:6], turn @ m.body_ipos[1])
    d.qvel[3:6] = turn.T @ qd[3:6]
    d.ctrl[1::2] = 0
    d.ctrl[0::2] = np.tile([0, 0.2, 0], 4)
    return d


def test_a_document_on_ground_that_all_worlds_share():
    """The robot comes from MJCF, the plane from the builder: as if the plane stood in the document."""
    _, xml, start = quadruped()
    template = ModelBuilder()
    template.add_mjcf(xml.replace('<geom type="plane" size="0 0 1"/>', ""))
    main = ModelBuilder()
    SolverConvex.register_custom_attributes(main)
    main.add_ground_plane()
    main.replicate(template, 2, spacing=(2.0, 0.0, 0.0))
    model = main.finalize(device="cpu")
    solver, state, control = SolverConvex(model), model.state(), model.control()
    control.mujoco.ctrl.assign(np.tile(start["ctrl"], 2).astype(np.float32))
    for _ in range(60):
        solver.step(state, state, control, None, DT)
    _, d = _reference(xml, start, 60)
    q = state.joint_q.numpy().reshape(2, -1)
    assert solver.trouble() == {} and d.ncon >= 4
    np.testing.assert_allclose(q[:, 7:], np.tile(d.qpos[7:], (2, 1)), atol=5e-4)
    np.testing.assert_allclose(q[:, 2], d.qpos[2], atol=2e-4)


def test_a_model_without_worlds_and_its_actuation():
    builder, xml, start = quadruped()
    model = builder.finalize(device="cpu")
    model.request_state_attributes("mujoco:qfrc_actuator")
    solver, state = SolverConvex(model), model.state()
    for _ in range(5):
        solver.step(state, state, None, None, DT)
    _, d = _reference(xml, start, 4)  # forces are those the fifth step was made with
    np.testing.assert_allclose(state.mujoco.qfrc_actuator.numpy()[6:], d.qfrc_actuator[6:], atol=1e-3)
    assert np.abs(d.qfrc_actuator[6:]).max() > 0.3
    np.testing.assert_allclose(state.joint_q.numpy()[7:], _reference(xml, start, 5)[1].qpos[7:], atol=1e-5)
    model.request_state_attributes("body_qdd")
    with pytest.raises(BuildError, match="does not compute body_qdd"):
        SolverMuJoCo(model)


def test_accelerations_and_forces_between_bodies():
    """body_qdd and body_parent_f are those of the step just made, at the centres of mass, wherever a world stands."""
    template, xml, start = quadruped()
    main = ModelBuilder()
    main.request_state_attributes("body_qdd", "body_parent_f")
    SolverConvex.register_custom_attributes(main)
    turn = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.7)
    main.add_world(template, xform=wp.transform((1.0, 2.0, 0.0), turn))
    model = main.finalize(device="cpu")
    solver, state, out = SolverConvex(model), model.state(), model.state()
    for _ in range(60):
        solver.step(state, state, None, None, DT)
    solver.step(state, out, None, None, DT)
    m, d = _reference(xml, start, 60)
    assert d.ncon >= 4
    mujoco.mj_rnePostConstraint(m, d)
    back = np.array([*turn])
    qdd, force = (
        np.concatenate([quat_rotate(back * [-1, -1, -1, 1], x.numpy().astype(float)[:, part]) for part in HALVES], 1)
        for x in (out.body_qdd, out.body_parent_f)
    )
    for body in range(1, m.nbody):
        a = np.zeros(6)
        mujoco.mj_objectAcceleration(m, d, mujoco.mjtObj.mjOBJ_BODY, body, a, 0)
        expect = np.concatenate([a[3:] + m.opt.gravity, a[:3]])
        np.testing.assert_allclose(qdd[body - 1], expect, atol=5e-3 * max(1.0, np.abs(expect).max()))
        arm = d.xipos[body] - d.subtree_com[m.body_rootid[body]]
        expect = np.concatenate([d.cfrc_int[body, 3:], d.cfrc_int[body, :3] - np.cross(arm, d.cfrc_int[body, 3:])])
        np.testing.assert_allclose(force[body - 1], expect, atol=5e-3 * max(1.0, np.abs(expect).max()))
    assert np.abs(force).max() > 5.0 and np.abs(qdd).max() > 0.1


def test_gravity_and_mass_change_per_world():
    model, xml, start = _quadrupeds(2)
    solver = SolverConvex(model)
    model.set_gravity((0, 0, -3.0), world=1)
    solver.notify_model_changed(ModelFlags.MODEL_PROPERTIES)
    mass = model.body_mass.numpy()
    mass[0] *= 2.0  # the trunk of world 0
    model.body_mass.assign(mass)
    solver.notify_model_changed(ModelFlags.BODY_INERTIAL_PROPERTIES)
    state = model.state()
    for _ in range(40):
        solver.step(state, state, None, None, DT)
    q = state.joint_q.numpy().reshape(2, -1)

    def heavier(m):
        m.body_mass[1] *= 2
        mujoco.mj_setConst(m, mujoco.MjData(m))

    def lighter_gravity(m):
        m.opt.gravity[2] = -3.0

    for world, edit in enumerate((heavier, lighter_gravity)):
        _, d = _reference(xml, start, 40, edit)
        np.testing.assert_allclose(q[world, 7:], d.qpos[7:], atol=5e-4)
        assert q[world, 2] == pytest.approx(d.qpos[2], abs=2e-4)
    assert abs(q[0, 2] - q[1, 2]) > 0.01


def test_worlds_of_different_classes():
    """Quadrupeds beside one whose trunk is heavier: two engines, one state."""
    light, xml, start = quadruped()
    heavy, _, _ = quadruped()
    heavy.body_mass[0] *= 2.0
    main = ModelBuilder()
    for template in (light, heavy, light):
        main.add_world(template)
    model = main.finalize(device="cpu")
    assert len(model.world_classes) == 2
    solver, state = SolverConvex(model), model.state()
    for _ in range(40):
        solver.step(state, state, None, None, DT)
    q = state.joint_q.numpy().reshape(3, -1)
    assert np.array_equal(q[0], q[2])

    def heavier(m):
        m.body_mass[1] *= 2
        mujoco.mj_setConst(m, mujoco.MjData(m))

    np.testing.assert_allclose(q[0, 7:], _reference(xml, start, 40)[1].qpos[7:], atol=5e-4)
    np.testing.assert_allclose(q[1, 7:], _reference(xml, start, 40, heavier)[1].qpos[7:], atol=5e-4)


def test_a_bad_world_is_reported_and_revived_by_a_good_state(standing):
    model, solver, state, _ = standing
    bad = model.state()
    bad.assign(state)
    qd = bad.joint_qd.numpy()
    qd[10] = np.nan
    bad.joint_qd.assign(qd)
    out = model.state()
    solver.step(bad, out, None, None, DT)
    assert list(solver.trouble()) == [0]
    good = model.state()
    solver.step(state, good, None, None, DT)
    assert solver.trouble() == {}
    half = model.joint_coord_count // 3
    assert np.array_equal(out.joint_q.numpy()[half:], good.joint_q.numpy()[half:])


DOCUMENT = """<mujoco><option timestep=".005" integrator="implicitfast"/><worldbody>
  <body name="hand" mocap="true" pos="0 0 2"/>
  <body name="base" pos=".1 .2 1"><freejoint/><geom type="box" size=".1 .1 .1" contype="0" conaffinity="0"/>
    <body name="arm" pos="0 0 .1"><joint name="elbow" axis="0 1 0" ref="30" damping=".1"/>
      <geom type="capsule" size=".02 .1" pos="0 0 .1" contype="0" conaffinity="0"/>
      <body pos="0 0 .2"><joint name="wrist" type="ball" pos="0 0 .01"/><geom size=".05" contype="0" conaffinity="0"/>
      </body></body></body></worldbody>
  <equality><connect body1="base" body2="hand" anchor="0 0 .5"/></equality>
  <actuator><general joint="elbow" dyntype="filter" dynprm=".1" gainprm="3"/></actuator></mujoco>"""


def test_a_document_with_activation_mocap_and_control():
    theirs = mujoco.MjModel.from_xml_string(DOCUMENT)
    d = mujoco.MjData(theirs)
    template = ModelBuilder()
    template.add_mjcf(DOCUMENT)
    main = ModelBuilder()
    register_mujoco_attributes(main)
    main.replicate(template, 2, spacing=(4.0, 0.0, 0.0))
    model = main.finalize(device="cpu")
    solver, state, control = SolverConvex(model), model.state(), model.control()
    shift = model.world_classes[0].xforms[1][:3]
    control.mujoco.ctrl.assign(np.array([0.0, 0.7], np.float32))
    d.ctrl[0] = 0.7
    hand = [k for k, label in enumerate(model.body_label) if label.endswith("hand")]
    moved = state.body_q.numpy().copy()
    moved[hand[1], :3] = shift + np.array([0.2, 0.1, 2.0])
    state.body_q.assign(moved)
    d.mocap_pos[0] = (0.2, 0.1, 2.0)
    for _ in range(40):
        solver.step(state, state, control)  # the document's own time step
        mujoco.mj_step(theirs, d)
    q = state.joint_q.numpy().reshape(2, -1)[1]
    np.testing.assert_allclose(q[:3] - shift, d.qpos[:3], atol=1e-4)
    np.testing.assert_allclose(q[3:7], d.qpos[[4, 5, 6, 3]], atol=1e-4)
    assert q[7] + theirs.qpos0[7] == pytest.approx(d.qpos[7], abs=1e-4)
    np.testing.assert_allclose(np.abs(q[8:12] @ d.qpos[[9, 10, 11, 8]]), 1, atol=1e-4)
    assert state.mujoco.act.numpy()[1] == pytest.approx(d.act[0], abs=1e-5) and d.act[0] > 0.5
    assert state.mujoco.time.numpy()[1] == pytest.approx(0.2, abs=1e-9)
    np.testing.assert_allclose(state.body_q.numpy()[hand[1], :3], moved[hand[1], :3], atol=1e-6)


def test_changes_of_a_document():
    """Rows under MuJoCo's names and core arrays may both be changed, per world; what follows from them follows."""
    template = ModelBuilder()
    template.add_mjcf(DOCUMENT)
    main = ModelBuilder()
    register_mujoco_attributes(main)
    main.replicate(template, 2)
    model = main.finalize(device="cpu")
    solver = SolverConvex(model)
    engine, nv = solver.batches[0].engine, model.joint_dof_count // 2
    before = {name: engine.read(name).copy() for name in ("dof_damping", "body_mass", "dof_M0", "body_subtreemass")}
    damping = model.mujoco.dof_damping.numpy()
    damping[nv + 6] = 0.7  # the elbow of world 1
    model.mujoco.dof_damping.assign(damping)
    mass = model.body_mass.numpy()
    arm = [k for k, label in enumerate(model.body_label) if label.endswith("arm")]
    mass[arm[1]] *= 3.0
    model.body_mass.assign(mass)
    solver.notify_model_changed(ModelFlags.JOINT_DOF_PROPERTIES | ModelFlags.BODY_INERTIAL_PROPERTIES)
    theirs = mujoco.MjModel.from_xml_string(DOCUMENT)
    theirs.body_mass[theirs.body("arm").id] *= 3.0
    mujoco.mj_setConst(theirs, mujoco.MjData(theirs))
    assert engine.read("dof_damping")[:, 6] == pytest.approx([0.1, 0.7])
    for name in ("body_mass", "dof_M0", "body_subtreemass"):
        np.testing.assert_allclose(engine.read(name)[1], getattr(theirs, name), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(engine.read(name)[0], before[name][0], rtol=1e-6)
    with pytest.raises(BuildError, match="'elbow' changed, but its document sets no limit"):
        upper = model.joint_limit_upper.numpy()
        upper[nv + 6] = 1.0
        model.joint_limit_upper.assign(upper)
        solver.notify_model_changed(ModelFlags.JOINT_DOF_PROPERTIES)


def test_a_step_allocates_nothing(standing, monkeypatch):
    model, solver, state, _ = standing
    out = model.state()
    solver.step(state, out, None, None, DT)

    def refuse(*_, **__):
        raise AssertionError("an array was allocated inside a step")

    allocator = model.device.default_allocator
    monkeypatch.setattr(allocator, "allocate" if hasattr(allocator, "allocate") else "alloc", refuse)
    with pytest.raises(AssertionError, match="allocated"):
        wp.zeros(3, dtype=float, device=model.device)
    solver.step(state, out, None, None, DT)


def test_options_are_checked():
    builder = ModelBuilder()
    builder.add_articulation([builder.add_joint_revolute(-1, link(builder))])
    model = builder.finalize(device="cpu")
    with pytest.raises(BuildError, match="did you mean 'implicitfast'"):
        SolverConvex(model, integrator="implicit_fast")
    solver = SolverConvex(model, integrator="euler", cone="elliptic", iterations=7)
    assert (solver.batches[0].source.host.opt.integrator, solver.batches[0].source.host.opt.iterations) == (0, 7)


@pytest.mark.gpu
def test_a_captured_step_replays():
    """The step is recorded in a CUDA graph, contacts of the model too, and replays to what single steps give."""
    template, xml, start = quadruped()
    main = ModelBuilder()
    SolverConvex.register_custom_attributes(main)
    main.replicate(template, 16)
    model = main.finalize(device="cuda:0")
    solver, state, plain = SolverConvex(model), model.state(), model.state()
    contacts = model.contacts()
    solver.step(plain, plain, None, None, DT)  # loads modules
    model.collide(plain, contacts)
    plain.assign(state)
    with wp.ScopedCapture(device="cuda:0") as capture:
        solver.step(state, state, None, None, DT)
        model.collide(state, contacts)
    state.assign(plain)
    for _ in range(60):
        wp.capture_launch(capture.graph)
        solver.step(plain, plain, None, None, DT)
    assert np.array_equal(state.joint_q.numpy(), plain.joint_q.numpy())
    _, d = _reference(xml, start, 60)
    np.testing.assert_allclose(state.joint_q.numpy().reshape(16, -1)[7, 7:], d.qpos[7:], atol=1e-3)
    assert contacts.rigid_contact_count.numpy()[0] >= 16 * d.ncon
