"""Stable-Baselines3: one VecEnv, NumPy arrays, one info a world.

SB3 wants `done` for either end, the last observation of an episode in info["terminal_observation"], and a cut-off
marked by info["TimeLimit.truncated"]; its monitor reads return and length of an episode from info["episode"].
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kinema.envs.vector_env import VectorEnv
from kinema.errors import need

vec_env = need("stable_baselines3.common.vec_env", "sb3", "Environments for Stable-Baselines3")


class StableBaselinesEnv(vec_env.VecEnv):  # type: ignore[name-defined]  # imported on use
    """A VectorEnv as Stable-Baselines3's VecEnv.

    Args:
        env: The environment; with backend="torch" its results are copied to the host.
    """

    def __init__(self, env: VectorEnv):
        self.env = env
        self._began = time.time()
        self._actions: Any = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> np.ndarray:
        observed, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return _host(observed)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observed, reward, terminated, truncated, info = self.env.step(self._actions)
        terminated, truncated = _host(terminated), _host(truncated)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if done.any():
            final = _host(info["final_obs"])
            episode = {name: _host(values) for name, values in info.get("episode", {}).items()}
            for world in np.flatnonzero(done):
                infos[world] = {"terminal_observation": final[world], "TimeLimit.truncated": bool(truncated[world])}
                if episode:
                    told = {"r": float(episode["r"][world]), "l": int(episode["l"][world])}
                    infos[world]["episode"] = told | {"t": round(time.time() - self._began, 6)}
        return _host(observed), _host(reward), done, infos

    def close(self) -> None:
        self.env.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        return self.env.render() or [None] * self.num_envs

    # every world is the same environment: attributes and methods are the whole's

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.env, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *method_args, indices: Any = None, **method_kwargs) -> list[Any]:
        return [getattr(self.env, method_name)(*method_args, **method_kwargs)] * len(self._chosen(indices))

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [isinstance(self.env, wrapper_class)] * len(self._chosen(indices))

    def _chosen(self, indices: None | int | Iterable[int]) -> Sequence[int]:
        return list(self._get_indices(indices))


def _host(values: Any) -> np.ndarray:
    return values.cpu().numpy() if hasattr(values, "cpu") else values
