"""What a linearization costs: in steps of the same worlds, and beside MuJoCo's differences.

    python -m benchmarks gradients --model humanoid.xml --worlds 64 [--device cpu] [--seconds 2]
    python -m benchmarks gradients --worlds 4096 8192 --device cuda:0

A and B of every world, after a second of motion with small random controls, and one product with them, as a rollout
goes back through a step; forward dynamics are part of both. A step is timed from the same state, every time. On the
CPU one thread is measured against `mjd_transitionFD` on one thread, forward differences, the cheaper of its two kinds.
Several models and numbers of worlds may be asked for; `--integrator` takes another than the model's own.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import warp as wp

from kinema.convex.engine import Engine
from kinema.gradients.linearize import Linearizer
from kinema.mujoco_enums import Integrator


def humanoid() -> str:
    """The humanoid of dm_control."""
    spec = importlib.util.find_spec("dm_control")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("dm_control is not installed: name a model with --model")
    return str(Path(spec.submodule_search_locations[0]) / "suite" / "humanoid.xml")


def load(path: str) -> mujoco.MjModel:
    """A model, compiled or not."""
    return mujoco.MjModel.from_binary_path(path) if path.endswith(".mjb") else mujoco.MjModel.from_xml_path(path)


def moving(m: mujoco.MjModel, steps: int) -> mujoco.MjData:
    """A state in the middle of motion."""
    d, rng = mujoco.MjData(m), np.random.default_rng(0)
    for _ in range(steps):
        d.ctrl[:] = 0.3 * rng.normal(size=m.nu)
        mujoco.mj_step(m, d)
    return d


def best(run: Callable[[], None], seconds: float, before: Callable[[], None] = lambda: None) -> float:
    """Seconds of the quickest call; the first does not count, nor what is done before each."""
    before()
    run()
    found, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or found == np.inf:
        before()
        begun = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - begun)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", nargs="+", default=[])
    parser.add_argument("--worlds", type=int, nargs="+", default=[64])
    parser.add_argument("--integrator", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    for path in given.model or [humanoid()]:
        m = load(path)
        if given.integrator:
            m.opt.integrator = int(Integrator[given.integrator.upper()])
        d = moving(m, round(1.0 / m.opt.timestep))
        A, B = np.zeros((2 * m.nv + m.na, 2 * m.nv + m.na)), np.zeros((2 * m.nv + m.na, m.nu))
        theirs = best(lambda m=m, d=d, A=A, B=B: mujoco.mjd_transitionFD(m, d, 1e-6, False, A, B, None, None), 1.0)
        mujoco.mjd_transitionFD(m, d, 1e-6, True, A, B, None, None)
        for worlds in given.worlds:
            measure(path, m, d, (A, B), theirs, worlds, given.device, given.seconds)


def measure(
    path: str, m: mujoco.MjModel, d: mujoco.MjData, judge: tuple[np.ndarray, np.ndarray], theirs: float, worlds: int,
    device: str, seconds: float,
) -> None:  # fmt: skip
    """One model in so many worlds, beside what differences found, and how long they took."""
    engine = Engine(m, worlds, device=device)
    for name in ("qpos", "qvel", "act", "ctrl", "qacc_warmstart"):
        if np.size(getattr(d, name)):
            engine.write(name, getattr(d, name))
    linearizer = Linearizer(engine, sensors=False)
    begun = time.perf_counter()
    found, nx = linearizer().numpy()[0].copy(), linearizer.nx
    print(f"{Path(path).parent.name}/{Path(path).name}, {m.nv} dofs: made in {time.perf_counter() - begun:.1f} s; "
          f"{linearizer.memory / 2**20:.1f} MiB of scratch; {linearizer.against() or 'in closed form'}")  # fmt: skip
    for label, mine, other in (("A", found[:, :nx], judge[0]), ("B", found[:, nx:], judge[1])):
        print(f"{label}: relative difference from mjd_transitionFD {_off(mine, other):.1e}")
    along = wp.array(np.random.default_rng(1).normal(size=(worlds, nx)), dtype=float, device=engine.device)

    def linearize() -> None:
        linearizer()
        wp.synchronize_device(engine.device)

    def step() -> None:
        engine.step()
        wp.synchronize_device(engine.device)

    begins = {name: engine.layout.arrays[name] for name in sorted(engine.inputs) if engine.layout.arrays[name].size}
    kept = {name: wp.clone(array) for name, array in begins.items()}

    def put_back() -> None:
        for name, array in begins.items():
            wp.copy(array, kept[name])
        wp.synchronize_device(engine.device)

    def product() -> None:
        engine.forward()
        linearizer.pull(along)
        wp.synchronize_device(engine.device)

    ours, pulled, one = best(linearize, seconds), best(product, seconds), best(step, seconds, put_back)
    print(f"{worlds} worlds on {engine.device}: {1e6 * ours / worlds:.2f} us a world, "
          f"{worlds / ours:.0f} pairs of A and B a second; {ours / one:.1f} steps; "
          f"a product {pulled / one:.1f} steps; a step {1e6 * one / worlds:.2f} us a world")  # fmt: skip
    print(f"mjd_transitionFD, forward differences, one core: {1e6 * theirs:.0f} us: {theirs * worlds / ours:.1f} "
          "times as long")  # fmt: skip


def _off(mine: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.linalg.norm(mine - theirs) / max(np.linalg.norm(theirs), 1e-12))


if __name__ == "__main__":
    main()
