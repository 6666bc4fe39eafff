"""URDF files enter through the document."""

import mujoco

from kinema import mjcf

URDF = """
<robot name="two">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <mass value="2"/><origin xyz="0 0 .5"/><inertia ixx="1" iyy="1" izz=".1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision><geometry><box size=".1 .1 1"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="rod"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="5" velocity="1"/>
  </joint>
</robot>
"""


def test_a_urdf_file_becomes_an_editable_document(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    document = mjcf.from_urdf(path)
    joint = document.find("joint", "turn")
    assert joint.range.tolist() == [-1, 1]
    joint.damping = 3
    ours = mujoco.MjModel.from_xml_string(document.to_xml_string())
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert ours.nv == theirs.nv == 1
    assert ours.body_mass.sum() == theirs.body_mass.sum() == 2
    assert ours.dof_damping[0] == 3
