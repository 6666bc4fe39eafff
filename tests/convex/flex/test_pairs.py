"""Who may touch a flex, and which contacts are kept, as MuJoCo has it."""

import mujoco
import numpy as np
import pytest

from kinema.convex.flex.pairs import flex_pairs

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
