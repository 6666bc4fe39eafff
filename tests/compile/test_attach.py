"""Attaching models, bodies and frames, against MuJoCo."""

from __future__ import annotations

import pathlib
import tempfile

import pytest

from kinema.compile import compile_model

from .oracle import agree, both_refuse

CHILD = """<mujoco model="child"><compiler angle="radian" eulerseq="ZYX"/><option timestep=".1"/>
  <default><joint damping="5"/><geom size=".1"/><default class="red"><geom rgba="1 0 0 1"/></default></default>
  <asset><material name="paint" rgba="0 1 0 1"/><mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
  <worldbody><geom name="ground" type="plane" size="1 1 1"/><light name="sun"/>
    <frame name="outer" pos="0 0 3"><frame name="place" pos="0 2 0" euler=".1 .2 .3">
      <body name="base" pos="1 0 0" euler=".3 .2 .1"><joint name="j" ref=".1" range="-1 1"/>
        <geom class="red" material="paint"/>
        <site name="tip"/><body name="link" pos="0 0 1"><joint name="k"/><geom name="hand" type="mesh" mesh="tetra"/>
        </body>
      </body><site name="mark"/></frame></frame>
    <body name="handle" mocap="true" pos="1 2 3"/></worldbody>
  <contact><exclude name="no" body1="base" body2="link"/><pair geom1="ground" geom2="hand"/></contact>
  <equality><joint joint1="j" joint2="k"/><weld body1="link" relpose="0 0 0 1 0 0 0"/></equality>
  <tendon><fixed name="t"><joint joint="j" coef="2"/></fixed>
    <spatial name="st"><site site="tip"/><site site="mark"/></spatial></tendon>
  <custom><numeric name="n" data="1 2"/><text name="x" data="hello"/>
    <tuple name="tu"><element objtype="joint" objname="j"/></tuple></custom>
  <keyframe><key name="home" time="3" qpos="1 2" qvel="3 4" mpos="9 8 7"/></keyframe></mujoco>"""
ASSETS = {"child.xml": CHILD.encode()}
PARENT = """<mujoco model="parent"><default><joint damping="7"/></default><asset><model name="c" file="child.xml"/>
        </asset>
  <worldbody>{world}<body name="own"><joint name="jo"/><geom size=".1"/>{body}</body></worldbody>
  <keyframe><key name="k0" qpos="5"/></keyframe></mujoco>"""

