"""Steps per second beside the peers, in one run: MuJoCo Warp on a GPU, MuJoCo C on the CPU.

    python -m benchmarks throughput                                   the CPU: one world, and many on all cores
    python -m benchmarks throughput --device cuda:0 --worlds 1024,8192,32768
    python -m benchmarks throughput --model robot=path/to/scene.xml   a model of your own (.xml or .mjb), repeatable

Both sides start from the same state (200 steps in), run the same model with the same options, and are timed in turns;
the ratio is of medians, with the spread of the turns behind it.
"""

import argparse
import importlib.util
import statistics
import subprocess
import sys
import time
from pathlib import Path

import mujoco
import numpy as np
import warp as wp

from benchmarks.plot import Figure, Panel, plot_lines
from kinema.convex.engine import Engine
from kinema.errors import MissingExtra

TURNS = 5
STATE = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "mocap_pos", "mocap_quat")


def heap(count: int = 32) -> str:
    """A scene of many free objects."""
    body = '<body pos="{x} {y} {z}"><freejoint/><geom type="{kind}" size=".1 .1 .1"/></body>'
    bodies = "".join(
        body.format(x=0.25 * (i % 4), y=0.25 * (i // 4 % 4), z=0.3 + 0.3 * (i // 16), kind=kind)
        for i, kind in zip(range(count), ["box", "sphere", "capsule"] * count, strict=False)
    )
    return f'<mujoco><worldbody><geom type="plane" size="10 10 .1"/>{bodies}</worldbody></mujoco>'


def default_models() -> dict[str, str]:
    """A humanoid and a heap of objects; robots of the shared folder where it is present."""
    spec = importlib.util.find_spec("dm_control")
    models = {"objects": heap()}
    if spec:
        models = {"humanoid": str(Path(spec.submodule_search_locations[0]) / "suite/humanoid.xml"), **models}
    menagerie = Path(__file__).parents[2] / "shared/models/menagerie"
    robots = {"quadruped": "google_barkour_vb", "arm": "trossen_wx250s", "hand": "wonik_allegro/scene_right.xml"}
    for name, place in robots.items():
        path = menagerie / (place if place.endswith(".xml") else f"{place}/scene.xml")
        if path.exists():
            models[name] = str(path)
    return models


def load(source: str) -> mujoco.MjModel:
    if source.startswith("<"):
        return mujoco.MjModel.from_xml_string(source)
    if source.endswith(".mjb"):
        return mujoco.MjModel.from_binary_path(source)
    return mujoco.MjModel.from_xml_path(source)


def start(m: mujoco.MjModel) -> mujoco.MjData:
    """A state some way into the motion, in contact with the ground."""
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    d.qvel[:] += 0.1 * np.random.default_rng(0).normal(size=m.nv)
    mujoco.mj_step(m, d, 200)
    return d


def kilobytes(arrays, worlds: int) -> float:
    """Memory of one world in arrays whose first extent is the worlds."""
    return sum(a.size * wp.types.type_size_in_bytes(a.dtype) for a in arrays) / worlds / 1000


class Kinema:
    name = "kinema"

    def __init__(self, m, d, worlds: int, device: str, threads: int):
        begin = time.perf_counter()
        self.engine = Engine(m, worlds, device=device, threads=threads)
        self.state = {name: np.array(getattr(d, name)) for name in STATE if np.size(getattr(d, name))}
        self.reset()
        self.engine.step(1)
        wp.synchronize_device(device)
        self.setup = time.perf_counter() - begin
        own = [a for a in self.engine.layout.arrays.values() if not hasattr(a, "stored") and a.shape[0] == worlds]
        self.memory = kilobytes(own, worlds)

    def reset(self) -> None:
        for name, value in self.state.items():
            self.engine.write(name, value)

    def run(self, steps: int) -> None:
        self.engine.step(steps)
        wp.synchronize_device(self.engine.device)


class MuJoCoWarp:
    name = "mujoco-warp"

    def __init__(self, m, d, worlds: int, device: str, threads: int):
        import mujoco_warp as mjw

        begin = time.perf_counter()
        probe = mujoco.MjData(m)
        mujoco.mj_copyData(probe, m, d)
        mujoco.mj_forward(m, probe)
        room = {"nconmax": max(64, 2 * probe.ncon + 16), "njmax": max(128, 2 * probe.nefc + 64)}
        with wp.ScopedDevice(device):
            self.put = lambda: mjw.put_data(m, d, nworld=worlds, **room)
            self.m, self.d = mjw.put_model(m), self.put()
            mjw.step(self.m, self.d)
            with wp.ScopedCapture() as capture:
                mjw.step(self.m, self.d)
            self.graph = capture.graph
            wp.synchronize()
        self.setup = time.perf_counter() - begin
        found = [a for part in (self.d, self.d.contact, self.d.efc) for a in vars(part).values()]
        self.memory = kilobytes([a for a in found if isinstance(a, wp.array)], worlds)
        self.initial = {name: np.array(getattr(d, name), np.float32) for name in STATE if np.size(getattr(d, name))}

    def reset(self) -> None:
        for name, value in self.initial.items():
            array = getattr(self.d, name)
            array.assign(np.ascontiguousarray(np.broadcast_to(value, array.numpy().shape)))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            wp.capture_launch(self.graph)
        wp.synchronize()


class MuJoCoC:
    name = "mujoco"

    def __init__(self, m, d, worlds: int, device: str, threads: int):
        from mujoco import rollout

        self.m, self.initial, self.worlds, self.setup = m, d, worlds, 0.0
        self.memory = (d.narena + d.nbuffer) / 1000
        self.data = [mujoco.MjData(m) for _ in range(threads if worlds > 1 else 1)]
        self.pool = rollout.Rollout(nthread=threads) if worlds > 1 else None
        size = mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        state = np.empty(size)
        mujoco.mj_getState(m, d, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.state = np.tile(state, (worlds, 1))
        self.warm = np.tile(np.array(d.qacc_warmstart), (worlds, 1))

    def reset(self) -> None:
        mujoco.mj_copyData(self.data[0], self.m, self.initial)

    def run(self, steps: int) -> None:
        if self.pool is None:
            mujoco.mj_step(self.m, self.data[0], steps)
        else:
            self.pool.rollout(self.m, self.data, self.state, nstep=steps, initial_warmstart=self.warm)


def measure(sides: list, worlds: int, steps: int) -> dict[str, list[float]]:
    """World-steps per second of each side, in turns from the same start."""
    rates: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(TURNS):
        for side in sides:
            side.reset()
            begin = time.perf_counter()
            side.run(steps)
            rates[side.name].append(worlds * steps / (time.perf_counter() - begin))
    return rates


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", default=None, help="numbers of worlds, by commas")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads for many worlds")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--prepare", action="store_true", help="compile the kernels of all models first, side by side")
    parser.add_argument("--plot", action=argparse.BooleanOptionalAction, default=True,
                        help="draw the table into out/throughput.png")  # fmt: skip
    parser.add_argument("--model", action="append", default=[], metavar="NAME=PATH")
    args = parser.parse_args(argv)
    on_cpu = wp.get_device(args.device).is_cpu
    models = dict(entry.split("=", 1) for entry in args.model) or default_models()
    counts = [int(n) for n in (args.worlds or ("1,256" if on_cpu else "8192")).split(",")]
    peer = MuJoCoC if on_cpu else MuJoCoWarp
    head = f"{'model':12} {'worlds':>7} {'kinema/s':>12} {peer.name + '/s':>14} {'ratio':>6}"
    print(f"{head}  spread        setup s (ours, theirs)  kB a world")
    if args.prepare:
        prepare(models, counts, args.device)
    found: dict[str, dict[int, tuple[float, float]]] = {}
    for name, source in models.items():
        m = load(source)
        d = start(m)
        for worlds in counts:
            threads = args.threads if worlds > 1 else 1
            sides = [kind(m, d, worlds, args.device, threads) for kind in (Kinema, peer)]
            steps = args.steps if worlds > 1 or not on_cpu else 20 * args.steps
            rates = measure(sides, worlds, steps)
            ours, theirs = (statistics.median(rates[side.name]) for side in sides)
            ratios = [a / b for a, b in zip(*rates.values(), strict=True)]
            found.setdefault(name, {})[worlds] = (ours, theirs)
            print(
                f"{name:12} {worlds:7} {ours:12,.0f} {theirs:14,.0f} {ours / theirs:6.2f}  "
                f"{min(ratios):.2f}-{max(ratios):.2f}     {sides[0].setup:6.1f} {sides[1].setup:6.1f}       "
                f"{sides[0].memory:8.1f} {sides[1].memory:8.1f}",
                flush=True,
            )
    if args.plot:
        try:
            print(f"plot: {draw(found, peer.name, args.device)}")
        except MissingExtra as missing:
            print(missing)


def prepare(models: dict[str, str], counts: list[int], device: str) -> None:
    """Fill the kernel cache, one process a model."""
    command = [sys.executable, "-m", "benchmarks", "throughput", "--device", device, "--steps", "1", "--no-plot"]
    command += ["--worlds", str(min(counts))]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([*command, "--model", f"{name}={source}"], **quiet) for name, source in models.items()]
    for process in started:
        process.wait()


def draw(found: dict[str, dict[int, tuple[float, float]]], peer: str, device: str) -> Path:
    """Steps a second and their ratio against worlds, as out/throughput.png."""
    rates = {f"{name}, {side}": [(n, pair[k]) for n, pair in rows.items()]
             for name, rows in found.items() for k, side in enumerate(("kinema", peer))}  # fmt: skip
    ratios = {name: [(n, ours / theirs) for n, (ours, theirs) in rows.items()] for name, rows in found.items()}
    panels = [
        Panel(f"throughput ({device})", "worlds", "steps a second", rates),
        Panel(f"kinema / {peer}", "worlds", "ratio", ratios, flat=True),
    ]
    return plot_lines(Figure("throughput", panels))


if __name__ == "__main__":
    main()
