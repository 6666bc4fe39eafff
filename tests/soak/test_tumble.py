"""Worlds of tumbling mixed shapes, for a long time: nothing breaks, nothing is lost, nothing grows.

The short form runs in every test run; KINEMA_SOAK=long runs 1000 worlds for 10,000 steps.
"""

import os
import resource

import mujoco
import numpy as np
import pytest

from kinema.convex.engine import Engine

LONG = os.environ.get("KINEMA_SOAK") == "long"
WORLDS, STEPS = (1000, 10_000) if LONG else (16, 600)
CHUNK = STEPS // 10
ALLOWED = 0.035  # depth at which a body that lands at 4 m/s stops, by the default stiffness (MuJoCo: 28 mm) [m]

WALL = '<geom type="box" size="{0} {1} .5" pos="{2} {3} .5"/>'
LID = '<geom type="box" size=".6 .6 .05" pos="0 0 1.05"/>'
SHAPES = (
    '<geom type="sphere" size=".08"/>',
    '<geom type="capsule" size=".05 .08"/>',
    '<geom type="box" size=".08 .06 .05"/>',
    '<geom type="cylinder" size=".07 .05"/>',
    '<geom type="ellipsoid" size=".09 .06 .05"/>',
    '<geom type="mesh" mesh="wedge"/>',
)


def scene() -> mujoco.MjModel:
    """A closed pen with one body of each shape, stirred by shaking gravity's direction through `xfrc_applied`.

    The integrator treats gyroscopic forces implicitly: with explicit ones a body that spins fast gains energy in the
    air until it is lost, in MuJoCo as here.
    """
    sides = ((0.5, 0.05, 0, 0.5), (0.5, 0.05, 0, -0.5), (0.05, 0.5, 0.5, 0), (0.05, 0.5, -0.5, 0))
    walls = "".join(WALL.format(*side) for side in sides) + LID
    bodies = "".join(
        f'<body pos="{0.2 * (i % 3) - 0.2} {0.25 * (i // 3) - 0.12} {0.2 + 0.05 * i}"><freejoint/>{shape}</body>'
        for i, shape in enumerate(SHAPES)
    )
    return mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option timestep=".004" integrator="implicit"/>
          <asset><mesh name="wedge" vertex="-.07 -.07 -.05 .07 -.07 -.05 -.07 .07 -.05 .07 .07 -.05 0 0 .08"/></asset>
          <worldbody><geom type="plane" size="2 2 1"/>{walls}{bodies}</worldbody>
        </mujoco>""")


def stir(engine, m, rng) -> None:
    """Push every body sideways and up, differently in every world."""
    push = np.zeros((engine.nworld, m.nbody, 6))
    push[:, 1:, :3] = rng.normal(size=(engine.nworld, m.nbody - 1, 3)) * 0.5 * 9.81 * m.body_mass[None, 1:, None]
    engine.write("xfrc_applied", push)


def memory() -> int:
    """Bytes this process has ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.optimised
def test_tumbling_shapes():
    m = scene()
    engine = Engine(m, nworld=WORLDS, device="cpu", threads=2)
    rng = np.random.default_rng(0)
    engine.write("qvel", rng.normal(size=(WORLDS, m.nv)))
    held = None
    touched, deepest = 0, 0.0
    for chunk in range(10):
        stir(engine, m, rng)
        engine.step(CHUNK)
        if chunk == 1:
            held = memory()
        qpos, count = engine.read("qpos"), engine.read("ncon")
        assert np.isfinite(qpos).all() and not engine.read("status").any()
        place = qpos.reshape(WORLDS, -1, 7)[:, :, :3]
        assert (place[:, :, 2] > 0.0).all(), "a body fell through the floor"
        assert (place[:, :, 2] < 1.0).all() and (np.abs(place[:, :, :2]) < 0.45).all(), "a body left the pen"
        dist = engine.read("contact_dist")
        used = np.arange(dist.shape[1]) < count[:, None]
        deepest = min(deepest, float(dist[used].min(initial=0.0)))
        touched += int(count.sum())
    assert touched > 5 * WORLDS * 10
    assert deepest > -ALLOWED, f"bodies sank {-1000 * deepest:.1f} mm into each other"
    assert engine.capacity.most_contacts <= engine.capacity.contacts
    assert memory() - held < 32e6, "memory grows"


def test_no_contact_is_lost():
    """Contacts of late states of a tumble are MuJoCo's."""
    m = scene()
    engine = Engine(m, nworld=4, device="cpu")
    rng = np.random.default_rng(1)
    engine.write("qvel", rng.normal(size=(4, m.nv)))
    d = mujoco.MjData(m)
    differ = total = 0
    for _ in range(10):
        stir(engine, m, rng)
        engine.step(50)
        engine.forward()
        for w in range(4):
            d.qpos[:] = engine.read("qpos")[w]
            mujoco.mj_fwdPosition(m, d)
            ours = sorted(tuple(sorted(map(int, g))) for g in engine.read("contact_geom")[w, : engine.read("ncon")[w]])
            theirs = sorted(tuple(sorted(map(int, g))) for g in d.contact.geom)
            total += 1
            if ours != theirs:  # a contact on the brink of touching may fall to either side
                deep = np.asarray(d.contact.geom)[np.asarray(d.contact.dist) < -1e-4]
                assert {tuple(sorted(map(int, g))) for g in deep} <= set(ours), "a pair that touches was missed"
                differ += 1
    assert differ <= 0.2 * total
