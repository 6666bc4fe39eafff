"""What an environment costs beside its physics: env.step, and the bare simulation's steps from the same states.

    python -m benchmarks envs                                  the CPU, NumPy and torch
    python -m benchmarks envs --device cuda:0                  a GPU, torch; says why where a step is not captured
    python -m benchmarks envs --tasks Humanoid --worlds 1024

Both are timed in turns: some steps of the environment with random actions, then as many of its simulation alone from
the state in which those began. The ratio is of medians, with the spread of the turns behind it. Launches, arguments,
random numbers, rewards, resets and statistics are all in env.step.
"""

import argparse
import statistics
import time

import numpy as np
import warp as wp

import kinema.envs

TASKS = ("CartPole", "Humanoid", "Quadruped")
TURNS = 7


def timed(work, count: int, device) -> float:
    """Milliseconds of one of `count` calls."""
    wp.synchronize_device(device)
    begin = time.perf_counter()
    for k in range(count):
        work(k)
    wp.synchronize_device(device)
    return 1e3 * (time.perf_counter() - begin) / count


def measure(env, steps: int, warm: int) -> tuple[list[float], list[float]]:
    """Times of env.step and of its physics, one a turn, in milliseconds."""
    rng = np.random.default_rng(0)
    low, high = env.action_space.low, env.action_space.high
    actions = [env.worlds.array(rng.uniform(low, high).astype(np.float32)) for _ in range(16)]
    env.reset(seed=0)
    for k in range(warm):
        env.step(actions[k % len(actions)])
    device, whole, bare = env.sim.engine.device, [], []
    for _ in range(TURNS):
        before = env.sim.get_state()
        whole.append(timed(lambda k: env.step(actions[k % len(actions)]), steps, device))
        after = env.sim.get_state()
        env.sim.set_state(**before)
        bare.append(timed(lambda k: env.sim.step(env.decimation), steps, device))
        env.sim.reset()
        env.sim.set_state(**after)
    return whole, bare


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=None, help="steps of a turn; None: 10 on the CPU, 50 on a GPU")
    parser.add_argument("--tasks", default=",".join(TASKS), help="names, by commas")
    parser.add_argument("--backends", default=None, help="numpy, torch; None: both on the CPU, torch on a GPU")
    parser.add_argument("--no-capture", dest="capture", action="store_false")
    parser.add_argument("--no-copy", dest="copy", action="store_false", help="take the graph's own arrays")
    args = parser.parse_args(argv)
    on_gpu = wp.get_device(args.device).is_cuda
    backends = (args.backends or ("torch" if on_gpu else "numpy,torch")).split(",")
    steps = args.steps or (50 if on_gpu else 10)
    head = f"{'task':16} {'worlds':>7} {'library':8} {'env.step ms':>12} {'physics ms':>11} {'ratio':>6}"
    print(f"{head}  spread      launched")
    for name in args.tasks.split(","):
        for backend in backends:
            env = kinema.envs.make(name, args.worlds, device=args.device, backend=backend, capture=args.capture,
                                   copy=args.copy)  # fmt: skip
            whole, bare = measure(env, steps, warm=40)
            one, two = statistics.median(whole), statistics.median(bare)
            ratios = [a / b for a, b in zip(whole, bare, strict=True)]
            how = "one graph" if env.graph.is_captured else "one by one"
            print(
                f"{name:16} {args.worlds:7} {backend:8} {one:12.3f} {two:11.3f} {one / two:6.2f}  "
                f"{min(ratios):.2f}-{max(ratios):.2f}   {how}",
                flush=True,
            )
            if on_gpu and not env.graph.is_captured:
                print(f"    not captured: {env.graph.reason}")


if __name__ == "__main__":
    main()
