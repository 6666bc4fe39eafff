"""What a step costs as a scene grows: with the number of worlds, of bodies, and of contacts.

    python -m benchmarks scaling                                  the CPU, all cores
    python -m benchmarks scaling --device cuda:0 --worlds 64,512,4096,32768
    python -m benchmarks scaling --only contacts --contacts 4,8,16,32,64

One thing grows at a time: worlds of a chain of 8 links; links of a chain in a fixed number of worlds, nothing touching;
feet of a plate that stands on the ground, a contact a foot. Times are of a step of all worlds, the best of some turns.
The table is printed and drawn into out/scaling.png.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import warp as wp

from benchmarks.plot import Figure, Panel, plot_lines
from kinema import Simulation
from kinema.errors import MissingExtra

TURNS = 3
MOTION = 50  # steps before the first turn: things have come to rest or to swing


def chain(links: int) -> str:
    """Links in a row, hinged in turns about x and y; they swing and touch nothing."""
    link = '<body pos="0 0 -.1"><joint axis="{axis}" damping=".01"/>'
    link += '<geom type="capsule" fromto="0 0 0 0 0 -.09" size=".01" contype="0" conaffinity="0"/>'
    inner = "".join(link.format(axis="1 0 0" if i % 2 else "0 1 0") for i in range(links)) + "</body>" * links
    return f"<mujoco><worldbody>{inner}</worldbody></mujoco>"


def plate(feet: int) -> str:
    """One free body on that many feet, each in contact with the ground."""
    columns = int(np.ceil(np.sqrt(feet)))
    balls = "".join(
        f'<geom type="sphere" size=".02" mass=".1" pos="{0.1 * (i % columns)} {0.1 * (i // columns)} 0"/>'
        for i in range(feet)
    )
    return f"""<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
        <body pos="0 0 .02"><freejoint/>{balls}</body></worldbody></mujoco>"""


def seconds_a_step(xml: str, worlds: int, device: str, steps: int) -> tuple[float, float]:
    """Seconds of a step of all worlds, and contacts of a world."""
    sim = Simulation(xml, worlds=worlds, device=device)
    sim.set_state(qvel=0.1 * np.random.default_rng(0).normal(size=(worlds, sim.model.nv)))
    sim.step(MOTION)
    best = np.inf
    for _ in range(TURNS):
        begin = time.perf_counter()
        sim.step(steps)
        wp.synchronize_device(device)
        best = min(best, (time.perf_counter() - begin) / steps)
    sim.check()
    return best, float(sim.d.ncon.mean())


def measure(what: str, sizes: list[int], scene: Callable[[int], tuple[str, int]], args) -> list[tuple[float, float]]:
    """Microseconds of a step of one world against size; printed as they are found."""
    points = []
    for n in sizes:
        xml, worlds = scene(n)
        seconds, contacts = seconds_a_step(xml, worlds, args.device, args.steps)
        points.append((n, 1e6 * seconds / worlds))
        rate = worlds / seconds
        print(
            f"{what:9} {n:7} {worlds:7} {contacts:9.1f} {1e6 * seconds:12.1f} {points[-1][1]:10.3f} {rate:12,.0f}",
            flush=True,
        )
    return points


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=numbers, default=None, help="numbers of worlds, by commas")
    parser.add_argument("--bodies", type=numbers, default=[2, 4, 8, 16, 32], help="numbers of links of a chain")
    parser.add_argument("--contacts", type=numbers, default=[1, 2, 4, 8, 16], help="numbers of feet of a plate")
    parser.add_argument("--steps", type=int, default=50, help="steps a turn")
    parser.add_argument("--only", choices=("worlds", "bodies", "contacts"))
    args = parser.parse_args(argv)
    cuda = wp.get_device(args.device).is_cuda
    many = args.worlds or ([64, 512, 4096, 32768] if cuda else [1, 4, 16, 64, 256])
    fixed = max(many) if not cuda else 4096
    cases = {
        "worlds": (many, lambda n: (chain(8), n)),
        "bodies": (args.bodies, lambda n: (chain(n), fixed)),
        "contacts": (args.contacts, lambda n: (plate(n), fixed)),
    }
    print(f"{'growing':9} {'size':>7} {'worlds':>7} {'contacts':>9} {'us a step':>12} {'us/world':>10} {'steps/s':>12}")
    panels = []
    for what, (sizes, scene) in cases.items():
        if args.only in (None, what):
            points = measure(what, sizes, scene, args)
            panels.append(Panel(f"{what} ({args.device})", what, "µs a step of one world", {"kinema": points}))
    try:
        print(f"plot: {plot_lines(Figure('scaling', panels))}")
    except MissingExtra as error:
        print(f"no plot: {error}")


if __name__ == "__main__":
    main()
