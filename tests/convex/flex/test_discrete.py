"""Elastic flexes under the discrete integrator: their stiffness is part of the metric that a step is solved in."""

import mujoco
import numpy as np
import pytest

from kinema.compile import compile_model

from .scenes import EDGES, GEOMS, disturbed, engine_at, model, off, scene

OPTION = 'integrator="discrete" solver="{}"'
PLATE = '<elasticity young="3e6" poisson=".2" damping=".001" thickness=".02" elastic2d="both"/>'
BLOCK = '<elasticity young="2e6" poisson=".2" damping=".002"/>'
CELLS = """<flexcomp name="soft" type="grid" count="4 4 3" dim="3" spacing=".05 .05 .05" pos="0 0 .06" radius=".01"
  mass="1" dof="{}"><elasticity young="2e6" poisson=".2" damping=".002"/><contact selfcollide="none"/>{}</flexcomp>"""
PLANE = GEOMS["plane"]


def agree(text: str, steps: int = 10) -> mujoco.MjData:
    """Unconstrained and constrained acceleration and forces are MuJoCo's, and so are ten steps."""
    m = model(text)
    d = disturbed(m, steps)
    engine = engine_at(m, d)
    for name, limit in {"qacc_smooth": 5e-4, "qacc": 1e-3, "qfrc_constraint": 2e-3}.items():
        assert off(engine.read(name)[0], getattr(d, name)) < limit, name
    assert int(engine.read("nefc")[0]) == d.nefc
    engine.step(10)
    for _ in range(10):
        mujoco.mj_step(m, d)
    assert off(engine.read("qpos")[0], d.qpos) < 1e-3
    return d


@pytest.mark.parametrize("solver", ["Newton", "CG"])
@pytest.mark.parametrize(("dim", "inside"), [(2, PLATE), (3, BLOCK), (2, EDGES)])
def test_elements_and_hinges(dim, inside, solver):
    d = agree(scene(dim, PLANE, inside=inside, option=OPTION.format(solver) + ' tolerance="1e-10"'))
    assert d.ncon > 0


@pytest.mark.parametrize("dof", ["trilinear", "quadratic"])
def test_cells(dof):
    option = OPTION.format("Newton")
    d = agree(f"<mujoco><option {option}/><worldbody>{PLANE}{CELLS.format(dof, '')}</worldbody></mujoco>")
    assert d.ncon > 0


@pytest.mark.parametrize("inside", [PLATE, EDGES])
def test_a_fluid(inside):
    """Drag on the bodies that vertices are, and on a ball among them: its slopes are in the metric too."""
    option = OPTION.format("Newton") + ' density="30" viscosity=".5" wind="1 2 0" tolerance="1e-10"'
    ball = '<body pos=".02 .03 .3"><freejoint/><geom type="ellipsoid" size=".05 .1 .07" fluidshape="ellipsoid"/></body>'
    d = agree(scene(2, ball + PLANE, inside=inside, option=option))
    assert np.abs(d.qfrc_fluid[6:]).max() > 1e-3 < np.abs(d.qfrc_fluid[:6]).max()


def test_a_flex_held_by_a_joint():
    """Nodes and vertices that a moving body holds couple its dofs with theirs."""
    held = CELLS.format("trilinear", '<pin id="0 2 4 6"/>')
    text = f"""<mujoco><option {OPTION.format("Newton")}/><worldbody><body name="arm" pos="0 0 1"><joint axis="0 1 0"/>
      <geom size=".05" mass="1"/>{held}</body></worldbody></mujoco>"""
    agree(text)


def test_stiff_plates_do_not_blow_up():
    """A step that Euler could not take: the stiffness of a thick plate, 0.01 s long."""
    text = scene(2, PLANE, inside=PLATE, option=OPTION.format("Newton"), height=0.03).replace("0.002", "0.01")
    m = model(text)
    engine = engine_at(m, mujoco.MjData(m))
    engine.step(300)
    assert np.abs(engine.read("qvel")[0]).max() < 0.1
    assert not np.any(engine.read("status"))


@pytest.mark.parametrize("inside", [PLATE, EDGES])
def test_inverse_dynamics(inside):
    """Forces that go with an acceleration: rows are regularized in the metric there too, though they list columns."""
    m = model(scene(2, PLANE, inside=inside, option=OPTION.format("Newton") + ' tolerance="1e-10"'))
    d = disturbed(m, 10)
    engine = engine_at(m, d)
    d.qacc[:] = (d.qacc + np.random.default_rng(0).standard_normal(m.nv)).astype(np.float32)
    engine.write("qacc", d.qacc[None].astype(np.float32))
    mujoco.mj_inverse(m, d)
    engine.inverse()
    assert d.nefc > 0 and np.abs(d.qfrc_inverse).max() > 1e-2
    for name in ("qfrc_constraint", "qfrc_inverse"):
        assert off(engine.read(name)[0], getattr(d, name)) < 1e-3, name


@pytest.mark.parametrize("kind", ["bend", "both"])
def test_hinges_of_negative_stiffness_are_not_in_the_metric(kind):
    """Where triangles are obtuse. Their force is there as ever; the factor that the model has leaves them out too."""
    text = f"""<mujoco><option integrator="discrete" timestep=".004"/><worldbody>
      <flexcomp name="f" type="cylinder" dim="2" radius=".005" mass=".25" count="3 4 4" spacing=".068 .053 .054"
        quat=".157 -.292 1.094 -.833"><elasticity young="1e4" poisson=".33" thickness=".0066" elastic2d="{kind}"/>
      <contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""
    m = model(text)
    form = m.flex_bending[m.flex_bendingadr[0] :].reshape(-1, 17)[:, :16].reshape(-1, 4, 4)
    assert (np.trace(form, axis1=1, axis2=2) < 0).any()
    assert np.allclose(compile_model(text).efm0_L, m.efm0_L, atol=1e-9)
    d = disturbed(m, 3, 0.1)
    assert off(engine_at(m, d).read("qacc_smooth")[0], d.qacc_smooth) < 1e-5
