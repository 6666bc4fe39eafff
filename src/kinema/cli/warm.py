"""Compile the kernels a model needs, so that its first run starts at once.

It says how long that took: tens of seconds where there is something to compile, a moment where nothing is.

Kernels are kept in Warp's cache (WARP_CACHE_PATH, by default a folder of the user's) and shared by models of a kind: a
machine that is to start quickly, such as a container, is warmed once, when it is built.
"""

from __future__ import annotations

import argparse
import time

from kinema.cli.arguments import add_device

SUMMARY = "Compile a model's kernels ahead."
EXAMPLES = """\
examples:
  kinema warm robot.xml
  kinema warm robot.xml scene.xml --device cuda:0
  WARP_CACHE_PATH=/opt/kernels kinema warm robot.xml
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="+", help="MJCF or URDF files, or zips of models")
    add_device(parser)


def run(args: argparse.Namespace) -> int:
    import warp as wp

    from kinema.cli.models import device_of, source_of
    from kinema.cli.terminal import table, waiting
    from kinema.simulation import Simulation

    device = device_of(args.device)
    rows = []
    for path in args.models:
        sim = Simulation(source_of(path), 1, device)
        begin = time.perf_counter()
        with waiting(f"compiling kernels of {path}"):
            sim.step()
            sim.forward()
            wp.synchronize_device(device)
        rows.append((path, f"{time.perf_counter() - begin:.1f} s"))
    table(("model", "until ready>"), rows)
    print(f"cache: {wp.config.kernel_cache_dir}")
    return 0
