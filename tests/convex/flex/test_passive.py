"""Passive contact: a spring in place of a constraint, as MuJoCo's discrete integrator takes it."""

import mujoco
import numpy as np
import pytest

from tests.conformance.staged import OrderedEngine, StagedEngine

from .scenes import disturbed, engine_at, model, off

SHEET = '<elasticity young="2e4" poisson=".2" damping=".002" thickness=".01" elastic2d="both"/>'
SOLID = '<elasticity young="2e4" poisson=".2" damping=".002"/>'


def scene(solver: str, dim: int, geoms: str, flex: str = "") -> str:
    """A flex whose contacts are passive, above or among geoms."""
    count, inside = ("5 5 1", SHEET) if dim == 2 else ("3 3 3", SOLID)
    return f"""<mujoco><option integrator="discrete" solver="{solver}" timestep=".002" tolerance="1e-10"
      iterations="300"/><worldbody>{geoms}
      <flexcomp name="soft" type="grid" dim="{dim}" count="{count}" spacing=".05 .05 .05" radius=".01" mass=".5"
        pos="0 0 {0.04 if dim == 2 else 0.08}" {flex}>{inside}<contact passive="true" selfcollide="none"/></flexcomp>
      </worldbody></mujoco>"""


GEOMS = {
    "plane": '<geom type="plane" size="1 1 .1" pos="0 0 .032"/>',
    "gap": '<geom type="plane" size="1 1 .1" pos="0 0 .02" margin=".02"/>',
    "ball": '<geom type="sphere" size=".1" pos=".01 .02 -.066"/>',
    "moving": '<geom type="plane" size="1 1 .1" pos="0 0 -.1"/><body pos=".01 .02 -.056"><freejoint/>'
              '<geom type="box" size=".09 .08 .09"/></body>',
}  # fmt: skip


@pytest.mark.parametrize("of", [StagedEngine, OrderedEngine], ids=["cpu", "cuda"])
@pytest.mark.parametrize("solver", ["CG", "Newton"])
@pytest.mark.parametrize(("dim", "geoms"), [(2, "plane"), (2, "gap"), (2, "ball"), (3, "ball"), (2, "moving")])
def test_accelerations_are_mujocos(dim, geoms, solver, of):
    """With what cannot move a spring; with a body that moves rows and friction as ever."""
    m = model(scene(solver, dim, GEOMS[geoms]))
    d = disturbed(m, 2)
    engine = engine_at(m, d, of)
    assert int(engine.read("ncon")[0]) == d.ncon > 3
    assert np.array_equal(engine.read("contact_exclude")[0, : d.ncon], d.contact.exclude)
    assert (4 in d.contact.exclude) == (geoms != "moving")
    assert off(engine.read("qacc")[0], d.qacc) < 2e-3


def test_a_fold_presses_itself_and_another_flex():
    """Vertices that nothing else couples; and some steps on the way."""
    other = scene("CG", 2, "").partition("<worldbody>")[2].partition("</worldbody>")[0]
    other = other.replace('"soft"', '"other"').replace("0 0 0.04", ".013 .021 .055")
    points = "0 0 0 .1 0 0 .05 .1 0 .02 .03 .015 .08 .03 .016 .05 .08 .014"
    fold = f"""<flexcomp name="fold" type="direct" dim="2" point="{points}" element="0 1 2 3 4 5" radius=".01" mass=".1"
      pos=".3 0 .3">{SHEET}<contact passive="true" selfcollide="auto"/></flexcomp>"""
    m = model(scene("CG", 2, fold + other))
    d = disturbed(m, 1)
    engine = engine_at(m, d)
    pairs = {tuple(pair) for pair in np.asarray(d.contact.flex).tolist()}
    assert int(engine.read("ncon")[0]) == d.ncon and len(pairs) == 2 and d.nefc == 0
    assert off(engine.read("qacc")[0], d.qacc) < 2e-3
    for steps, dofs, limit in ((2, m.nv, 1e-6), (18, 18, 1e-6)):  # sheets that lie on each other soon part by chance
        mujoco.mj_step(m, d, steps)
        engine.step(steps)
        assert np.abs(engine.read("qpos")[0, :dofs] - d.qpos[:dofs]).max() < limit


