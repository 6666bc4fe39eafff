"""Environments for reinforcement learning: tasks over many worlds, after Gymnasium. Needs the extra `rl`.

    env = kinema.envs.make("CartPole", num_envs=64, backend="torch")
    env = gymnasium.make_vec("kinema/CartPole-v0", num_envs=64)      # the same, once kinema.envs is imported

A task of your own is a class with a few functions (`Task`); adapters for rsl_rl, skrl and Stable-Baselines3 are in
`kinema.envs.adapters`.
"""

from kinema.draws import Draws
from kinema.envs.registry import TASKS, make, register
from kinema.envs.task import Task
from kinema.envs.variation import Variation
from kinema.envs.vector_env import VectorEnv
from kinema.envs.worlds import Worlds

__all__ = ["TASKS", "Draws", "Task", "Variation", "VectorEnv", "Worlds", "make", "register"]
