"""Reacher: bring the tip of a two-link arm to a target on the table.

The target is a mocap body, and so part of the state.
"""

import math

from kinema.envs.task import Task, model_path

NEAREST, FARTHEST = 0.05, 0.2  # distances of targets from the shoulder (m)
WIDTH = 0.04  # distance from the target at which being near stops to earn much (m)


class Reacher(Task):
    """Sees the angles (as cosine and sine), their rates, the target and the way to it; pays for distance and effort."""

    model = model_path("reacher")
    decimation = 2
    max_episode_steps = 100
    refresh = "motion"

    def bind(self, worlds):
        self.tip = worlds.id("site", "fingertip")

    def randomise(self, worlds, draws):
        xp = worlds.xp
        distance, angle = draws.uniform(NEAREST, FARTHEST), draws.uniform(-math.pi, math.pi)
        target = xp.stack([distance * xp.cos(angle), distance * xp.sin(angle), 0 * angle], -1)
        return {
            "qpos": draws.uniform(-math.pi, math.pi, 2),
            "qvel": draws.uniform(-0.1, 0.1, 2),
            "mocap_pos": target[:, None],
        }

    def offset(self, worlds):
        """From the fingertip to the target, in the plane of the table."""
        return (worlds.mocap_pos[:, 0] - worlds.site_xpos[:, self.tip])[:, :2]

    def observe(self, worlds):
        xp = worlds.xp
        angles = [xp.cos(worlds.qpos), xp.sin(worlds.qpos), 0.1 * worlds.qvel]
        return xp.concatenate([*angles, 5 * worlds.mocap_pos[:, 0, :2], 10 * self.offset(worlds)], -1)

    def reward(self, worlds, action):
        squared = (self.offset(worlds) ** 2).sum(-1)
        near = worlds.xp.exp(-squared / WIDTH**2)
        return near - 2 * squared**0.5 - 0.02 * (action**2).sum(-1)
