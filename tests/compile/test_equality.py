"""<equality> against MuJoCo: every type and attribute, default classes, and what is refused."""

import mujoco
import pytest

from kinema.compile.constants import derived_constants
from kinema.compile.constants.frames import equality_data
from kinema.compile.constants.kinematics import forward_kinematics
from kinema.compile.constants.tree import Tree
from kinema.compile.equality import compile_equality
from kinema.compile.tendon import compile_tendon
from tests.compile.sections import assert_refused, differences, document, run

BEFORE = """<default><equality solref=".1"/>
  <default class="soft"><equality solref=".2 .9" solimp=".5 .6" active="false"/>
    <default class="softer"><equality solimp=".3"/></default></default></default>"""
TENDON = """<tendon><fixed name="t"><joint joint="hinge" coef="1"/></fixed>
  <fixed name="u"><joint joint="slide" coef="1"/></fixed></tendon>"""

GOOD = {
    "connect": '<connect name="e" body1="c" body2="loose" anchor=".1 .2 .3"/><connect body1="b" anchor="0 0 1"/>',
    "connect sites": '<connect site1="s2" site2="s4"/>',
    "weld": '<weld body1="c" body2="loose" anchor=".1 .2 .3" torquescale="2"/><weld body1="b"/>',
    "weld pose": '<weld body1="c" relpose="1 2 3 0 1 2 0"/><weld body1="c" relpose="1 2 3 0 0 0 0"/>',
    "weld sites": '<weld site1="s2" site2="s4" torquescale=".5"/><weld site1="s1" site2="s4"/>',
    "joint": '<joint joint1="hinge"/><joint joint1="hinge" joint2="slide" polycoef="1 2 3"/>',
    "tendon": '<tendon tendon1="t"/><tendon tendon1="t" tendon2="u" polycoef="1 2 3 4 5"/>',
    "classes": """<weld class="soft" body1="c"/><weld class="soft" body1="c" active="true" solref=".7"/>
                  <joint class="softer" joint1="hinge"/><joint joint1="slide" solimp=".1 .2 .3 .4 5"/>""",
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    xml = document(f"{TENDON}<equality>{GOOD[name]}</equality>", before=BEFORE)
    c, m = run(xml, [compile_tendon, compile_equality])
    v = c.view()
    c.arrays["eq_data"] = equality_data(v, forward_kinematics(v, Tree(v), m.qpos0))
    assert m.neq > 0
    assert differences(c, m, ("eq_",)) == []
    assert c.sizes["nemax"] == m.nemax


def test_completed_data_is_recomputed_from_a_compiled_model():
    m = mujoco.MjModel.from_xml_string(document(f"{TENDON}<equality>{GOOD['weld']}{GOOD['connect']}</equality>"))
    wanted = m.eq_data.copy()
    m.eq_data[0, 3:10] = 1.0
    m.eq_data[2, 3:6] = 5.0
    assert derived_constants(m)["eq_data"] == pytest.approx(wanted)


BAD = [
    "<connect/>",
    '<connect body1="c"/>',
    '<connect body1="nope" anchor="0 0 0"/>',
    '<connect body1="c" anchor="0 0"/>',
    '<connect body1="c" body2="c" anchor="0 0 0"/>',
    '<connect body1="world" anchor="0 0 0"/>',
    '<connect body1="c" anchor="0 0 0" site1="s0" site2="s1"/>',
    '<connect site1="s0"/>',
    '<connect site1="s0" site2="s0"/>',
    '<weld/>',
    '<weld body1="c" body2="nope"/>',
    '<weld body1="c" site1="s0" site2="s1"/>',
    '<weld body1="c" relpose="0 0 0 1"/>',
    '<joint/>',
    '<joint joint1="ballj"/>',
    '<joint joint1="hinge" joint2="free"/>',
    '<joint joint1="hinge" joint2="hinge"/>',
    '<joint joint1="hinge" polycoef="1 2 3 4 5 6"/>',
    '<tendon tendon1="nope"/>',
    '<weld body1="c" class="nope"/>',
    '<weld body1="c" active="perhaps"/>',
    '<flex flex="nope"/>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    assert_refused("equality", snippet, [compile_tendon, compile_equality], sections=TENDON, before=BEFORE)
