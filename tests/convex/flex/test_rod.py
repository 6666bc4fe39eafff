"""Elastic rods: bending and twist as MuJoCo has them, under every integrator, and as theory does."""

import mujoco
import numpy as np
import pytest

from kinema.convex.stage import Stage, cohort_kernel
from tests.conformance.staged import StagedEngine, ends_in_any_order
from tests.convex.hopper import compile_kernel, stack
from tests.convex.stage_harness import dense_jacobian

from .scenes import disturbed, engine_at, model, off

EDGES = '<edge equality="true"/>'
SOFT = '<elasticity young="1e6" poisson=".3" damping=".002"/>'
STIFF = '<elasticity young="1e8" poisson=".3" damping=".001"/>'
BOX = '<elasticity young="1e6" poisson=".3" damping=".002" section="box" sectionsize="{}"/>'
ANGLES = np.linspace(0, 2, 7)
ARC = " ".join(f"{0.3 * np.cos(a):.6f} {0.3 * np.sin(a):.6f} {0.02 * k:.6f}" for k, a in enumerate(ANGLES))
"""Points of a coil: bent, and turning out of every plane."""


def rod(inside: str, option: str = "", around: str = "{}", kind: str = "") -> str:
    """A rod of six segments."""
    step = 0.005 if "discrete" in option else 0.0005
    kind = kind or 'type="grid" dim="1" count="7 1 1" spacing=".05 .05 .05"'
    radius = "" if "box" in inside else 'radius=".01"'
    comp = f"""<flexcomp name="rod" {kind} pos="0 0 .3" {radius} mass=".2">{inside}
      <contact selfcollide="none" contype="0" conaffinity="0"/></flexcomp>"""
    return f'<mujoco><option timestep="{step}" {option}/><worldbody>{around.format(comp)}</worldbody></mujoco>'


COIL = f'type="direct" dim="1" point="{ARC}" element="0 1 1 2 2 3 3 4 4 5 5 6"'
RING = 'type="circle" dim="1" count="8 1 1" spacing=".1 .1 .1"'
ARM = '<body name="arm" euler="10 20 30"><joint axis="1 .5 .2"/><geom size=".05" mass="1"/>{}</body>'
CASES = {
    "free": (SOFT, "{}", ""),
    "pinned": (SOFT + '<pin id="0"/>', "{}", ""),
    "clamped": (SOFT + '<pin id="0 1"/>', "{}", ""),
    "both": (SOFT + '<pin id="0 1 5 6"/>', "{}", ""),
    "held": (SOFT + '<pin id="0 1"/>', ARM, ""),
    "tail": (SOFT + '<pin id="5 6"/>', ARM, ""),
    "coil": (SOFT, "{}", COIL),
    "ring": (SOFT, "{}", RING),
    "box": (BOX.format(".004 .01"), "{}", ""),
    "flat": (BOX.format(".01 .004"), "{}", COIL),
}


@pytest.mark.parametrize("name", CASES)
def test_forces(name):
    """Springs and dampers, of vertices, segments and what holds them; the frames are carried along."""
    inside, around, kind = CASES[name]
    m = model(rod(EDGES + inside, around=around, kind=kind))
    d = disturbed(m, 20, 0.1)
    d.qpos += 0.003 * np.random.default_rng(1).standard_normal(m.nq)
    d.qpos[:] = d.qpos.astype(np.float32)
    mujoco.mj_forward(m, d)
    engine = engine_at(m, d)
    assert np.abs(d.qfrc_spring).max() > 1e-3 and np.abs(d.qfrc_damper).max() > 1e-4
    for field, limit in {"qfrc_spring": 1e-4, "qfrc_damper": 1e-4, "qacc_smooth": 2e-4}.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field


@pytest.mark.parametrize("option", ['integrator="Euler"', 'integrator="RK4"', 'integrator="discrete"'])
@pytest.mark.parametrize("name", ["free", "held", "coil", "ring", "flat"])
def test_rollouts(name, option):
    """After 1, 10 and 100 steps a bent and twisted rod is where MuJoCo's is."""
    inside, around, kind = CASES[name]
    m = model(rod(EDGES + inside, f'{option} solver="Newton" tolerance="1e-10"', around, kind))
    d = disturbed(m, 0, 0.05)
    engine = engine_at(m, d)
    done = 0
    for steps in (1, 10, 100):
        engine.step(steps - done)
        for _ in range(steps - done):
            mujoco.mj_step(m, d)
        done = steps
        moved = np.abs(d.qpos - m.qpos0).max()
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-4 * moved, steps
    assert off(engine.read("plastic")[0], d.plastic) < 1e-3


