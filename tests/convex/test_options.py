"""Every option and flag of MJCF is obeyed or refused by name: the schema is walked, and there is no third way."""

import copy
import pathlib
import re

import mujoco
import numpy as np
import pytest

from kinema.bridge.mjc import MuJoCoEngine
from kinema.cli.oracle import STATE
from kinema.compile import compile_model
from kinema.convex.access import written
from kinema.convex.support import HERE, HONOURED, REFUSED
from kinema.errors import BuildError
from kinema.mjcf.schema import root
from kinema.mujoco_enums import Disable
from tests.conformance.staged import StagedEngine

ROOT = pathlib.Path(__file__).parents[2]

MODEL = """
<mujoco>
  <option {option}><flag {flag}/></option>
  <worldbody>
    <geom type="plane" size="3 3 .1"/>
    <body name="ball" pos="0 0 .099">
      <freejoint/>
      <geom size=".1" density="300" solref=".002 1" priority="1" friction="1 .05 .01" condim="{condim}"/>
    </body>
    <body name="second" pos="1 0 .098"><freejoint/><geom size=".1" mass="2"/></body>
    <body name="upper" pos="0 1 1">
      <joint name="a" axis="0 1 0" damping="0.4" stiffness="3" springref="20" frictionloss="0.3"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" mass="1"/>
      <body name="fore" pos=".3 0 0">
        <joint name="b" axis="0 1 0" range="-20 20" damping="0.2"/>
        <geom type="capsule" fromto="-.05 0 0 .3 0 .05" size=".06" mass="0.5"/>
        <site name="tip"/>
        <body pos=".3 0 0"><joint name="c" axis="0 0 1"/><geom size=".04" mass=".2" contype="0" conaffinity="0"/></body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="c" joint2="a" polycoef="0.1 0.5 0 0 0"/></equality>
  <actuator>
    <motor joint="a" ctrlrange="-1 1" gear="2" group="1"/>
    <position joint="b" kp="5" kv="0.6" group="2"/>
  </actuator>
  <sensor><magnetometer site="tip"/><jointpos joint="b"/></sensor>
</mujoco>
"""

SPRINGS_AND_DAMPERS = int(Disable.SPRING | Disable.DAMPER)
FEW, FEW_CG = 'iterations="1"', 'iterations="3" solver="CG"'
CASES = [
    ('timestep="0.001"', ""), ('impratio="5" cone="elliptic"', ""), ('gravity="1 0 -3"', ""),
    ('wind="3 0 1" density="20" viscosity="0.1"', ""), ('density="50"', ""), ('viscosity="0.5"', ""),
    ('magnetic="1 2 3"', ""), ('o_margin="0.02"', 'override="enable"'), ('o_solref="0.05 1.5"', 'override="enable"'),
    ('o_solimp="0.5 0.8 0.01"', 'override="enable"'), ('o_friction="0.1 0.2"', 'override="enable"'),
    (FEW, ""), ('tolerance="10"', ""), ('tolerance="100"', ""), ('tolerance="1000"', ""),
    (f'{FEW_CG} ls_iterations="3"', ""),
    (f'{FEW_CG} ls_tolerance="30"', ""), ('noslip_iterations="3"', ""),
    ('noslip_iterations="20" noslip_tolerance="0.5"', ""), ('actuatorgroupdisable="1"', ""),
    ('actuatorgroupdisable="0 2"', ""), ('integrator="Euler"', ""), ('integrator="RK4"', ""),
    ('integrator="implicit"', ""), ('integrator="implicitfast"', ""), ('integrator="discrete"', ""),
    (f'integrator="RK4" {FEW}', ""),
    ('cone="pyramidal"', ""), ('cone="elliptic"', ""), ('jacobian="dense"', ""), ('jacobian="sparse"', ""),
    ('jacobian="auto"', ""),
    ('solver="PGS"', ""), ('solver="CG"', ""), ('solver="Newton"', ""),
    *(("", f'{name}="disable"') for name in (
        "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
        "filterparent", "actuation", "refsafe", "sensor", "midphase", "eulerdamp",
    )),
    (FEW, 'warmstart="disable"'), (FEW, 'island="disable"'), ("", 'energy="enable"'),
]  # fmt: skip
"""What a document may ask for; the engine must then do what MuJoCo does."""

