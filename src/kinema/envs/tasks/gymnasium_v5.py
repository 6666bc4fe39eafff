"""Gymnasium's own MuJoCo tasks, version 5, in many worlds: Hopper, HalfCheetah, Walker2d, Ant and Humanoid.

The models are read from the installed gymnasium. Observations, rewards, ends, infos and arguments are those of its
classes, so what was trained there runs here. Two habits of theirs are kept because policies see them:

    what is observed of bodies (cinert, cvel, cfrc_ext, qfrc_actuator) is as the last time step began, not as it ended;
    after a reset it is that of the new state, with no forces;
    the velocity that earns is the displacement over an action: where a world was before is kept in its userdata.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from kinema import mjcf
from kinema.envs.task import Task
from kinema.errors import BuildError, need

Range = tuple[float, float]


def asset(name: str) -> Path:
    """A model that comes with gymnasium."""
    gymnasium = need("gymnasium", "rl", "Gymnasium's tasks")
    path = Path(str(gymnasium.__file__)).parent / "envs" / "mujoco" / "assets" / name
    if not path.exists():
        raise BuildError(f"gymnasium {gymnasium.__version__} brings no model {name}: expected it at {path}")
    return path


class Runner(Task):
    """What the five have in common: run along x, stay healthy, spend little.

    Args:
        forward_reward_weight, ctrl_cost_weight: Weights of speed and of squared controls.
        reset_noise_scale: Size of the noise on the state episodes start with.
        exclude_current_positions_from_observation: Do not show how far it has come.
    """

    file = ""
    decimation = 5
    max_episode_steps = 1000
    hidden = 1  # positions that are not shown
    normal_velocity = False  # noise on velocities: normal, or uniform

    def __init__(
        self, *, forward_reward_weight: float = 1.0, ctrl_cost_weight: float = 0.1, reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
    ):  # fmt: skip
        self.forward_reward_weight, self.ctrl_cost_weight = forward_reward_weight, ctrl_cost_weight
        self.reset_noise_scale = reset_noise_scale
        self.skipped = self.hidden * exclude_current_positions_from_observation

    @cached_property
    def model(self) -> Any:  # type: ignore[override]  # an attribute of the class elsewhere
        root = mjcf.from_path(str(asset(self.file)))
        root.size.nuserdata = 2
        return root

    def action_range(self, model):
        return model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1]

    def randomise(self, worlds, draws):
        scale, m = self.reset_noise_scale, worlds.model
        qpos = worlds.default("qpos0") + draws.uniform(-scale, scale, int(m.nq))
        noise = draws.normal(0.0, scale, int(m.nv)) if self.normal_velocity else draws.uniform(-scale, scale, int(m.nv))
        return {"qpos": qpos, "qvel": noise}

    def place(self, worlds) -> Any:
        """Where it is, (worlds, 2), as the reward sees it."""
        return worlds.qpos[:, :2]

    def act(self, worlds, action):
        worlds.write({"userdata": self.place(worlds), "ctrl": action})

    def velocity(self, worlds) -> Any:
        """Along x and y, over the last action."""
        return (self.place(worlds) - worlds.userdata) / worlds.dt

    def healthy(self, worlds) -> Any:
        """Booleans."""
        return worlds.full(True, "bool")

    def terms(self, worlds, action) -> dict[str, Any]:
        """What the reward is the sum of."""
        return {
            "reward_forward": self.forward_reward_weight * self.velocity(worlds)[:, 0],
            "reward_ctrl": -self.ctrl_cost_weight * (action**2).sum(-1),
        }

    def reward(self, worlds, action):
        return sum(self.terms(worlds, action).values())

    def info(self, worlds, action):
        along = {"x_position": worlds.qpos[:, 0], "x_velocity": self.velocity(worlds)[:, 0]}
        return along | self.terms(worlds, action)

    def observe(self, worlds):
        return worlds.xp.concatenate([worlds.qpos[:, self.skipped :], worlds.qvel], -1)


class HalfCheetah(Runner):
    """Runs in the plane, and never falls for good."""

    file = "half_cheetah.xml"
    normal_velocity = True


class Frail(Runner):
    """A runner that must stay healthy.

    Args:
        healthy_reward: Earned for every step in health.
        terminate_when_unhealthy: Whether an episode ends otherwise.
        healthy_z_range: Heights it is healthy at.
        others: As of `Runner`.
    """

    def __init__(self, *, healthy_reward: float = 1.0, terminate_when_unhealthy: bool = True,
                 healthy_z_range: Range = (0.2, 1.0), **others: Any):  # fmt: skip
        super().__init__(**others)
        self.healthy_reward, self.terminate_when_unhealthy = healthy_reward, terminate_when_unhealthy
        self.healthy_z_range = healthy_z_range

    def terms(self, worlds, action):
        return super().terms(worlds, action) | {"reward_survive": self.healthy_reward * self.healthy(worlds)}

    def terminated(self, worlds):
        return ~self.healthy(worlds) if self.terminate_when_unhealthy else worlds.full(False, "bool")


class Walker2d(Frail):
    """Walks in the plane on two legs."""

    file = "walker2d_v5.xml"
    decimation = 4

    def __init__(
        self, *, healthy_angle_range: Range = (-1.0, 1.0), healthy_z_range: Range = (0.8, 2.0),
        ctrl_cost_weight: float = 1e-3, reset_noise_scale: float = 5e-3, **others: Any,
    ):  # fmt: skip
        super().__init__(healthy_z_range=healthy_z_range, ctrl_cost_weight=ctrl_cost_weight,
                         reset_noise_scale=reset_noise_scale, **others)  # fmt: skip
        self.healthy_angle_range = healthy_angle_range

    def healthy(self, worlds):
        z, angle = worlds.qpos[:, 1], worlds.qpos[:, 2]
        return _between(z, self.healthy_z_range) & _between(angle, self.healthy_angle_range)

    def observe(self, worlds):
        clipped = worlds.xp.clip(worlds.qvel, -10.0, 10.0)
        return worlds.xp.concatenate([worlds.qpos[:, self.skipped :], clipped], -1)

    def info(self, worlds, action):
        start = worlds.default("qpos0")[1]
        return super().info(worlds, action) | {"z_distance_from_origin": worlds.qpos[:, 1] - start}


class Hopper(Walker2d):
    """Hops in the plane on one leg."""

    file = "hopper.xml"

    def __init__(
        self, *, healthy_state_range: Range = (-100.0, 100.0), healthy_z_range: Range = (0.7, float("inf")),
        healthy_angle_range: Range = (-0.2, 0.2), **others: Any,
    ):  # fmt: skip
        super().__init__(healthy_z_range=healthy_z_range, healthy_angle_range=healthy_angle_range, **others)
        self.healthy_state_range = healthy_state_range

    def healthy(self, worlds):
        inside = [_between(part, self.healthy_state_range).all(-1) for part in (worlds.qpos[:, 2:], worlds.qvel)]
        return super().healthy(worlds) & inside[0] & inside[1]


class Free(Frail):
    """A runner in space, which observes the forces on its bodies."""

    hidden = 2
    refresh_start = "motion"

    def forces(self, worlds, array) -> Any:
        """Forces of the last time step; none in an episode that has just begun."""
        none = worlds.age.reshape(-1, *[1] * (len(array.shape) - 1)) == 0
        return worlds.xp.where(none, 0 * array, array)

    def info(self, worlds, action):
        x, y = worlds.qpos[:, 0], worlds.qpos[:, 1]
        across = {"y_position": y, "y_velocity": self.velocity(worlds)[:, 1]}
        return super().info(worlds, action) | across | {"distance_from_origin": (x * x + y * y) ** 0.5}


class Ant(Free):
    """Runs on four legs.

    Args:
        contact_cost_weight, contact_force_range: Weight of squared external forces, and where they are cut off.
        main_body: The body whose speed counts: a name or an id.
        include_cfrc_ext_in_observation: Observe external forces.
        others: As of `Runner` and `Frail`.
    """

    file = "ant.xml"
    normal_velocity = True

    def __init__(
        self, *, ctrl_cost_weight: float = 0.5, contact_cost_weight: float = 5e-4,
        contact_force_range: Range = (-1.0, 1.0), main_body: int | str = 1,
        include_cfrc_ext_in_observation: bool = True, **others: Any,
    ):  # fmt: skip
        super().__init__(ctrl_cost_weight=ctrl_cost_weight, **others)
        self.contact_cost_weight, self.contact_force_range = contact_cost_weight, contact_force_range
        self.main_body, self.include_cfrc_ext_in_observation = main_body, include_cfrc_ext_in_observation

    def bind(self, worlds):
        name = self.main_body
        self.body = worlds.id("body", name) if isinstance(name, str) else int(name)

    def place(self, worlds):
        return worlds.xpos[:, self.body, :2]

    def contact_forces(self, worlds):
        """(worlds, bodies, 6), cut off."""
        return worlds.xp.clip(self.forces(worlds, worlds.cfrc_ext), *self.contact_force_range)

    def healthy(self, worlds):
        low, high = self.healthy_z_range
        xp, z = worlds.xp, worlds.qpos[:, 2]
        return (z >= low) & (z <= high) & xp.isfinite(worlds.qpos).all(-1) & xp.isfinite(worlds.qvel).all(-1)

    def terms(self, worlds, action):
        cost = self.contact_cost_weight * (self.contact_forces(worlds) ** 2).sum(-1).sum(-1)
        return super().terms(worlds, action) | {"reward_contact": -cost}

    def observe(self, worlds):
        parts = [worlds.qpos[:, self.skipped :], worlds.qvel]
        if self.include_cfrc_ext_in_observation:
            parts.append(self.contact_forces(worlds)[:, 1:].reshape(worlds.count, -1))
        return worlds.xp.concatenate(parts, -1)


class Humanoid(Free):
    """Walks on two legs; sees inertias, velocities and forces of all its bodies.

    Args:
        contact_cost_weight, contact_cost_range: Weight of squared external forces, and where the cost is cut off.
        include_cinert_in_observation, include_cvel_in_observation, include_qfrc_actuator_in_observation,
        include_cfrc_ext_in_observation: What is observed besides positions and velocities.
        others: As of `Runner` and `Frail`.
    """

    file = "humanoid.xml"

    def __init__(
        self, *, forward_reward_weight: float = 1.25, contact_cost_weight: float = 5e-7,
        contact_cost_range: Range = (-float("inf"), 10.0), healthy_reward: float = 5.0,
        healthy_z_range: Range = (1.0, 2.0), reset_noise_scale: float = 1e-2,
        include_cinert_in_observation: bool = True, include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True, include_cfrc_ext_in_observation: bool = True, **others: Any,
    ):  # fmt: skip
        super().__init__(
            forward_reward_weight=forward_reward_weight, healthy_reward=healthy_reward,
            healthy_z_range=healthy_z_range, reset_noise_scale=reset_noise_scale, **others,
        )  # fmt: skip
        self.contact_cost_weight, self.contact_cost_range = contact_cost_weight, contact_cost_range
        self.shows = {
            "cinert": include_cinert_in_observation, "cvel": include_cvel_in_observation,
            "qfrc_actuator": include_qfrc_actuator_in_observation, "cfrc_ext": include_cfrc_ext_in_observation,
        }  # fmt: skip

    def place(self, worlds):
        return worlds.subtree_com[:, 0, :2]  # the centre of mass of everything

    def healthy(self, worlds):
        return _between(worlds.qpos[:, 2], self.healthy_z_range)

    def terms(self, worlds, action):
        squared = (self.forces(worlds, worlds.cfrc_ext) ** 2).sum(-1).sum(-1)
        cost = worlds.xp.clip(self.contact_cost_weight * squared, *self.contact_cost_range)
        return super().terms(worlds, action) | {"reward_contact": -cost}

    def observe(self, worlds):
        parts = [worlds.qpos[:, self.skipped :], worlds.qvel]
        if self.shows["cinert"]:
            parts.append(worlds.cinert[:, 1:].reshape(worlds.count, -1))
        if self.shows["cvel"]:
            parts.append(worlds.cvel[:, 1:].reshape(worlds.count, -1))
        if self.shows["qfrc_actuator"]:
            parts.append(self.forces(worlds, worlds.qfrc_actuator)[:, 6:])
        if self.shows["cfrc_ext"]:
            parts.append(self.forces(worlds, worlds.cfrc_ext)[:, 1:].reshape(worlds.count, -1))
        return worlds.xp.concatenate(parts, -1)


def _between(value: Any, bounds: Range) -> Any:
    return (value > bounds[0]) & (value < bounds[1])
