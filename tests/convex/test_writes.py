"""Every parameter that can be written, against MuJoCo given the same numbers: none is accepted and ignored.

The models give most parameters their neutral values, so that the step is compiled without the stages they need. Each
parameter is written on its own, a few steps are compared, and it is put back.
"""

import warnings

import mujoco
import numpy as np
import pytest

from kinema.convex.layout import ALIASES, DERIVED
from kinema.convex.parameters import FIXED
from kinema.convex.present import Present
from kinema.errors import KernelsRebuilt, UnknownKey
from tests.conformance.staged import StagedEngine

SMOOTH = """
<mujoco>
  <option timestep="0.004" integrator="{integrator}" magnetic="0.3 0.1 -0.5"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <light name="sun" pos="1 2 3" dir="0.1 0.2 -1" mode="targetbody" target="fore"/>
    <camera name="fixed" pos="0 -2 1" xyaxes="1 0 0 0 0.5 1"/>
    <site name="wall" pos="-0.3 0.1 1.2"/>
    <body name="marker" mocap="true" pos="0.5 0.5 0.5"><geom size="0.02"/></body>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="ball" damping="0.1"/>
      <geom name="upper" type="capsule" size="0.04 0.2" pos="0.2 0 0" euler="0 90 0" mass="1"/>
      <geom name="bulge" size="0.05" pos="0.12 0.02 0.08" mass="0.1"/>
      <site name="a" pos="0.1 0 0.09"/>
      <body name="fore" pos="0.4 0 0">
        <joint name="elbow" axis="0 1 0.2" damping="0.05" stiffness="1" pos="0.01 0 0"/>
        <joint name="reach" type="slide" axis="1 0 0" range="-0.02 0.02" limited="true"/>
        <geom name="fore" type="box" size="0.15 0.03 0.05" pos="0.15 0 0" mass="0.7"/>
        <site name="b" pos="0.1 0.01 0.07" size="0.03"/>
        <site name="tip" pos="0.3 0 0" size="0.1"/>
        <camera name="eye" pos="0.3 0 0.1" mode="trackcom" resolution="64 48"/>
        <light name="lamp" mode="trackcom" pos="0.1 0 0.2"/>
        <body name="hand" pos="0.32 0 0" >
          <joint name="wrist" type="hinge" axis="0 0 1"/>
          <camera name="following" mode="track" pos="0.1 0 0.2"/>
          <light name="following" mode="track" pos="0.1 0 0.2"/>
          <light name="held" pos="0.1 0 0.2"/>
          <geom name="hand" type="ellipsoid" size="0.05 0.03 0.02" mass="0.2" pos="0.04 0 0"/>
        </body>
      </body>
    </body>
    <body name="drone" pos="0 1 1"><freejoint/><geom name="drone" type="cylinder" size="0.1 0.03" mass="0.4"/>
      <site name="rotor" pos="0.05 0 0.02"/></body>
  </worldbody>
  <tendon>
    <fixed name="pull" limited="true" range="-0.01 0.01"><joint joint="elbow" coef="0.5"/>
      <joint joint="wrist" coef="-0.3"/></fixed>
    <spatial name="string"><site site="wall"/><site site="a"/><site site="b"/></spatial>
    <spatial name="wound" stiffness="3" springlength="0.2"><site site="a"/><geom geom="bulge" sidesite="a"/>
      <site site="b"/></spatial>
  </tendon>
  <actuator>
    <position name="servo" joint="elbow" kp="5" ctrlrange="-0.1 0.1" ctrllimited="true"/>
    <general name="filter" joint="wrist" dyntype="filter" dynprm="0.05" gainprm="0.5" biastype="affine"
      biasprm="0 -0.3 -0.01" actlimited="true" actrange="-0.05 0.05" forcelimited="true" forcerange="-0.02 0.02"/>
    <muscle name="muscle" tendon="string" range="0.75 1.05" lengthrange="0.5 1.2"/>
    <motor name="winch" tendon="pull" gear="0.4"/>
    <position name="turn" joint="shoulder" gear="0 0 1" kp="2"/>
    <general name="thrust" site="rotor" gear="0 0 1 0 0 0.1" gainprm="2"/>
    <general name="crank" cranksite="tip" slidersite="a" cranklength="0.8" gainprm="0.3"/>
  </actuator>
  <equality><joint joint1="wrist" joint2="elbow" polycoef="0 0.3 0 0 0"/></equality>
  <sensor>
    <jointpos joint="elbow"/><jointvel joint="wrist"/><tendonpos tendon="string"/><actuatorfrc actuator="muscle"/>
    <accelerometer site="tip"/><gyro site="tip"/><magnetometer site="tip"/><framepos objtype="site" objname="rotor"/>
    <subtreecom body="upper"/><jointlimitpos joint="reach"/><framequat objtype="camera" objname="eye"/>
    <camprojection camera="fixed" site="tip"/><insidesite site="tip" objtype="body" objname="hand"/>
    <framepos objtype="camera" objname="eye"/><tendonlimitfrc tendon="pull"/>
    <jointpos joint="wrist" nsample="4" delay="0.008"/><jointvel joint="elbow" nsample="4" interval="0.012"/>
    <framepos objtype="geom" objname="hand"/><actuatorpos actuator="crank"/>
  </sensor>
</mujoco>
"""
TOUCHING = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.003" cone="{cone}" {more}/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" solref=".03 1"/>
    <body name="sled" pos="0 0 .099"><freejoint/><geom name="sled" type="box" size=".2 .1 .1"/>
      <site name="pad" type="box" size=".18 .09 .2"/></body>
    <body name="near" pos="0 2 .109"><freejoint/><geom name="near" size=".1"/></body>
    <body name="ball" pos="0 1 .098"><freejoint/><geom name="ball" size=".1" condim="6" priority="1"/></body>
    <body name="held" pos="1 0 .5"><joint name="h" axis="0 1 0" limited="true" range="-.1 -.002"/>
      <joint name="v" type="slide" axis="0 0 1" frictionloss="20"/>
      <geom name="held" type="capsule" size=".05 .1" pos=".1 0 0"/><site name="held" pos=".2 0 0"/></body>
    <body name="tied" pos="2 0 .5"><freejoint/><geom name="tied" type="capsule" size=".05 .1"/></body>
    <body name="hung" pos="3 0 .5"><freejoint/><geom name="hung" type="ellipsoid" size=".05 .1 .07"/></body>
    <body name="stuck" pos="0 3 .098"><freejoint/><geom name="stuck" size=".1" contype="0" conaffinity="0"/></body>
    <body name="hover" pos="0 4 .118"><freejoint/><geom name="hover" size=".1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <contact><pair geom1="floor" geom2="stuck" adhesion=".5" gap=".001" margin=".001"/>
    <pair geom1="floor" geom2="hover" gap=".01"/></contact>
  <equality><connect body1="tied" body2="held" anchor="0 0 .1"/><weld body1="hung" body2="tied"/></equality>
  <tendon><fixed name="t" limited="true" range=".002 .1" frictionloss="20"><joint joint="v" coef="1"/></fixed></tendon>
  <sensor><rangefinder site="held"/><touch site="held"/><touch site="pad"/></sensor>
