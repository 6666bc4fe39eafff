"""<custom> against MuJoCo: numbers, texts, tuples, and what is refused."""

import mujoco
import numpy as np
import pytest

from kinema.compile.custom import compile_custom
from tests.compile.sections import assert_refused, differences, document, prepare, run

GOOD = {
    "numeric": '<numeric name="a" data="1 2 3"/><numeric name="b" size="4" data="5"/><numeric name="c" size="501"/>',
    "text": '<text name="a" data="hello"/><text name="b" data="grüß dich"/>',
    "cdata": '<text name="a"><![CDATA[ one <b> &amp;\ntwo ]]></text><text name="b"> <![CDATA[x]]> </text>',
    "tuple": """<tuple name="t"><element objtype="body" objname="a"/>
                <element objtype="xbody" objname="b" prm="2"/></tuple>
                <tuple name="u"><element objtype="geom" objname="ball"/><element objtype="tuple" objname="t"/>
                <element objtype="joint" objname="hinge" prm="-1"/></tuple>""",
    "nothing": "",
}


@pytest.mark.parametrize("name", GOOD)
def test_agrees_with_mujoco(name):
    c, m = run(document(f"<custom>{GOOD[name]}</custom>"), [compile_custom])
    assert differences(c, m, ("numeric_", "text_", "tuple_")) == []
    assert c.arrays["text_data"].tobytes() == m.text_data
    assert (c.sizes["nnumericdata"], c.sizes["ntextdata"], c.sizes["ntupledata"]) == (
        m.nnumericdata, m.ntextdata, m.ntupledata,
    )  # fmt: skip
    assert c.arrays["numeric_data"].dtype == np.float64


BAD = [
    '<numeric data="1"/>',
    '<numeric name="a"/>',
    '<numeric name="a" size="0"/>',
    '<numeric name="a" size="2" data="1 2 3"/>',
    '<numeric name="a" data="1 two"/>',
    '<text name="a"/>',
    '<text name="a" data=""/>',
    '<text data="a"/>',
    '<tuple name="t"/>',
    '<tuple><element objtype="body" objname="a"/></tuple>',
    '<tuple name="t"><element objtype="bod" objname="a"/></tuple>',
    '<tuple name="t"><element objtype="body" objname="nope"/></tuple>',
    '<tuple name="t"><element objtype="dof" objname="hinge"/></tuple>',
    '<tuple name="t"><element objtype="body"/></tuple>',
]


@pytest.mark.parametrize("snippet", BAD)
def test_refuses_what_mujoco_refuses(snippet):
    assert_refused("custom", snippet, [compile_custom])


@pytest.mark.parametrize("snippet", [
    '<text name="a" data="x"><![CDATA[y]]></text>', '<text name="a"><![CDATA[]]></text>',
    '<text name="a"><![CDATA[y]]><![CDATA[z]]></text>', '<text name="a">y</text>',
])  # fmt: skip
def test_text_has_one_source(snippet):
    xml = document(f"<custom>{snippet}</custom>")
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(ValueError):
        compile_custom(prepare(xml, mujoco.MjModel.from_xml_string(document(""))))
