"""Neither the page's word nor the session's is lost, in whatever order they come."""

import numpy as np
import pytest

from kinema.simulation import Simulation
from tests.viewer.models import ARM
from tests.viewer.page import on_loop, says, settle


@pytest.fixture
def viewer(open_viewer):
    return open_viewer(Simulation(ARM, threads=1))


def test_a_refresh_before_the_order_is_obeyed_does_not_undo_it(viewer):
    panel, sim = viewer.panel, viewer.session.sim
    says(viewer, panel.joints[0], -1.0)
    panel.refresh(force=True)  # the session knows nothing of it yet
    settle(viewer)
    assert panel.joints[0].value == -1.0
    viewer.update()
    np.testing.assert_allclose(sim.d.qpos[0], [-1, 0, 0], atol=1e-6)


def test_an_order_carries_the_value_it_was_given_with(viewer):
    """Two changes of one input in a turn are two orders, each with its own value."""
    panel, session = viewer.panel, viewer.session
    seen = []
    panel.inputs.on(panel.speed, seen.append)
    says(viewer, panel.speed, "2")
    says(viewer, panel.speed, "0.5")
    viewer.update()
    assert seen == ["2", "0.5"] and session.speed == 0.5


def test_scrubbing_while_a_recording_plays(open_viewer):
    """The frame moves on with every turn; a user's frame counts all the same."""
    sim = Simulation(ARM, threads=1)
    sim.record(every=1)
    sim.step(40)
    viewer = open_viewer(sim.stop_recording(), run=False)
    panel, session = viewer.panel, viewer.session
    session.own_steps = True
    session.play(True)
    session.turn(0.02)
    playing = session.timeline.at
    assert playing > 0
    says(viewer, panel.frame, 30)
    panel.refresh(force=True)
    session.turn(0.0)
    assert session.timeline.at == 30 and session.paused
    settle(viewer)
    panel.refresh(force=True)
    settle(viewer)
    assert panel.frame.value == 30


def test_what_was_written_back_before_the_order_was_obeyed_is_not_written_after_it(viewer):
    """The event loop comes to old news only when the order has been obeyed: the news is of before, and dropped."""
    panel, session = viewer.panel, viewer.session
    held = []

    async def busy() -> None:  # all of this while the event loop does nothing else
        panel.refresh(force=True)  # joint at 0
        panel.joints[0]._impl.value = 0.8
        panel.inputs._take(panel.joints[0], lambda value: session.set_joint(0, value))
        session.turn()
        held.append(panel.joints[0].value)

    on_loop(viewer, busy())
    settle(viewer)
    assert held == [0.8] and panel.joints[0].value == 0.8


def test_orders_for_a_model_that_is_gone_are_dropped(tmp_path, open_viewer):
    """A slider that was moved while its model was being replaced by a smaller one."""
    file = tmp_path / "arm.xml"
    file.write_text(ARM, encoding="utf-8")
    viewer = open_viewer(file)
    panel, session = viewer.panel, viewer.session
    old = panel.joints[2]
    small = ARM.replace('<joint name="lift" type="slide" axis="0 0 1" damping="5" stiffness="50" springref=".2"/>', "")
    file.write_text(small.replace(' 0.1" ctrl', '" ctrl').replace('qpos="1 0 0"', 'qpos="1 0"'), encoding="utf-8")
    old.value = 0.3
    session.reload()
    assert session.error == "" and int(session.sim.model.nq) == 2
    session.turn()
    np.testing.assert_array_equal(session.sim.d.qpos[0], 0)
