"""skrl: its own wrapper for Gymnasium copies what it is given into new tensors; here tensors stay where they are."""

from __future__ import annotations

from typing import Any

from kinema.envs.vector_env import VectorEnv
from kinema.errors import BuildError, need

base = need("skrl.envs.wrappers.torch", "skrl", "Environments for skrl")


class SkrlEnv(base.Wrapper):  # type: ignore[name-defined]  # imported on use
    """A VectorEnv as skrl's Wrapper.

    Args:
        env: The environment, made with backend="torch".
    """

    def __init__(self, env: VectorEnv):
        if env.backend != "torch":
            raise BuildError(f'backend={env.backend!r}: skrl wants an environment made with backend="torch"')
        super().__init__(env)
        self._observed: Any = None

    @property
    def observation_space(self) -> Any:
        return self._env.single_observation_space

    @property
    def action_space(self) -> Any:
        return self._env.single_action_space

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """The first observations; later ones, since worlds reset by themselves."""
        if self._observed is None:
            self._observed, _ = self._env.reset()
        return self._observed, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observed, reward, terminated, truncated, info = self._env.step(actions)
        self._observed = observed
        return observed, reward[:, None], terminated[:, None], truncated[:, None], info

    def state(self) -> None:
        return None

    def render(self, *args: Any, **kwargs: Any) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()
