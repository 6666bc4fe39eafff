"""Hand-built models lowered to MJCF, against the same mechanisms written as MJCF, both run by MuJoCo."""

from __future__ import annotations

from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.adapter import lower as lowering
from kinema.adapter.view import view
from kinema.errors import BuildError
from kinema.model import Heightfield, JointDofConfig, Mesh, ModelBuilder, ShapeConfig
from tests.adapter.hand_built import cartpole, double_pendulum, falling_boxes, link, quadruped


def _element(node):
    out = ElementTree.Element(node.tag, node.attributes)
    out.extend(_element(child) for child in node.children)
    return out


@pytest.fixture
def lowered(monkeypatch):
    """Finalizes a builder and gives the lowered model as MuJoCo compiles its document, and our view of it."""

    def run(builder):
        found = []
        original = lowering.lower
        monkeypatch.setattr("kinema.adapter.view.lower", lambda parts: found.append(original(parts)) or found[-1])
        model = builder.finalize(device="cpu")
        source = view(model, model.world_classes[0])
        text = ElementTree.tostring(_element(found[-1].document), encoding="unicode")
        return mujoco.MjModel.from_xml_string(text), source, model

    return run


def _rollout(m, start, steps=200):
    m.opt.timestep, m.opt.gravity = 0.005, (0, 0, -9.81)
    d = mujoco.MjData(m)
    for name, value in start.items():
        getattr(d, name)[:] = value
    path = []
    for _ in range(steps):
        mujoco.mj_step(m, d)
        path.append(np.concatenate([d.qpos, d.qvel]))
    return np.array(path), d


@pytest.mark.parametrize("make", [double_pendulum, cartpole, falling_boxes, quadruped])
def test_trajectories_of_the_equivalent_document(make, lowered):
    builder, xml, start = make()
    ours, source, _ = lowered(builder)
    if "{solref}" in xml:
        scale = float(ours.dof_invweight0[0]) * 0.05  # what MuJoCo divides a limit's stiffness by, with dmax 0.95
        xml = xml.format(solref=f"{2 / (40 * scale)} {40 * scale / (2 * (2000 * scale) ** 0.5)}")
    theirs = mujoco.MjModel.from_xml_string(xml)
    for name in ("body_mass", "body_inertia", "body_ipos", "body_pos", "jnt_type", "jnt_pos", "jnt_axis", "geom_size",
                 "geom_friction", "jnt_range", "jnt_solref", "jnt_actfrcrange", "dof_armature", "dof_damping",
                 "dof_frictionloss", "actuator_gainprm", "actuator_biasprm", "dof_invweight0"):  # fmt: skip
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=2e-5, atol=2e-6, err_msg=name)
        np.testing.assert_allclose(getattr(source.host, name), getattr(ours, name), rtol=1e-6, atol=1e-9, err_msg=name)
    (path, d), (expect, reference) = _rollout(ours, start), _rollout(theirs, start)
    assert np.abs(expect - expect[0]).max() > 0.05
    # impacts amplify the last bit of the float32 columns
    np.testing.assert_allclose(path[:60, : ours.nq], expect[:60, : ours.nq], atol=5e-5)
    np.testing.assert_allclose(path[:60, ours.nq :], expect[:60, ours.nq :], atol=5e-4 * np.abs(expect[:60]).max())
    assert np.abs(path[-1] - expect[-1]).max() < 2e-2
    assert d.ncon == reference.ncon


def test_what_the_limit_of_a_cart_does(lowered):
    """Pushed against its limit with a constant force, a cart rests where ke times the depth is the force."""
    builder = ModelBuilder()
    cart = link(builder, 2.0)
    limit = {"limit_lower": -1, "limit_upper": 0.1, "limit_ke": 500, "limit_kd": 60}
    joint = builder.add_joint_prismatic(-1, cart, axis=(1, 0, 0), **limit)
    builder.add_articulation([joint])
    m, _, _ = lowered(builder)
    d = mujoco.MjData(m)
    d.qfrc_applied[0] = 10.0
    mujoco.mj_step(m, d, 20000)
    assert 500 * (d.qpos[0] - 0.1) == pytest.approx(10, rel=1e-3)


