"""One page in one file that plays a recording without a server, from disk, offline."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from kinema.recording import Recording
from kinema.simulation import Simulation
from kinema.simulation.parameters import put_parameters
from kinema.viewer.options import Options
from kinema.viewer.server import close_server, open_server

FPS = 30.0


def write_html(
    source: Recording | Simulation, path: str | os.PathLike, *, fps: float = FPS, sim: Simulation | None = None,
    options: Options | None = None,
) -> Path:  # fmt: skip
    """Write a page that shows a recording, or the present state of a simulation.

    Args:
        source: A recording, or a simulation.
        path: The file to write.
        fps: Most frames a second that are kept of a recording.
        sim: A simulation of the recorded model to compute poses with; None: one is made from the recording's document.
            Its state is left at the last frame.
        options: What is shown; None: what a viewer shows at first.
    """
    path = Path(path)
    path.write_text(page_of(source, fps=fps, sim=sim, options=options), encoding="utf-8")
    return path


def page_of(
    source: Recording | Simulation, *, fps: float = FPS, sim: Simulation | None = None, options: Options | None = None
) -> str:
    """The text of such a page."""
    from kinema.viewer.session import Session

    recording = source if isinstance(source, Recording) else None
    if isinstance(source, Simulation):
        sim = source
    elif sim is None:
        sim = Simulation(source.source, worlds=len(source.worlds))
        put_parameters(sim.engine, source.parameters, source.expanded)  # worlds may differ in sizes
    server = open_server("127.0.0.1", 0)
    try:
        session = Session(server, sim, recording=recording)
        if options is not None:
            session.options.__dict__.update(vars(options))
            session.stage.build()
            session.aim()
        serializer = server.get_scene_serializer()
        if recording is not None and session.timeline is not None:
            interval = float(recording.timestep * recording.every)
            stride = max(1, round(1 / (fps * interval)))
            for frame in np.arange(0, len(recording), stride):
                session.timeline.put(int(frame))
                session.stage.show()
                serializer.insert_sleep(stride * interval)
        return serializer.as_html()
    finally:
        close_server(server)
