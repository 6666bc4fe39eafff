"""Train a policy on thousands of worlds by proximal policy optimisation (Schulman et al., 2017), all on one device.

    python examples/train_ppo.py Ant-v5 --device cuda:0 --seconds 200
    python examples/train_ppo.py Humanoid-v5 --device cuda:0 --seconds 330
    python examples/train_ppo.py CartPole --worlds 64 --iterations 60          a minute on a CPU

Writes into out/: the curve as CSV and as PNG, and a checkpoint with the network, the normalisation and the optimiser.

What makes it work at this scale: observations are normalised by their running mean and deviation, rewards by the
running deviation of returns; many worlds and short horizons; a rate of learning that follows how far the policy has
moved. Where an episode was merely cut off by the clock, the value of its last observation stands in for what would have
followed. The loop never asks the device for a number, but once an iteration for the curve.
"""

import argparse
import csv
import math
import time
from pathlib import Path

import torch
from torch import nn

import kinema.envs

GAMMA, LAMBDA, CLIP, KL = 0.99, 0.95, 0.2, 0.016
EPOCHS, BATCHES, RATE = 4, 8, 3e-4
HIDDEN = (256, 256, 128)
COLUMNS = ("iteration", "steps", "seconds", "episodes", "mean_return", "mean_length", "rate", "deviation")


