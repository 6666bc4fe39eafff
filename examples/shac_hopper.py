"""Teach a hopper to hop by gradients through the simulation: a short-horizon actor-critic.

    python examples/shac_hopper.py                   writes shac_hopper.png
    python examples/shac_hopper.py --worlds 512 --device cuda:0

Xu et al., "Accelerated policy learning with parallel differentiable simulation", 2022. In every iteration all worlds
act for a short horizon by the present policy. The return, with the critic's value of the last state behind it, is
differentiated through policy, simulation and contacts at once (`kinema.gradients.rollout`), and the policy climbs it.
Short horizons keep gradients through contacts small; the critic makes up for what lies beyond. The critic then learns
the values that were seen, by TD(lambda).
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from kinema import Simulation
from kinema.gradients.rollout import rollout

HOPPER = """
<mujoco model="hopper">
  <option timestep="0.005" integrator="implicitfast"/>
  <default>
    <joint damping="1" armature="0.02"/>
    <geom type="capsule" friction="1.2" solref=".02 1" contype="0" conaffinity="1"/>
  </default>
  <worldbody>
    <geom type="plane" size="50 1 .1" contype="1" conaffinity="0"/>
    <body name="torso" pos="0 0 1.1">
      <joint name="x" type="slide" axis="1 0 0" damping="0" armature="0"/>
      <joint name="z" type="slide" axis="0 0 1" damping="0" armature="0"/>
      <joint name="pitch" axis="0 1 0" damping="0" armature="0"/>
      <geom fromto="0 0 -.2 0 0 .2" size=".05" mass="3.5"/>
      <body name="thigh" pos="0 0 -.2">
        <joint name="hip" axis="0 1 0" range="-90 40"/>
        <geom fromto="0 0 0 0 0 -.4" size=".05" mass="3" conaffinity="0"/>
        <body name="leg" pos="0 0 -.4">
          <joint name="knee" axis="0 1 0" range="0 130"/>
          <geom fromto="0 0 0 0 0 -.4" size=".04" mass="2" conaffinity="0"/>
          <body name="foot" pos="0 0 -.4">
            <joint name="ankle" axis="0 1 0" range="-45 45"/>
            <geom fromto="-.1 0 0 .2 0 0" size=".05" mass="2"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="hip" kp="150" kv="6"/>
    <position joint="knee" kp="150" kv="6"/>
    <position joint="ankle" kp="80" kv="3"/>
  </actuator>
</mujoco>
"""
STANCE, REACH = (-0.25, 0.5, -0.25), 0.6  # where the legs' servos stand, and how far an action moves them [rad]
HOLD, GAMMA, LAMBDA = 4, 0.98, 0.95  # steps an action is held for, discount, and TD's
LOWEST, STEEPEST = 0.6, 0.8  # torso: as low [m] and as tilted [rad] as that, the hopper has fallen


def observe(qpos, qvel):
    """Everything but how far it has come."""
    return torch.cat([qpos[:, 1:], 0.2 * qvel], 1)


def reward(qpos, qvel, action):
    """Fast, upright and tall, without much effort; smooth, for its gradient is what teaches."""
    height, pitch = 1.1 + qpos[:, 1], qpos[:, 2]
    speed = 1.5 * torch.tanh(qvel[:, 0] / 1.5)
    return speed + 1.0 - 4 * (height - 1.05).clamp(max=0) ** 2 - pitch**2 - 0.05 * (action**2).sum(1)


def fallen(qpos):
    return (1.1 + qpos[:, 1] < LOWEST) | (qpos[:, 2].abs() > STEEPEST)


def network(inputs: int, outputs: int) -> nn.Sequential:
    net = nn.Sequential(nn.Linear(inputs, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, outputs))
    with torch.no_grad():
        net[-1].weight.mul_(0.1)
    return net


class Hoppers:
    """Worlds of hoppers, of which those that fall begin anew between horizons."""

    def __init__(self, worlds: int, device: str | None, seed: int):
        self.sim = Simulation(HOPPER, worlds=worlds, device=device)
        self.rng, self.worlds = np.random.default_rng(seed), worlds
        self.qpos, self.qvel = self._start(worlds)

    def _start(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Standing on bent legs, each a little differently."""
        qpos = np.tile([0.0, 0.0, 0.0, *STANCE], (count, 1)) + 0.05 * self.rng.normal(size=(count, 6))
        qpos[:, :2] = [0.0, -0.06]  # feet just above the ground
        return torch.tensor(np.float32(qpos)), torch.tensor(np.float32(0.05 * self.rng.normal(size=(count, 6))))

    def act(self, qpos, qvel, action):
        """The states after an action, with gradients."""
        held = (action.new_tensor(STANCE) + REACH * action)[None].expand(HOLD, -1, -1)
        after = rollout(self.sim, held, qpos=qpos, qvel=qvel, every=HOLD)
        return after.qpos[-1], after.qvel[-1]

    def renew(self, qpos, qvel, ended):
        """Go on from these states; worlds that have ended begin anew."""
        new_qpos, new_qvel = self._start(self.worlds)
        lost = ended | ~(torch.isfinite(qpos).all(1) & torch.isfinite(qvel).all(1))
        self.qpos, self.qvel = torch.where(lost[:, None], new_qpos, qpos), torch.where(lost[:, None], new_qvel, qvel)
        self.sim.reset()


