"""Steps per second beside the peers, in one run: MuJoCo Warp on a GPU, MuJoCo C on the CPU.

    python -m benchmarks throughput                                   the CPU: one world, and 256 on two threads
    python -m benchmarks throughput --device cuda:0 --worlds 1024,8192,32768
    python -m benchmarks throughput --model robot=path/to/scene.xml   a model of your own (.xml or .mjb), repeatable
    python -m benchmarks throughput path/to/folder --models a,b       models of a folder (.mjb, .xml, */scene*.xml)

Both sides run the same model with the same options from the same states under the same controls, and are timed in
turns; the ratio is of medians, with the spread of the turns behind it. Worlds have parted (noise.py): each has its own
noise on the controls. Many worlds on the CPU stand beside MuJoCo's own `rollout` on as many threads. "by CPU time" is
the ratio of steps a second of CPU time, which other programs on the machine disturb less.
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
from mujoco import rollout

from benchmarks.noise import Parted, part
from benchmarks.plot import Figure, Panel, plot_lines
from kinema.convex.engine import Engine
from kinema.errors import MissingExtra

TURNS = 7
STATE = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "mocap_pos", "mocap_quat")


def heap(count: int = 32) -> str:
    """A scene of many free objects."""
    body = '<body pos="{x} {y} {z}"><freejoint/><geom type="{kind}" size=".1 .1 .1"/></body>'
    bodies = "".join(
        body.format(x=0.25 * (i % 4), y=0.25 * (i // 4 % 4), z=0.3 + 0.3 * (i // 16), kind=kind)
        for i, kind in zip(range(count), ["box", "sphere", "capsule"] * count, strict=False)
    )
    return f'<mujoco><worldbody><geom type="plane" size="10 10 .1"/>{bodies}</worldbody></mujoco>'


SHARED = Path(__file__).parents[2] / "shared"
ROBOTS = {
    "quadruped": "google_barkour_vb/scene.xml",
    "arm": "trossen_wx250s/scene.xml",
    "hand": "wonik_allegro/scene_right.xml",
}
SCENES = ("g1_flat", "three_humanoids", "panda")


def default_models() -> dict[str, str]:
    """A humanoid and a heap of objects; scenes and robots of the shared folder where it is present."""
    spec = importlib.util.find_spec("dm_control")
    models = {"objects": heap()}
    if spec:
        models = {"humanoid": str(Path(spec.submodule_search_locations[0]) / "suite/humanoid.xml"), **models}
    places = {name: SHARED / f"suite/{name}.mjb" for name in SCENES}
    places |= {name: SHARED / "models/menagerie" / place for name, place in ROBOTS.items()}
    return {**models, **{name: str(path) for name, path in places.items() if path.exists()}}


def models_in(folder: str) -> dict[str, str]:
    """The models of a folder by name: .mjb and .xml files in it, and scenes of the folders below, named after those."""
    root = Path(folder)
    files = {path.stem: path for path in sorted([*root.glob("*.xml"), *root.glob("*.mjb")])}
    scenes = {path.parent.name: path for path in sorted(root.glob("*/scene*.xml"), reverse=True)}
    return {name: str(path) for name, path in {**scenes, **files}.items()}


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

    def __init__(self, m, parted: Parted, device: str, threads: int):
        begin = time.perf_counter()
        worlds = len(parted.state)
        self.engine = Engine(m, worlds, device=device, threads=threads)
        self.state = parted.fields(m)
        self.control, self.hold = parted.on_device(device), parted.hold
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
        for k in range(0, steps, self.hold):
            if self.control:
                wp.copy(self.engine.array("ctrl"), self.control[k // self.hold])
            self.engine.step(min(self.hold, steps - k))
        wp.synchronize_device(self.engine.device)


class MuJoCoWarp:
    name = "mujoco-warp"

    def __init__(self, m, parted: Parted, device: str, threads: int):
        import mujoco_warp as mjw

        begin = time.perf_counter()
        worlds, probe = len(parted.state), parted.data(m)
        mujoco.mj_forward(m, probe)
        room = {"nconmax": max(64, 2 * probe.ncon + 16), "njmax": max(128, 2 * probe.nefc + 64)}
        with wp.ScopedDevice(device):
            self.m, self.d = mjw.put_model(m), mjw.put_data(m, probe, nworld=worlds, **room)
            mjw.step(self.m, self.d)
            with wp.ScopedCapture() as capture:
                mjw.step(self.m, self.d)
            self.graph = capture.graph
            wp.synchronize()
        self.setup = time.perf_counter() - begin
        found = [a for part in (self.d, self.d.contact, self.d.efc) for a in vars(part).values()]
        self.memory = kilobytes([a for a in found if isinstance(a, wp.array)], worlds)
        self.initial, self.control, self.hold = parted.fields(m), parted.on_device(device), parted.hold

    def reset(self) -> None:
        for name, value in self.initial.items():
            array = getattr(self.d, name)
            array.assign(np.ascontiguousarray(value, np.float32).reshape(array.numpy().shape))

    def run(self, steps: int) -> None:
        for k in range(steps):
            if self.control and k % self.hold == 0:
                wp.copy(self.d.ctrl, self.control[k // self.hold])
            wp.capture_launch(self.graph)
        wp.synchronize()


class MuJoCoC:
    name = "mujoco"

    def __init__(self, m, parted: Parted, device: str, threads: int):
        self.m, self.parted, self.setup = m, parted, 0.0
        worlds = len(parted.state)
        self.data = [parted.data(m) for _ in range(threads if worlds > 1 else 1)]
        self.memory = (self.data[0].narena + self.data[0].nbuffer) / 1000
        self.pool = rollout.Rollout(nthread=threads) if worlds > 1 else None

    def reset(self) -> None:
        self.data[0] = self.parted.data(self.m)

    def run(self, steps: int) -> None:
        told = self.parted.control
        if self.pool is None:
            d, hold = self.data[0], self.parted.hold
            for k in range(0, steps, hold):
                d.ctrl[:] = told[0, k]
                mujoco.mj_step(self.m, d, min(hold, steps - k))
        else:
            self.pool.rollout(
                self.m, self.data, self.parted.state, told[:, :steps], nstep=steps, initial_warmstart=self.parted.warm
            )


def measure(sides: list, worlds: int, steps: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """World-steps per second of each side, in turns from the same start: by the clock, and by the CPU's time."""
    rates: dict[str, list[float]] = {side.name: [] for side in sides}
    busy: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(TURNS):
        for side in sides:
            side.reset()
            begin, spent = time.perf_counter(), time.process_time()
            side.run(steps)
            rates[side.name].append(worlds * steps / (time.perf_counter() - begin))
            busy[side.name].append(worlds * steps / (time.process_time() - spent))
    return rates, busy


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", default=None, help="numbers of worlds, by commas")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads for many worlds")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--prepare", action="store_true", help="compile the kernels of all models first, side by side")
    parser.add_argument("--plot", action=argparse.BooleanOptionalAction, default=True,
                        help="draw the table into out/throughput.png")  # fmt: skip
    parser.add_argument("folders", nargs="*", help="folders of models; none: the default models")
    parser.add_argument("--models", default=None, help="only these, by commas")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=PATH")
    args = parser.parse_args(argv)
    on_cpu = wp.get_device(args.device).is_cpu
    models = chosen(args.folders, args.model, args.models)
    counts = [int(n) for n in (args.worlds or ("1,256" if on_cpu else "8192")).split(",")]
    peer = MuJoCoC if on_cpu else MuJoCoWarp
    head = f"{'model':12} {'worlds':>7} {'kinema/s':>12} {peer.name + '/s':>14} {'ratio':>6}"
    print(f"{head}  spread     by CPU time  setup s (ours, theirs)  kB a world")
    if args.prepare:
        prepare(models, counts, args.device)
    found: dict[str, dict[int, tuple[float, float]]] = {}
    for name, source in models.items():
        m = load(source)
        for worlds in counts:
            threads = args.threads if worlds > 1 else 1
            steps = args.steps if worlds > 1 or not on_cpu else 20 * args.steps
            parted = part(m, worlds, steps, source, args.threads)
            sides = [kind(m, parted, args.device, threads) for kind in (Kinema, peer)]
            rates, busy = measure(sides, worlds, steps)
            ours, theirs = (statistics.median(rates[side.name]) for side in sides)
            by_cpu = np.divide(*(statistics.median(busy[side.name]) for side in sides))
            ratios = [a / b for a, b in zip(*rates.values(), strict=True)]
            found.setdefault(name, {})[worlds] = (ours, theirs)
            print(
                f"{name:12} {worlds:7} {ours:12,.0f} {theirs:14,.0f} {ours / theirs:6.2f}  "
                f"{min(ratios):.2f}-{max(ratios):.2f}  {by_cpu:6.2f}     "
                f"{sides[0].setup:6.1f} {sides[1].setup:6.1f}       {sides[0].memory:8.1f} {sides[1].memory:8.1f}",
                flush=True,
            )
    if args.plot:
        try:
            print(f"plot: {draw(found, peer.name, args.device)}")
        except MissingExtra as missing:
            print(missing)


def chosen(folders: list[str], given: list[str], names: str | None) -> dict[str, str]:
    """The models asked for: NAME=PATH, those of folders, or the default ones; of them those that are named."""
    models = dict(entry.split("=", 1) for entry in given)
    for folder in folders:
        models |= models_in(folder)
    models = models or default_models()
    if names is None:
        return models
    missing = [name for name in names.split(",") if name not in models]
    if missing:
        raise SystemExit(f"no model called {', '.join(missing)}; there are {', '.join(models)}")
    return {name: models[name] for name in names.split(",")}


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
