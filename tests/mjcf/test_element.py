"""The tree: children, finding, comparing, removing."""

import copy
import itertools

import numpy as np
import pytest

from kinema import mjcf
from kinema.mjcf import schema


@pytest.fixture
def root():
    return mjcf.RootElement(model="test")


@pytest.fixture
def arm(root):
    """torso (geom a, site) > upper (joint, geom b) > lower (geom c)."""
    torso = root.worldbody.add("body", name="torso")
    torso.add("geom", name="a")
    torso.add("site", name="here")
    upper = torso.add("body", name="upper")
    upper.add("joint", name="shoulder")
    upper.add("geom", name="b")
    upper.add("body", name="lower").add("geom", name="c")
    return torso


def test_properties(root, arm):
    geom = root.find("geom", "b")
    assert geom.tag == "geom" and geom.parent.name == "upper" and geom.root is root
    assert geom.namescope is root.namescope and geom.spec is schema.MUJOCO.children["worldbody"].children["geom"]
    assert not geom.is_removed and isinstance(geom, mjcf.Element) and bool(geom)
    assert root.parent is None and root.root is root and root.model == "test"


def test_children_by_tag(root, arm):
    assert len(arm.geom) == 1 and arm.geom[0] is arm.geom["a"] is arm.geom[-1]
    assert [body.name for body in arm.body] == ["upper"]
    assert not arm.camera and list(arm.camera) == []
    with pytest.raises(KeyError, match="An element <geom> with name='z' does not exist"):
        arm.geom["z"]
    with pytest.raises(IndexError):
        arm.geom[5]
    assert repr(arm.geom).startswith("MJCF Elements List: ['<geom")
    assert arm.geom.tag == "geom" and arm.geom.parent is arm
    view = arm.geom
    arm.add("geom", name="late")
    assert len(view) == 2 and view["late"] in view and len(view[:]) == 2
    del view["late"]
    assert len(view) == 1
    view.clear()
    assert not view


def test_singletons_exist_and_on_demand_ones_do_not(root):
    assert root.option.flag.tag == "flag"
    assert root.option is root.option
    body = root.worldbody.add("body")
    assert body.inertial is None and body.freejoint is None
    body.add("freejoint")
    assert body.freejoint is not None
    for tag, parent in (("freejoint", body), ("option", root), ("default", root)):
        with pytest.raises(ValueError, match=f"A <{tag}> child already exists"):
            parent.add(tag)


def test_every_element_of_the_schema_can_be_made(root):
    def sample(spec):
        words = {"keyword": lambda: spec.keywords[0], "int": lambda: 1, "float": lambda: 1}
        return [1] * spec.min if spec.array else words.get(spec.type, lambda: "x")()

    numbers = itertools.count()

    def add(parent, tag):
        spec = parent.spec.children[tag]
        if not (spec.repeated or spec.on_demand):
            return parent.get_children(tag)
        values = {name: sample(spec.attributes[name]) for name in spec.required}
        if spec.identifier in values:
            values[spec.identifier] = f"n{next(numbers)}"
        existing = parent.get_children(tag) if spec.on_demand else None
        return existing if existing is not None else parent.add(tag, **values)

    made = 0
    for path, _ in schema.walk():
        element = root
        for tag in path:
            child = add(element, tag)
            assert child.tag == tag and child in element.all_children()
            element = child
        made += 1
    assert made > 100


def test_insert_counts_as_lists_do(root):
    for name in "012":
        root.worldbody.add("body", name=name)
    root.worldbody.insert("body", position=0, name="first")
    root.worldbody.insert("body", position=-1, name="beforelast")
    assert [body.name for body in root.worldbody.all_children()] == ["first", "0", "1", "beforelast", "2"]


def test_failed_add_leaves_nothing(root):
    with pytest.raises(ValueError, match="during initialization of attribute 'pos' of element <geom>"):
        root.worldbody.add("geom", name="ghost", pos=[1, 2, 3, 4])
    assert root.find("geom", "ghost") is None and not root.worldbody.geom
    with pytest.raises(AttributeError, match="<goem> is not a valid child of <worldbody>; did you mean 'geom'"):
        root.worldbody.add("goem")
    root.worldbody.add("geom", name="ghost")


def test_setting_and_deleting_children(root, arm):
    with pytest.raises(AttributeError, match="can't set attribute"):
        arm.geom = "x"
    with pytest.raises(AttributeError, match=r"Did you mean to call `geom.clear\(\)`"):
        del arm.geom
    with pytest.raises(AttributeError, match="object has no attribute"):
        del arm.nonsense
    with pytest.raises(TypeError, match="not subscriptable"):
        arm["geom"]
    root.option.timestep = 0.01
    root.option.flag.gravity = "disable"
    del root.option
    assert root.option.timestep is None and root.option.flag.gravity is None


def test_dir_and_getattr(root, arm):
    names = dir(arm.geom["a"])
    assert "dclass" in names and "class" not in names and "friction" in names
    assert "geom" in dir(arm) and "find_all" in dir(arm)
    for name in ("dclass", "mass", "pos"):
        assert hasattr(arm.geom["a"], name)


