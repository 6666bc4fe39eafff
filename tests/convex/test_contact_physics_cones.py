"""Friction cones: their limits in random scenes, their shape, and pairs that choose it."""

import mujoco
import numpy as np
import pytest

from kinema.convex.contact_force import contact_forces
from tests.conformance.staged import StagedEngine

HEAP = """
<mujoco>
  <option cone="{cone}" timestep=".004"/>
  <default><geom friction=".6 .02 .01"/></default>
  <worldbody>
    <geom type="plane" size="9 9 9"/>
    <body pos="0 0 .2"><freejoint/><geom type="box" size=".1 .08 .06" condim="4"/></body>
    <body pos=".1 .05 .4"><freejoint/><geom size=".09" condim="6"/></body>
    <body pos="0 .1 .6"><freejoint/><geom type="capsule" size=".06 .1" condim="3"/></body>
    <body pos=".05 0 .8"><freejoint/><geom type="box" size=".07 .07 .07" condim="1"/></body>
  </worldbody>
</mujoco>
"""

PAIRS = """
<mujoco>
  <option cone="elliptic" timestep=".002" impratio="100"/>
  <worldbody>
    <geom name="floor" type="plane" size="99 99 9" friction="{floor}"/>
    <body name="block" pos="0 0 .1"><freejoint/>
      <geom name="block" type="box" size=".1 .1 .1" friction="{block}" {mask}/></body>
    <body name="ball" pos="3 0 .099"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><geom name="ball" size=".1" mass="2"/></body>
  </worldbody>
  <contact>{contact}</contact>
</mujoco>
"""


def pairs(contact="", floor="1 .005 .0001", block="1 .005 .0001", mask=""):
    return mujoco.MjModel.from_xml_string(PAIRS.format(contact=contact, floor=floor, block=block, mask=mask))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_every_force_is_in_its_cone(cone):
    """Many worlds of tumbling shapes: normal forces push, friction stays within each contact's limits."""
    m = mujoco.MjModel.from_xml_string(HEAP.format(cone=cone))
    engine = StagedEngine(m, nworld=32, device="cpu")
    rng = np.random.default_rng(0)
    engine.write("qvel", rng.normal(size=(32, m.nv)))
    seen = {1: 0, 3: 0, 4: 0, 6: 0}
    rows_of = {dim: dim if cone == "elliptic" or dim == 1 else 2 * (dim - 1) for dim in seen}
    for _ in range(15):
        engine.step(10)
        forces = contact_forces(engine).numpy()
        for w in range(32):
            rows = 0
            for c in range(engine.read("ncon")[w]):
                dim, mu = engine.read("contact_dim")[w, c], engine.read("contact_friction")[w, c]
                f = forces[w, c]
                scaled = np.abs(f[1:dim]) / mu[: dim - 1]
                length = np.sqrt((scaled**2).sum()) if cone == "elliptic" else scaled.sum()
                assert f[0] >= 0 and length <= f[0] * (1 + 1e-4) + 1e-5
                assert not f[dim:].any()
                seen[int(dim)] += 1
                rows += rows_of[int(dim)] * (engine.read("contact_address")[w, c] >= 0)  # grazing: none
            assert engine.read("nefc")[w] == rows
    assert min(count for dim, count in seen.items() if dim != 1) > 50, seen
    assert not engine.read("status").any()


def ball_contact(engine, w):
    """Force and frame of the contact of the ball."""
    c = next(c for c in range(engine.read("ncon")[w]) if 2 in engine.read("contact_geom")[w, c])
    return contact_forces(engine).numpy()[w, c], engine.read("contact_frame")[w, c].reshape(3, 3)


@pytest.mark.parametrize("friction", [(0.6, 0.6), (1.0, 0.5)])
def test_boundary_is_an_ellipse(friction):
    """Criteria 8 and 9: whatever the direction of sliding, friction lies on the ellipse of the two coefficients."""
    m = pairs(f'<pair geom1="floor" geom2="ball" friction="{friction[0]} {friction[1]} .005 .0001 .0001"/>')
    engine = StagedEngine(m, nworld=8, device="cpu")
    angles = np.linspace(0.1, np.pi + 0.1, 8, endpoint=False)
    speed = np.zeros((8, m.nv))
    speed[:, 6], speed[:, 7] = 0.5 * np.cos(angles), 0.5 * np.sin(angles)
    engine.write("qvel", speed)
    engine.step(5)
    engine.forward()
    mu = np.array(friction)
    for w in range(8):
        force, frame = ball_contact(engine, w)
        assert ((force[1:3] / mu) ** 2).sum() == pytest.approx(force[0] ** 2, rel=1e-3)
        slip = frame[1:] @ engine.read("qvel")[w, 6:9]
        assert slip @ force[1:3] < 0
        if mu[0] == mu[1]:  # a circle: straight against the motion
            np.testing.assert_allclose(force[1:3], -force[0] * mu * slip / np.linalg.norm(slip), atol=1e-3 * force[0])


