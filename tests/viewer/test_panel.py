"""The panel: what a user turns and presses, and what it writes back."""

import numpy as np
import pytest

from kinema.simulation import Simulation
from kinema.viewer.panel import _range, _unique
from kinema.viewer.plots import Trace, channels
from tests.viewer.models import ARM
from tests.viewer.page import settle


@pytest.fixture
def viewer(open_viewer):
    return open_viewer(Simulation(ARM, threads=1))


def test_actuators_are_sliders(viewer):
    panel, sim = viewer.panel, viewer.session.sim
    assert [s.label for s in panel.controls.values()] == ["push", "hold"]
    assert (panel.controls[0].min, panel.controls[0].max) == (-1, 1)
    panel.controls[0].value = 0.5
    assert sim.d.ctrl[0, 0] == 0  # not before the next turn
    viewer.update()
    np.testing.assert_allclose(sim.d.ctrl[0], [0.5, 0])


def test_joints_are_sliders(viewer):
    panel, sim = viewer.panel, viewer.session.sim
    assert [s.label for s in panel.joints.values()] == ["shoulder", "elbow", "lift"]
    sim.set_state(qvel=[1.0, 2.0, 3.0])
    panel.joints[1].value = 0.7
    viewer.update()
    np.testing.assert_allclose(sim.d.qpos[0], [0, 0.7, 0], atol=1e-6)
    np.testing.assert_allclose(sim.d.qvel[0], [1, 0, 3], atol=1e-6)
    red = viewer.session.sim.model.id("geom", "blue")
    assert sim.d.geom_xpos[0, red, 2] < 0.55  # shown where it was put


def test_sliders_follow_without_giving_orders(viewer):
    panel, sim = viewer.panel, viewer.session.sim
    sim.set_state(qpos=[0.4, -0.3, 0.1], ctrl=[0.25, 0.5])
    sim.forward()
    panel.refresh(force=True)
    settle(viewer)
    assert panel.joints[0].value == pytest.approx(0.4, abs=1e-6)
    assert panel.controls[1].value == pytest.approx(0.5, abs=1e-6)
    sim.set_state(qpos=[0.0, 0.0, 0.0])
    viewer.update()  # an order to set the joints would put them back
    np.testing.assert_allclose(sim.d.qpos[0], 0, atol=1e-6)


def test_run_step_reset_speed_keyframe(viewer):
    panel, session, sim = viewer.panel, viewer.session, viewer.session.sim
    panel.run.value = False
    panel.speed.value = "0.25"
    viewer.update()
    assert session.paused and session.speed == 0.25
    session.ask(session.step_once)
    viewer.update()
    assert sim.d.time.reshape(-1)[0] == pytest.approx(0.005)
    panel.keyframe.value = "up"
    session.ask(lambda: session.reset(0))
    viewer.update()
    np.testing.assert_allclose(sim.d.qpos[0], [-1, 0, 0.1], atol=1e-6)
    np.testing.assert_allclose(sim.d.ctrl[0], [0.2, 0.3], atol=1e-6)
    session.ask(session.reset)
    viewer.update()
    np.testing.assert_allclose(sim.d.qpos[0], 0, atol=1e-6)
    assert sim.d.time.reshape(-1)[0] == 0


def test_show(viewer):
    panel, session = viewer.panel, viewer.session
    panel.toggles["inertia"].value = True
    panel.frames.value = "geom"
    panel.groups["geom", 3].value = True
    panel.groups["geom", 0].value = False
    panel.follow.value = "fore"
    viewer.update()
    stage = session.stage
    assert "/inertia" in stage.nodes and "/frames/geom" in stage.nodes
    visible = {b.group: stage.nodes[n].visible for n, b in stage.batches.items() if b.kind == "geom"}
    assert visible == {0: False, 3: True}
    assert session.follow == session.sim.model.id("body", "fore")
    panel.follow.value = "nothing"
    viewer.update()
    assert session.follow is None
    session.options.inertia, session.options.frames = False, "none"  # chosen by a program: the page says so
    session.options.groups["geom"].add(0)
    panel.refresh(force=True)
    settle(viewer)
    assert not panel.toggles["inertia"].value and panel.frames.value == "none" and panel.groups["geom", 0].value


