"""Eight worlds at once: the bits of one world, whatever its neighbours do, and which stages go together."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.building import cache_folder
from kinema.convex import known, parts
from kinema.convex.data import Data
from kinema.convex.engine import Engine
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.convex.wide import build

pytestmark = pytest.mark.optimised

MACHINE = """<mujoco><option timestep=".004" integrator="implicitfast" cone="elliptic"><flag energy="enable"/></option>
<default><geom rgba="1 0 0 1" condim="3"/></default>
<worldbody><geom type="plane" size="5 5 .1"/>
  <body name="target" mocap="true" pos="0 0 1"><site name="goal"/></body>
  <body name="base" pos="0 0 .6"><freejoint/><geom size=".2"/><site name="imu" pos=".1 0 0" quat="1 1 0 0"/><camera/>
    <body name="arm" pos=".3 0 0"><joint name="ball" type="ball" stiffness="3" damping=".2" springref="0"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".05"/>
      <body pos=".4 0 0"><joint name="hinge" axis="0 1 0" range="-40 40" limited="true" armature=".1" damping=".5 .1 .2"
        frictionloss=".1"/><geom type="box" size=".1 .05 .05" pos=".1 0 0"/><site name="hand" pos=".2 0 0"/>
        <body pos=".2 0 0"><joint name="slide" type="slide" axis="1 0 0" stiffness="20 3" range="-.2 .2" limited="true"
          actuatorfrcrange="-2 2" actuatorfrclimited="true"/><geom size=".06"/></body></body></body>
    <body pos="-.3 0 0" gravcomp="1"><joint name="wheel" axis="1 1 0"/><geom type="cylinder" size=".08 .03"/>
      <site name="rim" pos="0 0 .1"/></body></body>
  <body pos=".1 .1 1.2"><freejoint/><geom type="ellipsoid" size=".1 .12 .15"/></body></worldbody>
<tendon><fixed name="both" stiffness="2" damping=".1"><joint joint="hinge" coef="1"/><joint joint="wheel" coef="-2"/>
  </fixed><spatial name="string" range="0 .9" limited="true"><site site="imu"/><site site="hand"/></spatial></tendon>
<equality><joint joint1="hinge" joint2="wheel" polycoef="0 .5 0 0 0"/></equality>
<actuator><motor joint="hinge" gear="3" ctrlrange="-1 1" ctrllimited="true"/>
  <position joint="slide" kp="30" kv="2" forcerange="-1 1"/>
  <general joint="wheel" dyntype="filterexact" dynprm=".05" gainprm="2" biastype="affine" biasprm="0 0 -.3"/>
  <velocity tendon="both" kv=".4"/><intvelocity joint="ball" kp="2" gear="0 1 0" actrange="-1 1"/></actuator>
<sensor><framepos objtype="site" objname="hand"/><framequat objtype="body" objname="arm"/><accelerometer site="imu"/>
  <velocimeter site="hand"/><gyro site="hand"/><force site="imu"/><jointpos joint="hinge"/><tendonpos tendon="string"/>
  <subtreeangmom body="base"/><touch site="hand"/><actuatorfrc actuator="a0"/><magnetometer site="imu"/></sensor>
