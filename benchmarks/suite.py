"""Public scenes with worlds that part, beside MuJoCo Warp with the room its own nightly benchmark gives it.

    python -m benchmarks suite                                    the folder ../shared/suite, on the first GPU
    python -m benchmarks suite FOLDER --scenes humanoid,g1_flat   some scenes of another folder
    python -m benchmarks suite robot.xml --worlds 8192            a model of your own (.xml or .mjb)
    python -m benchmarks suite --sweep --scenes humanoid          8,192 to 65,536 worlds
    python -m benchmarks suite robot.xml --device cpu --worlds 4 --steps 6 --sides kinema

A scene NAME.mjb, or NAME.mjb.xz, starts from its first keyframe and follows NAME.npy, one row of controls a step, if it
is there; every world has noise of its own on top (parted.py). Each side runs a scene in a process of its own, so that
set-up and memory (what the device has less, kernels' stacks included) are its own; the kernels of all are compiled
first, side by side.

Written to the folder --out: suite.md, a table; suite.json, all that was measured; suite.png.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import warp as wp

from benchmarks.parted import NIGHTLY, SIDES, Room, measure, name_of
from benchmarks.plot import OUT, Bars, Figure, Panel, plot_bars, plot_lines
from kinema.errors import MissingExtra

ROOT = Path(__file__).parents[1]
SWEEP = (8192, 16384, 32768, 65536)
RESULT = "@result "
LIMIT = 560  # seconds a process may take
Results = dict[tuple[str, int], dict[str, dict[str, Any]]]


def scenes(places: Sequence[str], chosen: Sequence[str]) -> list[Path]:
    """Files of the scenes: of folders those whose room is known first, then the others by name."""
    found: list[Path] = []
    for place in map(Path, places or [str(ROOT.parent / "shared/suite")]):
        kinds = ("*.mjb", "*.mjb.xz", "*.xml")
        inside = sorted(path for kind in kinds for path in place.glob(kind)) if place.is_dir() else [place]
        known = list(NIGHTLY)
        found += sorted(inside, key=lambda p: known.index(name_of(p)) if name_of(p) in NIGHTLY else len(known))
    missing = [str(path) for path in found if not path.is_file()] + sorted(set(chosen) - {*map(name_of, found)})
    if missing or not found:
        raise SystemExit(f"no such scene: {', '.join(missing) or 'give a folder of .mjb, .mjb.xz or .xml files'}")
    return [path for path in found if not chosen or name_of(path) in chosen]


def call(path: Path, side: str, worlds: int, steps: int, device: str, threads: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", "suite", str(path.resolve()), "--one", side, "--device", device]
    command += ["--worlds", str(worlds), "--steps", str(steps), "--threads", str(threads)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {LIMIT} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith(RESULT)]
    if lines:
        return json.loads(lines[-1].removeprefix(RESULT))
    return {"error": (done.stderr.strip().splitlines() or ["nothing was said"])[-1]}


def _worlds(path: Path) -> int:
    return NIGHTLY.get(name_of(path), Room()).worlds


def prepare(paths: Sequence[Path], sides: Sequence[str], device: str, threads: int, worlds: int | None = None) -> None:
    """Fill the kernel cache: all scenes and sides side by side, each in a process of its own.

    Some kernels depend on the number of worlds.
    """
    jobs = [(path, side) for path in paths for side in sides]
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        done = list(pool.map(lambda job: call(*job, worlds or _worlds(job[0]), 6, device, threads), jobs))
    for (path, side), result in zip(jobs, done, strict=True):
        print(f"prepared {name_of(path)}, {side}: {result.get('error', str(result.get('setup')) + ' s')}", flush=True)


HEAD = ("scene", "nv", "worlds", "Kinema /s", "MuJoCo Warp /s", "ratio", "rows", "kB a world", "times",
        "set-up s", "bad worlds", "room")  # fmt: skip


def row(name: str, worlds: int, found: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """A line of the table; where one side failed, what it said."""
    ours, theirs = (found.get(side, {}) for side in SIDES)
    failed = [f"{side}: {result['error']}" for side, result in found.items() if "error" in result]

    def both(field: str, form: str, factor: float = 1.0) -> str:
        return " / ".join(format(side[field] * factor, form) if field in side else "–" for side in (ours, theirs))

    def ratio(field: str) -> str:
        return f"{ours[field] / theirs[field]:.2f}" if field in ours and field in theirs else "–"

    rates = [f"{side['rate']:,.0f}" if "rate" in side else "–" for side in (ours, theirs)]
    nv = str(ours.get("nv", theirs.get("nv", "–")))
    rooms = " and ".join(side["room"] for side in (ours, theirs) if "room" in side)
    return (name, nv, f"{worlds:,}", *rates, ratio("rate"), both("rows", ".1f"), both("bytes", ".0f", 1e-3),
            ratio("bytes"), both("setup", ".1f"), both("bad", "d", 1), "; ".join(failed) or rooms)  # fmt: skip


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    widths = [max(len(line[k]) for line in (HEAD, *lines)) for k in range(len(HEAD))]
    drawn = [HEAD, ["-" * width for width in widths], *lines]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in drawn)


def draw(results: Results, folder: Path) -> Path:
    """Rate and memory beside MuJoCo Warp's, a bar a scene; of a sweep the rates against worlds."""
    counts = {worlds for _, worlds in results}
    if len({name for name, _ in results}) < len(results):
        lines: dict[str, list[tuple[float, float]]] = {}
        for (name, worlds), found in results.items():
            for side, result in found.items():
                if "rate" in result:
                    lines.setdefault(f"{name}, {side}", []).append((worlds, result["rate"]))
        return plot_lines(Figure("suite", [Panel(f"{len(counts)} sizes", "worlds", "steps a second", lines)]), folder)
    complete = {name: found for (name, _), found in results.items()
                if all("rate" in found.get(side, {}) for side in SIDES)}  # fmt: skip
    if not complete:
        alone = {f"{name}, {side}": result["rate"] for (name, _), found in results.items()
                 for side, result in found.items() if "rate" in result}  # fmt: skip
        return plot_bars([Bars("steps a second", alone)], "suite", folder)
    ratios = {
        field: {name: found["kinema"][field] / found["mujoco-warp"][field] for name, found in complete.items()}
        for field in ("rate", "bytes")
    }
    titles = {"rate": "rate, in MuJoCo Warp's", "bytes": "memory, in MuJoCo Warp's"}
    return plot_bars([Bars(titles[field], values, 1.0) for field, values in ratios.items()], "suite", folder)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", metavar="FOLDER", help="folders of scenes, or .xml and .mjb files")
    parser.add_argument("--scenes", default="", help="names of scenes, by commas")
    parser.add_argument("--worlds", type=int, help="worlds of every scene; those of the nightly benchmark by default")
    parser.add_argument("--sweep", action="store_true", help=f"{SWEEP[0]} to {SWEEP[-1]} worlds")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of Kinema")
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--prepare", action=argparse.BooleanOptionalAction, default=True,
                        help="compile the kernels of all scenes first, side by side")  # fmt: skip
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--one", choices=SIDES, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.device.startswith("cuda") and not wp.is_cuda_available():
        print("needs a CUDA device, or --device cpu with few --worlds")
        return
    paths, sides = scenes(args.places, [name for name in args.scenes.split(",") if name]), args.sides.split(",")
    if args.one:
        device = wp.get_device(args.device)
        print(RESULT + json.dumps(measure(paths[0], args.one, args.worlds, args.steps, device, args.threads)))
        return
    if args.prepare:
        prepare(paths, sides, args.device, args.threads, args.worlds)
    results: Results = {}
    for path in paths:
        for worlds in SWEEP if args.sweep else [args.worlds or _worlds(path)]:
            found = {side: call(path, side, worlds, args.steps, args.device, args.threads) for side in sides}
            results[name_of(path), worlds] = found
            print("  ".join(row(name_of(path), worlds, found)), flush=True)
    table = markdown([row(*key, found) for key, found in results.items()])
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "suite.md").write_text(table + "\n")
    measured = [{"scene": name, "worlds": worlds, **found} for (name, worlds), found in results.items()]
    (args.out / "suite.json").write_text(json.dumps(measured, indent=1))
    try:
        print(f"plot: {draw(results, args.out)}")
    except MissingExtra as missing:
        print(missing)
    print(table)


if __name__ == "__main__":
    main()
