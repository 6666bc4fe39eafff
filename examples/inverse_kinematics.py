"""A humanoid reaches for a circle of points, one in each world, with both feet where they are.

    python examples/inverse_kinematics.py [--worlds 8] [--device cuda:0] [--picture reach.png]

Every world solves for three targets at once: a hand at its point, and the pose of each foot; the standing posture
decides what the targets leave free. It prints how near each comes.
"""

import argparse
from pathlib import Path

import numpy as np

from kinema import Simulation
from kinema.control import ik

HUMANOID = Path(__file__).parent / "models" / "humanoid.xml"


def main(arguments: list[str] | None = None) -> ik.Solution:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--picture", metavar="FILE", help="draw the first worlds side by side")
    args = parser.parse_args(arguments)

    sim = Simulation(HUMANOID, worlds=args.worlds, device=args.device)
    sim.reset(keyframe="stand")
    sim.engine.motion()
    angle = np.linspace(0, 2 * np.pi, args.worlds, endpoint=False)
    hand = sim.geom("hand_right").xpos
    goal = np.array([0.3, -0.25, 1.0]) + 0.2 * np.stack([0 * angle, np.cos(angle), np.sin(angle)], axis=1)
    feet = [
        ik.Target(foot, "body", position=sim.body(foot).xpos, orientation=sim.body(foot).xquat)
        for foot in ("foot_left", "foot_right")
    ]
    found = ik.solve(
        sim, [ik.Target("hand_right", "geom", position=goal), *feet], posture=sim.d.qpos, posture_weight=1e-4,
        iterations=100, position_tolerance=2e-3, orientation_tolerance=2e-2,
    )  # fmt: skip

    print("world   hand moves   goal [m]                 hand off by   feet off by")
    for w in range(args.worlds):
        moved = np.linalg.norm(goal[w] - hand[w])
        place = " ".join(f"{x:6.3f}" for x in goal[w])
        off = found.position_error[w] * 1000
        print(f"{w:>5}   {moved:7.3f} m    {place}   {off[0]:8.3f} mm   {off[1:].max():8.3f} mm")
    print(f"{int(found.success.sum())} of {args.worlds} worlds reach their goals")
    if args.picture:
        import imageio.v3 as imageio

        sim.set_state(qpos=found.qpos)
        sim.engine.poses()
        pictures = sim.render(width=320, height=320, worlds=range(min(4, args.worlds)))
        imageio.imwrite(args.picture, np.concatenate(list(pictures), axis=1))
    return found


if __name__ == "__main__":
    main()