LATTICE = """<flexcomp name="{}" type="grid" dim="3" count="{}" spacing=".05 .05 .05" pos="0 0 {}" radius=".01" mass="1"
  {}><elasticity young="1e4" poisson=".2" damping=".002" thickness=".01" {}/>{}
  <contact selfcollide="none" passive="true"/></flexcomp>"""
PEAK = """<flexcomp name="peak" type="direct" dim="3" point="0 0 0 .06 .005 -.05 -.02 .05 -.051 -.03 -.03 -.052"
  element="0 1 2 3" pos=".011 .013 -.012" radius=".01" mass=".3" dof="{}"><elasticity young="1e4" poisson=".2"/>
  <contact selfcollide="none"/></flexcomp>"""
HOLDER = """<body name="holder"><joint type="slide" axis=".2 .1 1"/><joint type="hinge" axis="1 .3 0"/>
  <geom size=".05" mass="2" pos="0 0 .3" contype="0" conaffinity="0"/>{}</body>"""
TILTED = '<geom type="plane" size="1 1 1" pos="0 0 .008" euler="2 1 0"/>'
BALL = '<geom type="sphere" size=".06" pos=".011 .013 -.068"/>'
ONE, TWO = 'dof="trilinear"', 'dof="quadratic"'
CELLS = 'cellcount="2 2 1"'
LATTICES = {
    "trilinear": TILTED + LATTICE.format("a", "4 4 2", 0.04, ONE, "", ""),
    "quadratic": TILTED + LATTICE.format("a", "4 4 2", 0.04, TWO, "", ""),
    "cells": BALL + LATTICE.format("a", "4 4 2", 0.025, f"{ONE} {CELLS}", "", ""),
    "quadratic cells": BALL + LATTICE.format("a", "4 4 2", 0.025, f"{TWO} {CELLS}", "", ""),
    "shell": BALL + LATTICE.format("a", "5 5 4", 0.075, f'{TWO} cellcount="2 2 2"', 'elastic2d="stretch"', ""),
    "pinned": BALL + LATTICE.format("a", "4 4 2", 0.025, ONE, "", '<pin id="0 1"/>'),
    "held": BALL + HOLDER.format(LATTICE.format("a", "4 4 2", 0.025, ONE, "", '<pin id="0 2"/>')),
    "two": LATTICE.format("a", "4 4 2", 0.025, ONE, "", "") + PEAK.format("trilinear"),
    "on vertices": PEAK.format("full") + LATTICE.format("a", "4 4 2", 0.025, TWO, "", ""),
}


def lattice(name: str, solver: str = "Newton") -> mujoco.MjModel:
    return model(f"""<mujoco><option integrator="discrete" solver="{solver}" timestep=".002" tolerance="1e-10"
      iterations="300"/><worldbody>{LATTICES[name]}</worldbody></mujoco>""")


@pytest.mark.parametrize("solver", ["CG", "Newton"])
@pytest.mark.parametrize("name", LATTICES)
def test_interpolated_flexes(name, solver):
    """Nodes oppose their masses by their shares; those that slide along three axes count."""
    m = lattice(name, solver)
    d = disturbed(m, 0)
    engine = engine_at(m, d)
    assert int(engine.read("ncon")[0]) == d.ncon > 0 and d.nefc == 0
    assert np.array_equal(engine.read("contact_exclude")[0, : d.ncon], d.contact.exclude)
    assert off(engine.read("qacc")[0], d.qacc) < 1e-3


@pytest.mark.parametrize("name", ["cells", "on vertices"])
def test_interpolated_flexes_by_the_recipe_of_cuda(name):
    m = lattice(name)
    d = disturbed(m, 0)
    assert off(engine_at(m, d, OrderedEngine).read("qacc")[0], d.qacc) < 1e-3


@pytest.mark.parametrize("name", ["trilinear", "quadratic", "cells", "held"])
def test_rollouts_of_interpolated_flexes(name):
    """After 1, 10 and 100 steps; vertices come to lie within 0.1 µm of a plane, and rounding must add no spring."""
    m = lattice(name)
    d = disturbed(m, 0)
    engine = engine_at(m, d)
    done = 0
    for steps in (1, 10, 100):
        mujoco.mj_step(m, d, steps - done)
        engine.step(steps - done)
        done = steps
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 3e-4 * np.abs(d.qpos).max(), steps
