"""Compile the kernels a model needs, so that its first run starts at once.

It says how long that took: seconds where there is something to compile, a moment where nothing is. Of a folder every
model is taken; files that are only parts of models are left out.

Kernels are kept in Warp's cache (WARP_CACHE_PATH, by default a folder of the user's) and shared by models of a kind: a
machine that is to start quickly, such as a container, is warmed once, when it is built.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kinema.cli.arguments import add_device

SUMMARY = "Compile a model's kernels ahead."
EXAMPLES = """\
examples:
  kinema warm robot.xml
  kinema warm robot.xml scene.xml --device cuda:0
  kinema warm robots/                                       every model of a folder
  WARP_CACHE_PATH=/opt/kernels kinema warm robot.xml
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", help="MJCF or URDF files, zips, or folders of them")
    add_device(parser)


def run(args: argparse.Namespace) -> int:
    import warp as wp

    from kinema.cli.models import device_of, source_of
    from kinema.cli.terminal import table, waiting
    from kinema.errors import KinemaError
    from kinema.simulation import Simulation

    device = device_of(args.device)
    rows = []
    for path, asked in models_in(args.models):
        begin = time.perf_counter()
        try:
            sim = Simulation(source_of(path), 1, device)
        except KinemaError as error:
            if asked:
                raise
            rows.append((path, f"left out: {str(error).splitlines()[0]}"))
            continue
        with waiting(f"kernels of {path}"):
            sim.step()
            sim.forward()
            wp.synchronize_device(device)
        rows.append((path, f"{time.perf_counter() - begin:.1f} s"))
    table(("model", "until ready>"), rows)
    print(f"cache: {wp.config.kernel_cache_dir}")
    return 0


def models_in(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The models named, and those of the folders named; with each whether it was named itself.

    A file of a folder is one if its root says so: <mujoco> with bodies of its own, or <robot>.
    """
    for path in paths:
        if not Path(path).is_dir():
            yield path, True
            continue
        for file in sorted(Path(path).rglob("*")):
            if file.suffix in (".xml", ".urdf") and ROOT.search(file.read_bytes()):
                yield str(file), False


ROOT = re.compile(rb"<robot[\s>]|<mujoco[\s>](?=.*<(worldbody|include)[\s>])", re.DOTALL)
