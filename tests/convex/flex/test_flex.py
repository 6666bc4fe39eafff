"""Flexes whose vertices are bodies, stage by stage as MuJoCo has them: places, edges, rows, contacts, forces."""

import copy

import mujoco
import numpy as np
import pytest

from kinema.convex.stage import lane_kernel, plan
from kinema.errors import BuildError
from tests.conformance.staged import StagedEngine, ends_in_any_order
from tests.convex.hopper import compile_kernel, stack

from .scenes import EDGES, GEOMS, disturbed, engine_at, model, off, scene

STRETCH = '<elasticity young="2e3" poisson=".2" damping=".002"/>'
PLATE = '<elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" elastic2d="both"/>'
BEND = f'{EDGES}<elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" elastic2d="bend"/>'
SPRINGS = '<edge stiffness="50" damping=".1"/>'
HELD = '<pin id="0 1"/>'


def check(text: str, steps: int = 20, fields: dict[str, float] | None = None):
    m = model(text)
    d = disturbed(m, steps)
    engine = engine_at(m, d)
    for name, limit in (fields or {}).items():
        assert off(engine.read(name)[0], getattr(d, name)) < limit, name
    return m, d, engine


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_vertices_and_edges(dim):
    found = {"flexvert_xpos": 1e-6, "flexelem_aabb": 1e-6, "flexedge_length": 1e-6, "flexedge_J": 1e-5,
             "flexedge_velocity": 1e-5}  # fmt: skip
    m, d, _ = check(scene(dim), fields=found)
    assert np.abs(d.flexedge_velocity).max() > 1e-4


