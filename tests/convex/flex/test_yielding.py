"""Flexes that yield: what elements, hinges, cells and squares keep of a strain, as MuJoCo has it."""

import mujoco
import numpy as np
import pytest

from .scenes import GEOMS, disturbed, engine_at, model, off, scene

YIELDING = {
    "plate": (2, '<elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" elastic2d="both" yield=".003"/>'),
    "stretch": (2, '<elasticity young="3e4" poisson=".3" thickness=".02" elastic2d="stretch" yield=".0001 0"/>'),
    "fold": (2, '<edge equality="true"/><elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" '
                'elastic2d="bend" yield="0 .002"/>'),
    "clay": (3, '<elasticity young="2e3" poisson=".3" damping=".002" yield=".004"/>'),
}  # fmt: skip


MUD = '<elasticity young="2e3" poisson=".3" damping=".005" yield="{}"/>'
FOIL = '<elasticity young="5e3" poisson=".2" damping=".01" thickness=".02" elastic2d="{}" yield="{}"/>'
HELD = '<pin id="0 1 2"/>'
GRID, BOX = 'dim="3" type="grid" count="5 4 3"', 'dim="2" type="box" count="5 4 4"'
LATTICES = {
    "cell": (GRID, "trilinear", "1 1 1", MUD.format(".01") + HELD, ""),
    "cells": (GRID, "trilinear", "2 1 2", MUD.format(".02"), GEOMS["plane"]),
    "quadratic cells": (GRID, "quadratic", "2 1 1", MUD.format(".0005") + HELD, ""),
    "squares": (BOX, "trilinear", "2 2 1", FOIL.format("stretch", ".003") + HELD, ""),
    "quadratic squares": (BOX, "quadratic", "1 1 1", FOIL.format("both", ".003"), GEOMS["plane"]),
}


def lattice(kind: str, dof: str, count: str, inside: str, geom: str, option: str = "") -> str:
    """A flex that hangs on a lattice of nodes, turned."""
    return f"""<mujoco><option timestep="0.002" {option}/><worldbody>{geom}<flexcomp name="soft" {kind} dof="{dof}"
      cellcount="{count}" spacing=".05 .06 .05" pos="0 0 .09" euler="10 20 30" radius=".01" mass="1">
      {inside}<contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""


def follow(m: mujoco.MjModel, d: mujoco.MjData) -> None:
    """Pull, keep and move as MuJoCo does, after 1, 10 and 100 steps."""
    assert np.abs(d.plastic).max() > 1e-5  # it has yielded
    engine = engine_at(m, d)
    for field, limit in {"qfrc_spring": 3e-4, "qacc_smooth": 5e-4}.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field
    before, done = d.plastic.copy(), 0
    for steps in (1, 10, 100):
        engine.step(steps - done)
        for _ in range(steps - done):
            mujoco.mj_step(m, d)
        done = steps
        assert off(engine.read("plastic")[0], d.plastic) < 1e-3, steps
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-3 * np.abs(d.qpos).max(), steps
    assert np.abs(d.plastic - before).max() > 1e-5


@pytest.mark.parametrize("option", ['integrator="Euler"', 'integrator="discrete"'])
@pytest.mark.parametrize("name", YIELDING)
def test_forces_and_rollouts(name, option):
    """Elements and hinges, shaken beyond their yield."""
    dim, inside = YIELDING[name]
    m = model(scene(dim, inside=inside + '<pin id="0 1"/>', option=f'{option} solver="Newton" tolerance="1e-10"'))
    follow(m, disturbed(m, 20, 0.1))


@pytest.mark.parametrize("option", ['integrator="Euler"', 'integrator="discrete"', 'integrator="discrete" solver="CG"'])
@pytest.mark.parametrize("name", LATTICES)
def test_cells_and_squares(name, option):
    """So do the cells of interpolated solids and the squares of interpolated shells."""
    m = model(lattice(*LATTICES[name], option=f'{option} tolerance="1e-10"'))
    follow(m, disturbed(m, 40, 0.3))


@pytest.mark.parametrize("limit", [0.02, 0.0])
@pytest.mark.parametrize("name", ["cells", "squares", "quadratic cells"])
def test_cells_keep_so_much_and_no_more(name, limit):
    """Strained by half its size, or turned inside out; and where everything is kept, for the yield is 0 by now."""
    m = model(lattice(*LATTICES[name]))
    given = m.flex_yield.copy()
    m.flex_yield[:, 0] = limit
    for size in (0.005, 0.03):
        d = disturbed(m, 0, 0.01)
        draw = np.random.default_rng(0)
        d.qpos[:] = (size * draw.standard_normal(m.nq)).astype(np.float32)
        d.plastic[:] = (0.05 * draw.standard_normal(m.nplastic)).astype(np.float32)
        mujoco.mj_forward(m, d)
        engine = engine_at(m, d)
        assert off(engine.read("qfrc_spring")[0], d.qfrc_spring) < 1e-4
        engine.step(1)
        mujoco.mj_step(m, d)
        assert off(engine.read("plastic")[0], d.plastic) < 1e-3
    m.flex_yield[:] = given


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_cells_held_by_an_arm(integrator):
    """Nodes on bodies that turn are looked at where their velocity takes them."""
    inside = MUD.format(".01") + '<pin id="0 1 2 3"/>'
    m = model(f"""<mujoco><option timestep=".002" integrator="{integrator}" tolerance="1e-10"/><worldbody>
      <body name="arm" pos="0 0 1"><joint axis="0 1 0"/><geom size=".05" mass="1"/><flexcomp name="soft" {GRID}
        dof="trilinear" spacing=".05 .06 .05" pos=".2 0 0" radius=".01" mass="1">{inside}
        <contact selfcollide="none" contype="0" conaffinity="0"/></flexcomp></body></worldbody></mujoco>""")
    follow(m, disturbed(m, 40, 0.3))


@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_nodes_on_bodies_that_turn_each_by_itself(integrator):
    """They slide in no common frame: their velocity says where they will be."""
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    geom = '<geom size=".02" mass=".1" contype="0" conaffinity="0"/>'
    bodies = ""
    for i, (x, y, z) in enumerate(np.ndindex(2, 2, 2)):
        place = f"{0.1 * x} {0.12 * y} {0.15 * z}"
        own = f'<body name="n{i}" pos="{place}">{slides}{geom}</body>'
        if i < 2:
            turns = '<joint axis="0 1 0" pos="0 0 .2"/><joint axis="1 0 0" pos="0 0 .2"/>'
            own = f'<body pos="{place}">{turns}{geom}<body name="n{i}">{geom}</body></body>'
        bodies += own
    m = model(f"""<mujoco><option timestep=".002" integrator="{integrator}" tolerance="1e-10"/>
      <worldbody>{bodies}</worldbody><deformable><flex name="soft" dim="3" dof="trilinear" radius=".01"
        body="{" ".join(["world"] * 5)}" vertex="0 0 0 .1 0 0 0 .12 0 .05 .05 .15 .1 .12 .15"
        element="0 1 2 3 1 2 3 4" node="{" ".join(f"n{i}" for i in range(8))}">{MUD.format(".01")}
        <contact selfcollide="none" contype="0" conaffinity="0"/></flex></deformable></mujoco>""")
    follow(m, disturbed(m, 60, 0.3))
