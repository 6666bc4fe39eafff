"""Simulate a model in many worlds, and say how fast it went and how the worlds fared.

Controls are zero, random (within their ranges, held for 10 steps, different in every world) or read from a .npy file:
(nu,), (steps, nu) or (steps, worlds, nu); after its last row the last controls are held.

The exit code is 1 when a world went bad (its state stopped being finite), so scripts notice.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from kinema.cli.arguments import add_device, add_model, count

SUMMARY = "Simulate many worlds of a model."
EXAMPLES = """\
examples:
  kinema run robot.xml                                      1000 steps of one world
  kinema run robot.xml --worlds 4096 --device cuda:0        many worlds on a GPU
  kinema run robot.xml --worlds 64 --ctrl random --seed 3   random controls
  kinema run robot.xml --keyframe home --record run.npz     keep every frame's state for later
  kinema run robot.xml --record run.mp4 --camera front      a video (also .gif; needs kinema[video])
  kinema run robot.xml --record run.html                    a page that plays the motion (needs kinema[view])
  kinema run --replay run.npz                               run a recording's start and controls again
  kinema run robot.xml --save-failure bad.npz               keep what led to a failure, for --replay
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, nargs="?")
    parser.add_argument("--worlds", type=count(), default=None, metavar="N", help="number of worlds (default 1)")
    parser.add_argument("--steps", type=count(), default=None, metavar="N", help="time steps (default 1000)")
    add_device(parser)
    parser.add_argument("--threads", type=count(), metavar="N", help="CPU threads (default: one a core)")
    parser.add_argument("--ctrl", default="zero", metavar="zero|random|FILE.npy", help="controls (default zero)")
    parser.add_argument("--seed", type=count(0), default=0, metavar="N", help="seed of random controls and --noise")
    parser.add_argument("--noise", type=float, default=0.0, metavar="X", help="disturb the initial velocities by this")
    parser.add_argument("--keyframe", metavar="NAME|ID", help="start from a keyframe of the model")
    parser.add_argument("--record", metavar="FILE", help="write the motion: .npz (states), .mp4, .gif, .html")
    parser.add_argument("--fps", type=float, metavar="X", help="frames a second (default 30; .npz: all steps)")
    parser.add_argument("--camera", metavar="NAME|ID", help="camera of a video (default: the free one)")
    parser.add_argument("--size", default="640x480", metavar="WxH", help="size of a video (default 640x480)")
    parser.add_argument("--replay", metavar="FILE", help="start from a recording or a saved failure and its controls")
    parser.add_argument("--save-failure", metavar="FILE.npz", help="when a world goes bad, keep what led to it")
    parser.add_argument("--json", action="store_true", help="print the closing table as JSON")


def run(args: argparse.Namespace) -> int:
    from kinema.cli import INTERRUPTED, NO, recorder
    from kinema.cli.controls import control_pieces
    from kinema.cli.models import device_of, source_of
    from kinema.cli.terminal import waiting
    from kinema.errors import BuildError
    from kinema.simulation import Simulation

    if args.record:
        recorder.check_target(args.record, args.size)
    if (args.model is None) == (args.replay is None):
        raise BuildError("give a MODEL, or --replay FILE, which brings its own")
    device = device_of(args.device)
    if args.replay:
        from kinema.cli.replay import replay

        return replay(args, device)
    steps, pace = args.steps or 1000, Pace()
    source = source_of(args.model)
    begin = time.perf_counter()
    sim = Simulation(source, args.worlds or 1, device, args.threads)
    built = time.perf_counter()
    pieces = control_pieces(args.ctrl, sim.model, sim.worlds, steps, seed=args.seed, longest=pace.longest)
    camera = recorder.camera_of(sim.model, args.camera)
    start(sim, args)  # finds a wrong keyframe before kernels are compiled
    with waiting("preparing kernels (compiled once for a kind of model)"):
        sim.step()
    ready = time.perf_counter()
    start(sim, args)
    if args.record:
        recorder.begin(sim, args.record, args.fps)
    done, elapsed = advance(sim, pieces, steps, pace)
    if args.record:
        recorder.write(sim.stop_recording(), args.record, sim.model, camera=camera, size=args.size)
    summary = report(sim, done, elapsed)
    summary |= {"build seconds": round(built - begin, 2), "kernel seconds": round(ready - built, 2)}
    show(summary, as_json=args.json)
    if summary["bad worlds"]:
        keep_failure(sim, args.save_failure)
    if done < steps:
        return INTERRUPTED
    return NO if summary["bad worlds"] else 0


