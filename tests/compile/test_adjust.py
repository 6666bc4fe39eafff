"""What a caller of add_mjcf asks for, against documents edited by hand and compiled by MuJoCo; URDF against Newton."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import kinema
from kinema.errors import BuildError
from kinema.model import JointDofConfig, JointType, ModelBuilder

ARM = """<mujoco model="arm"><worldbody>
  <geom name="floor" type="plane" size="1 1 .1" pos="0 0 -.2"/>
  <body name="base" pos=".1 .2 .3" euler="0 0 30"><freejoint name="root"/><geom size=".1 .2 .3" type="box"/>
    <body name="tip" pos="0 0 .5"><joint name="knee" axis="0 1 0" armature=".25"/><geom name="ball" size=".1"/>
      <site name="end" pos="0 0 .2"/></body></body></worldbody>
  <sensor><framepos objtype="site" objname="end"/></sensor>
  <keyframe><key name="home" qpos="1 2 3 1 0 0 0 .5"/></keyframe></mujoco>"""
TURN = (0.0, 0.0, np.sin(0.4), np.cos(0.4))
XFORM = ((1.0, -2.0, 0.5), TURN)
FIELDS = (
    "body_pos", "body_quat", "geom_pos", "geom_quat", "jnt_type", "qpos0", "body_mass", "dof_armature",
    "dof_invweight0", "key_qpos", "sensor_objid", "jnt_range", "jnt_axis", "exclude_signature",
)  # fmt: skip


def _added(source=ARM, **wishes):
    builder = ModelBuilder()
    return builder, builder.add_mjcf(source, **wishes)


def _check(xml, **wishes):
    _, found = _added(**wishes)
    m = mujoco.MjModel.from_xml_string(xml)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found.host, name), getattr(m, name), atol=1e-9, err_msg=name)


def _framed(xml):
    quat = f"{TURN[3]} 0 0 {TURN[2]}"
    inner = xml.replace("<worldbody>", f'<worldbody><frame pos="1 -2 .5" quat="{quat}">')
    return inner.replace("</worldbody>", "</frame></worldbody>")


def test_places():
    _check(_framed(ARM), xform=XFORM)
    builder, _ = _added(xform=XFORM, override_root_xform=True)
    np.testing.assert_allclose(builder.body_q[0], [1, -2, 0.5, *TURN], atol=1e-6)
    builder, _ = _added(up_axis="Y")
    np.testing.assert_allclose(builder.body_q[0][:3], [0.1, -0.3, 0.2], atol=1e-6)


def test_how_roots_are_held():
    fixed = ARM.replace('<freejoint name="root"/>', "").replace("1 2 3 1 0 0 0 .5", ".5")
    builder, found = _added(fixed, floating=True)
    assert found.host.jnt_type.tolist() == [0, 3] and found.host.nv == 7
    with pytest.raises(Exception, match="qpos"):  # the keyframe is of another root
        _added(floating=False)
    plain = ARM[: ARM.index("  <keyframe")] + "</mujoco>"
    builder, found = _added(plain, floating=False)
    assert found.host.nv == 1 and builder.joint_type[0] == JointType.FIXED
    axes = [JointDofConfig(axis="Z", limit_lower=-0.5, limit_upper=1.0)]
    wanted = {"joint_type": JointType.D6, "linear_axes": ["X", (0, 1, 0)], "angular_axes": axes}
    builder, found = _added(plain, base_joint=wanted)
    assert found.host.jnt_type.tolist() == [2, 2, 3, 3]
    np.testing.assert_allclose(found.host.jnt_range[2], [-0.5, 1.0], atol=1e-9)
    np.testing.assert_allclose(found.host.jnt_axis[:3], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_what_is_left_out_or_changed():
    _check(ARM.replace('armature=".25"', 'armature=".5"'), armature_scale=2.0)
    alone = ARM.replace("<keyframe>", '<contact><exclude body1="base" body2="tip"/></contact><keyframe>')
    _check(alone, enable_self_collisions=False)
    _, found = _added(ignore_names=["flo"])
    assert found.host.names("geom") == ["", "ball"]
    blind = ARM.replace("<sensor>", '<sensor><touch name="t" site="ned"/>')
    with pytest.warns(UserWarning, match="no site 'ned'.*'end'"):
        _, found = _added(blind)
    assert found.host.nsensor == 1


def test_refused_by_name():
    with pytest.raises(BuildError, match="no argument 'floatin'.*floating"):
        _added(floatin=True)
    with pytest.raises(BuildError, match="scale=2.0 is not supported"):
        _added(scale=2.0)
    with pytest.raises(BuildError, match="give one of them"):
        _added(floating=True, base_joint={})
    with pytest.raises(BuildError, match="needs xform"):
        _added(override_root_xform=True)
    with pytest.raises(BuildError, match="xform=3"):
        _added(xform=3)
    with pytest.raises(BuildError, match="'joint_typ' is not known.*joint_type"):
        _added(base_joint={"joint_typ": 1})


@pytest.mark.parametrize("name", ["quadruped.urdf", "cartpole.urdf"])
@pytest.mark.parametrize("floating", [None, True])
def test_urdf_as_newton_reads_it(name, floating):
    newton = pytest.importorskip("newton")
    path = str(Path(newton.__file__).parent / "examples/assets" / name)
    ours, theirs = ModelBuilder(), newton.ModelBuilder()
    ours.add_urdf(path, floating=floating, xform=XFORM)
    theirs.add_urdf(path, floating=floating, xform=(*XFORM[0], *XFORM[1]))
    for name in ("body_label", "joint_label", "articulation_label"):
        assert list(getattr(ours, name)) == list(getattr(theirs, name))
    assert list(theirs.joint_type) == list(ours.joint_type)
    np.testing.assert_allclose(ours.body_mass, theirs.body_mass, rtol=1e-5)
    np.testing.assert_allclose(np.array(ours.body_com), np.array(theirs.body_com), atol=1e-6)
    assert ours.joint_dof_count == theirs.joint_dof_count
    np.testing.assert_allclose(ours.joint_limit_lower, theirs.joint_limit_lower, rtol=1e-5)
    poses = []
    for module, builder in ((kinema, ours), (newton, theirs)):
        model = builder.finalize(device="cpu")
        state = model.state()
        module.eval_fk(model, state.joint_q, state.joint_qd, state)
        poses.append(state.body_q.numpy())
    np.testing.assert_allclose(poses[0][:, :3], poses[1][:, :3], atol=1e-5)
