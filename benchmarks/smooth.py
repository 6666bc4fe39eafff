"""Speed of smooth dynamics against MuJoCo C, measured in one run on this machine: ratios, not times.

    python benchmarks/smooth.py              both cases
    python benchmarks/smooth.py --cold       first use: seconds until the humanoid has stepped, cold and warm cache

The humanoid of dm_control with contacts and constraints switched off, 1 world on one thread, 256 worlds on two.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np

WORLDS, THREADS, STEPS = 256, 2, 50


def humanoid() -> mujoco.MjModel:
    folder = Path(importlib.util.find_spec("dm_control").submodule_search_locations[0])
    m = mujoco.MjModel.from_xml_path(str(folder / "suite" / "humanoid.xml"))
    for name in ("CONSTRAINT", "CONTACT"):
        m.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    return m


def rates(theirs: Callable[[], None], ours: Callable[[], None], steps: int, repeat: int = 15) -> tuple[float, float]:
    """World steps a second of both, run in turns so that both meet the same machine; the best of several."""
    best = [np.inf, np.inf]
    for _ in range(repeat):
        for k, run in enumerate((theirs, ours)):
            start = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - start)
    return steps / best[0], steps / best[1]


def single() -> tuple[float, float]:
    """One world: MuJoCo, Kinema."""
    from kinema.simulation import Simulation

    m, steps = humanoid(), 1000
    d = mujoco.MjData(m)
    sim = Simulation(m, device="cpu", threads=1)
    velocity = np.random.default_rng(0).normal(size=m.nv) * 0.1
    d.qvel[:] = velocity
    sim.set_state(qvel=velocity)
    sim.step(10)
    return rates(lambda: mujoco.mj_step(m, d, nstep=steps), lambda: sim.step(steps), steps)


def batch() -> tuple[float, float]:
    """Many worlds on two threads: MuJoCo's rollout, Kinema."""
    from kinema.simulation import Simulation

    m = humanoid()
    sim = Simulation(m, worlds=WORLDS, device="cpu", threads=THREADS)
    velocity = np.random.default_rng(0).normal(size=(WORLDS, m.nv)) * 0.1
    sim.set_state(qvel=velocity)
    sim.step(1)
    start = np.zeros((WORLDS, mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    start[:, 1 : 1 + m.nq] = m.qpos0
    start[:, 1 + m.nq : 1 + m.nq + m.nv] = velocity
    with mujoco.rollout.Rollout(nthread=THREADS) as rollout:
        datas = [mujoco.MjData(m) for _ in range(THREADS)]
        theirs = lambda: rollout.rollout(m, datas, start, nstep=STEPS)  # noqa: E731
        return rates(theirs, lambda: sim.step(STEPS), WORLDS * STEPS, repeat=7)


def first_use() -> None:
    """Seconds from process start to a stepped humanoid, cold and warm."""
    code = "import sys; sys.path.insert(0, 'benchmarks'); from smooth import humanoid; from kinema.simulation import "
    code += "Simulation; s = Simulation(humanoid(), device='cpu'); s.step()"
    with tempfile.TemporaryDirectory() as cache:
        for label in ("cold", "warm"):
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            env = {**os.environ, "WARP_CACHE_PATH": cache}
            subprocess.run([sys.executable, "-c", code], check=True, env=env, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"first use, {label} cache: {time.perf_counter() - start:.1f} s, of which computing {busy:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true", help="measure first use instead")
    if parser.parse_args().cold:
        first_use()
        return
    for label, measure in (("1 world, 1 thread", single), (f"{WORLDS} worlds, {THREADS} threads", batch)):
        theirs, ours = measure()
        print(f"{label:24} MuJoCo {theirs:10.0f} /s   Kinema {ours:10.0f} /s   ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