def learn(args, log=print) -> dict[str, list[float]]:
    """Train; the mean reward of a step, and the part of worlds that fell, in every iteration."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    hoppers = Hoppers(args.worlds, args.device, args.seed)
    actor, critic, target = network(11, 3), network(11, 1), network(11, 1)
    target.load_state_dict(critic.state_dict())
    actor_steps = torch.optim.Adam(actor.parameters(), args.rate, betas=(0.7, 0.95))
    critic_steps = torch.optim.Adam(critic.parameters(), 2e-3, betas=(0.7, 0.95))
    seen: dict[str, list[float]] = {"reward": [], "fallen": [], "speed": [], "gradient": []}
    began = time.perf_counter()
    for k in range(args.iterations):
        qpos, qvel = hoppers.qpos, hoppers.qvel
        alive = torch.ones(args.worlds)
        total, rows = torch.zeros(()), []
        for t in range(args.horizon):
            watched = observe(qpos, qvel)
            action = torch.tanh(actor(watched) + args.noise * torch.randn(args.worlds, 3))
            qpos, qvel = hoppers.act(qpos, qvel, action)
            got = reward(qpos, qvel, action)
            total = total + (1 - GAMMA) * GAMMA**t * (alive * got).mean()
            down = fallen(qpos.detach())
            rows.append((watched.detach(), got.detach(), alive.clone(), observe(qpos, qvel).detach(), down))
            alive = alive * (~down).float()
        total = total + GAMMA**args.horizon * (alive * target(observe(qpos, qvel))[:, 0]).mean()
        actor_steps.zero_grad()
        (-total).backward()
        size = nn.utils.clip_grad_norm_(actor.parameters(), 0.1)
        if torch.isfinite(size):
            actor_steps.step()
        for rate in actor_steps.param_groups:
            rate["lr"] = args.rate * (1 - 0.9 * k / args.iterations)
        fit(critic, target, critic_steps, rows)
        hoppers.renew(qpos.detach(), qvel.detach(), alive < 0.5)
        seen["reward"].append(float(torch.stack([row[1] for row in rows]).mean()))
        seen["fallen"].append(float((alive < 0.5).float().mean()))
        seen["speed"].append(float(qvel[:, 0].detach().mean()))
        seen["gradient"].append(float(size))
        if k % max(1, args.iterations // 10) == 0 or k == args.iterations - 1:
            means = {name: np.mean(values[-10:]) for name, values in seen.items()}
            text = "  ".join(f"{name} {value:6.3f}" for name, value in means.items())
            log(f"{k:4d}  {time.perf_counter() - began:6.1f} s  {text}")
    return seen


def fit(critic: nn.Module, target: nn.Module, steps: torch.optim.Optimizer, rows: list) -> None:
    """Let the critic learn the values of the states that were seen."""
    with torch.no_grad():
        value = target(rows[-1][3])[:, 0]
        wanted: list[torch.Tensor] = []
        for _, got, _, after, down in reversed(rows):
            beyond = torch.where(down, 0.0, (1 - LAMBDA) * target(after)[:, 0] + LAMBDA * value)
            value = (1 - GAMMA) * got + GAMMA * beyond  # values are mean rewards: as large as one, whatever GAMMA is
            wanted.append(value)
        states, goals = torch.cat([row[0] for row in rows]), torch.cat(wanted[::-1])
        alive = torch.cat([row[2] for row in rows])
    for _ in range(16):
        miss = (alive * (critic(states)[:, 0] - goals) ** 2).mean()
        steps.zero_grad()
        miss.backward()
        nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        steps.step()
    with torch.no_grad():
        for old, new in zip(target.parameters(), critic.parameters(), strict=True):
            old.lerp_(new, 0.2)


def plot(path: Path, seen: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), constrained_layout=True)
    titles = {"reward": "mean reward of an action", "speed": "mean speed [m/s]", "fallen": "worlds that fell"}
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        axis.plot(seen[name], lw=0.6, alpha=0.5)
        width = max(1, len(seen[name]) // 20)
        axis.plot(np.convolve(seen[name], np.ones(width) / width, "valid"), color="C0")
        axis.set(xlabel="iteration", title=title)
    figure.savefig(path, dpi=90)


def main(argv: list[str] | None = None) -> dict[str, list[float]]:
    """Learn, and show how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--horizon", type=int, default=16, help="actions")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default=None)
    parser.add_argument("--small", action="store_true", help="a few iterations of a few worlds, no picture")
    parser.add_argument("--out", type=Path, default=Path("shac_hopper.png"))
    args = parser.parse_args(argv)
    if args.small:
        args.worlds, args.horizon, args.iterations = 8, 6, 12
    seen = learn(args)
    if not args.small:
        plot(args.out, seen)
        print(f"wrote {args.out}")
    return seen


if __name__ == "__main__":
    main()
