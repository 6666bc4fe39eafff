"""Whole pictures beside those of MuJoCo's own renderer, where the machine has OpenGL without a screen (EGL)."""

import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from kinema.render import Renderer
from kinema.simulation import Simulation

from ..conformance.models import SHARED
from . import oracle

WIDTH, HEIGHT = 160, 120
PROGRAM = Path(__file__).with_name("opengl.py")
STILL = """<mujoco>
  <visual>{visual}</visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2="0 0 0" width="64" height="384"/>
    <texture name="floor" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".5 .6 .7" width="128" height="128"/>
    <texture name="flat" type="2d" builtin="gradient" rgb1="1 .2 .1" rgb2=".1 .3 1" mark="edge" markrgb="0 1 0"
             width="64" height="64"/>
    <texture name="cube" type="cube" builtin="gradient" rgb1="1 1 .1" rgb2=".1 .3 .1" mark="cross" markrgb="1 0 1"
             width="64" height="384"/>
    <material name="floor" texture="floor" texuniform="true" reflectance="{mirror}"/>
    <material name="flat" texture="flat" texrepeat="2 3"/>
    <material name="even" texture="flat" texrepeat="2 3" texuniform="true"/>
    <material name="cube" texture="cube"/>
    <material name="glow" emission=".5" specular="1" shininess="1" rgba=".5 .2 .6 1"/>
  </asset>
  <worldbody>
    {lights}
    <geom type="plane" size="5 5 .1" material="floor"/>
    <geom type="sphere" size=".4" pos="0 0 .6" material="flat"/>
    <geom type="box" size=".3 .2 .3" pos="1 .2 .31" euler="0 0 130" material="even"/>
    <geom type="box" size=".2 .2 .2" pos="-.5 -1 .2" euler="0 0 30" material="cube"/>
    <geom type="capsule" size=".2 .4" pos="-1 .3 .6" euler="20 0 0" material="flat"/>
    <geom type="cylinder" size=".25 .3" pos="0 1.2 .5" euler="60 0 0" material="cube"/>
    <geom type="ellipsoid" size=".3 .4 .2" pos=".5 -1 .3" material="glow"/>
    <geom type="sphere" size=".3" pos="1.2 -.7 .5" rgba=".2 .9 .9 .4"/>
    <site type="box" size=".1 .1 .1" pos="-1.2 -.6 .4" rgba="1 0 0 .6"/>
    <camera pos="0 -3.5 2" xyaxes="1 0 0 0 .5 .87"/>
    <camera pos="0 -3.5 2" xyaxes="1 0 0 0 .5 .87" projection="orthographic" fovy="3"/>
    <camera pos="0 -3.5 2" xyaxes="1 0 0 0 .5 .87" resolution="160 120" sensorsize=".004 .003" focal=".004 .005"
            principal=".0005 -.0003"/>
  </worldbody>
</mujoco>"""
SPOT = '<light pos="1 -1 4" dir="-.2 .2 -1"/>'
SUNS = (
    '<light pos="1 -1 4" dir="-.2 .5 -1" type="directional" diffuse=".5 .5 .5"/>'
    '<light pos="-1 -1 4" dir=".6 .5 -1" type="directional" diffuse=".3 .1 .1" castshadow="false"/>'
)
STILLS = {
    "spot": (0, {"lights": SPOT, "visual": "", "mirror": 0}),
    "suns": (0, {"lights": SUNS, "visual": "", "mirror": 0}),
    "headlight": (0, {"lights": "", "visual": '<headlight diffuse=".7 .6 .5" specular="1 1 1"/>', "mirror": 0}),
    "no light": (0, {"lights": "", "visual": '<headlight active="0"/>', "mirror": 0}),
    "mirror": (0, {"lights": SPOT, "visual": "", "mirror": 0.4}),
    "orthographic": (1, {"lights": SPOT, "visual": "", "mirror": 0}),
    "sensor": (2, {"lights": SPOT, "visual": "", "mirror": 0}),
}
ROBOTS = ("agility_cassie/scene.xml", "skydio_x2/scene.xml", "trossen_wx250s/scene.xml", "iit_softfoot/scene.xml")
"""None whose shadows leave OpenGL's shadow map: there they end, ours do not."""
SUITE = ("humanoid", "cheetah", "manipulator", "dog")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory, dm_control_assets) -> dict:
    """MuJoCo's pictures of all models, by name: (path, camera, pictures)."""
    folder = tmp_path_factory.mktemp("opengl")
    chosen = {}
    for name, (camera, options) in STILLS.items():
        path = folder / f"{name}.xml"
        path.write_text(STILL.format(**options))
        chosen[name] = (path, camera)
    chosen |= {name: (dm_control_assets / "suite" / f"{name}.xml", -1) for name in SUITE}
    robots = {name: (SHARED / "menagerie" / name, -1) for name in ROBOTS}
    chosen |= {name: pair for name, pair in robots.items() if pair[0].exists()}
    words = [str(word) for pair in chosen.values() for word in pair]
    out = folder / "pictures.npz"
    command = [sys.executable, str(PROGRAM), str(out), str(WIDTH), str(HEIGHT), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not out.exists():
        pytest.skip(f"no OpenGL without a screen here: {done.stderr.strip()[-200:]}")
    pictures = np.load(out)
    kinds = ("rgb", "depth", "segmentation")
    return {
        name: (*pair, {kind: pictures[f"{kind}{k}"] for kind in kinds}) for k, (name, pair) in enumerate(chosen.items())
    }


@pytest.mark.parametrize("name", [*STILLS, *SUITE, *ROBOTS])
def test_beside_opengl(name, theirs):
    if name not in theirs:
        pytest.skip("the folder of public robots is not beside the project")
    path, camera, expected = theirs[name]
    m = mujoco.MjModel.from_xml_path(str(path))
    sim = Simulation(m)
    if m.nkey:
        sim.reset(keyframe=0)
    ours = Renderer(sim, camera, WIDTH, HEIGHT, kinds=("rgb", "depth", "segmentation"), antialias=True)
    ours.render()
    rgb, depth, objects = (getattr(ours, kind).numpy()[0, 0] for kind in ("rgb", "depth", "segmentation"))

    key, other = (o[..., 1].astype(int) * 100000 + o[..., 0] for o in (objects, expected["segmentation"]))
    assert np.mean(key != other) < 0.005  # OpenGL's balls are of triangles
    assert np.mean(~oracle.within_a_pixel(key, other)) < 0.001
    same = key == other
    error = np.abs(depth - expected["depth"])[same] / expected["depth"][same]
    assert np.quantile(error, 0.99) < 4e-3 and np.median(error) < 4e-4

    apart = np.abs(rgb.astype(int) - expected["rgb"])
    assert apart.mean() < 3.5, "OpenGL computes light at corners, we in every pixel; no more than that may differ"
    assert np.mean(apart.max(axis=2) > 40) < 0.03
