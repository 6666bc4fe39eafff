"""Worlds that differ: a Model of many kinds of robots beside as many worlds of one kind of the mean size.

    python -m benchmarks classes                                          the CPU, 60 robots of 6 kinds
    python -m benchmarks classes --device cuda:0 --worlds 1000 --classes 50

A robot is a free body with 2 to 6 legs of two links each, of random lengths. Worlds of
one kind share an engine, so kinds are what costs. `build` is seconds from builders to a solver that has made a step.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import warp as wp

from kinema import ModelBuilder, SolverConvex

CALLS = 10
TURNS = 8


def robot(legs: int, rng: np.random.Generator) -> str:
    """A document of one kind."""
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
    return (
        '<mujoco><option timestep=".004"/><default><joint damping=".5" armature=".01"/></default><worldbody>'
        f'<geom type="plane" size="0 0 1"/><body pos="0 0 .5"><freejoint/><geom type="box" size=".2 .2 .06"/>'
        f"{''.join(parts)}</body></worldbody></mujoco>"
    )


def rate(documents: list[str], worlds: int, device: str) -> tuple[float, float, int]:
    """Steps a second of all worlds together, seconds of building, and number of engines."""
    begin = time.perf_counter()
    main = ModelBuilder()
    for k, document in enumerate(documents):
        one = ModelBuilder()
        one.add_mjcf(document)
        main.replicate(one, worlds // len(documents) + (k < worlds % len(documents)))
    model = main.finalize(device=device)
    solver, state = SolverConvex(model), model.state()
    solver.step(state, state)
    wp.synchronize_device(device)
    build = time.perf_counter() - begin
    for _ in range(50):
        solver.step(state, state)
    best = np.inf
    clock = time.process_time if wp.get_device(device).is_cpu else time.perf_counter
    for _ in range(TURNS):
        wp.synchronize_device(device)
        begin = clock()
        for _ in range(CALLS):
            solver.step(state, state)
        wp.synchronize_device(device)
        best = min(best, (clock() - begin) / CALLS)
    return worlds / best, build, len(solver.batches)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--classes", type=int, default=6)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    legs = [2 + k % 5 for k in range(options.classes)]
    kinds = [robot(n, rng) for n in legs]
    mean = robot(round(sum(legs) / len(legs)), rng)
    print(f"{'':<24} {'engines':>8} {'build s':>8} {'steps/s':>12}")
    rates = []
    for name, documents in (("one kind", [mean]), (f"{options.classes} kinds", kinds)):
        steps, build, engines = rate(documents, options.worlds, options.device)
        rates.append(steps)
        print(f"{name:<24} {engines:>8} {build:>8.1f} {steps:>12,.0f}", flush=True)
    print(f"{100 * rates[1] / rates[0]:.0f} % of the rate of one kind")


if __name__ == "__main__":
    main()
