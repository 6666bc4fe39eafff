"""The vocabulary table is that of the installed mujoco: names, cardinalities, numbers of values, keywords."""

import importlib.util
import pathlib
import re
import sys

import mujoco
import pytest

from kinema.mjcf import schema

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("mjcf_schema", ROOT / "scripts" / "mjcf_schema.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mjcf_schema"] = module
    spec.loader.exec_module(module)
    return module


def test_no_difference_to_the_installed_mujoco(script):
    assert script.differences() == []


def test_vocabulary_is_all_of_mujoco_4(script):
    rows = script.printed()
    assert len(rows) == 171 and sum(len(row.attributes) for row in rows.values()) == 1894
    mine = script.ours()
    assert {path: row.attributes for path, row in mine.items()} == {path: row.attributes for path, row in rows.items()}
    body = schema.root().children["worldbody"].children["body"]
    assert {"frame", "replicate", "attach"} <= set(body.children)
    assert {"pid", "dcmotor"} <= set(schema.root().children["actuator"].children)
    assert "model" in schema.root().children["asset"].children


def test_differences_are_reported_and_updated(script, monkeypatch):
    rows = script.printed()
    geom = ("mujoco", "body", "geom")
    rows[geom].attributes.add("brandnew")
    rows[("mujoco", "compiler")].attributes.discard("fitaabb")
    rows[("mujoco", "body", "novel")] = script.Row("*", {"a"})
    monkeypatch.setattr(script, "printed", lambda: rows)
    found = script.differences()
    assert found == ["+ body/geom.brandnew", "+ <body/novel> (*) a", "- compiler.fitaabb"]
    lines, left = script.update(script.TABLE.read_text().splitlines(), found)
    text = "\n".join(lines)
    assert re.search(r"^  brandnew ", text, re.M) and not re.search(r"^  fitaabb ", text, re.M)
    assert left == ["+ <body/novel> (*) a"]


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [("springyield", "float"), ("yield", "float[1..2]"), ("castshadow", "bool"), ("gravity", "float[3]")],
)
def test_types_of_new_attributes_come_from_the_manual(script, attribute, expected):
    assert script.documented_type(attribute) == expected


# ---------------------------------------------------------------- values, with MuJoCo as the judge

SAMPLES = {
    "keyword": lambda spec: spec.keywords[0],
    "flags": lambda spec: spec.keywords[0],
    "chars": lambda spec: "x" * spec.min,
    "file": lambda spec: "file.stl",
}


def sample(spec, count=None):
    if spec.type in schema.NUMERIC:
        return " ".join(["1"] * ((spec.min or 1) if count is None else count))
    if spec.name == "objtype" and spec.type == "string":
        return "body"
    return SAMPLES.get(spec.type, lambda spec: "name")(spec)


def tag_with(spec, values):
    return f"<{spec.name} " + " ".join(f'{name}="{value}"' for name, value in values.items()) + ">"


def needed_values(spec):
    values = {name: sample(spec.attributes[name]) for name in spec.needed}
    for constraint in spec.constraints:
        if constraint.kind == "oneof":
            values |= {name: sample(spec.attributes[name]) for name in constraint.bundles[-1]}
    if spec.name == "default" and spec.repeated:
        values["class"] = "c"
    return values


def complaint(path, values):
    """What MuJoCo says about an element with these attribute values, or an empty string."""
    opening, closing, spec = "", "", schema.root()
    for tag in path:
        spec = spec.children[tag]
        opening += tag_with(spec, needed_values(spec) | (values if tag is path[-1] else {}))
        closing = f"</{tag}>" + closing
    try:
        mujoco.MjSpec.from_string(f"<mujoco>{opening}{closing}</mujoco>")
    except ValueError as error:
        return str(error)
    return ""


ELEMENTS = [(path, spec) for path, spec in schema.walk() if path]


@pytest.mark.parametrize(("path", "spec"), ELEMENTS, ids=["/".join(path) for path, _ in ELEMENTS])
def test_values_are_as_mujoco_reads_them(path, spec):
    for name, attribute in spec.attributes.items():
        told = f"attribute '{name}'"
        if attribute.type in schema.NUMERIC:
            for count in {attribute.min or 1, attribute.max or 3}:
                answer = complaint(path, {name: sample(attribute, count)})
                assert not (told in answer and ("too much" in answer or "enough" in answer or "format" in answer))
            if attribute.max is not None:
                assert "too much data" in complaint(path, {name: sample(attribute, attribute.max + 1)}), name
            if attribute.min > 1:
                assert "not have enough data" in complaint(path, {name: sample(attribute, attribute.min - 1)}), name
            halves = complaint(path, {name: sample(attribute).replace("1", "1.5")})
            refused = "bad format" in halves or "problem reading" in halves
            assert refused == (attribute.type == "int"), name
        elif attribute.type in ("keyword", "flags"):
            for word in attribute.keywords:
                answer = complaint(path, {name: word})
                assert "invalid keyword" not in answer, (name, word)
            if not any(name in bundle for c in spec.constraints if c.kind == "together" for bundle in c.bundles):
                assert "invalid keyword" in complaint(path, {name: "nonsense"}), name


@pytest.mark.parametrize(("path", "spec"), ELEMENTS, ids=["/".join(path) for path, _ in ELEMENTS])
def test_nothing_else_is_required(path, spec):
    assert "required attribute missing" not in complaint(path, {})


def test_what_default_classes_may_set():
    children = schema.root().children
    geom = children["worldbody"].children["geom"].attributes
    assert set(children["default"].children["geom"].attributes) == {n for n in geom if geom[n].default_ok}
    spatial = children["tendon"].children["spatial"]
    assert spatial.attributes["width"].default_ok and not spatial.attributes["name"].default_ok
    assert not children["worldbody"].children["body"].attributes["pos"].default_ok


def test_identifiers_are_written_first():
    for path, spec in schema.walk():
        if spec.identifier:
            assert spec.order[spec.identifier] == 0, path


def test_references_point_at_namespaces_that_exist():
    for path, spec in schema.walk():
        for name in spec.references:
            namespace = spec.attributes[name].namespace
            known = namespace in schema.FINDABLE_NAMESPACES or namespace[1:] in spec.attributes
            assert known, (path, name, namespace)


def test_what_is_a_reference_is_one_everywhere():
    """An attribute that refers in one element is not plain text in another, so that attaching prefixes it."""
    kinds: dict[str, dict[str, set[str]]] = {}
    for path, spec in schema.walk():
        for name, attribute in spec.attributes.items():
            kinds.setdefault(name, {}).setdefault(attribute.type, set()).add("/".join(path))
    for name, by_type in kinds.items():
        if "ref" in by_type:
            plain = by_type.get("string", set())
            # <attach> names a body of another file; the root's `model` is its own name.
            assert plain <= {"worldbody/attach", ""}, (name, plain)
