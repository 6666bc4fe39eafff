"""Soft bodies among robots, in one convex solve: a hand squeezes a ball, a towel falls on a humanoid, a rope runs over
pulleys.

    python examples/deformables.py ball [--seconds 1.2] [--picture ball.png] [--solver mujoco]
    python examples/deformables.py towel
    python examples/deformables.py rope

The ball and the towel are built with Newton's builder, beside a robot that comes from a document; the rope is a flex of
a document. Each prints what it did, and the forces by which one can tell.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kinema import ModelBuilder, Simulation
from kinema.bridge.solver import SolverMuJoCo
from kinema.model.deformables import grid_tetrahedra
from kinema.render import FreeCamera
from kinema.solvers import SolverConvex

HUMANOID = Path(__file__).parent / "models" / "humanoid.xml"
STAGE = """<visual><headlight ambient=".45 .45 .45" diffuse=".35 .35 .35"/><quality shadowsize="4096"/></visual>
  <asset><texture type="skybox" builtin="gradient" rgb1=".75 .82 .9" rgb2=".35 .45 .6" width="64" height="64"/>
  <texture name="grid" type="2d" builtin="checker" rgb1=".62 .65 .68" rgb2=".55 .58 .62" width="128" height="128"/>
  <material name="grid" texture="grid" texrepeat="6 6" texuniform="true" reflectance=".08"/></asset>"""
FINGER = """<body name="finger{k}" pos="{x} {y} .12" euler="0 0 {turn}">
  <joint name="knuckle{k}" axis="0 1 0" range="-20 70" damping=".05" armature=".002"/>
  <geom type="capsule" fromto="0 0 0 .015 0 -.06" size=".011" mass=".04" rgba=".75 .75 .8 1"/>
  <body pos=".015 0 -.06"><joint name="middle{k}" axis="0 1 0" range="-10 80" damping=".03" armature=".002"/>
    <geom name="tip{k}" type="capsule" fromto="0 0 0 -.015 0 -.055" size=".01" mass=".03" friction="1.2"
      rgba=".25 .3 .4 1"/></body></body>"""


def hand() -> str:
    """Three fingers around a vertical axis, each with two hinges that a motor turns inwards."""
    places = [(0.055 * np.cos(a), 0.055 * np.sin(a), np.degrees(a)) for a in np.arange(3) * 2 * np.pi / 3]
    fingers = "".join(FINGER.format(k=k, x=x, y=y, turn=turn) for k, (x, y, turn) in enumerate(places))
    motors = "".join(f'<motor joint="knuckle{k}" gear=".1"/><motor joint="middle{k}" gear=".05"/>' for k in range(3))
    return f"""<mujoco><option timestep=".002" cone="elliptic" impratio="10"/>{STAGE}<worldbody>
      <light pos=".3 -.4 1" dir="-.3 .4 -1" diffuse=".7 .7 .7"/>
      <geom name="floor" type="plane" size="1 1 .1" material="grid"/>
      <body name="palm" pos="0 0 .03"><joint name="lift" type="slide" axis="0 0 1" damping="20"/>
        <geom type="cylinder" size=".07 .012" pos="0 0 .125" mass=".5" rgba=".6 .6 .65 1"/>{fingers}</body></worldbody>
      <actuator><position joint="lift" kp="3000"/>{motors}</actuator></mujoco>"""


def ball(radius: float, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and tetrahedra of a ball: a grid of cells, its shells of cubes pushed out to spheres."""
    z, y, x = (axis.ravel() for axis in np.mgrid[0 : cells + 1, 0 : cells + 1, 0 : cells + 1])
    cube = 2.0 * np.stack([x, y, z], axis=1) / cells - 1.0
    length = np.linalg.norm(cube, axis=1, keepdims=True)
    sphere = cube * np.abs(cube).max(axis=1, keepdims=True) / np.where(length > 0, length, 1.0)
    return radius * sphere, grid_tetrahedra(cells, cells, cells)


