"""Tasks by name: `make("CartPole", 64)`, and the same to Gymnasium as "kinema/CartPole-v0"."""

from __future__ import annotations

from typing import Any

from kinema.envs.task import Task
from kinema.envs.tasks import CartPole, Hopper, Humanoid, Quadruped, Reacher
from kinema.envs.vector_env import VectorEnv, gymnasium
from kinema.errors import UnknownKey, did_you_mean

NAMESPACE = "kinema"
TASKS: dict[str, type[Task]] = {}


def register(task: type[Task], name: str | None = None) -> type[Task]:
    """Make a task known by its name, the class' own by default, here and to Gymnasium; usable as a decorator."""
    name = name or task.__name__
    TASKS[name] = task
    gymnasium.register(f"{NAMESPACE}/{name}-v0", vector_entry_point=f"{__name__}:make", kwargs={"name": name})
    return task


def make(name: str, num_envs: int = 1, **options: Any) -> VectorEnv:
    """An environment of a registered task; options are those of VectorEnv."""
    short = name.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    known = {known.lower(): known for known in TASKS}
    if short.lower() not in known:
        raise UnknownKey(f"no task named {name!r}{did_you_mean(short, TASKS)}: {', '.join(sorted(TASKS))}")
    return VectorEnv(TASKS[known[short.lower()]](), num_envs, **options)


for _task in (CartPole, Hopper, Humanoid, Quadruped, Reacher):
    register(_task)
