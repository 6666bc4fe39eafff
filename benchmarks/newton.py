"""What Newton's interface costs beside the physics: SolverConvex.step beside Simulation.step, call by call.

    python -m benchmarks newton                            the CPU, 256 humanoids
    python -m benchmarks newton --device cuda:0 --worlds 256 4096
    python -m benchmarks newton --model path/to/scene.xml

Both begin at the model's initial state and fall for a while first. Then they take turns of a few steps, and the least
time of a step counts: what else the machine does makes turns longer, never shorter. On the CPU it is the time of the
process, on a GPU that of the clock after it has finished. `in place` writes a step into the state it came from,
`swapped` into another one; `apart`, on a GPU, launches what reads and writes the state by itself, not in one graph
with the step.
"""

from __future__ import annotations

import argparse

import warp as wp

from benchmarks.clock import least
from benchmarks.doors import humanoid
from kinema import ModelBuilder, Simulation, SolverConvex

TURNS = 40
CALLS = 10
SETTLE = 60


def compare(model_source: str, worlds: int, device: wp.Device, threads: int | None) -> None:
    sim = Simulation(model_source, worlds, str(device), threads)
    one, many = ModelBuilder(), ModelBuilder()
    one.add_mjcf(model_source)
    many.replicate(one, worlds)
    model = many.finalize(device=str(device))
    solver, control = SolverConvex(model, threads=threads), model.control()
    states = [model.state(), model.state(), model.state()]

    def swapped() -> None:
        solver.step(states[1], states[2], control, None, None)
        states[1], states[2] = states[2], states[1]

    calls = {
        "Simulation.step": sim.step,
        "SolverConvex.step, in place": lambda: solver.step(states[0], states[0], control, None, None),
        "SolverConvex.step, swapped": swapped,
    }
    if device.is_cuda:
        alone, other = SolverConvex(model), model.state()
        alone._convoy = None
        calls["SolverConvex.step, apart"] = lambda: alone.step(other, other, control, None, None)
    for _ in range(SETTLE):
        for call in calls.values():
            call()
    found = {name: 1e3 * s for name, s in least(calls, device, turns=TURNS, each=CALLS).items()}
    plain = found["Simulation.step"]
    print(f"{worlds} worlds, nv {sim.model.nv}, {device}")
    print(f"{'':<28} {'ms a step':>10} {'steps/s':>12} {'over':>7}")
    for name, ms in found.items():
        print(f"{name:<28} {ms:>10.3f} {worlds * 1e3 / ms:>12,.0f} {100 * (ms / plain - 1):>6.1f}%", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks newton")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, nargs="+", default=[256])
    parser.add_argument("--model", default=humanoid())
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    for worlds in options.worlds:
        compare(options.model, worlds, wp.get_device(options.device), options.threads)


if __name__ == "__main__":
    main()
