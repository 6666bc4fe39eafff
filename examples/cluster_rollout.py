"""Roll out a policy in many worlds over the workers of a Ray cluster, and check that one process gives the same.

    python examples/cluster_rollout.py                          two workers on this machine
    python examples/cluster_rollout.py --address auto --workers 16 --worlds 65536

The policy is an ordinary function of a batch of worlds. Random numbers come from the batch, so that each world's depend
on the seed and its own index alone: the outcome is the same for any number of workers.
"""

import argparse

import numpy as np

from kinema.cluster import LocalExecutor, RayExecutor, rollout
from kinema.envs.task import model_path


def scattered(batch):
    """Initial states: upright, more or less."""
    return {"qpos": batch.draws.uniform(-0.1, 0.1, 2), "qvel": batch.draws.uniform(-0.1, 0.1, 2)}


def balance(batch):
    """Linear feedback, with a little noise."""
    x, angle = batch.qpos[:, 0], batch.qpos[:, 1]
    v, rate = batch.qvel[:, 0], batch.qvel[:, 1]
    push = 0.2 * x + 0.4 * v + 5.0 * angle + 1.2 * rate + 0.05 * batch.draws.normal()
    return np.clip(push, -1, 1)[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--address", default=None, help="address of a Ray cluster; a local one is started without it")
    given = parser.parse_args()
    job = dict(
        worlds=given.worlds, steps=given.steps, policy=balance, initial=scattered, decimation=2, every=10, seed=0
    )
    with RayExecutor(given.workers, address=given.address) as executor:
        spread = rollout(model_path("cartpole"), **job, executor=executor)
    alone = rollout(model_path("cartpole"), **job, executor=LocalExecutor())
    angle = np.abs(spread.arrays["qpos"][-1, :, 1])
    print(f"{given.worlds} worlds, {given.steps} steps: {np.mean(angle < 0.1):.0%} of the poles stand")
    print(f"{given.workers} workers: {spread.seconds:.2f} s; one process: {alone.seconds:.2f} s")
    print(f"equal to the bit: {np.array_equal(spread.arrays['qpos'], alone.arrays['qpos'])}")


if __name__ == "__main__":
    main()
