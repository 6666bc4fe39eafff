"""What couples trees of flexes: islands have line searches of their own, which shows while iterations are few."""

import pytest

from .scenes import EDGES, disturbed, engine_at, model, off

BALLS = """<body pos=".15 .15 -.035"><freejoint/><geom size=".05"/></body>
  <body pos="-.1 -.12 -.035"><freejoint/><geom size=".05"/></body>"""
SHEET = """<mujoco><option timestep="0.004" solver="{solver}" iterations="2" jacobian="dense"/>
  <worldbody>BALLS<flexcomp name="soft" type="grid" dim="2" count="4 4 1" spacing=".1 .1 .1" radius=".01" mass=".3">
  {inside}<contact selfcollide="none"/><pin id="{pins}"/></flexcomp></worldbody></mujoco>""".replace("BALLS", BALLS)
CASES = {
    "a pinned corner": {"inside": EDGES, "pins": "15 10"},
    "stiffness": {"inside": '<elasticity young="1e3" poisson=".1" thickness=".01" elastic2d="both"/>', "pins": "3"},
    "bending alone": {"inside": '<elasticity young="1e4" poisson=".1" thickness=".01" elastic2d="bend"/>', "pins": "3"},
}


@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
@pytest.mark.parametrize("case", CASES)
def test_islands_are_mujocos(case, solver):
    """A contact couples all vertices of its element, also by no share; stiffness all vertices of its flex."""
    m = model(SHEET.format(solver=solver, **CASES[case]))
    d = disturbed(m, 2, 0.1)
    engine = engine_at(m, d)
    assert d.ncon > 0 and int(engine.read("nefc")[0]) == d.nefc
    root = engine.array("dual_root" if solver == "PGS" else "solver_root").numpy()[0].ravel()[: m.ntree]
    moved = d.tree_island >= 0
    assert len({*zip(root[moved].tolist(), d.tree_island[moved].tolist(), strict=True)}) == d.nisland
    assert len({*root[moved].tolist()}) == d.nisland
    assert off(engine.read("qacc")[0], d.qacc) < 2e-3


SHELL = """<mujoco><option solver="{solver}" iterations="1"/><worldbody>
  <body pos=".25 0 -.1"><freejoint/><geom size=".05"/></body>
  <flexcomp name="soft" type="grid" dim="3" count="6 2 2" spacing=".1 .1 .1" radius=".01" mass=".3" dof="trilinear"
    cellcount="3 1 1"><elasticity young="1e3" poisson=".1" thickness=".01" elastic2d="stretch"/>
  <contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
def test_stiffness_couples_nodes_whose_first_cell_has_none(solver):
    m = model(SHELL.format(solver=solver))
    d = disturbed(m, 2, 0.1)
    engine = engine_at(m, d)
    assert d.ncon > 0 and not m.flex_stiffness.ravel()[0] and d.tree_island.tolist() == [0] * m.ntree
    assert off(engine.read("qacc")[0], d.qacc) < 2e-3


BESIDE = """<mujoco><option solver="{solver}" iterations="2"/><worldbody><geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .045"><freejoint/><geom type="box" size=".1 .1 .05" adhesion="3"/></body>
  <flexcomp name="soft" type="grid" dim="1" count="4 1 1" spacing=".1 .1 .1" radius=".01" mass=".3" pos="0 0 .5">
  {inside}<contact selfcollide="none" contype="0" conaffinity="0"/><pin id="0"/></flexcomp></worldbody></mujoco>"""
ROD = '<edge equality="true"/><elasticity young="1e5" poisson=".2" thickness=".01"/>'


@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
@pytest.mark.parametrize("inside", [EDGES, ROD], ids=["edges", "rod"])
def test_contacts_of_geoms_are_not_of_a_flex_that_touches_nothing(inside, solver):
    m = model(BESIDE.format(inside=inside, solver=solver))
    d = disturbed(m, 2, 0.1)
    engine = engine_at(m, d)
    assert d.ncon == int(engine.read("ncon")[0]) > 0 and d.nisland > 1
    for name in ("flex", "elem", "vert"):
        assert (engine.read(f"contact_{name}")[0, : d.ncon] == -1).all()
    assert off(engine.read("qacc")[0], d.qacc) < 2e-3
