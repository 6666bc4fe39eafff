"""Stable Neo-Hookean solids: forces, damping, metric and yield as MuJoCo has them. Only specs can ask for them."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.engine import Engine
from kinema.convex.flex.singular import positive_part, singular_frames
from kinema.errors import BuildError
from kinema.mujoco_enums import Integrator

from .scenes import GEOMS, disturbed, engine_at, off, scene, solid

JELLY = '<elasticity young="2e4" poisson=".3" damping=".005"/>'
CLAY = '<elasticity young="5e3" poisson=".3" damping=".002" yield=".01"/>'
RUBBER = '<elasticity young="2e4" poisson=".45" damping=".01"/>'
ARM = """<body name="arm" pos="0 0 .5"><joint axis="0 1 0" damping=".1"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>{}</body>"""
PINS = '<pin id="0 1 2 9"/>'
SCENES = {
    "hanging": (JELLY + PINS, ""),
    "dropped": (JELLY, GEOMS["plane"]),
    "struck": (RUBBER, GEOMS["plane"] + GEOMS["sphere"].replace("-.14", ".4")),
    "yielding": (CLAY + PINS, ""),
    "yielding on a plane": (CLAY, GEOMS["plane"]),
}


def text(name: str, solver: str = "Newton") -> str:
    inside, geom = SCENES[name]
    return scene(3, geom, inside=inside, option=f'integrator="discrete" solver="{solver}" tolerance="1e-10"')


FORCES = {"qfrc_spring": 3e-4, "qfrc_damper": 3e-4, "qfrc_passive": 3e-4, "qacc_smooth": 5e-4, "qacc": 1e-3}


@pytest.mark.parametrize("solver", ["Newton", "CG"])
@pytest.mark.parametrize("name", SCENES)
def test_forces_and_rollouts(name, solver):
    """Shaken, a solid pulls and moves as MuJoCo's, after 1, 10 and 100 steps."""
    m = solid(text(name, solver))
    d = disturbed(m, 40, 0.2)
    assert np.abs(d.qfrc_spring).max() > 0.1 and np.abs(d.qfrc_damper).max() > 1e-2
    assert not m.nplastic or np.abs(d.plastic).max() > 1e-5  # it has yielded
    engine = engine_at(m, d)
    for field, limit in FORCES.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field
    done, start = 0, d.qpos.copy()
    for steps in (1, 10, 100):
        engine.step(steps - done)
        for _ in range(steps - done):
            mujoco.mj_step(m, d)
        done = steps
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-3 * np.abs(d.qpos).max(), steps
        if m.nplastic:
            assert off(engine.read("plastic")[0], d.plastic) < 1e-3, steps
    assert np.abs(d.qpos - start).max() > 1e-3


@pytest.mark.parametrize("kept", [0.0, 0.1])
@pytest.mark.parametrize("size", [0.02, 0.1])
def test_forces_of_elements_turned_inside_out(size, kept):
    """Strains of any size, some inverted: stiffness is MuJoCo's where its negative eigenvalues are left out."""
    m = solid(text("yielding" if kept else "hanging"))
    d = mujoco.MjData(m)
    draw = np.random.default_rng(0)
    d.qpos[:] = (size * draw.standard_normal(m.nq)).astype(np.float32)
    d.qvel[:] = draw.standard_normal(m.nv).astype(np.float32)
    d.plastic[:] = (kept * 0.01 * draw.standard_normal(m.nplastic)).astype(np.float32)
    mujoco.mj_forward(m, d)
    corner = d.flexvert_xpos[m.flex_elem.reshape(-1, 4)]
    sign = np.linalg.det(corner[:, 1:] - corner[:, :1]) * m.flex_stiffness.reshape(-1, 24)[:, 23]
    assert sign.min() < (0.5 if size < 0.05 else -0.1)
    engine = engine_at(m, d)
    for field, limit in {"qfrc_spring": 1e-5, "qfrc_damper": 2e-4, "qacc_smooth": 5e-4}.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field


def test_a_squashed_block_recovers():
    """Every vertex in one plane: where Saint Venant-Kirchhoff's force vanishes, this one does not."""
    m = solid(text("dropped").replace('integrator="discrete"', 'integrator="discrete" gravity="0 0 0"'))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    d.qpos[2::3] = (-0.99 * (d.flexvert_xpos[:, 2] - 0.1)).astype(np.float32)
    d.qvel[:] = (1e-3 * np.random.default_rng(0).standard_normal(m.nv)).astype(np.float32)
    engine = engine_at(m, d)
    for steps in (1, 9, 90):
        engine.step(steps)
        for _ in range(steps):
            mujoco.mj_step(m, d)
        assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-3, steps
    corner = d.flexvert_xpos[m.flex_elem.reshape(-1, 4)]
    volume = np.linalg.det(corner[:, 1:] - corner[:, :1]) * m.flex_stiffness.reshape(-1, 24)[:, 23]
    assert volume.min() > 0.5


