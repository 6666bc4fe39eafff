"""Draw the pictures of docs/gallery.md again: `make gallery`.

    python scripts/gallery.py               # all of them, into docs/images
    python scripts/gallery.py joints kinds  # some

Each is a function of the size, so that a test can draw it small. Models are those of the repository.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kinema import Simulation, mjcf
from kinema.render import FreeCamera, filmstrip

ROOT = Path(__file__).resolve().parent.parent
HUMANOID = ROOT / "examples" / "models" / "humanoid.xml"
QUADRUPED = ROOT / "src" / "kinema" / "envs" / "models" / "quadruped.xml"
FOLDER = ROOT / "docs" / "images"
SIZE = (480, 360)

STAGE = """<mujoco><asset>
  <texture type="skybox" builtin="gradient" rgb1=".75 .83 .9" rgb2=".3 .4 .55" width="64" height="64"/>
  <texture name="grid" type="2d" builtin="checker" rgb1=".42 .47 .52" rgb2=".37 .42 .47" width="256" height="256"/>
  <material name="grid" texture="grid" texrepeat="8 8" reflectance=".15"/></asset>
  <worldbody><light type="directional" pos="1 -2 4" dir="-.35 .5 -1" diffuse=".7 .7 .7" bulbradius=".1"/>
  <geom type="plane" size="6 6 .1" material="grid"/>{}</worldbody>{}</mujoco>"""

SHAPES = """<extension><plugin plugin="mujoco.sdf.torus"><instance name="torus">
  <config key="radius1" value="0.35"/><config key="radius2" value="0.12"/></instance></plugin>
  <plugin plugin="mujoco.sdf.gear"><instance name="gear"><config key="diameter" value="0.9"/>
  <config key="innerdiameter" value="0.25"/><config key="thickness" value="0.2"/></instance></plugin></extension>
  <asset><mesh name="torus"><plugin instance="torus"/></mesh>
  <mesh name="gear"><plugin instance="gear"/></mesh></asset>"""


def humanoid(width: int, height: int) -> np.ndarray:
    """A humanoid, with soft shadows."""
    sim = Simulation(HUMANOID, device="cpu")
    return sim.render(FreeCamera(track="torso" if "torso" in sim.model.names("body") else 1, distance=3.2, azimuth=130,
                                 elevation=-12), width, height)[0]  # fmt: skip


def contacts(width: int, height: int) -> np.ndarray:
    """Blocks that rest on each other, with the points and the forces of their contacts."""
    blocks = "".join(
        f'<body pos="{0.42 * (n - 0.5 * row)} 0 {0.15 + 0.3 * (2 - row)}"><freejoint/>'
        f'<geom type="box" size=".2 .15 .15" rgba=".85 .55 .3 .45"/></body>'
        for row in (2, 1, 0) for n in range(row + 1)
    )  # fmt: skip
    thin = """<visual><map force=".03"/><scale contactwidth=".1" contactheight=".02" forcewidth=".03"/></visual>"""
    sim = Simulation(STAGE.format(blocks, thin), device="cpu")
    sim.step(200)
    sim.forward()
    camera = FreeCamera(lookat=(0, 0, 0.4), distance=2.4, azimuth=110, elevation=-12)
    return sim.render(camera, width, height, overlays=("contacts", "forces"))[0]


def joints(width: int, height: int) -> np.ndarray:
    """A quadruped and the axes of its joints."""
    sim = Simulation(QUADRUPED, device="cpu")
    sim.reset(keyframe=0 if sim.model.nkey else None)
    camera = FreeCamera(track=1, distance=1.2, azimuth=150, elevation=-20)
    return sim.render(camera, width, height, overlays="joints")[0]


def composed(width: int, height: int) -> np.ndarray:
    """One arm, written in Python, attached nine times to a table, each with its own pose."""
    root = mjcf.from_xml_string(STAGE.format("", ""))
    for n in range(9):
        arm = mjcf.RootElement(model=f"arm{n}")
        color = [0.3 + 0.07 * n, 0.75 - 0.05 * n, 0.35 + 0.05 * (n % 3), 1]
        body, length = arm.worldbody, 0.0
        for k in range(4):
            body = body.add("body", pos=[0, 0, length], euler=[12 * k + 4 * n, 8 * k, 0])
            length = 0.32 - 0.05 * k
            body.add("geom", type="capsule", fromto=[0, 0, 0, 0, 0, length], size=[0.06 - 0.01 * k], rgba=color)
        place = [0.7 * (n % 3 - 1), 0.7 * (n // 3 - 1), 0]
        root.worldbody.add("site", name=f"place{n}", pos=place, size=[0.001]).attach(arm)
    camera = FreeCamera(lookat=(0, 0, 0.3), distance=2.9, azimuth=120, elevation=-25)
    return Simulation(root, device="cpu").render(camera, width, height)[0]


def distance_fields(width: int, height: int) -> np.ndarray:
    """Shapes that are functions: a torus and a gear from plugins."""
    bodies = """<geom type="sdf" mesh="torus" pos="-.5 0 .5" euler="70 20 0" rgba=".9 .5 .2 1">
      <plugin instance="torus"/></geom>
      <geom type="sdf" mesh="gear" pos=".6 0 .55" euler="80 0 30" rgba=".5 .6 .7 1"><plugin instance="gear"/></geom>"""
    sim = Simulation(STAGE.format(bodies, SHAPES), device="cpu")
    return sim.render(FreeCamera(lookat=(0, 0, 0.4), distance=3.0, azimuth=100, elevation=-18), width, height)[0]


def kinds(width: int, height: int) -> np.ndarray:
    """Colours, depth and objects of one world; and frames."""
    sim = Simulation(QUADRUPED, device="cpu")
    camera, half = FreeCamera(track=1, distance=1.5, azimuth=60, elevation=-20), (width // 2, height // 2)
    depth = sim.render(camera, *half, kind="depth")[0]
    near = np.clip(255 * (1 - (depth - 0.8) / 1.6), 0, 255).astype(np.uint8).repeat(3, axis=-1)
    seen = sim.render(camera, *half, kind="segmentation")[0, :, :, 0]
    palette = np.random.default_rng(3).integers(60, 255, (256, 3)).astype(np.uint8)
    objects = np.where(seen[..., None] >= 0, palette[seen % 256], 0).astype(np.uint8)
    frames = [sim.render(camera, *half)[0], near, objects, sim.render(camera, *half, overlays="frames")[0]]
    return filmstrip(frames, columns=2)


PICTURES: dict[str, Callable[[int, int], np.ndarray]] = {
    each.__name__: each for each in (humanoid, contacts, joints, composed, distance_fields, kinds)
}


def main(names: list[str]) -> None:
    from PIL import Image

    for name in names or PICTURES:
        path = FOLDER / f"gallery_{name}.jpg"
        Image.fromarray(PICTURES[name](*SIZE)).save(path, quality=88, optimize=True)
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
