"""How long CUDA's threads wait for the longest of them, counted on a CPU.

    python -m tests.convex.cuda.spans MODEL [--worlds 2] [--settle 40] [--top 12] [--lines]

Few worlds leave a GPU idle, so a kernel takes as long as its longest thread: one that sums over a thousand bodies while
others wait is seen here. Kernels are compiled as fibres (fibres.py) with a call at each stretch of straight code, which
adds one to the clock of its thread; where threads meet, all clocks become the largest of them. So

    span    the clock at a kernel's end, of its slowest block: what one world waits for
    work    clocks of all warps, each its slowest thread's: what many worlds wait for

in stretches of code, some five to ten instructions each. Named are the functions that the slowest thread was in. Where
time is memory's, or threads of a warp part, a GPU takes longer than its clocks say, and its compiler leaves out more
than the one here; how a kernel compares with itself before a change holds.
"""

from __future__ import annotations

import argparse
import ctypes
import lzma
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import warp as wp

from kinema.convex.schedule import plan
from kinema.convex.stage import Stage

from .fibres import FibreEngine, Fibres

DEFINED = re.compile(r"static\b.*?(\w+)\($")
COUNTED = ("-fsanitize-coverage=trace-pc", "-DKN_COUNT=1", "-g")
PLACES = 4096


@dataclass
class Span:
    """What launches of one kernel took.

    Args:
        launches: How many there were.
        span: Clocks of the slowest block, added up over launches.
        work: Clocks of all warps.
        parts: Of the span, clocks by function and line of its text.
    """

    launches: int = 0
    span: int = 0
    work: int = 0
    parts: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))


class Clocks(Fibres):
    """Fibres with clocks."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.flags = (*self.flags, *COUNTED)
        self.spans: dict[wp.Kernel, Span] = defaultdict(Span)

    def launch(self, kernel: wp.Kernel, dim: int | tuple[int, ...], inputs: Sequence[Any], block: int) -> None:
        super().launch(kernel, dim, inputs, block)
        library = self._made[kernel, block]
        counts = (ctypes.c_longlong * 2).in_dll(library, "clocks_")
        found = self.spans[kernel]
        found.launches += 1
        found.span += counts[0]
        found.work += counts[1]
        table = np.ctypeslib.as_array((ctypes.c_ulonglong * (2 * PLACES)).in_dll(library, "slowest_")).reshape(-1, 2)
        slowest = table[table[:, 0] > 0]
        for place, clocks in zip(_places(library, slowest[:, 0]), slowest[:, 1], strict=True):
            found.parts[place] += int(clocks)


def _places(library: ctypes.CDLL, addresses: np.ndarray) -> list[tuple[str, str]]:
    """Function and line of addresses in a library."""
    if not len(addresses):
        return []
    maps = Path("/proc/self/maps").read_text().splitlines()
    base = next(int(line.partition("-")[0], 16) for line in maps if line.endswith(library._name))
    lines = Path(library._name).with_suffix(".cpp").read_text().splitlines()
    command = ["addr2line", "-i", "-a", "-e", library._name, *(hex(int(address) - base - 1) for address in addresses)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [_function(lines, chain.split()[1:]) for chain in re.split(r"^0x", found, flags=re.M)[1:]]


def _function(lines: list[str], chain: list[str]) -> tuple[str, str]:
    """The function of a kernel's own text that a place is in, or is laid into, and the line."""
    for path, _, number in (place.rpartition(":") for place in chain):
        if path.endswith(".cpp") and number.isdigit():
            for k in range(min(int(number), len(lines)) - 1, -1, -1):
                if name := DEFINED.match(lines[k]):
                    return name[1].removesuffix("_0"), f"{number}: {lines[int(number) - 1].strip()}"
    return "?", "?"


def spans(m: mujoco.MjModel, worlds: int, settle: int, folder: Path) -> dict[str, Span]:
    """The kernels of one step, from where MuJoCo is after some."""
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_step(m, d, settle)
    clocks = Clocks(folder)
    engine = FibreEngine(m, worlds, fibres=clocks)
    for name in ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "qacc_warmstart"):
        if np.size(getattr(d, name)):
            engine.write(name, getattr(d, name))
    engine.step()
    clocks.spans.clear()
    engine.step()
    assert not np.any(engine.read("status"))
    runs = plan(engine.recipes["step"])
    made = {launch.kernel: runs[launch.run].stages for launch in engine.launches()}
    return {_label(kernel, made.get(kernel, ()), engine): span for kernel, span in clocks.spans.items()}


def _label(kernel: wp.Kernel, stages: Sequence[Stage], engine: FibreEngine) -> str:
    """The stages of a kernel; kernels of detection, of which there are several a stage, by their own names."""
    if not stages or stages[0] in engine.collider.stages:
        return kernel.key
    return "; ".join(dict.fromkeys(map(_name, stages)))


def _name(stage: Stage) -> str:
    return stage.func.key.replace("__locals__", " ").split()[-1] if stage.func else "a launch"


def load(path: Path) -> mujoco.MjModel:
    """A model: MJCF, or MuJoCo's binary, packed or not."""
    if path.suffix == ".xml":
        return mujoco.MjModel.from_xml_path(str(path))
    data = path.read_bytes()
    name = "model.mjb"
    return mujoco.MjModel.from_binary_path(name, {name: lzma.decompress(data) if path.suffix == ".xz" else data})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--worlds", type=int, default=2)
    parser.add_argument("--settle", type=int, default=40, help="steps of MuJoCo before")
    parser.add_argument("--top", type=int, default=12, help="kernels to show")
    parser.add_argument("--lines", action="store_true", help="by lines of what Warp writes, not by functions")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "kinema_clocks")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    found = spans(load(given.model), given.worlds, given.settle, given.folder)
    total = sum(one.span for one in found.values())
    print(f"{total:,} clocks of spans, {sum(one.work for one in found.values()):,} of work")
    for name, one in sorted(found.items(), key=lambda item: -item[1].span)[: given.top]:
        print(f"{one.span:12,} {100 * one.span / total:5.1f} %  work {one.work:12,}  x{one.launches}  {name[:110]}")
        parts: dict[str, int] = defaultdict(int)
        for (function, line), clocks in one.parts.items():
            parts[f"{function} {line[:90]}" if given.lines else function] += clocks
        for place, clocks in sorted(parts.items(), key=lambda item: -item[1])[:6 + 10 * given.lines]:
            if clocks > 0.005 * total:
                print(f"             {clocks:12,}  {place}")


if __name__ == "__main__":
    main()
