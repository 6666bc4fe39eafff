"""Flexes whose vertices hang on nodes: places, forces of cells that turn, contacts borne by nodes, fewer of them."""

import mujoco
import numpy as np
import pytest

from kinema.convex.flex import cells

from .scenes import disturbed, engine_at, model, off

SOFT = '<elasticity young="2e3" poisson=".2" damping=".01"/>'
SHELL = '<elasticity young="2e4" poisson=".2" damping=".01" thickness=".01" elastic2d="both"/>'
FLOOR = '<geom type="plane" size="3 3 .1" euler="2 1 0"/>'


def lattice(dof: str, count: str = "1 1 1", more: str = "", inside: str = SOFT, dim: int = 3, option: str = "") -> str:
    """A block of nodes, or the shell of a box, turned."""
    kind = 'type="grid" count="5 4 3"' if dim == 3 else 'type="box" count="5 4 4"'
    return f"""<mujoco><option timestep="0.002" {option}/><worldbody>{more}<flexcomp name="soft" {kind} dim="{dim}"
      spacing=".05 .05 .05" pos="0 0 .06" euler="10 20 30" radius=".01" mass="1" dof="{dof}" cellcount="{count}">
      {inside}<contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""


def agree(m: mujoco.MjModel, d: mujoco.MjData, fields: dict[str, float]):
    engine = engine_at(m, d)
    for name, limit in fields.items():
        assert off(engine.read(name)[0], getattr(d, name)) < limit, name
    return engine


FORCES = {"flexvert_xpos": 1e-6, "flexelem_aabb": 1e-6, "qfrc_spring": 1e-4, "qfrc_damper": 1e-5, "qacc_smooth": 1e-4}


@pytest.mark.parametrize(("dof", "count"), [("trilinear", "1 1 1"), ("trilinear", "2 1 2"), ("quadratic", "1 2 1")])
def test_forces_of_cells(dof, count):
    m = model(lattice(dof, count))
    d = disturbed(m, 30, 0.05)
    agree(m, d, FORCES)
    assert np.abs(d.qfrc_spring).max() > 1e-2 and np.abs(d.qfrc_damper).max() > 1e-3


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_a_shell_is_elastic_in_its_squares(dof):
    """Nodes inside follow those around them."""
    m = model(lattice(dof, "3 3 2" if dof == "trilinear" else "2 1 1", inside=SHELL, dim=2))
    assert m.flex_interp[0] < 0
    d = disturbed(m, 20, 0.05)
    agree(m, d, FORCES)
    assert np.abs(d.qfrc_spring).max() > 1e-2


def test_a_cell_turned_inside_out_has_a_rotation():
    m = model(lattice("trilinear"))
    d = mujoco.MjData(m)
    d.qpos[:] = (np.random.default_rng(3).standard_normal(m.nq) * 0.1).astype(np.float32)
    mujoco.mj_forward(m, d)
    agree(m, d, {"qfrc_spring": 1e-4})


def test_a_cell_drawn_long_and_inside_out_has_a_rotation():
    """One stretch many times the others, and no turn near a saddle: small steps uphill are many hundred there."""
    m = model(lattice("trilinear"))
    d = mujoco.MjData(m)
    rest = np.array([m.body_pos[b] for b in m.flex_nodebodyid])
    turn = np.eye(3) + 1e-4 * np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    gradient = turn @ np.diag([6.0, -1.0, 0.6])
    d.qpos[:] = ((rest - rest.mean(0)) @ (gradient - np.eye(3)).T).astype(np.float32).ravel()
    mujoco.mj_forward(m, d)
    agree(m, d, {"qfrc_spring": 1e-4})


def test_pinned_nodes_push_what_holds_them():
    text = f"""<mujoco><worldbody><body name="arm"><joint axis="0 1 0"/><joint type="slide"/><geom size=".1" mass="1"/>
      <flexcomp name="soft" type="grid" count="4 4 4" dim="3" spacing=".05 .05 .05" pos="0 0 .2" mass="1" radius=".005"
        dof="trilinear">{SOFT}<pin id="0 2 4 6"/><contact selfcollide="none" contype="0" conaffinity="0"/></flexcomp>
      </body></worldbody></mujoco>"""
    m = model(text)
    d = disturbed(m, 30, 0.05)
    agree(m, d, {**FORCES, "qacc": 1e-4})
    assert np.abs(d.qfrc_spring[:2]).max() > 1e-2


def test_few_contacts_are_kept():
    """Of more than fifty with a geom those that are deepest and farthest apart; the same as MuJoCo's."""
    text = lattice("trilinear", more=FLOOR, option='solver="Newton"').replace('"5 4 3"', '"13 11 2"')
    text = text.replace(".05", ".02").replace('pos="0 0 .06"', 'pos="0 0 .02"')
    m = model(text.replace('euler="10 20 30"', 'euler="1.3 2.1 17"'))
    d = disturbed(m, 0, 1e-4)
    assert d.ncon == 50
    engine = engine_at(m, d)
    assert int(engine.read("ncon")[0]) == 50
    for name in ("geom", "flex", "elem", "vert"):
        assert np.array_equal(engine.read(f"contact_{name}")[0, :50], getattr(d.contact, name)), name
    assert np.allclose(engine.read("contact_dist")[0, :50], d.contact.dist, atol=1e-6)
    assert off(engine.read("qacc")[0], d.qacc) < 5e-3


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_an_interpolated_flex_touches_itself(dof):
    """A strip rolled up by a little more than a turn, so that its ends touch: what MuJoCo Warp refuses."""
    m = model(f"""<mujoco><option gravity="0 0 0" solver="Newton"/><worldbody><flexcomp name="strip" type="grid" dim="3"
      count="25 3 2" spacing=".02 .02 .02" radius=".004" mass=".1" dof="{dof}" cellcount="8 1 1">{SOFT}</flexcomp>
      </worldbody></mujoco>""")
    d = mujoco.MjData(m)
    x, y, z = np.asarray(m.flex_node0).reshape(-1, 3).T
    angle = 1.03 * 2 * np.pi * x / np.ptp(x)
    radius = np.ptp(x) / 6.6 - z + 0.0041 * angle
    place = np.column_stack([radius * np.sin(angle), y + 0.004 * angle, -radius * np.cos(angle)])
    d.qpos[:] = (place - np.column_stack([x, y, z])).ravel().astype(np.float32)
    d.qvel[:] = (0.02 * np.random.default_rng(0).standard_normal(m.nv)).astype(np.float32)
    mujoco.mj_forward(m, d)
    engine = engine_at(m, d)
    assert int(engine.read("ncon")[0]) == d.ncon > 10
    ours = sorted(map(tuple, engine.read("contact_elem")[0, : d.ncon].tolist()))
    assert ours == sorted(map(tuple, d.contact.elem.tolist()))
    other = mujoco.MjData(m)  # how far normals of bodies in each other are MuJoCo's own to choose
    other.qpos, other.qvel = d.qpos + 1e-6 * np.random.default_rng(1).standard_normal(m.nq), d.qvel
    mujoco.mj_forward(m, other)
    assert off(engine.read("qacc")[0], d.qacc) < 5e-3 + 3 * off(other.qacc, d.qacc) < 0.3


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_rows_that_keep_strain(dof):
    """As many as a cell has modes of strain, and what they lead to."""
    m = model(lattice(dof, "1 1 1" if dof == "quadratic" else "2 1 1", FLOOR, inside='<edge equality="strain"/>'))
    d = disturbed(m, 40, 0.01)
    engine = agree(m, d, {"qacc": 2e-3, "qfrc_constraint": 2e-3})
    rows = int(engine.read("nefc")[0])
    assert rows == d.nefc and np.sum(d.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) > 20
    for name, limit in {"efc_vel": 1e-5, "efc_D": 1e-4, "efc_aref": 1e-4}.items():
        assert off(np.sort(engine.read(name)[0, :rows]), np.sort(getattr(d, name))) < limit, name


