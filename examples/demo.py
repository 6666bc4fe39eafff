"""The main job, run by `make demo`: a humanoid in many worlds, each pushed another way. Which of them stay upright?

    python examples/demo.py [--worlds 256] [--steps 600] [--device cpu] [--out out]

The model is composed (a humanoid from a file, a bag attached to its back), compiled, compared with MuJoCo where that is
installed, and simulated. A picture of the outcome is left in out/, and, where the extras for them are installed, a
strip of frames and a page that plays the motion.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import warp as wp

from kinema import Simulation, mjcf
from kinema.errors import MissingExtra, need
from kinema.recording import Recording

HUMANOID = Path(__file__).parent / "models" / "humanoid.xml"
FASTEST_PUSH = 0.5  # m/s
UPRIGHT = 0.7  # m, height of the pelvis; standing it is 0.96


def compose() -> mjcf.RootElement:
    """A humanoid with a bag on its back."""
    humanoid = mjcf.from_path(HUMANOID)
    pack = mjcf.RootElement(model="pack")
    pack.worldbody.add("geom", name="bag", type="capsule", fromto=[-0.08, -0.1, 0, -0.08, 0.1, 0], size=[0.08], mass=3)
    humanoid.find("site", "back").attach(pack)  # its names become pack/bag, ...
    return humanoid


def pushes(worlds: int, seed: int = 0) -> np.ndarray:
    """A horizontal velocity for every world [m/s]: evenly over a disc."""
    rng = np.random.default_rng(seed)
    angle, speed = rng.uniform(0, 2 * np.pi, worlds), FASTEST_PUSH * np.sqrt(rng.uniform(0, 1, worlds))
    return speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def start(sim: Simulation, push: np.ndarray) -> None:
    """Everybody stands, and is pushed."""
    sim.reset(keyframe="stand")
    velocity = np.zeros((sim.worlds, sim.model.nv))
    velocity[:, :2] = push
    sim.set_state(qvel=velocity)


def agreement(model: mjcf.RootElement, sim: Simulation, push: np.ndarray, steps: int = 50) -> str:
    """How far world 0 is from MuJoCo after the same push."""
    try:
        mujoco = need("mujoco", "mujoco", "Comparisons")
    except MissingExtra as error:
        return f"not compared with MuJoCo: {error}"
    m = mujoco.MjModel.from_xml_string(model.to_xml_string(), model.get_assets())
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    d.qvel[:2] = push[0]
    mujoco.mj_step(m, d, steps)
    start(sim, push)
    sim.step(steps)
    off = np.abs(sim.d.qpos[0] - d.qpos).max()
    return f"largest difference to MuJoCo's qpos after {steps} steps: {off:.1e} (float32 against float64)"


def simulate(sim: Simulation, push: np.ndarray, steps: int) -> tuple[Recording, float]:
    """Run all worlds with a progress bar; frames of every 30th of a second, and the seconds it took."""
    from rich.progress import track

    start(sim, push)
    every = max(1, round(1 / (30 * float(sim.model.opt.timestep))))
    sim.record(every)
    begin = time.perf_counter()
    for done in track(range(0, steps, every), description=f"{sim.worlds} worlds"):
        sim.step(min(every, steps - done))
    sim.array("qpos").numpy()  # on a GPU: wait
    return sim.stop_recording(), time.perf_counter() - begin


def report(sim: Simulation, recording: Recording, steps: int, seconds: float) -> None:
    """The table."""
    from rich.console import Console
    from rich.table import Table

    rate = sim.worlds * steps / seconds
    standing = recording.qpos[-1, :, 2] > UPRIGHT
    table = Table(show_header=False)
    for row in (
        ("device", str(sim.engine.device)),
        ("worlds x steps", f"{sim.worlds} x {steps}"),
        ("steps/s", f"{rate:,.0f}"),
        ("x real time", f"{rate * recording.timestep:,.0f}"),
        ("contacts a world", f"{sim.d.ncon.mean():.1f}"),
        ("still standing", f"{standing.sum()} of {sim.worlds}"),
        ("worlds gone bad", str(len(sim.trouble()))),
    ):
        table.add_row(*row)
    Console().print(table)


def draw(recording: Recording, push: np.ndarray, path: Path) -> None:
    """Who stood and who fell: by push, and over time."""
    need("matplotlib", "plot", "Plots").use("Agg")
    pyplot = need("matplotlib.pyplot", "plot", "Plots")
    heights = recording.qpos[:, :, 2]
    fig, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    dots = left.scatter(*push.T, c=heights[-1], cmap="viridis", vmin=0, vmax=1, s=22)
    left.set(title="Every world a push", xlabel="forward [m/s]", ylabel="to the left [m/s]", aspect="equal")
    fig.colorbar(dots, ax=left, label="height of the pelvis at the end [m]")
    colors = pyplot.get_cmap("plasma")(np.linalg.norm(push, axis=1) / FASTEST_PUSH)
    for world, color in enumerate(colors):
        right.plot(recording.time[:, world], heights[:, world], color=color, linewidth=0.7, alpha=0.7)
    right.set(title="Height of the pelvis", xlabel="time [s]", ylabel="[m]", ylim=(0, None))
    fig.savefig(path, dpi=120)
    pyplot.close(fig)


def film(model, recording: Recording, push: np.ndarray, path: Path, frames: int = 8) -> None:
    """The world that was pushed least and the one that was pushed most, as two strips."""
    need("PIL", "video", "Pictures")
    from kinema.render import filmstrip, write_png

    speed = np.linalg.norm(push, axis=1)
    two = recording.of_worlds([speed.argmin(), speed.argmax()])
    sim = Simulation(model, 2, "cpu")
    pictures = []
    for k in np.linspace(0, len(two) - 1, frames).astype(int):
        sim.set_state(**two.frame(k))
        pictures.append(sim.render("side", 240, 240))
    write_png(path, filmstrip([frame[world] for world in range(2) for frame in pictures], columns=frames))


def page(model, recording: Recording, path: Path, worlds: int = 9) -> None:
    """Some worlds as a page that plays in any browser, offline."""
    need("viser", "view", "Pages")
    from kinema.viewer import write_html

    some = recording.of_worlds(range(min(worlds, len(recording.worlds))))
    write_html(some, path, sim=Simulation(model, len(some.worlds), "cpu"))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for pictures")
    args = parser.parse_args(argv)

    wp.config.log_level = wp.LOG_WARNING  # no line a kernel
    model = compose()
    bodies, bag = model.find_all("body"), model.find("geom", "pack/bag")
    print(f"composed: a humanoid of {len(bodies)} bodies, with {bag.full_identifier} at the site 'back'")

    begin = time.perf_counter()
    sim = Simulation(model, worlds=args.worlds, device=args.device)
    print("compiling kernels, once for a kind of model (half a minute on two cores) ...", flush=True)
    sim.forward()
    print(f"{sim!r}, ready after {time.perf_counter() - begin:.1f} s")

    push = pushes(args.worlds)
    print(agreement(model, sim, push))
    recording, seconds = simulate(sim, push, args.steps)
    report(sim, recording, args.steps, seconds)

    args.out.mkdir(parents=True, exist_ok=True)
    for name, write in (
        ("demo.png", lambda path: draw(recording, push, path)),
        ("demo_strip.png", lambda path: film(sim.model, recording, push, path)),
        ("demo.html", lambda path: page(sim.model, recording, path)),
    ):
        try:
            write(args.out / name)
            print(f"wrote {args.out / name}")
        except MissingExtra as error:
            print(f"no {name}: {error}")


if __name__ == "__main__":
    main()
