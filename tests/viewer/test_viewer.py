"""The doors: view, sim.view, the hint for remote machines, notebooks, and that nothing of it leaks into the library."""

import subprocess
import sys

import numpy as np
import pytest

import kinema
from kinema.errors import KinemaError, MissingExtra
from kinema.simulation import Simulation
from kinema.viewer import viewer as module
from tests.viewer.models import ARM


def test_importing_kinema_loads_nothing_of_it():
    code = (
        "import sys, kinema, kinema.simulation; kinema.Simulation;"
        "print([m for m in sys.modules if m.startswith(('viser', 'kinema.viewer', 'websockets'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip().splitlines()[-1] == "[]"


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtra, match=r"pip install 'kinema\[view\]'"):
        kinema.viewer.view(Simulation(ARM, threads=1), port=0)


def test_it_binds_to_this_machine_only(open_viewer, capsys):
    viewer = open_viewer(Simulation(ARM, threads=1))
    assert viewer.server.get_host() == "127.0.0.1"
    assert viewer.url == f"http://127.0.0.1:{viewer.port}"
    assert viewer.url in capsys.readouterr().err
    assert viewer.url in viewer._repr_html_() and "<iframe" in viewer._repr_html_()


def test_a_taken_port_gives_way(open_viewer):
    first = open_viewer(Simulation(ARM, threads=1))
    second = open_viewer(Simulation(ARM, threads=1), port=first.port)
    assert second.port != first.port


def test_nobody_can_ask_for_a_tunnel(open_viewer):
    from viser import _messages

    handlers = open_viewer(Simulation(ARM, threads=1)).server._websock_server._incoming_handlers
    assert _messages.ShareUrlRequest not in handlers and len(handlers) > 3


def test_what_it_says(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert "ssh" not in module.greeting("http://127.0.0.1:8080", "127.0.0.1", 8080)
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 5000 10.0.0.2 22")
    assert "ssh -L 8080:127.0.0.1:8080 10.0.0.2" in module.greeting("http://127.0.0.1:8080", "127.0.0.1", 8080)
    assert "anyone" in module.greeting("http://0.0.0.0:8080", "0.0.0.0", 8080)


def test_no_browser_without_a_display(monkeypatch, open_viewer):
    opened = []
    monkeypatch.setattr(module.webbrowser, "open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    open_viewer(Simulation(ARM, threads=1), open_browser=True)
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    viewer = open_viewer(Simulation(ARM, threads=1), open_browser=True)
    assert opened == [viewer.url]


def test_sim_view(open_viewer):
    sim = Simulation(ARM, threads=1)
    with sim.view(port=0, open_browser=False, run=False) as viewer:
        assert viewer.session.sim is sim
        sim.step(10)
        viewer.update()


def test_recordings(tmp_path, open_viewer):
    sim = Simulation(ARM, worlds=2, threads=1)
    sim.record(every=4)
    sim.step(40)
    recording = sim.stop_recording()
    path = recording.save(tmp_path / "run.npz")
    viewer = open_viewer(path)
    timeline = viewer.session.timeline
    assert len(timeline) == 11 and viewer.session.sim.worlds == 2 and viewer.session.paused
    viewer.panel.frame.value = 10
    viewer.update()
    np.testing.assert_allclose(viewer.session.sim.d.qpos, recording.qpos[-1], atol=1e-6)
    assert not viewer.session.can_go_live


def test_a_broken_model_is_an_error_of_kinema(tmp_path, open_viewer):
    file = tmp_path / "broken.xml"
    file.write_text('<mujoco><worldbody><geom type="sfere"/></worldbody></mujoco>', encoding="utf-8")
    with pytest.raises(KinemaError, match="broken.xml:1"):
        open_viewer(file)