def test_nodes_inside_a_shell_keep_planes_flat():
    """Transfinite interpolation reproduces what is linear."""
    m = model(lattice("trilinear", "3 4 3", inside=SHELL, dim=2))
    weights = cells.node_weights(m, 0)
    _, grid = cells.lattice(m, 0)
    place = np.stack(np.meshgrid(*(np.linspace(0, 1, n) for n in grid), indexing="ij"), -1).reshape(-1, 3)
    assert np.allclose(weights @ place, place) and np.allclose(weights.sum(1), 1)
    inner = ~np.any((place == 0) | (place == 1), axis=1)
    assert inner.any() and not weights[:, inner].any()


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_contacts_that_nodes_bear_with_shares_that_cancel(cone):
    """Shares in a quadratic cell may be negative, and so may what is taken for the inverse inertia of a contact.

    Its rows have D = 1e15. The minimum is found all the same: with pyramids MuJoCo's Newton stops short of it, and its
    conjugate gradients end there after thousands of iterations.
    """
    text = f"""<mujoco><option cone="{cone}" solver="Newton"/><asset><mesh name="sheet" inertia="shell"
        vertex="-.1 -.11 0 .12 -.1 0 .09 .1 .01 -.1 .13 0 .01 0 .04" face="0 1 4 1 2 4 2 3 4 3 0 4"/></asset>
      <worldbody><geom type="plane" size="2 2 .1" euler="-5 -7 7"/>
      <geom type="ellipsoid" size=".08 .09 .03" pos="0 .05 .05"/>
      <flexcomp name="soft" type="mesh" dim="2" pos="0 0 .1" radius=".017" mass=".34" mesh="sheet" dof="quadratic"
        cellcount="1 2 2"><edge equality="strain" solref=".045 .84"/></flexcomp></worldbody></mujoco>"""
    m = model(text)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, 50)
    d.qvel[:] = 0.3 * np.random.default_rng(5).standard_normal(m.nv)
    for name in ("qpos", "qvel", "qacc_warmstart"):
        getattr(d, name)[:] = getattr(d, name).astype(np.float32)
    engine = engine_at(m, d)
    if cone == "pyramidal":
        m = mujoco.MjModel.from_xml_string(text)
        m.opt.solver, m.opt.iterations, m.opt.tolerance = mujoco.mjtSolver.mjSOL_CG, 20000, 0
    mujoco.mj_forward(m, d)
    assert d.efc_D.max() > 1e14
    assert off(engine.read("qacc")[0], d.qacc) < 2e-3
