"""Files that a motion is written to, by their endings: states (.npz), pictures (.mp4, .gif) or a page (.html)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kinema.errors import BuildError, ResourceError, UnknownKey, did_you_mean, need

if TYPE_CHECKING:
    import numpy as np

    from kinema.recording import Recording
    from kinema.simulation import Simulation

ENDINGS = (".npz", ".mp4", ".gif", ".html")
FPS = 30.0
PAGE_WORLDS = 16
"""Worlds shown on a page; a video shows the first."""


def check_target(path: str, size: str) -> None:
    """Refuse what could not be written, before anything is computed for it."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        hint = did_you_mean(ending, ENDINGS)
        raise ResourceError(f"--record {path}: the file must end in one of {', '.join(ENDINGS)}{hint}")
    folder = Path(path).parent
    if not folder.is_dir():
        raise ResourceError(f"--record {path}: there is no folder {str(folder)!r}")
    if ending in (".mp4", ".gif"):
        picture_size(size)
        need("imageio_ffmpeg" if ending == ".mp4" else "PIL", "video", "Videos")
    if ending == ".html":
        need("viser", "view", "Pages")


def picture_size(text: str) -> tuple[int, int]:
    """Width and height from 640x480; even numbers, as video wants them."""
    found = re.fullmatch(r"(\d+)[xX](\d+)", text)
    if not found or not all(2 <= int(part) <= 8192 for part in found.groups()):
        raise BuildError(f"--size {text}: width and height are expected, such as 640x480")
    width, height = (int(part) // 2 * 2 for part in found.groups())
    return width, height


def camera_of(model, text: str | None) -> int | str | None:
    """A camera by name or number; None: the free one."""
    if text is None:
        return None
    names = [name for name in model.names("camera") if name]
    if text in names:
        return text
    if text.isdigit() and int(text) < model.ncam:
        return int(text)
    listed = f"; it has {', '.join(names)}" if names else f"; it has {model.ncam} without names"
    raise UnknownKey(f"--camera {text}: the model has no such camera{did_you_mean(text, names) or listed}")


def begin(sim: Simulation, path: str, fps: float | None) -> None:
    """Start to record what the file needs."""
    ending = Path(path).suffix.lower()
    if fps is not None and not 0 < fps < 1e6:
        raise BuildError(f"--fps {fps}: frames a second are more than 0")
    every = 1 if ending == ".npz" and fps is None else max(1, round(1 / ((fps or FPS) * float(sim.model.opt.timestep))))
    shown = {".npz": sim.worlds, ".html": PAGE_WORLDS}.get(ending, 1)
    sim.record(every, worlds=range(min(shown, sim.worlds)))


def write(recording: Recording, path: str, model, *, camera: int | str | None, size: str) -> None:
    """Write what was recorded of a model."""
    from kinema.cli.terminal import note, waiting
    from kinema.simulation import Simulation

    ending = Path(path).suffix.lower()
    with waiting(f"writing {path} ({len(recording)} frames)"):
        if ending == ".npz":
            recording.save(path)
        elif ending == ".html":
            from kinema.viewer import write_html

            write_html(recording, path, sim=Simulation(model, len(recording.worlds), "cpu"))
        else:
            write_film(recording, path, model, camera=camera, size=picture_size(size))
    note(f"wrote {path}")


def write_film(recording: Recording, path: str, model, *, camera: int | str | None, size: tuple[int, int]) -> None:
    """Draw the first world of a recording frame by frame into a video or an animated picture."""
    from kinema.render import write_video
    from kinema.simulation import Simulation

    first = recording.of_worlds(0)
    sim = Simulation(model, 1, "cpu")

    def pictures() -> Iterator[np.ndarray]:
        for k in range(len(first)):
            sim.set_state(**first.frame(k))
            yield sim.render(camera, *size)[0]

    write_video(path, pictures(), 1 / (recording.every * recording.timestep))
