"""What decides a contact of a flex beside its geometry: which element comes first, options, and surfaces that move."""

import mujoco
import numpy as np
import pytest

from tests.conformance.staged import StagedEngine

from .scenes import EDGES, GEOMS, disturbed, engine_at, model, off, scene

SOLID = """<mujoco><option>{flag}</option><worldbody><flexcomp name="soft" type="grid" dim="{dim}" count="{count}"
  spacing=".05 .05 .05" radius=".012" mass="1">{edges}<contact selfcollide="{mode}"/></flexcomp></worldbody></mujoco>"""
MIDPHASE = '<flag midphase="disable"/>'


def contacts(found, count: int) -> dict[tuple, np.ndarray]:
    """Distance, place and normal of each contact, by what touches."""
    name = lambda i: tuple(int(x) for part in ("geom", "flex", "elem", "vert") for x in found[part][i])  # noqa: E731
    of = lambda i: np.array([found["dist"][i], *found["pos"][i], *np.ravel(found["frame"][i])[:3]])  # noqa: E731
    together: dict[tuple, list[np.ndarray]] = {}
    for i in range(count):
        together.setdefault(name(i), []).append(of(i))
    return {key: np.array(sorted(rows, key=lambda row: tuple(np.round(row[1:4], 4)))) for key, rows in together.items()}


def assert_same_contacts(m: mujoco.MjModel, d: mujoco.MjData, engine, atol: float) -> None:
    names = ("geom", "flex", "elem", "vert", "dist", "pos", "frame")
    count = int(engine.read("ncon")[0])
    ours = contacts({name: engine.read(f"contact_{name}")[0, :count] for name in names}, count)
    theirs = contacts({name: np.asarray(getattr(d.contact, name)) for name in names}, d.ncon)
    assert d.ncon > 0 and ours.keys() == theirs.keys()
    for key, rows in theirs.items():
        assert np.allclose(ours[key], rows, atol=atol), key


@pytest.mark.parametrize("mode", ["narrow", "bvh", "sap", "auto", "bvh without midphase"])
@pytest.mark.parametrize("dim", [2, 3])
def test_the_first_of_two_elements(dim, mode):
    """By number, by the leaves of the tree of boxes, or by a sweep: normals lead from the first to the second."""
    word, _, plain = mode.partition(" ")
    count = {2: "5 5 1", 3: "3 3 2"}[dim]
    m = model(SOLID.format(dim=dim, mode=word, count=count, edges=EDGES, flag=MIDPHASE if plain else ""))
    d = mujoco.MjData(m)
    d.qpos[:] = (0.04 * np.random.default_rng(1).standard_normal(m.nq)).astype(np.float32)
    mujoco.mj_forward(m, d)
    assert_same_contacts(m, d, engine_at(m, d), 1e-3)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("geom", ["capsule", "cylinder", "ellipsoid", "box"])
def test_contacts_without_nativeccd(geom, dim):
    m = model(scene(dim, GEOMS[geom], option='').replace("<worldbody>", '<option><flag nativeccd="disable"/></option>'
                                                         "<worldbody>"))  # fmt: skip
    d = disturbed(m, 3)
    assert_same_contacts(m, d, engine_at(m, d), 2e-3)


@pytest.mark.parametrize("flag", ["", '<flag nativeccd="disable"/>'], ids=["native", "portals"])
def test_a_capsule_that_pierces_a_solid(flag):
    """Where the axis of a capsule is in a tetrahedron, the shortest way out is through a face or past an edge."""
    pierced = '<body pos=".02 .03 .08" euler="60 20 0" mocap="true"><geom type="capsule" size=".03 .2"/></body>'
    m = model(scene(3, pierced).replace("<worldbody>", f"<option>{flag}</option><worldbody>"))
    d = disturbed(m, 0, 0.1)
    assert d.contact.dist.min() < -0.04
    assert_same_contacts(m, d, engine_at(m, d), 1e-5)


