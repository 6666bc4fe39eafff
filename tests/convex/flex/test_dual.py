"""Projected Gauss-Seidel and the no-slip pass among flexes, as MuJoCo has them."""

import mujoco
import numpy as np
import pytest

from .scenes import GEOMS, disturbed, engine_at, model, off, scene

ARM = """<body pos=".3 .1 .3"><joint axis="0 1 0" frictionloss=".2" stiffness="3" damping=".4"/>
  <geom type="capsule" size=".03" fromto="0 0 0 -.3 0 -.28"/>
  <body pos="-.3 0 -.28"><joint axis="0 1 0" range="-10 10"/><geom size=".04" pos="0 0 -.03"/></body></body>"""


PGS = 'solver="PGS" iterations="60" tolerance="0"'


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("option", [PGS, 'noslip_iterations="5"', f'{PGS} integrator="discrete"',
                                    'noslip_iterations="5" integrator="discrete"'])  # fmt: skip
def test_forces_are_mujocos(option, cone):
    """Cloth with an arm lying on it: the same forces after as many iterations, from the same start."""
    m = model(scene(2, GEOMS["plane"] + ARM, option=f'{option} cone="{cone}"', height=0.005))
    d = disturbed(m, 30)
    engine = engine_at(m, d)
    assert d.ncon > 10 and int(engine.read("nefc")[0]) == d.nefc
    assert abs(int(engine.read("solver_niter")[0]) - np.max(d.solver_niter)) <= 1
    for name, limit in {"qacc": 2e-3, "qfrc_constraint": 2e-3}.items():
        assert off(engine.read(name)[0], getattr(d, name)) < limit, name
    plain = engine_at(model(scene(2, GEOMS["plane"] + ARM, option=f'cone="{cone}"', height=0.005)), d)
    assert off(plain.read("qacc")[0], d.qacc) > 1e-3  # it makes a difference


def test_nothing_slips():
    """A sheet on a slope: with the pass it stays where it lies."""
    slope = '<geom type="plane" size="3 3 .1" euler="15 0 0"/>'
    m = model(scene(2, slope, option='noslip_iterations="20" iterations="50"'))
    d = mujoco.MjData(m)
    engine = engine_at(m, d)
    engine.reset()
    for _ in range(150):
        mujoco.mj_step(m, d)
    engine.step(150)
    assert d.ncon > 0 and np.abs(engine.read("qpos")[0] - d.qpos).max() < 1e-4


@pytest.mark.parametrize("condim", [3, 4, 6])
@pytest.mark.parametrize("option", ['solver="PGS" iterations="3"', 'iterations="1" noslip_iterations="2"'])
def test_friction_about_which_nothing_turns(option, condim):
    """Vertices do not turn, so rows of torsion have no columns; of light bodies MuJoCo counts them as regular."""
    contact = f'condim="{condim}" friction="1 .005 .0001" selfcollide="none"'
    option = f'{option} cone="elliptic" impratio="8"'
    m = model(scene(2, GEOMS["plane"], option=option, contact=contact, height=0.005).replace('mass="1"', 'mass=".02"'))
    d = disturbed(m, 4)
    engine = engine_at(m, d)
    assert d.ncon > 3 and set(d.contact.dim.tolist()) == {condim}
    assert off(engine.read("qacc")[0], d.qacc) < 1e-3