class Scene:
    """A model with what steps it, and how to look at it.

    Args:
        builder: The model.
        solver: "convex" or "mujoco".
        camera: Where pictures are taken from.
    """

    def __init__(self, builder: ModelBuilder, solver: str, camera: FreeCamera):
        self.model, self.camera = builder.finalize(device="cpu"), camera
        self.solver = (SolverMuJoCo if solver == "mujoco" else SolverConvex)(self.model)
        self.state, self.control = self.model.state(), self.model.control()

    def run(self, seconds: float, act: Callable[[float], list[float]], dt: float = 0.004) -> None:
        """Step, with motors as `act` says at each time."""
        for k in range(round(seconds / dt)):
            if self.control.mujoco.ctrl.size:
                self.control.mujoco.ctrl.assign(np.array(act(k * dt), np.float32))
            self.solver.step(self.state, self.state, self.control, None, dt)

    def draw(self, path: str | None) -> None:
        if path:
            sim = Simulation(self.solver)
            sim.read_model_state(self.state)
            save(sim, self.camera, path)


def save(sim: Simulation, camera: FreeCamera, path: str) -> None:
    """A picture of the first world, as a file."""
    from PIL import Image

    Image.fromarray(sim.render(camera, 640, 480, worlds=0)[0]).save(path)


def squeeze_ball(seconds: float, picture: str | None, solver: str) -> float:
    """A hand of three fingers takes a ball and lifts it; returns how far it rose [m]."""
    builder = ModelBuilder()
    builder.add_mjcf(hand())
    vertices, tetrahedra = ball(0.04, 3)
    builder.add_soft_mesh(
        pos=(0, 0, 0.045), rot=(0, 0, 0, 1), scale=1.0, vel=(0, 0, 0), vertices=vertices, indices=tetrahedra.ravel(),
        density=800.0, k_mu=2e3, k_lambda=2e3, k_damp=0.5, particle_radius=0.004, color=(0.9, 0.35, 0.25),
    )  # fmt: skip
    scene = Scene(builder, solver, FreeCamera(lookat=(0, 0, 0.09), distance=0.5, azimuth=120, elevation=-15))
    start = scene.state.particle_q.numpy()[:, 2].mean()
    scene.run(seconds, lambda t: [0.06 * np.clip(2 * t - 0.8, 0, 1), *[1.5, 2.0] * 3])
    q = scene.state.particle_q.numpy()
    weight = 9.81 * float(scene.model.particle_mass.numpy().sum())
    print(f"ball: {len(q)} particles, {weight:.2f} N; rose {1000 * (q[:, 2].mean() - start):.0f} mm")
    print(f"      {1000 * np.ptp(q[:, 0]):.0f} mm wide between the fingers, 80 mm at rest")
    scene.draw(picture)
    return float(q[:, 2].mean() - start)


def drop_towel(seconds: float, picture: str | None, solver: str) -> float:
    """A towel falls on a humanoid that stands; returns how far it hangs down from its highest point [m]."""
    builder = ModelBuilder()
    builder.add_mjcf(HUMANOID)
    builder.add_cloth_grid(
        pos=(-0.35, -0.35, 1.75), rot=(0, 0, 0, 1), vel=(0, 0, 0), dim_x=14, dim_y=14, cell_x=0.05, cell_y=0.05,
        mass=0.002, tri_ke=60.0, tri_ka=20.0, tri_kd=0.02, edge_ke=2e-4, particle_radius=0.01, color=(0.3, 0.5, 0.85),
    )  # fmt: skip
    scene = Scene(builder, solver, FreeCamera(lookat=(0, 0, 1.1), distance=2.6, azimuth=150, elevation=-12))
    nu = scene.control.mujoco.ctrl.size
    scene.run(seconds, lambda t: [0.0] * nu)
    q = scene.state.particle_q.numpy()
    print(f"towel: {len(q)} particles; hangs down {np.ptp(q[:, 2]):.2f} m from its highest point")
    scene.draw(picture)
    return float(np.ptp(q[:, 2]))


