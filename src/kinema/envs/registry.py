"""Tasks by name: `make("CartPole", 64)`; to Gymnasium "kinema/CartPole-v0", one world (make) or many (make_vec)."""

from __future__ import annotations

import inspect
import re
from typing import Any

from kinema.envs.single_env import SingleEnv
from kinema.envs.task import Task
from kinema.envs.tasks import CartPole, CartPolePixels, Hopper, Humanoid, Quadruped, Reacher, gymnasium_v5
from kinema.envs.vector_env import VectorEnv, gymnasium
from kinema.errors import UnknownKey, did_you_mean

NAMESPACE = "kinema"
TASKS: dict[str, type[Task]] = {}


def register(task: type[Task], name: str | None = None) -> type[Task]:
    """Make a task known by its name, the class' own by default, here and to Gymnasium; usable as a decorator.

    A name may end with a version, as in "Ant-v5"; Gymnasium is told version 0 otherwise.
    """
    name = name or task.__name__
    TASKS[name] = task
    known = f"{NAMESPACE}/{name}" if re.search(r"-v\d+$", name) else f"{NAMESPACE}/{name}-v0"
    one, many = f"{__name__}:make_single", f"{__name__}:make_vector"
    gymnasium.register(known, entry_point=one, vector_entry_point=many, kwargs={"name": name})
    return task


def make(name: str, num_envs: int = 1, **options: Any) -> VectorEnv:
    """An environment of a registered task; options are those of VectorEnv, and those of the task's own class."""
    task = find(name)
    own = set(_parameters(task)) & set(options)
    return VectorEnv(task(**{key: options.pop(key) for key in own}), num_envs, **options)


def make_vector(name: str, num_envs: int = 1, **options: Any) -> VectorEnv:
    """The same for Gymnasium, whose own wrapper keeps the statistics, and wants them kept by nobody else."""
    return make(name, num_envs, **{"statistics": False} | options)


def make_single(name: str, **options: Any) -> SingleEnv:
    """One world of a registered task, as gymnasium.Env."""
    options = {"statistics": False, "threads": 1} | options
    return SingleEnv(make(name, 1, autoreset_mode="Disabled", **options))


def find(name: str) -> type[Task]:
    """The task of a name: with or without namespace, version, and care for capitals."""
    short = name.removeprefix(f"{NAMESPACE}/")
    known = {known.lower(): known for known in [*_newest(), *TASKS]}
    for tried in (short.lower(), short.removesuffix("-v0").lower()):
        if tried in known:
            return TASKS[_newest().get(known[tried], known[tried])]
    raise UnknownKey(f"no task named {name!r}{did_you_mean(short, TASKS)}: {', '.join(sorted(TASKS))}")


def _newest() -> dict[str, str]:
    """Names without their version, where no other task has them: the newest version of each."""
    versions = sorted((name for name in TASKS if re.search(r"-v\d+$", name)), key=lambda n: int(n.rpartition("-v")[2]))
    return {bare: name for name in versions if (bare := name.rpartition("-v")[0]) not in TASKS}


def _parameters(task: type[Task]) -> list[str]:
    """Options that a task's class takes, its bases' included."""
    found: list[str] = []
    for part in task.__mro__:
        own = vars(part).get("__init__")
        if own is not None and part is not object:
            kinds = inspect.signature(own).parameters.values()
            found += [p.name for p in kinds if p.kind == inspect.Parameter.KEYWORD_ONLY]
    return found


for _task in (CartPole, CartPolePixels, Hopper, Humanoid, Quadruped, Reacher):
    register(_task)
for _task in (gymnasium_v5.Ant, gymnasium_v5.HalfCheetah, gymnasium_v5.Hopper, gymnasium_v5.Humanoid,
              gymnasium_v5.Walker2d):  # fmt: skip
    register(_task, f"{_task.__name__}-v5")
