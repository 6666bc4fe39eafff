"""Hopper: one leg that hops forward in a vertical plane, after Raibert's machines."""

from kinema.envs.task import Task, model_path

HEIGHT, TILT = 0.75, 0.6  # of the torso: the episode is lost below, beyond (m, rad)


class Hopper(Task):
    """Sees all positions but x, and all velocities; earns forward speed and a little for every step it stays up."""

    model = model_path("hopper")
    decimation = 4
    max_episode_steps = 1000

    def randomise(self, worlds, draws):
        start = worlds.default("qpos0")
        return {"qpos": start + draws.uniform(-0.01, 0.01, 6), "qvel": draws.uniform(-0.01, 0.01, 6)}

    def height(self, worlds):
        return 1.2 + worlds.qpos[:, 1]  # root_z is counted from the model's initial height

    def observe(self, worlds):
        xp = worlds.xp
        parts = [self.height(worlds)[:, None], worlds.qpos[:, 2:], xp.clip(worlds.qvel, -10.0, 10.0)]
        return xp.concatenate(parts, -1)

    def reward(self, worlds, action):
        return 1 + worlds.qvel[:, 0] - 0.001 * (action**2).sum(-1)

    def terminated(self, worlds):
        return (self.height(worlds) < HEIGHT) | (worlds.xp.abs(worlds.qpos[:, 2]) > TILT)
