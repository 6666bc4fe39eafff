"""Sessions: running in real time, orders, worlds, pulling, recording, reloading; no browser."""

import contextlib
import time
from types import SimpleNamespace

import numpy as np
import pytest

from kinema.errors import SimulationError
from kinema.simulation import Simulation
from tests.viewer.models import ARM


@pytest.fixture
def sim():
    return Simulation(ARM, threads=1)


def test_it_runs_in_real_time(sim, open_viewer):
    session = open_viewer(sim).session
    session.own_steps = True
    for _ in range(20):
        session.turn(0.05)
    assert sim.d.time.reshape(-1)[0] == pytest.approx(1.0, abs=0.011)
    session.speed = 0.5
    session.turn(0.04)
    assert sim.d.time.reshape(-1)[0] == pytest.approx(1.02, abs=0.011)
    session.play(False)
    session.turn(1.0)
    assert sim.d.time.reshape(-1)[0] == pytest.approx(1.02, abs=0.011)


def test_it_does_not_run_after_time_that_was_lost(sim, open_viewer):
    session = open_viewer(sim).session
    session.own_steps = True
    session.turn(60.0)
    assert sim.d.time.reshape(-1)[0] <= 0.25 + 1e-9


def test_orders_are_done_in_turn(sim, open_viewer):
    session = open_viewer(sim).session
    done = []
    session.ask(lambda: done.append(1))
    session.ask(lambda: done.append(2))
    assert done == []
    session.turn()
    assert done == [1, 2]


def test_a_wrong_order_is_told_in_the_page(sim, open_viewer):
    viewer = open_viewer(sim)
    viewer.session.ask(lambda: viewer.session.reset(7))
    viewer.session.turn()
    assert "keyframe 7" in viewer.session.error
    viewer.panel.refresh(force=True)
    assert "keyframe 7" in viewer.panel.problem.content and viewer.panel.problem.visible
    viewer.session.ask(viewer.session.reset)
    viewer.session.turn()
    viewer.panel.refresh(force=True)
    assert not viewer.panel.problem.visible


def test_what_is_shown_follows_the_simulation(sim, open_viewer):
    viewer = open_viewer(sim)
    stage = viewer.session.stage
    name, batch = next((n, b) for n, b in stage.batches.items() if sim.model.id("geom", "red") in b.ids)
    before = np.array(stage.nodes[name].batched_positions)
    np.testing.assert_allclose(before, sim.d.geom_xpos[0, batch.ids], atol=1e-6)
    sim.step(40)
    viewer.update()
    after = np.array(stage.nodes[name].batched_positions)
    assert np.abs(after - before).max() > 0.01
    np.testing.assert_allclose(after, sim.d.geom_xpos[0, batch.ids], atol=1e-6)


def test_nothing_is_sent_when_nothing_moved(sim, open_viewer, monkeypatch):
    viewer = open_viewer(sim)
    viewer.update()
    sent = []
    monkeypatch.setattr(viewer.server._websock_server, "queue_message", sent.append)
    viewer.session.stage.show(everything=True)
    assert sent == []
    sim.step(10)
    viewer.session.stage.show()
    assert len(sent) > 0


def test_groups_frames_and_inertia(sim, open_viewer):
    viewer = open_viewer(sim)
    stage, options = viewer.session.stage, viewer.session.options
    hidden = next(n for n, b in stage.batches.items() if b.kind == "geom" and b.group == 3)
    assert not stage.nodes[hidden].visible
    options.groups["geom"].add(3)
    stage.show_groups()
    assert stage.nodes[hidden].visible
    options.frames, options.inertia = "body", True
    viewer.update()
    assert len(stage.nodes["/frames/body"].batched_positions) == sim.model.nbody
    np.testing.assert_allclose(stage.nodes["/inertia"].batched_positions[:3], sim.d.xipos[0, 1:], atol=1e-6)
    options.frames, options.inertia = "site", False
    options.groups["tendon"].clear()
    viewer.update()
    assert "/frames/body" not in stage.nodes and "/inertia" not in stage.nodes and "/tendon" not in stage.nodes
    assert len(stage.nodes["/frames/site"].batched_positions) == 2


