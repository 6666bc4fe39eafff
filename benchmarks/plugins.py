"""What a plugin costs: PID servos as a plugin beside MuJoCo-native position servos, the same physics, many worlds.

A chain of links on hinges, a PD servo on each. Both engines run in one process, in turns; the best of each counts.
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
KP, KD = 20.0, 2.0


def chain(k: int = 0) -> str:
    """Nested links."""
    if k == LINKS:
        return ""
    return f"""<body pos="0 0 {-0.2 if k else 0}"><joint name="j{k}" axis="{k % 2} {1 - k % 2} 0" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/>{chain(k + 1)}</body>"""


def document(plugin: bool) -> str:
    """The chain with servos of one kind or the other."""
    servos = "".join(
        f"""<plugin plugin="mujoco.pid" joint="j{k}"><config key="kp" value="{KP}"/><config key="kd" value="{KD}"/>
        </plugin>""" if plugin else f'<position joint="j{k}" kp="{KP}" kv="{KD}"/>'
        for k in range(LINKS)
    )  # fmt: skip
    extension = '<extension><plugin plugin="mujoco.pid"/></extension>' if plugin else ""
    return f"""<mujoco><option timestep=".001"><flag contact="disable"/></option>{extension}
        <worldbody>{chain()}</worldbody><actuator>{servos}</actuator></mujoco>"""


def measure(worlds: int, device: str, steps: int = 5, rounds: int = 150) -> tuple[float, float, float]:
    """Seconds a step with native servos and with plugins, and the largest difference of their positions."""
    engines = [Engine(compile_model(document(plugin)), worlds, device=device, threads=1) for plugin in (False, True)]
    ctrl = np.random.default_rng(0).normal(size=(worlds, LINKS)).astype(np.float32)
    best = [np.inf, np.inf]
    for engine in engines:
        engine.write("ctrl", ctrl)
        engine.step(steps)
    for _ in range(rounds):
        for k, engine in enumerate(engines):
            wp.synchronize()
            start = time.perf_counter()
            engine.step(steps)
            wp.synchronize()
            best[k] = min(best[k], (time.perf_counter() - start) / steps)
    apart = float(np.abs(engines[0].read("qpos") - engines[1].read("qpos")).max())
    return best[0], best[1], apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--device", default="cuda" if wp.is_cuda_available() else "cpu")
    args = parser.parse_args()
    native, plugin, apart = measure(args.worlds, args.device)
    print(f"{args.worlds} worlds, {LINKS} servos, {args.device}: positions differ by {apart:.1e}")
    print(f"native position servos {native * 1e6:9.1f} us a step")
    print(f"mujoco.pid plugin      {plugin * 1e6:9.1f} us a step   {100 * (plugin / native - 1):+.1f} %")


if __name__ == "__main__":
    main()
