"""Measure how many steps a second this machine does, beside MuJoCo where it is installed.

Without a MODEL two built-in scenes are measured: a heap of objects that touch each other, and a chain of hinges. On the
CPU the other side is MuJoCo with as many threads; both start from the same state and run in turns, and the ratio is
that of the medians. The project's own benchmarks (MuJoCo Warp on a GPU, scaling, build times) are in its repository:
python -m benchmarks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from kinema.cli.arguments import add_device, count

SUMMARY = "Measure steps per second, beside MuJoCo."
EXAMPLES = """\
examples:
  kinema bench
  kinema bench robot.xml --worlds 1,64,1024
  kinema bench robot.xml --device cuda:0 --worlds 8192 --steps 200
"""
TURNS = 3
SETTLE = 100
"""Steps run before anything is measured, so that what falls has fallen."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="*", help="models to measure (default: built-in scenes)")
    parser.add_argument("--worlds", default=None, metavar="N,N,..", help="numbers of worlds (default 1,64; GPU 4096)")
    parser.add_argument("--steps", type=count(), default=100, metavar="N", help="steps a turn (default 100)")
    parser.add_argument("--threads", type=count(), metavar="N", help="CPU threads (default: one a core)")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    add_device(parser)


def run(args: argparse.Namespace) -> int:
    from kinema.cli.models import device_of, source_of
    from kinema.cli.terminal import note, quantity, table

    device = device_of(args.device)
    counts = _counts(args.worlds or ("1,64" if device == "cpu" else "4096"))
    models = {path: source_of(path) for path in args.models} or scenes()
    results = []
    for name, source in models.items():
        for worlds in counts:
            note(f"{name}, {worlds} worlds ...")
            results.append({"model": name, **measure(source, worlds, args.steps, device, args.threads)})
    if args.json:
        print(json.dumps(results, indent=2))
        return 0
    rows = []
    for r in results:
        peer = (quantity(r["mujoco"]), f"{r['ratio']:.2f}") if r["mujoco"] else ("-", "-")
        rows.append(
            (r["model"], r["worlds"], quantity(r["kinema"]), f"{r['realtime']:,.0f}", *peer, f"{r['setup']:.1f}")
        )
    table(("model", "worlds>", "steps/s>", "x real time>", "MuJoCo steps/s>", "ratio>", "kernels s>"), rows)
    return 0


def _counts(text: str) -> list[int]:
    from kinema.errors import BuildError

    try:
        return [count()(word) for word in text.split(",")]
    except argparse.ArgumentTypeError as error:
        raise BuildError(f"--worlds {text}: {error}") from None


def scenes() -> dict[str, str]:
    """The built-in scenes, as XML text."""
    kinds = ("box", "sphere", "capsule")
    heap = "".join(
        f'<body pos="{0.25 * (i % 4)} {0.25 * (i // 4 % 4)} {0.3 + 0.3 * (i // 16)}"><freejoint/>'
        f'<geom type="{kinds[i % 3]}" size=".1 .1 .1"/></body>'
        for i in range(32)
    )
    capsule = '<geom type="capsule" fromto="0 0 0 0 0 -.18" size=".02"/>'
    link = f'<body pos="0 0 -.2"><joint axis="{{axis}}" damping=".1"/>{capsule}'
    chain = "".join(link.format(axis="1 0 0" if i % 2 else "0 1 0") for i in range(20)) + "</body>" * 20
    return {
        "objects": f'<mujoco><worldbody><geom type="plane" size="10 10 .1"/>{heap}</worldbody></mujoco>',
        "chain": f"<mujoco><worldbody>{chain}</worldbody></mujoco>",
    }


def measure(source, worlds: int, steps: int, device: str, threads: int | None) -> dict[str, Any]:
    """Steps a second of Kinema and, on the CPU, of MuJoCo, in turns."""
    import warp as wp

    from kinema.simulation import Simulation

    sim = Simulation(source, worlds, device, threads)
    begin = time.perf_counter()
    sim.step()
    wp.synchronize_device(device)
    setup = time.perf_counter() - begin
    sim.reset()
    sim.step(SETTLE)
    saved = sim.get_state()

    def ours() -> None:
        sim.step(steps)
        wp.synchronize_device(device)

    peer = Peer(source, saved, worlds, sim.engine.threads) if device == "cpu" and _has_mujoco() else None
    rates: dict[str, list[float]] = {"kinema": [], "mujoco": []}
    for _ in range(TURNS):
        sim.set_state(**{name: value for name, value in saved.items() if value.size})
        rates["kinema"].append(worlds * steps / _seconds(ours))
        if peer:
            rates["mujoco"].append(worlds * steps / _seconds(lambda: peer.run(steps)))
    own = statistics.median(rates["kinema"])
    other = statistics.median(rates["mujoco"]) if peer else None
    return {
        "worlds": worlds, "device": device, "threads": sim.engine.threads, "kinema": own, "mujoco": other,
        "ratio": own / other if other else None, "realtime": own * float(sim.model.opt.timestep), "setup": setup,
    }  # fmt: skip


def _seconds(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _has_mujoco() -> bool:
    import importlib.util

    return importlib.util.find_spec("mujoco") is not None


class Peer:
    """MuJoCo on as many threads, from the same state."""

    def __init__(self, source, saved: dict, worlds: int, threads: int):
        import mujoco
        import mujoco.rollout
        import numpy as np

        from kinema.cli.models import mujoco_model

        self.m = mujoco_model(source)
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        probe = mujoco.MjData(self.m)
        self.state = np.empty((worlds, mujoco.mj_stateSize(self.m, kind)))
        for world in range(worlds):
            for name in ("time", "qpos", "qvel", "act"):
                value = saved[name][world]
                if np.ndim(value) == 0:
                    setattr(probe, name, float(value))
                else:
                    getattr(probe, name)[:] = value
            mujoco.mj_getState(self.m, probe, self.state[world], kind)
        self.warm = np.asarray(saved["qacc_warmstart"], float)
        self.data = [mujoco.MjData(self.m) for _ in range(threads)]
        self.pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)

    def run(self, steps: int) -> None:
        self.pool.rollout(self.m, self.data, self.state, nstep=steps, initial_warmstart=self.warm)
