"""Every solver as CUDA runs it, threads as fibres on the CPU, beside the CPU's own.

The same rows and the same start: accelerations, forces, zones and the number of iterations must agree, with iterations
to spare and with few, and threads must give the same bits in either order. Worlds lie as on CUDA, interleaved.
"""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema import arrays
from kinema.convex.solve.dense import blocks_of
from kinema.convex.solve.groups import Group, group
from kinema.convex.solve.islands import _island, buckets, island_sizes
from kinema.convex.solve.native import source
from kinema.mujoco_enums import Constraint
from tests.conformance.staged import StagedEngine
from tests.convex.cuda.emulate import COMPILER, Emulated

WORLDS = 4
SOLVERS = ("newton", "find_islands", "conjugate_gradient", "projected_gauss_seidel", "noslip")
RESULTS = ("qacc", "qfrc_constraint", "efc_force", "efc_state", "solver_niter")
LINK = """
    <joint axis="{axis}" range="-25 25" frictionloss="{loss}" damping="0.1"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>"""
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def arm(links: int, at: str, loss: float, limbs: int = 1) -> str:
    """A free body with chains of links."""
    text = ""
    for k in reversed(range(links)):
        axis = "0 1 0" if k % 2 else "0 0 1"
        text = f'<body pos=".2 0 0">{LINK.format(axis=axis, loss=loss if k % 3 == 0 else 0)}{text}</body>'
    turned = "".join(f'<body euler="0 0 {360 * k / limbs}">{text}</body>' for k in range(limbs))
    return f'<body pos="{at}"><freejoint/><geom type="box" size=".1 .05 .03"/>{turned}</body>'


def scene(bodies: str, cone: str, equality: str = "") -> str:
    return f"""
    <mujoco>
      <option cone="{cone}" timestep="0.004"/>
      <default><geom condim="3" friction=".6"/></default>
      <worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody>
      {equality}
    </mujoco>"""


BOXES = "".join(
    f'<body pos="{0.5 * k} 0 {0.1 + 0.19 * (k % 2)}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    f'<body pos="{0.5 * k} .02 {0.3 + 0.19 * (k % 2)}"><freejoint/><geom size=".1" condim="{dim}"/></body>'
    for k, dim in enumerate((1, 3, 4))
)
WELD = '<equality><weld body1="a" body2="b"/></equality>'
SCENES = {
    "small": scene(arm(3, "0 0 .05", 0.1), "pyramidal"),
    "elliptic": scene(arm(8, "0 0 .05", 0.1), "elliptic"),
    "team": scene(arm(5, "0 0 .05", 0.1, limbs=6), "pyramidal"),
    "islands": scene(BOXES + arm(5, "0 1 .05", 0.0), "pyramidal"),
    "elliptic islands": scene(
        BOXES
        + arm(5, "0 1 .05", 0.0).replace("<body ", '<body name="a" ', 1)
        + arm(14, "0 2 .05", 0.2).replace("<body ", '<body name="b" ', 1),
        "elliptic", WELD,
    ),
    "conjugate": scene(arm(8, "0 0 .05", 0.1), "pyramidal").replace("<option ", '<option solver="CG" '),
    "gauss-seidel": scene(arm(3, "0 0 .05", 0.1), "elliptic").replace("<option ", '<option solver="PGS" '),
    "no slip, many trees": scene(arm(5, "0 -2 .05", 0.1, limbs=6) + BOXES, "elliptic").replace(
        "<option ", '<option noslip_iterations="4" '
    ),
    "no slip": scene(BOXES + arm(5, "0 1 .05", 0.1), "pyramidal").replace("<option ", '<option noslip_iterations="4" '),
}  # fmt: skip


FLEXES = {
    "cloth": """<mujoco><option solver="CG" timestep=".002"/><worldbody><geom type="plane" size="1 1 .1"/>
      <body pos=".02 .03 .05"><freejoint/><geom type="box" size=".12 .12 .05"/>
        <body pos=".1 0 0"><joint axis="0 1 0"/><geom type="sphere" size=".06"/></body></body>
      <flexcomp name="soft" type="grid" dim="2" count="5 5 1" spacing=".05 .05 .1" pos="0 0 .108" radius=".01"
        mass=".2">        <edge equality="true"/><contact selfcollide="none"/></flexcomp></worldbody></mujoco>""",
}
"""Rows that list their columns, so many of them on the box that a warp adds them up."""


def settled(model: str, iterations: int) -> StagedEngine:
    """Worlds a few steps after the start, each another number of them."""
    m = mujoco.MjModel.from_xml_string((SCENES | FLEXES)[model])
    engine = StagedEngine(m, WORLDS, device="cpu", cuda=True, nefcmax=400)
    rng = np.random.default_rng(1)
    state = {"qpos": [], "qvel": [], "qacc_warmstart": []}
    for w in range(WORLDS):
        d = mujoco.MjData(m)
        d.qvel[:] = 0.3 * rng.normal(size=m.nv)
        mujoco.mj_step(m, d, 10 + 20 * w)
        for name, values in state.items():
            values.append(getattr(d, name).copy())
    for name, values in state.items():
        engine.write(name, np.array(values))
    engine.set_option("iterations", iterations)
    engine.forward()
    engine.write("qacc_warmstart", np.array(state["qacc_warmstart"]))
    return engine


