"""Sizes of geoms that differ per world, against MuJoCo's models compiled with them."""

import mujoco
import numpy as np
import pytest

from kinema.convex.geom_sizes import bounds
from kinema.errors import BuildError
from kinema.simulation import Simulation

SCENE = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".02 .03 .04"/>
      <geom name="box" type="box" size="{box}"/></body>
    <body name="ball" pos="0 1 .4"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".02 .02 .02"/>
      <geom name="ball" size="{ball}"/></body>
    <body name="pin" pos="0 1.05 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia=".02 .03 .04"/>
      <geom name="pin" type="box" size="{pin}"/></body>
  </worldbody>
</mujoco>
"""
SIZES = [
    {"box": ".2 .1 .1", "ball": ".1", "pin": ".05 .05 .2"},
    {"box": ".1 .3 .2", "ball": ".3", "pin": ".1 .1 .1"},
    {"box": ".3 .2 .05", "ball": ".05", "pin": ".04 .04 .3"},
]


def compiled(world: int) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(SCENE.format(**SIZES[world]))


@pytest.fixture
def sim():
    return Simulation(compiled(0), worlds=3, device="cpu", threads=1)


def test_bounds_are_those_the_compiler_gives():
    xml = "<mujoco><worldbody>" + "".join(
        f'<body pos="{i} 0 0"><geom type="{kind}" size=".1 .2 .3"/></body>'
        for i, kind in enumerate(("sphere", "capsule", "ellipsoid", "cylinder", "box"))
    ) + "</worldbody></mujoco>"  # fmt: skip
    m = mujoco.MjModel.from_xml_string(xml)
    radius, half = bounds(m.geom_type, m.geom_size)
    np.testing.assert_allclose(radius, m.geom_rbound)
    np.testing.assert_allclose(half, m.geom_aabb[:, 3:])


def test_worlds_differ(sim):
    models = [compiled(world) for world in range(3)]
    sim.expand("geom_size")
    sim.m.geom_size = np.stack([m.geom_size for m in models])
    sim.step(120)
    for world, m in enumerate(models):
        d = mujoco.MjData(m)
        mujoco.mj_step(m, d, nstep=120)
        np.testing.assert_allclose(sim.d.qpos[world], d.qpos, atol=5e-3, err_msg=f"world {world}")
        assert d.ncon > 2
        one = Simulation(m, device="cpu", threads=1)  # to the bit what a model with these sizes gives
        one.step(120)
        np.testing.assert_array_equal(one.d.qpos[0], sim.d.qpos[world])


def test_all_worlds_alike_and_back(sim):
    before = np.array(sim.m.geom_size)
    sim.geom("ball").size = [0.3, 0, 0]
    sim.step(200)
    np.testing.assert_allclose(sim.body("ball").xpos[:, 2], 0.3, atol=0.02)
    sim.engine.rebuild()  # as when lists grow
    sim.step(10)
    np.testing.assert_allclose(sim.body("ball").xpos[:, 2], 0.3, atol=0.02)
    sim.m.geom_size = before
    sim.reset()
    sim.step(200)
    np.testing.assert_allclose(sim.body("ball").xpos[:, 2], 0.1, atol=0.02)


def test_what_has_a_shape_of_its_own_is_refused():
    mesh = '<asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
    body = '<body><freejoint/><geom name="m" type="mesh" mesh="t"/></body><geom name="b" type="box" size="1 1 1"/>'
    sim = Simulation(f"<mujoco>{mesh}<worldbody>{body}</worldbody></mujoco>", worlds=2, device="cpu", threads=1)
    sim.expand("geom_size")
    sim.geom("b").size = [[2, 2, 2], [3, 3, 3]]
    with pytest.raises(BuildError, match="meshes"):
        sim.geom("m").size = [1, 2, 3]
    balls = "".join(f'<body pos="{i % 20} {i // 20} 1"><freejoint/><geom size=".1"/></body>' for i in range(360))
    many = Simulation(f"<mujoco><worldbody>{balls}</worldbody></mujoco>", worlds=2, device="cpu", threads=1)
    with pytest.raises(BuildError, match="broad phase"):
        many.expand("geom_size")