@pytest.mark.parametrize("solver", ["CG", "Newton"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_rows_that_keep_edges(dim, solver):
    m, d, engine = check(scene(dim, option=f'solver="{solver}"'), fields={"qacc": 1e-3, "qfrc_constraint": 5e-3})
    assert int(engine.read("nefc")[0]) == d.nefc > 0
    for name, limit in {"efc_pos": 1e-5, "efc_vel": 1e-5, "efc_aref": 1e-4, "efc_D": 1e-4}.items():
        assert off(engine.read(name)[0, : d.nefc], getattr(d, name)) < limit, name
    dense = np.zeros((d.nefc, m.nv))
    if mujoco.mj_isSparse(m):
        mujoco.mju_sparse2dense(dense, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
    else:
        dense[:] = d.efc_J.reshape(dense.shape)
    assert off(engine.in_use("efc_J")[0], dense) < 1e-5


@pytest.mark.parametrize(("dim", "inside"), [(2, PLATE), (2, BEND), (3, STRETCH), (1, SPRINGS), (3, STRETCH + HELD)])
def test_elastic_forces(dim, inside):
    m, d, _ = check(scene(dim, inside=inside), 5, {"qfrc_spring": 3e-4, "qfrc_damper": 3e-4, "qacc_smooth": 3e-4})
    assert np.abs(d.qfrc_spring).max() > 1e-3


@pytest.mark.parametrize(("dim", "inside"), [(1, SPRINGS), (2, PLATE)])
def test_energy(dim, inside):
    """Springs along edges count, elasticity does not."""
    text = scene(dim, inside=inside).replace("<worldbody>", '<option><flag energy="enable"/></option><worldbody>')
    m, d, _ = check(text, 5, {"energy": 1e-5})
    if dim == 1:
        springs = np.sum(m.flex_edgestiffness[0] * (d.flexedge_length - m.flexedge_length0) ** 2) / 2
        assert springs > 1e-4 * abs(d.energy[0])


def test_elastic_forces_on_what_holds_a_flex():
    """A plate, turned, pinned to a body that a hinge turns: bending and stretching push it too."""
    text = f"""<mujoco><worldbody><body name="arm" euler="10 20 30"><joint axis="0 1 0"/><geom size=".05" mass="1"/>
      <flexcomp name="soft" type="grid" dim="2" count="4 4 1" spacing=".1 .1 .1" pos=".2 0 0" euler="40 0 20" mass="1"
        radius=".01">{PLATE}{HELD}<contact selfcollide="none"/></flexcomp></body></worldbody></mujoco>"""
    m, d, _ = check(text, 5, {"qfrc_spring": 3e-4, "qfrc_damper": 3e-4, "qacc_smooth": 3e-4})
    assert np.abs(d.qfrc_spring).max() > 1e-3 and abs(d.qvel[0]) > 1e-3


@pytest.mark.parametrize("geom", GEOMS)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_contacts(dim, geom):
    """The same contacts, of the same elements or vertices, at the same places; and what they lead to."""
    m, d, engine = check(scene(dim, GEOMS[geom]), 3)
    count = int(engine.read("ncon")[0])
    assert count == d.ncon > 0
    ours = {name: engine.read(f"contact_{name}")[0, :count] for name in ("geom", "flex", "elem", "vert", "pos", "dist")}

    def order(found):
        keys = [*np.round(found["pos"], 3).T, *found["vert"].T, *found["elem"].T, *found["geom"].T]
        return np.lexsort(keys)

    theirs = {name: np.asarray(getattr(d.contact, name)) for name in ours}
    mine, other = order(ours), order(theirs)
    for name in ("geom", "flex", "elem", "vert"):
        assert np.array_equal(ours[name][mine], theirs[name][other]), name
    assert np.allclose(ours["pos"][mine], theirs["pos"][other], atol=1e-6)  # also where a search ends by a tolerance
    assert np.allclose(ours["dist"][mine], theirs["dist"][other], atol=2e-6)
    assert off(engine.read("qacc")[0], d.qacc) < 5e-3


@pytest.mark.parametrize("selfcollide", ["auto", "narrow", "bvh", "sap"])
def test_a_flex_that_touches_itself(selfcollide):
    """A folded strip, and two crossing ropes: the same pairs of elements, as deep."""
    fold = "0 0 0 .1 0 0 .2 0 0 0 .1 0 .1 .1 0 .2 .1 0 .02 .03 .015 .12 .03 .016 .03 .12 .014 .13 .13 .015"
    cross = "0 0 0 .1 0 0 .2 0 0 .05 -.1 .015 .05 .1 .015"
    scenes = {2: (fold, "0 1 3 1 4 3 1 2 4 2 5 4 6 7 8 7 9 8"), 1: (cross, "0 1 1 2 3 4")}
    for dim, (points, elements) in scenes.items():
        m = model(f"""<mujoco><worldbody><flexcomp name="soft" type="direct" dim="{dim}" point="{points}" mass="1"
          element="{elements}" radius=".01">{EDGES}<contact selfcollide="{selfcollide}"/></flexcomp></worldbody>
          </mujoco>""")
        d = disturbed(m, 2)
        engine = engine_at(m, d)
        count = int(engine.read("ncon")[0])
        assert count == d.ncon > 0
        found = engine.read("contact_elem")[0, :count].tolist(), engine.read("contact_dist")[0, :count]
        ours = {frozenset(pair): dist for pair, dist in zip(*found, strict=True)}
        theirs = {frozenset(pair): dist for pair, dist in zip(d.contact.elem.tolist(), d.contact.dist, strict=True)}
        assert ours.keys() == theirs.keys()
        assert all(abs(ours[pair] - theirs[pair]) < 2e-6 for pair in ours)
        assert off(engine.read("qacc")[0], d.qacc) < 5e-3


def test_newton_with_elliptic_cones_lands_where_mujoco_does():
    option = 'solver="Newton" cone="elliptic"'
    m, d, engine = check(scene(2, GEOMS["box"], option=option), 10, {"qacc": 1e-4, "qfrc_constraint": 1e-4})
    assert d.ncon > 0 and abs(int(engine.read("solver_niter")[0]) - d.solver_niter[0]) <= 1


def test_other_rows_beside_those_of_flexes():
    """Limits, friction, equalities of joints, tendons and bodies list their columns as well."""
    robot = """<body pos="0 0 -.5"><joint name="a" axis="0 1 0" range="-10 10" frictionloss=".1"/>
      <geom size=".05"/><body pos=".2 0 0"><joint name="b" axis="0 1 0"/><geom size=".05"/></body></body>
      <body pos=".5 0 -.5"><joint name="c" type="ball" range="0 10"/><geom size=".05" pos=".1 0 0"/></body>"""
    more = """<tendon><fixed name="t" range="-.1 .1" limited="true" frictionloss=".05"><joint joint="a" coef="1"/>
      <joint joint="b" coef="-1"/></fixed></tendon><equality><joint joint1="a" joint2="b" polycoef="0 .5 0 0 0"/>
      <connect body1="soft_0" body2="soft_24" anchor=".1 0 0"/></equality>"""
    text = scene(2, robot, option='solver="Newton"', more=more)
    m, d, engine = check(text, 60, {"qacc": 1e-4, "qfrc_constraint": 1e-3})
    assert {0, 1, 2, 3, 4} <= set(d.efc_type.tolist())
    assert int(engine.read("nefc")[0]) == d.nefc
    assert off(engine.read("efc_pos")[0, : d.nefc], d.efc_pos) < 1e-4


def test_many_steps_stay_together():
    """Cloth falls on a ball; a hundred steps on, vertices are where MuJoCo's are."""
    m = model(scene(2, GEOMS["sphere"].replace("<freejoint/>", ""), option='solver="Newton"', height=0.03))
    d = mujoco.MjData(m)
    engine = engine_at(m, d)
    engine.reset()
    for _ in range(100):
        mujoco.mj_step(m, d)
    engine.step(100)
    mujoco.mj_kinematics(m, d)
    assert d.ncon > 0
    assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-4


def test_momentum_is_kept_without_gravity():
    """Elastic and constraint forces are inner ones: the momentum of a free block, a ball on it, does not change."""
    ball = '<body pos=".02 .03 -.05"><freejoint/><geom type="sphere" size=".05" mass=".2"/></body>'
    for text in (scene(3, ball, option='gravity="0 0 0"'), scene(3, ball, inside=STRETCH, option='gravity="0 0 0"')):
        m = model(text)
        d = disturbed(m, 0, 0.1)
        engine = engine_at(m, d)
        mass = np.asarray(m.body_mass)[np.asarray(m.dof_bodyid)]
        sliding = np.asarray(m.jnt_type)[np.asarray(m.dof_jntid)] != mujoco.mjtJoint.mjJNT_FREE
        sliding |= np.arange(m.nv) < 3  # and the ball's own
        axis = np.arange(m.nv) % 3

        def momentum(v, mass=mass, sliding=sliding, axis=axis):
            return np.array([np.sum((mass * v)[sliding & (axis == k)]) for k in range(3)])

        before = momentum(engine.read("qvel")[0])
        engine.step(50)
        assert np.allclose(momentum(engine.read("qvel")[0]), before, atol=1e-5)


def test_what_is_not_simulated_is_refused_by_name():
    """Solvers of forces with elastic flexes under discrete: MuJoCo refuses them when it compiles."""
    m = mujoco.MjModel.from_xml_string(scene(2, inside=PLATE, option='integrator="discrete"'))
    for name, value in {"solver": mujoco.mjtSolver.mjSOL_PGS, "noslip_iterations": 3}.items():
        asked = copy.copy(m)
        setattr(asked.opt, name, value)
        with pytest.raises(BuildError, match="discrete"):
            engine_at(asked, mujoco.MjData(m))


def test_the_recipe_of_cuda_gives_the_same_bits_in_any_order():
    """Cloth that bends, over a plane: CUDA's stages on the CPU, threads forwards and backwards."""
    m = model(scene(2, GEOMS["plane"], inside=BEND, option='solver="CG"'))
    found = ends_in_any_order(m)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[1], found[2])


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["CG", "Newton"])
def test_kernels_compile_for_hopper(solver):
    m = model(scene(2, GEOMS["sphere"], inside=BEND, option=f'solver="{solver}"'))
    engine = StagedEngine(m, 1, device="cpu", cuda=True)
    in_lanes = [tuple(run.stages) for run in plan(engine.recipes["step"]) if run.stages[0].lanes]
    assert in_lanes
    for stages in in_lanes:
        assert stack(compile_kernel(lane_kernel(stages))) < 4096, "Model and Data must not be copied to each thread"


