"""Whole steps as CUDA takes them, threads as fibres on the CPU (cuda/fibres.py), beside the CPU's own.

Every kernel of a step: cohorts, rows by lanes, islands by groups of their size, detection by pairs and octets.
What a GPU computes, but for how it adds and how many blocks it runs at a time, is seen here without one.
"""

import mujoco
import numpy as np
import pytest

from kinema.convex.bundle import fields_of
from kinema.convex.data import ContactRows, Dual, FlexNear, Islands, Search
from kinema.convex.engine import Engine

from .cuda.emulate import COMPILER
from .cuda.fibres import FibreEngine, Fibres
from .test_cuda_solver import BOXES, FLEXES, arm

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")

WORLDS, SETTLED, STEPS = 3, 80, 12
STONE = " ".join(f"{x:.3f}" for x in 0.1 * np.random.default_rng(0).normal(size=36))
ROBOTS = f"""
<mujoco>
  <option integrator="implicitfast" cone="elliptic" timestep=".003" noslip_iterations="2"/>
  <asset>
    <hfield name="hills" nrow="8" ncol="8" size="2 2 .1 .1" elevation="{' '.join(str(k * k % 7) for k in range(64))}"/>
    <mesh name="stone" vertex="{STONE}"/>
  </asset>
  <worldbody>
    <geom type="plane" size="5 5 .1" pos="0 0 -.05"/><geom type="hfield" hfield="hills" pos="0 4 -.1"/>
    {arm(5, "0 -2 .05", 0.1, limbs=6).replace('<body ', '<body name="star" ', 1)}
    {arm(3, "0 3.5 .2", 0.0).replace('<body ', '<body name="hiker" ', 1)}
    {BOXES}
    <body pos="2 2 .1"><freejoint/><geom type="mesh" mesh="stone"/></body>
    <body pos="2 2.05 .3"><freejoint/><geom type="ellipsoid" size=".1 .08 .06"/></body>
    <body pos="3 0 .5"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
      <site name="tip" pos=".3 0 .06"/>
      <body pos=".3 0 0"><joint name="ball" type="ball" limited="true" range="0 20"/>
        <geom type="cylinder" size=".05 .1"/><site name="end" pos="0 0 .12"/></body></body>
    <site name="root" pos="2.9 0 .6"/>
    <body pos="3.15 .2 .62"><geom name="pulley" type="cylinder" size=".03 .1" euler="90 0 0"/></body>
  </worldbody>
  <tendon>
    <spatial name="cord" stiffness="30" damping="1" limited="true" range="0 .4">
      <site site="root"/><geom geom="pulley"/><site site="tip"/></spatial>
  </tendon>
  <equality><connect body1="star" body2="hiker" anchor="0 0 0" active="false"/></equality>
  <actuator><position joint="hinge" kp="20" kv="1"/><motor tendon="cord" gear="3"/></actuator>
  <sensor><jointpos joint="hinge"/><tendonvel tendon="cord"/><framelinacc objtype="site" objname="end"/>
    <force site="end"/><subtreeangmom body="star"/><gyro site="tip"/></sensor>
</mujoco>"""
MODELS = {"robots": ROBOTS, **FLEXES}
READ = ("qpos", "qvel", "sensordata", "efc_force")


