"""rsl_rl: observations as a TensorDict of groups, one flag for either end, cut-offs in extras["time_outs"]."""

from __future__ import annotations

from typing import Any

from kinema.envs.vector_env import VectorEnv
from kinema.errors import BuildError, need


class RslRlEnv:
    """A VectorEnv with the interface of rsl_rl.env.VecEnv.

    Args:
        env: The environment, made with backend="torch".
        group: Name of the group of observations.
        cfg: What rsl_rl logs as the environment's configuration.
    """

    def __init__(self, env: VectorEnv, *, group: str = "policy", cfg: dict | None = None):
        self._tensordict = need("tensordict", "rsl_rl", "Environments for rsl_rl")
        if env.backend != "torch":
            raise BuildError(f'backend={env.backend!r}: rsl_rl wants an environment made with backend="torch"')
        self.env = env
        self.num_envs = env.num_envs
        self.num_actions = env.single_action_space.shape[0]
        self.max_episode_length = env.max_episode_steps
        self.device = env.device
        self.cfg = {"task": type(env.task).__name__} if cfg is None else cfg
        self._group = group
        self._observed, _ = env.reset()

    @property
    def unwrapped(self) -> VectorEnv:
        return self.env

    @property
    def episode_length_buf(self) -> Any:
        """Actions made in the present episodes; assigning spreads the ends of the first ones."""
        return self.env.episode_length

    @episode_length_buf.setter
    def episode_length_buf(self, lengths: Any) -> None:
        self.env.episode_length.copy_(lengths)

    def get_observations(self) -> Any:
        return self._grouped()

    def reset(self) -> tuple[Any, dict]:
        self._observed, _ = self.env.reset()
        return self._grouped(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict]:
        self._observed, reward, terminated, truncated, _ = self.env.step(actions)
        return self._grouped(), reward, terminated | truncated, {"time_outs": truncated}

    def close(self) -> None:
        self.env.close()

    def _grouped(self) -> Any:
        return self._tensordict.TensorDict({self._group: self._observed}, batch_size=[self.num_envs])