def test_worlds(open_viewer):
    viewer = open_viewer(Simulation(ARM, worlds=3, threads=1))
    panel, session = viewer.panel, viewer.session
    panel.grid.value = False
    panel.world.value = 2
    panel.every.value = False
    viewer.update()
    assert not session.options.grid and session.options.world == 2 and not session.every_world
    session.select(1, 1)  # a click
    panel.refresh(force=True)
    settle(viewer)
    assert panel.world.value == 1
    assert "upper" in panel.status.content
    panel.grid.value = True
    panel.spacing.value = 5.0
    viewer.update()
    assert session.stage.spacing == 5.0 and len(session.stage.worlds) == 3


def test_timeline(viewer):
    panel, session, sim = viewer.panel, viewer.session, viewer.session.sim
    assert not panel.frame.visible
    session.record()
    session.advance(70)
    panel.refresh(force=True)
    assert panel.stop.visible and not panel.record.visible
    session.stop_recording()
    panel.refresh(force=True)
    assert panel.frame.visible and panel.frame.max == len(session.timeline) - 1
    panel.frame.value = 4
    viewer.update()
    assert session.timeline.at == 4
    np.testing.assert_allclose(sim.d.qpos, session.timeline.recording.qpos[4], atol=1e-6)
    panel.refresh(force=True)
    assert "frame 4 of" in panel.status.content


def test_plots(viewer):
    panel, sim = viewer.panel, viewer.session.sim
    labels = [channel.label for channel in panel.channels]
    assert labels[:2] == ["sensor angle", "sensor where"] and "joint lift" in labels and "force of push" in labels
    panel.add_plot(1)
    trace, plot = panel.traces[0]
    for _ in range(5):
        sim.step(4)
        viewer.update()
    panel.refresh(force=True)
    times, *rows = plot.data
    assert len(times) == 5 and len(rows) == 3
    np.testing.assert_allclose([row[-1] for row in rows], sim.d.sensordata[0, 1:4], atol=1e-6)
    assert np.ptp(rows[2]) > 0
    panel.remove_plots()
    assert panel.traces == []


def test_traces_keep_the_last_seconds_and_begin_anew():
    sim = Simulation(ARM, threads=1)
    trace = Trace(channels(sim.model)[0])
    assert trace.take(sim, 0) and not trace.take(sim, 0)
    sim.set_state(time=3.0)
    trace.take(sim, 0)
    sim.set_state(time=7.0)
    trace.take(sim, 0)
    assert list(trace.times) == [3.0, 7.0]
    sim.reset()
    trace.take(sim, 0)
    assert list(trace.times) == [0.0]


def test_ranges_and_names():
    assert _range((-2, 3), True, 1.0) == (-2, 3)
    assert _range((0, 0), False, 1.5) == (-1.5, 1.5)
    assert _range((0, 0), True, 1.0) == (-1.0, 1.0)
    assert _unique(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_joint_axes_names_and_fields_by_name(viewer):
    session, panel = viewer.session, viewer.panel
    session.options.joints, session.options.labels = True, "body"
    session.turn()
    nodes = session.stage.nodes
    axes = int(np.isin(session.sim.model.jnt_type, (2, 3)).sum())
    assert len(nodes["/joint"].points) == axes * len(session.stage.worlds) > 0
    named = [name for name in session.sim.model.names("body") if name]
    assert [node.text for name, node in nodes.items() if name.startswith("/label/")] == named
    session.options.joints, session.options.labels = False, "none"
    session.turn()
    assert not [name for name in nodes if name == "/joint" or name.startswith("/label/")]
    session.ask(lambda: panel.add_field("qvel[0]"))
    session.turn()
    assert panel.traces[-1][0].channel.array == "qvel" and not session.error
    session.ask(lambda: panel.add_field("qvell"))
    session.turn()
    assert "did you mean 'qvel'" in session.error