@pytest.mark.parametrize("solver", ["Newton", "CG"])
@pytest.mark.parametrize("name", CASES)
def test_discrete(name, solver):
    """Bending and twist are part of the metric."""
    inside, around, kind = CASES[name]
    inside = inside.replace("1e6", "1e7")
    m = model(rod(EDGES + inside, f'integrator="discrete" solver="{solver}" tolerance="1e-12"', around, kind))
    d = disturbed(m, 20, 0.1)
    engine = engine_at(m, d)
    for field, limit in {"qfrc_spring": 1e-4, "qacc_smooth": 5e-4, "qacc": 1e-3}.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field


TOUCHES = {
    "plane": '<geom type="plane" size="3 3 .1" euler="3 5 0" pos="0 0 .292"/>',
    "sphere": '<body pos=".02 .005 .255"><freejoint/><geom type="sphere" size=".04"/></body>',
    "capsule": '<body pos=".02 .005 .263" euler="80 10 0"><freejoint/><geom type="capsule" size=".03 .05"/></body>',
    "box": '<body pos=".02 .005 .251" euler="8 10 0"><freejoint/><geom type="box" size=".06 .05 .04"/></body>',
}


@pytest.mark.parametrize("geom", TOUCHES)
@pytest.mark.parametrize("integrator", ["Euler", "discrete"])
def test_a_round_rod_rolls(geom, integrator):
    """Friction turns the segments it touches: rows reach their hinges."""
    text = rod(EDGES + SOFT, f'integrator="{integrator}" solver="Newton" tolerance="1e-12"', TOUCHES[geom] + "{}")
    text = text.replace('contype="0" conaffinity="0"', 'condim="6"').replace('timestep="0.005"', 'timestep="0.001"')
    m = model(text)
    d = disturbed(m, 3, 0.05)
    engine = engine_at(m, d)
    assert int(engine.read("nefc")[0]) == d.nefc > 6
    dense = np.zeros((d.nefc, m.nv))
    if mujoco.mj_isSparse(m):
        mujoco.mju_sparse2dense(dense, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
    else:
        dense[:] = d.efc_J.reshape(dense.shape)
    hinges = [m.jnt_dofadr[j] for j in range(m.njnt) if "twist" in m.joint(j).name]
    assert d.ncon > 0 and np.abs(dense[:, hinges]).max() > 1e-3
    assert off(engine.in_use("efc_J")[0], dense) < 1e-4
    for field, limit in {"efc_vel": 1e-4, "efc_D": 1e-4, "qacc": 1e-3}.items():
        ours = engine.read(field)[0]
        assert off(ours[: d.nefc] if field[:3] == "efc" else ours, getattr(d, field)) < limit, field


LONG = """<mujoco><option timestep=".02" integrator="discrete" solver="Newton" gravity="{}"/><worldbody>
  <flexcomp name="rod" type="grid" dim="1" count="22 1 1" spacing=".05 .05 .05" pos="0 0 2" radius=".01" mass=".2">
    <edge equality="true"/><elasticity young="1e9" poisson=".25" damping=".2"/><pin id="0 1"/>
    <contact selfcollide="none" contype="0" conaffinity="0"/></flexcomp></worldbody></mujoco>"""
"""Clamped in the middle of its first segment, 1 m from its tip and half a segment more."""


def at_rest(gravity: str, torque: float = 0.0) -> tuple[mujoco.MjModel, np.ndarray]:
    """Where the rod comes to rest."""
    m = model(LONG.format(gravity))
    d = mujoco.MjData(m)
    engine = engine_at(m, d)
    if torque:
        applied = np.zeros((1, m.nv), np.float32)
        applied[0, m.joint("rod_twist").dofadr[0]] = torque
        engine.write("qfrc_applied", applied)
    engine.step(400)
    assert np.abs(engine.read("qvel")[0]).max() < 1e-4
    return m, engine.read("qpos")[0]


def test_a_cantilever_bends_by_its_weight_as_beams_do():
    """Euler and Bernoulli: a load P at a bends the tip by P a^2 (3 L - a) / 6 E I; loads are the masses of vertices."""
    m, q = at_rest("0 0 -.98")
    down = -q[m.jnt_qposadr[m.body("rod_21").jntadr[0] + 2]]
    bending = 1e9 * np.pi / 4 * 0.01**4
    a = 0.025 + 0.05 * np.arange(1, 21)
    tip = np.sum(0.98 * m.body("rod_5").mass * a**2 * (3 * a[-1] - a)) / (6 * bending)
    assert tip > 1e-3 and abs(down / tip - 1) < 0.02


def test_a_torque_twists_a_rod_as_theory_has_it():
    """Saint-Venant: the angle grows by T / G J a length."""
    m, q = at_rest("0 0 0", 0.05)
    angle = q[m.joint("rod_twist").qposadr[0]]
    torsion = 1e9 / 2.5 * np.pi / 2 * 0.01**4
    assert abs(angle / (0.05 * 20 * 0.05 / torsion) - 1) < 0.02
    assert np.abs(q[: m.joint("rod_twist_1").qposadr[0]]).max() < 1e-4  # and does not bend it


def test_the_recipe_of_cuda_gives_the_same_bits_in_any_order():
    """A rod that an arm holds, discrete: CUDA's stages on the CPU, threads forwards and backwards."""
    m = model(rod(EDGES + SOFT + '<pin id="0 1"/>', 'integrator="discrete" solver="CG"', ARM))
    found = ends_in_any_order(m)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[1], found[2])


