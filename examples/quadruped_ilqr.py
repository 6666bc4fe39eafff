"""A gait for a quadruped by iterative LQR: nobody says how to walk, only what counts.

    python examples/quadruped_ilqr.py                writes quadruped_ilqr.png
    python examples/quadruped_ilqr.py --speed 0.3 0.5 0.7 --device cuda:0        a world for each speed

Residuals ask for a speed of the trunk, its height and attitude, for legs near their posture, and for feet that leave
the ground in turn, two and two: the rhythm of a trot. How far legs swing, when feet touch and what the motors do comes
out of the optimisation, through the contacts. Feet and trunk are seen by sensors, so costs are written in metres.

It plans as it goes: a stride ahead, a few steps of which are taken before it plans again from where it has come to. The
next plan begins with the present one, and what is taken from its front, since a gait repeats, is put at its end.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from kinema import Simulation
from kinema.control import ilqr

LEGS = {"fl": (0.2, 0.12), "fr": (0.2, -0.12), "hl": (-0.2, 0.12), "hr": (-0.2, -0.12)}
POSTURE = (0.0, 0.6, -1.2)  # abduction, hip, knee [rad]
HEIGHT, FOOT = 0.31, 0.022  # of the trunk, and of a foot's centre above the ground [m]
PERIOD, LIFT = 0.4, 0.05  # of a stride [s], of a foot [m]


def leg(name: str, x: float, y: float) -> str:
    """A leg of three joints."""
    return f"""
      <body name="{name}" pos="{x} {y} 0">
        <joint name="{name}_abduction" axis="1 0 0" range="-40 40"/>
        <geom type="sphere" size=".03" mass=".4"/>
        <body name="{name}_thigh">
          <joint name="{name}_hip" axis="0 1 0" range="-60 120"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.18" size=".02" mass=".5"/>
          <body name="{name}_shank" pos="0 0 -.18">
            <joint name="{name}_knee" axis="0 1 0" range="-150 -20"/>
            <geom type="capsule" fromto="0 0 0 0 0 -.18" size=".015" mass=".15"/>
            <geom class="foot" pos="0 0 -.18"/>
            <site name="{name}_foot" pos="0 0 -.18"/>
          </body>
        </body>
      </body>"""


def quadruped() -> str:
    """The model: a trunk on four legs, with a servo at every joint."""
    servos = [f'<position joint="{leg}_{joint}"/>' for leg in LEGS for joint in ("abduction", "hip", "knee")]
    feet = [f'<framepos name="{leg}" objtype="site" objname="{leg}_foot"/>' for leg in LEGS]
    return f"""
    <mujoco model="quadruped">
      <option timestep="0.01" integrator="implicitfast" cone="pyramidal"/>
      <default>
        <geom contype="0" conaffinity="0"/>
        <joint damping="0.5" armature="0.01"/>
        <position kp="60" kv="1.5" inheritrange="1"/>
        <default class="foot"><geom size="{FOOT}" mass=".05" conaffinity="1" friction="1" solref=".03 1"/></default>
      </default>
      <worldbody>
        <geom type="plane" size="10 10 .1" contype="1" friction="1"/>
        <body name="trunk" pos="0 0 {HEIGHT}">
          <freejoint/>
          <geom type="box" size=".24 .1 .05" mass="6"/>
          {"".join(leg(name, *place) for name, place in LEGS.items())}
        </body>
      </worldbody>
      <actuator>{"".join(servos)}</actuator>
      <sensor>{"".join(feet)}<framelinvel objtype="body" objname="trunk"/></sensor>
    </mujoco>"""


def rhythm(t):
    """How high each foot is wanted at a time, (..., 4): front left and hind right, then the other two."""
    phase = t[..., None] / PERIOD + t.new_tensor([0.0, 0.5, 0.5, 0.0])
    return LIFT * torch.sin(2 * torch.pi * phase).clamp(min=0) + FOOT


class Walk:
    """What counts, for each world its own speed; `now` is when a plan begins [s]."""

    now = 0.0

    def __init__(self, sim: Simulation, speeds: list[float]):
        self.dt, self.device = float(sim.model.opt.timestep), sim.torch("qpos").device
        self.speed = torch.tensor(speeds, dtype=torch.float32, device=self.device)
        self.posture = torch.tensor(POSTURE * 4, dtype=torch.float32, device=self.device)

    def running(self, point):
        """Residuals of a state and its controls."""
        feet, velocity = point.sensordata[:, :12].unflatten(1, (4, 3)), point.sensordata[:, 12:15]
        legs = point.qpos[:, 7:] - self.posture
        wanted = torch.stack([self.speed[point.world], *[torch.zeros_like(self.speed[point.world])] * 2], 1)
        return torch.cat([
            2.0 * (velocity - wanted) * velocity.new_tensor([1.0, 0.7, 0.3]),
            8.0 * (point.qpos[:, 2:3] - HEIGHT), 2.0 * point.qpos[:, 1:2],
            4.0 * point.qpos[:, 4:7], 0.2 * point.qvel[:, 3:6],
            12.0 * (feet[:, :, 2] - rhythm(point.step * self.dt + self.now)),
            0.3 * legs, 0.01 * point.qvel[:, 6:],
            0.1 * (point.ctrl - point.qpos[:, 7:]),
        ], 1)  # fmt: skip

    def final(self, point):
        """Residuals of the last state: on its feet, and as fast as wanted."""
        return 3.0 * self.running(point)


def stand(sim: Simulation) -> np.ndarray:
    """Put all worlds on their feet, at rest; the controls that hold them there."""
    sim.reset()
    sim.set_state(qpos=[0, 0, HEIGHT, 1, 0, 0, 0, *POSTURE * 4], ctrl=POSTURE * 4)
    sim.step(100)
    sim.set_state(time=0.0)
    return np.array(POSTURE * 4, np.float32)


def trot(sim: Simulation, walk: Walk, plans: int, ahead: int, taken: int, iterations: int, log=print) -> dict:
    """Plan and walk: where trunks were (steps + 1, worlds, 3), how high feet (steps, worlds, 4), what plans cost."""
    solver = ilqr.Solver(sim, running=walk.running, final=walk.final)
    ctrl = np.tile(stand(sim), (ahead, sim.worlds, 1))
    trunk, feet, costs = [sim.d.qpos[:, :3].copy()], [], []
    began = time.perf_counter()
    for k in range(plans):
        walk.now = k * taken * walk.dt
        plan = solver(ctrl, iterations=iterations if k else 4 * iterations, tolerance=1e-3, mu=0.1)
        costs.append((plan.costs[0], plan.cost))
        for action in plan.ctrl[:taken]:
            sim.d.ctrl = action
            sim.step()
            trunk.append(sim.d.qpos[:, :3].copy())
            feet.append(sim.d.sensordata[:, 2:12:3] - FOOT)
        ctrl = np.roll(plan.ctrl, -taken, 0)
        if k % 5 == 0 or k == plans - 1:
            speed = (trunk[-1][:, 0] - trunk[-1 - taken][:, 0]) / (taken * walk.dt)
            now, passed = walk.now + taken * walk.dt, time.perf_counter() - began
            log(f"{now:5.2f} s: {np.round(speed, 2)} m/s, cost {np.round(plan.cost, 1)} ({passed:.0f} s)")
    return {"trunk": np.array(trunk), "feet": np.array(feet), "costs": np.array(costs)}


def plot(path: Path, walk: Walk, speeds: list[float], walked: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = np.arange(len(walked["trunk"])) * walk.dt
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), constrained_layout=True)
    for w, speed in enumerate(speeds):
        axes[0].plot(t, walked["trunk"][:, w, 0], label=f"{speed:g} m/s wanted")
        axes[0].plot(t, walked["trunk"][0, w, 0] + speed * t, ":", color=f"C{w}", lw=1)
        axes[2].plot(t, walked["trunk"][:, w, 2])
    axes[0].set(xlabel="s", ylabel="m", title="way of the trunk")
    axes[0].legend(fontsize=7)
    for k, name in enumerate(LEGS):
        axes[1].plot(t[1:], 1000 * walked["feet"][:, -1, k], label=name, lw=1)
    axes[1].set(xlabel="s", ylabel="mm", title=f"feet above the ground, {speeds[-1]:g} m/s")
    axes[1].legend(fontsize=7)
    axes[2].axhline(HEIGHT, color="0.7", lw=0.8)
    axes[2].set(xlabel="s", ylabel="m", title="height of the trunk", ylim=(0, 1.3 * HEIGHT))
    figure.savefig(path, dpi=90)


def main(argv: list[str] | None = None) -> dict:
    """Walk; gives what `trot` gives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", type=float, nargs="+", default=[0.3, 0.6], help="a world for each [m/s]")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--iterations", type=int, default=3, help="of each plan")
    parser.add_argument("--device", default=None)
    parser.add_argument("--small", action="store_true", help="one world, half a stride, no picture")
    parser.add_argument("--out", type=Path, default=Path("quadruped_ilqr.png"))
    args = parser.parse_args(argv)
    speeds = args.speed[:1] if args.small else args.speed
    sim = Simulation(quadruped(), worlds=len(speeds), device=args.device)
    walk, taken = Walk(sim, speeds), 5
    ahead = round(PERIOD / walk.dt)
    plans = 4 if args.small else int(args.seconds / (taken * walk.dt))
    walked = trot(sim, walk, plans, ahead, taken, 1 if args.small else args.iterations)
    half = len(walked["trunk"]) // 2
    for w, speed in enumerate(speeds):
        went = walked["trunk"][-1, w, 0] - walked["trunk"][half, w, 0]
        print(f"{speed:g} m/s wanted, {went / ((len(walked['trunk']) - 1 - half) * walk.dt):.2f} in the second half")
    if not args.small:
        plot(args.out, walk, speeds, walked)
        print(f"wrote {args.out}")
    return walked


if __name__ == "__main__":
    main()
