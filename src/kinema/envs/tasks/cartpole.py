"""Cart and pole: keep a pole upright by pushing the cart it stands on (Barto, Sutton and Anderson, 1983)."""

from kinema.envs.task import Task, model_path

RAIL, TILT = 2.4, 0.35  # the episode is lost beyond (m, rad)


class CartPole(Task):
    """Sees position and angle and their rates; earns up to 1 a step, most when upright in the middle and at rest."""

    model = model_path("cartpole")
    decimation = 2
    max_episode_steps = 500

    def randomise(self, worlds, draws):
        return {"qpos": draws.uniform(-0.1, 0.1, 2), "qvel": draws.uniform(-0.1, 0.1, 2)}

    def observe(self, worlds):
        return worlds.xp.concatenate([worlds.qpos, worlds.qvel], -1)

    def reward(self, worlds, action):
        x, angle = worlds.qpos[:, 0], worlds.qpos[:, 1]
        return 1 - 0.5 * (angle / TILT) ** 2 - 0.1 * (x / RAIL) ** 2 - 0.01 * action[:, 0] ** 2

    def terminated(self, worlds):
        xp = worlds.xp
        return (xp.abs(worlds.qpos[:, 0]) > RAIL) | (xp.abs(worlds.qpos[:, 1]) > TILT)
