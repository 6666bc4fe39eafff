"""Rods with a box section touch as boxes that turn with their segments; as capsules what MuJoCo has no formula for."""

import mujoco
import numpy as np
import pytest

from tests.conformance.staged import OrderedEngine, StagedEngine

from .scenes import disturbed, engine_at, model, off

ROD = """<flexcomp name="{}" type="grid" dim="1" count="5 1 1" spacing=".1 .1 .1" pos="{}" euler="{}" mass="1" {}>{}
  <edge equality="true"/><contact selfcollide="{}" condim="4"/></flexcomp>"""
ELASTIC = '<elasticity young="1e6" poisson=".3" damping=".002" {}/>'
BOX = ELASTIC.format('section="box" sectionsize="{}"')
MOVED = '<body pos="{}" euler="{}"><freejoint/><geom type="{}" size="{}" condim="6"/></body>'
BESIDE = {
    "plane": '<geom type="plane" size="3 3 .1" euler="3 2 0"/>',
    "sphere": MOVED.format(".02 .005 -.025", "0 0 0", "sphere", ".04"),
    "capsule": MOVED.format(".02 .005 -.017", "80 10 0", "capsule", ".03 .05"),
    "box": MOVED.format(".02 .01 -.028", "8 10 0", "box", ".06 .05 .04"),
    "cylinder": MOVED.format(".02 .005 -.017", "80 10 0", "cylinder", ".03 .05"),
    "ellipsoid": MOVED.format(".02 .005 -.017", "80 10 0", "ellipsoid", ".03 .03 .05"),
    "a box": ROD.format("other", ".02 .01 .03", "2 3 60", "", BOX.format(".02 .01"), "none"),
    "a round rod": ROD.format("other", ".02 .01 .026", "2 3 60", 'radius=".01"', ELASTIC.format(""), "none"),
    "a rope": ROD.format("other", ".02 .01 .026", "2 3 60", 'radius=".01"', "", "none"),
    "a cloth": """<flexcomp name="other" type="grid" dim="2" count="4 4 1" spacing=".05 .05 .1" pos=".02 .01 .025"
      radius=".01" mass="1"><edge equality="true"/><contact selfcollide="none"/></flexcomp>""",
}


def scene(beside: str, option: str = "", *, size: str = ".02 .01", before: bool = True, itself: str = "none") -> str:
    """A rod with a box section, and something beside it."""
    own = ROD.format("rod", "0 0 .012", "0 0 0", "", BOX.format(size), itself)
    both = beside + own if before else own + beside
    return f'<mujoco><option timestep=".001" tolerance="1e-12" {option}/><worldbody>{both}</worldbody></mujoco>'


def rows_conform(m: mujoco.MjModel, d: mujoco.MjData, engine: StagedEngine) -> None:
    """Contacts in order, rows and accelerations are MuJoCo's."""
    count = int(engine.read("ncon")[0])
    assert count == d.ncon > 0
    for name in ("geom", "flex", "elem", "vert"):
        assert np.array_equal(engine.read(f"contact_{name}")[0, :count], getattr(d.contact, name)), name
    for name, limit in {"dist": 1e-7, "pos": 2e-6, "frame": 1e-4}.items():
        ours = np.asarray(engine.read(f"contact_{name}")[0, :count]).reshape(count, -1)
        assert np.abs(ours - np.asarray(getattr(d.contact, name)).reshape(count, -1)).max() < limit, name
    dense = np.zeros((d.nefc, m.nv))
    if mujoco.mj_isSparse(m):
        mujoco.mju_sparse2dense(dense, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
    else:
        dense[:] = d.efc_J.reshape(dense.shape)
    assert int(engine.read("nefc")[0]) == d.nefc
    assert off(engine.in_use("efc_J")[0], dense) < 1e-4
    for field, limit in {"efc_vel": 1e-4, "efc_D": 1e-4, "qacc": 1e-3}.items():
        ours = engine.read(field)[0]
        assert off(ours[: d.nefc] if field[:3] == "efc" else ours, getattr(d, field)) < limit, field


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize(("size", "before"), [(".02 .01", True), (".01 .02", False)])
def test_contacts_and_rows(name, size, before):
    m = model(scene(BESIDE[name], size=size, before=before))
    d = disturbed(m, 5, 0.05)
    rows_conform(m, d, engine_at(m, d))


def test_a_rod_touches_itself():
    """Folded back upon itself: boxes meet boxes."""
    m = model(scene("", itself="auto"))
    d = mujoco.MjData(m)
    draw = np.random.default_rng(2)
    back = [[0, 0, 0], [0, 0, 0], [0.02, 0, 0.01], [-0.19, 0, 0.015], [-0.41, 0.01, 0.018]]
    d.qpos[:15] = (np.array(back) + 0.002 * draw.standard_normal((5, 3))).ravel()
    d.qpos[15:] = 0.1 * draw.standard_normal(m.nq - 15)
    d.qpos[:] = d.qpos.astype(np.float32)
    mujoco.mj_forward(m, d)
    rows_conform(m, d, engine_at(m, d))


@pytest.mark.parametrize("name", ["plane", "box", "a box"])
def test_the_recipe_of_cuda(name):
    m = model(scene(BESIDE[name]))
    d = disturbed(m, 5, 0.05)
    rows_conform(m, d, engine_at(m, d, OrderedEngine))


@pytest.mark.parametrize("name", ["plane", "sphere", "capsule", "box", "a box", "a round rod"])
@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_rollouts(name, integrator):
    """After 1, 10 and 100 steps."""
    m = model(scene(BESIDE[name], f'integrator="{integrator}"'))
    d = disturbed(m, 0, 0.05)
    engine = engine_at(m, d)
    done, touched = 0, d.ncon
    for steps in (1, 10, 100):
        engine.step(steps - done)
        for _ in range(steps - done):
            mujoco.mj_step(m, d)
            touched = max(touched, d.ncon)
        done = steps
        moved = np.abs(d.qpos - m.qpos0).max()
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 3e-4 * moved, steps
    assert touched > 0
