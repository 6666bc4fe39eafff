"""Viewers that a program logs its states to, frame by frame, as Newton's are used.

    viewer = ViewerViser()                     a page in the browser; ViewerGL is the same here
    viewer.set_model(model)
    while viewer.is_running():
        if viewer.should_step(): ...           solver.step(...)
        viewer.begin_frame(time)
        viewer.log_state(state)
        viewer.end_frame()
    viewer.close()

`ViewerFile` keeps what it is told as a recording, `ViewerNull` counts frames and ends after some. Each has engines of
its own, of which only poses are computed: the program's solver is left alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from kinema.closed import Closed
from kinema.errors import BuildError, WrongMoment
from kinema.model import Model, State
from kinema.recording import Recording
from kinema.simulation import Simulation
from kinema.viewer.overlays import Overlays
from kinema.viewer.panel import Panel
from kinema.viewer.server import close_server, open_server
from kinema.viewer.session import Session


class ViewerNull(Overlays, Closed):
    """Shows nothing; ends after some frames.

    Args:
        num_frames: Frames until `is_running` is False; None: never.
    """

    def __init__(self, num_frames: int | None = 1000):
        self.num_frames, self.frame_count, self.time = num_frames, 0, 0.0
        self.model: Model | None = None
        self.sims: list[Simulation] = []
        self.logged = {}
        self._open = True

    def set_model(self, model: Model, max_worlds: int | None = None) -> None:
        """Say what states are of; `max_worlds` is not used: all worlds are kept."""
        self.model = model

    def begin_frame(self, time: float) -> None:
        """Begin a frame at a time [s]."""
        self.time = float(time)

    def log_state(self, state: State) -> None:
        """Take a state."""
        if self.model is None:
            raise WrongMoment("log_state(): call set_model() first")

    def log_contacts(self, contacts: Any, state: State, observables: Any = None) -> None:
        """Not used: a page finds contacts itself, and shows them where its box is ticked."""

    def apply_forces(self, state: State) -> None:
        """Nobody pulls at anything here."""

    def end_frame(self) -> None:
        """End a frame."""
        self.frame_count += 1

    def is_running(self) -> bool:
        """Whether the program is to go on."""
        return self._open and (self.num_frames is None or self.frame_count < self.num_frames)

    def is_paused(self) -> bool:
        """Whether somebody asked to wait."""
        return False

    def should_step(self) -> bool:
        """Whether the program is to step now."""
        return not self.is_paused()

    def close(self) -> None:
        """End."""
        self._open = False

    def __enter__(self) -> ViewerNull:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _of(self, state: State) -> None:
        """Put all worlds where a state has them, at the time of the frame."""
        ViewerNull.log_state(self, state)
        for sim in self.sims:
            sim._of_model().read(state)
            sim.set_state(time=self.time)


class ViewerViser(ViewerNull):
    """A page in the browser.

    Args:
        port: Port of the page; 0: any that is free. Where it is taken, the next free one.
        paused: Begin paused.
        label: Title of the page.
        verbose: Say where the page is.
        share: Refused: pages are shown to this machine only; `kinema.viewer.view(host=...)` opens them to others.
        plot_history_size: Not used: nothing that is logged is plotted.
        record_to_viser: Refused: `kinema.viewer.write_html` writes a page that plays offline.
    """

    def __init__(
        self, *, port: int = 8080, paused: bool = False, label: str | None = None, verbose: bool = True,
        share: bool = False, record_to_viser: str | None = None, plot_history_size: int = 250,
    ):  # fmt: skip
        if share or record_to_viser:
            what = "share=True" if share else "record_to_viser"
            raise BuildError(f"ViewerViser({what}) is not supported: view(host=...) and write_html() do what it is for")
        super().__init__(None)
        self._port, self._paused, self._label, self._verbose = port, paused, label, verbose
        self.session: Session | None = None
        self._panel: Panel | None = None

    def set_model(self, model: Model, max_worlds: int | None = None) -> None:
        """Open the page, or show another model in a new one."""
        self._shut()
        super().set_model(model)
        self.sims = Simulation.of_model(model)
        server = open_server("127.0.0.1", self._port, label=self._label or "Kinema")
        try:
            self.session = Session(server, self.sims[0], own_steps=False, others=self.sims[1:])
            self._panel = Panel(server.gui, self.session)
        except BaseException:
            close_server(server)
            raise
        self.session.paused = self._paused
        if self._verbose:
            sys.stderr.write(f"viewer: {self.url}\n")

    @property
    def url(self) -> str:
        """Address of the page; "" where there is none."""
        return f"http://127.0.0.1:{self.session.server.get_port()}" if self.session else ""

    def log_state(self, state: State) -> None:
        """Show a state at the end of the frame."""
        self._of(state)
        for sim in self.sims:
            sim.engine.poses()

    def end_frame(self) -> None:
        """Show what was logged, and do what the page asked for."""
        if self.session is not None:
            self.session.turn()
        super().end_frame()

    def is_paused(self) -> bool:
        """Whether the page's box "Run" is off."""
        return self.session is not None and self.session.paused

    def close(self) -> None:
        """Close the page."""
        super().close()
        self._shut()

    def _shut(self) -> None:
        session, self.session = self.session, None
        if session is not None and self._panel is not None:
            session.stop()
            self._panel.inputs.end()
            close_server(session.server)


