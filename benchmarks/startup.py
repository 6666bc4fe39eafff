"""How long until a model moves: new, changed or known, from an empty cache and from a warm one.

    python -m benchmarks startup                       the CPU, beside MuJoCo Warp's on the CPU
    python -m benchmarks startup --device cuda:0
    python -m benchmarks startup --no-peer             Kinema alone: MuJoCo Warp takes minutes on a CPU

Every line is a process of its own, from the shell prompt to the end of its first step, imports included:

    new, cold      a humanoid, on an empty cache
    known          the same again
    a geom more    the same with one box more
    a sensor more  the same with one sensor more
    new, warm      another kind of model, where others were compiled before

The last line is `kinema run` on a known model. Beside the seconds on the clock stand those of all cores together, which
tell what a busy machine would have taken had it been quiet. Python keeps the bytecode of what it imports, as it does
unless told otherwise, and has it before the first line: PYTHONDONTWRITEBYTECODE is not handed on.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.doors import humanoid
from benchmarks.throughput import heap

KINEMA = """
import sys
from kinema import Simulation
sim = Simulation(sys.argv[1], 1, sys.argv[2])
sim.step()
sim.d.qpos
"""
PEER = """
import sys, mujoco, warp as wp, mujoco_warp as mjw
with wp.ScopedDevice(sys.argv[2]):
    m = mujoco.MjModel.from_xml_path(sys.argv[1])
    d = mujoco.MjData(m)
    model, data = mjw.put_model(m), mjw.put_data(m, d, nworld=1)
    mjw.step(model, data)
    data.qpos.numpy()
"""


IMPORTS = {
    "kinema": "import kinema.cli.run, kinema.simulation, kinema.convex.engine", "mujoco-warp": "import mujoco_warp",
}  # fmt: skip


def changed(path: str, old: str, new: str, folder: str) -> str:
    """A model with something added before a tag, in a folder of its own with links to the files that lie beside it."""
    text = Path(path).read_text(encoding="utf-8")
    if old not in text:
        raise SystemExit(f"{path} has no {old}")
    beside = Path(tempfile.mkdtemp(dir=folder))
    for file in Path(path).resolve().parent.iterdir():
        (beside / file.name).symlink_to(file)
    target = beside / "changed.xml"
    target.write_text(text.replace(old, new + old, 1), encoding="utf-8")
    return str(target)


def seconds(code: list[str], cache: str) -> tuple[float, float]:
    """From the prompt to the end of a process: on the clock, and of all cores together."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["WARP_CACHE_PATH"] = cache
    begin, before = time.perf_counter(), os.times()
    done = subprocess.run([sys.executable, *code], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = os.times()
    cores = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begin, cores


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default=humanoid(), metavar="PATH")
    parser.add_argument("--peer", action=argparse.BooleanOptionalAction, default=True, help="measure MuJoCo Warp too")
    args = parser.parse_args(argv)
    sides = {"kinema": KINEMA}
    if args.peer and importlib.util.find_spec("mujoco_warp"):
        sides["mujoco-warp"] = PEER
    with tempfile.TemporaryDirectory() as folder:
        box = '<body pos="0 0 3"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        other = Path(folder) / "heap.xml"
        other.write_text(heap(4), encoding="utf-8")
        sensor = "<sensor><clock/></sensor>"
        made = [changed(args.model, "</worldbody>", box, folder), changed(args.model, "</mujoco>", sensor, folder)]
        models = {"new, cold": args.model, "known": args.model, "a geom more": made[0], "a sensor more": made[1],
                  "new, warm": str(other)}  # fmt: skip
        for side in sides:  # bytecode
            seconds(["-c", IMPORTS[side]], f"{folder}/{side}")
        print(f"{'seconds (cores)':16}" + "".join(f"{side:>18}" for side in sides))
        for what, path in models.items():
            row = [seconds(["-c", code, path, args.device], f"{folder}/{side}") for side, code in sides.items()]
            print(f"{what:16}" + "".join(map(cell, row)), flush=True)
        command = ["-m", "kinema", "run", args.model, "--steps", "1", "--device", args.device]
        seconds(command, f"{folder}/kinema")
        print(f"{'kinema run':16}{cell(seconds(command, f'{folder}/kinema'))}")


def cell(times: tuple[float, float]) -> str:
    """Seconds on the clock, and of cores."""
    return f"{f'{times[0]:.1f} ({times[1]:.1f})':>18}"