</mujoco>
"""
MODELS = {
    "implicitfast": SMOOTH.format(integrator="implicitfast"),
    "Euler": SMOOTH.format(integrator="Euler"),
    "RK4": SMOOTH.format(integrator="RK4"),
    "pyramids": TOUCHING.format(cone="pyramidal", more=""),
    "cones": TOUCHING.format(cone="elliptic", more='noslip_iterations="3"'),
}
COMPARED = ("qpos", "qvel", "act", "sensordata", "qacc", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir",
            "geom_xpos", "site_xpos", "ten_length", "actuator_force", "efc_force", "site_xmat", "ncon")  # fmt: skip

VALUES = {
    "solimp": [0.8, 0.93, 0.01, 0.4, 3.0],
    "solref": [0.035, 0.8],
    "range": lambda old, rng: old + np.array([0.004, -0.003]),
    "margin": lambda old, rng: old + 0.03,
    "gap": lambda old, rng: old + 0.01,
    "quat": lambda old, rng: _unit(old + rng.uniform(-0.1, 0.1, old.shape)),
    "axis": lambda old, rng: _unit(old + rng.uniform(-0.1, 0.1, old.shape)),
    "dir": lambda old, rng: _unit(old + rng.uniform(-0.1, 0.1, old.shape)),
    "dir0": lambda old, rng: _unit(old + rng.uniform(-0.1, 0.1, old.shape)),
    "qpos0": lambda old, rng: _turned(old, rng),
    "qpos_spring": lambda old, rng: _turned(old, rng),
    "gear": lambda old, rng: old * rng.uniform(1.1, 1.5, old.shape),
    "wrap_prm": lambda old, rng: old * rng.uniform(1.1, 1.3, old.shape),
    "timestep": 0.0025,
    "noslip_tolerance": 1e3,
    "tolerance": 1e-5,
    "ls_tolerance": 0.9,
    "impratio": 3.0,
    "lengthrange": lambda old, rng: old + np.array([0.1, 0.3]),
    "delay": 0.004,
    "interval": [0.008, 0.0],
    "cutoff": 0.001,
    "pos": lambda old, rng: old + rng.uniform(-0.02, 0.02, old.shape),
    "pos0": lambda old, rng: old + rng.uniform(-0.02, 0.02, old.shape),
    "poscom0": lambda old, rng: old + rng.uniform(-0.02, 0.02, old.shape),
    "ipos": lambda old, rng: old + rng.uniform(-0.02, 0.02, old.shape),
    "mat0": lambda old, rng: np.roll(old.reshape(-1, 3, 3), 1, axis=2).reshape(old.shape),
    "body_inertia": lambda old, rng: old * 1.3,
    "geom_size": lambda old, rng: old * 1.04,
    "dynprm": lambda old, rng: old * 1.3,
    "lengthspring": lambda old, rng: old * 0.9,
    "geom_solmix": lambda old, rng: np.linspace(0.2, 3.0, len(old)),
    "geom_surfacevel": lambda old, rng: rng.uniform(0.1, 0.5, old.shape),
    "tendon_armature": lambda old, rng: np.array([0.2, 0.3, 0.0])[: len(old)],  # MuJoCo has none for wound ones
    "body_subtreemass": lambda old, rng: old,
    "fluid": lambda old, rng: old,
}
"""New values: by the whole name, or its last word; otherwise 0 becomes something, and the rest grows."""

WITHOUT_EFFECT = {
    "sensor_noise": "MuJoCo adds no noise",
    "geom_fluid": "drags only where density or viscosity is set: tests of the fluid",
    "dof_M0": "of a body whose mass matrix is not computed; here all are",
    "body_subtreemass": "is written with body_mass, which it follows from",
    "actuator_length0": "kept for users: nothing reads it",
    "tendon_length0": "kept for users: nothing reads it",
    "plugin_value": "plugins have tests of their own",
    "jnt_springyield": "needs a spring that was compiled to yield",
    "tendon_springyield": "needs a spring that was compiled to yield",
    "actuator_delay": "needs an actuator with a history",
    "jnt_actfrcrange": "needs a joint whose actuator force is limited",
    "tendon_actfrcrange": "needs a tendon whose actuator force is limited",
    "ls_tolerance": "a line search that ends sooner lands where the other does, here",
    "meaninertia": "kept for users: nothing reads it",
    "sleep_tolerance": "trees sleep only with the flag: tests of sleep",
    "dof_length": "scales the speed at which trees sleep: tests of sleep",
    "flex_number": "packed numbers of flexes, which have tests of their own",
    "flex_edgenumber": "packed numbers of flexes, which have tests of their own",
    "flex_pairnumber": "packed numbers of flexes, which have tests of their own",
    "flex_elastic": "packed numbers of flexes, which have tests of their own",
    "flex_supportplace": "packed numbers of flexes, which have tests of their own",
    "cam_intrinsic": "needs a camera with a sensor size",
    "wind": "blows only where density or viscosity is set: tests of the fluid",
}
"""Parameters that change nothing in these models, in MuJoCo either, and why."""


def _unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def _turned(qpos, rng):
    """Coordinates a little off, quaternions left as they are."""
    new = qpos + rng.uniform(0.01, 0.05, qpos.shape)
    for k in range(len(qpos) - 3):
        if np.array_equal(qpos[k : k + 4], [1, 0, 0, 0]):
            new[k : k + 4] = qpos[k : k + 4]
    return new


def new_value(name: str, old: np.ndarray) -> np.ndarray:
    """A value other than the compiled one."""
    rng = np.random.default_rng(len(name))
    how = VALUES.get(name, VALUES.get(name.rpartition("_")[2], VALUES.get(name.split("_")[1] if "_" in name else "")))
    if callable(how):
        return how(old, rng)
    if how is not None:
        return np.broadcast_to(np.asarray(how, dtype=float), old.shape)
    return np.where(old == 0.0, rng.uniform(0.1, 0.5, old.shape), old * rng.uniform(1.1, 1.4, old.shape))


def carried(m, mass: np.ndarray) -> np.ndarray:
    """Masses of subtrees."""
    total = np.array(mass)
    for body in range(m.nbody - 1, 0, -1):
        total[m.body_parentid[body]] += total[body]
    return total


def oracle(xml: str) -> mujoco.MjModel:
    """MuJoCo's model without its shortcuts for numbers that were compiled to be special."""
    spec = mujoco.MjSpec.from_string(xml.replace("<body ", '<body simple="false" '))
    plain = spec.compile()
    for body in spec.bodies:
        body.gravcomp = 1.0
    for geom in spec.geoms:
        geom.surfacevel[:] = 1.0
    m = spec.compile()
    m.body_gravcomp[:], m.geom_surfacevel[:] = plain.body_gravcomp, plain.geom_surfacevel
    for name in ("body_sameframe", "geom_sameframe", "site_sameframe"):
        getattr(m, name)[:] = 0
    m.jnt_actuatorid[:], m.tendon_actuatorid[:] = -2, -2  # any actuator may add damping and armature
    return m