def test_tendon_goes_from_site_to_site(sim, open_viewer):
    node = open_viewer(sim).session.stage.nodes["/tendon"]
    np.testing.assert_allclose(node.batched_positions[0], sim.d.site_xpos[0].mean(axis=0), atol=1e-6)
    assert 2 * node.batched_scales[0, 2] == pytest.approx(float(sim.d.ten_length[0, 0]), rel=1e-5)
    assert not node.batched_scales[1:].any()  # room for more, without size


def test_worlds_in_a_grid_and_one_by_one(open_viewer):
    sim = Simulation(ARM, worlds=4, threads=1)
    qpos = np.array(sim.d.qpos)
    qpos[:, 0] = np.linspace(0, 1, 4)
    sim.set_state(qpos=qpos)
    sim.forward()
    session = open_viewer(sim).session
    red = sim.model.id("geom", "red")

    def shown():
        name, batch = next((n, b) for n, b in session.stage.batches.items() if b.kind == "geom" and red in b.ids)
        return np.array(session.stage.nodes[name].batched_positions), batch

    positions, batch = shown()
    assert len(positions) == 4
    np.testing.assert_allclose(positions - session.stage.offsets, sim.d.geom_xpos[:, red], atol=1e-5)
    floor = next(b for b in session.stage.batches.values() if b.once)
    assert len(session.stage.nodes[f"/{floor.name}"].batched_positions) == 1
    assert session.stage.touched(batch, 2).world == 2
    assert session.stage.touched(batch, 2).body == sim.model.id("body", "upper")
    session.pick_world(2)
    session.show_grid(False)
    positions, batch = shown()
    np.testing.assert_allclose(positions, sim.d.geom_xpos[2:3, red], atol=1e-5)
    session.every_world = False
    session.set_control(0, 0.5)
    np.testing.assert_allclose(sim.d.ctrl[:, 0], [0, 0, 0.5, 0])
    session.every_world = True
    session.set_joint(0, 0.25)
    np.testing.assert_allclose(sim.d.qpos[:, 0], 0.25)


def test_pulling_a_body_brings_it_to_the_pointer(sim, open_viewer):
    viewer = open_viewer(sim)
    session = viewer.session
    body = sim.model.id("body", "post")
    grabbed = np.array(sim.d.xpos[0, body])
    session.pull(0, body, grabbed, grabbed + [0, 0, 0.1])
    for _ in range(60):
        session.advance(10)
    viewer.update()
    assert "/pull" in session.stage.nodes
    assert sim.d.xpos[0, body, 2] > grabbed[2] + 0.03
    assert sim.d.xfrc_applied[0, body, 2] > 1
    session.pull(0, body, grabbed, None)
    viewer.update()
    assert not sim.d.xfrc_applied.any() and session.grip is None and "/pull" not in session.stage.nodes
    session.advance(800)
    assert sim.d.xpos[0, body, 2] == pytest.approx(grabbed[2], abs=0.01)


def test_record_scrub_and_go_on(sim, open_viewer):
    viewer = open_viewer(sim)
    session = viewer.session
    session.record()
    session.advance(100)
    session.stop_recording()
    end = np.array(sim.d.qpos)
    assert session.timeline is not None and len(session.timeline) > 10 and session.paused
    session.timeline.put(3)
    np.testing.assert_allclose(sim.d.qpos, session.timeline.recording.qpos[3], atol=1e-6)
    assert np.abs(np.array(sim.d.qpos) - end).max() > 1e-3
    session.own_steps = True
    session.play(True)
    session.turn(session.timeline.interval * 2.5)
    assert session.timeline.at == 5
    session.live()
    np.testing.assert_allclose(sim.d.qpos, end, atol=1e-6)
    assert session.timeline is None


def test_the_thread_runs_and_stops(sim, open_viewer):
    viewer = open_viewer(sim, run=True)
    until = time.time() + 20
    while sim.d.time.reshape(-1)[0] < 0.2 and time.time() < until:
        time.sleep(0.05)
    assert sim.d.time.reshape(-1)[0] >= 0.2
    viewer.close()
    assert not viewer.session.running
    stopped = sim.d.time.copy()
    time.sleep(0.1)
    np.testing.assert_array_equal(sim.d.time, stopped)