def ended(engine: Engine, m: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Numbers of worlds after some steps, each from another speed, where things have come to touch."""
    rng = np.random.default_rng(1)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, SETTLED)
    engine.write("qpos", d.qpos)
    engine.write("qvel", d.qvel + 0.5 * rng.normal(size=(WORLDS, m.nv)))
    if m.nu:
        engine.write("ctrl", 0.3 * rng.normal(size=(WORLDS, m.nu)))
    engine.step(STEPS)
    assert not np.any(engine.read("status"))
    rows = engine.read("nefc").max()
    found = {name: engine.read(name).copy() for name in READ}
    return found | {"efc_force": found["efc_force"][:, :rows], "nefc": engine.read("nefc").copy()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_steps_of_cuda_are_those_of_the_cpu(name: str, tmp_path):
    m = mujoco.MjModel.from_xml_string(MODELS[name])
    expected = ended(Engine(m, WORLDS, device="cpu"), m)
    assert expected["nefc"].min() > 10
    fibres, runs = Fibres(tmp_path, level=0), []
    for fibres.backward in (False, True):
        runs.append(ended(FibreEngine(m, WORLDS, fibres=fibres), m))
    found, again = runs
    assert np.array_equal(found["nefc"], expected["nefc"])
    for key, near in {"qpos": 1e-5, "qvel": 1e-3, "sensordata": 1e-2}.items():
        scale = np.abs(expected[key]).max(initial=1.0)
        np.testing.assert_allclose(found[key], expected[key], atol=near * scale, err_msg=key)
    for key in found:
        rows = np.arange(found[key].shape[1])[None] < found["nefc"].reshape(-1, 1) if key == "efc_force" else ...
        assert np.array_equal(found[key][rows], again[key][rows]), f"{key} depends on the order of threads"


LAID = """
<mujoco>
  <option solver="CG"/>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".6 .6 .1" mass="5"/></body>
    <flexcomp name="cloth" type="grid" dim="2" count="8 8 1" spacing=".06 .06 .06" radius=".01" mass=".3"
        pos="0 0 .2095">
      <edge equality="true"/><contact selfcollide="none"/></flexcomp>
  </worldbody>
</mujoco>"""
MANY = 512  # entries of a dof that all threads place together (gather_rows.cpp)


@pytest.mark.slow
def test_a_body_that_a_whole_cloth_lies_on(tmp_path):
    """Its dofs are in the rows of all contacts: the longest lists of entries."""
    m = mujoco.MjModel.from_xml_string(LAID)
    fibres, found = Fibres(tmp_path, level=0), []
    for backward in (None, False, True):
        fibres.backward = bool(backward)
        engine = Engine(m, 1, device="cpu") if backward is None else FibreEngine(m, 1, fibres=fibres)
        engine.write("qvel", 0.05 * np.random.default_rng(0).normal(size=m.nv))
        engine.step(2)
        found.append(engine.read("qvel").copy())
        geoms = engine.read("contact_geom")[0, : engine.read("ncon")[0]]
        assert 4 * (geoms == 1).any(axis=-1).sum() > MANY
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_array_equal(found[1], found[2])


def poison(engine: Engine) -> None:
    """Leave nonsense in whatever a step has to write before it reads it."""
    for bundle in (Search, Dual, Islands, FlexNear, ContactRows):
        for field in fields_of(bundle).values():
            array = engine.layout.arrays[field.name]
            if array.size and field.name != "contact_most":  # which tells how much room is needed
                array.fill_(-7777)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_read_of_what_an_earlier_step_left(name: str, tmp_path):
    m = mujoco.MjModel.from_xml_string(MODELS[name])
    fibres = Fibres(tmp_path, level=0)
    clean, used = (FibreEngine(m, WORLDS, fibres=fibres) for _ in range(2))
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, SETTLED)
    velocity = d.qvel + 0.5 * np.random.default_rng(1).normal(size=(WORLDS, m.nv))
    for engine in (clean, used):
        engine.write("qpos", d.qpos)
        engine.write("qvel", velocity)
    for _ in range(4):
        poison(used)
        for engine in (clean, used):
            engine.step()
    assert clean.read("nefc").min() > 10
    for field in ("qpos", "qvel", "qacc", "qfrc_constraint", "ncon", "nefc"):
        np.testing.assert_array_equal(clean.read(field), used.read(field), err_msg=field)


SLEEPERS = """
<mujoco>
  <option timestep=".004" sleep_tolerance=".05"><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .1" sleep="init"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="0 2 .1" sleep="init"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="0 2 .3" sleep="init"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="2 0 .0999"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body pos="-.35 0 .1"><freejoint/><geom size=".1" density="3000"/></body>
    <body pos="3 0 .3" sleep="never"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.slow
def test_trees_sleep_and_wake_as_in_mujoco(tmp_path):
    """One is hit by a ball, two are left alone, one comes to rest: kernels over what is awake."""
    m = mujoco.MjModel.from_xml_string(SLEEPERS)
    fibres, history = Fibres(tmp_path, level=0), []
    for fibres.backward in (False, True):
        engine, d = FibreEngine(m, WORLDS, fibres=fibres), mujoco.MjData(m)
        d.qvel[24] = 3.0
        engine.write("qvel", d.qvel)
        for _ in range(40):
            engine.step()
            mujoco.mj_step(m, d)
            asleep = d.tree_asleep >= 0
            assert np.array_equal(engine.read("tree_asleep")[-1] >= 0, asleep)
            np.testing.assert_allclose(engine.read("qpos")[-1], d.qpos, atol=2e-4)
            history.append(asleep)
    first, last = history[0], history[-1]
    assert first.tolist() == [True, True, True, False, False, False]
    assert last.tolist() == [False, True, True, True, False, False]