def test_find(root, arm):
    assert root.find("geom", "c").name == "c" and root.find("geom", "nope") is None
    assert arm.find("geom", "b") is root.find("geom", "b")
    assert root.find("body", "lower").find("geom", "b") is None
    assert root.find("body", "upper").find("body", "upper") is None
    for call in (lambda: root.find("goem", "c"), lambda: root.find_all("goem")):
        with pytest.raises(ValueError, match="'goem' is not a valid namespace; did you mean 'geom'"):
            call()
    with pytest.raises(ValueError, match="`identifier` should be a string"):
        root.find("geom", 3)
    with pytest.raises(ValueError, match="`namespace` should be a string"):
        root.find(3, "geom")


def test_find_all_in_document_order(root, arm):
    assert [geom.name for geom in root.find_all("geom")] == ["a", "b", "c"]
    assert [geom.name for geom in arm.find_all("geom", immediate_children_only=True)] == ["a"]
    arm.add("freejoint")
    assert {joint.tag for joint in root.find_all("joint")} == {"joint", "freejoint"}
    root.sensor.add("gyro", site="here")
    root.sensor.add("clock")
    assert [sensor.tag for sensor in root.find_all("sensor")] == ["gyro", "clock"]


def test_remove(root, arm):
    upper = root.find("body", "upper")
    inside = upper.find_all("geom")
    upper.remove()
    assert upper.is_removed and all(geom.is_removed for geom in inside)
    assert root.find("geom", "c") is None and root.find_all("geom") == [arm.geom["a"]]
    root.worldbody.add("body", name="upper")


def test_unnamed_elements_are_numbered(root):
    bodies = [root.worldbody.add("body") for _ in range(3)]
    assert bodies[2].full_identifier == "//unnamed_body_2" and bodies[2].name is None
    bodies[0].remove()
    assert bodies[2].full_identifier == "//unnamed_body_1"
    assert bodies[1].to_xml_string(pretty_print=False) == '<body name="//unnamed_body_0"/>'
    assert str(bodies[1]) == "<body/>" and repr(bodies[1]) == "MJCF Element: <body/>"


def test_sameness(root):
    other = mjcf.RootElement(model="other")
    assert root.is_same_as(other) and other.is_same_as(root) and root != other
    for model in (root, other):
        body = model.worldbody.add("body", name="b")
        body.add("geom", size=[0.1])
        body.add("site", name="s")
    assert root.is_same_as(other)
    root.worldbody.body["b"].add("site")
    root.worldbody.body["b"].add("geom")
    other.worldbody.body["b"].add("geom")
    other.worldbody.body["b"].add("site")
    assert root.is_same_as(other)
    root.option.gravity = [0, 0, 0]
    assert not root.is_same_as(other)
    other.option.gravity = np.zeros(3)
    assert root.is_same_as(other) and not root.is_same_as(None)
    assert not root.option.is_same_as(root.compiler)


def test_sameness_of_tendons_is_about_order(root):
    tendons = []
    for order in (("site", "geom"), ("site", "geom"), ("geom", "site")):
        tendons.append(root.tendon.add("spatial"))
        for tag in order:
            tendons[-1].add(tag, **{tag: "x"})
    assert tendons[0].is_same_as(tendons[1]) and not tendons[0].is_same_as(tendons[2])


def test_resolve_references(root, arm):
    motor = root.actuator.add("motor", joint="shoulder")
    dangling = root.actuator.add("motor", joint="nowhere")
    root.default.add("default", dclass="soft")
    geom = root.find("geom", "a")
    geom.dclass = "soft"
    root.resolve_references()
    assert motor.joint is root.find("joint", "shoulder") and dangling.joint == "nowhere"
    assert geom.dclass is root.default.default["soft"]


def test_deep_trees_do_not_exhaust_the_stack(root):
    body = root.worldbody
    for _ in range(3000):
        body = body.add("body")
    assert len(root.find_all("body")) == 3000
    assert root.to_xml_string().count("<body") == 3000
    root.resolve_references()
    twin = copy.deepcopy(root)
    assert twin.is_same_as(root)
    twin.worldbody.body[0].remove()
    assert twin.find_all("body") == [] and not twin.is_same_as(root)


def test_names_of_the_schema_are_free_on_elements(root):
    """No attribute or child hides behind a method, but for <attach> of the worldbody, where PyMJCF has a method too."""
    site = root.worldbody.add("site")
    for path, spec in schema.walk():
        kind = type({"mujoco": root, "worldbody": root.worldbody, "site": site}.get(spec.name, root.option))
        hidden = {name for name in (*spec.attributes, *spec.children) if hasattr(kind, name)}
        assert hidden <= {"mujoco": {"model"}, "worldbody": {"attach"}}.get(spec.name, set()), path
    assert len(root.worldbody.get_children("attach")) == 0
