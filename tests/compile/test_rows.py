"""Documents in a builder: complete rows, merging, core arrays, and users' attributes read from MJCF."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.compile import compile_model, register_mujoco_attributes
from kinema.compile.rows import global_rows, host_model
from kinema.errors import UnknownAttribute
from kinema.model import AttributeFrequency, CustomAttribute, GeoType, JointType, ModelBuilder
from tests.conformance.compare import differences

ROBOT = """<mujoco model="robot"><option timestep=".01" gravity="0 0 -3"/>
  <asset><mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="red" rgba="1 0 0 1"/></asset>
  <worldbody><site name="hook"/><geom name="floor" type="plane" size="0 0 1"/><body name="base" pos="0 0 1">
        <freejoint name="root"/>
    <geom name="trunk" type="box" size=".1 .2 .3" material="red"/><site name="imu"/>
    <body name="arm" pos="0 .3 0" euler="0 0 90"><joint name="shoulder" axis="0 1 0" range="-45 90" damping="2" ref="10"
      pos="0 .1 0"/><joint name="twist" axis="1 0 0"/><geom name="upper" type="cylinder" size=".05 .2"/>
      <body name="hand" pos="0 .4 0"><joint name="grip" type="slide" axis="1 0 0" armature=".1"/>
        <geom name="claw" type="mesh" mesh="tetra"/></body></body></body>
    <body name="ball"><joint name="spin" type="ball"/><geom size=".1"/></body><body name="post" mocap="true">
        <geom size=".1"
      contype="0" conaffinity="0"/></body></worldbody>
  <contact><pair geom1="trunk" geom2="claw" condim="4"/><exclude body1="base" body2="hand"/></contact>
  <tendon><fixed name="coupling"><joint joint="shoulder" coef="1"/><joint joint="grip" coef="-1"/></fixed>
    <spatial name="rope"><site site="imu"/><geom geom="upper"/><site site="hook"/></spatial></tendon>
  <equality><weld body1="hand" body2="ball"/><joint joint1="grip"/></equality>
  <actuator><position joint="shoulder" kp="5"/><motor tendon="coupling"/></actuator>
  <sensor><framepos objtype="site" objname="imu"/><jointpos joint="grip"/></sensor>
  <keyframe><key name="home" ctrl="1 2"/></keyframe></mujoco>"""


def test_rows_give_the_compiled_model_back():
    builder = ModelBuilder()
    result = builder.add_mjcf(ROBOT)
    model = builder.finalize(device="cpu")
    back = host_model(global_rows(model))
    assert differences(back, mujoco.MjModel.from_xml_string(ROBOT)) == {}
    assert back.names("joint") == result.host.names("joint")


def _values(model, key):
    field = model.fields[key]
    value = model.array_of(field)
    return value if isinstance(value, list) else value.numpy()


def test_merged_worlds_hold_the_same_model_with_moved_indices():
    template = ModelBuilder()
    template.add_mjcf(ROBOT)
    main = ModelBuilder()
    register_mujoco_attributes(main)
    for _ in range(3):
        main.add_world(template)
    model = main.finalize(device="cpu")
    theirs = mujoco.MjModel.from_xml_string(ROBOT)
    geoms = theirs.ngeom
    assert model.mujoco.pair_geom1.numpy().tolist() == [theirs.pair_geom1[0] + k * geoms for k in range(3)]
    assert model.mujoco.pair_world.numpy().tolist() == [0, 1, 2]
    bodies = np.concatenate([theirs.sensor_objid[:1] + k * theirs.nsite for k in range(3)])
    assert model.mujoco.sensor_objid.numpy()[::2].tolist() == bodies.tolist()
    assert len(model.world_classes) == 1
    assert differences(host_model(model.world_classes[0].template), theirs) == {}


def test_two_documents_in_one_world_stay_apart():
    builder = ModelBuilder()
    first = builder.add_mjcf(ROBOT)
    second = builder.add_mjcf(ROBOT.replace('model="robot"', 'model="other"'))
    theirs = first.host
    assert second.rows["ngeom"] == theirs.ngeom
    moved = np.asarray(builder.custom_attributes["mujoco:wrap_objid"].values)[theirs.nwrap :]
    assert (moved >= theirs.wrap_objid).all()
    assert builder.body_count == 2 * (theirs.nbody - 1)


def test_core_arrays():
    builder = ModelBuilder()
    result = builder.add_mjcf(ROBOT)
    model = builder.finalize(device="cpu")
    host = result.host
    data = mujoco.MjData(theirs := mujoco.MjModel.from_xml_string(ROBOT))
    mujoco.mj_kinematics(theirs, data)
    mass = model.body_mass.numpy()
    np.testing.assert_allclose(mass, host.body_mass[1:], rtol=1e-6)
    poses = model.body_q.numpy()
    np.testing.assert_allclose(poses[:, :3], data.xpos[1:], atol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(poses[:, 3:] * data.xquat[1:, [1, 2, 3, 0]], axis=1)), 1, atol=1e-6)
    kinds = [JointType(k).name for k in model.joint_type.numpy()]
    assert kinds == ["FREE", "D6", "PRISMATIC", "BALL", "FIXED"]
    assert model.shape_type.numpy()[result.shapes[3]] == GeoType.MESH
    assert [model.shape_label[i] for i in result.shapes[:3]] == [
        "robot/worldbody/floor", "robot/worldbody/base/trunk", "robot/worldbody/base/arm/upper",
    ]  # fmt: skip
    assert np.allclose(builder.gravity, (0, 0, -3))


def test_users_attributes_are_read_from_mjcf():
    builder = ModelBuilder()
    for name, kind, more in (
        ("stiffness", AttributeFrequency.JOINT, {}),
        ("temperature", AttributeFrequency.BODY, {"default": 20.0}),
        ("sticky", AttributeFrequency.SHAPE, {"dtype": wp.bool, "mjcf_value_transformer": lambda t, _: t == "very"}),
    ):
        builder.add_custom_attribute(
            CustomAttribute(name=name, namespace="my", frequency=kind, mjcf_attribute_name=name, **more)
        )
    builder.add_mjcf(
        """<mujoco><default><default class="warm"><geom sticky="very"/></default></default><worldbody>
        <body temperature="37"><joint stiffness="3"/><geom size=".1" class="warm"/><geom size=".2"/></body>
        <body><joint/><geom size=".1"/></body></worldbody></mujoco>"""
    )
    model = builder.finalize(device="cpu")
    assert model.my.temperature.numpy().tolist() == [37.0, 20.0]
    assert model.my.stiffness.numpy().tolist() == [3.0, 0.0]
    assert model.my.sticky.numpy().tolist() == [True, False, False]


def test_users_attributes_on_a_mujoco_frequency():
    builder = ModelBuilder()
    register_mujoco_attributes(builder)
    builder.add_custom_attribute(
        CustomAttribute(
            name="pair_color", namespace="my", frequency="mujoco:pair", dtype=wp.int32, default=7,
            mjcf_attribute_name="color",
        )
    )  # fmt: skip
    builder.add_mjcf(
        """<mujoco><worldbody><geom name="a" size=".1"/><body><freejoint/><geom name="b" size=".1"/></body></worldbody>
        <contact><pair geom1="a" geom2="b" color="3"/><pair geom1="b" geom2="a"/></contact></mujoco>"""
    )
    assert sorted(np.asarray(builder.custom_attributes["my:pair_color"].values).tolist()) == [3, 7]


def test_an_attribute_nobody_registered_is_an_error():
    with pytest.raises(UnknownAttribute, match="temperature"):
        ModelBuilder().add_mjcf('<mujoco><worldbody><body temperature="3"/></worldbody></mujoco>')


def test_registering_twice_changes_nothing():
    builder = ModelBuilder()
    register_mujoco_attributes(builder)
    count = len(builder.custom_attributes)
    register_mujoco_attributes(builder)
    assert len(builder.custom_attributes) == count > 250


def test_many_worlds_share_the_packed_part():
    template = ModelBuilder()
    template.add_mjcf(ROBOT)
    main = ModelBuilder()
    register_mujoco_attributes(main)
    main.replicate(template, 500)
    model = main.finalize(device="cpu")
    texts = _values(model, "mujoco:document_packed")
    assert len(texts) == 500 and len({id(text) for text in texts}) == 1
    assert len(model.world_classes) == 1


def test_compile_and_rows_agree_with_a_document_from_text():
    assert compile_model(ROBOT).nbody == 6
