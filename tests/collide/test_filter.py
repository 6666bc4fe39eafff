"""Filter, order and contact parameters against MuJoCo's contact list."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from kinema.collide.filter import geom_pairs

SHARED = Path(__file__).parents[3] / "shared" / "models"

FILTER_XML = """
<mujoco>
  <option {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <geom name="wall" type="box" size=".1 2 1" pos="-.1 0 0" friction=".3 .02 .003" solmix="2"/>
    <body name="a" pos="0 0 .1"> <freejoint/>
      <geom name="a1" size=".2" priority="1" condim="4" friction=".2"/>
      <geom name="a2" type="capsule" size=".1 .2" solref=".03 .9" solmix="3"/>
      <body name="aw" pos=".1 0 0"> <geom name="aw" type="box" size=".2 .1 .1" solref="-100 -2"/>
        <body name="b" pos=".1 0 0"> <joint/>
          <geom name="b1" size=".2" margin=".02" gap=".01" condim="6" friction="2 .1 .01"/>
          <geom name="b2" type="box" size=".15 .1 .2" contype="2" conaffinity="2"/>
          <body name="c" pos=".1 0 0"> <joint axis="0 1 0"/>
            <geom name="c" type="cylinder" size=".2 .1" solimp=".8 .9 .01 .4 3"/> </body>
        </body>
      </body>
    </body>
    <body name="d" pos=".2 .1 .1"> <freejoint/>
      <geom name="d" type="ellipsoid" size=".3 .2 .2" contype="3" solmix="0"/> </body>
    <body name="e" pos=".2 -.1 .1"> <freejoint/>
      <geom name="e" size=".3" contype="0" conaffinity="1" solmix="0"/> </body>
    <body name="m" pos=".1 .2 .1" mocap="true"> <geom name="m" size=".3"/> </body>
  </worldbody>
  <contact>
    <exclude body1="d" body2="e"/>
    <exclude body1="a" body2="d"/>
    <pair geom1="d" geom2="a1" condim="6" friction="1 2 3 4 5"
      solref=".1 1" solreffriction=".2 1" solimp=".7 .8 .01 .5 2" margin=".05" gap=".02"/>
    <pair geom1="a1" geom2="b1"/>
    <pair geom1="wall" geom2="floor"/>
  </contact>
</mujoco>
"""


def check_model(m: mujoco.MjModel, d: mujoco.MjData) -> int:
    """Every contact of MuJoCo is of a listed pair, in order, with its parameters; returns the number of contacts."""
    host = geom_pairs(m)
    index = {tuple(g): i for i, g in enumerate(host.geom)}
    assert len(index) == len(host.geom)
    order = [index[tuple(g)] for g in d.contact.geom]
    assert order == sorted(order)
    p = host.parameters
    for i, c in zip(order, d.contact, strict=True):
        np.testing.assert_allclose(p.friction[i], c.friction)
        np.testing.assert_allclose(p.solref[i], c.solref)
        np.testing.assert_allclose(p.solreffriction[i], c.solreffriction)
        np.testing.assert_allclose(p.solimp[i], c.solimp)
        assert p.margin[i] == pytest.approx(c.includemargin)
        assert p.condim[i] == c.dim or p.adhesion[i]
        assert p.adhesion[i] == pytest.approx(c.adhesion)
        assert host.slots[i] >= order.count(i)
    return len(order)


def all_touching_pairs(m: mujoco.MjModel) -> set:
    """Pairs that MuJoCo lets collide, found by bringing every geom into contact with every other."""
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    mujoco.mj_kinematics(m, d)
    d.geom_xpos[:] = 0.01 * np.random.default_rng(0).normal(size=d.geom_xpos.shape)
    mujoco.mj_collision(m, d)
    return {tuple(g) for g in d.contact.geom}


@pytest.mark.parametrize(
    "option", ["", 'o_margin=".02"', "filterparent", "midphase", "contact", "override"], ids=lambda s: s or "plain"
)
def test_filter(option):
    flag = {"filterparent": "disable", "midphase": "disable", "contact": "disable", "override": "enable"}.get(option)
    xml = FILTER_XML.format(option=option if flag is None else 'o_margin=".02" o_friction="1 1 .1 .2 .3"')
    if flag:
        xml = xml.replace("</option>", "").replace("/>", f'><flag {option}="{flag}"/></option>', 1)
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    count = check_model(m, d)
    assert (count == 0) == (option == "contact")
    if option not in ("midphase", "contact"):
        return
    # with bounding volumes out of the way MuJoCo tests every pair: the lists must be the same
    want = all_touching_pairs(m)
    host = geom_pairs(m)
    assert want == {tuple(g) for g in host.geom}


@pytest.mark.parametrize(
    "path",
    [
        "menagerie/shadow_hand/scene_right.xml",
        "menagerie/agility_cassie/scene.xml",
        "menagerie/google_barkour_vb/scene.xml",
        "mujoco/model/surfacevel/carousel.xml",
    ],
)
def test_public_models(path):
    if not (SHARED / path).exists():
        pytest.skip("public models are not beside the repository")
    m = mujoco.MjModel.from_xml_path(str(SHARED / path))
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    for _ in range(100):
        mujoco.mj_step(m, d)
    mujoco.mj_forward(m, d)
    assert check_model(m, d) > 0
