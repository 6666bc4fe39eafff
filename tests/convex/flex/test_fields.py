"""Height fields and signed distance fields against flexes, as MuJoCo has them."""

import mujoco
import numpy as np
import pytest

from kinema.convex.flex.pairs import flex_pairs
from tests.conformance.staged import OrderedEngine, StagedEngine

from .scenes import disturbed, engine_at, model, off

HEIGHTS = " ".join(f"{x:.3f}" for x in np.random.default_rng(0).uniform(0, 1, 48))
COUNT = {1: "5 1 1", 2: "4 4 1", 3: "3 3 2"}


def field(dim: int, inside: str, margin: float = 0.0, dof: str = "full") -> str:
    """A flex over a turned field of hills."""
    return f"""<mujoco><option timestep=".002" solver="Newton"/><asset><hfield name="hills" nrow="6" ncol="8"
      size=".4 .3 .1 .05" elevation="{HEIGHTS}"/></asset><worldbody>
      <geom type="hfield" hfield="hills" euler="5 3 10" margin="{margin}"/>
      <flexcomp name="soft" type="grid" dim="{dim}" count="{COUNT[dim]}" spacing=".1 .1 .1" dof="{dof}" radius=".01"
        mass="1" pos=".02 .01 {0.09 + 0.05 * (dim == 3)}" euler="5 4 20">{inside}<contact selfcollide="none"/>
      </flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("margin", [0.0, 0.02])
@pytest.mark.parametrize(("dim", "dof"), [(1, "full"), (2, "full"), (3, "full"), (3, "trilinear")])
def test_height_fields(dim, dof, margin):
    """The same contacts of the same elements, prism by prism."""
    inside = '<edge equality="true"/>' if dof == "full" else '<elasticity young="1e4" poisson=".1" damping=".01"/>'
    m = model(field(dim, inside, margin, dof))
    d = disturbed(m, 20)
    engine = engine_at(m, d)
    count = int(engine.read("ncon")[0])
    assert count == d.ncon > 2
    ours = {name: engine.read(f"contact_{name}")[0, :count] for name in ("elem", "pos", "dist", "frame")}
    order = [np.lexsort([*np.round(x, 3).T, e[:, 1]]) for x, e in (
        (ours["pos"], ours["elem"]), (np.asarray(d.contact.pos), np.asarray(d.contact.elem)))]  # fmt: skip
    for name, limit in {"elem": 0.5, "pos": 2e-6, "dist": 2e-6}.items():
        theirs = np.asarray(getattr(d.contact, name))[order[1]]
        assert np.abs(ours[name][order[0]] - theirs).max() < limit, name
    assert off(engine.read("qacc")[0], d.qacc) < 5e-3


@pytest.mark.parametrize("dim", [1, 3])
def test_signed_distance_fields_meet_sheets_only(dim):
    """MuJoCo has no contacts of ropes and solids with them."""
    text = f"""<mujoco><asset><mesh name="ball" builtin="sphere" params="3" scale=".2 .2 .2"/></asset><worldbody>
      <body pos="0 0 -.1"><freejoint/><geom type="sdf" mesh="ball"/></body>
      <flexcomp name="soft" type="grid" dim="{dim}" count="{COUNT[dim]}" spacing=".1 .1 .1" radius=".01" mass="1">
        <edge equality="true"/><contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""
    m = model(text)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    assert d.ncon == 0 and len(flex_pairs(m)) == 0


SHEET = """<mujoco><option solver="{solver}"/><asset>
  <mesh name="ball" builtin="sphere" params="3" scale=".2 .2 .2"/></asset><worldbody>
  <body pos=".21 .17 -.12"><freejoint/><geom type="sdf" mesh="ball"/></body>
  <body pos=".02 .03 .4"><freejoint/><geom type="sphere" size=".05"/></body>
  <body pos=".02 .03 .48"><freejoint/><geom type="sphere" size=".05"/></body>
  <flexcomp name="soft" type="grid" dim="2" count="{count}" spacing="{step} {step} .1" radius=".01" mass="1">
    <edge equality="true"/><contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("of", [StagedEngine, OrderedEngine], ids=["cpu", "cuda"])
@pytest.mark.parametrize("count, step, solver", [("5 5 1", ".1", "Newton"), ("15 15 1", ".03", "CG")])
def test_sheets_meet_signed_distance_fields(count, step, solver, of):
    """The deepest point of each triangle, once, of the first fifty as the tree is walked; among contacts of geoms."""
    m = model(SHEET.format(count=count, step=step, solver=solver))
    d = disturbed(m, 3)
    engine = engine_at(m, d, of)
    found = int(engine.read("ncon")[0])
    assert found == d.ncon > 5
    for name, limit in {"geom": 0, "flex": 0, "elem": 0, "dist": 2e-6, "pos": 2e-6, "frame": 1e-4}.items():
        ours = engine.read(f"contact_{name}")[0, :found].reshape(found, -1)
        assert np.abs(ours - np.asarray(getattr(d.contact, name)).reshape(found, -1)).max() <= limit, name
    assert off(engine.read("qacc")[0], d.qacc) < 5e-3