def owner_of(m, name: str):
    return m.opt if hasattr(m.opt, name) else m.stat if hasattr(m.stat, name) else m


def put(m, name: str, value: np.ndarray) -> None:
    owner = owner_of(m, name)
    if np.ndim(getattr(owner, name)):
        getattr(owner, name)[...] = value
    else:
        setattr(owner, name, float(value))


def start_of(m) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    qvel = 0.3 * rng.normal(size=m.nv)
    return {"qvel": qvel, "ctrl": rng.uniform(0.1, 0.6, m.nu), "act": rng.uniform(0.1, 0.3, m.na)}


def judged(m, steps: int = 3) -> dict[str, np.ndarray]:
    d = mujoco.MjData(m)
    for name, value in start_of(m).items():
        getattr(d, name)[:] = value
    mujoco.mj_step(m, d, nstep=steps)
    mujoco.mj_forward(m, d)
    return {name: np.array(getattr(d, name), dtype=float).ravel() for name in COMPARED}


def ours(engine, m, steps: int = 3) -> dict[str, np.ndarray]:
    engine.reset()
    for name, value in start_of(m).items():
        if len(value):
            engine.write(name, value)
    engine.step(steps)
    engine.forward()
    found = {name: np.asarray(engine.read(name)[1], dtype=float).ravel() for name in COMPARED}
    return found | {"efc_force": found["efc_force"][: int(engine.read("nefc")[1])]}