SAME = {"flag midphase", "jacobian=dense", "jacobian=sparse", "jacobian=auto", "integrator=Euler", "cone=pyramidal",
        "solver=Newton", "solver=CG", "solver=PGS", "flag island", "ls_tolerance"}  # fmt: skip
"""Where MuJoCo's answer need not differ from that of the defaults: they say the default, or how to get there."""


def state_of(m):
    d = mujoco.MjData(m)
    d.qpos[-3:] = [0.3, 0.5, 0.2]
    d.qvel[:] = np.linspace(-0.8, 0.9, m.nv)
    d.ctrl[:] = [2.5, 0.3]
    d.qacc_warmstart[:] = np.linspace(3, -2, m.nv)
    return d


def run(option, flag, condim=3):
    m = mujoco.MjModel.from_xml_string(MODEL.format(option=option, flag=flag, condim=condim))
    d = state_of(m)
    kept = {name: np.array(getattr(d, name)) for name in ("qpos", "qvel", "ctrl", "qacc_warmstart")}
    mujoco.mj_forward(m, d)
    forward = {name: np.array(getattr(d, name)) for name in ("qacc", "sensordata", "energy")}
    d = state_of(m)
    mujoco.mj_step(m, d, nstep=2)
    return m, kept, {**forward, "qpos": d.qpos.copy(), "qvel": d.qvel.copy()}


@pytest.mark.parametrize(("option", "flag"), CASES, ids=[f"{o} {f}".strip().replace('"', "") for o, f in CASES])
def test_it_does_what_mujoco_does(option, flag):
    follow_mujoco(option, flag)


@pytest.mark.parametrize("search", [1, 2, 3, 4])
@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_very_short_line_searches(iterations, search):
    """A search that is cut off may end higher than it began: that is no end of the iterations."""
    follow_mujoco(f'iterations="{iterations}" ls_iterations="{search}"', "")


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "discrete"])
def test_forward_dynamics_leaves_the_state_alone(integrator):
    """Also where the next solve starts: what is no part of moving on writes nothing of MuJoCo's integration state."""
    m = mujoco.MjModel.from_xml_string(MODEL.format(option=f'integrator="{integrator}"', flag="", condim=3))
    recipe = StagedEngine(m, 1, device="cpu").recipes["step"]
    assert not written([stage for stage in recipe if not stage.advances]) & set(STATE)
    assert {"qpos", "qvel", "qacc_warmstart", "time"} <= written(recipe)


def test_without_springs_and_dampers_nothing_is_passive():
    """Not gravity compensation, adhesion or a fluid either, each in its own field, whoever bears it."""
    text = MODEL.format(option='density="50"', flag="", condim=3)
    text = text.replace("<freejoint/><geom ", '<freejoint/><geom adhesion="2" ').replace('name="fore"', 'gravcomp=".7"')
    m = mujoco.MjModel.from_xml_string(text.replace('joint name="b"', 'joint name="b" actuatorgravcomp="true"'))
    d = state_of(m)
    names = [f"qfrc_{kind}" for kind in ("gravcomp", "fluid", "adhesion", "passive", "actuator")]
    for off in (0, SPRINGS_AND_DAMPERS):
        m.opt.disableflags = off
        engine = StagedEngine(m, 1, device="cpu")
        for name in ("qpos", "qvel", "ctrl"):
            engine.write(name, np.array(getattr(d, name)))
        other = copy.copy(d)
        mujoco.mj_forward(m, other)
        engine.forward()
        for name in names:
            theirs = getattr(other, name)
            assert np.any(theirs) == (off == 0 or name == "qfrc_actuator"), name
            np.testing.assert_allclose(engine.read(name)[0], theirs, atol=2e-5, err_msg=name)


