"""SingleEnv: one world as gymnasium.Env, for `gymnasium.make("kinema/CartPole-v0")` and whatever expects one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.envs.vector_env import VectorEnv, gymnasium
from kinema.errors import BuildError


class SingleEnv(gymnasium.Env):  # type: ignore[name-defined]  # imported on use
    """The one world of a VectorEnv, without the axis of worlds; NumPy arrays and Python's numbers.

    Args:
        env: The environment, of one world, with autoreset disabled.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, env: VectorEnv):
        if env.num_envs != 1 or env.backend != "numpy":
            raise BuildError(
                f"an environment of {env.num_envs} worlds and backend={env.backend!r}: a single one has 1 and 'numpy'"
            )
        self.env = env
        self.metadata = {name: env.metadata[name] for name in ("render_modes", "render_fps")}
        self.render_mode = env.render_mode
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space

    @property
    def sim(self) -> Any:
        """The simulation."""
        return self.env.sim

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode: with a seed its first one, without the next."""
        observed, info = self.env.reset(seed=seed, options=options)
        super().reset(seed=seed)
        return observed[0], _of_one(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action, in the action space."""
        observed, reward, terminated, truncated, info = self.env.step(np.asarray(action, np.float32)[None])
        self.env._episodes.over[...] = 0  # as with Gymnasium's own, whoever goes on after an end may
        return observed[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), _of_one(info)

    def render(self) -> np.ndarray | None:
        """A picture, (height, width, 3) uint8."""
        pictures = self.env.render()
        return None if pictures is None else pictures[0]


def _of_one(info: dict[str, Any]) -> dict[str, Any]:
    """What is told of the only world."""
    told = {}
    for name, value in info.items():
        if not name.startswith("_"):
            told[name] = _of_one(value) if isinstance(value, dict) else np.array(value[0])[()]
    return told
