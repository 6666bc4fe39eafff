"""The last good state of a world that goes bad, and running it again."""

import numpy as np
import pytest

from kinema import recording
from kinema.simulation import Simulation
from tests.simulation.models import ARM


@pytest.fixture
def sim():
    return Simulation(ARM, worlds=4, device="cpu", threads=1)


def burst(sim, world=2):
    """Let one world go bad after a while: its motor pushes harder and harder."""
    sim.set_state(qpos=[0.1, 0.2])
    good = []
    for k in range(20):
        ctrl = np.zeros((4, 1))
        ctrl[world] = 10.0 ** (k + 1)
        sim.d.ctrl = ctrl
        good.append(sim.get_state())
        sim.step(2)
        if sim.trouble():
            return good
    raise AssertionError("it holds")


def test_all_well(sim):
    sim.step(5)
    assert sim.last_failure is None


def test_the_last_good_state_leads_to_the_failure(sim, tmp_path):
    burst(sim)
    assert set(sim.trouble()) == {2}
    found = sim.last_failure
    assert found.worlds.tolist() == [2] and found.reason == "state is not finite"
    assert (np.abs(found.qpos) <= 1e10).all() and (np.abs(found.qvel) <= 1e10).all()
    assert found.time[0] > 0
    loaded = recording.load(found.save(tmp_path / "failure.npz"))
    again = Simulation(loaded.source, device="cpu", threads=1)
    again.rerun(loaded, steps=len(loaded) - 1)
    assert not again.trouble(), "the last frame is good"
    np.testing.assert_array_equal(again.d.qpos, found.qpos[-1])
    again.step(2)  # the step that breaks it, and the one that notices a state too large
    assert again.trouble() == {0: ["state is not finite"]}


def test_it_is_the_state_before_the_call_that_broke(sim):
    good = burst(sim)
    start = sim.last_failure.start
    before = [{name: values[2:3] for name, values in state.items()} for state in good]
    assert any(all(np.array_equal(start[n], state[n]) for n in start) for state in before)


def test_parameters_of_the_world_are_kept(sim):
    sim.expand("gravity")
    gravity = np.tile([0, 0, -9.81], (4, 1))
    gravity[1] = [0, 0, -1e12]
    sim.m.opt.gravity = gravity
    sim.step(400)
    found = sim.last_failure
    assert found.worlds.tolist() == [1]
    np.testing.assert_allclose(found.parameters["gravity"], gravity[1:2])
    again = Simulation(found.source, device="cpu", threads=1)
    again.rerun(found, steps=len(found) + 2)
    assert again.trouble()


def test_the_others_go_on_and_reset_forgets(sim):
    burst(sim)
    first = sim.last_failure
    sim.step(50)
    np.testing.assert_array_equal(sim.last_failure.qpos, first.qpos)
    sim.reset([2])
    assert sim.last_failure is None
    sim.step(5)
    sim.check()


def test_a_state_written_from_outside_is_told(sim):
    sim.step(3)
    sim.set_state(qpos=np.nan, worlds=[3])
    sim.step(2)
    found = sim.last_failure
    assert found.worlds.tolist() == [3] and "written from outside" in found.reason
    assert np.isfinite(found.qpos).all()


def test_long_runs_keep_the_frames_before_the_failure(sim, monkeypatch):
    monkeypatch.setattr("kinema.simulation.failure.MOST_FRAMES", 5)
    sim.m.dof_damping = [-30.0, -30.0]  # speeds itself up
    sim.set_state(qvel=0.1)
    sim.step(1000)
    found = sim.last_failure
    assert len(found) == 5 and found.worlds.tolist() == [0]
    again = Simulation(found.source, device="cpu", threads=1)
    again.rerun(found, steps=6)
    assert again.trouble()


def test_it_can_be_left_out():
    sim = Simulation(ARM, worlds=2, device="cpu", threads=1, capture_failures=False)
    sim.set_state(qpos=np.nan)
    sim.step()
    assert sim.trouble() and sim.last_failure is None
