"""<tendon> against MuJoCo: every attribute, default classes, paths, and what is refused."""

import mujoco
import pytest

from kinema.compile.tendon import compile_tendon
from kinema.errors import CompileError
from tests.compile.sections import WORLD, assert_refused, differences, document, prepare, run

DERIVED = (
    "tendon_length0", "tendon_invweight0", "tendon_treenum", "tendon_treeid", "tendon_actuatorid",
    "tendon_lengthspring",
)  # fmt: skip

GOOD = {
    "fixed": '<fixed name="t"><joint joint="hinge" coef="2"/><joint joint="slide" coef="-.5"/></fixed>',
    "spatial": '<spatial><site site="s0"/><site site="s1"/><site site="s2"/></spatial>',
    "wrap": """<spatial><site site="s1"/><geom geom="ball" sidesite="s2"/><site site="s2"/><geom geom="tube"/>
               <site site="s3"/></spatial>""",
    "pulley": """<spatial><site site="s0"/><site site="s1"/><pulley divisor="2"/><site site="s1"/><site site="s2"/>
                 <pulley divisor="4"/><site site="s2"/><site site="s3"/></spatial>""",
    "limits": """<spatial range="1 2" margin=".1" solreflimit=".1" solimplimit=".8 .9"><site site="s0"/>
                 <site site="s1"/></spatial><spatial range="2 1"><site site="s0"/><site site="s1"/></spatial>
                 <spatial limited="false" range="1 2"><site site="s0"/><site site="s1"/></spatial>""",
    "forces": """<fixed stiffness="1 2 3" damping="4 5" frictionloss=".5" armature=".2" solreffriction=".3 .4"
                 solimpfriction=".7" actuatorfrcrange="-3 4" springyield=".1"><joint joint="hinge" coef="1"/></fixed>
                 <fixed actuatorfrclimited="false" actuatorfrcrange="-3 4" springyield=".1">
                 <joint joint="hinge" coef="1"/></fixed>""",
    "looks": """<spatial width=".01" rgba="1 0 .5 1" group="3" material="red" user="1 2"><site site="s0"/>
                <site site="s1"/></spatial><fixed group="2"><joint joint="slide" coef="1"/></fixed>""",
    "springlength": """<spatial springlength=".3"><site site="s0"/><site site="s1"/></spatial>
                       <spatial springlength=".3 .4"><site site="s0"/><site site="s1"/></spatial>
                       <spatial class="stiff" springlength=".7"><site site="s0"/><site site="s1"/></spatial>
                       <spatial class="stiff"><site site="s0"/><site site="s1"/></spatial>""",
    "classes": """<fixed class="stiff"><joint joint="hinge" coef="1"/></fixed>
                  <spatial class="stiff" stiffness="9"><site site="s0"/><site site="s1"/></spatial>
                  <spatial class="inner"><site site="s0"/><site site="s1"/></spatial>""",
}  # fmt: skip
BEFORE = """<asset><material name="red" rgba="1 0 0 1"/></asset>
<default><tendon width=".02" rgba="0 1 0 1" group="1"/>
  <default class="stiff"><tendon stiffness="3 1 2" damping="1" springlength=".1 .2" material="red" range="0 1"
    actuatorfrcrange="-1 1" armature=".4" margin=".3" user="7"/>
    <default class="inner"><tendon stiffness="5" limited="false" solreflimit=".5"/></default></default></default>"""


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    c, m = run(document(f"<tendon>{GOOD[name]}</tendon>", before=BEFORE), [compile_tendon])
    assert m.ntendon > 0
    assert differences(c, m, ("tendon_", "wrap_"), DERIVED) == []
    assert c.sizes["nwrap"] == m.nwrap and c.sizes["nplastic"] == m.nplastic
    assert c.sizes["nuser_tendon"] == m.nuser_tendon


def test_spring_length_waits_for_the_constants():
    c, m = run(document(f"<tendon>{GOOD['springlength']}{GOOD['spatial']}</tendon>", before=BEFORE), [compile_tendon])
    ours = c.arrays["tendon_lengthspring"]
    assert (ours[:-1] == m.tendon_lengthspring[:-1]).all()
    assert ours[-1].tolist() == [-1, -1]


BAD = [
    "<fixed/>",
    '<fixed><joint joint="nope" coef="1"/></fixed>',
    '<fixed><joint joint="hinge"/></fixed>',
    '<fixed><joint joint="ballj" coef="1"/></fixed>',
    '<fixed><joint joint="free" coef="1"/></fixed>',
    '<fixed><joint joint="hinge" coef="1"/><joint joint="hinge" coef="2"/></fixed>',
    '<fixed armature="-1"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed limited="true"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed springlength="2 1"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed springlength="1 2 3"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed springyield="-1"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed actuatorfrcrange="1 2"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed range="1"><joint joint="hinge" coef="1"/></fixed>',
    '<fixed limited="maybe"><joint joint="hinge" coef="1"/></fixed>',
    '<spatial><site site="s0"/></spatial>',
    '<spatial><site site="nope"/><site site="s0"/></spatial>',
    '<spatial width="0"><site site="s0"/><site site="s1"/></spatial>',
    '<spatial><site site="s0"/><geom geom="box"/><site site="s1"/></spatial>',
    '<spatial><site site="s0"/><geom geom="ball" sidesite="nope"/><site site="s1"/></spatial>',
    '<spatial><site site="s0"/><geom geom="ball"/></spatial>',
    '<spatial armature="1"><site site="s0"/><geom geom="ball"/><site site="s1"/></spatial>',
    '<spatial><site site="s0"/><site site="s1"/><pulley divisor="0"/><site site="s1"/><site site="s2"/></spatial>',
    '<spatial><site site="s0"/><site site="s1"/><pulley/><site site="s1"/><site site="s2"/></spatial>',
    '<spatial><site site="s0"/><site site="s1"/><pulley divisor="1"/></spatial>',
    '<spatial><site site="s0"/><site site="s1"/><pulley divisor="1"/><pulley divisor="1"/><site site="s1"/></spatial>',
    '<spatial><site site="s0"/><pulley divisor="1"/><site site="s1"/><site site="s2"/></spatial>',
    '<spatial><site site="s0"/><site site="s0"/></spatial>',
    '<spatial material="nope"><site site="s0"/><site site="s1"/></spatial>',
    '<spatial class="nope"><site site="s0"/><site site="s1"/></spatial>',
    '<spatial name="twice"><site site="s0"/><site site="s1"/></spatial>'
    '<spatial name="twice"><site site="s0"/><site site="s1"/></spatial>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    assert_refused("tendon", snippet, [compile_tendon], before=BEFORE)


def test_autolimits_off_needs_limited():
    section = '<tendon><fixed range="0 1"><joint joint="hinge" coef="1"/></fixed></tendon>'
    world = WORLD.replace("range=", "limited='true' range=")
    xml = document(section, before='<compiler autolimits="false"/>', world=world)
    with pytest.raises(ValueError, match="limited"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(CompileError, match="limited"):
        compile_tendon(prepare(xml, mujoco.MjModel.from_xml_string(document(""))))