def keep_failure(sim, path: str | None) -> None:
    """Save what led to the first failure, where asked for."""
    from kinema.cli.terminal import note

    failure = sim.last_failure
    if failure is None:
        return
    if path is None:
        note("--save-failure FILE.npz keeps what led to it, for kinema run --replay FILE.npz")
    else:
        note(f"wrote {failure.save(path)}: the last {len(failure)} good states of world {failure.worlds[0]}")


def start(sim, args: argparse.Namespace) -> None:
    """The state a run begins with."""
    import numpy as np

    keyframe = int(args.keyframe) if args.keyframe and args.keyframe.isdigit() else args.keyframe
    sim.reset(keyframe=keyframe)
    if args.noise:
        noise = np.random.default_rng(args.seed).normal(size=(sim.worlds, sim.model.nv))
        sim.set_state(qvel=sim.d.qvel + args.noise * noise)


class Pace:
    """Chooses pieces of a run so that the progress bar moves a few times a second."""

    def __init__(self, interval: float = 0.2):
        self.interval, self.piece = interval, 1

    def longest(self) -> int:
        return self.piece

    def took(self, steps: int, seconds: float) -> None:
        self.piece = max(1, min(4 * self.piece, int(self.interval * steps / max(seconds, 1e-6))))


def advance(sim, pieces, steps: int, pace: Pace) -> tuple[int, float]:
    """Step to the end, or to Ctrl-C, piece by piece of control; steps done, and seconds they took."""
    import warp as wp

    from kinema.cli.terminal import note, progress, quantity

    done, elapsed = 0, 0.0
    with progress(f"{sim.worlds} world{'s' * (sim.worlds > 1)}", steps) as tick:
        try:
            for ctrl, piece in pieces:
                begin = time.perf_counter()
                if ctrl is not None:
                    sim.set_state(ctrl=ctrl)
                sim.step(piece)
                wp.synchronize_device(sim.engine.device)
                seconds = time.perf_counter() - begin
                pace.took(piece, seconds)
                elapsed += seconds
                done += piece
                tick(piece, f"{quantity(sim.worlds * done / elapsed)} steps/s")
        except KeyboardInterrupt:
            if not done:
                raise
            note(f"interrupted after {done} of {steps} steps")
    return done, elapsed


def report(sim, steps: int, elapsed: float) -> dict[str, Any]:
    """The closing table: throughput, contacts, and what went wrong."""
    contacts = sim.d.ncon
    trouble = sim.trouble()
    rate = sim.worlds * steps / elapsed
    return {
        "worlds": sim.worlds,
        "steps": steps,
        "device": str(sim.engine.device),
        "seconds": round(elapsed, 3),
        "steps per second": round(rate, 1),
        "real-time factor": round(rate * float(sim.model.opt.timestep), 2),
        "contacts a world": round(float(contacts.mean()), 2),
        "most contacts": int(sim.engine.capacity.most_contacts),
        "bad worlds": len(trouble),
        "trouble": {str(world): what for world, what in list(trouble.items())[:5]},
    }


def show(summary: dict[str, Any], *, as_json: bool) -> None:
    """Print the closing table."""
    from kinema.cli.terminal import quantity, table

    if as_json:
        print(json.dumps(summary, indent=2))
        return
    shown = dict(summary)
    trouble = shown.pop("trouble")
    bad = shown.pop("bad worlds")
    shown["steps per second"] = quantity(shown["steps per second"])
    shown["real-time factor"] = f"{shown['real-time factor']:,}"
    shown["status"] = "all worlds fine" if not bad else f"{bad} of {shown['worlds']} worlds went bad"
    rows = [(name, value) for name, value in shown.items()]
    rows += [(f"world {world}", ", ".join(what)) for world, what in trouble.items()]
    table(("", ""), rows)
