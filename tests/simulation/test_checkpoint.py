"""Simulations in files: the next steps are the same to the bit, and wrong files are refused."""

import copy
import pickle

import numpy as np
import pytest

import kinema
from kinema.errors import BuildError, ResourceError
from kinema.simulation import Simulation
from kinema.simulation.checkpoint import MARKS
from kinema.simulation.state import STATE
from tests.simulation.models import ARM, REMEMBERING


def run(sim, first: int, count: int = 12) -> None:
    for k in range(first, first + count):
        sim.d.ctrl = np.sin(0.3 * k + np.arange(sim.worlds * sim.m.nu)).reshape(sim.worlds, -1)
        sim.step()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A run saved in the middle, and where it ends."""
    sim = Simulation(REMEMBERING, worlds=3, device="cpu", threads=1)
    sim.expand("body_mass")
    sim.m.body_mass = sim.m.body_mass * [[1], [2], [3]]
    sim.m.dof_damping = sim.m.dof_damping * 2
    sim.set_plugin_parameter("mujoco.pid", "kp", [[20.0], [30.0], [40.0]])
    sim.set_state(qvel=np.random.default_rng(0).normal(size=(3, sim.m.nv)))
    run(sim, 0, 40)
    assert sim.d.ncon.max() > 0 and np.abs(sim.d.history).max() > 0 and np.abs(sim.d.act).max() > 0
    path = sim.save(tmp_path_factory.mktemp("saved") / "run.npz", more={"seed": [1, 2]})
    before = sim.get_state()
    run(sim, 40)
    return sim, path, before


def test_the_next_steps_are_the_same_to_the_bit(saved):
    sim, path, _ = saved
    other = Simulation.restore(path, device="cpu", threads=1)
    run(other, 40)
    for name in (*STATE, *MARKS):
        if name in sim.engine.layout.arrays:
            np.testing.assert_array_equal(other.engine.read(name), sim.engine.read(name), err_msg=name)
    np.testing.assert_array_equal(other.m.body_mass, sim.m.body_mass)


def test_a_running_simulation_takes_it_up(saved):
    sim, path, before = saved
    other = Simulation(REMEMBERING, worlds=3, device="cpu", threads=1)
    other.m.opt.gravity = [0, 0, 5.0]  # forgotten
    run(other, 7)
    assert other.load(path) == {"seed": [1, 2]}
    for name, values in before.items():
        np.testing.assert_array_equal(other.engine.read(name), values, err_msg=name)
    run(other, 40)
    np.testing.assert_array_equal(other.d.qpos, sim.d.qpos)


def test_models_of_very_many_geoms(tmp_path):
    """Their contact parameters and sizes cannot differ per world, which must not stand in the way."""
    balls = "".join(f'<body pos="{i % 20} {i // 20} 1"><freejoint/><geom size=".1"/></body>' for i in range(360))
    sim = Simulation(f"<mujoco><worldbody>{balls}</worldbody></mujoco>", worlds=2, device="cpu", threads=1)
    sim.m.geom_friction = np.full((360, 3), 0.3)
    other = Simulation.restore(sim.save(tmp_path / "many.npz"), device="cpu", threads=1)
    np.testing.assert_array_equal(other.m.geom_friction, sim.m.geom_friction)
    assert sim.copy_of_world(1).worlds == 1


def test_frozen_worlds_stay_frozen(tmp_path):
    sim = Simulation(ARM, worlds=2, device="cpu", threads=1)
    sim.set_state(qpos=[[0.1, 0.2], [np.nan, 0]])
    sim.step()
    other = Simulation.restore(sim.save(tmp_path / "run.npz"), device="cpu", threads=1)
    assert other.trouble() == sim.trouble() != {}
    other.step()
    np.testing.assert_allclose(other.d.time, [0.02, 0])


def test_another_model_is_refused(saved, tmp_path):
    _, path, _ = saved
    with pytest.raises(BuildError, match="another model: nq is 8, here 2"):
        Simulation(ARM, worlds=3, device="cpu", threads=1).load(path)
    with pytest.raises(BuildError, match="of 3 worlds, this one has 2"):
        Simulation(REMEMBERING, worlds=2, device="cpu", threads=1).load(path)
    arm = Simulation(ARM, device="cpu", threads=1).save(tmp_path / "arm.npz")
    heavier = Simulation(ARM.replace('size=".1 .05 .03"', 'size=".1 .05 .03" mass="3"'), device="cpu", threads=1)
    with pytest.raises(BuildError, match=r"differs in .*body_inertia, body_invweight0"):
        heavier.load(arm)
    implicit = Simulation(ARM.replace('timestep="0.01"', 'timestep="0.01" integrator="implicitfast"'), device="cpu")
    with pytest.raises(BuildError, match=r"differs in .*opt.integrator"):
        implicit.load(arm)


def test_wrong_files_are_refused(saved, tmp_path):
    sim, path, _ = saved
    sim.record()
    recording = sim.stop_recording().save(tmp_path / "recording.npz")
    with pytest.raises(ResourceError, match="a recording, where a simulation is expected"):
        sim.load(recording)
    cut = tmp_path / "cut.npz"
    cut.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ResourceError, match="damaged"):
        sim.load(cut)
    with pytest.raises(ResourceError, match="no such file"):
        Simulation.restore(tmp_path / "nowhere.npz")
    compiled = Simulation(sim.model, device="cpu", threads=1).save(tmp_path / "compiled.npz")
    with pytest.raises(BuildError, match="give `source`"):
        Simulation.restore(compiled)
    assert Simulation.restore(compiled, sim.model, device="cpu", threads=1).worlds == 1


@pytest.mark.parametrize("twin", [lambda sim: pickle.loads(pickle.dumps(sim)), copy.deepcopy, copy.copy])
def test_pickles_and_copies_go_on_as_their_original_does(twin):
    sim = Simulation(REMEMBERING, worlds=3, device="cpu", threads=1)
    sim.expand("body_mass")
    sim.m.body_mass = sim.m.body_mass * [[1], [2], [3]]
    sim.m.opt.gravity = [0, 0, -5.0]
    sim.set_plugin_parameter("mujoco.pid", "kp", [[20.0], [30.0], [40.0]])
    sim.set_state(qvel=np.random.default_rng(0).normal(size=(3, sim.m.nv)))
    run(sim, 0, 20)
    sim.engine.set_option("disableactuator", 1)
    other = twin(sim)
    before = sim.get_state()
    run(other, 20)
    assert all(np.array_equal(value, sim.get_state()[name]) for name, value in before.items())  # on its own
    run(sim, 20)
    for name in (*STATE, *MARKS):
        if name in sim.engine.names:
            np.testing.assert_array_equal(sim.engine.read(name), other.engine.read(name), err_msg=name)
    assert other.document.path == sim.document.path and other.m.opt.gravity[2] == -5


def test_worlds_of_a_model_say_that_they_cannot_be_pickled():
    builder = kinema.ModelBuilder()
    builder.add_mjcf(ARM)
    (sim,) = Simulation.of_model(builder.finalize(device="cpu"))
    with pytest.raises(BuildError, match="save the model and its state"):
        pickle.dumps(sim)
