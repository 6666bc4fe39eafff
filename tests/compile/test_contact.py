"""<contact> against MuJoCo: pairs, excludes, their order, default classes, and what is refused."""

import mujoco
import pytest

from kinema.compile.contact import compile_contact
from tests.compile.sections import assert_refused, differences, document, run

BEFORE = """<default><geom condim="6" friction=".3 .2 .1" margin=".5" priority="3"/>
  <default class="slick"><pair friction=".1 .2" condim="1" margin=".2" adhesion="2"/>
    <default class="slicker"><pair friction=".05" solref=".5"/></default></default></default>"""

GOOD = {
    "bare": '<pair geom1="ball" geom2="floor"/>',
    "full": """<pair name="p" geom1="ball" geom2="box" condim="4" friction="1 2 3 4 5" solref=".3 .4"
               solreffriction=".5" solimp=".1 .2 .3 .4 5" gap=".1" margin="-.2" adhesion="3"/>""",
    "short": '<pair geom1="ball" geom2="box" friction=".7" solimp=".8"/>',
    "order": """<pair name="x" geom1="pill" geom2="box"/><pair name="y" geom1="box" geom2="floor"/>
                <pair name="z" geom1="floor" geom2="box" margin="1"/><pair geom1="tube" geom2="ball"/>""",
    "classes": """<pair class="slick" geom1="ball" geom2="box"/>
                  <pair class="slicker" geom1="pill" geom2="box" margin="0"/><pair geom1="pill" geom2="tube"/>""",
    "exclude": """<exclude name="n" body1="loose" body2="a"/><exclude body1="c" body2="world"/>
                  <exclude body1="a" body2="a"/>""",
}


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    c, m = run(document(f"<contact>{GOOD[name]}</contact>", before=BEFORE), [compile_contact])
    assert m.npair + m.nexclude > 0
    assert differences(c, m, ("pair_", "exclude_")) == []
    for kind, size in (("pair", m.npair), ("exclude", m.nexclude)):
        code = getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        assert c.names(kind) == [mujoco.mj_id2name(m, code, i) or "" for i in range(size)]


BAD = [
    '<pair geom1="ball"/>',
    '<pair geom1="ball" geom2="nope"/>',
    '<pair geom1="ball" geom2="box" condim="2"/>',
    '<pair geom1="ball" geom2="box" friction="1 2 3 4 5 6"/>',
    '<pair geom1="ball" geom2="box" margin="x"/>',
    '<pair geom1="ball" geom2="box" class="nope"/>',
    '<exclude body1="a"/>',
    '<exclude body1="a" body2="nope"/>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    assert_refused("contact", snippet, [compile_contact], before=BEFORE)