def interleaved(engine: StagedEngine, monkeypatch) -> StagedEngine:
    """The same worlds in arrays that lie as on CUDA."""
    with monkeypatch.context() as patch:
        patch.setattr(arrays, "interleaves", lambda device: True)
        room = {name: engine.layout.capacity[name] for name in ("nconmax", "nefcmax")}
        other = StagedEngine(engine.source, WORLDS, device="cpu", cuda=True, **room)
    for name, array in engine.layout.arrays.items():
        if array.size and array.strides[0]:
            wp.copy(other.layout.arrays[name], array)
    assert other.layout.arrays["qacc"].strides[0] < other.layout.arrays["qacc"].strides[1]
    other.set_option("iterations", int(engine.m.opt.iterations))
    return other


def solve(engine, functions, *, backward: bool) -> dict[str, np.ndarray]:
    """What the given stages find, world by world, block by block."""
    for name in RESULTS:
        engine.layout.arrays[name].fill_(-7)
    for code, stage in functions:
        code.bind()
        block = max(stage.block, stage.threads, 32)
        for w in range(WORLDS):
            code.run(w, threads=stage.threads, groups=stage.groups, block=block, backward=backward)
    return results_of(engine)


def results_of(engine) -> dict[str, np.ndarray]:
    """What a solver has found; `read` gives a view of what the next one writes to."""
    return {name: engine.read(name).copy() for name in RESULTS}


def compare(engine, found: dict[str, np.ndarray], expected: dict[str, np.ndarray], near: float = 1e-4) -> None:
    """To `near` of the largest number of each kind: light tips of long chains are known no better in floats."""
    for w, count in enumerate(engine.read("nefc").ravel()):
        assert count > 0
        force = expected["efc_force"][w, :count]
        np.testing.assert_allclose(found["efc_force"][w, :count], force, atol=near * np.abs(force).max())
        for name in ("qacc", "qfrc_constraint"):  # at rest, accelerations are what is left of gravity's
            scale = max(np.abs(expected[name][w]).max(), np.abs(engine.read("qacc_smooth")[w]).max() * (name == "qacc"))
            np.testing.assert_allclose(found[name][w], expected[name][w], atol=near * scale, err_msg=name)
        told = np.ones(count, dtype=bool)
        if engine.source.opt.noslip_iterations:  # leaves forces on the very edge of their cones
            told = engine.read("efc_type")[w, :count] != Constraint.CONTACT_ELLIPTIC
        assert np.array_equal(found["efc_state"][w, :count][told], expected["efc_state"][w, :count][told])
    assert np.array_equal(found["solver_niter"], expected["solver_niter"])


@pytest.mark.parametrize("model", SCENES)
def test_the_recipe_of_cuda_has_the_rows_of_mujoco(model: str):
    """What the solver is compared on: rows in all columns, on the CPU too."""
    engine = settled(model, 100)
    m = mujoco.MjModel.from_xml_string(SCENES[model])
    acted_on = np.zeros(m.nv, dtype=bool)
    for w in range(WORLDS):
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = engine.read("qpos")[w], engine.read("qvel")[w]
        d.qacc_warmstart[:] = engine.read("qacc_warmstart")[w]
        mujoco.mj_forward(m, d)
        ours, theirs = engine.read("efc_J")[w, : d.nefc], np.zeros((d.nefc, m.nv))
        if mujoco.mj_isSparse(m):
            mujoco.mju_sparse2dense(theirs, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
        else:
            theirs[:] = d.efc_J.reshape(d.nefc, m.nv)
        assert engine.read("nefc")[w] == d.nefc > 0
        written = theirs != 0  # elsewhere rows have what was there before
        np.testing.assert_allclose(ours[written], theirs[written], atol=1e-4)
        acted_on |= written.any(0)
        scale = np.abs(d.qfrc_constraint).max()
        np.testing.assert_allclose(engine.read("qfrc_constraint")[w], d.qfrc_constraint, atol=2e-3 * scale)
    assert acted_on.mean() > 0.9


def is_solver(stage) -> bool:
    return stage.func is not None and stage.func.key.split("__")[-1] in SOLVERS


@pytest.mark.parametrize("model", [*SCENES, *FLEXES])
def test_it_lands_where_the_cpu_lands(model: str, tmp_path, monkeypatch):
    stages, functions = [], []
    for iterations in (100, 2):
        one = settled(model, iterations)
        engine = interleaved(one, monkeypatch)
        if not functions:
            stages = [stage for stage in engine.recipes["step"] if is_solver(stage)]
            for k, stage in enumerate(stages):
                (tmp_path / str(k)).mkdir()
                functions.append((Emulated(stage.func.native_snippet, engine, tmp_path / str(k)), stage))
        for code, _ in functions:
            code.engine = engine
        expected = results_of(one)
        found = solve(engine, functions, backward=False)
        compare(engine, found, expected, near=1e-4 if iterations > 2 else 3e-4)  # half way, less is decided
        again = solve(engine, functions, backward=True)
        for w, count in enumerate(engine.read("nefc").ravel()):
            assert np.array_equal(found["efc_force"][w, :count], again["efc_force"][w, :count])
        assert np.array_equal(found["qacc"], again["qacc"])


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        ("elliptic", Group(16, 16, 8, 64)),  # tiles
        ("elliptic", Group(16, 64, 16, 8, spills=True)),  # numbers of rows in global memory
        ("team", Group(36, 64, 8, 400, spills=True)),
        ("team", Group(36, 64, 8, 400)),
    ],
)  # fmt: skip
def test_rows_that_find_no_room_in_shared_memory(model: str, holds: Group, tmp_path):
    engine = settled(model, 100)
    expected = results_of(engine)
    func = _island(holds, elliptic=model == "elliptic")
    stage = next(stage for stage in engine.recipes["step"] if is_solver(stage))
    run = type(stage)(func, lanes=True, threads=holds.threads, block=holds.block)
    assert engine.read("nefc").max() > holds.tile
    compare(engine, solve(engine, [(Emulated(func.native_snippet, engine, tmp_path), run)], backward=False), expected)


