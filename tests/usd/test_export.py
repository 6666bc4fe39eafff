"""Models written as stages come back as they were, here and in Newton."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import kinema
from kinema import actuators
from kinema.errors import BuildError

from ..model.newton_arrays import compared_fields, differences, quietly

pytest.importorskip("pxr", reason="stages are written with usd-core")

X = wp.transform((0.1, 0.2, 0.3), wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.4))


def robot(builder, at=(0.0, 0.0, 1.0), floating=False):
    """A base, a hinge with a drive, a slide with limits, a ball, a D6, and a fixed hand."""
    shape = {"cfg": kinema.ShapeConfig(mu=0.7, restitution=0.1, ke=4000.0, kd=40.0, margin=0.002, gap=0.01)}
    base = builder.add_link(xform=wp.transform(at, wp.quat_identity()), label="base")
    builder.add_shape_box(base, hx=0.2, hy=0.1, hz=0.05, label="slab", **shape)
    hold = builder.add_joint_free(base, label="float") if floating else builder.add_joint_fixed(
        -1, base, parent_xform=wp.transform(at, wp.quat_identity()), label="bolt")
    places = [(0.4, 0.0, 1.0), (0.8, 0.0, 1.0), (1.2, 0.0, 1.0), (1.6, 0.0, 1.0), (1.8, 0.0, 1.0)]
    links = [builder.add_link(xform=wp.transform(np.add(place, at) - (0, 0, 1), wp.quat_identity()), label=f"link{k}")
             for k, place in enumerate(places)]
    builder.add_shape_capsule(links[0], radius=0.05, half_height=0.1, label="rod")
    builder.add_shape_sphere(links[1], radius=0.07, label="ball")
    builder.add_shape_cylinder(links[2], radius=0.05, half_height=0.1, label="drum")
    builder.add_shape_mesh(links[3], mesh=kinema.Mesh(
        np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]), np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])),
        label="tetra")
    builder.add_shape_cone(links[4], radius=0.05, half_height=0.1, label="tip")
    half = {"parent_xform": wp.transform((0.2, 0.0, 0.0), wp.quat_identity()),
            "child_xform": wp.transform((-0.2, 0.0, 0.0), wp.quat_identity())}
    joints = [
        hold,
        builder.add_joint_revolute(
            base, links[0], **half, axis=(0.0, 1.0, 0.0), limit_lower=-1.0, limit_upper=0.5, target_ke=30.0,
            target_kd=2.0, target_pos=0.2, effort_limit=9.0, armature=0.02, friction=0.1, label="hinge"),
        builder.add_joint_prismatic(
            links[0], links[1], **half, axis=(0.0, 0.0, 1.0), limit_lower=-0.1, limit_upper=0.3, limit_ke=500.0,
            limit_kd=5.0, target_kd=3.0, target_vel=0.4, velocity_limit=2.0, label="slide"),
        builder.add_joint_ball(links[1], links[2], **half, label="ball_joint"),
        builder.add_joint_d6(
            links[2], links[3], **half, label="six",
            linear_axes=[kinema.JointDofConfig(axis=(1, 0, 0), limit_lower=-0.2, limit_upper=0.2)],
            angular_axes=[kinema.JointDofConfig(axis=(0, 1, 0), limit_lower=-1.0, limit_upper=1.0, target_ke=4.0)]),
        builder.add_joint_fixed(links[3], links[4], parent_xform=wp.transform((0.2, 0, 0), wp.quat_identity()),
                                label="glue"),
    ]  # fmt: skip
    builder.add_articulation(joints, label="arm")
    return joints


def scene(floating=False):
    builder = kinema.ModelBuilder(gravity=-5.0)
    robot(builder, floating=floating)
    box = builder.add_body(xform=wp.transform((0.0, 2.0, 3.0), wp.quat_rpy(0.1, 0.2, 0.3)), label="crate")
    builder.add_shape_box(box, xform=X, hx=0.3, hy=0.2, hz=0.1, label="side")
    builder.add_ground_plane()
    return builder


ORDER = ("body_", "joint_", "articulation_start", "articulation_end")
NAMES = ("body_label", "joint_label", "articulation_label")


def compared(*prefixes):
    skipped = {*NAMES, "joint_velocity_limit", "joint_effort_limit", "joint_target_mode"}
    return [name for name in compared_fields(*prefixes) if name not in skipped]


def read(library, stage, **options):
    builder = library.ModelBuilder()
    quietly(lambda: builder.add_usd(stage, **options))
    return quietly(lambda: builder.finalize("cpu"))


@pytest.mark.parametrize("floating", [False, True])
def test_bodies_and_joints_come_back(floating):
    model = scene(floating).finalize("cpu")
    again = read(kinema, model.save_usd())
    assert not differences(model, again, compared(*ORDER), rtol=1e-4, atol=1e-5)
    driven = model.joint_target_mode.numpy() != 0
    assert again.joint_effort_limit.numpy()[driven] == pytest.approx(model.joint_effort_limit.numpy()[driven])
    np.testing.assert_array_equal(model.joint_target_mode.numpy(), again.joint_target_mode.numpy())
    assert again.gravity.numpy()[0] == pytest.approx([0.0, 0.0, -5.0])


@pytest.mark.parametrize("floating", [False, True])
def test_newton_reads_the_same(floating):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    pytest.importorskip("newton_usd_schemas", reason="Newton reads stages with its schemas")
    model = scene(floating).finalize("cpu")
    theirs, ours = read(newton, model.save_usd()), read(kinema, model.save_usd())
    assert not differences(theirs, ours, compared_fields("body_", "joint_", "shape_"), rtol=1e-4, atol=1e-5)
    assert not differences(theirs, model, compared(*ORDER), rtol=1e-4, atol=1e-5)


def by_name(model):
    return {str(label).rpartition("/")[2]: k for k, label in enumerate(model.shape_label)}


def test_shapes_and_materials_come_back():
    model = scene().finalize("cpu")
    again = read(kinema, model.save_usd())
    first, second = by_name(model), by_name(again)
    assert set(first) == set(second) and len(first) == 8
    for key in ("shape_type", "shape_scale", "shape_transform", "shape_flags", "shape_material_mu", "shape_margin",
                "shape_material_ke", "shape_material_kd", "shape_gap", "shape_color"):  # fmt: skip
        a, b = (getattr(m, key).numpy() for m in (model, again))
        for name in first:
            x, y = a[first[name]], b[second[name]]
            if key == "shape_transform":
                y = np.concatenate([y[:3], y[3:] * np.sign(x[3:] @ y[3:])])
            np.testing.assert_allclose(y, x, rtol=1e-5, atol=1e-5, err_msg=f"{key} of {name}")
    pairs = [{frozenset((names[a], names[b])) for a, b in m.shape_collision_filter_pairs} for m, names in (
        (m, {k: name for name, k in rows.items()}) for m, rows in ((model, first), (again, second)))]  # fmt: skip
    assert pairs[0] == pairs[1] and pairs[0]


def test_worlds_that_are_alike_refer_to_one(tmp_path):
    one = kinema.ModelBuilder()
    robot(one)
    builder = kinema.ModelBuilder()
    builder.replicate(one, 3, spacing=(2.0, 0.0, 0.0))
    model = builder.finalize("cpu")
    path = tmp_path / "worlds.usda"
    stage = model.save_usd(path)
    assert path.read_text().count("PhysicsRevoluteJoint") == 1 and path.read_text().count("references") == 3
    names = [prim.GetName() for prim in stage.GetPseudoRoot().GetChildren() if prim.GetName().startswith("world_")]
    assert len(names) == 3
    again = kinema.ModelBuilder()
    for name in names:
        again.begin_world()
        quietly(lambda n=name: again.add_usd(str(path), root_path=f"/{n}"))
        again.end_world()
    back = again.finalize("cpu")
    assert back.world_count == 3
    assert not differences(model, back, compared(*ORDER), rtol=1e-4, atol=1e-5)
    alone = read(kinema, model.save_usd(world=2))
    assert alone.body_q.numpy()[0, 0] == pytest.approx(2.0)


def test_a_state_an_actuator_and_a_follower_are_written():
    builder = kinema.ModelBuilder()
    joints = robot(builder)
    dof = int(builder.joint_qd_start[joints[1]])
    clamps = [(actuators.ClampingMaxEffort, {"max_effort": 3.0})]
    builder.add_actuator(actuators.DrivePID, dof, clamps, 2, kp=5.0, ki=1.0, integral_max=0.5)
    builder.add_constraint_mimic(joints[2], joints[1], 0.1, 0.5)
    model = builder.finalize("cpu")
    state = model.state()
    q = state.joint_q.numpy()
    q[:2] = 0.3, 0.1
    state.joint_q.assign(q)
    kinema.eval_fk(model, state.joint_q, state.joint_qd, state)
    again = read(kinema, model.save_usd(state=state))
    np.testing.assert_allclose(again.joint_q.numpy()[:2], [0.3, 0.1], atol=1e-6)
    np.testing.assert_allclose(again.body_q.numpy(), state.body_q.numpy(), atol=1e-5)
    (actuator,) = again.actuators
    arrays = (actuator.drive.kp, actuator.drive.ki, actuator.clamping[0].max_effort)
    assert [array.numpy()[0] for array in arrays] == [5, 1, 3]
    assert actuator.delay.delay_steps.numpy().tolist() == [2] and actuator.indices.numpy().tolist() == [dof]
    coefs = (again.constraint_mimic_coef0, again.constraint_mimic_coef1)
    assert [array.numpy()[0] for array in coefs] == pytest.approx([0.1, 0.5])


ASSETS = (
    "examples/assets/ant.usda", "examples/assets/boxes_fourbar.usda", "examples/assets/tabletop.xml",
    "examples/assets/quadruped.urdf", "tests/assets/humanoid_mjc.usda",
)  # fmt: skip


@pytest.mark.parametrize("name", ASSETS)
def test_public_models_come_back(name):
    """Loops, joints of several axes, robot descriptions and documents, whose order of joints is not that of names."""
    from pathlib import Path

    newton = pytest.importorskip("newton", reason="the models are in its wheel")
    path = Path(newton.__file__).parent / name
    if not path.is_file():
        pytest.skip("this wheel of Newton's has no such asset")
    builder = kinema.ModelBuilder()
    add = {".xml": builder.add_mjcf, ".urdf": builder.add_urdf}.get(path.suffix, builder.add_usd)
    quietly(lambda: add(str(path)))
    model = quietly(lambda: builder.finalize("cpu"))
    again = read(kinema, quietly(model.save_usd))
    assert model.body_count > 3
    assert not differences(model, again, compared(*ORDER), rtol=1e-3, atol=1e-4)


def test_other_axes_turn_the_frame():
    builder = kinema.ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link, axis=(1.0, 1.0, 0.0), label="skew")])
    model = builder.finalize("cpu")
    again = read(kinema, model.save_usd())
    for m in (model, again):
        state = m.state()
        state.joint_q.fill_(0.7)
        kinema.eval_fk(m, state.joint_q, state.joint_qd, state)
        m_pose = state.body_q.numpy()[0]
        assert m_pose[3:5] == pytest.approx([np.sin(0.35) / np.sqrt(2)] * 2, abs=1e-6)


def test_what_cannot_be_written_is_said(tmp_path):
    builder = kinema.ModelBuilder()
    builder.add_rod([(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)], label="rope")
    model = builder.finalize("cpu")
    with pytest.raises(BuildError, match="'rope_cable_1' is a ROD joint, which UsdPhysics does not have"):
        model.save_usd()
    with pytest.raises(BuildError, match="does not end in .usda"):
        model.save_usd(tmp_path / "rope.xml")
    with pytest.raises(IndexError, match="world 3 is not in 0 to 0"):
        model.save_usd(world=3)
