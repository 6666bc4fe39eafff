"""Worlds that differ: a Model of many kinds of robots beside as many worlds of one kind of the mean size.

    python -m benchmarks classes                                          the CPU, 60 robots of 6 kinds
    python -m benchmarks classes --device cuda:0 --worlds 1000 --classes 50
    python -m benchmarks classes --device cuda:0 --worlds 1000 --classes 50 --strangers

A robot is a free body with 2 to 6 legs of two links each, of random lengths. Kinds that differ in lengths only share an
engine; with `--strangers` every kind has a shape of its own, and so an engine of its own. `made` is seconds from
documents to a solver, `build` until it has made its first step, compiling included: a second run finds kernels
compiled. `MB` is what engines hold on the device.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import warp as wp

from benchmarks.clock import seconds
from kinema import ModelBuilder, SolverConvex

CALLS = 20
TURNS = 8
SETTLE = 60
SHAPES = ("capsule", "box", "cylinder", "ellipsoid")


def robot(legs: int, rng: np.random.Generator, kind: int | None = None) -> str:
    """A document of one kind; with a number, of a structure that no other number has."""
    parts = []
    for k in range(legs):
        angle, upper, lower = 2 * np.pi * k / legs, *rng.uniform(0.15, 0.35, 2)
        x, y = 0.25 * np.cos(angle), 0.25 * np.sin(angle)
        parts.append(
            f'<body pos="{x} {y} 0" zaxis="{x} {y} 0"><joint axis="0 1 0" range="-60 60"/>'
            f'<geom type="capsule" size=".04" fromto="0 0 0 0 0 {upper}"/><body pos="0 0 {upper}">'
            f'<joint axis="0 1 0" range="-90 90"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 {lower}"/>'
            "</body></body>"
        )
    more = ""
    for digit in [] if kind is None else np.base_repr(kind, 4):
        more += f'<geom type="{SHAPES[int(digit)]}" size=".05 .05 .05" pos="0 0 .1"/>'
    return (
        '<mujoco><option timestep=".004"/><default><joint damping=".5" armature=".01"/></default><worldbody>'
        f'<geom type="plane" size="0 0 1"/><body pos="0 0 .5"><freejoint/><geom type="box" size=".2 .2 .06"/>{more}'
        f"{''.join(parts)}</body></worldbody></mujoco>"
    )


def measure(documents: list[str], worlds: int, device: str) -> dict[str, float]:
    """Steps a second of all worlds together, seconds of building, megabytes, and number of engines."""
    begin = time.perf_counter()
    main = ModelBuilder()
    for k, document in enumerate(documents):
        one = ModelBuilder()
        one.add_mjcf(document)
        main.replicate(one, worlds // len(documents) + (k < worlds % len(documents)))
    model = main.finalize(device=device)
    solver, state = SolverConvex(model), model.state()
    made = time.perf_counter() - begin
    solver.step(state, state)
    wp.synchronize_device(device)
    build = time.perf_counter() - begin
    for _ in range(SETTLE):
        solver.step(state, state)
    best = seconds(lambda: solver.step(state, state), device, turns=TURNS, each=CALLS)
    if solver.trouble():
        raise SystemExit(f"trouble in {len(solver.trouble())} worlds: {next(iter(solver.trouble().values()))}")
    held = 0
    for batch in solver.batches:
        shared, each = batch.engine.memory()
        held += sum(shared.values()) + batch.engine.nworld * sum(each.values())
    return {"engines": len(solver.batches), "made": made, "build": build, "MB": held / 1e6, "rate": worlds / best}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--classes", type=int, default=6)
    parser.add_argument("--strangers", action="store_true", help="an engine for each kind")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    legs = [2 + k % 5 for k in range(options.classes)]
    kinds = [robot(n, rng, k if options.strangers else None) for k, n in enumerate(legs)]
    mean = robot(round(sum(legs) / len(legs)), rng, 1 if options.strangers else None)
    print(f"{options.worlds} worlds on {options.device}")
    print(f"{'':<24} {'engines':>8} {'made s':>8} {'build s':>8} {'MB':>8} {'steps/s':>12}")
    rates = []
    for name, documents in (("one kind", [mean]), (f"{options.classes} kinds", kinds)):
        found = measure(documents, options.worlds, options.device)
        rates.append(found["rate"])
        print(
            f"{name:<24} {found['engines']:>8} {found['made']:>8.1f} {found['build']:>8.1f} {found['MB']:>8.1f} "
            f"{found['rate']:>12,.0f}", flush=True,
        )  # fmt: skip
    print(f"{100 * rates[1] / rates[0]:.0f} % of the rate of one kind")


if __name__ == "__main__":
    main()
