"""Humanoid: walk forward without falling."""

from kinema.envs.attitude import to_body, up_in_body
from kinema.envs.task import Task, model_path

LOWEST = 0.55  # the pelvis' height the episode is lost below (m)
SPEED = 1.5  # beyond which more speed earns nothing (m/s)


class Humanoid(Task):
    """Sees the pelvis' height, which way is up, its velocities, joint angles and rates; earns speed and standing."""

    model = model_path("humanoid")
    decimation = 3
    max_episode_steps = 1000

    def bind(self, worlds):
        self.start = worlds.default("qpos0")

    def randomise(self, worlds, draws):
        qpos = worlds.xp.broadcast_to(self.start, (worlds.count, 26)) + 0
        qpos[:, 7:] += draws.uniform(-0.05, 0.05, 19)
        return {"qpos": qpos, "qvel": draws.uniform(-0.05, 0.05, 25)}

    def observe(self, worlds):
        xp, quat = worlds.xp, worlds.qpos[:, 3:7]
        parts = [
            worlds.qpos[:, 2:3], up_in_body(xp, quat), to_body(xp, quat, worlds.qvel[:, :3]),
            0.25 * worlds.qvel[:, 3:6], worlds.qpos[:, 7:], 0.1 * worlds.qvel[:, 6:], worlds.ctrl,
        ]  # fmt: skip
        return xp.concatenate(parts, -1)

    def reward(self, worlds, action):
        speed = worlds.xp.clip(worlds.qvel[:, 0], -SPEED, SPEED)
        upright = up_in_body(worlds.xp, worlds.qpos[:, 3:7])[:, 2]
        return 1 + 1.5 * speed + 0.5 * upright - 0.05 * (action**2).sum(-1)

    def terminated(self, worlds):
        return worlds.qpos[:, 2] < LOWEST