def test_options_override_parameters_of_contacts():
    """solref of the options is that of friction as well."""
    text = scene(2, GEOMS["box"], option='o_margin=".004" o_solref=".03 .7" cone="elliptic"')
    m = model(text.replace("<worldbody>", '<option><flag override="enable"/></option><worldbody>'))
    d = disturbed(m, 3)
    engine = engine_at(m, d)
    assert d.ncon > 0 and np.allclose(d.contact.solreffriction, (0.03, 0.7))
    assert np.allclose(engine.read("contact_solreffriction")[0, : d.ncon], d.contact.solreffriction)
    assert off(engine.read("qacc")[0], d.qacc) < 1e-3


def test_a_surface_that_moves_carries_a_flex():
    """A belt of a geom: the velocity of its surface counts, though flexes have none."""
    belt = GEOMS["box"].replace('type="box"', 'type="box" surfacevel=".5 -.3 .1 .2 -1 .4"')
    m = model(scene(2, belt, option='cone="elliptic"'))
    d = disturbed(m, 3)
    engine = engine_at(m, d)
    still = model(scene(2, GEOMS["box"], option='cone="elliptic"'))
    other = mujoco.MjData(still)
    other.qpos[:], other.qvel[:], other.qacc_warmstart[:] = d.qpos, d.qvel, d.qacc_warmstart
    mujoco.mj_forward(still, other)
    assert d.ncon > 0 and off(other.qacc, d.qacc) > 1e-2
    assert off(engine.read("qacc")[0], d.qacc) < 1e-3


@pytest.mark.parametrize("solver", ["Newton", "CG", "PGS"])
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_contact_on_a_pinned_vertex_has_rows_that_move_nothing(cone, solver):
    """So it is in MuJoCo, as long as another vertex of the element may move. The cloth is not disturbed by them."""
    touching = '<body pos="-.2 -.2 -.03" mocap="true"><geom size=".03"/></body>'
    pinned = EDGES + '<pin id="0"/>'
    m = model(scene(2, touching, inside=pinned, option=f'cone="{cone}" solver="{solver}"'))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    engine = engine_at(m, d)
    rows = [int(a) for a in d.contact.efc_address]
    assert len(rows) == 2 and min(rows) > 0 and engine.read("nefc")[0] == d.nefc
    assert off(engine.read("efc_force")[0, : d.nefc], d.efc_force) < 1e-5  # 1e16 N, in MuJoCo as well
    assert off(engine.read("efc_force")[0, : min(rows)], d.efc_force[: min(rows)]) < 1e-3
    assert off(engine.read("qacc")[0], d.qacc) < 1e-4
    engine.step(50)
    mujoco.mj_step(m, d, 50)
    assert off(engine.read("qvel")[0], d.qvel) < 1e-2


BESIDE_A_PIN = """<mujoco><worldbody><body mocap="true"><geom size=".04"/></body><flexcomp name="soft" type="direct"
  dim="3" pos=".1 .2 .3" euler="20 30 40" point="0 0 0 .1 0 0 0 .1 0 0 0 .1" element="{element}" radius=".01" mass="1">
  {edges}<pin id="0"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("element", ["0 1 2 3", "1 2 0 3"])
def test_a_small_share_beside_a_pinned_vertex(element):
    """A row weighs as much as the share of what moves is small: it is not lost among faces that are equally near."""
    m = model(BESIDE_A_PIN.format(element=element, edges=EDGES))
    engine = StagedEngine(m, 3, device="cpu")
    start = mujoco.MjData(m)
    mujoco.mj_forward(m, start)
    corners = start.flexvert_xpos
    shares = np.where(np.eye(3, dtype=bool), 3e-5, -0.3)
    places = (corners[0] + shares @ (corners[1:] - corners[0])).astype(np.float32)[:, None]
    engine.write("mocap_pos", places)
    engine.forward()
    for world, place in enumerate(places):
        d = mujoco.MjData(m)
        d.mocap_pos[:] = place
        mujoco.mj_forward(m, d)
        rows = slice(d.ne, d.nefc)
        assert d.ncon == 1 and d.efc_D[rows].min() > 1e4
        assert np.allclose(engine.array("efc_D").numpy()[world, rows], d.efc_D[rows], rtol=1e-2)
