"""Recordings: frames, files, showing them again, running them again."""

import numpy as np
import pytest

from kinema import __version__, mjcf, recording
from kinema.errors import BuildError, ResourceError, WrongMoment
from kinema.recording import FIELDS, Recording
from kinema.simulation import Simulation
from tests.simulation.models import ARM


@pytest.fixture
def sim():
    return Simulation(ARM, worlds=3, device="cpu", threads=1)


def recorded(sim, steps=8, every=1, **options) -> Recording:
    """A run whose controls and mocap bodies move at every frame."""
    sim.set_state(qpos=[[0.1, 0.2], [0.3, -0.2], [0.0, 0.5]], qvel=[1.0, -1.0])
    sim.record(every, **options)
    for k in range(steps // every):
        sim.d.ctrl = np.sin([[k + 0.1], [k + 0.2], [k + 0.3]])
        sim.d.mocap_pos = [[0.1 * k, 0.0, 0.0]]
        sim.step(every)
    return sim.stop_recording()


def test_frames_are_the_states_after_steps(sim):
    found = recorded(sim, steps=8, every=2)
    assert len(found) == 5
    assert found.qpos.shape == (5, 3, 2) and found.time.shape == (5, 3) and found.mocap_quat.shape == (5, 3, 1, 4)
    np.testing.assert_allclose(found.time[:, 0], [0, 0.02, 0.04, 0.06, 0.08])
    np.testing.assert_array_equal(found.qpos[-1], sim.d.qpos)
    np.testing.assert_array_equal(found.frame(-1)["qvel"], sim.d.qvel)
    assert found.timestep == 0.01 and found.every == 2 and found.kinema_version == __version__
    assert not np.array_equal(found.qpos[0], found.qpos[-1])


def test_long_steps_stop_at_every_frame(sim):
    sim.set_state(qpos=[0.1, 0.2])
    sim.record(every=3)
    sim.step(2)
    sim.step(5)
    found = sim.stop_recording()
    np.testing.assert_allclose(found.time[:, 0], [0, 0.03, 0.06])
    sim.reset()
    sim.set_state(qpos=[0.1, 0.2])
    sim.step(6)
    np.testing.assert_array_equal(found.qpos[-1], sim.d.qpos)


def test_some_worlds_only(sim):
    whole = recorded(sim)
    sim.reset()
    some = recorded(sim, worlds=[2, 0])
    np.testing.assert_array_equal(some.worlds, [2, 0])
    np.testing.assert_array_equal(some.qpos, whole.qpos[:, [2, 0]])
    np.testing.assert_array_equal(whole.of_worlds([2, 0]).qpos, some.qpos)
    with pytest.raises(IndexError, match="has 3"):
        whole.of_worlds(3)


def test_files_give_back_the_same(sim, tmp_path):
    sim.expand("body_mass")
    sim.m.body_mass = sim.m.body_mass * [[1], [2], [3]]
    found = recorded(sim)
    again = recording.load(found.save(tmp_path / "run.npz"))
    for name in (*FIELDS, "worlds"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
        assert getattr(again, name).dtype == getattr(found, name).dtype
    assert set(again.start) == set(found.start)
    np.testing.assert_array_equal(again.parameters["body_mass"], sim.m.body_mass)
    assert (again.expanded, again.model_xml, again.every) == (("body_mass",), ARM, 1)
    assert repr(again) == repr(found) == "Recording(frames=9, worlds=3, nq=2, 0..0.08 s)"


def test_damaged_and_foreign_files_are_refused(sim, tmp_path):
    path = recorded(sim).save(tmp_path / "run.npz")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in rng.integers(0, len(whole) - 30, 20):
        path.write_bytes(whole[:length])
        with pytest.raises(ResourceError, match="not a recording of Kinema's, or damaged"):
            Recording.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(ResourceError, match="not a recording"):
        Recording.load(path)
    with pytest.raises(ResourceError, match="no such file"):
        Recording.load(tmp_path / "nowhere.npz")
    with pytest.raises(ResourceError, match="cannot write"):
        recorded(sim).save(tmp_path / "nowhere" / "run.npz")


def test_later_formats_are_refused(sim, tmp_path, monkeypatch):
    found = recorded(sim)
    monkeypatch.setattr("kinema.archive.FORMAT", 7)
    path = found.save(tmp_path / "run.npz")
    monkeypatch.undo()
    with pytest.raises(ResourceError, match="format 7.*update Kinema"):
        Recording.load(path)


def test_replay_puts_frames_into_worlds(sim):
    found = recorded(sim)
    other = Simulation(found.source, worlds=3, device="cpu", threads=1)
    seen = []
    for k in other.replay(found):
        np.testing.assert_array_equal(other.d.qpos, found.qpos[k])
        np.testing.assert_array_equal(other.d.time, found.time[k])
        np.testing.assert_allclose(other.d.xpos[:, 3], found.mocap_pos[k, :, 0])
        seen.append(other.d.xpos[0, 2])
    assert len(seen) == 9 and np.ptp(seen, axis=0).max() > 0.01
    for k in other.replay(found.of_worlds(1)):  # one world's frames are shown by all
        np.testing.assert_array_equal(other.d.qpos, np.tile(found.qpos[k, 1], (3, 1)))


@pytest.mark.parametrize("every", [1, 4])
def test_rerun_is_the_same_to_the_bit(sim, every, tmp_path):
    sim.expand("gravity")
    sim.m.opt.gravity = [[0, 0, -9.81], [0, 0, -1.0], [0, 1.0, 0]]
    sim.m.dof_damping = [0.3, 0.1]
    found = recorded(sim, every=every)
    loaded = recording.load(found.save(tmp_path / "run.npz"))
    other = Simulation(loaded.source, worlds=3, device="cpu", threads=1)
    again = other.rerun(loaded)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    one = Simulation(loaded.source, device="cpu", threads=1).rerun(loaded.of_worlds(2), steps=12)
    np.testing.assert_array_equal(one.qpos[: len(found), 0], found.qpos[:, 2])
    assert one.time[-1, 0] == pytest.approx(0.12)
    other.rerun(loaded.of_worlds(1), steps=2)  # all worlds begin alike
    assert np.ptp(other.d.qpos, axis=0).max() == 0


def test_the_source_is_the_file_while_it_reads_the_same(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    sim = Simulation(path, device="cpu", threads=1)
    sim.record()
    found = sim.stop_recording()
    assert found.source == path
    path.write_text("<mujoco/>")
    assert found.source == ARM
    compiled = Simulation(sim.model, device="cpu", threads=1)
    compiled.record()
    with pytest.raises(BuildError, match="compiled model"):
        _ = compiled.stop_recording().source
    document = Simulation(mjcf.from_xml_string(ARM), device="cpu", threads=1)
    document.record()
    assert "<body name=" in document.stop_recording().source


def test_mistakes_are_explained(sim):
    with pytest.raises(WrongMoment, match="record\\(\\) first"):
        sim.stop_recording()
    sim.record()
    with pytest.raises(WrongMoment, match="stop_recording"):
        sim.record()
    found = sim.stop_recording()
    with pytest.raises(BuildError, match="every=0"):
        sim.record(every=0)
    with pytest.raises(IndexError, match="has 1"):
        found.frame(1)
    with pytest.raises(BuildError, match="of 3 worlds, the simulation has 2"):
        next(Simulation(ARM, worlds=2, device="cpu").replay(found))
    found.qpos = found.qpos[..., :1]
    with pytest.raises(BuildError, match=r"another model: its qpos"):
        next(sim.replay(found))
