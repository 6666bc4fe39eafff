"""VectorEnv: a task in many worlds as one Gymnasium environment.

One action: controls are set, every world makes `decimation` time steps, reward and end are looked at, and worlds whose
episode is over start the next one as Gymnasium's autoreset modes say (episodes.py). With torch on a GPU all of it is
one CUDA graph (capture.py); on the CPU it is done in the engine's own memory.

Every random number is a hash of the seed, the world's index and its episode (kinema.draws), so a seed fixes all
rollouts, and what a world goes through does not depend on how many run beside it, nor on the array library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from kinema.draws import WORD, Draws
from kinema.envs.capture import Recorder, StepGraph, TorchRecorder, held
from kinema.envs.episodes import DISABLED, NEXT_STEP, SAME_STEP, Episodes
from kinema.envs.task import Task
from kinema.envs.variation import Variation, variations
from kinema.envs.worlds import Worlds
from kinema.errors import BuildError, WrongMoment, did_you_mean, need
from kinema.simulation import STATE, Simulation
from kinema.simulation.recompute import INDEPENDENT

gymnasium = need("gymnasium", "rl", "Environments")

REFRESH = ("none", "motion", "forward")
PARAMETERS = WORD  # the "episode" in which parameters of the model are drawn
Autoreset = gymnasium.vector.AutoresetMode
MODES = {Autoreset.SAME_STEP: SAME_STEP, Autoreset.NEXT_STEP: NEXT_STEP, Autoreset.DISABLED: DISABLED}


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[name-defined]  # imported on use
    """Worlds that do a task, after gymnasium.vector.VectorEnv.

    Args:
        task: The task, or its class.
        num_envs: Number of worlds.
        backend: "numpy" or "torch": what observations, rewards and flags are given as; actions may be either.
        device: Warp device such as "cpu" or "cuda:0"; None: the current one.
        threads: CPU threads; None: one a core.
        autoreset_mode: Gymnasium's AutoresetMode, or its value: "SameStep", "NextStep" or "Disabled".
        max_episode_steps: Actions an episode is cut off after; None: the task's.
        decimation: Time steps an action is held for; None: the task's.
        ranges: What differs from world to world, as `Task.ranges`; None: the task's.
        seed: Seed until `reset(seed=…)` gives another; None: an arbitrary one.
        first_world: Index of the first world, where these are some of a greater number.
        statistics: Put returns and lengths of finished episodes into info["episode"].
        capture: Launch steps as one CUDA graph, where there is a GPU and arrays are torch's.
        copy: Give arrays of your own. False: on a GPU those of the graph, which the next step writes again.
        render_mode: "rgb_array" to let `render` make pictures; None.
        camera, width, height: What pictures show.
    """

    def __init__(
        self, task: Task | type[Task], num_envs: int = 1, *, backend: str = "numpy", device=None,
        threads: int | None = None, autoreset_mode: Any = "SameStep", max_episode_steps: int | None = None,
        decimation: int | None = None, ranges: Mapping[str, Any] | Sequence[Variation] | None = None,
        seed: int | None = None, first_world: int = 0, statistics: bool = True, capture: bool = True,
        copy: bool = True, render_mode: str | None = None, camera: int | str | None = None, width: int = 320,
        height: int = 240,
    ):  # fmt: skip
        self.task = task() if isinstance(task, type) else task
        self.num_envs = num_envs
        self.max_episode_steps = self.task.max_episode_steps if max_episode_steps is None else max_episode_steps
        self.decimation = self.task.decimation if decimation is None else decimation
        if ranges is not None:
            self.task.ranges = ranges
        _check(self.task, self.max_episode_steps, self.decimation, render_mode)
        mode = _mode(autoreset_mode)
        # worlds that go bad are reset at once, so nobody could ask for their last good state
        self.sim = Simulation(self.task.model, num_envs, device, threads, capture_failures=False)
        self.worlds = Worlds(self.sim, backend)
        self.statistics, self.copy = statistics, copy
        self.render_mode = render_mode
        self._view: dict[str, Any] = {"camera": camera, "width": width, "height": height}
        self.metadata = {
            "autoreset_mode": mode,
            "render_modes": ["rgb_array"],
            "render_fps": round(1 / (float(self.sim.model.opt.timestep) * self.decimation)),
        }
        self._episodes = Episodes(self.worlds, MODES[mode], first_world)
        self.worlds._age = self._episodes.counters.length
        self.worlds.dt = float(self.sim.model.opt.timestep) * self.decimation
        self._seed(seed)
        self._host_index = first_world + np.arange(num_envs)
        self._host = not self.sim.engine.device.is_cuda  # arrays can be looked at without waiting for them
        self.task.bind(self.worlds)
        self._variations = variations(self.task.ranges, self.worlds)
        self._vary()
        self._episodes.begin(True, anew=True)
        self._observed = self._begin(everywhere=True)
        self._fresh = True  # the first reset finds everything as it should be
        self._spaces()
        self._action = self.worlds.array(np.zeros(self.action_space.shape))
        self._trouble = wp.zeros(1, dtype=int, device="cpu", pinned=not self._host)
        recorder: Recorder | None = None
        if capture and backend == "torch" and not self._host:
            recorder = TorchRecorder(self.sim.engine)
        self.graph = StepGraph(self._step, recorder, self._depends)

    def _spaces(self) -> None:
        box, batch = gymnasium.spaces.Box, gymnasium.vector.utils.batch_space
        space = self.task.observation_space(tuple(self._observed.shape[1:]))
        self.single_observation_space = box(*space) if isinstance(space, tuple) else space
        low, high = self.task.action_range(self.sim.model)
        shape = (int(self.sim.model.nu),)
        low, high = (np.broadcast_to(np.asarray(x, np.float32), shape) for x in (low, high))
        self.single_action_space = box(low, high, shape, np.float32)
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self._low, self._high = self.worlds.array(low.copy()), self.worlds.array(high.copy())

    @property
    def backend(self) -> str:
        """The library of what is returned, "numpy" or "torch"."""
        return self.worlds.backend

    @property
    def device(self) -> Any:
        """The device of what is returned: a torch device, or "cpu"."""
        return self.worlds.device or "cpu"

    @property
    def episode_length(self) -> Any:
        """Actions made in the present episode of each world; may be written."""
        return self._episodes.length

    @property
    def episode_return(self) -> Any:
        """Rewards of the present episode of each world."""
        return self._episodes.gained

    # ------------------------------------------------------------------------------------------ episodes

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes in all worlds, or in those of options["reset_mask"].

        Args:
            seed: A new seed: episodes are counted from 0 and, unless there is a mask, parameters are drawn again.
                None: the next episodes.
            options: {"reset_mask": booleans, one a world}, or None.
        """
        for name in options or {}:
            if name != "reset_mask":
                known = did_you_mean(name, ["reset_mask"])
                raise BuildError(f"options={{{name!r}: ...}}: no such option{known}; there is 'reset_mask' alone")
        partly, mask = False, self.worlds.full(True, "bool")
        if options is not None and "reset_mask" in options:
            partly, mask = True, self.worlds.array(options["reset_mask"], "bool")
        if tuple(mask.shape) != (self.num_envs,):
            raise BuildError(f"reset_mask of shape {tuple(mask.shape)}: expected ({self.num_envs},)")
        if seed is not None:
            self._seed(seed)
            if not partly:
                self._vary()
        self._episodes.begin(mask, anew=seed is not None or self._fresh)
        self._fresh = False
        first = self._begin(everywhere=not partly)
        self._observed[...] = _choose(self.worlds.xp, mask, first, self._observed)
        return self._observed + 0, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One action a world, (num_envs, nu), in the action space: observations, rewards, terminated, truncated, info.

        info holds, for the worlds whose episode ended with this step, episode ("r", the return, "l", the length in
        actions) and, where they began the next one within the step, final_obs; _episode and _final_obs say which.
        "failed" marks those the physics was lost in. What a task tells of its own (`Task.info`) is there as well.
        """
        action = self.worlds.array(actions)
        if tuple(action.shape) != self.action_space.shape:
            raise BuildError(f"actions of shape {tuple(action.shape)}: expected {self.action_space.shape}")
        if self._episodes.mode == DISABLED and self._host and self._episodes.over.any():
            raise WrongMoment(
                "worlds whose episode is over make no steps: with autoreset disabled, "
                'call reset(options={"reset_mask": terminated | truncated}) first'
            )
        self._catch_up()
        self._action[...] = action
        told = self.graph()
        if self.graph.is_captured and self.copy:
            told = _copied(told)
        return told["obs"], told["reward"], told["terminated"], told["truncated"], told["info"]

    def _step(self) -> dict[str, Any]:
        """Everything a step does, in arrays that stay where they are, so that it can be recorded."""
        worlds, xp, task, episodes = self.worlds, self.worlds.xp, self.task, self._episodes
        action = xp.clip(self._action, self._low, self._high)
        task.act(worlds, action)
        self.sim.step(self.decimation)
        self._refresh(task.refresh)
        episodes.grow_older()
        final, reward = self._observe(), self._column(task.reward(worlds, action))
        info: dict[str, Any] = {name: worlds.array(value) + 0 for name, value in task.info(worlds, action).items()}
        episodes.close(task.terminated(worlds), reward, self.max_episode_steps)
        if not self._host:
            wp.copy(self._trouble, episodes.counters.trouble)
        failed, ended = episodes.failed, episodes.ended
        if not self._host or failed.any():
            final = _choose(xp, failed, xp.nan_to_num(final), final)
        else:
            final = final + 0  # what a task gives may be the engine's own memory
        reward, terminated, truncated = episodes.reward + 0, episodes.terminated | False, episodes.truncated | False
        info["failed"] = failed | False
        if self.statistics:
            ends = {"r": episodes.final_return + 0, "l": episodes.final_length + 0}
            info |= {"episode": ends, "_episode": ended | False}
        if episodes.mode == SAME_STEP:
            info |= {"final_obs": final, "_final_obs": ended | False}
        begins = worlds.share(episodes.counters.begins)
        if episodes.mode != DISABLED and (not self._host or begins.any()):
            first = self._begin()
            observed = _choose(xp, worlds.share(episodes.counters.begins) != 0, first, final)
        else:
            observed = final + 0  # the policy may keep it, and so may whoever reads final_obs
        self._observed[...] = observed
        return {"obs": observed, "reward": reward, "terminated": terminated, "truncated": truncated, "info": info}

    def _depends(self) -> dict[str, Any]:
        """What Python decides in a step."""
        own = {"steps": self.max_episode_steps, "decimation": self.decimation, "statistics": self.statistics}
        return held("task", self.task) | own | {"engine": self.sim.engine.version}

    def _catch_up(self) -> None:
        """Make room where worlds found none within a graph, in which nobody could look; their episodes have ended."""
        if not self._host and self.graph.is_captured:
            bits = int(self._trouble.numpy()[0])
            if bits:
                wp.synchronize_device(self.sim.engine.device)
                self._episodes.counters.trouble.zero_()
                self._trouble.zero_()
                self.sim.engine.make_room(bits)

    def _seed(self, seed: int | None) -> None:
        """Take a seed, or an arbitrary one; Gymnasium's own generator, which tasks do not use, gets it as well."""
        if isinstance(seed, bool) or not (seed is None or isinstance(seed, int | np.integer)):
            raise BuildError(f"seed={seed!r}: expected a whole number, one for all worlds: each draws by its index")
        given = None if seed is None else int(seed)
        self._np_random, self._np_random_seed = gymnasium.utils.seeding.np_random(given)
        self._episodes.seed.fill_(int(self._np_random_seed) & WORD)

    def _begin(self, *, everywhere: bool = False) -> Any:
        """Put the worlds that begin an episode at its start; the observations of all worlds."""
        worlds, begins = self.worlds, self._episodes.counters.begins
        mask = worlds.share(begins) != 0
        self.sim.reset(begins, keyframe=self.task.keyframe)
        draws = self._episodes.draws.again()
        start = self.task.randomise(worlds, draws)
        self._check_start(start)
        worlds.write(start, mask)
        for variation in self._variations:
            variation.begin(draws, mask)
        self._refresh(self.task.refresh_start or self.task.refresh, None if everywhere else begins)
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
        draws = Draws(self._np_random_seed, self._host_index, PARAMETERS)
        values: dict[str, np.ndarray] = {}
        for variation in self._variations:
            values |= variation.startup(draws)
        values |= self.task.vary(self.worlds, draws)
        if not values:
            return
        self.sim.expand(*values)
        for name, value in values.items():
            self.sim.engine.set_parameter(name, value)
        if not INDEPENDENT.issuperset(values):
            self.sim.recompute()

    # ------------------------------------------------------------------------------------------ what is seen

    def _refresh(self, what: str, only: wp.array | None = None) -> None:
        """Bring what derives from the state up to date, as far as the task wants it, in all worlds or in some."""
        if what == "motion":
            self.sim.engine.motion(only)
        elif what == "forward":
            self.sim.engine.forward(only)

    def _observe(self) -> Any:
        observed = self.task.observe(self.worlds)
        if not str(observed.dtype).endswith("uint8"):  # pictures stay bytes
            observed = self.worlds.array(observed)
        if len(observed.shape) < 2 or observed.shape[0] != self.num_envs:
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
    if task.refresh_start is not None and task.refresh_start not in REFRESH:
        hint = did_you_mean(str(task.refresh_start), REFRESH)
        raise BuildError(f"refresh_start={task.refresh_start!r}: expected one of {', '.join(REFRESH)}{hint}")
    if render_mode not in (None, "rgb_array"):
        raise BuildError(f"render_mode={render_mode!r}: expected 'rgb_array' or None")


def _mode(given: Any) -> Any:
    """Gymnasium's mode, from itself, its value or its name."""
    names = {mode.value: mode for mode in MODES} | {mode.name: mode for mode in MODES}
    if given in MODES:
        return given
    if given not in names:
        known = [mode.value for mode in MODES]
        hint = did_you_mean(str(given), known)
        raise BuildError(f"autoreset_mode={given!r}: expected one of {', '.join(known)}{hint}")
    return names[given]


def _choose(xp: Any, mask: Any, one: Any, other: Any) -> Any:
    """Rows of one array where the mask is true, of the other where it is not."""
    return xp.where(mask.reshape(-1, *[1] * (len(one.shape) - 1)), one, other)


def _copied(told: Any) -> Any:
    """A tree of dictionaries with arrays of its own."""
    return {k: _copied(v) for k, v in told.items()} if isinstance(told, dict) else told.clone()
