"""Where the time of a step goes on a GPU: the kernels of a step, one by one.

    python -m benchmarks stages --device cuda:0 --worlds 8192 --model humanoid=path/to/humanoid.xml

Each kernel is repeated in a graph of its own, the best of some turns; what runs aside, on a second stream, is marked.
The step is timed as a whole.
"""

import argparse
import time

import numpy as np
import warp as wp

from benchmarks.throughput import STATE, default_models, load, start
from kinema.convex.engine import Engine, Launch
from kinema.convex.stage import runs

TURNS = 5
REPEAT = 20
STEPS = 50


def names(engine: Engine) -> list[str]:
    """What each kernel of a step does."""
    found = []
    for group in runs(engine.recipes["step"]):
        if group[0] in engine.collider.stages:
            found += [f"detection: {launch[0].key.split('__')[-1]}" for launch in engine.collider.launches()]
        else:
            keys = [stage.func.key.split("__")[-1] for stage in group if stage.func]
            found.append(", ".join(keys) if len(keys) < 4 else f"{keys[0]} ... {keys[-1]} ({len(keys)} stages)")
    return found


def microseconds(launch: Launch, device: wp.Device) -> float:
    """Time of one kernel, repeated in a graph, so that what it costs to launch it does not show."""
    with wp.ScopedCapture(device=device) as capture:
        for _ in range(REPEAT):
            wp.launch(launch.kernel, launch.dim, launch.inputs, device=device, block_dim=launch.block)
    best = np.inf
    for _ in range(TURNS):
        wp.synchronize_device(device)
        begin = time.perf_counter()
        wp.capture_launch(capture.graph)
        wp.synchronize_device(device)
        best = min(best, 1e6 * (time.perf_counter() - begin) / REPEAT)
    return best


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--worlds", type=int, default=8192)
    parser.add_argument("--model", action="append", default=[], metavar="NAME=PATH")
    args = parser.parse_args(argv)
    device = wp.get_device(args.device) if wp.is_cuda_available() else None
    if device is None or device.is_cpu:
        print("needs a CUDA device: on the CPU a step is one kernel")
        return
    models = dict(entry.split("=", 1) for entry in args.model) or default_models()
    for name, source in models.items():
        m = load(source)
        d = start(m)
        engine = Engine(m, args.worlds, device=device)
        for field in STATE:
            if np.size(getattr(d, field)):
                engine.write(field, getattr(d, field))
        engine.step(1)
        wp.synchronize_device(device)
        begin = time.perf_counter()
        engine.step(STEPS)
        wp.synchronize_device(device)
        whole = 1e6 * (time.perf_counter() - begin) / STEPS
        print(f"{name}, {args.worlds} worlds: {whole:.0f} us a step")
        with wp.ScopedDevice(device):
            for what, launch in zip(names(engine), engine.launches(), strict=True):
                aside = " (aside)" if launch.aside else ""
                print(f"  {microseconds(launch, device):8.1f} us  {what}{aside}", flush=True)


if __name__ == "__main__":
    main()