class ViewerGL(ViewerViser):
    """The page in the browser, for programs that ask for a window.

    Args:
        width, height, vsync: Not used: the page is as large as its browser.
        headless: Open no page.
    """

    def __init__(
        self, *, width: int = 1280, height: int = 720, vsync: bool = False, headless: bool = False, port: int = 8080,
        paused: bool = False, num_frames: int | None = None, enable_cuda_interop: bool = False,
        plot_history_size: int = 250,
    ):  # fmt: skip
        super().__init__(port=port, paused=paused)
        self._headless, self.num_frames = headless, num_frames

    def set_model(self, model: Model, max_worlds: int | None = None) -> None:
        """Open the page, unless nobody is to see it."""
        if self._headless:
            ViewerNull.set_model(self, model)
        else:
            super().set_model(model)


class ViewerFile(ViewerNull):
    """Keeps states as a recording, which `kinema.viewer.view` shows and `sim.replay` plays.

    Args:
        output_path: The file (.npz); of worlds of several structures, each gets a file of its own, `name-1.npz` and on.
        auto_save: Write the file when the viewer is closed.
    """

    def __init__(self, output_path: str | os.PathLike, auto_save: bool = True):
        super().__init__(None)
        self.output_path, self.auto_save = Path(output_path), auto_save
        self.recordings: list[Recording] = []

    def set_model(self, model: Model, max_worlds: int | None = None) -> None:
        """Begin to record."""
        super().set_model(model)
        self.sims = Simulation.of_model(model)
        self.recordings = []

    def log_state(self, state: State) -> None:
        """Keep a state as a frame; the first one is the start."""
        self._of(state)
        for sim in self.sims:
            if sim.recorder is None:
                sim.record()
            else:
                sim.recorder.take()

    def save_recording(self) -> list[Path]:
        """End the recording and write it; gives the files."""
        self.recordings = [sim.stop_recording() for sim in self.sims if sim.recorder is not None]
        stem = self.output_path.with_suffix("")
        places = [stem.with_name(f"{stem.name}-{k}") if k else stem for k in range(len(self.recordings))]
        kept = zip(self.recordings, places, strict=True)
        return [recording.save(place.with_name(f"{place.name}.npz")) for recording, place in kept]

    def close(self) -> None:
        """End; the file is written unless it was."""
        if self._open and self.auto_save and any(sim.recorder is not None for sim in self.sims):
            self.save_recording()
        super().close()