</mujoco>""".replace('<motor joint="hinge"', '<motor name="a0" joint="hinge"')

NARROW = {
    "contact_columns", "contact_scalars", "each_want_contact_over_ncon", "each_contact_wrench_over_ncon", "place_rows",
    "coupling_rows", "friction_columns", "friction_scalars", "limit_columns", "limit_scalars", "advance_time",
    "tendon_paths", "tendon_loads", "equality_loads",
}  # fmt: skip
"""Stages whose lanes do not go together: lists of a length of its own in each world, and 64-bit time."""


def engine_of(model, nworld, monkeypatch, *, wide):
    monkeypatch.setattr(parts, "WIDE_FROM", 8 if wide else 10**9)
    engine = Engine(model, nworld, device="cpu", threads=2)
    random = np.random.default_rng(3)
    engine.write("qpos", engine.read("qpos") + 0.1 * random.normal(size=(nworld, model.nq)))
    engine.write("qvel", random.normal(size=(nworld, model.nv)))
    engine.write("ctrl", random.normal(size=(nworld, model.nu)))
    engine.write("mocap_pos", random.normal(size=(nworld, 1, 3)))
    engine.step(1)
    return engine


def data(engine):
    fields = [n for n, what in engine.layout.declared.items() if what.kind == "data" and n not in engine.layout.idle]
    return {name: engine.layout.arrays[name].numpy().copy() for name in fields}


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(MACHINE)


def test_a_world_gets_the_bits_it_gets_alone(model, monkeypatch):
    nworld, steps = 21, 60  # two eights and five that are left
    many = engine_of(model, nworld, monkeypatch, wide=True)
    few = engine_of(model, nworld, monkeypatch, wide=False)
    mass = np.array(model.body_mass) * np.linspace(0.5, 2, nworld)[:, None]
    for engine in (many, few):
        engine.expand("body_mass")
        engine.set_parameter("body_mass", mass)
        engine.step(steps // 2)
        qvel = engine.read("qvel")
        qvel[11, 2] = np.nan  # freezes this one, and not its neighbours
        engine.write("qvel", qvel)
        engine.step(steps // 2)
    one, other = data(many), data(few)
    assert one["status"][11] != 0 and np.count_nonzero(one["status"]) == 1
    assert one["ncon"].max() > 0 and np.ptp(one["nefc"]) > 0  # worlds have parted
    assert [name for name in one if one[name].tobytes() != other[name].tobytes()] == []


def test_every_stage_that_can_goes_together(model, monkeypatch):
    engine = engine_of(model, 8, monkeypatch, wide=True)
    options = parts.drive.module.resolve_options(wp.config, 1)
    narrow, widened = set(), 0
    for part in parts.parts(engine.recipes["step"]):
        if part[0].alone or part[0] in engine.collider.stages:
            continue
        said = known.entry(known.name_of(part, options))
        text = (cache_folder() / said["object"]).with_suffix(".cpp").read_text()
        _, _, stages = build.widen(text, build.header(), build.shared_members())
        narrow |= {name.rpartition("_")[0] for name, together in stages.items() if not together}
        widened += sum(stages.values())
        assert len(stages) == len(part)  # every stage was found in the text
    assert narrow <= NARROW
    assert widened > 40


# ---------------------------------------------------------------------------------- conditions that lanes differ in


@wp.func
def early(x: float) -> float:
    """Returns at three places."""
    if x > 0.5:
        return x * 2.0
    if x < -0.5:
        if x < -1.0:
            return 7.0
        return x - 1.0
    return wp.sin(x)


@wp.func
def two(x: float):
    """Two results, given at two places."""
    if x < 0.0:
        return -x, x * x
    return x, 1.0 / (1.0 + x)


@wp.func
def climb(x: float) -> int:
    """A loop whose length follows from a number: not to be widened."""
    n = int(0)
    y = x
    while y > 0.1:
        y = y * 0.5
        n += 1
    return n


@wp.func
def branches(m: Model, d: Data, w: int, i: int):
    """What a widened function may get wrong: in each lane something that other lanes must not change."""
    x = d.state.qvel[w, i]
    total = float(0.0)
    inside = wp.vec3(x, 1.0, 2.0)
    count = int(0)
    if x > 0.0:
        for k in range(m.size.nu):
            total += x * d.state.qvel[w, k]  # a loop inside a condition changes a name from outside
            inside[k % 3] = inside[k % 3] + x
            count += 1
        if x > 1.0:
            d.frc.qfrc_constraint[w, i] = x
    else:
        total = early(x)
    a, b = two(x)
    if (x > 0.2 and b < 0.9) or x < -1.5:
        total -= a
    both = (x > 0.0) != (total > 0.0)
    d.frc.qacc[w, i] = total + b + inside[0] + inside[2] + float(count) + wp.where(both, 1.0, 0.0) + float(climb(x))


def test_lanes_that_take_other_ways_do_not_change_each_other(model, monkeypatch):
    nworld = 16
    engine = engine_of(model, nworld, monkeypatch, wide=True)
    entries, wide = parts.load([Stage(branches, over="nv")], many=True)
    assert wide[0] != 0
    qvel = np.random.default_rng(5).normal(size=(nworld, model.nv)).astype(np.float32)
    found = []
    for chosen in (wide, [0]):
        engine.write("qvel", qvel)
        for name in ("qacc", "qfrc_constraint"):
            engine.layout.arrays[name].fill_(-1.0)
        worlds = parts.Range((entries, chosen), [engine.m, engine.d], 0, nworld, engine.device)
        worlds.run()
        found.append({name: engine.layout.arrays[name].numpy().copy() for name in ("qacc", "qfrc_constraint")})
    for name in found[0]:
        np.testing.assert_array_equal(found[0][name], found[1][name])
    np.testing.assert_array_equal(found[0]["qfrc_constraint"], np.where(qvel > 1, qvel, -1))
    assert np.unique(found[0]["qacc"]).size > qvel.size // 2


def test_ranges_are_of_whole_eights_and_miss_no_world():
    for nworld in (8, 21, 33, 256):
        for number in (1, 2, 8):
            bounds = parts.bounds_of(nworld, number, wide=True)
            assert bounds[0] == 0 and bounds[-1] == nworld and sorted(set(bounds)) == bounds
            assert all(edge % 8 == 0 for edge in bounds[:-1])


def test_worlds_with_flexes_go_together_too(monkeypatch, recwarn):
    """Vectors of integers are stored the same in all lanes: which vertex of a flex a contact is of."""
    rope = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/><flexcomp name="rope" type="grid" dim="1"
      count="4 1 1" spacing=".1 .1 .1" pos="0 0 .015" radius=".02" mass=".1"><edge equality="true"/>
      <contact selfcollide="none"/></flexcomp></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(rope)
    monkeypatch.setattr(parts, "WIDE_FROM", 8)
    engine = Engine(m, 9, device="cpu", threads=1)  # an eight, and one that is left
    engine.step(3)
    assert engine.read("ncon").min() >= 4
    assert (engine.read("qpos") == engine.read("qpos")[:1]).all()
    assert (engine.in_use("contact_vert")[:, :4, 1] == [0, 1, 2, 3]).all()
    assert not [str(w.message) for w in recwarn if "did not compile" in str(w.message)]
