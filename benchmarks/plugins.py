"""What a plugin costs: servos as a plugin beside MuJoCo's own, the same physics, many worlds.

A chain of links on hinges, a servo on each: PD (native `position`) and PID (native `pid`) against `mujoco.pid`. The two
engines of a pair run in one process, in turns; the median over all turns of the ratio of their times counts, since a
disturbance falls on either alike.
Run it with ``python -m benchmarks.plugins [--worlds 1024] [--device cpu]``.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import warp as wp

from kinema.compile import compile_model
from kinema.convex.engine import Engine

LINKS = 8
KP, KD, KI, STEP = 20.0, 2.0, 5.0, 0.001
PD = f'<config key="kp" value="{KP}"/><config key="kd" value="{KD}"/>'
SERVOS = {
    "PD": (
        f'<position joint="j{{}}" kp="{KP}" kv="{KD}"/>',
        f'<plugin plugin="mujoco.pid" joint="j{{}}">{PD}</plugin>',
    ),
    "PID": (
        f'<pid joint="j{{}}" kp="{KP + STEP * KI}" kv="{KD}" ki="{KI}" input="pos"/>',
        f'<plugin plugin="mujoco.pid" joint="j{{}}" actdim="1">{PD}<config key="ki" value="{KI}"/></plugin>',
    ),
}
"""Native and plugin. The plugin's integral includes the error of the present step, the native one does not."""


def chain(k: int = 0) -> str:
    """Nested links."""
    if k == LINKS:
        return ""
    return f"""<body pos="0 0 {-0.2 if k else 0}"><joint name="j{k}" axis="{k % 2} {1 - k % 2} 0" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/>{chain(k + 1)}</body>"""


def document(servo: str) -> str:
    """The chain with servos of one kind."""
    extension = '<extension><plugin plugin="mujoco.pid"/></extension>' if "plugin" in servo else ""
    servos = "".join(servo.format(k) for k in range(LINKS))
    return f"""<mujoco><option timestep="{STEP}"><flag contact="disable"/></option>{extension}
        <worldbody>{chain()}</worldbody><actuator>{servos}</actuator></mujoco>"""


def measure(kind: str, worlds: int, device: str, steps: int = 5, rounds: int = 200) -> tuple[float, float, float]:
    """Seconds a step with native servos, the plugin's time over it, and the largest difference of their positions."""
    engines = [Engine(compile_model(document(servo)), worlds, device=device, threads=1) for servo in SERVOS[kind]]
    ctrl = np.random.default_rng(0).normal(size=(worlds, LINKS)).astype(np.float32)
    times = np.zeros((rounds, 2))
    for engine in engines:
        engine.write("ctrl", ctrl)
        engine.step(steps)
    for turn in range(rounds):
        for k in (0, 1) if turn % 2 else (1, 0):
            wp.synchronize()
            start = time.perf_counter()
            engines[k].step(steps)
            wp.synchronize()
            times[turn, k] = (time.perf_counter() - start) / steps
    apart = float(np.abs(engines[0].read("qpos") - engines[1].read("qpos")).max())
    return float(np.median(times[:, 0])), float(np.median(times[:, 1] / times[:, 0])), apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--device", default="cuda" if wp.is_cuda_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args()
    wp.config.quiet = True
    print(f"{args.worlds} worlds, {LINKS} servos, {args.device}")
    for kind in SERVOS:
        native, ratio, apart = measure(kind, args.worlds, args.device, rounds=args.rounds)
        print(
            f"{kind:4s} native {native * 1e6:8.1f} us a step, plugin {native * ratio * 1e6:8.1f} us: "
            f"{100 * (ratio - 1):+.1f} %; positions differ by {apart:.1e} rad"
        )


if __name__ == "__main__":
    main()
