"""Angles of attached models mean what their authors meant, with MuJoCo as the judge."""

import mujoco
import numpy as np
import pytest

from kinema import mjcf
from kinema.mjcf import orientation

PARENT = """
<mujoco model="parent">
  <compiler {compiler}/>
  <default><joint range="-30 60"/><default class="turned"><geom euler="10 20 30"/></default></default>
  <worldbody>
    <body name="tilted" euler="90 10 20">
      <joint name="hinge" type="hinge" ref="15" springref="5"/>
      <geom name="g" size="0.1" axisangle="1 0 0 40"/>
      <geom name="h" size="0.1" class="turned"/>
      <body name="ball" pos="0 0 1"><joint name="ball" type="ball" range="0 45"/><geom size="0.1"/></body>
      <body name="slide" pos="0 0 2"><joint name="slide" type="slide"/><geom size="0.1"/></body>
      <camera name="c" euler="1 2 3"/>
      <site name="s" axisangle="0 1 0 90"/>
    </body>
  </worldbody>
</mujoco>
"""

CHILD = """
<mujoco model="child">
  <compiler {compiler}/>
  <worldbody>
    <body name="b" euler="0.1 0.2 0.3">
      <joint name="j" type="hinge" range="-0.5 0.5"/><geom size="0.1" axisangle="0 0 1 0.7"/>
    </body>
  </worldbody>
</mujoco>
"""

def compiled(model):
    return mujoco.MjModel.from_xml_string(model.to_xml_string())


COUNTS = {"body": "nbody", "geom": "ngeom", "cam": "ncam", "site": "nsite", "jnt": "njnt"}


def values_of(m, prefix):
    """Quaternions, ranges and references of the named elements of one model."""
    found = {}
    for kind, count in COUNTS.items():
        for number in range(getattr(m, count)):
            name = getattr(m, kind)(number).name
            inside = name.startswith(prefix) if prefix else "/" not in name
            if not name or not inside or name in ("world", prefix):
                continue
            field = "jnt_range" if kind == "jnt" else f"{kind}_quat"
            found[kind, name.removeprefix(prefix)] = getattr(m, field)[number]
            if kind == "jnt":
                at = m.jnt_qposadr[number]
                found["initial", name.removeprefix(prefix)] = m.qpos0[at], m.qpos_spring[at]
    return found


@pytest.mark.parametrize("parent_compiler", ["", 'angle="degree"', 'eulerseq="zyx"', 'eulerseq="XYZ"'])
@pytest.mark.parametrize("child_compiler", ['angle="radian"', 'angle="radian" eulerseq="yzx"'])
def test_a_radian_child_never_changes_a_degree_parent(parent_compiler, child_compiler):
    if "degree" in parent_compiler or ("eulerseq" in parent_compiler and "eulerseq" in child_compiler):
        with pytest.raises(ValueError, match="Conflicting values for attribute `(angle|eulerseq)`"):
            parent = mjcf.from_xml_string(PARENT.format(compiler=parent_compiler))
            parent.attach(mjcf.from_xml_string(CHILD.format(compiler=child_compiler)))
        return
    parent = mjcf.from_xml_string(PARENT.format(compiler=parent_compiler))
    child = mjcf.from_xml_string(CHILD.format(compiler=child_compiler))
    before = values_of(mujoco.MjModel.from_xml_string(PARENT.format(compiler=parent_compiler)), "")
    child_before = values_of(mujoco.MjModel.from_xml_string(CHILD.format(compiler=child_compiler)), "")
    parent.attach(child)
    m = compiled(parent)
    after = values_of(m, "")
    assert len(before) == 13
    for key in before:
        np.testing.assert_allclose(after[key], before[key], atol=1e-12, err_msg=str(key))
    inside = values_of(m, "child/")
    if not ("eulerseq" in parent_compiler and "eulerseq" not in child_compiler):
        for key in child_before:
            np.testing.assert_allclose(inside[key], child_before[key], atol=1e-12, err_msg=str(key))
    # What the users of both models read has not changed.
    np.testing.assert_array_equal(parent.find("body", "tilted").euler, [90, 10, 20])
    assert parent.compiler.angle is None and child.compiler.angle == "radian"


def test_a_child_that_says_nothing_follows_its_parent():
    parent = mjcf.RootElement(model="parent")
    parent.compiler.angle = "radian"
    child = mjcf.RootElement(model="child")
    body = child.worldbody.add("body", name="b", euler=[0.5, 0, 0])
    body.add("geom", size=[0.1])
    parent.attach(child)
    np.testing.assert_allclose(compiled(parent).body("child/b").quat, [np.cos(0.25), np.sin(0.25), 0, 0])


def test_siblings_of_different_units():
    arena = mjcf.RootElement(model="arena")
    for name, unit, angle in (("a", "radian", np.pi / 2), ("b", "degree", 90)):
        model = mjcf.RootElement(model=name)
        model.compiler.angle = unit
        model.worldbody.add("body", name="x", euler=[angle, 0, 0]).add("geom", size=[0.1])
        arena.attach(model)
    m = compiled(arena)
    np.testing.assert_allclose(m.body("a/x").quat, m.body("b/x").quat, atol=1e-15)


def test_what_cannot_be_said_in_another_sequence_is_an_error():
    parent = mjcf.RootElement(model="parent")
    parent.worldbody.add("replicate", count=2, euler=[1, 2, 3]).add("geom", size=[0.1])
    child = mjcf.RootElement(model="child")
    child.compiler.eulerseq = "zyx"
    parent.attach(child)
    with pytest.raises(ValueError, match="<replicate> uses euler angles of sequence 'xyz'"):
        parent.to_xml_string()


@pytest.mark.parametrize("sequence", ["abc", "xy", "xyzx"])
def test_nonsense_sequences_are_an_error(sequence):
    parent = mjcf.RootElement(model="parent")
    parent.compiler.eulerseq = "zyx"
    parent.worldbody.add("body", euler=[1, 2, 3])
    child = mjcf.RootElement(model="child")
    child.worldbody.add("body", euler=[1, 2, 3])
    parent.attach(child)
    child.compiler.eulerseq = sequence
    with pytest.raises(ValueError, match="three of x, y, z"):
        parent.to_xml_string()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sequence", ["xyz", "zyx", "XYZ", "xYz", "zxz"])
def test_quaternions_are_mujocos(seed, sequence):
    random = np.random.default_rng(seed)
    samples = {
        "euler": random.normal(size=3) * 90,
        "axisangle": np.array([*random.normal(size=3), random.normal() * 90]),
        "xyaxes": random.normal(size=6),
        "zaxis": random.normal(size=3),
        "quat": random.normal(size=4),
    }
    for name, value in samples.items():
        text = " ".join(f"{number:.17g}" for number in value)
        m = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler eulerseq="{sequence}"/><worldbody><body {name}="{text}"/></worldbody></mujoco>'
        )
        ours = orientation.quaternion({name: value}, degrees=True, sequence=sequence)
        theirs = m.body_quat[1]
        assert min(np.abs(ours - theirs).max(), np.abs(ours + theirs).max()) < 1e-12, name
