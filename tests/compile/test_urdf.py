"""URDF through MJCF, against MuJoCo's own reader."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import mujoco
import pytest

from kinema.compile import compile_model
from tests.conformance.compare import differences

from .oracle import agree, both_refuse

INERTIAL = '<inertial><origin xyz="0 0 .1" rpy=".1 .2 .3"/><mass value="2"/><inertia {}/></inertial>'.format(
    'ixx="1" iyy="2" izz="2.5" ixy=".1" ixz="0" iyz=".2"'
)
ROBOT = f"""<robot name="arm">{{extension}}
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base">{INERTIAL}<visual><geometry><box size="1 1 1"/></geometry><material name="blue"/></visual>
    <collision name="hull"><origin xyz="0 0 1" rpy="0 .5 0"/><geometry><cylinder radius=".1" length=".4"/></geometry>
    </collision></link>
  <link name="upper">{INERTIAL}<collision><geometry><sphere radius=".2"/></geometry></collision></link>
  <link name="pad"><collision><geometry><box size=".1 .2 .3"/></geometry></collision></link>
  <link name="slider">{INERTIAL}</link><link name="wheel">{INERTIAL}</link><link name="skate">{INERTIAL}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="1 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="30" velocity="1"/><dynamics damping=".5" friction=".1"/>
        </joint>
  <joint name="glue" type="fixed"><parent link="upper"/><child link="pad"/><origin xyz="0 .1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="pad"/><child link="slider"/><limit lower="0" upper="1"/></joint>
  <joint name="spin" type="continuous"><parent link="upper"/><child link="wheel"/><axis xyz="0 0 1"/></joint>
  <joint name="plane" type="planar"><parent link="base"/><child link="skate"/><axis xyz="0 1 1"/>
    <dynamics damping="2"/></joint></robot>"""
EXTENSIONS = {
    "plain": "",
    "visuals kept": '<mujoco><compiler discardvisual="false"/></mujoco>',
    "nothing fused": '<mujoco><compiler fusestatic="false"/><option timestep=".01"/></mujoco>',
}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_robot(name):
    agree(ROBOT.format(extension=EXTENSIONS[name]))


def test_links_named_world_and_several_roots():
    agree(
        f"""<robot name="r"><link name="world"><collision><geometry><box size="1 1 1"/></geometry></collision></link>
        <link name="a">{INERTIAL}</link><link name="b">{INERTIAL}</link>
        <joint name="j" type="revolute"><parent link="world"/><child link="a"/><limit lower="1" upper="-1"/></joint>
        </robot>"""
    )


def test_meshes_are_named_by_file_and_scale():
    mesh = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    part = '<collision><geometry><mesh filename="part.obj" scale="{}"/></geometry></collision>'
    parts = "".join(part.format(scale) for scale in ("1 1 1", "2 2 2", "1 1 1", "1 2 3"))
    ours, _ = agree(f'<robot name="r"><link name="l">{parts}</link></robot>', {"part.obj": mesh})
    assert ours.names("mesh") == ["part", "part1", "part2"]


def _packaged() -> list[Path]:
    found = []
    for package in ("mujoco", "newton"):
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            found += sorted(Path(location).rglob("*.urdf"))
    return found


@pytest.mark.parametrize("path", _packaged(), ids=lambda path: path.name)
def test_packaged_descriptions(path):
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        pytest.skip("MuJoCo does not load it")
    assert differences(compile_model(path), theirs) == {}


JOINT = '<joint name="j" type="{}"><parent link="a"/><child link="b"/></joint>'


@pytest.mark.parametrize(
    "text",
    [
        '<robot><link name="a"/><link name="a"/></robot>',
        f'<robot><link name="a"/>{JOINT.format("fixed")}</robot>',
        '<robot><link/></robot>',
        f'<robot><link name="a"/><link name="b"/>{JOINT.format("odd")}</robot>',
        '<robot><link name="a"><collision><geometry/></collision></link></robot>',
        '<robot><link name="a"><collision/></link></robot>',
        '<robot><link name="a"><inertial><mass value="1"/></inertial></link></robot>',
    ],
)  # fmt: skip
def test_both_refuse(text):
    both_refuse(text)
