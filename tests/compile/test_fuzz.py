"""Damaged documents: whatever is wrong, compile succeeds or raises one of Kinema's errors, and MuJoCo judges alike."""

from __future__ import annotations

import copy
import random
import warnings
import xml.etree.ElementTree as ElementTree

import mujoco
import pytest

from kinema.compile import compile_model
from kinema.errors import KinemaError

DOCUMENT = """<mujoco model="m"><compiler angle="radian" autolimits="true"/><option timestep=".01" gravity="0 0 -9"/>
  <default><joint damping="1"/><geom friction="1 .1 .1"/><default class="a"><geom rgba="1 0 0 1"/></default></default>
  <asset><texture name="t" type="2d" builtin="checker" width="8" height="8"/><material name="m" texture="t"/>
    <mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="hf" nrow="2" ncol="2" size="1 1 1 1"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 1" material="m"/><light pos="0 0 3" dir="0 0 -1"/>
    <geom type="hfield" hfield="hf"/><camera name="c" pos="0 0 1" fovy="30"/>
    <body name="b" pos="0 0 1" euler="0 .1 0"><freejoint name="f"/><geom name="g" type="box" size=".1 .1 .1" class="a"/>
      <site name="s" pos="0 0 .1"/><body name="l" childclass="a"><joint name="j" axis="0 1 0" range="-1 1"/>
        <geom name="h" type="capsule" fromto="0 0 0 0 0 1" size=".05"/><site name="s2"/><geom type="mesh" mesh="tetra"/>
        <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></body>
    <replicate count="2" offset="1 0 0"><body name="r"><joint name="rj" type="slide"/><geom size=".1"/></body>
        </replicate>
    <frame pos="1 0 0" name="fr"><body name="w" mocap="true"/></frame></worldbody>
  <contact><pair geom1="floor" geom2="g" condim="4"/><exclude body1="b" body2="l"/></contact>
  <equality><connect body1="l" body2="r0" anchor="0 0 0"/></equality>
  <tendon><spatial name="sp" range="0 1"><site site="s"/><site site="s2"/></spatial></tendon>
  <actuator><position name="p" joint="j" kp="3"/><motor tendon="sp" gear="2"/></actuator>
  <sensor><framepos objtype="site" objname="s"/><touch site="s2"/></sensor>
  <custom><numeric name="n" data="1 2 3"/><tuple name="u"><element objtype="body" objname="b"/></tuple></custom>
  <keyframe><key name="k" ctrl="1 2"/></keyframe></mujoco>"""
VALUES = (
    "", "0", "-1", "1e10", "nan", "abc", "1 2 3", "0 0 0", "1 2 3 4 5 6 7 8", "true", "auto", "-0.5", "world", "2",
    "1e-20", "inf", ".3 .3 .3", "none", "b", "s", "9999999999",
)  # fmt: skip


def damaged(seed: int) -> str:
    """The document with one to three random changes."""
    chance = random.Random(seed)
    root = ElementTree.fromstring(DOCUMENT)
    for _ in range(chance.choice((1, 1, 2, 3))):
        elements = list(root.iter())
        element, owner = chance.choice(elements), chance.choice([e for e in elements if len(e)])
        kind = chance.random()
        if kind < 0.55 and element.attrib:
            element.set(chance.choice(list(element.attrib)), chance.choice(VALUES))
        elif kind < 0.7 and element.attrib:
            del element.attrib[chance.choice(list(element.attrib))]
        elif kind < 0.8:
            owner.append(copy.deepcopy(chance.choice(list(owner))))
        elif kind < 0.9:
            chance.choice([e for e in elements if len(e)]).append(copy.deepcopy(element))
        else:
            owner.remove(chance.choice(list(owner)))
    return ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize("block", range(8))
def test_damaged_documents(block):
    disagreements = []
    for seed in range(25 * block, 25 * block + 25):
        text = damaged(seed)
        try:
            mujoco.MjModel.from_xml_string(text)
            accepted = True
        except ValueError:
            accepted = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                compile_model(text)
                ours = True
            except KinemaError as error:
                ours = False
                assert str(error)
        if ours != accepted:
            disagreements.append(seed)
    assert len(disagreements) <= 1, f"verdicts differ from MuJoCo's for seeds {disagreements}"
