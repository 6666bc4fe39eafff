"""Labels of documents are Newton's, named or not."""

from __future__ import annotations

import pytest

from kinema import ModelBuilder

newton = pytest.importorskip("newton", reason="the newton package is the oracle of these tests")

NAMED = """<mujoco model="two arms"><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body name="left-arm"><joint name="a-b"/><joint axis="1 0 0"/><geom size=".1"/>
    <body><geom name="tip" size=".1"/><site/><site name="eye"/>
      <body name="hand"><joint type="ball"/><geom size=".1"/></body></body></body>
  <body name="cup" pos="0 0 3"><freejoint/><geom size=".1"/></body>
  <body pos="0 0 5"><joint type="free"/><geom size=".1"/></body>
</worldbody></mujoco>"""
ALONE = """<mujoco><worldbody><body><freejoint name="root"/><geom size=".1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("text", [NAMED, ALONE])
@pytest.mark.parametrize("options", [{}, {"floating": True}, {"floating": False}])
def test_labels_are_newtons(text, options):
    models = []
    for library in (newton.ModelBuilder, ModelBuilder):
        builder = library()
        builder.add_mjcf(text, **options)
        models.append(builder)
    theirs, ours = models
    for name in ("body_label", "joint_label", "articulation_label"):
        assert list(getattr(ours, name)) == list(getattr(theirs, name)), name
    assert sorted(ours.shape_label) == sorted(theirs.shape_label)


def test_a_follower_of_a_description_follows():
    text = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
      ixz="0" iyz="0"/></inertial></link><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
      ixy="0" ixz="0" iyz="0"/></inertial></link><link name="w"/>
      <joint name="lead" type="revolute"><parent link="w"/><child link="a"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="3" velocity="7"/></joint>
      <joint name="follow" type="revolute"><parent link="w"/><child link="b"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="3" velocity="7"/><mimic joint="lead" multiplier="2" offset="0.5"/></joint>
      </robot>"""
    theirs, ours = newton.ModelBuilder(), ModelBuilder()
    theirs.add_urdf(text)
    result = ours.add_urdf(text)
    for name in ("joint_mimic_joint", "joint_velocity_limit", "joint_target_mode", "joint_label"):
        assert list(getattr(ours, name)) == pytest.approx(list(getattr(theirs, name))) if name != "joint_label" else (
            list(ours.joint_label) == list(theirs.joint_label)), name  # fmt: skip
    assert result.host.neq == 1 and result.host.eq_data[0, :2] == pytest.approx([0.5, 2.0])
