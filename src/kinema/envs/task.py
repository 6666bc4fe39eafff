"""A task: what a world is asked to do, as a few functions over the arrays of all worlds at once.

    class Balance(Task):
        model = "cartpole.xml"
        max_episode_steps = 500

        def randomise(self, worlds, draws):
            return {"qpos": draws.uniform(-0.05, 0.05, 2), "qvel": draws.uniform(-0.05, 0.05, 2)}

        def observe(self, worlds):
            return worlds.xp.concatenate([worlds.qpos, worlds.qvel], -1)

        def reward(self, worlds, action):
            return worlds.xp.cos(worlds.qpos[:, 1])

        def terminated(self, worlds):
            return worlds.xp.abs(worlds.qpos[:, 1]) > 0.2

    env = kinema.envs.VectorEnv(Balance(), num_envs=64)

A task has no state of its own that changes: what it must remember of a world (a command, a target) lives in the world,
in `userdata` (`<size nuserdata="3"/>`) or as a mocap body, and so is saved, restored and reset with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinema.draws import Draws
from kinema.envs.worlds import Worlds


class Task:
    """Override what differs. Every array has a leading axis of worlds and belongs to `worlds.xp`.

    Attributes:
        model: MJCF file, XML text, document or compiled model.
        decimation: Time steps an action is held for.
        max_episode_steps: Actions after which an episode is cut off (truncated).
        keyframe: Keyframe episodes start from; None: the model's initial state.
        refresh: What is computed anew after a step and after a reset, for observations: "none" (qpos, qvel, act, ctrl,
            userdata and mocap poses need nothing), "motion" (poses and velocities of bodies, geoms and sites) or
            "forward" (everything, sensors and contacts included; costs as much as a time step).
        refresh_start: The same after a reset only, in the worlds that were reset; None: as `refresh`.
        ranges: What differs from world to world, as data: `Variation`s, or name -> (low, high), factors on the model's
            values, drawn independently for each number: {"body_mass": (0.8, 1.2), "dof_damping": (0.5, 2)}.
    """

    model: Any = None
    decimation: int = 1
    max_episode_steps: int = 1000
    keyframe: int | str | None = None
    refresh: str = "none"
    refresh_start: str | None = None
    ranges: Mapping[str, Any] | Sequence[Any] = {}

    def bind(self, worlds: Worlds) -> None:
        """Called once, when the worlds exist: look up indices and constants."""

    def randomise(self, worlds: Worlds, draws: Draws) -> dict[str, Any]:
        """Parts of the state new episodes start with, by name; those left out are the keyframe's or the model's."""
        return {}

    def vary(self, worlds: Worlds, draws: Draws) -> dict[str, np.ndarray]:
        """Parameters of the model per world, NumPy arrays (worlds, ...); drawn whenever the environment is seeded.

        What derives from them (inverse weights, masses of subtrees) is computed again. For numbers that belong
        together; those that do not are `ranges`.
        """
        return {}

    def act(self, worlds: Worlds, action: Any) -> None:
        """Turn actions in [-1, 1], (worlds, nu), into controls: the range of each actuator, or as they are."""
        worlds.write({"ctrl": worlds.controls(action)})

    def observe(self, worlds: Worlds) -> Any:
        """What the policy sees, (worlds, n)."""
        raise NotImplementedError

    def reward(self, worlds: Worlds, action: Any) -> Any:
        """The reward of the step just made with these actions, (worlds,)."""
        raise NotImplementedError

    def info(self, worlds: Worlds, action: Any) -> dict[str, Any]:
        """What else is told of a step, by name: arrays (worlds, ...)."""
        return {}

    def action_range(self, model: Any) -> tuple[Any, Any]:
        """Lowest and highest actions, one number or one an actuator; what is given beyond is clipped."""
        return -1.0, 1.0

    def observation_space(self, shape: tuple[int, ...]) -> Any:
        """The space of one world's observations: Gymnasium's, or the arguments of a Box."""
        return -np.inf, np.inf, shape, np.float32

    def terminated(self, worlds: Worlds) -> Any:
        """Has the episode come to an end of its own, (worlds,) booleans."""
        return worlds.full(False, "bool")


def model_path(name: str) -> Path:
    """A model that comes with Kinema."""
    return Path(__file__).parent / "models" / f"{name}.xml"
