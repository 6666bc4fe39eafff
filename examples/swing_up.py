"""Swing a pole up on a cart, in many worlds at once: by iterative LQR, and by path integrals without derivatives.

    python examples/swing_up.py                      writes swing_up.png
    python examples/swing_up.py --worlds 64 --device cuda:0

The motor is too weak to lift the pole at once: it must swing. Every world begins with the pole hanging at another angle
and solves its own problem. Iterative LQR gets there, and gives gains that hold the pole up against a push; path
integrals come near without a single derivative.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from kinema import Simulation
from kinema.control import ilqr, mppi

CART_POLE = """
<mujoco model="cart-pole">
  <option timestep="0.02" integrator="implicitfast"><flag contact="disable"/></option>
  <worldbody>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0" damping=".1"/>
      <geom type="box" size=".1 .05 .05" mass="1"/>
      <body name="pole">
        <joint name="hinge" axis="0 1 0" damping=".002"/>
        <geom type="capsule" fromto="0 0 0 0 0 .6" size=".02" mass=".2"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="rail" gear="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def running(point):
    """What counts on the way: a little of everything."""
    angle, cart = point.qpos[:, 1], point.qpos[:, 0]
    slow = 0.02 * point.qvel
    return torch.stack(
        [0.1 * cart, 0.3 * (torch.cos(angle) - 1), 0.3 * torch.sin(angle), *slow.unbind(1), 0.25 * point.ctrl[:, 0]], 1
    )


def final(point):
    """What counts at the end: the pole upright, everything at rest, the cart in the middle."""
    angle, cart = point.qpos[:, 1], point.qpos[:, 0]
    slow = 3.0 * point.qvel
    return torch.stack([3 * cart, 10 * (torch.cos(angle) - 1), 10 * torch.sin(angle), *slow.unbind(1)], 1)


def follow(sim: Simulation, plan: ilqr.Plan, push: float) -> np.ndarray:
    """Run the plan with its gains while somebody pushes the cart; the pole's angles, (steps, worlds)."""
    start, angles = sim.get_state(), []
    for t in range(len(plan.ctrl)):
        sim.d.ctrl = plan.control(t, sim.d.qpos, sim.d.qvel)
        sim.d.qfrc_applied = [push if 20 <= t < 25 else 0.0, 0.0]
        sim.step()
        angles.append(sim.d.qpos[:, 1].copy())
    sim.set_state(**{name: value for name, value in start.items() if value.size})
    return np.array(angles)


def upright(angle: np.ndarray) -> np.ndarray:
    """How far from upright, in radians."""
    return np.abs((angle + np.pi) % (2 * np.pi) - np.pi)


def plot(path: Path, sim: Simulation, plans: dict[str, ilqr.Plan], pushed: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = np.arange(len(pushed) + 1) * float(sim.model.opt.timestep)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), constrained_layout=True)
    best = plans["iLQR"]
    for w in range(sim.worlds):
        axes[0].plot(t, upright(best.qpos[:, w, 1]), color=f"C{w % 10}", lw=1)
        axes[0].plot(t[1:], upright(pushed[:, w]), ":", color=f"C{w % 10}", lw=1)
        axes[1].plot(t[:-1], best.ctrl[:, w, 0], color=f"C{w % 10}", lw=1)
    axes[0].set(xlabel="s", ylabel="rad from upright", title="planned, and pushed on the way (dotted)")
    axes[1].set(xlabel="s", title="motor, within its limits")
    for name, plan in plans.items():
        axes[2].semilogy(plan.costs.mean(1), label=name)
    axes[2].set(xlabel="iteration", title="mean cost of all worlds")
    axes[2].legend()
    figure.savefig(path, dpi=90)


def main(argv: list[str] | None = None) -> dict[str, ilqr.Plan]:
    """Swing up; gives the plans of both methods."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--samples", type=int, default=64, help="of path integrals, in every world")
    parser.add_argument("--device", default=None)
    parser.add_argument("--small", action="store_true", help="two worlds, few iterations, no picture")
    parser.add_argument("--out", type=Path, default=Path("swing_up.png"))
    args = parser.parse_args(argv)
    worlds = 2 if args.small else args.worlds
    sim = Simulation(CART_POLE, worlds=worlds, device=args.device)
    hanging = np.pi + np.linspace(-0.3, 0.3, worlds)
    sim.set_state(qpos=np.stack([0 * hanging, hanging], 1))
    first = np.zeros((args.steps, 1))
    plans = {}
    for name, solve in (
        ("iLQR", lambda: ilqr.solve(sim, first, running=running, final=final, iterations=60 if args.small else 150)),
        ("MPPI", lambda: mppi.solve(
            sim, first, running=running, final=final, iterations=10 if args.small else 80,
            samples=16 if args.small else args.samples, hold=8, noise=0.6,
        )),
    ):  # fmt: skip
        began = time.perf_counter()
        plans[name] = solve()
        off = upright(plans[name].qpos[-1, :, 1])
        print(
            f"{name}: {time.perf_counter() - began:.1f} s, cost {plans[name].cost.mean():.2f}, "
            f"{int((off < 0.1).sum())} of {worlds} poles upright"
        )
    pushed = follow(sim, plans["iLQR"], push=1.0)
    print(f"pushed on the way, and still upright: {int((upright(pushed[-1]) < 0.2).sum())} of {worlds}")
    if not args.small:
        plot(args.out, sim, plans, pushed)
        print(f"wrote {args.out}")
    return plans


if __name__ == "__main__":
    main()
