"""Rollouts on a cluster: what a message costs, and what more workers bring.

    python -m benchmarks cluster [--workers 1 2] [--worlds 512] [--steps 2000] [--model file.xml]

overhead: time a chunk takes beyond the time its worker is busy with it, for chunks of 1, 10, 100 and 1000 steps.
scaling:  world steps a second with 1, 2, ... workers of one core each, against one process with one thread.
"""

import argparse
import os
import time

import numpy as np

from kinema.cluster import LocalExecutor, RayExecutor, rollout
from kinema.envs.task import model_path


def timed(source, executor, **job) -> tuple[float, float, object]:
    """Seconds from the first call to the last outcome, those workers were busy, and the result."""
    rollout(source, **(job | {"steps": job["chunk"]}), executor=executor)  # kernels, caches
    result = rollout(source, **job, executor=executor)
    return result.seconds, result.busy, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--model", default=str(model_path("cartpole")))
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"load of this machine: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")

    began = time.perf_counter()
    executor = RayExecutor(1)
    print(f"a local cluster starts in {time.perf_counter() - began:.1f} s")
    print(f"{'chunk':>6} {'calls':>6} {'ms a call':>10} {'of it outside the worker':>25}")
    for chunk in (1, 10, 100, 1000):
        calls = max(20, min(200, 2000 // chunk))
        seconds, busy, _ = timed(given.model, executor, worlds=64, block=64, chunk=chunk, steps=calls * chunk,
                                 every=chunk)  # fmt: skip
        print(f"{chunk:>6} {calls:>6} {1e3 * seconds / calls:>10.2f} {(seconds - busy) / seconds:>24.0%}")
    executor.close()

    job = dict(worlds=given.worlds, steps=given.steps, chunk=500, every=500, block=64)
    total = given.worlds * given.steps
    inline = [timed(given.model, LocalExecutor(threads=1), **job) for _ in range(given.repeat)]
    best, expected = min(run[0] for run in inline), inline[0][2].state["qpos"]
    print(f"{'workers':>8} {'steps/s':>12} {'speed-up':>9}  best of {given.repeat}")
    print(f"{'inline':>8} {total / best:>12,.0f} {1:>8.2f}x")
    for workers in given.workers:
        executor = RayExecutor(workers)
        runs = [timed(given.model, executor, **job) for _ in range(given.repeat)]
        executor.close()
        same = all(np.array_equal(expected, run[2].state["qpos"]) for run in runs)
        quickest = min(run[0] for run in runs)
        told = "equal bits" if same else "BITS DIFFER"
        print(f"{workers:>8} {total / quickest:>12,.0f} {best / quickest:>8.2f}x  {told}")


if __name__ == "__main__":
    main()
