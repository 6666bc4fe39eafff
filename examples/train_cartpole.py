"""Learn to balance a pole by proximal policy optimisation (Schulman et al., 2017), in about a hundred lines of torch.

    python examples/train_cartpole.py                     a minute or two on a CPU
    python examples/train_cartpole.py --device cuda:0 --worlds 4096 --horizon 16

One iteration: all worlds act for `horizon` steps by the present policy; advantages are estimated by GAE; the clipped
objective is climbed for a few passes over the data. Worlds start the next episode by themselves; where one was merely
cut off by the clock, the value of its last observation stands in for what would have followed.
"""

import argparse
import time

import torch
from torch import nn

import kinema.envs

GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
EPOCHS, BATCHES, RATE = 4, 4, 1e-3


class ActorCritic(nn.Module):
    """A Gaussian policy and a value, each a small network."""

    def __init__(self, observations: int, actions: int):
        super().__init__()
        self.mean = _network(observations, actions, last=0.01)
        self.value = _network(observations, 1, last=1.0)
        self.log_deviation = nn.Parameter(torch.full((actions,), -0.5))

    def policy(self, observed: torch.Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean(observed), self.log_deviation.exp())


def _network(inputs: int, outputs: int, last: float) -> nn.Sequential:
    network = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))
    nn.init.orthogonal_(network[-1].weight, last)
    nn.init.zeros_(network[-1].bias)
    return network


@torch.no_grad()
def collect(env, net: ActorCritic, observed: torch.Tensor, horizon: int):
    """Act for some steps. Observations, actions, log-probabilities, advantages and returns, all (horizon, n, ...)."""
    rows, ended = [], []
    for _ in range(horizon):
        policy = net.policy(observed)
        action = policy.sample()
        following, reward, terminated, truncated, info = env.step(action)
        beyond = net.value(info["final_obs"])[:, 0]
        reward = reward + GAMMA * beyond * truncated
        done = (terminated | truncated).float()
        rows.append((observed, action, policy.log_prob(action).sum(-1), net.value(observed)[:, 0], reward, done))
        ended.append((info["episode"]["l"].sum(), info["_episode"].sum()))
        observed = following
    seen, actions, log_probs, values, rewards, dones = (torch.stack(column) for column in zip(*rows, strict=True))
    advantages = torch.zeros_like(rewards)
    running, value_after = torch.zeros_like(rewards[0]), net.value(observed)[:, 0]
    for t in reversed(range(horizon)):
        going_on = 1 - dones[t]
        surprise = rewards[t] + GAMMA * going_on * value_after - values[t]
        running = surprise + GAMMA * LAMBDA * going_on * running
        advantages[t], value_after = running, values[t]
    return observed, (seen, actions, log_probs, advantages, advantages + values), ended


def improve(net: ActorCritic, optimizer: torch.optim.Optimizer, data: tuple[torch.Tensor, ...]) -> None:
    """Climb the clipped objective."""
    seen, actions, old, advantages, returns = (x.flatten(0, 1) for x in data)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(seen), device=seen.device).chunk(BATCHES):
            ratio = (net.policy(seen[rows]).log_prob(actions[rows]).sum(-1) - old[rows]).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = torch.minimum(ratio * advantages[rows], clipped * advantages[rows]).mean()
            miss = (net.value(seen[rows])[:, 0] - returns[rows]).square().mean()
            optimizer.zero_grad()
            (0.5 * miss - gain).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()


@torch.no_grad()
def evaluate(net: ActorCritic, worlds: int, device: str | None, seed: int) -> float:
    """Mean length of one episode a world, acting without noise."""
    env = kinema.envs.make("CartPole", worlds, backend="torch", device=device)
    observed, _ = env.reset(seed=seed)
    length, going = torch.zeros(worlds, device=observed.device), torch.ones(worlds, device=observed.device)
    for _ in range(env.max_episode_steps):
        observed, _, terminated, truncated, _ = env.step(net.mean(observed))
        length += going
        going *= ~(terminated | truncated)
    return float(length.mean())


def train(
    *, iterations: int = 150, worlds: int = 64, horizon: int = 32, device: str | None = None, seed: int = 0
) -> tuple[float, float]:
    """Train a policy; the mean length of episodes before and after."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # in networks this small threads would only wait for each other
    env = kinema.envs.make("CartPole", worlds, backend="torch", device=device, seed=seed)
    net = ActorCritic(env.single_observation_space.shape[0], env.single_action_space.shape[0]).to(env.device)
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    before = evaluate(net, worlds, device, seed + 1)
    print(f"before: episodes last {before:.0f} of {env.max_episode_steps} steps")
    observed, _ = env.reset()
    began, finished = time.perf_counter(), []
    for k in range(iterations):
        observed, data, ended = collect(env, net, observed, horizon)
        improve(net, optimizer, data)
        finished += ended
        if k % 10 == 9:
            lengths, episodes = (sum(column) for column in zip(*finished, strict=True))
            steps, passed = (k + 1) * horizon * worlds, time.perf_counter() - began
            print(f"{steps:8d} steps  {passed:5.1f} s  {episodes:4d} episodes, {lengths / episodes:5.1f} steps long")
            finished = []
    after = evaluate(net, worlds, device, seed + 1)
    print(f"after:  episodes last {after:.0f} of {env.max_episode_steps} steps")
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--horizon", type=int, default=32)
    parser.add_argument("--device", default=None, help="Warp device such as cuda:0")
    parser.add_argument("--seed", type=int, default=0)
    train(**vars(parser.parse_args()))
