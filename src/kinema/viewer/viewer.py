"""The viewer as a user holds it: where its page is, and how to end it."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from kinema.recording import Recording
from kinema.simulation import Simulation
from kinema.simulation.parameters import put_parameters
from kinema.viewer.panel import Panel
from kinema.viewer.server import close_server, open_server
from kinema.viewer.session import Session

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Viewer:
    """A page that shows a simulation.

    While it runs by itself (`run=True`) the viewer's thread steps the simulation, and nobody else may. With `run=False`
    you step, and call `update` to show and to take what the page asks for.

    Attributes:
        session: What is shown and how it runs; `session.ask(order)` has something done between two steps.
        url: Address of the page.
    """

    def __init__(self, session: Session, panel: Panel, *, host: str):
        self.session, self.panel, self.host = session, panel, host
        self.server = session.server

    @property
    def port(self) -> int:
        """Port of the page."""
        return self.server.get_port()

    @property
    def url(self) -> str:
        """Address of the page."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "localhost") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def update(self) -> None:
        """Show the present state and do what the page asked for; for a loop of one's own."""
        self.session.turn()

    @property
    def paused(self) -> bool:
        """Whether the page's box "Run" is off."""
        return self.session.paused

    def wait(self) -> None:
        """Go on until Ctrl-C, then close."""
        try:
            while self.session.running:
                self.session.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the thread and the server; raises what made the thread end by itself, if something did."""
        self.session.stop()
        self.panel.inputs.end()
        close_server(self.server)
        failure, self.session.failure = self.session.failure, None
        if failure is not None:
            raise failure

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer({self.url})"

    def _repr_html_(self) -> str:
        """In a notebook: the page itself."""
        return f'<iframe src="{self.url}" style="width:100%;height:480px;border:0"></iframe>'


def view(
    source, *, worlds: int = 1, port: int = 8080, host: str = "127.0.0.1", device=None, open_browser: bool = True,
    run: bool = True, paused: bool = False, block: bool | None = None,
) -> Viewer:  # fmt: skip
    """Show a model, a simulation or a recording in the browser.

    Args:
        source: Path of a document, XML text, an mjcf document, a compiled model; a `Simulation`; a `Model`; a
            `Recording` or the path of one (.npz).
        worlds: Number of worlds, where the source is not a simulation or a recording.
        port: Port of the page; 0: any that is free. Where it is taken, the next free one.
        host: Address to bind to. Any but this machine's own lets everybody who reaches it in.
        device: Warp device to simulate on.
        open_browser: Open the page, where there is a display.
        run: Let the viewer step the simulation. False: you do, and call `viewer.update()`.
        paused: Begin paused.
        block: Return only after Ctrl-C; None: unless the source is a simulation, or this is a notebook.
    """
    (sim, *others), recording, path = _opened(source, worlds, device)
    server = open_server(host, port, label=getattr(sim.model, "modelname", None) or "Kinema")
    try:
        session = Session(server, sim, source=path, recording=recording, own_steps=run, others=others)
        viewer = Viewer(session, Panel(server.gui, session), host=host)
    except BaseException:
        close_server(server)
        raise
    session.paused |= paused
    if run:
        session.start()
    sys.stderr.write(greeting(viewer.url, host, viewer.port))
    if open_browser and has_display() and not in_notebook():
        webbrowser.open(viewer.url)
    if block is None:
        block = run and not isinstance(source, Simulation) and not in_notebook()
    if block:
        viewer.wait()
    return viewer


def _opened(source, worlds: int, device) -> tuple[list[Simulation], Recording | None, Path | None]:
    """A simulation and those beside it, the recording to show in it, and the file to load again when it changes."""
    if isinstance(source, Simulation):
        return [source], None, None
    if hasattr(source, "world_classes") or hasattr(source, "batches"):  # a Model, or a solver of one
        return Simulation.of_model(source), None, None
    if isinstance(source, str | os.PathLike) and str(source).endswith(".npz"):
        source = Recording.load(source)
    if isinstance(source, Recording):
        sim = Simulation(source.source, worlds=len(source.worlds), device=device)
        put_parameters(sim.engine, source.parameters, source.expanded)  # worlds may differ in sizes
        return [sim], source, None
    sim = Simulation(source, worlds=worlds, device=device)
    path = Path(sim.document.path) if sim.document.path else None
    return [sim], None, path


def greeting(url: str, host: str, port: int) -> str:
    """What is said when a page opens: where it is, and how to reach it from elsewhere."""
    lines = [f"viewer: {url}   (Ctrl-C ends it)"]
    if host in LOOPBACK:
        if os.environ.get("SSH_CONNECTION") or not has_display():
            address = (os.environ.get("SSH_CONNECTION") or "").split()
            there = address[2] if len(address) > 2 else os.uname().nodename if hasattr(os, "uname") else "this-machine"
            lines.append(f"from another machine: ssh -L {port}:127.0.0.1:{port} {there}, then open {url} there")
    else:
        lines.append(f"anyone who can reach {host}:{port} can see and move this simulation")
    return "\n".join(lines) + "\n"


def has_display() -> bool:
    """Whether a browser could be opened here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def in_notebook() -> bool:
    """Whether this runs in a notebook, which shows the page by itself."""
    return "ipykernel" in sys.modules
