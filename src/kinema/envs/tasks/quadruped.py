"""Quadruped: walk at the velocity one is asked for.

The command (forward, sideways, turning) is drawn for each episode and kept in the world's userdata. Actions are offsets
of the servos' targets from the standing pose.
"""

from kinema.envs.attitude import to_body, up_in_body
from kinema.envs.task import Task, model_path

FASTEST = (1.0, 0.4, 0.8)  # m/s, m/s, rad/s
REACH = 0.5  # an action of 1 moves a servo's target by this angle (rad)
LOWEST = 0.16  # the trunk's height the episode is lost below (m)
SHARPNESS = 0.25  # how far from the command half the reward is lost, about (m/s, rad/s)


class Quadruped(Task):
    """Sees which way is up, its velocities, the command, joint angles and rates, and the present targets."""

    model = model_path("quadruped")
    decimation = 4
    max_episode_steps = 1000
    keyframe = "stand"

    def bind(self, worlds):
        self.stance = worlds.array(worlds.model.key_qpos[worlds.id("key", "stand")][7:])
        self.start = worlds.array(worlds.model.key_qpos[worlds.id("key", "stand")])
        self.fastest = worlds.array(FASTEST)

    def randomise(self, worlds, draws):
        qpos = worlds.xp.broadcast_to(self.start, (worlds.count, 19)) + 0
        qpos[:, 7:] += draws.uniform(-0.1, 0.1, 12)
        return {"qpos": qpos, "userdata": self.fastest * draws.uniform(-1.0, 1.0, 3)}

    def act(self, worlds, action):
        worlds.write({"ctrl": self.stance + REACH * action})

    def velocity(self, worlds):
        """Linear velocity of the trunk in its own frame; its angular velocity is there in qvel."""
        return to_body(worlds.xp, worlds.qpos[:, 3:7], worlds.qvel[:, :3])

    def observe(self, worlds):
        parts = [
            up_in_body(worlds.xp, worlds.qpos[:, 3:7]), self.velocity(worlds), 0.25 * worlds.qvel[:, 3:6],
            worlds.userdata, worlds.qpos[:, 7:] - self.stance, 0.05 * worlds.qvel[:, 6:], worlds.ctrl - self.stance,
        ]  # fmt: skip
        return worlds.xp.concatenate(parts, -1)

    def reward(self, worlds, action):
        xp = worlds.xp
        v, turning, asked = self.velocity(worlds), worlds.qvel[:, 5], worlds.userdata
        along = xp.exp(-((v[:, :2] - asked[:, :2]) ** 2).sum(-1) / SHARPNESS)
        around = xp.exp(-((turning - asked[:, 2]) ** 2) / SHARPNESS)
        sway = v[:, 2] ** 2 + 0.05 * (worlds.qvel[:, 3:5] ** 2).sum(-1)
        return along + 0.5 * around - 0.5 * sway - 0.005 * (action**2).sum(-1)

    def terminated(self, worlds):
        up = up_in_body(worlds.xp, worlds.qpos[:, 3:7])[:, 2]
        return (worlds.qpos[:, 2] < LOWEST) | (up < 0.5)