CASES = {
    "whole model": ('<attach model="c" prefix="w/"/>', ""),
    "whole model in a frame": ('<frame pos="1 2 3" euler="0 90 0"><attach model="c" prefix="w-"/></frame>', ""),
    "body": ("", '<attach model="c" body="base" prefix="b_"/>'),
    "body in a frame": ("", '<frame pos="0 0 2"><attach model="c" body="base" prefix="b_"/></frame>'),
    "part of a body": ("", '<attach model="c" body="link" prefix="l_"/>'),
    "frame": ('<attach model="c" frame="place" prefix="f_"/>', ""),
    "twice": ('<attach model="c" prefix="1_"/>', '<attach model="c" body="base" prefix="2"/>'),
    "in a replicate": ('<replicate count="2"><attach model="c" body="base" prefix="r"/></replicate>', ""),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_attach(name):
    world, body = CASES[name]
    agree(PARENT.format(world=world, body=body), ASSETS)


def test_self_attach():
    agree(
        """<mujoco><worldbody><body name="a"><joint name="j"/><geom name="g" size=".1"/></body>
        <frame name="f" pos="1 0 0"><body name="c"><joint name="k"/><geom size=".2"/></body></frame>
        <body name="b" pos="0 0 3"><attach body="a" prefix="x"/></body><attach frame="f" prefix="y"/></worldbody>
        <equality><joint joint1="j"/></equality></mujoco>"""
    )


def test_attach_of_an_attachment():
    middle = """<mujoco><asset><model name="c" file="child.xml"/></asset><worldbody><body name="m"><joint/>
        <geom size=".1"/>
        <attach model="c" body="base" prefix="in_"/></body></worldbody></mujoco>"""
    agree(
        """<mujoco><asset><model name="m" file="middle.xml"/></asset><worldbody>
        <attach model="m" prefix="out_"/></worldbody></mujoco>""",
        {**ASSETS, "middle.xml": middle.encode()},
    )


@pytest.mark.parametrize(
    "attach",
    [
        '<attach model="d" prefix="x"/>',
        '<attach model="c" body="none" prefix="x"/>',
        '<attach model="c" frame="none" prefix="x"/>',
        '<attach model="c" body="base" frame="place" prefix="x"/>',
        '<attach prefix="x"/>',
        '<attach model="c"/>',
        '<attach model="c" body="base" prefix="x"/><attach model="c" body="base" prefix="x"/>',
    ],
)
def test_both_refuse(attach):
    both_refuse(PARENT.format(world=attach, body=""), assets=ASSETS)


PLAIN = """<mujoco>{settings}<asset><model name="c" file="child.xml"/></asset>
  <worldbody><attach model="c" prefix="x"/></worldbody></mujoco>"""
OPTIONS = """<mujoco><option timestep=".1" iterations="7" density="3"><flag contact="disable" energy="enable"/></option>
  <size nuserdata="3"/><visual><map znear=".5" zfar="7"/></visual><worldbody><geom size=".1"/></worldbody></mujoco>"""


@pytest.mark.parametrize("policy", ["warning", "merge"])
@pytest.mark.parametrize(
    "parent",
    [
        "",
        '<option timestep=".05" iterations="9"/>',
        '<option timestep=".2" iterations="3" density="3"><flag contact="enable" gravity="disable"/></option>',
        '<size nuserdata="5"/><visual><map znear=".2" zfar="9"/></visual>',
    ],
)
def test_conflicting_options(policy, parent):
    agree(PLAIN.format(settings=f'<compiler conflict="{policy}"/>{parent}'), {"child.xml": OPTIONS.encode()})


def test_options_that_cannot_be_merged():
    for settings in (
        '<compiler conflict="error"/><option timestep=".2"/>',
        '<compiler conflict="merge"/><option density="4"/>',
    ):
        both_refuse(PLAIN.format(settings=settings), assets={"child.xml": OPTIONS.encode()})


def test_a_missing_model_file_names_the_place():
    error = both_refuse('<mujoco><asset><model name="c" file="nothing.xml"/></asset></mujoco>', "nothing.xml")
    assert "asset/model[c]" in str(error)


def test_many_conflicts_are_one_warning():
    """Each stated option would be a warning of its own, and each attachment of the same model all of them again."""
    child = """<mujoco model="hand"><option timestep="0.005" gravity="0 0 -1" density="3" viscosity="1" impratio="4"
      wind="1 0 0" iterations="7"><flag contact="disable"/></option>
      <worldbody><body name="b"><geom size=".1"/></body></worldbody></mujoco>"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "hand.xml"
        path.write_text(child)
        model = compile_model(f"""<mujoco><option timestep="0.01"/>
          <asset><model name="hand" file="{path}"/></asset>
          <worldbody><attach model="hand" body="b" prefix="l"/><attach model="hand" body="b" prefix="r"/></worldbody>
          </mujoco>""")
    [warning] = [text for text in model.warnings if text.startswith("attach")]
    assert "timestep='0.005' (here 0.01)" in warning and "'hand'" in warning and warning.count("(here") == 6
    assert warning.endswith("and 2 more of the attached model 'hand' are not heard; what stands here stays")
    assert model.opt.timestep == 0.01


@pytest.mark.parametrize("geom", ["g", "rg"])
def test_a_copy_takes_sensors_of_what_is_in_it(geom):
    """A tactile sensor names a mesh, which no copy makes anew: it comes along only with its geom."""
    agree(f"""<mujoco><asset><mesh name="me" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
      <worldbody><body name="b"><freejoint/><geom name="g" type="mesh" mesh="me"/></body>
        <replicate count="2" offset=".5 0 0"><body><joint/><geom name="rg" type="mesh" mesh="me"/></body></replicate>
      </worldbody><sensor><tactile name="t" geom="{geom}" mesh="me"/></sensor></mujoco>""")