@pytest.mark.slow
def test_kernels_compile_for_hopper():
    m = model(rod(EDGES + SOFT + '<pin id="0 1"/>', 'integrator="discrete" solver="CG"', ARM))
    engine = StagedEngine(m, 1, device="cpu", cuda=True)
    own = {"chain_frames", "note_frames", "keep_frames", "rod_force", "turn_force", "clamp_force", "metric_turns",
           "metric_twists", "metric_flexes"}  # fmt: skip
    stages: list[Stage] = [stage for stage in engine.recipes["step"] if stage.func and stage.func.key in own]
    assert {stage.func.key for stage in stages} == own
    for stage in stages:
        assert stack(compile_kernel(cohort_kernel((stage,)))) < 4096, "Model and Data must not be copied to each thread"


def test_a_rod_in_a_fluid():
    """Bodies that twist have next to no mass, so their drag is 1e11 times all other forces, which count as well."""
    m = model("""<mujoco><option integrator="discrete" density="70"/><worldbody>
      <flexcomp name="rod" type="grid" dim="1" count="6 1 1" spacing=".05 .05 .05" radius=".018" mass=".3">
      <edge equality="true"/><elasticity young="1e4" damping=".005"/><contact selfcollide="none"/><pin range="0 1"/>
      </flexcomp></worldbody></mujoco>""")
    d = mujoco.MjData(m)
    d.qvel[:] = (0.3 * np.random.default_rng(0).standard_normal(m.nv)).astype(np.float32)
    mujoco.mj_forward(m, d)
    engine = engine_at(m, d)
    assert np.abs(d.qfrc_passive).max() > 1e9
    for name in ("qacc_smooth", "qacc"):
        assert off(engine.read(name)[0], d.qacc if name == "qacc" else d.qacc_smooth) < 1e-4, name


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_pinned_end_turns_with_its_segment(cone):
    """Where it touches a plane friction acts on the other end and on the twist, though the vertex itself is held.

    Rows of what is held have D = 1e15: noise of 1e-10 moves MuJoCo's own accelerations by several per cent.
    """
    text = rod(SOFT + EDGES + '<pin id="0"/>', f'cone="{cone}"').replace('contype="0" conaffinity="0"', "")
    ground = '<worldbody><geom type="plane" size="3 3 .1" pos="0 0 .295" euler="2 3 0"/>'
    m = model(text.replace("<worldbody>", ground))
    d = disturbed(m, 2, 0.1)
    engine = engine_at(m, d)
    held = [c for c in d.contact if c.vert[1] == 0]
    assert held and held[0].efc_address >= 0 and d.nefc == int(engine.read("nefc")[0])
    ours = engine.in_use("efc_J")[0, : d.nefc]
    assert np.allclose(ours, dense_jacobian(m, d), atol=1e-5)
    assert np.allclose(engine.array("efc_D").numpy()[0, : d.nefc], d.efc_D, rtol=1e-3)