PULLEYS = f"""<mujoco><option timestep=".002" solver="CG" tolerance="1e-6"/>{STAGE}<worldbody>
  <light pos=".3 -1 2" dir="-.2 .6 -1" diffuse=".7 .7 .7"/>
  <geom type="plane" size="2 2 .1" pos="0 0 -.8" material="grid"/>
  <body pos="-.15 0 0"><joint name="left" axis="0 1 0" damping="1e-4" armature="1e-4"/>
    <geom type="cylinder" size=".06 .03" euler="90 0 0" mass=".05" friction="1.5" rgba=".8 .6 .3 1"/></body>
  <body pos=".15 0 0"><joint name="right" axis="0 1 0" damping="1e-4" armature="1e-4"/>
    <geom type="cylinder" size=".06 .03" euler="90 0 0" mass=".05" friction="1.5" rgba=".8 .6 .3 1"/></body>
  <flexcomp name="rope" type="direct" dim="1" radius=".008" mass=".1" rgba=".85 .8 .65 1" point="{{points}}"
    element="{{elements}}"><edge equality="true" damping=".01"/><contact condim="3" selfcollide="none" friction="1.5"/>
  </flexcomp></worldbody></mujoco>"""


def rope_path(step: float) -> np.ndarray:
    """Points from the left end, over both pulleys, to the right end, which hangs lower."""
    r, x = 0.0685, 0.15
    arc = np.linspace(np.pi, np.pi / 2, round(np.pi / 2 * r / step) + 1)
    pieces = [
        np.stack([np.full(12, -x - r), np.linspace(-0.3, 0.0, 13)[:-1]], axis=1),
        np.stack([-x + r * np.cos(arc), r * np.sin(arc)], axis=1),
        np.stack([np.linspace(-x, x, 13)[1:-1], np.full(11, r)], axis=1),
        np.stack([x - r * np.cos(arc[::-1]), r * np.sin(arc[::-1])], axis=1),
        np.stack([np.full(16, x + r), np.linspace(0.0, -0.4, 17)[1:]], axis=1),
    ]
    flat = np.concatenate(pieces)
    return np.stack([flat[:, 0], np.zeros(len(flat)), flat[:, 1]], axis=1)


def run_rope(seconds: float, picture: str | None, solver: str) -> float:
    """A rope slides over two pulleys to its longer side and turns them; returns how far the pulleys turned [rad]."""
    points = rope_path(0.025)
    elements = np.stack([np.arange(len(points) - 1), np.arange(1, len(points))], axis=1)
    xml = PULLEYS.format(
        points=" ".join(f"{v:.5f}" for v in points.ravel()), elements=" ".join(map(str, elements.ravel()))
    )
    sim = Simulation(xml, solver=solver)
    sim.step(round(seconds / 0.002))
    turned = np.array([float(sim.joint(name).qpos[0, 0]) for name in ("left", "right")])
    ends = sim.d.flexvert_xpos[0, [0, -1], 2] if "flexvert_xpos" in sim.engine.names else [np.nan, np.nan]
    print(f"rope: pulleys turned by {turned[0]:.2f} and {turned[1]:.2f} rad; ends at {ends[0]:.2f}, {ends[1]:.2f} m")
    if picture:
        save(sim, FreeCamera(lookat=(0, 0, -0.15), distance=1.2, azimuth=110, elevation=-10), picture)
    return float(np.abs(turned).min())


SCENES = {"ball": (squeeze_ball, 1.2), "towel": (drop_towel, 0.7), "rope": (run_rope, 0.5)}


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("--seconds", type=float, help="how long to simulate")
    parser.add_argument("--picture", metavar="FILE", help="what it looks like at the end")
    parser.add_argument("--solver", default="convex", choices=("convex", "mujoco"), help="who runs it")
    args = parser.parse_args(arguments)
    run, seconds = SCENES[args.scene]
    return run(args.seconds or seconds, args.picture, args.solver)


if __name__ == "__main__":
    main()
