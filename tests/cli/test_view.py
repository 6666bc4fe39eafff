"""kinema view: the viewer gets what the words say."""

import pytest

from kinema.recording import Recording
from kinema.simulation import Simulation
from kinema.viewer import Viewer, view


@pytest.fixture
def shown(monkeypatch):
    """What the viewer is called with; nothing is shown."""
    calls = []
    monkeypatch.setattr("kinema.viewer.view", lambda source, **options: calls.append((source, options)))
    return calls


def test_options_reach_the_viewer(kinema, arm, shown):
    assert kinema("view", arm, "--worlds", 3, "--port", 8099) == (0, "", "")
    source, options = shown[0]
    assert source == arm
    where = {"host": "127.0.0.1", "port": 8099, "device": "cpu"}
    assert options == {"worlds": 3, **where, "open_browser": False, "block": True}


def test_a_recording_is_shown_too(kinema, arm, shown, tmp_path):
    assert kinema("run", arm, "--steps", 5, "--record", tmp_path / "run.npz")[0] == 0
    assert kinema("view", tmp_path / "run.npz")[0] == 0
    assert shown[0][0] == str(tmp_path / "run.npz")
    assert isinstance(Recording.load(shown[0][0]), Recording)


def test_mistakes_are_found_before_a_server_is_opened(kinema, shown):
    code, _, err = kinema("view", "absent.xml")
    assert code == 2 and "there is no such file" in err and not shown


def test_the_viewer_takes_these_options(arm):
    """The real one, without waiting."""
    viewer = view(arm, worlds=1, port=0, device="cpu", open_browser=False, block=False)
    try:
        assert isinstance(viewer, Viewer) and viewer.url.startswith("http://127.0.0.1:")
        assert isinstance(viewer.session.sim, Simulation)
    finally:
        viewer.close()
