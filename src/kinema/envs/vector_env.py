"""VectorEnv: a task in many worlds as one Gymnasium environment.

One action: controls are set, every world makes `decimation` time steps, reward and end are looked at, and a world whose
episode is over starts the next one at once (same-step autoreset): the observation returned is already the new
episode's, the last one of the old episode is in `info["final_obs"]`.

Every random number is a hash of the seed, the world's index and its episode (kinema.draws), so a seed fixes all
rollouts, and what a world goes through does not depend on how many run beside it, nor on the array library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.draws import WORD, Draws
from kinema.envs.task import Task
from kinema.envs.worlds import Worlds
from kinema.errors import BuildError, did_you_mean, need
from kinema.simulation import STATE, Simulation
from kinema.simulation.recompute import INDEPENDENT

gymnasium = need("gymnasium", "rl", "Environments")

REFRESH = ("none", "motion", "forward")
PARAMETERS = WORD  # the "episode" in which parameters of the model are drawn


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[name-defined]  # imported on use
    """Worlds that do a task, after gymnasium.vector.VectorEnv.

    Args:
        task: The task, or its class.
        num_envs: Number of worlds.
        backend: "numpy" or "torch": what observations, rewards and flags are given as; actions may be either.
        device: Warp device such as "cpu" or "cuda:0"; None: the current one.
        threads: CPU threads; None: one a core.
        max_episode_steps: Actions an episode is cut off after; None: the task's.
        decimation: Time steps an action is held for; None: the task's.
        ranges: Parameters that differ from world to world, name -> (low, high) factors; None: the task's.
        seed: Seed until `reset(seed=…)` gives another; None: an arbitrary one.
        first_world: Index of the first world, where these are some of a greater number.
        statistics: Put returns and lengths of finished episodes into info["episode"].
        render_mode: "rgb_array" to let `render` make pictures; None.
        camera, width, height: What pictures show.
    """

    def __init__(
        self, task: Task | type[Task], num_envs: int = 1, *, backend: str = "numpy", device=None,
        threads: int | None = None, max_episode_steps: int | None = None, decimation: int | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None, seed: int | None = None, first_world: int = 0,
        statistics: bool = True, render_mode: str | None = None, camera: int | str | None = None, width: int = 320,
        height: int = 240,
    ):  # fmt: skip
        self.task = task() if isinstance(task, type) else task
        self.num_envs = num_envs
        self.max_episode_steps = self.task.max_episode_steps if max_episode_steps is None else max_episode_steps
        self.decimation = self.task.decimation if decimation is None else decimation
        if ranges is not None:
            self.task.ranges = dict(ranges)
        _check(self.task, self.max_episode_steps, self.decimation, render_mode)
        # worlds that go bad are reset at once, so nobody could ask for their last good state
        self.sim = Simulation(self.task.model, num_envs, device, threads, capture_failures=False)
        self.worlds = Worlds(self.sim, backend)
        self.statistics = statistics
        self.render_mode = render_mode
        self._view: dict[str, Any] = {"camera": camera, "width": width, "height": height}
        self.metadata = {
            "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP,
            "render_modes": ["rgb_array"],
            "render_fps": round(1 / (float(self.sim.model.opt.timestep) * self.decimation)),
        }
        self._seed(seed)
        self._index = self.worlds.array(first_world + np.arange(num_envs), "int64")
        self._host_index = first_world + np.arange(num_envs)
        self._episode = self.worlds.full(-1, "int64")
        self.episode_length = self.worlds.full(0, "int64")
        self.episode_return = self.worlds.full(0)
        # whether any episode ended is not asked where the answer would have to be waited for, nor where what is
        # computed for a new episode leaves traces (the solver's warm start) in worlds in the middle of theirs
        self._always = self.sim.engine.device.is_cuda or self.task.refresh == "forward"
        self.task.bind(self.worlds)
        self._vary()
        observed = self._begin(self.worlds.full(True, "bool"))
        self._fresh = True  # the first reset finds everything as it should be
        box, batch = gymnasium.spaces.Box, gymnasium.vector.utils.batch_space
        self.single_observation_space = box(-np.inf, np.inf, tuple(observed.shape[1:]), np.float32)
        self.single_action_space = box(-1.0, 1.0, (int(self.sim.model.nu),), np.float32)
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)

    @property
    def backend(self) -> str:
        """The library of what is returned, "numpy" or "torch"."""
        return self.worlds.backend

    @property
    def device(self) -> Any:
        """The device of what is returned: a torch device, or "cpu"."""
        return self.worlds.device or "cpu"

    # ------------------------------------------------------------------------------------------ episodes

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes in all worlds, or in those of options["reset_mask"].

        Args:
            seed: A new seed: episodes are counted from 0 and, unless there is a mask, parameters are drawn again.
                None: the next episodes.
            options: {"reset_mask": booleans, one a world}, or None.
        """
        partly, mask = False, self.worlds.full(True, "bool")
        if options is not None and "reset_mask" in options:
            partly, mask = True, self.worlds.array(options["reset_mask"], "bool")
        if tuple(mask.shape) != (self.num_envs,):
            raise BuildError(f"reset_mask of shape {tuple(mask.shape)}: expected ({self.num_envs},)")
        if seed is not None:
            self._seed(seed)
            if not partly:
                self._vary()
        if seed is not None or self._fresh:
            self._episode[...] = self.worlds.xp.where(mask, -1, self._episode)
        self._fresh = False
        return self._begin(mask) + 0, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action a world, (num_envs, nu) in [-1, 1]: observations, rewards, terminated, truncated, info.

        info holds, for the worlds whose episode ended with this step, final_obs and episode ("r", the return, "l", the
        length in actions); _final_obs and _episode say which. "failed" marks those the physics was lost in.
        """
        worlds, xp = self.worlds, self.worlds.xp
        action = worlds.array(actions)
        if tuple(action.shape) != self.action_space.shape:
            raise BuildError(f"actions of shape {tuple(action.shape)}: expected {self.action_space.shape}")
        action = xp.clip(action, -1.0, 1.0)
        self.task.act(worlds, action)
        self.sim.step(self.decimation)
        self._refresh()
        self.episode_length += 1

        failed = worlds.status != 0
        terminated = self.task.terminated(worlds) | failed
        truncated = (self.episode_length >= self.max_episode_steps) & ~terminated
        done = terminated | truncated
        zero = worlds.full(0)
        reward = xp.where(failed, zero, self._column(self.task.reward(worlds, action)))
        final = self._observe()
        final = xp.where(failed[:, None], xp.nan_to_num(final), final)
        self.episode_return += reward

        info = {"final_obs": final, "_final_obs": done, "failed": failed}
        if self.statistics:
            ended = {"r": xp.where(done, self.episode_return, zero), "l": self.episode_length * done}
            info |= {"episode": ended, "_episode": done}
        if self._always or bool(done.any()):
            first = self._begin(done)
            observed = xp.where(done[:, None], first, final)
        else:
            observed = final + 0  # the policy may keep it, and so may whoever reads final_obs
        return observed, reward, terminated, truncated, info

    def _seed(self, seed: int | None) -> None:
        """Take a seed, or an arbitrary one; Gymnasium's own generator, which tasks do not use, gets it as well."""
        given = None if seed is None else int(seed)
        self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(given)

    def _begin(self, mask: Any) -> Any:
        """Start new episodes where the mask is true; the observations of all worlds."""
        worlds, xp = self.worlds, self.worlds.xp
        self._episode += mask
        self.episode_length[...] = xp.where(mask, 0, self.episode_length)
        self.episode_return[...] = xp.where(mask, worlds.full(0), self.episode_return)
        self.sim.reset(worlds.device_mask(mask), keyframe=self.task.keyframe)
        start = self.task.randomise(worlds, Draws(self._np_random_seed, self._index, self._episode))
        self._check_start(start)
        worlds.write(start, mask)
        self._refresh()
        return self._observe()

    def _check_start(self, start: Mapping[str, Any]) -> None:
        for name in start:
            if name not in STATE:
                raise BuildError(
                    f"{type(self.task).__name__}.randomise gives {name!r}, which is no part of the state"
                    f"{did_you_mean(name, STATE)}. Parameters of the model are drawn by vary()"
                )

    def _vary(self) -> None:
        """Draw the parameters of the model that differ from world to world."""
        self.sim.expand(*self.task.ranges)
        values = self.task.vary(self.worlds, Draws(self._np_random_seed, self._host_index, PARAMETERS))
        if not values:
            return
        self.sim.expand(*values)
        for name, value in values.items():
            self.sim.engine.set_parameter(name, value)
        if not INDEPENDENT.issuperset(values):
            self.sim.recompute()

    # ------------------------------------------------------------------------------------------ what is seen

    def _refresh(self) -> None:
        """Bring what derives from the state up to date, as far as the task wants it."""
        if self.task.refresh == "motion":
            self.sim.engine.motion()
        elif self.task.refresh == "forward":
            self.sim.forward()

    def _observe(self) -> Any:
        observed = self.worlds.array(self.task.observe(self.worlds))
        if len(observed.shape) != 2 or observed.shape[0] != self.num_envs:
            name = type(self.task).__name__
            raise BuildError(f"{name}.observe gave shape {tuple(observed.shape)}: expected ({self.num_envs}, n)")
        return observed

    def _column(self, reward: Any) -> Any:
        reward = self.worlds.array(reward)
        if tuple(reward.shape) != (self.num_envs,):
            name = type(self.task).__name__
            raise BuildError(f"{name}.reward gave shape {tuple(reward.shape)}: expected ({self.num_envs},)")
        return reward

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of every world, (height, width, 3) uint8 each."""
        if self.render_mode is None:
            return None
        return tuple(self.sim.render(**self._view))


def _check(task: Task, steps: int, decimation: int, render_mode: str | None) -> None:
    if task.model is None:
        raise BuildError(f"{type(task).__name__} has no model: set the class attribute `model` to an MJCF file")
    if task.refresh not in REFRESH:
        hint = did_you_mean(str(task.refresh), REFRESH)
        raise BuildError(f"refresh={task.refresh!r}: expected one of {', '.join(REFRESH)}{hint}")
    if steps < 1 or decimation < 1:
        raise BuildError(f"max_episode_steps={steps}, decimation={decimation}: both are counted from 1")
    if render_mode not in (None, "rgb_array"):
        raise BuildError(f"render_mode={render_mode!r}: expected 'rgb_array' or None")
