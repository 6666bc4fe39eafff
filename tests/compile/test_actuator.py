"""<actuator> against MuJoCo: every shortcut and attribute, every route through default classes, and what is refused."""

import itertools

import mujoco
import numpy as np
import pytest

from kinema.compile.actuator import compile_actuator
from kinema.compile.constants import derived_constants
from kinema.compile.plugin import compile_plugin
from kinema.compile.tendon import compile_tendon
from tests.compile.sections import assert_refused, differences, document, prepare, run

TENDON = """<tendon><fixed name="t" range="0 2"><joint joint="hinge" coef="1"/></fixed>
  <spatial name="w"><site site="s0"/><geom geom="ball" sidesite="s1"/><site site="s3"/></spatial></tendon>"""
STAGES = [compile_tendon, compile_actuator]
LATER = ("actuator_acc0", "actuator_length0")
COMMON = 'name="m" group="2" nsample="3" interp="linear" delay=".01" ctrlrange="-1 2" user="1 2 3"'
DRIVE = 'gear="2 3" damping=".1 .2 .3" armature=".4" lengthrange="-1 1"'

GOOD = {
    "general": f"""<general {COMMON} {DRIVE} joint="hinge" dyntype="filter" gaintype="affine" biastype="affine"
        dynprm="2 3" gainprm="4 5 6" biasprm="7 8" actrange="-2 2" actearly="true" forcerange="-3 3" input="vel"/>""",
    "user": '<general joint="hinge" dyntype="user" gaintype="user" biastype="user" actdim="3"/>',
    "motor": f"""<motor {COMMON} {DRIVE} joint="hinge" forcerange="-1 1"/>
        <motor joint="slide" ctrllimited="false" ctrlrange="0 1"/>""",
    "position": f"""<position {COMMON} {DRIVE} joint="hinge" kp="3" kv=".5" timeconst=".1"/><position joint="slide"/>
        <position joint="hinge" inheritrange=".8"/><position tendon="t" inheritrange="1.2" timeconst="0"/>""",
    "velocity": f'<velocity {COMMON} {DRIVE} joint="hinge" kv="3"/>',
    "intvelocity": f"""<intvelocity {COMMON} {DRIVE} joint="hinge" kp="3" kv="2" actrange="-1 1"/>
        <intvelocity joint="slide" inheritrange="1"/>""",
    "damper": f'<damper {COMMON.replace("-1 2", "0 2")} {DRIVE} joint="hinge" kv="3"/>',
    "cylinder": f"""<cylinder {COMMON} {DRIVE} joint="hinge" timeconst=".3" area="2" bias="1 2 3"/>
        <cylinder joint="slide" diameter="2"/>""",
    "muscle": f"""<muscle {COMMON} {DRIVE} tendon="t" timeconst=".02 .05" tausmooth=".1" range=".6 1.1" force="10"/>
        <muscle joint="hinge" lengthrange="0 1" scale="100" lmin=".4" lmax="1.7" vmax="2" fpmax="1.5" fvmax="1.4"/>""",
    "adhesion": '<adhesion body="a" ctrlrange="0 1" gain="3" forcerange="0 2"/>',
    "pid": f"""<pid {COMMON} {DRIVE} joint="hinge" kp="3" kv="1" ki="2" imax="4" slewmax="5" input="pos vel ff"
        velrange="-2 2" ffrange="-3 3"/><pid joint="slide" posrange="0 1"/><pid joint="slide" input="vel"/>
        <pid joint="hinge" inheritrange="1"/>""",
    "orientation": """<orientation joint="ballj" kp="3" kv="1" forcerange="0 4" ctrlrange="-1 1"/>
        <orientation site="s3" refsite="s0" input="quat" nsample="2"/>
        <general joint="ballj" gaintype="so3" biastype="so3" biasprm="0 -1" dyntype="integrator"/>""",
    "dcmotor": f"""<dcmotor {COMMON} {DRIVE} joint="hinge" motorconst=".1 .2" resistance="2"/>
        <dcmotor joint="slide" nominal="12 3 40" saturation="0 2 3" inductance=".1" cogging="1 2 3" lugre="1 2 3 4 5"
          thermal="1 2 0 4 5 6" controller="1 2 3 4 5 6" input="pos vel ff voltage"/>
        <dcmotor joint="slide" motorconst="0" resistance="1" input="none"/>
        <dcmotor joint="slide" nominal="12 3 40" damping=".01"/>
        <dcmotor joint="slide" nominal="12 0 40" damping=".1" resistance="1"/>""",
    "transmissions": """<motor jointinparent="ballj"/><motor site="s1" gear="1 2 3 4 5 6"/>
        <motor site="s3" refsite="s0"/><motor cranksite="s2" slidersite="s0" cranklength="3"/>
        <motor tendon="w"/><motor joint="free"/>
        <general body="a"/>""",
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    c, m = run(document(f"{TENDON}<actuator>{GOOD[name]}</actuator>"), STAGES)
    assert m.nactuator > 0
    assert differences(c, m, ("actuator_",), LATER) == []
    for size in ("nu", "nout", "na", "nhistory", "nuser_actuator"):
        assert c.sizes[size] == getattr(m, size), size


# one default and one element of each kind: parameters travel between the same shortcuts and from <general> only
KINDS = {
    "general": 'gainprm="5 6 7" biasprm="1 2 -3" dynprm="8 9" biastype="affine" dyntype="filter" gear="3"',
    "general position": 'gainprm="5" biasprm="0 -5 -1" biastype="affine" input="pos" inheritrange=".5"',
    "general affine": 'gaintype="affine" gainprm="0 0 -4" ctrlrange="0 1" actearly="true"',
    "general muscle": 'gaintype="muscle" biastype="muscle" dyntype="muscle" gainprm=".5 1.1 3 100 .4 1.7 2 1.4 1.1"',
    "general pid": 'gaintype="pid" biastype="affine" gainprm="0" biasprm="0 -3 -1" input="pos"',
    "motor": 'gear="2" ctrlrange="-1 1"',
    "position": 'kp="3" kv="2" timeconst=".1" forcerange="-1 1"',
    "velocity": 'kv="4" group="3"',
    "intvelocity": 'kp="6" kv="1" nsample="2"',
    "damper": 'kv="2" ctrlrange="0 3"',
    "cylinder": 'timeconst=".2" area="4" bias="1 2 3"',
    "muscle": 'timeconst=".02 .03" force="7" scale="50"',
    "adhesion": 'gain="5" ctrlrange="0 1"',
    "pid": 'kp="7" ki="2" imax="3" velrange="-1 1" input="pos vel"',
    "orientation": 'kp="8" kv="1" input="quat"',
    "dcmotor": 'motorconst=".1" resistance="2" inductance=".3" saturation="4"',
}
TARGET = {
    "orientation": 'joint="ballj"',
    "adhesion": 'body="a" ctrlrange="0 1"',
    "damper": 'joint="hinge" ctrlrange="0 1"',
    "muscle": 'joint="hinge" lengthrange="0 1"',
    "general": 'joint="hinge" lengthrange="0 1"',
    "dcmotor": 'joint="hinge" motorconst=".3" resistance="1"',
}


@pytest.mark.parametrize("inner", KINDS)
def test_default_classes(inner):
    """Outer class, inner class and element of every combination of shortcuts: both agree or both refuse."""
    compared = 0
    base = mujoco.MjModel.from_xml_string(document(""))
    for outer, element in itertools.product(("general", "position", "muscle", "pid", "dcmotor"), TARGET | KINDS):
        tag = element.split()[0]
        defaults = "<default>{}<default class='x'>{}</default></default>".format(
            *(f"<{kind.split()[0]} {KINDS[kind]}/>" for kind in (outer, inner))
        )
        target = TARGET.get(tag, 'joint="hinge"')
        xml = document(f'{TENDON}<actuator><{tag} class="x" {target}/></actuator>', before=defaults)
        try:
            m = mujoco.MjModel.from_xml_string(xml)
        except ValueError:
            with pytest.raises(ValueError):
                c = prepare(xml, base)
                compile_tendon(c)
                compile_actuator(c)
            continue
        c = prepare(xml, m)
        compile_tendon(c)
        compile_actuator(c)
        assert differences(c, m, ("actuator_",), LATER) == [], xml[xml.index("<default") :]
        compared += 1
    assert compared > 20


@pytest.mark.parametrize("actuator", [
    '<position joint="hinge" kp="3" dampratio=".7" armature="2" gear="2"/>',
    '<position tendon="w" kp="5" dampratio=".7"/>',
    '<position site="s3" refsite="s0" gear="1 0 0 0 .5 0" kp="2" dampratio=".7"/>',
    '<orientation site="s3" refsite="s0" kp="4" dampratio=".7"/>',
    '<pid joint="slide" kp="4" dampratio=".7"/>',
    '<intvelocity joint="hinge" kp="4" dampratio=".7"/>',
    '<position cranksite="s2" slidersite="s0" cranklength="3" kp="4" dampratio=".7"/>',
    '<position joint="ballj" gear="1 2 0" kp="4" dampratio=".7"/>',
    '<position site="s0" gear="1" kp="4" dampratio=".7"/>',
])  # fmt: skip
def test_damping_ratio_and_lengths(actuator):
    c, m = run(document(f"{TENDON}<actuator>{actuator}</actuator>"), STAGES)
    assert c.arrays["actuator_biasprm"][0, 2] == 0.7
    m2 = mujoco.MjModel.from_xml_string(document(f"{TENDON}<actuator>{actuator}</actuator>"))
    m2.actuator_biasprm[:] = c.arrays["actuator_biasprm"]
    found = derived_constants(m2)
    for name in ("actuator_biasprm", "actuator_length0", "actuator_acc0"):
        np.testing.assert_allclose(found[name], getattr(m, name), rtol=1e-9, atol=1e-12, err_msg=name)


BAD = [
    "<motor/>",
    '<motor joint="nope"/>',
    '<motor tendon="nope"/>',
    '<motor body="a"/>'.replace("motor", "adhesion"),
    '<motor joint="hinge" refsite="s0"/>',
    '<motor joint="hinge" cranklength="1"/>',
    '<motor cranksite="s0"/>',
    '<motor cranksite="s0" slidersite="s1"/>',
    '<motor cranksite="s0" slidersite="nope" cranklength="1"/>',
    '<motor site="s0" damping="1"/>',
    '<motor site="s0" armature="1"/>',
    '<motor tendon="w" armature="1"/>',
    '<motor joint="hinge" ctrllimited="true"/>',
    '<motor joint="hinge" forcelimited="true" forcerange="1 0"/>',
    '<motor joint="hinge" gear="1 2 3 4 5 6 7"/>',
    '<motor joint="hinge" delay="1"/>',
    '<motor joint="hinge" nsample="16777217"/>',
    '<motor joint="hinge" class="nope"/>',
    '<motor name="m" joint="hinge"/><motor name="m" joint="hinge"/>',
    '<general joint="hinge" actrange="0 1"/>',
    '<general joint="hinge" actdim="1"/>',
    '<general joint="hinge" dyntype="filter" actdim="2"/>',
    '<general joint="hinge" dyntype="filter" actdim="0"/>',
    '<general joint="hinge" dyntype="nope"/>',
    '<general joint="hinge" dyntype="pid"/>',
    '<general joint="hinge" gaintype="so3"/>',
    '<general joint="hinge" input="ff"/>',
    '<general joint="hinge" gaintype="muscle"/>',
    '<general joint="hinge" dyntype="dcmotor"/>',
    '<position joint="hinge" kv="1" dampratio="1"/>',
    '<position joint="hinge" kv="-1"/>',
    '<position joint="hinge" dampratio="-1"/>',
    '<position joint="hinge" timeconst="-1"/>',
    '<position joint="hinge" inheritrange="1" ctrlrange="0 1"/>',
    '<position joint="ballj" inheritrange="1"/>',
    '<position tendon="w" inheritrange="1"/>',
    '<position site="s0" inheritrange="1"/>',
    '<intvelocity joint="hinge" inheritrange="1" actrange="0 1"/>',
    '<damper joint="hinge"/>',
    '<damper joint="hinge" kv="-1" ctrlrange="0 1"/>',
    '<damper joint="hinge" ctrlrange="-1 1"/>',
    '<adhesion body="a" ctrlrange="-1 1"/>',
    '<adhesion body="a" gain="-1" ctrlrange="0 1"/>',
    '<muscle joint="hinge" lengthrange="0 1" range="2 1"/>',
    '<muscle joint="hinge" lengthrange="0 1" lmin="2"/>',
    '<muscle joint="hinge" lengthrange="0 1" vmax="0"/>',
    '<muscle joint="hinge" lengthrange="0 1" tausmooth="-1"/>',
    '<pid joint="hinge" slewmax="-1"/>',
    '<pid joint="hinge" input="vel pos"/>',
    '<pid joint="hinge" input="vel" ki="1"/>',
    '<orientation joint="hinge"/>',
    '<orientation site="s0"/>',
    '<orientation joint="ballj" forcerange="-1 1"/>',
    '<dcmotor joint="hinge"/>',
    '<dcmotor joint="hinge" motorconst="1"/>',
    '<dcmotor joint="hinge" motorconst="-1 2" resistance="1"/>',
    '<dcmotor joint="hinge" motorconst="1" resistance="1" inductance="-1"/>',
    '<dcmotor joint="hinge" motorconst="1" resistance="1" controller="1"/>',
    '<dcmotor joint="hinge" motorconst="1" resistance="1" thermal="1"/>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    assert_refused("actuator", snippet, STAGES, sections=TENDON)


@pytest.mark.parametrize(("config", "attributes", "good"), [
    ("", "", True), ("ki", "", False), ("ki", 'actdim="1"', True), ("ki slewmax", 'actdim="2"', True),
    ("ki", 'dyntype="filter" actdim="2"', True), ("ki", 'dyntype="filter"', False), ("", 'dyntype="integrator"', True),
])  # fmt: skip
def test_plugin_activations(config, attributes, good):
    keys = "".join(f'<config key="{key}" value="1"/>' for key in config.split())
    xml = document(f"""<extension><plugin plugin="mujoco.pid"/></extension>
      <actuator><plugin plugin="mujoco.pid" joint="hinge" {attributes}>{keys}</plugin></actuator>""")
    stages = [compile_plugin, *STAGES]
    if good:
        c, m = run(xml, stages)
        assert differences(c, m, ("actuator_",), LATER) == []
        return
    with pytest.raises(ValueError, match="actdim"):
        mujoco.MjModel.from_xml_string(xml)
    c = prepare(xml, mujoco.MjModel.from_xml_string(document("")))
    with pytest.raises(ValueError, match="actdim"):
        for stage in stages:
            stage(c)
