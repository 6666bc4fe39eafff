"""Silhouettes and depth against MuJoCo's own rays, on robots and on every shape."""

import mujoco
import numpy as np
import pytest

from kinema.render import Renderer
from kinema.simulation import Simulation

from ..conformance.models import SHARED
from . import oracle

WIDTH, HEIGHT = 96, 72
SUITE = ("humanoid", "cheetah", "quadruped", "manipulator", "fish", "hopper", "swimmer", "walker", "dog")
ROBOTS = (
    "menagerie/agility_cassie/scene.xml", "menagerie/google_barkour_vb/scene_hfield_mjx.xml",
    "menagerie/robotiq_2f85/scene.xml", "menagerie/shadow_hand/scene_right.xml", "menagerie/skydio_x2/scene.xml",
    "menagerie/trossen_wx250s/scene.xml", "menagerie/wonik_allegro/scene_right.xml", "menagerie/iit_softfoot/scene.xml",
)  # fmt: skip

SHAPES = """<mujoco>
  <asset>
    <hfield name="hills" nrow="6" ncol="8" size=".5 .4 .3 .1" elevation="{hills}"/>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1  1 1 .3" scale=".5 .5 .5"/>
  </asset>
  <worldbody>
    <geom type="plane" size="2 3 .1" euler="4 0 0"/>
    {geoms}
    <geom type="hfield" hfield="hills" pos="-1 .8 .4" euler="10 20 30"/>
    <geom type="mesh" mesh="wedge" pos="1 .9 .6" euler="50 20 0"/>
    <camera name="view" pos=".3 -3 2.5" xyaxes="1 .1 0 0 .6 .8"/>
    <camera name="sensor" pos=".3 -3 2.5" xyaxes="1 .1 0 0 .6 .8" resolution="96 72" sensorsize=".004 .003"
            focal=".004 .005" principal=".0005 -.0003"/>
  </worldbody>
</mujoco>"""


def shapes() -> str:
    rng = np.random.default_rng(3)
    kinds = ["sphere", "capsule", "ellipsoid", "cylinder", "box"] * 3
    geoms = "".join(
        f'<geom type="{kind}" size="{a:.3f} {b:.3f} {c:.3f}" pos="{x:.3f} {y:.3f} {z:.3f}" euler="{u:.0f} {v:.0f} 20"/>'
        for kind, (a, b, c), (x, y, z), (u, v) in zip(
            kinds, rng.uniform(0.08, 0.3, (15, 3)), rng.uniform((-1.2, -1, 0.2), (1.2, 1, 1.4), (15, 3)),
            rng.uniform(0, 180, (15, 2)), strict=True,
        )
    )  # fmt: skip
    return SHAPES.format(geoms=geoms, hills=" ".join(f"{h:.3f}" for h in rng.uniform(size=48)))


def compare(m: mujoco.MjModel, camera: int) -> None:
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_forward(m, d)
    sim = Simulation(m)
    sim.set_state(qpos=np.array(d.qpos))
    others = {"site_groups": (), "tendon_groups": (), "skin_groups": ()}  # rays meet geoms only
    renderer = Renderer(sim, camera, WIDTH, HEIGHT, kinds=("depth", "segmentation"), **others)
    renderer.render()
    depth, objects = renderer.depth.numpy()[0, 0], renderer.segmentation.numpy()[0, 0]
    ids, expected = oracle.seen(m, d, camera, WIDTH, HEIGHT)
    assert len(np.unique(ids)) > 1, "the camera must see something"
    assert set(np.unique(objects[..., 1])) <= {-1, int(mujoco.mjtObj.mjOBJ_GEOM)}
    same = objects[..., 0] == ids
    assert np.mean(~same) < 0.003  # what lies exactly on an outline falls to either side in single precision
    assert np.all(oracle.within_a_pixel(objects[..., 0], ids) & oracle.within_a_pixel(ids, objects[..., 0]))
    error = np.abs(depth - expected)[same] / expected[same]
    assert np.mean(error > 1e-4) < 0.002, f"{np.mean(error > 1e-4):.4f} of the pixels, worst {error.max():.1e}"


@pytest.mark.parametrize("name", SUITE)
def test_depth_and_outlines_of_dm_control(name, dm_control_assets):
    compare(mujoco.MjModel.from_xml_path(str(dm_control_assets / "suite" / f"{name}.xml")), -1)


@pytest.mark.parametrize("place", ROBOTS)
def test_depth_and_outlines_of_robots(place):
    if not (SHARED / place).exists():
        pytest.skip("the folder of public robots is not beside the project")
    compare(mujoco.MjModel.from_xml_path(str(SHARED / place)), -1)


@pytest.mark.parametrize("camera", [0, 1])
def test_depth_and_outlines_of_every_shape(camera):
    compare(mujoco.MjModel.from_xml_string(shapes()), camera)


def test_list_and_tree_see_the_same(monkeypatch):
    from kinema.render import scene

    pictures = []
    for first in (1, 1000):
        monkeypatch.setitem(scene.TREE_FROM, "cpu", first)
        renderer = Renderer(Simulation(shapes()), "view", WIDTH, HEIGHT, kinds=("rgb", "depth", "segmentation"))
        renderer.render()
        assert (renderer.setting.tree is None) == (first == 1000)
        pictures.append((renderer.rgb.numpy(), renderer.depth.numpy(), renderer.segmentation.numpy()))
    for one, other in zip(*pictures, strict=True):
        assert one.any()
        np.testing.assert_array_equal(one, other)
