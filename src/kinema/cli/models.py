"""Models and devices as they are named on the command line."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from kinema.errors import BuildError, ResourceError, did_you_mean, need

if TYPE_CHECKING:
    import mujoco


NO_DRIVER = "Could not find or load the NVIDIA CUDA driver"


def start_warp() -> None:
    """Initialise Warp without its announcements; that there is no GPU is news only to those who ask for one.

    Its native library writes straight to the file descriptor of standard error.
    """
    import warp as wp

    wp.config.log_level = wp.LOG_WARNING
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as heard:
        os.dup2(heard.fileno(), 2)
        try:
            wp.init()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        heard.seek(0)
        for line in heard.read().decode(errors="replace").splitlines():
            if NO_DRIVER not in line:
                print(line, file=sys.stderr)


def load_plugins(paths: list[str]) -> None:
    """Load files and folders of plugins."""
    start_warp()
    from kinema import plugins

    for path in paths:
        if Path(path).is_dir():
            plugins.load_plugins(path)
        else:
            plugins.load_plugin(path)


def source_of(path: str) -> str:
    """What `Simulation` and `compile_model` take for a file: its path, or the address of the model in a zip."""
    if path.endswith(".mjb"):
        raise ResourceError(f"{path}: a binary model of MuJoCo's; give the MJCF file it was made from")
    if path.endswith(".npz"):
        raise ResourceError(f"{path}: a recording rather than a model; kinema run --replay {path}")
    if zipfile.is_zipfile(path):
        from kinema.compile.source import in_archive  # the compiler is imported on use

        return in_archive(path)
    if not _is_xml(path) and "://" not in path and not Path(path).exists():
        raise ResourceError(f"cannot open {path!r}: there is no such file{_nearest(Path(path))}")
    return path


def _nearest(path: Path) -> str:
    """A suggestion from the same folder."""
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return did_you_mean(path.name, names)


def device_of(name: str) -> str:
    """A device by name; BuildError that lists those there are."""
    from kinema.devices import device_named

    start_warp()
    return str(device_named(name))


def _is_xml(text: str) -> bool:
    from kinema.mjcf.source import is_xml  # the document layer is imported on use

    return is_xml(text)


def mujoco_model(source: str) -> mujoco.MjModel:
    """What `source_of` gave, as MuJoCo compiles it."""
    mujoco = need("mujoco", "mujoco", "Comparisons")
    try:
        if _is_xml(source):
            return mujoco.MjModel.from_xml_string(source)
        if source.startswith("zip:"):
            with tempfile.TemporaryDirectory() as folder:
                return mujoco.MjModel.from_xml_path(_unpacked(source, folder))
        return mujoco.MjModel.from_xml_path(source)
    except ValueError as error:
        raise BuildError(f"MuJoCo refuses the model: {error}") from None


def _unpacked(source: str, folder: str) -> str:
    """The file of zip:archive!/member, after the archive's unpacking into a folder."""
    archive, _, member = source.removeprefix("zip:").partition("!/")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)  # members that point outside the folder are kept inside it
    return str(Path(folder) / member)
