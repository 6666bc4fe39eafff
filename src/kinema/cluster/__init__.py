"""Rollouts over many workers, on one machine or many.

    result = kinema.cluster.rollout("robot.xml", worlds=4096, steps=1000, policy=policy, seed=0,
                                    executor=kinema.cluster.RayExecutor(workers=8))
    result.arrays["qpos"]         (1000, 4096, nq)

The outcome is the same, to the bit, for any number of workers. Ray is the extra `cluster`; LocalExecutor needs nothing.
"""

from kinema.cluster.driver import Result, rollout
from kinema.cluster.executor import Executor, LocalExecutor, WorkerLost
from kinema.cluster.job import Batch
from kinema.cluster.ray_executor import RayExecutor
from kinema.cluster.shards import read_shards

__all__ = ["Batch", "Executor", "LocalExecutor", "RayExecutor", "Result", "WorkerLost", "read_shards", "rollout"]
