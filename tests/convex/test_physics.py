"""Physics, not parity: conserved quantities, a closed form, worlds that know nothing of each other, identical bits."""

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine

CHAIN = """
<mujoco>
  <option timestep="0.002" integrator="RK4"><flag energy="enable" contact="disable" constraint="disable"/></option>
  <worldbody>
    <body>
      <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
      <body pos=".3 0 0">
        <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
        <body pos=".3 0 0">
          <joint type="ball"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

FLYING = """
<mujoco>
  <option timestep="0.001" integrator="RK4" gravity="0 0 0">
    <flag energy="enable" contact="disable" constraint="disable"/>
  </option>
  <worldbody>
    <body pos="0 0 1">
      <freejoint/><geom type="box" size=".1 .2 .3"/>
      <body pos=".3 0 0"><joint axis="0 1 1"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/></body>
    </body>
  </worldbody>
  <sensor><subtreeangmom body="world"/><subtreelinvel body="world"/></sensor>
</mujoco>
"""

GYROSCOPE = """
<mujoco>
  <option timestep="0.0005" integrator="RK4"><flag energy="enable" contact="disable" constraint="disable"/></option>
  <worldbody>
    <body>
      <joint type="ball"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.005 0.0025 0.0025"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_energy_of_a_chain_of_pendulums_does_not_drift():
    m = mujoco.MjModel.from_xml_string(CHAIN)
    engine = Engine(m, device="cpu")
    engine.write("qvel", [1.0, -2.0, 0.5, 0.3, -0.2])
    engine.forward()
    energies = [engine.read("energy")[0].copy()]
    for _ in range(10):
        engine.step(200)
        engine.forward()
        energies.append(engine.read("energy")[0].copy())
    potential, kinetic = np.array(energies, dtype=float).T
    swing = np.ptp(kinetic)
    assert swing > 0.1  # it did move
    assert np.abs(potential + kinetic - potential[0] - kinetic[0]).max() < 2e-4 * swing


def test_momentum_of_free_bodies_is_conserved():
    m = mujoco.MjModel.from_xml_string(FLYING)
    engine = Engine(m, device="cpu")
    engine.write("qvel", [0.5, -0.3, 0.2, 1.0, 2.0, -3.0, 4.0])
    engine.forward()
    spin, drift = engine.read("subtree_angmom")[0, 0].copy(), engine.read("subtree_linvel")[0, 0].copy()
    assert np.linalg.norm(spin) > 0.1
    engine.step(1000)
    engine.forward()
    np.testing.assert_allclose(engine.read("subtree_angmom")[0, 0], spin, atol=1e-4 * np.linalg.norm(spin))
    np.testing.assert_allclose(engine.read("subtree_linvel")[0, 0], drift, atol=1e-5)


def test_a_gyroscope_precesses_as_the_closed_form_says():
    """Steady precession of a spinning top whose axis is horizontal: rate = m g l / (I_spin spin)."""
    m = mujoco.MjModel.from_xml_string(GYROSCOPE)
    spin, torque, axial = 200.0, 9.81 * 0.1, 0.005
    rate = torque / (axial * spin)
    engine = Engine(m, device="cpu")
    engine.write("qvel", [spin, 0.0, rate])
    steps = 400
    engine.step(steps)
    engine.forward()
    axis = engine.read("xmat")[0, 1].reshape(3, 3)[:, 0]
    assert abs(axis[2]) < 2e-3  # no nutation: it started in steady precession
    turned = np.arctan2(axis[1], axis[0])
    assert turned == pytest.approx(rate * steps * 0.0005, rel=2e-3)


def states(m, worlds: int):
    rng = np.random.default_rng(5)
    return rng.normal(size=(worlds, m.nv))


def test_worlds_are_independent_bit_for_bit():
    m = mujoco.MjModel.from_xml_string(FLYING)
    many, alone = Engine(m, 1000, device="cpu", threads=2), Engine(m, 1, device="cpu")
    qvel = states(m, 1000)
    many.write("qvel", qvel)
    alone.write("qvel", qvel[3])
    for engine in (many, alone):
        engine.step(20)
    for name in ("qpos", "qvel", "qacc", "M", "sensordata"):
        np.testing.assert_array_equal(many.read(name)[3], alone.read(name)[0])


def test_the_same_run_gives_the_same_bits():
    m = mujoco.MjModel.from_xml_string(FLYING)
    runs = []
    for steps in ((30,), (10, 20)):  # however the steps are counted out
        engine = Engine(m, 4, device="cpu")
        engine.write("qvel", states(m, 4))
        for count in steps:
            engine.step(count)
        runs.append(np.concatenate([engine.read("qpos"), engine.read("qvel")], axis=1).tobytes())
    assert runs[0] == runs[1]


def test_a_step_allocates_nothing(monkeypatch):
    import warp as wp

    m = mujoco.MjModel.from_xml_string(FLYING)
    engine = Engine(m, 4, device="cpu")
    engine.step(2)

    def refuse(*args, **kwargs):
        raise AssertionError("a step must not make arrays")

    for name in ("zeros", "empty", "clone", "full", "array"):
        monkeypatch.setattr(wp, name, refuse)
    allocator = engine.device.default_allocator
    monkeypatch.setattr(allocator, "allocate" if hasattr(allocator, "allocate") else "alloc", refuse)
    engine.step(3)
    engine.forward()
    assert len(engine._commands) == 1  # and launches do not grow with the model: one command a thread