def test_frames_of_a_d6_joint(lowered):
    """Slides first, then turns about moving axes, between frames that are turned on both sides."""
    builder = ModelBuilder()
    body = link(builder)
    s, c = np.sin(0.35), np.cos(0.35)
    joint = builder.add_joint_d6(
        -1, body, linear_axes=[JointDofConfig(axis=(0, 0, 1))],
        angular_axes=[JointDofConfig(axis=(1, 0, 0)), JointDofConfig(axis=(0, 1, 0))],
        parent_xform=((1, 2, 3), (s, 0, 0, c)), child_xform=((0.1, 0.2, 0.3), (0, s, 0, c)),
    )  # fmt: skip
    builder.add_articulation([joint])
    m, source, _ = lowered(builder)
    d = mujoco.MjData(m)
    q = np.array([0.4, 0.5, -0.6])
    d.qpos[:] = q
    mujoco.mj_kinematics(m, d)
    from kinema.model.joints import quat_from_targets
    from kinema.model.transform import transform_inverse, transform_mul

    moved = np.concatenate([[0, 0, q[0]], quat_from_targets(q[1], q[2], 0.0)])
    expect = transform_mul(transform_mul(np.array([1, 2, 3, s, 0, 0, c]), moved),
                           transform_inverse(np.array([0.1, 0.2, 0.3, 0, s, 0, c])))  # fmt: skip
    np.testing.assert_allclose(d.xpos[1], expect[:3], atol=1e-6)
    assert abs(d.xquat[1] @ expect[[6, 3, 4, 5]]) == pytest.approx(1, abs=1e-6)
    assert source.joints.tolist() == [[0, 0, 0], [0, 1, 1], [0, 2, 2]]


def test_groups_and_filters(lowered):
    """Which bodies may touch is what the model's own list of pairs says."""
    builder = ModelBuilder()
    for k, group in enumerate([1, 1, 2, -1, -2, 0]):
        body = builder.add_body(xform=((k, 0, 1), (0, 0, 0, 1)))
        cfg = ShapeConfig(collision_group=group)
        builder.add_shape_sphere(body, radius=0.1, cfg=cfg)
        builder.add_shape_sphere(body, radius=0.2, cfg=cfg)
    builder.add_ground_plane()
    builder.add_shape_collision_filter_pair(0, 4)  # one of four pairs of bodies 0 and 2 (which do not meet anyway)
    builder.add_shape_collision_filter_pair(0, 2)  # one of four pairs of bodies 0 and 1
    for a in (2, 3):
        for b in (6, 7):
            builder.add_shape_collision_filter_pair(a, b)  # all pairs of bodies 1 and 3
    _, source, model = lowered(builder)
    from kinema.collide.filter import geom_pairs

    host = source.host
    found = {tuple(sorted(source.geoms[g].tolist())) for g in geom_pairs(host).geom}
    expect = {tuple(sorted(pair)) for pair in model.shape_contact_pairs.numpy().tolist()}
    assert found == expect
    assert (0, 3) in found and (0, 2) not in found and (2, 6) not in found


def test_shapes_of_every_kind(lowered):
    builder = ModelBuilder()
    body = builder.add_body(xform=((0, 0, 1), (0, 0, 0, 1)))
    cube = Mesh(np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T, [0, 1, 2])
    heights = np.arange(12.0).reshape(3, 4) / 11
    builder.add_shape_ellipsoid(body, rx=0.1, ry=0.2, rz=0.3)
    builder.add_shape_cylinder(body, radius=0.1, half_height=0.4)
    builder.add_shape_cone(body, radius=0.2, half_height=0.3)
    builder.add_shape_convex_hull(body, mesh=cube, scale=(0.1, 0.2, 0.3))
    builder.add_shape_heightfield(heightfield=Heightfield(heights, 3, 4, hx=2, hy=3, min_z=0.5, max_z=1.5))
    builder.add_site(body)
    _, source, _ = lowered(builder)
    host = source.host
    kinds = {int(s): mujoco.mjtGeom(int(host.geom_type[g])).name[7:] for g, s in enumerate(source.geoms)}
    assert kinds == {0: "ELLIPSOID", 1: "CYLINDER", 2: "MESH", 3: "MESH", 4: "HFIELD"}
    assert host.nsite == 1
    geom = source.geoms.tolist().index(3)
    np.testing.assert_allclose(host.geom_pos[geom], (0.05, 0.1, 0.15), atol=1e-6)  # the hull's centre
    np.testing.assert_allclose(2 * host.geom_aabb[geom, 3:].prod() ** (1 / 3), 2 * 0.5 * 0.006 ** (1 / 3), rtol=1e-5)
    field = source.geoms.tolist().index(4)
    np.testing.assert_allclose(host.geom_pos[field], (0, 0, 0.5))
    np.testing.assert_allclose(host.hfield_data.reshape(3, 4), heights, atol=1e-6)
    np.testing.assert_allclose(host.hfield_size[0][:3], (2, 3, 1))