def test_every_island_has_a_place():
    trees = (6, 6, 6, 27)
    assert island_sizes(trees) == [6, 12, 18, 27, 33, 39, 45]
    held = buckets(trees, 400)
    assert [bucket.dofs for bucket in held] == [8, 12, 28, 48]
    assert held[-1].rows > 400 and held[-1].holds.spills and not held[-2].holds.spills
    assert all(first.dofs < second.dofs for first, second in zip(held, held[1:], strict=False))
    few = buckets((6,) * 4, 30)
    assert not few[-1].holds.is_team and few[0].most == 4
    many = buckets((6,) * 4, 1000)
    assert many[-1].holds.is_team and many[-1].most == 4


def test_groups_fit_into_shared_memory():
    for nv in range(1, 129):
        for spills in (False, True):
            holds = group(nv, spills=spills)
            width = holds.columns + 4
            whole, half = holds.columns**2, holds.columns * (holds.columns + 1) // 2
            mass = 0 if holds.threads <= 32 else whole if holds.columns <= 64 else half
            numbers = 0 if holds.spills else 7 * holds.rows
            each = holds.tile * (width + 7) + mass + 12 * holds.threads + numbers + 4 * holds.columns
            assert 4 * each * holds.block // holds.threads < 48 * 1024, holds


MASS = """
auto &mat = d.inertia.M, &b = d.frc.qfrc_smooth, &shift = d.frc.qfrc_passive, &x = d.frc.qacc;
auto &rownnz = m.dof.M_rownnz, &rowadr = m.dof.M_rowadr, &colind = m.dof.M_colind;
auto &tree_adr = m.tree.dofadr, &tree_num = m.tree.dofnum;
const bool shifted = false;
"""


@pytest.mark.parametrize("links", [3, 20, 27, 28, 29, 30, 33])
def test_mass_solves_by_groups_of_every_kind(links: int, tmp_path):
    """Part of a warp, a warp, a warp that holds a block more than it has threads, a team; M^-1 of the smooth force."""
    m = mujoco.MjModel.from_xml_string(scene(arm(links, "0 0 .5", 0.0) + arm(2, "0 2 .5", 0.0), "pyramidal"))
    engine = StagedEngine(m, WORLDS, device="cpu", cuda=True)
    engine.write("qvel", np.random.default_rng(2).normal(size=(WORLDS, m.nv)))
    engine.forward()
    blocks = blocks_of(m)
    text = source("mass_solve.cpp", COLUMNS=blocks.columns, TEAM=blocks.threads, GROUPS=blocks.groups)
    code = Emulated(MASS + text, engine, tmp_path)
    code.bind()
    size = {"threads": blocks.threads, "groups": blocks.count, "block": blocks.threads * blocks.groups}
    for backward in (False, True):
        engine.layout.arrays["qacc"].fill_(-7)
        for w in range(WORLDS):
            code.run(w, **size, backward=backward)
        for w, found in enumerate(engine.read("qacc").astype(float)):
            mass = np.zeros((m.nv, m.nv))
            for i in range(m.nv):
                entries = slice(m.M_rowadr[i], m.M_rowadr[i] + m.M_rownnz[i])
                mass[i, m.M_colind[entries]] = mass[m.M_colind[entries], i] = engine.read("M")[w, entries]
            rounding = 1e-6 * (np.abs(mass) @ np.abs(found)).max()  # long chains are badly conditioned
            np.testing.assert_allclose(mass @ found, engine.read("qfrc_smooth")[w], atol=rounding)
