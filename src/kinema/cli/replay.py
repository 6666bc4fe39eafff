"""Run a recording again: from its first frame, with its controls, and compare with what it says."""

from __future__ import annotations

import argparse
import time

import numpy as np


def replay(args: argparse.Namespace, device: str) -> int:
    """`kinema run --replay FILE`: 1 when worlds went bad, as they do when a failure is run again."""
    from kinema import recording as recordings
    from kinema.cli import recorder
    from kinema.cli.run import report, show
    from kinema.cli.terminal import note, waiting
    from kinema.errors import BuildError
    from kinema.simulation import Simulation

    for name, value in (("--ctrl", args.ctrl != "zero"), ("--keyframe", args.keyframe), ("--noise", args.noise)):
        if value:
            raise BuildError(f"{name} and --replay exclude each other: a recording brings its start and its controls")
    recording = recordings.load(args.replay)
    worlds = len(recording.worlds)
    if args.worlds not in (None, worlds, 1):
        raise BuildError(f"--worlds {args.worlds}: the recording is of {worlds}")
    if args.worlds == 1:
        recording = recording.of_worlds(0)
    note(f"{args.replay}: {recording!r}")
    sim = Simulation(recording.source, len(recording.worlds), device, args.threads)
    beyond = recording.every if recording.reason else 0  # the step that went wrong
    camera = recorder.camera_of(sim.model, args.camera)
    steps = args.steps or (len(recording) - 1) * recording.every + beyond
    if not steps:
        raise BuildError(f"{args.replay}: the recording has one frame only; say how far to run it with --steps N")
    with waiting(f"running {steps} steps again"):
        sim.forward()
        begin = time.perf_counter()
        again = sim.rerun(recording, steps)
        elapsed = time.perf_counter() - begin
    if args.record:
        recorder.write(again, args.record, sim.model, camera=camera, size=args.size)
    summary = report(sim, steps, elapsed)
    shared = min(len(again), len(recording))
    off = np.abs(again.qpos[:shared] - recording.qpos[:shared])
    summary["difference to the recording"] = float(np.nan_to_num(off, nan=np.inf).max(initial=0.0))
    show(summary, as_json=args.json)
    return 1 if summary["bad worlds"] else 0
