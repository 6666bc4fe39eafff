"""Every attribute of <compiler>, <lengthrange>, <size> and <statistic> does what it does in MuJoCo."""

import re

import pytest

from kinema.mjcf.schema import root
from tests.compile.oracle import agree, both_refuse

MODEL = """
<mujoco>
  <compiler {compiler}><lengthrange {lengthrange}/></compiler>
  <size {size}/>
  <statistic {statistic}/>
  <asset>
    <mesh name="tet" file="{folder}tet.obj" refpos="0 0 .1"/>
    <texture name="check" type="2d" builtin="checker" width="4" height="4"/>
    <material name="grid" texture="check"/>
  </asset>
  <worldbody>
    <geom type="plane" size="1 1 .1" material="grid"/>
    <body name="fixed" pos="0 1 0" euler="10 20 30"><geom size=".1"/><site name="far" pos="0 0 .5"/></body>
    <body name="free" pos="0 0 1">
      <freejoint/>
      <geom type="box" size=".1 .2 .3" pos=".1 .1 0" euler="0 30 0" group="2"/>
      <geom type="mesh" mesh="tet" contype="0" conaffinity="0" group="1" mass="0.3"/>
    </body>
    <body name="arm" pos="1 0 1">
      <inertial pos="0 0 0" mass="1e-5" diaginertia="1e-6 1e-6 3e-6"/>
      <joint name="hinge" axis="0 1 0" range="-40 40"/>
      <geom type="mesh" mesh="tet"/>
      <site name="near" pos=".2 0 0"/>
    </body>
  </worldbody>
  <tendon><spatial name="cord"><site site="near"/><site site="far"/></spatial></tendon>
  <actuator><muscle name="pull" tendon="cord"/><motor name="turn" joint="hinge" ctrlrange="-1 1"/></actuator>
  <keyframe><key name="one"/></keyframe>
</mujoco>
"""
ASSETS = {"tet.obj": b"v 0 0 0\nv .2 0 0\nv 0 .2 0\nv 0 0 .2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"}
BALANCED = 'balanceinertia="true"'

CASES = {
    "compiler": (
        'autolimits="true"', 'boundmass="0.5"', f'boundinertia="0.02" {BALANCED}', 'settotalmass="7"', BALANCED,
        'strippath="true"', 'coordinate="local"', 'angle="radian"', 'fitaabb="true"', 'eulerseq="ZYx"',
        'meshdir="."', 'texturedir="."', 'discardvisual="true"', 'usethread="false"', 'fusestatic="true"',
        'inertiafromgeom="true"', 'inertiagrouprange="0 1"', 'saveinertial="true"', 'savecompiled="true"',
        'savecanonical="true"', 'assetdir="."', 'alignfree="true"', 'conflict="merge"', 'passthrough="textures"',
    ),
    "lengthrange": (
        'mode="all"', 'mode="none"', 'useexisting="false"', 'uselimit="true" mode="all"', 'accel="5"', 'maxforce="2"',
        'timeconst="0.5"', 'timestep="0.005"', 'inttotal="6"', 'interval="1"', 'tolrange="0.2"',
    ),
    "size": (
        'memory="2M"', 'njmax="50"', 'nconmax="20"', 'nstack="10000"', 'nuserdata="3"', 'nkey="4"', 'nuser_body="2"',
        'nuser_jnt="1"', 'nuser_geom="2"', 'nuser_site="1"', 'nuser_cam="1"', 'nuser_tendon="1"', 'nuser_actuator="2"',
        'nuser_sensor="1"',
    ),
    "statistic": ('meaninertia="3"', 'meanmass="2"', 'meansize="0.4"', 'extent="5"', 'center="1 2 3"'),
}  # fmt: skip
"""What a document may say, one attribute after the other; the whole model must then be MuJoCo's."""

ALL = [(kind, said) for kind, cases in CASES.items() for said in cases]


@pytest.mark.parametrize(("kind", "said"), ALL, ids=[f"{k} {s}".replace('"', "") for k, s in ALL])
def test_it_does_what_mujoco_does(kind, said):
    parts = {**dict.fromkeys(CASES, ""), kind: said}
    if kind != "compiler" or BALANCED not in said:
        parts["compiler"] += f" {BALANCED}"
    if kind == "compiler" and "angle" not in said:
        parts["compiler"] += ' angle="degree"'
    folder = "deep/down/" if "strippath" in said else ""
    agree(MODEL.format(**parts, folder=folder), ASSETS)


def test_coordinates_are_local():
    parts = dict.fromkeys(CASES, "")
    both_refuse(MODEL.format(**{**parts, "compiler": 'coordinate="global"'}, folder=""), "coordinate", ASSETS)


def test_every_attribute_has_a_case():
    specs = {name: root().children[name] for name in ("compiler", "size", "statistic")}
    specs["lengthrange"] = specs["compiler"].children["lengthrange"]
    for kind, spec in specs.items():
        said = {name for case in CASES[kind] for name in re.findall(r'(\w+)="', case)}
        assert said >= spec.attributes.keys(), kind
