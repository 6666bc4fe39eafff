"""Who may touch a flex, and which contacts are kept, as MuJoCo has it."""

import mujoco
import numpy as np
import pytest

from kinema.convex.flex.pairs import flex_pairs
from tests.conformance.staged import OrderedEngine, StagedEngine

from .scenes import engine_at, model

SHEET = """<flexcomp name="{}" type="grid" dim="2" count="3 3 1" spacing=".1 .1 .1" radius=".01" mass="1" rigid="true">
  <contact selfcollide="none"/></flexcomp>"""
ONE, TWO = SHEET.format("one"), SHEET.format("two")
BOX = '<geom type="box" size=".1 .1 .1" pos="0 0 -.05"/>'
SLIDE = '<joint type="slide"/><geom size=".01" pos="0 0 {}"/>'
SCENES = {
    "world": f'{BOX}<body name="a">{ONE}</body>',
    "static": f'<body>{BOX}</body><body name="a">{ONE}</body>',
    "mocap": f'<body mocap="true">{BOX}</body><body name="a">{ONE}</body>',
    "mocap flex": f'{BOX}<body name="a" mocap="true">{ONE}</body>',
    "plane": f'<geom type="plane" size="1 1 1"/><body name="a">{ONE}</body>',
    "moving": f'{BOX}<body name="a">{SLIDE.format(5)}{ONE}</body>',
    "moving geom": f'<body>{SLIDE.format(5)}{BOX}</body><body name="a">{ONE}</body>',
    "parent": f'<body>{SLIDE.format(5)}{BOX}<body name="a">{SLIDE.format(7)}{ONE}</body></body>',
    "welded parent": f'<body>{SLIDE.format(5)}{BOX}<body name="a">{ONE}</body></body>',
    "two static": f'<body name="a">{ONE}</body><body name="b" pos="0 0 .005">{TWO}</body>',
    "two": f'<body name="a">{ONE}</body><body name="b" pos="0 0 .005">{SLIDE.format(5)}{TWO}</body>',
}


@pytest.mark.parametrize("name", SCENES)
def test_of_two_things_one_must_be_able_to_move(name):
    m = model(f"<mujoco><worldbody>{SCENES[name]}</worldbody></mujoco>")
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    assert bool(len(flex_pairs(m))) == bool(d.ncon)


def test_the_fifty_that_are_kept():
    """A block of one cell over a tilted box: of some hundred contacts the same ones are kept, to the last."""
    text = """<mujoco><worldbody><geom type="box" size=".3 .3 .1" pos="0 0 -.1" euler="3 2 0"/>
      <flexcomp name="soft" type="grid" dim="3" count="7 6 4" spacing=".031 .033 .03" pos="0 0 .05" radius=".001"
        mass="1" dof="trilinear" euler="2 4 10"><contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""
    m = model(text)
    d = mujoco.MjData(m)
    draw = np.random.default_rng(0)
    d.qpos[:] = (0.01 * draw.standard_normal(m.nq)).astype(np.float32)
    mujoco.mj_forward(m, d)
    engine = engine_at(m, d)
    count = int(engine.read("ncon")[0])
    assert count == d.ncon == 50
    ours = engine.read("contact_pos")[0, :count]
    gap = np.linalg.norm(ours[:, None] - np.asarray(d.contact.pos)[None], axis=-1)
    assert gap.min(axis=1).max() < 1e-6 and gap.min(axis=0).max() < 1e-6


MEETING = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/>
  <body pos=".02 .03 .045"><freejoint/><geom type="sphere" size=".05"/></body>
  <body pos=".02 .03 .135"><freejoint/><geom type="sphere" size=".05"/></body>
  <body pos=".1 .1 .045"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
  <flexcomp name="a" type="grid" dim="2" count="4 4 1" spacing=".08 .08 .1" pos="0 0 .08" radius=".02" mass="1">
    <edge equality="true"/><contact selfcollide="none"/></flexcomp>
  <flexcomp name="b" type="grid" dim="1" count="4 1 1" spacing=".08 .08 .1" pos="0 0 .01" radius=".02" mass="1">
    <edge equality="true"/><contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("of", [StagedEngine, OrderedEngine], ids=["cpu", "cuda"])
def test_contacts_of_flexes_stand_among_those_of_geoms(of):
    """By the body they begin with, as MuJoCo has them; and they follow what is written of geoms."""
    m = mujoco.MjModel.from_xml_string(MEETING)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    engine = engine_at(m, d, of)
    assert int(engine.read("ncon")[0]) == d.ncon
    whose = np.asarray(d.contact.flex)[:, 1] >= 0
    assert np.abs(np.diff(whose.astype(int))).sum() > 2, "they alternate"
    for name in ("geom", "flex", "elem", "vert"):
        assert np.array_equal(engine.read(f"contact_{name}")[0, : d.ncon], getattr(d.contact, name)), name
    m.geom_friction[:] *= 0.25
    m.geom_solref[:, 0] = 0.03
    for name in ("geom_friction", "geom_solref"):
        engine.set_parameter(name, getattr(m, name))
    engine.forward()
    mujoco.mj_forward(m, d)
    assert int(engine.read("ncon")[0]) == d.ncon
    for name in ("friction", "solref"):
        ours = engine.read(f"contact_{name}")[0, : d.ncon]
        assert np.allclose(ours, getattr(d.contact, name), rtol=1e-6), name


FOLDED = """<mujoco><worldbody>
  <flexcomp name="a" type="grid" dim="{}" count="{}" spacing=".03 .03 .03" radius=".009" mass="1">
    <edge equality="true"/><contact selfcollide="{}"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("of", [StagedEngine, OrderedEngine], ids=["cpu", "cuda"])
@pytest.mark.parametrize("way", ["narrow", "bvh", "sap"])
@pytest.mark.parametrize(("dim", "count"), [(2, "6 6 1"), (3, "3 3 3")])
def test_contacts_of_a_flex_with_itself_stand_in_order(dim, count, way, of):
    """By the elements, or as a sweep finds them: whichever it is in MuJoCo."""
    m = model(FOLDED.format(dim, count, way))
    d = mujoco.MjData(m)
    d.qpos[:] = (0.02 * np.random.default_rng(0).standard_normal(m.nq)).astype(np.float32)
    mujoco.mj_forward(m, d)
    assert d.ncon > 50
    engine = engine_at(m, d, of)
    assert int(engine.read("ncon")[0]) == d.ncon
    assert np.array_equal(engine.read("contact_elem")[0, : d.ncon], d.contact.elem)
    assert np.abs(engine.read("contact_pos")[0, : d.ncon] - d.contact.pos).max() < 1e-6
