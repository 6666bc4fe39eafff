"""A workcell from several documents: two arms, objects and a table built by hand, beside the same as one document.

    python -m benchmarks scene                                                  the CPU, 8 worlds, arms of this file
    python -m benchmarks scene --device cuda:0 --worlds 1024 --arms panda.xml iiwa14.xml --picture cell.png

Three documents, each with a keyframe, and a table made by `add_shape_box` are one Model; one document that attaches the
same three is run by a Simulation. Both begin at the arms' keyframes. `apart` is how far their coordinates are from each
other after so many steps, in the first world; objects that tumble make it grow with time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import warp as wp

from benchmarks.clock import seconds
from kinema import Model, ModelBuilder, Simulation, SolverConvex
from kinema.model import ShapeConfig
from kinema.render import FreeCamera, write_png

OBJECTS = 20
STEPS = 100
CALLS, TURNS = 10, 6
TABLE = {"pos": (0.75, 0.0, 0.2), "half": (0.35, 0.6, 0.2)}
SECOND = (1.5, 0.0, 0.0)  # where the second arm stands, turned to the first
PLAIN = ShapeConfig(ke=0.0, kd=0.0)  # contacts as MJCF's defaults have them


def arm(model: str, reach: float) -> str:
    """Seven joints on a pedestal, with a drive each and a keyframe."""
    inner = ""
    for k in range(7)[::-1]:
        axis = "0 0 1" if k % 2 == 0 else "0 1 0"
        inner = (
            f'<body name="link{k}" pos="0 0 {reach if k else 0.2}"><joint name="j{k}" axis="{axis}" range="-170 170"/>'
            f'<geom type="capsule" size=".05" fromto="0 0 .03 0 0 {reach - 0.03}"/>{inner}</body>'
        )
    drives = "".join(f'<position name="d{k}" joint="j{k}" kp="400" kv="40"/>' for k in range(7))
    home = "0 .6 0 -1.2 0 .5 0"
    return (
        f'<mujoco model="{model}"><compiler autolimits="true"/><option integrator="implicitfast"/>'
        f'<default><joint armature=".1" damping="1"/></default><worldbody>'
        f'<geom type="cylinder" size=".1 .1" pos="0 0 .1"/>{inner}</worldbody><actuator>{drives}</actuator>'
        f'<contact><exclude body1="link0" body2="world"/></contact>'
        f'<keyframe><key name="home" qpos="{home}" ctrl="{home}"/></keyframe></mujoco>'
    )


def objects(count: int) -> str:
    """Boxes, balls and cans on the table, with a keyframe of where they lie."""
    bodies, rows = "", ""
    top = TABLE["pos"][2] + TABLE["half"][2]
    for k in range(count):
        x, y = TABLE["pos"][0] + 0.1 * (k % 4 - 1.5), TABLE["pos"][1] + 0.16 * (k // 4 - 2)
        kind, size = (("box", ".03 .03 .03"), ("sphere", ".03"), ("cylinder", ".03 .03"))[k % 3]
        place = f"{x:.3f} {y:.3f} {top + 0.031:.3f}"
        bodies += f'<body name="o{k}" pos="{place}"><freejoint/><geom type="{kind}" size="{size}" mass=".1"/></body>'
        rows += f"{place} 1 0 0 0 "
    return (
        f'<mujoco model="objects"><option integrator="implicitfast"/><worldbody>{bodies}</worldbody>'
        f'<keyframe><key name="laid" qpos="{rows}"/></keyframe></mujoco>'
    )


def several(documents: list[str], worlds: int, device: str) -> Model:
    """The workcell as a Model of documents and a table."""
    cell = ModelBuilder()
    cell.add_mjcf(documents[0])
    cell.add_mjcf(documents[1], xform=(SECOND, (0.0, 0.0, 1.0, 0.0)))
    cell.add_mjcf(documents[2])
    place = wp.transform(TABLE["pos"], wp.quat_identity())
    half = dict(zip(("hx", "hy", "hz"), TABLE["half"], strict=True))
    cell.add_shape_box(-1, xform=place, cfg=PLAIN, **half)
    main = ModelBuilder()
    main.add_ground_plane(cfg=PLAIN)
    main.replicate(cell, worlds)
    return main.finalize(device=device)


def composed(documents: list[str], folder: Path) -> Path:
    """The workcell as one document, which attaches the others."""
    models, frames = "", ""
    for k, (source, pos) in enumerate(zip(documents, ((0, 0, 0), SECOND, (0, 0, 0)), strict=True)):
        path = Path(source) if not source.startswith("<") else folder / f"part{k}.xml"
        if source.startswith("<"):
            path.write_text(source)
        models += f'<model name="part{k}" file="{path.resolve()}"/>'
        turn = "0 0 0 1" if k == 1 else "1 0 0 0"
        frames += f'<frame pos="{_text(pos)}" quat="{turn}"><attach model="part{k}" prefix="part{k}/"/></frame>'
    path = folder / "cell.xml"
    path.write_text(
        f'<mujoco model="cell"><option integrator="implicitfast"/><asset>{models}</asset><worldbody>{frames}'
        f'<geom type="box" pos="{_text(TABLE["pos"])}" size="{_text(TABLE["half"])}"/>'
        '<geom type="plane" size="0 0 1"/></worldbody></mujoco>'
    )
    return path


def _text(values: Sequence[float]) -> str:
    return " ".join(map(str, values))


def home_of(host) -> dict[str, np.ndarray]:
    """Where all keyframes together put the worlds: each moves its own document's part and leaves the others."""
    start = np.asarray(host.qpos0)
    qpos, ctrl = start.copy(), np.zeros(host.nu)
    for row, drive in zip(np.asarray(host.key_qpos), np.asarray(host.key_ctrl), strict=True):
        qpos, ctrl = np.where(row != start, row, qpos), np.where(drive != 0, drive, ctrl)
    return {"qpos": qpos, "ctrl": ctrl}