def difference(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """The largest difference of any number, relative to the largest of its field."""
    return max(
        (np.inf if one[n].shape != other[n].shape else np.abs(one[n] - other[n]).max() / max(1.0, np.abs(one[n]).max()))
        for n in COMPARED if one[n].size or other[n].size
    )  # fmt: skip


def parameters(engine) -> list[str]:
    return sorted(n for n in engine.layout.parameters if engine.is_parameter(n) and np.size(engine.layout.host(n)))


@pytest.fixture(scope="module")
def mattering():
    """Parameters that were seen to change something."""
    return set()


@pytest.mark.parametrize("which", MODELS)
def test_every_parameter(which, mattering):
    m = oracle(MODELS[which])
    before = judged(m)
    engine = StagedEngine(mujoco.MjModel.from_xml_string(MODELS[which]), nworld=2, device="cpu")
    assert difference(before, ours(engine, m)) < 1e-3
    wrong = {}
    for name in parameters(engine):
        old = np.array(engine.layout.host(name), dtype=float)
        value = new_value(name, old)
        written = {name: value}
        if name == "body_mass":
            written["body_subtreemass"] = carried(m, value)
        for which_one, number in written.items():
            put(m, which_one, number)
        expected = judged(m)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelsRebuilt)
            for which_one, number in written.items():
                engine.set_parameter(which_one, number)
        moved, off = difference(before, expected), difference(expected, ours(engine, m))
        if moved > 1e-5:
            mattering.add(name)
        if off > max(2e-3, 0.02 * min(moved, 1.0)) or np.isnan(off):
            wrong[name] = (off, moved)
        for which_one in written:
            put(m, which_one, np.array(engine.layout.host(which_one)))
            engine.set_parameter(which_one, engine.layout.host(which_one))
    assert not wrong, wrong
    assert difference(before, ours(engine, m)) < 1e-3, "put back, everything is as it was"


def test_every_parameter_matters_somewhere(mattering):
    """Otherwise the comparison above would not see it ignored."""
    engine = StagedEngine(mujoco.MjModel.from_xml_string("<mujoco/>"), device="cpu")
    known = {name for name in engine.layout.parameters if engine.is_parameter(name)}
    unseen, seen = known - mattering - set(WITHOUT_EFFECT), mattering & set(WITHOUT_EFFECT)
    assert not unseen and not seen, f"never mattered: {sorted(unseen)}; did matter: {sorted(seen)}"


