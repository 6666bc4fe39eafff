"""Derived parameters of worlds that differ, against MuJoCo's mj_setConst in each of them."""

import time

import mujoco
import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.compile.constants import derived_constants
from kinema.compile.constants.inertial import INERTIAL, inertial_constants
from kinema.simulation import Simulation
from kinema.simulation.recompute import DERIVED
from tests.simulation.models import ARM, LIMBS

WORLDS = 5


def changed(m, names, seed=0):
    """Random values of the fields for every world, near the model's."""
    rng = np.random.default_rng(seed)
    values = {}
    for name in names:
        base = np.asarray(getattr(m, name), dtype=float)
        scale = rng.uniform(0.5, 2.0, (WORLDS, *base.shape[:1], *[1] * (base.ndim - 1)))
        values[name] = base * scale + (rng.uniform(0, 0.1, (WORLDS, *base.shape)) if name != "body_mass" else 0)
        if name == "body_iquat":
            values[name] /= np.linalg.norm(values[name], axis=-1, keepdims=True)
        if name.startswith("body_"):
            fixed = np.asarray(m.body_dofnum) == 0  # the world, and what MuJoCo takes for simple
            values[name][:, fixed] = base[fixed]
    return values


def judged(values, world):
    m = mujoco.MjModel.from_xml_string(LIMBS)
    for name, rows in values.items():
        getattr(m, name)[:] = np.asarray(rows[world], np.float32)
    mujoco.mj_setConst(m, mujoco.MjData(m))
    return m


@pytest.mark.parametrize("names", [("body_mass",), INERTIAL, ("body_pos", "body_mass"), ("qpos0",)],
                         ids=["mass", "inertial", "geometry", "qpos0"])  # fmt: skip
def test_each_world_is_as_mujoco_has_it(names):
    sim = Simulation(LIMBS, worlds=WORLDS, device="cpu", threads=1)
    values = changed(sim.model, names)
    if "qpos0" in names:
        values["qpos0"] = np.tile(sim.model.qpos0, (WORLDS, 1))
        values["qpos0"][:, 7] = np.linspace(-0.5, 0.5, WORLDS)
    sim.expand(*names)
    for name, rows in values.items():
        setattr(sim.m, name, rows)
    sim.recompute()
    judges = [judged(values, world) for world in range(WORLDS)]
    for name in DERIVED:
        ours = np.asarray(sim.engine.read(name))
        theirs = np.stack([np.asarray(getattr(m, name)) for m in judges])
        np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=2e-5, atol=1e-6, err_msg=name)


def test_many_at_once_are_as_one_by_one():
    m = compile_model(LIMBS)
    values = changed(m, INERTIAL, seed=1)
    found = inertial_constants(m, values)
    for world in range(WORLDS):
        one = compile_model(LIMBS)
        one.arrays |= {name: rows[world] for name, rows in values.items()}
        expected = derived_constants(one)
        for name, rows in found.items():
            np.testing.assert_allclose(rows[world], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_what_nothing_follows_from_costs_nothing():
    sim = Simulation(ARM, worlds=2000, device="cpu", threads=1)
    sim.expand("gravity", "dof_damping")
    sim.m.opt.gravity = np.random.default_rng(0).normal(size=(2000, 3))
    sim.m.dof_damping = np.random.default_rng(0).uniform(size=(2000, 2))
    begin = time.perf_counter()
    sim.recompute()
    assert time.perf_counter() - begin < 2.0
    assert "dof_invweight0" not in sim.engine.layout.expanded


def test_masses_of_thousands_of_worlds():
    sim = Simulation(LIMBS, worlds=2000, device="cpu", threads=1)
    sim.expand("body_mass")
    sim.m.body_mass = sim.m.body_mass * np.random.default_rng(0).uniform(0.5, 2, (2000, 1))
    begin = time.perf_counter()
    sim.recompute()
    assert time.perf_counter() - begin < 10.0, "one by one it takes much longer"
    assert np.ptp(sim.engine.read("dof_invweight0"), axis=0).min() > 0


TOWEL = """<mujoco><worldbody><flexcomp name="towel" type="grid" dim="2" count="3 3 1" spacing=".05 .05 .05" pos="0 0 1"
  mass=".3"><edge equality="true"/><pin id="0"/></flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("name", ["body_mass", "body_pos"])
def test_edges_of_flexes_are_as_mujoco_has_them(name):
    sim = Simulation(TOWEL, worlds=3, device="cpu", threads=1)
    values = np.tile(np.asarray(getattr(sim.model, name), dtype=float), (3, *[1] * np.ndim(getattr(sim.model, name))))
    values[1, 4] *= 1.5
    values[2, 2:] *= np.linspace(0.5, 2.0, values.shape[1] - 2).reshape(-1, *[1] * (values.ndim - 2))
    sim.expand(name)
    setattr(sim.m, name, values)
    sim.recompute()
    numbers = sim.engine.read("flex_edgenumber")
    for world in range(3):
        m = mujoco.MjModel.from_xml_string(TOWEL)
        getattr(m, name)[:] = values[world].astype(np.float32)
        mujoco.mj_setConst(m, mujoco.MjData(m))
        for column, field in enumerate(("flexedge_length0", "flexedge_invweight0")):
            np.testing.assert_allclose(numbers[world, :, column], getattr(m, field), rtol=1e-5, err_msg=field)