def rate(step, worlds: int, device: str) -> float:
    return worlds / seconds(step, device, turns=TURNS, each=CALLS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scene")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--arms", nargs=2, default=[arm("first", 0.16), arm("second", 0.19)])
    parser.add_argument("--picture", default="", help="a file for a picture of the first world")
    options = parser.parse_args()
    documents = [*options.arms, objects(OBJECTS)]
    begin = time.perf_counter()
    solver = SolverConvex(several(documents, options.worlds, options.device))
    sim = Simulation(solver)
    home = home_of(sim.model)
    sim.set_state(**home)
    made = time.perf_counter() - begin
    state, control = solver.model.state(), solver.model.control()
    sim.write_model_state(state)
    control.mujoco.ctrl.assign(np.tile(home["ctrl"], options.worlds).astype(np.float32))
    solver.step(state, state, control)
    build = time.perf_counter() - begin
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        one = Simulation(composed(documents, Path(folder)), options.worlds, options.device)
    one.set_state(**home)
    one_made = time.perf_counter() - begin
    one.step()
    one_build = time.perf_counter() - begin
    for _ in range(STEPS - 1):
        solver.step(state, state, control)
    one.step(STEPS - 1)
    sim.read_model_state(state, control)
    apart = np.abs(np.asarray(sim.d.qpos[0]) - np.asarray(one.d.qpos[0])).max()
    solver_rate = rate(lambda: solver.step(state, state, control), options.worlds, options.device)
    one_rate = rate(one.step, options.worlds, options.device)
    print(f"{options.worlds} worlds on {options.device}: nv {sim.model.nv}, keyframes {sim.model.names('key')}")
    print(f"{'':<24} {'made s':>8} {'build s':>8} {'MB':>8} {'steps/s':>12}")
    rows = (("several documents", sim, made, build, solver_rate), ("one document", one, one_made, one_build, one_rate))
    for name, which, ready, whole, steps in rows:
        print(f"{name:<24} {ready:>8.1f} {whole:>8.1f} {which.memory().total / 1e6:>8.1f} {steps:>12,.0f}")
    print(f"{apart:.2e} apart after {STEPS} steps; trouble: {solver.trouble() or one.trouble() or 'none'}")
    if options.picture:
        camera = FreeCamera(lookat=(0.75, 0, 0.4), distance=3.0, azimuth=120, elevation=-25)
        write_png(options.picture, sim.render(camera, 640, 480, worlds=0)[0])


if __name__ == "__main__":
    main()