class Running(nn.Module):
    """Mean and deviation of all that was seen, kept on the device (Chan, Golub and LeVeque, 1979)."""

    def __init__(self, *shape: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("var", torch.ones(shape))
        self.register_buffer("count", torch.tensor(1e-4))

    @torch.no_grad()
    def see(self, rows: torch.Tensor) -> None:
        rows = rows.reshape(-1, *self.mean.shape)
        n, mean, var = rows.shape[0], rows.mean(0), rows.var(0, correction=0)
        total = self.count + n
        away = mean - self.mean
        self.mean += away * (n / total)
        self.var.copy_((self.var * self.count + var * n + away**2 * (self.count * n / total)) / total)
        self.count.copy_(total)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ((x - self.mean) * torch.rsqrt(self.var + 1e-6)).clamp(-10.0, 10.0)


class ActorCritic(nn.Module):
    """A Gaussian policy and a value, each a network, over normalised observations."""

    def __init__(self, observations: int, reach: torch.Tensor, hidden: tuple[int, ...] = HIDDEN):
        super().__init__()
        self.seen, self.earned = Running(observations), Running()
        self.actor = _network(observations, len(reach), hidden, last=0.01)
        self.critic = _network(observations, 1, hidden, last=1.0)
        self.log_deviation = nn.Parameter(torch.full((len(reach),), -0.5))
        self.register_buffer("reach", reach)  # an output of 1 is the largest action

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Mean, log-deviation and value, of normalised observations."""
        return self.actor(seen), self.log_deviation.expand(len(seen), -1), self.critic(seen)[:, 0]

    def act(self, observed: torch.Tensor) -> torch.Tensor:
        """The best action known."""
        return self.actor(self.seen(observed)) * self.reach


def _network(inputs: int, outputs: int, hidden: tuple[int, ...], last: float) -> nn.Sequential:
    widths = (inputs, *hidden)
    layers: list[nn.Module] = []
    for a, b in zip(widths[:-1], widths[1:], strict=True):
        layers += [nn.Linear(a, b), nn.ELU()]
    head = nn.Linear(widths[-1], outputs)
    nn.init.orthogonal_(head.weight, last)
    nn.init.zeros_(head.bias)
    return nn.Sequential(*layers, head)


def log_prob(x: torch.Tensor, mean: torch.Tensor, log_deviation: torch.Tensor) -> torch.Tensor:
    z = (x - mean) * torch.exp(-log_deviation)
    return -(0.5 * z**2 + log_deviation + 0.5 * math.log(2 * math.pi)).sum(-1)


class Rollout:
    """Steps of all worlds, in memory made once: (horizon, worlds, ...)."""

    def __init__(self, horizon: int, worlds: int, observations: int, actions: int, device):
        def room(*shape: int) -> torch.Tensor:
            return torch.zeros(horizon, worlds, *shape, device=device)

        self.seen, self.chosen, self.mean = room(observations), room(actions), room(actions)
        self.log_prob, self.value, self.reward, self.over = room(), room(), room(), room()
        self.gained = torch.zeros(worlds, device=device)  # discounted returns, for the scale of rewards
        self.age = torch.zeros(worlds, device=device)  # steps of the present episode
        self.ended = torch.zeros(3, device=device)  # episodes, their returns, their lengths

    @torch.no_grad()
    def collect(self, env, net: ActorCritic, observed: torch.Tensor) -> torch.Tensor:
        """Act by the present policy; the observation that comes next."""
        self.ended.zero_()
        for t in range(len(self.reward)):
            seen = net.seen(observed)
            mean, log_deviation, value = net(seen)
            chosen = mean + torch.exp(log_deviation) * torch.randn_like(mean)
            self.seen[t], self.chosen[t], self.mean[t], self.value[t] = seen, chosen, mean, value
            self.log_prob[t] = log_prob(chosen, mean, log_deviation)
            observed, reward, terminated, truncated, info = env.step(chosen * net.reach)
            over = (terminated | truncated).float()
            self.gained = self.gained * GAMMA + reward
            net.earned.see(self.gained)
            self.gained *= 1 - over
            beyond = net.critic(net.seen(info["final_obs"]))[:, 0]
            scaled = (reward * torch.rsqrt(net.earned.var + 1e-6)).clamp(-10.0, 10.0)
            self.reward[t] = scaled + GAMMA * beyond * truncated
            self.over[t] = over
            self.age += 1
            self.ended += torch.stack([over.sum(), info["episode"]["r"].sum(), (self.age * over).sum()])
            self.age *= 1 - over
            observed = observed.clone()  # the environment writes its arrays again
        return observed

    @torch.no_grad()
    def advantages(self, after: torch.Tensor) -> torch.Tensor:
        """Generalised advantage estimates (Schulman et al., 2016)."""
        found, running = torch.zeros_like(self.reward), torch.zeros_like(after)
        for t in reversed(range(len(self.reward))):
            going_on = 1 - self.over[t]
            surprise = self.reward[t] + GAMMA * going_on * after - self.value[t]
            running = surprise + GAMMA * LAMBDA * going_on * running
            found[t], after = running, self.value[t]
        return found


def improve(net: ActorCritic, optimizer: torch.optim.Optimizer, rollout: Rollout, after: torch.Tensor) -> torch.Tensor:
    """Climb the clipped objective; how far the policy has moved, as a Kullback-Leibler divergence."""
    advantages = rollout.advantages(after)
    columns = rollout.seen, rollout.chosen, rollout.mean, rollout.log_prob, advantages, advantages + rollout.value
    seen, chosen, old_mean, old, gains, returns = (x.flatten(0, 1) for x in columns)
    gains = (gains - gains.mean()) / (gains.std() + 1e-8)
    old_deviation = net.log_deviation.detach().clone()
    moved = torch.zeros((), device=seen.device)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(seen), device=seen.device).chunk(BATCHES):
            mean, log_deviation, value = net(seen[rows])
            ratio = (log_prob(chosen[rows], mean, log_deviation) - old[rows]).exp()
            gain = torch.minimum(ratio * gains[rows], ratio.clamp(1 - CLIP, 1 + CLIP) * gains[rows]).mean()
            miss = (value - returns[rows]).square().mean()
            optimizer.zero_grad(set_to_none=True)
            (0.5 * miss - gain).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                spread = (old_deviation - net.log_deviation).mul(2).exp()
                apart = (mean - old_mean[rows]).square() * torch.exp(-2 * net.log_deviation)
                moved = (0.5 * (spread + apart - 1) + net.log_deviation - old_deviation).sum(-1).mean()
    return moved


def train(
    task: str = "Ant-v5", *, device: str | None = None, worlds: int = 4096, horizon: int = 16, seconds: float = 200.0,
    iterations: int | None = None, seed: int = 0, out: str | Path = "out", resume: str | Path | None = None,
    hidden: tuple[int, ...] = HIDDEN,
) -> list[dict[str, float]]:  # fmt: skip
    """Train for some time, or for some iterations; the rows of the curve."""
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high")
    env = kinema.envs.make(task, worlds, backend="torch", device=device, seed=seed, copy=False)
    reach = torch.as_tensor(env.single_action_space.high)
    net = ActorCritic(env.single_observation_space.shape[0], reach, hidden).to(env.device)
    if not net.reach.is_cuda:
        torch.set_num_threads(1)  # in networks this small threads would only wait for each other
    optimizer = torch.optim.Adam(net.parameters(), RATE, fused=net.reach.is_cuda)
    if resume is not None:
        saved = torch.load(resume, map_location=env.device, weights_only=True)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
    rollout = Rollout(horizon, worlds, env.single_observation_space.shape[0], len(reach), env.device)
    observed = env.reset()[0].clone()
    env.episode_length.copy_(torch.randint(0, env.max_episode_steps, (worlds,)))  # so that not all are cut off at once
    net.seen.see(observed)
    rows, rate, k, began = [], RATE, 0, time.perf_counter()
    window: list[list[float]] = []
    while k < iterations if iterations else time.perf_counter() - began < seconds:
        observed = rollout.collect(env, net, observed)
        with torch.no_grad():
            after = net.critic(net.seen(observed))[:, 0]
        moved = improve(net, optimizer, rollout, after)
        net.seen.see(observed)
        moved, *ended = torch.cat([moved[None], rollout.ended]).tolist()  # the one look at the device
        rate = min(max(rate / 1.5 if moved > 2 * KL else rate * 1.5 if moved < KL / 2 else rate, 1e-5), 1e-3)
        for group in optimizer.param_groups:
            group["lr"] = rate
        k += 1
        window.append(ended)
        if k % 10 == 0 or k == iterations:
            count, total, length = (sum(column) for column in zip(*window, strict=True))
            window = []
            if count:
                passed, steps = time.perf_counter() - began, k * horizon * worlds
                deviation = float(net.log_deviation.detach().exp().mean())
                values = (k, steps, passed, count, total / count, length / count, rate, deviation)
                rows.append(dict(zip(COLUMNS, values, strict=True)))
                print(f"{steps:12,d} steps {passed:6.1f} s {steps / passed:11,.0f}/s  return {total / count:9.1f}"
                      f"  length {length / count:6.1f}  rate {rate:.0e}", flush=True)  # fmt: skip
    if env.graph.reason and env.sim.engine.device.is_cuda:
        print(f"the environment ran uncaptured: {env.graph.reason}")
    write(task, rows, net, optimizer, Path(out), hidden)
    return rows


def write(
    task: str, rows: list[dict[str, float]], net: ActorCritic, optimizer, folder: Path, hidden: tuple[int, ...]
) -> None:  # fmt: skip
    """The curve as numbers and as a picture, and what is needed to go on."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"ppo_{task.lower().replace('/', '_')}"
    with open(folder / f"{name}.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    saved = {"task": task, "hidden": hidden, "net": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(saved, folder / f"{name}.pt")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture of the curve: pip install 'kinema[plot]'")
        return
    figure = Figure((6, 3.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([row["seconds"] for row in rows], [row["mean_return"] for row in rows])
    axes.set(xlabel="seconds", ylabel="mean return of episodes that ended", title=task)
    axes.grid(alpha=0.3)
    above = axes.secondary_xaxis("top", functions=_steps_of_seconds(rows))
    above.set_xlabel("million steps")
    figure.savefig(folder / f"{name}.png", dpi=130)
    print(f"wrote {folder / name}.csv, .png and .pt")


def _steps_of_seconds(rows: list[dict[str, float]]):
    """Between the two ways to count how long training took, which are in proportion."""
    pace = rows[-1]["steps"] / rows[-1]["seconds"] / 1e6 if rows else 1.0
    return (lambda s: s * pace), (lambda n: n / pace)


@torch.no_grad()
def evaluate(checkpoint: str | Path, *, worlds: int = 64, device: str | None = None, seed: int = 1) -> float:
    """Mean return of one episode a world, acting without noise."""
    saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
    env = kinema.envs.make(saved["task"], worlds, backend="torch", device=device, seed=seed)
    reach = torch.as_tensor(env.single_action_space.high)
    net = ActorCritic(env.single_observation_space.shape[0], reach, tuple(saved["hidden"]))
    net.load_state_dict(saved["net"])
    net.to(env.device)
    observed, _ = env.reset()
    gained, going = torch.zeros(worlds, device=env.device), torch.ones(worlds, device=env.device)
    for _ in range(env.max_episode_steps):
        observed, reward, terminated, truncated, _ = env.step(net.act(observed))
        gained += going * reward
        going *= ~(terminated | truncated)
    return float(gained.mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="Ant-v5")
    parser.add_argument("--device", default=None, help="Warp device such as cuda:0")
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--horizon", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--iterations", type=int, default=None, help="instead of seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="out")
    parser.add_argument("--resume", default=None, help="a checkpoint to go on from")
    train(**vars(parser.parse_args()))
