"""Joints made by hand between documents, against one document that holds both and MuJoCo's own equality constraints."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.adapter.view import view
from kinema.errors import BuildError
from kinema.model import ModelBuilder

ARM = """<mujoco model="{p}arm"><option timestep=".002"/><worldbody>
  <body name="{p}upper" pos="{x} 0 1"><joint name="{p}s" axis="0 1 0" damping=".1"/>
    <geom name="{p}u" type="capsule" fromto="0 0 0 .4 0 0" size=".03" contype="0" conaffinity="0"/>
    <body name="{p}fore" pos=".4 0 0"><joint name="{p}e" axis="0 0 1"/>
      <geom name="{p}f" type="capsule" fromto="0 0 0 .3 0 0" size=".02" contype="0" conaffinity="0"/></body></body>
  </worldbody><keyframe><key name="{p}bent" qpos=".3 .5"/></keyframe></mujoco>"""
HALF = np.sqrt(0.5)
ABOVE, BELOW = ((0.3, 0.0, 0.0), (0.0, 0.0, HALF, HALF)), ((0.1, 0.05, 0.0), (0.0, HALF, 0.0, HALF))
CONNECT = '<connect body1="a_fore" body2="b_fore" anchor="{}"/>'


def _built(kind, **more):
    builder = ModelBuilder()
    first, second = (builder.add_mjcf(ARM.format(p=p, x=x)) for p, x in (("a_", 0), ("b_", 0.5)))
    ends = first.bodies[2], second.bodies[2]
    frames = {"parent_xform": wp.transform(*ABOVE), "child_xform": wp.transform(*BELOW)}
    getattr(builder, f"add_joint_{kind}")(*ends, **frames, **more)
    return builder.finalize(device="cpu")


def _reference(equality):
    one = ARM.format(p="a_", x=0)
    other = ARM.format(p="b_", x=0.5).split("<worldbody>")[1].split("</worldbody>")[0]
    xml = one.replace("</worldbody>", f"{other}</worldbody><equality>{equality}</equality>")
    return mujoco.MjModel.from_xml_string(xml[: xml.index("<keyframe")] + "</mujoco>")


@pytest.mark.parametrize("kind", ["fixed", "ball", "revolute"])
def test_a_joint_between_two_documents(kind):
    model = _built(kind, **({"axis": (0.0, 0.0, 1.0)} if kind == "revolute" else {}))
    host = view(model, model.world_classes[0]).host
    if kind == "fixed":  # anchor in the second body, and its pose in the first: the frame above, less the one below
        turn = wp.quat(*ABOVE[1]) * wp.quat_inverse(wp.quat(*BELOW[1]))
        quat = " ".join(str(turn[k]) for k in (3, 0, 1, 2))
        m = _reference(f'<weld body1="a_fore" body2="b_fore" anchor=".1 .05 0" relpose=".3 0 0 {quat}"/>')
    else:
        m = _reference(CONNECT.format(".3 0 0") + (CONNECT.format(".3 0 1") if kind == "revolute" else ""))
    assert host.neq == m.neq and host.eq_type.tolist() == m.eq_type.tolist()
    for name in ("eq_objtype", "eq_active0", "eq_solref", "eq_solimp"):
        np.testing.assert_allclose(getattr(host, name), getattr(m, name), err_msg=name)
    bodies = [[host.names("body")[b] for b in ids] for ids in (host.eq_obj1id, host.eq_obj2id)]
    assert bodies == [["a_fore"] * m.neq, ["b_fore"] * m.neq]
    if kind == "fixed":
        np.testing.assert_allclose(host.eq_data, m.eq_data, atol=1e-6)
    else:  # where MuJoCo takes the second anchor from the initial poses, a joint's own frame says it
        np.testing.assert_allclose(host.eq_data[:, :3], m.eq_data[:, :3], atol=1e-6)
        np.testing.assert_allclose(host.eq_data[0, 3:6], BELOW[0], atol=1e-6)
    if kind == "revolute":
        np.testing.assert_allclose(host.eq_data[1, 3:6], [1.1, 0.05, 0.0], atol=1e-6)
    assert host.names("key") == ["a_bent", "b_bent"]
    np.testing.assert_allclose(host.key_qpos, [[0.3, 0.5, 0, 0], [0, 0, 0.3, 0.5]])


def test_a_document_tied_to_the_world_and_to_a_body_built_by_hand():
    builder = ModelBuilder()
    arm = builder.add_mjcf(ARM.format(p="", x=0))
    box = builder.add_body(mass=1.0, label="box")
    builder.add_shape_box(box, hx=0.1, hy=0.1, hz=0.1)
    builder.add_joint_ball(arm.bodies[2], box)
    builder.add_joint_fixed(-1, arm.bodies[2])
    model = builder.finalize(device="cpu")
    found = view(model, model.world_classes[0])
    host = found.host
    pairs = [(found.bodies[a], found.bodies[b]) for a, b in zip(host.eq_obj1id, host.eq_obj2id, strict=True)]
    assert pairs == [(arm.bodies[2], box), (-1, arm.bodies[2])] and host.eq_type.tolist() == [0, 1]
    assert host.nv == 2 + 6


def test_what_a_joint_cannot_tie_is_said():
    model = _built("prismatic", axis=(1.0, 0.0, 0.0), label="rail")
    with pytest.raises(BuildError, match="joint 'rail' ties bodies.*PRISMATIC"):
        view(model, model.world_classes[0])
