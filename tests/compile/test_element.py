"""Reading one element: layers, vectors, keywords, names, and errors that say where."""

from __future__ import annotations

import pytest

from kinema.compile.defaults import read_defaults
from kinema.compile.element import AUTO, FALSE_TRUE_AUTO, Element, Scope, read_element
from kinema.compile.settings import read_settings
from kinema.errors import CompileError
from kinema.mjcf.source import read_xml


def element(text: str, *layers: dict[str, str]) -> Element:
    node = read_xml(f"<root>\n{text}</root>", file="model.xml").children[0]
    return Element(node, node.tag, Scope(prefix="p_", suffix="_s", asset_prefix="a/"), (*layers, node.attributes))


def test_the_strongest_layer_wins_and_unset_stays_unset():
    e = element('<geom margin="0"/>', {"margin": "1", "gap": "2"}, {"gap": "3"})
    assert (e.number("margin"), e.number("gap"), e.number("mass", None)) == (0.0, 3.0, None)
    assert e.given("margin") and e.given("gap") and not e.given("mass")


def test_short_vectors_overwrite_the_front():
    e = element('<geom size="4"/>', {"size": "1 2"})
    assert e.vector("size", (7, 8, 9), at_most=3).tolist() == [4, 2, 9]
    assert e.vector("user", ()).tolist() == [] and e.vector("fromto", length=6) is None


def test_blank_numbers_count_as_unset():
    e = element('<geom margin=" " size=""/>', {"margin": "3"})
    assert e.number("margin") == 3.0 and e.vector("size", (1, 2, 3), at_most=3).tolist() == [1, 2, 3]


def test_names_and_references_are_scoped():
    e = element('<geom name="g" mesh="m" target="b"/>')
    assert e.name == "p_g_s"
    assert e.reference("mesh", "mesh") == "a/m" and e.reference("target", "body") == "p_b_s"
    inner = e.copy("q_", "_t", assets=False)
    assert inner.name == "q_p_g_s_t" and inner.reference("mesh", "mesh") == "a/m"


def test_meshes_without_a_name_are_named_after_their_file():
    assert element('<mesh file="dir/part.v2.stl"/>').name == "a/part.v2"


@pytest.mark.parametrize(
    ("text", "read", "match"),
    [
        ('<geom size="a"/>', lambda e: e.vector("size", length=3), "numbers.*size='a'"),
        ('<geom size="1 2 3 4"/>', lambda e: e.vector("size", at_most=3), "too much data"),
        ('<geom pos="1 2"/>', lambda e: e.vector("pos", length=3), "enough data"),
        ('<geom group="1.5"/>', lambda e: e.integer("group"), "integers"),
        ('<geom group="99999999999"/>', lambda e: e.integer("group"), "integers"),
        ('<joint limited="yes"/>', lambda e: e.keyword("limited", FALSE_TRUE_AUTO, AUTO), "false, true, auto"),
        ("<joint/>", lambda e: e.required("name"), "needs 'name'"),
    ],
)
def test_errors_name_file_line_path_and_value(text, read, match):
    with pytest.raises(CompileError, match=match) as caught:
        read(element(text))
    assert caught.value.file == "model.xml" and caught.value.line == 2 and "model.xml:2" in str(caught.value)


def test_settings_of_several_sections_add_up():
    root = read_xml(
        '<mujoco><compiler angle="radian" assetdir="x"/><compiler meshdir="y" eulerseq="ZYX"><lengthrange mode="all"/>'
        "</compiler></mujoco>"
    )
    settings = read_settings(root)
    assert (settings.degree, settings.meshdir, settings.texturedir) == (False, "y", "x")
    assert settings.eulerseq == "ZYX" and settings.lengthrange.mode == "all" and settings.autolimits


def test_actuator_defaults_are_kept_in_order_of_writing():
    root = read_xml(
        '<mujoco><default><motor gear="2"/><default class="c"><position kp="3"/></default></default></mujoco>'
    )
    defaults = read_defaults(root)
    assert [node.tag for node in defaults.classes["c"].actuators] == ["motor", "position"]
    assert [node.tag for node in defaults.main.actuators] == ["motor"]


def test_plain_elements_have_no_class():
    assert read_element(read_xml('<size nkey="3"/>')).integer("nkey") == 3