def test_a_solid_held_by_a_joint():
    """What a moving body holds couples its dof with those of vertices."""
    flex = """<flexcomp name="soft" type="grid" dim="3" count="3 3 2" spacing=".1 .1 .1" pos=".4 0 0" radius=".01"
      mass="1">{}<pin id="0 1 2 3"/><contact selfcollide="none" contype="0" conaffinity="0"/></flexcomp>"""
    for solver in ("Newton", "CG"):
        m = solid(f"""<mujoco><option integrator="discrete" solver="{solver}" tolerance="1e-10"/><worldbody>
          {ARM.format(flex.format(JELLY))}</worldbody></mujoco>""")
        d = disturbed(m, 20, 0.05)
        engine = engine_at(m, d)
        for field, limit in FORCES.items():
            assert off(engine.read(field)[0], getattr(d, field)) < limit, field


def test_materials_side_by_side():
    """A clay of each kind, a plate that folds, cells and squares: each finds its own numbers and state."""
    loose = '<contact selfcollide="none" contype="0" conaffinity="0"/>'
    plate = '<elasticity young="3e4" poisson=".2" damping=".001" thickness=".02" elastic2d="both" yield=".001"/>'
    foil = '<elasticity young="5e3" poisson=".2" damping=".01" thickness=".02" elastic2d="stretch" yield=".001"/>'
    grid = 'type="grid" spacing=".1 .1 .1" radius=".01" mass="1"'
    spec = mujoco.MjSpec.from_string(f"""<mujoco><option timestep=".002" integrator="discrete" tolerance="1e-10"/>
      <worldbody>
      <flexcomp name="cells" {grid} dim="3" count="3 3 3" dof="trilinear">{CLAY}{loose}<pin id="0 1"/></flexcomp>
      <flexcomp name="plate" {grid} dim="2" count="4 3 1">{plate}{loose}<pin id="0 1"/></flexcomp>
      <flexcomp name="plain" {grid} dim="3" count="3 2 2">{CLAY}{loose}<pin id="0 1"/></flexcomp>
      <flexcomp name="stable" {grid} dim="3" count="3 2 2">{CLAY}{loose}<pin id="0 1"/></flexcomp>
      <flexcomp name="box" type="box" spacing=".1 .1 .1" radius=".01" mass="1" dim="2" count="3 3 3" dof="trilinear">
        {foil}{loose}<pin id="0 1"/></flexcomp></worldbody></mujoco>""")
    spec.flex("stable").elastic3d = 1
    m = spec.compile()
    d = disturbed(m, 30, 0.2)
    parts = np.split(np.arange(m.nplastic), np.sort(m.flex_plasticadr)[1:])
    assert all(np.abs(d.plastic[part]).max() > 1e-5 for part in parts)
    engine = engine_at(m, d)
    for field, limit in FORCES.items():
        assert off(engine.read(field)[0], getattr(d, field)) < limit, field
    engine.step(50)
    for _ in range(50):
        mujoco.mj_step(m, d)
    for part in parts:
        assert off(engine.read("plastic")[0, part], d.plastic[part]) < 1e-3
    assert np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-3 * np.abs(d.qpos).max()


def test_other_integrators_are_refused():
    """As in MuJoCo, by the flex's name."""
    m = solid(text("hanging"))
    m.opt.integrator = Integrator.EULER
    try:
        with pytest.raises(BuildError, match=r"'soft'.*discrete"):
            Engine(m, 1, device="cpu")
    finally:
        m.opt.integrator = Integrator.DISCRETE


@wp.kernel
def decompose(
    f: wp.array(dtype=wp.mat33), u: wp.array(dtype=wp.mat33), s: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.mat33),
    positive: wp.array(dtype=wp.mat33),
):  # fmt: skip
    i = wp.tid()
    one, values, other = singular_frames(f[i])
    u[i] = one
    s[i] = values
    v[i] = other
    positive[i] = positive_part(f[i] + wp.transpose(f[i]))


def test_singular_values_and_positive_parts():
    """Of matrices in general, of turns, of flat, thin and vanishing ones: NumPy's, in rotations."""
    draw = np.random.default_rng(0)
    f = draw.standard_normal((64, 3, 3))
    f[:8] = np.linalg.qr(f[:8])[0]
    f[8:16, :, 2] = f[8:16, :, 0] + f[8:16, :, 1]
    f[16:24] = f[16:24, :, :1] * f[16:24, :1]
    f[24], f[25] = 0.0, np.diag([1.0, 2.0, 3.0])
    f[32:40] *= 1e-6
    f = f.astype(np.float32)
    out = [wp.zeros(64, dtype=kind, device="cpu") for kind in (wp.mat33, wp.vec3, wp.mat33, wp.mat33)]
    wp.launch(decompose, 64, [wp.array(f, dtype=wp.mat33, device="cpu"), *out], device="cpu")
    u, s, v, positive = (x.numpy().astype(float) for x in out)
    scale = np.abs(f).max(axis=(1, 2), keepdims=True) + 1e-30
    assert np.max(np.abs((u * s[:, None]) @ v.transpose(0, 2, 1) - f) / scale) < 1e-5
    for turn in (u, v):
        assert np.allclose(turn @ turn.transpose(0, 2, 1), np.eye(3), atol=1e-5)
        assert np.allclose(np.linalg.det(turn), 1.0, atol=1e-5)
    assert np.max(np.abs(np.abs(s) - np.linalg.svd(f.astype(float))[1]) / scale[:, 0]) < 1e-5
    value, vector = np.linalg.eigh(f.astype(float) + f.transpose(0, 2, 1))
    expected = (vector * np.maximum(value, 0)[:, None]) @ vector.transpose(0, 2, 1)
    assert np.max(np.abs(positive - expected) / scale) < 1e-5