def test_reload(tmp_path, open_viewer):
    file = tmp_path / "arm.xml"
    file.write_text(ARM, encoding="utf-8")
    viewer = open_viewer(file)
    session = viewer.session
    first = session.sim
    file.write_text(ARM.replace('type="box"', 'type="boks"'), encoding="utf-8")
    session._looked = 0.0
    session.turn()
    assert session.sim is first and "boks" in session.error and "arm.xml:" in session.error
    viewer.panel.refresh(force=True)
    assert "boks" in viewer.panel.problem.content
    file.write_text(ARM.replace('name="lift"', 'name="raise"'), encoding="utf-8")
    session._looked = 0.0
    session.turn()
    assert session.sim is not first and session.error == ""
    assert "raise" in {slider.label for slider in viewer.panel.joints.values()}


def test_the_camera_follows(sim, open_viewer, monkeypatch):
    viewer = open_viewer(sim)
    page = SimpleNamespace(camera=SimpleNamespace(position=np.array([1.0, 2.0, 3.0])))
    monkeypatch.setattr(viewer.server, "get_clients", lambda: {0: page})
    body = sim.model.id("body", "fore")
    viewer.session.follow = body
    viewer.update()
    np.testing.assert_allclose(page.camera.position, [1, 2, 3])
    before = np.array(sim.d.xpos[0, body])
    sim.step(40)
    viewer.update()
    moved = np.array(sim.d.xpos[0, body]) - before
    assert np.linalg.norm(moved) > 0.01
    np.testing.assert_allclose(page.camera.position, np.array([1, 2, 3]) + moved, atol=1e-5)


def test_cameras_of_the_model(sim, open_viewer):
    session = open_viewer(sim).session
    page = SimpleNamespace(camera=SimpleNamespace(), atomic=contextlib.nullcontext)
    session.look_through(0, page)
    np.testing.assert_allclose(page.camera.position, [0, -3, 0.6], atol=1e-6)
    np.testing.assert_allclose(page.camera.up_direction, [0, 0, 1], atol=1e-6)
    ahead = page.camera.look_at - page.camera.position
    np.testing.assert_allclose(ahead / np.linalg.norm(ahead), [0, 1, 0], atol=1e-6)
    assert page.camera.fov == pytest.approx(np.pi / 4)


def test_trouble_in_the_simulation_pauses_and_is_told(sim, open_viewer, monkeypatch):
    viewer = open_viewer(sim)
    viewer.session.own_steps = True

    def lost(count):
        raise SimulationError("world 0: the state is not finite")

    monkeypatch.setattr(sim, "step", lost)
    viewer.session.turn(0.1)
    assert viewer.paused and "not finite" in viewer.session.error


def test_a_failure_of_the_thread_is_not_lost(sim, open_viewer):
    viewer = open_viewer(sim, run=True)

    def broken():
        raise ZeroDivisionError("a bug")

    viewer.session.ask(broken)
    viewer.session._thread.join(20)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        viewer.wait()


def test_contacts_and_forces(open_viewer):
    """Needs collision, so it is the one slow compile of this file."""
    ball = '<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .099"><freejoint/><geom size=".1"/>'
    sim = Simulation(ball + "</body></worldbody></mujoco>", threads=1)
    viewer = open_viewer(sim)
    viewer.session.options.contacts = viewer.session.options.forces = True
    sim.step(200)
    sim.forward()
    viewer.update()
    nodes = viewer.session.stage.nodes
    np.testing.assert_allclose(nodes["/contact"].batched_positions[0], sim.d.contact_pos[0, 0], atol=1e-6)
    start, end = nodes["/force"].points[0]
    weight = 9.81 * float(sim.model.body_mass[1])
    scale = float(sim.model.vis.map.force) / float(sim.model.stat.meanmass)
    np.testing.assert_allclose(end - start, [0, 0, scale * weight], rtol=1e-2, atol=1e-4)
    viewer.session.options.contacts = viewer.session.options.forces = False
    viewer.update()
    assert "/force" not in nodes and "/contact" not in nodes