def test_loops_mimics_and_distance(lowered):
    builder = ModelBuilder()
    bodies = [link(builder, xform=((x, 0, 1), (0, 0, 0, 1))) for x in (0.0, 1.0)]
    hang = [
        builder.add_joint_revolute(-1, b, axis=(0, 1, 0), parent_xform=((x, 0, 1), (0, 0, 0, 1)))
        for b, x in zip(bodies, (0.0, 1.0), strict=True)
    ]
    for joint in hang:
        builder.add_articulation([joint])
    builder.add_joint_ball(bodies[0], bodies[1], parent_xform=((0, 0, -1), (0, 0, 0, 1)),
                           child_xform=((-1, 0, -1), (0, 0, 0, 1)))  # fmt: skip
    builder.add_constraint_mimic(joint0=hang[1], joint1=hang[0], coef0=0.1, coef1=2.0)
    ball = builder.add_body(xform=((0, 0, 3), (0, 0, 0, 1)), mass=1.0, inertia=np.eye(3), lock_inertia=True)
    builder.add_joint_distance(-1, ball, parent_xform=((0, 0, 3.5), (0, 0, 0, 1)), min_distance=0.2, max_distance=0.8)
    m, source, _ = lowered(builder)
    assert m.eq_type.tolist() == [mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_JOINT]
    assert m.eq_data[1, :2].tolist() == pytest.approx([0.1, 2.0])
    assert m.ntendon == 1 and m.tendon_range[0].tolist() == pytest.approx([0.2, 0.8])
    assert source.host.tendon_length0[0] == pytest.approx(0.5)


def test_what_mujoco_cannot_hold_is_said(lowered):
    builder = ModelBuilder()
    a, b = link(builder), link(builder)
    builder.add_articulation([builder.add_joint_fixed(-1, a), builder.add_joint_fixed(a, b)])
    builder.add_joint_d6(a, b)
    with pytest.raises(BuildError, match="closes a loop"):
        lowered(builder)


def test_a_joint_of_a_rod_is_a_ball_with_a_spring_and_hinges_where_twist_differs(lowered):
    for twist, kinds, stiffness in ((None, [mujoco.mjtJoint.mjJNT_BALL], [3.0]),
                                    (5.0, [mujoco.mjtJoint.mjJNT_HINGE] * 3, [3.0, 3.0, 5.0])):  # fmt: skip
        builder = ModelBuilder()
        a, b = link(builder), link(builder)
        rod = builder.add_joint_rod(a, b, bend_stiffness=3.0, twist_stiffness=twist)
        builder.add_articulation([rod, builder.add_joint_fixed(-1, a)])
        m, _, _ = lowered(builder)
        assert m.jnt_type.tolist() == kinds and m.jnt_stiffness.tolist() == stiffness
        assert m.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE


def test_a_body_without_mass_stays_where_it_is_put(lowered):
    """Newton's way to pin a body: inverse masses of 0."""
    builder = ModelBuilder()
    first, second = (builder.add_link(xform=((0.0, 0.0, z), (0.0, 0.0, 0.0, 1.0)), mass=1.0, inertia=np.eye(3))
                     for z in (1.0, 0.8))  # fmt: skip
    joints = [builder.add_joint_free(first), builder.add_joint_ball(first, second, child_xform=wp.transform(
        (0.0, 0.0, 0.2), wp.quat_identity()))]  # fmt: skip
    builder.add_articulation(joints)
    builder.body_inv_mass[first], builder.body_inv_inertia[first] = 0.0, wp.mat33(0.0)
    assert builder.body_mass[first] == 0.0 and builder.body_inv_mass[second] == 1.0
    m, _, _ = lowered(builder)
    assert m.body_mocapid.tolist() == [-1, 0, -1] and m.nv == 3 and m.body_parentid[2] == 1
