"""Skins bend as MuJoCo bends them, in every world."""

import mujoco
import numpy as np
import pytest

from kinema.render import Renderer, render
from kinema.simulation import Simulation

OBJ_SKIN = 11


def sleeve(inflate: float) -> str:
    """A tube around two links, its vertices shared between both near the elbow."""
    rings, sides = 7, 8
    x = np.linspace(-0.1, 1.1, rings)
    angle = np.arange(sides) * 2 * np.pi / sides
    vertices = [(u, 0.12 * np.cos(a), 0.12 * np.sin(a)) for u in x for a in angle]
    faces = []
    for r in range(rings - 1):
        for s in range(sides):
            a, b = r * sides + s, r * sides + (s + 1) % sides
            faces += [(a, b, b + sides), (a, b + sides, a + sides)]
    second = np.clip((np.repeat(x, sides) - 0.3) / 0.4, 0, 1)
    bones = "".join(
        f'<bone body="{body}" bindpos="{at} 0 0" bindquat="1 0 0 0" vertid="{ids}" vertweight="{weights}"/>'
        for body, at, part in (("upper", 0, 1 - second), ("lower", 0.5, second))
        for ids, weights in [(
            " ".join(map(str, np.flatnonzero(part > 0))), " ".join(f"{w:.4f}" for w in part[part > 0])
        )]
    )  # fmt: skip

    def text(rows) -> str:
        return " ".join(f"{value:.4f}" if isinstance(value, float) else str(value) for row in rows for value in row)

    skin = f'<skin name="sleeve" vertex="{text(vertices)}" face="{text(faces)}" inflate="{inflate}" rgba="1 .3 .2 1">'
    return f"""<mujoco><worldbody><light pos="0 -1 3"/><geom type="plane" size="2 2 .1" pos="0 0 -.5"/>
        <body name="upper"><joint axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/>
          <body name="lower" pos=".5 0 0"><joint axis="0 .6 .8"/>
            <geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></body>
        <camera name="front" pos=".5 -2 .5" xyaxes="1 0 0 0 .2 1"/></worldbody>
        <deformable>{skin}{bones}</skin></deformable></mujoco>"""


@pytest.mark.parametrize("inflate", [0.0, 0.03])
def test_vertices_and_normals(inflate):
    m = mujoco.MjModel.from_xml_string(sleeve(inflate))
    angles = np.array([[0, 0], [0.4, -0.9], [-0.3, 1.2]])
    sim = Simulation(m, worlds=3)
    sim.set_state(qpos=angles)
    renderer = Renderer(sim, "front", 40, 30, kinds=("segmentation",))
    for turn in (1.0, 0.5):  # built, then refitted
        sim.set_state(qpos=angles * turn)
        renderer.render()
        arrays = renderer.setting.skins.arrays
        points = arrays.point.numpy().reshape(3, -1, 3)
        for world in range(3):
            d = mujoco.MjData(m)
            d.qpos[:] = angles[world] * turn
            mujoco.mj_forward(m, d)
            scene = mujoco.MjvScene(m, maxgeom=100)
            view, option = mujoco.MjvCamera(), mujoco.MjvOption()
            mujoco.mjv_updateScene(m, d, option, None, view, mujoco.mjtCatBit.mjCAT_ALL, scene)
            np.testing.assert_allclose(points[world], np.reshape(scene.skinvert, (-1, 3)), atol=2e-6)
            np.testing.assert_allclose(arrays.normal.numpy()[world], np.reshape(scene.skinnormal, (-1, 3)), atol=2e-5)


def test_every_world_shows_its_own():
    text = sleeve(0.02)
    angles = np.array([[0, 0], [0.4, -0.9], [-0.3, 1.2]])
    sim = Simulation(text, worlds=3)
    sim.set_state(qpos=angles)
    together = {kind: render(sim, "front", 48, 36, kind=kind) for kind in ("rgb", "segmentation")}
    for world in range(3):
        alone = Simulation(text)
        alone.set_state(qpos=angles[world])
        for kind, pictures in together.items():
            np.testing.assert_array_equal(render(alone, "front", 48, 36, kind=kind)[0], pictures[world])
    seen = together["segmentation"]
    assert np.all(np.sum((seen == (0, OBJ_SKIN)).all(axis=-1), axis=(1, 2)) > 60)
    bare = render(sim, "front", 48, 36, kind="segmentation", skin_groups=())
    assert not np.any(bare[..., 1] == OBJ_SKIN) and np.any(bare[..., 0] == 1)