def test_what_follows_from_others_is_refused_by_name():
    engine = StagedEngine(mujoco.MjModel.from_xml_string(MODELS["pyramids"]), device="cpu")
    for name, why in FIXED.items():
        with pytest.raises(UnknownKey, match=f"{name} cannot be written: {why}"):
            engine.set_parameter(name, 1.0)
    with pytest.raises(UnknownKey, match="did you mean 'body_mass'"):
        engine.set_parameter("body_mas", 1.0)
    with pytest.raises(UnknownKey, match="jnt_limited"):
        engine.set_parameter("jnt_limited", 1)


@pytest.mark.parametrize("which", MODELS)
def test_lists_made_of_the_model_read_no_parameter(which):
    """Otherwise they would have to follow it."""
    m = mujoco.MjModel.from_xml_string(MODELS[which])
    engine = StagedEngine(m, device="cpu")
    for name, make in DERIVED.items():
        present = Present(m)
        make(present.to(name))
        assert not present.read_by(name) & engine.layout.parameters - set(ALIASES), name


def test_a_write_names_what_it_woke():
    engine = StagedEngine(mujoco.MjModel.from_xml_string(MODELS["Euler"]), device="cpu")
    engine.step()
    before = {name: np.array(engine.read(name)) for name in ("qpos", "qvel", "sensordata", "efc_force", "xpos")}
    with pytest.warns(KernelsRebuilt, match="writing density woke fluid") as told:
        engine.set_parameter("density", 1000.0)
    assert told[0].filename == __file__
    for name, value in before.items():
        np.testing.assert_array_equal(engine.read(name), value, err_msg=name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.set_parameter("density", 0.0)  # what is awake stays
        engine.set_parameter("density", 10.0)
        engine.set_parameter("body_mass", engine.read("body_mass")[0])


def test_one_world_of_many_is_enough():
    """A number that is 0 in all worlds but one wakes its stage, and acts in that one only."""
    m = mujoco.MjModel.from_xml_string(MODELS["Euler"])
    engine = StagedEngine(m, nworld=2, device="cpu")
    engine.expand("dof_frictionloss")
    loss = np.zeros((2, m.nv))
    loss[1] = 0.3
    with pytest.warns(KernelsRebuilt, match="friction"):
        engine.set_parameter("dof_frictionloss", loss)
    found = ours(engine, m)
    still = np.array(engine.read("qvel")[0])
    m.dof_frictionloss[:] = 0.3
    assert difference(judged(m), found) < 1e-3
    m.dof_frictionloss[:] = 0.0
    d = mujoco.MjData(m)
    for name, value in start_of(m).items():
        getattr(d, name)[:] = value
    mujoco.mj_step(m, d, nstep=3)
    np.testing.assert_allclose(still, d.qvel, atol=1e-3)


def test_worlds_are_reset_to_their_own_coordinates():
    m = mujoco.MjModel.from_xml_string(MODELS["pyramids"])
    engine = StagedEngine(m, nworld=3, device="cpu")
    engine.expand("qpos0")
    rows = np.tile(m.qpos0, (3, 1))
    rows[:, 2] += [0.0, 1.0, 2.0]
    engine.set_parameter("qpos0", rows)
    engine.reset([1, 2])
    np.testing.assert_allclose(engine.read("qpos"), np.stack([m.qpos0, rows[1], rows[2]]), rtol=1e-6)


def test_switches_of_the_model():
    """A flag that is switched while running rebuilds the step, and switching it back too."""
    m = mujoco.MjModel.from_xml_string(MODELS["pyramids"])
    engine = StagedEngine(m, nworld=2, device="cpu")
    for flags in (int(mujoco.mjtDisableBit.mjDSBL_CONTACT), int(mujoco.mjtDisableBit.mjDSBL_EQUALITY), 0):
        m.opt.disableflags = flags
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelsRebuilt)
            engine.set_option("disableflags", flags)
        assert difference(judged(m), ours(engine, m)) < 1e-3


@pytest.mark.parametrize("name", ["body_ipos", "body_iquat"])
def test_a_model_that_was_changed_before_it_is_run(name):
    """As `mjcf.Physics` hands it over, and whoever edits an MjModel: what was compiled as simple is not any more."""
    m, given = oracle(MODELS["pyramids"]), mujoco.MjModel.from_xml_string(MODELS["pyramids"])
    before = judged(m)
    value = new_value(name, np.array(getattr(m, name)))
    put(m, name, value)
    put(given, name, value)
    expected = judged(m)
    assert difference(before, expected) > 0.01
    assert difference(expected, ours(StagedEngine(given, nworld=2, device="cpu"), m)) < 1e-3
