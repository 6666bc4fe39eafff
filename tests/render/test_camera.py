"""Which ray goes through which pixel, for every kind of camera, against MuJoCo's frustum and against geometry."""

import mujoco
import numpy as np
import pytest

from kinema.errors import BuildError, UnknownKey
from kinema.render import FreeCamera, Renderer, render
from kinema.render.camera import view_of
from kinema.simulation import Simulation

from . import oracle

SCENE = """<mujoco>
  <visual><global azimuth="130" elevation="-25" fovy="60"/></visual>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size=".3"/><geom size=".05" pos=".5 0 0"/>
      <camera name="fixed" pos="0 -2 .5" xyaxes="1 0 0 0 .3 1"/>
      <camera name="track" mode="track" pos="0 -2 .5" xyaxes="1 0 0 0 .3 1"/>
      <camera name="trackcom" mode="trackcom" pos="0 -2 .5" xyaxes="1 0 0 0 .3 1"/>
    </body>
    <camera name="target" mode="targetbody" target="ball" pos="3 -3 2"/>
    <camera name="targetcom" mode="targetbodycom" target="ball" pos="3 -3 2" fovy="20"/>
    <camera name="sensor" pos="0 -3 1" xyaxes="1 0 0 0 0 1" resolution="40 30" sensorsize=".004 .003" focal=".003 .004"
            principal=".0004 .0002"/>
    <camera name="flat" pos="0 -3 1" xyaxes="1 0 0 0 0 1" projection="orthographic" fovy="2"/>
  </worldbody>
</mujoco>"""
POSE = np.array([0.4, -0.3, 1.2, 0.9, 0.1, -0.3, 0.2])


@pytest.mark.parametrize("name", ["free", "fixed", "track", "trackcom", "target", "targetcom", "sensor"])
def test_modes_and_lenses(name):
    """Depth and objects seen through cameras of every mode, and with a lens of a real sensor."""
    m = mujoco.MjModel.from_xml_string(SCENE)
    d = mujoco.MjData(m)
    d.qpos[:] = POSE / np.r_[1, 1, 1, np.full(4, np.linalg.norm(POSE[3:]))]
    mujoco.mj_forward(m, d)
    camera = -1 if name == "free" else m.camera(name).id
    sim = Simulation(m)
    sim.set_state(qpos=np.array(d.qpos))
    renderer = Renderer(sim, camera, 48, 36, kinds=("depth", "segmentation"))
    renderer.render()
    ids, depth = oracle.seen(m, d, camera, 48, 36)
    assert {1} < set(np.unique(ids))
    same = renderer.segmentation.numpy()[0, 0, ..., 0] == ids
    assert np.mean(~same) < 0.005
    np.testing.assert_allclose(renderer.depth.numpy()[0, 0][same], depth[same], rtol=2e-4)


def test_orthographic():
    """Two metres from top to bottom: a ball of radius 0.3 covers its own area, at any distance."""
    covered = {}
    for height in (1.0, 1.5):
        sim = Simulation(SCENE)
        sim.set_state(qpos=[0, height - 1, 1, 1, 0, 0, 0])
        seen = render(sim, "flat", 100, 80, kind="segmentation")[0, ..., 0]
        depth = render(sim, "flat", 100, 80, kind="depth")[0, ..., 0]
        covered[height] = np.sum(seen == 1) * (2 / 80) ** 2
        np.testing.assert_allclose(depth[seen == 1].min(), 3 + height - 1 - 0.3, rtol=1e-3)
    for area in covered.values():
        np.testing.assert_allclose(area, np.pi * 0.3**2, rtol=0.03)


def test_free_camera_is_the_models():
    m = mujoco.MjModel.from_xml_string(SCENE)
    view = view_of(m, None)
    eye = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(m, eye)
    np.testing.assert_allclose(view.pos + view.mat @ [0, 0, -eye.distance], eye.lookat, atol=1e-9)
    assert view.fovy == 60


def test_free_camera_follows_a_body_in_every_world():
    sim = Simulation(SCENE, worlds=3)
    sim.set_state(qpos=[[x, 0, 1, 1, 0, 0, 0] for x in (0.0, 1.0, -1.5)])
    near = FreeCamera(track="ball", distance=2, azimuth=90, elevation=0)
    seen = render(sim, near, 40, 30, kind="segmentation")[..., 0]
    assert np.all(seen[:, 15, 20] == 1)
    still = render(sim, FreeCamera(lookat=(0, 0, 1), distance=2, azimuth=90, elevation=0), 40, 30, kind="segmentation")
    assert still[0, 15, 20, 0] == 1 and still[1, 15, 20, 0] != 1


def test_lenses_may_differ_by_world():
    sim = Simulation(SCENE, worlds=2)
    sim.expand("cam_fovy")
    fovy = np.array(sim.m.cam_fovy)
    name = "targetcom"
    i = sim.camera(name).id
    fovy[:, i] = 20, 40
    sim.m.cam_fovy = fovy
    seen = render(sim, name, 60, 60, kind="segmentation")[..., 0]
    wide, tele = (np.sum(seen[w] == 1) for w in (1, 0))
    expected = (np.tan(np.deg2rad(20)) / np.tan(np.deg2rad(10))) ** 2
    np.testing.assert_allclose(tele / wide, expected, rtol=0.1)


def test_near_and_far_planes():
    text = """<mujoco><statistic extent="1" center="0 0 0"/><visual><map znear=".5" zfar="4"/></visual><worldbody>
        <geom name="close" size=".1" pos="0 -2.8 0"/><geom name="seen" size=".2" pos="0 -1 0"/>
        <geom name="far" type="box" size="5 .1 5" pos="0 2 0"/>
        <camera name="c" pos="0 -3 0" xyaxes="1 0 0 0 0 1"/></worldbody></mujoco>"""
    sim = Simulation(text)
    seen, depth = (render(sim, "c", 33, 33, kind=kind)[0, ..., 0] for kind in ("segmentation", "depth"))
    assert set(np.unique(seen)) == {-1, 1}
    np.testing.assert_allclose(depth[16, 16], 1.8, rtol=1e-4)
    np.testing.assert_allclose(depth[seen == -1], 4)


def test_errors_teach():
    sim = Simulation(SCENE)
    with pytest.raises(UnknownKey, match="did you mean 'target'"):
        sim.render("tarGet")
    with pytest.raises(UnknownKey, match="camera 9"):
        sim.render(9)
    with pytest.raises(BuildError, match="give a name, an id"):
        sim.render(1.5)
    with pytest.raises(UnknownKey, match="no body named 'bell'"):
        sim.render(FreeCamera(track="bell"))