def test_pyramid_has_edges():
    """Criterion 10: pyramids are pyramids: along a diagonal they hold less than the elliptic cone."""
    held = {}
    for cone, value in (("pyramidal", 0), ("elliptic", 1)):
        m = pairs('<pair geom1="floor" geom2="ball" condim="3" friction=".5 .5 .005 .0001 .0001"/>')
        m.opt.cone, m.opt.impratio = value, 1
        engine = StagedEngine(m, device="cpu")
        speed = np.zeros(m.nv)
        speed[6:8] = 0.3, 0.3
        engine.write("qvel", speed)
        engine.step(20)
        force, _ = ball_contact(engine, 0)
        held[cone] = np.hypot(force[1], force[2]) / force[0]
    assert held["elliptic"] == pytest.approx(0.5, rel=0.02)
    assert held["pyramidal"] == pytest.approx(0.5 / np.sqrt(2), rel=0.02)


# ------------------------------------------------------------------------------------------- pair and exclude


def contacts(m):
    """Our contacts and MuJoCo's at the initial state, as {geoms: count}."""
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    engine = StagedEngine(m, device="cpu")
    engine.forward()
    ours = [tuple(sorted(map(int, g))) for g in engine.read("contact_geom")[0][: engine.read("ncon")[0]]]
    theirs = [tuple(sorted(map(int, g))) for g in d.contact.geom]
    assert sorted(ours) == sorted(theirs)
    return engine, {pair: ours.count(pair) for pair in set(ours)}


def test_exclude_prevents_contacts():
    """Criterion 1 of pairs, and 4: what is not excluded is filtered as before."""
    _, found = contacts(pairs())
    assert found == {(0, 1): 4, (0, 2): 1}
    _, found = contacts(pairs('<exclude body1="world" body2="block"/>'))
    assert found == {(0, 2): 1}
    _, found = contacts(pairs(mask='contype="2" conaffinity="2"'))
    assert found == {(0, 2): 1}


def test_pair_beats_masks_and_excludes():
    """Criterion 2 of pairs."""
    pair = '<pair geom1="floor" geom2="block"/>'
    _, found = contacts(pairs(pair, mask='contype="0" conaffinity="0"'))
    assert found == {(0, 1): 4, (0, 2): 1}
    _, found = contacts(pairs(pair + '<exclude body1="world" body2="block"/>'))
    assert found == {(0, 1): 4, (0, 2): 1}


def test_pair_brings_its_own_parameters():
    """Criterion 3 of pairs: all of them, and nothing of the geoms'."""
    m = pairs(
        '<pair geom1="floor" geom2="block" condim="6" friction=".9 .8 .03 .02 .01" solref=".03 .9" '
        'solreffriction=".04 .8" solimp=".8 .9 .002 .4 3" margin=".01" gap=".005"/>',
        block=".1 .1 .1",
    )
    engine, _ = contacts(m)
    c = [k for k in range(engine.read("ncon")[0]) if 1 in engine.read("contact_geom")[0, k]][0]
    read = lambda name: engine.read(f"contact_{name}")[0, c]  # noqa: E731
    assert read("dim") == 6
    np.testing.assert_allclose(read("friction"), [0.9, 0.8, 0.03, 0.02, 0.01], rtol=1e-6)
    np.testing.assert_allclose(read("solref"), [0.03, 0.9], rtol=1e-6)
    np.testing.assert_allclose(read("solreffriction"), [0.04, 0.8], rtol=1e-6)
    np.testing.assert_allclose(read("solimp"), [0.8, 0.9, 0.002, 0.4, 3], rtol=1e-6)
    np.testing.assert_allclose(read("includemargin"), 0.01, rtol=1e-6)