def follow_mujoco(option, flag):
    m, kept, theirs = run(option, flag)
    host = compile_model(MODEL.format(option=option, flag=flag, condim=3))
    engine = StagedEngine(host, 1, device="cpu")
    for name, values in kept.items():
        engine.write(name, values)
    engine.forward()
    ours = {name: np.array(engine.read(name)[0]) for name in ("qacc", "sensordata")}
    if "energy" in flag:
        ours["energy"] = np.array(engine.read("energy")[0])
    for name, values in kept.items():
        engine.write(name, values)
    engine.step(2)
    ours |= {name: engine.read(name)[0] for name in ("qpos", "qvel")}
    for name, values in ours.items():
        scale = max(1.0, np.abs(theirs[name]).max())
        np.testing.assert_allclose(values, theirs[name], atol=2e-4 * scale, err_msg=name)


@pytest.mark.parametrize(("option", "flag"), CASES, ids=[f"{o} {f}".strip().replace('"', "") for o, f in CASES])
def test_it_has_an_effect(option, flag):
    """The model shows the option: MuJoCo's own answer is another one without it."""
    _, _, with_it = run(option, flag)
    if set(wished(option, flag)) - ({"iterations"} if option.startswith(FEW_CG) else set()) <= SAME:
        return
    common = next((c for c in (FEW, FEW_CG) if option.startswith(c) and (flag or option != c)), "")
    _, _, without = run(common, "")
    assert any(not np.allclose(with_it[name], without[name], atol=1e-5) for name in with_it)


def wished(option, flag):
    """What a case is about, as the tables spell it."""
    keywords = ("integrator", "cone", "jacobian", "solver")
    for name, value in re.findall(r'(\w+)="([^"]*)"', option):
        yield f"{name}={value}" if name in keywords else name
    for name in re.findall(r'(\w+)="', flag):
        yield f"flag {name}"


def walked() -> set[str]:
    """Everything the schema lets <option> and <flag> say."""
    option = root().children["option"]
    found = set()
    for name, attribute in option.attributes.items():
        found |= {f"{name}={word}" for word in attribute.keywords} or {name}
    return found | {f"flag {name}" for name in option.children["flag"].attributes}


def test_there_is_no_third_way():
    assert walked() == HONOURED.keys() | REFUSED.keys()
    assert not HONOURED.keys() & REFUSED.keys()


def test_what_is_honoured_is_tested():
    """Options honoured here have a case; those honoured elsewhere are named in that test."""
    here = {wish for case in CASES for wish in wished(*case)}
    for wish, where in HONOURED.items():
        if where == HERE:
            assert wish in here, wish
        for file in re.findall(r"tests/\S+\.py", where):
            assert (ROOT / file).is_file(), file
            if where == file and file != HERE:
                assert wish.removeprefix("flag ") in (ROOT / file).read_text().lower(), (wish, file)


@pytest.mark.parametrize("wish", sorted(REFUSED))
def test_what_is_refused_says_its_name(wish):
    kind, _, rest = wish.partition(" ")
    option, flag = ("", f'{rest}="enable"') if kind == "flag" else ('{}="{}"'.format(*wish.split("=")), "")
    if wish == "flag ipc":
        option = 'integrator="discrete"'
    host = compile_model(MODEL.format(option=option, flag=flag, condim=3))
    with pytest.raises(BuildError, match=r'(<flag|option) \w+="\w+"/?>? is not simulated: ') as error:
        StagedEngine(host, 1, device="cpu")
    assert rest in str(error.value)


def test_the_page_names_what_is_refused():
    page = (ROOT / "docs" / "from-mujoco.md").read_text()
    for wish in REFUSED:
        assert f"| flag `{wish.removeprefix('flag ')}` |" in page, wish
    for attribute in ("scale", "massscale"):
        assert f"`{attribute}" in page, attribute


def test_mujoco_may_be_asked_instead():
    """The bridge runs what is refused here."""
    model = compile_model(MODEL.format(option='integrator="discrete"', flag='ipc="enable"', condim=3))
    engine = MuJoCoEngine(model, 1, device="cpu")
    engine.step()
    assert engine.read("time")[0] == pytest.approx(model.opt.timestep)
    assert np.abs(engine.read("qvel")).max() > 0
