"""What a document only declares is priced before it is made, and numbers that burst are errors of the document."""

import time
import warnings

import mujoco
import numpy as np
import pytest

from kinema import errors
from kinema.compile import Limits, compile_model
from kinema.compile.element import Element
from kinema.compile.overflow import told_as_compile_errors
from kinema.errors import CompileError, KinemaError, TooLarge
from kinema.mjcf import schema
from kinema.mjcf.source import Node, read_xml
from kinema.mjcf.validate import validate

BODY = '<body name="b"><joint name="j"/><geom name="g" size="1"/></body>'


def document(before: str = "", tree: str = BODY, after: str = "") -> str:
    return f"<mujoco>\n{before}\n<worldbody>{tree}</worldbody>{after}</mujoco>"


HUGE = {
    "replicate": (document(tree=f'<replicate count="1000000000">{BODY}</replicate>'), "4,000,000,000 elements"),
    "replicates in replicates": (
        document(tree='<replicate count="1000">' * 4 + BODY + "</replicate>" * 4), "4,001,001,001,000 elements"
    ),
    "sensors of replicates": (
        document(
            tree=f'<replicate count="400000">{BODY}</replicate>',
            after="<sensor>" + '<jointpos joint="j"/>' * 10 + "</sensor>",
        ),
        "5,600,000 elements",
    ),
    "a flexcomp": (
        document(tree='<flexcomp name="f" count="100000 100000 1" spacing="1 1 1"/>'), "40,000,000,001 elements"
    ),
    "users' columns": (document('<size nuser_body="2000000000"/>'), "32,000,000,000 bytes"),
    "users' numbers": (document('<size nuserdata="2000000000"/>'), "16,000,000,000 bytes"),
    "keyframes": (document('<size nkey="2000000000"/>'), "keyframes"),
    "a height field": (
        document('<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'), "80,000,000,000 bytes"
    ),
    "a texture": (
        document('<asset><texture name="t" type="2d" builtin="flat" width="200000" height="200000"/></asset>'),
        "120,000,000,000 bytes",
    ),
    "a cube of textures": (
        document('<asset><texture name="t" builtin="flat" width="50000" height="50000"/></asset>'),
        "45,000,000,000 bytes",
    ),
    "many textures": (
        document(
            "<asset>"
            + "".join(f'<texture name="t{i}" type="2d" builtin="flat" width="20000" height="20000"/>' for i in range(9))
            + "</asset>"
        ),
        "10,800,000,000 bytes",
    ),
    "a built-in mesh": (
        document('<asset><mesh name="m" builtin="sphere" params="50"/></asset>', '<geom type="mesh" mesh="m"/>'),
        "sphere",
    ),
    "a numeric": (document(after='<custom><numeric name="n" size="2000000000"/></custom>'), "16,000,000,000 bytes"),
    "a sensor": (document(after='<sensor><user dim="2000000000"/></sensor>'), "16,000,000,000 bytes"),
    "a simulation": (
        document(
            '<compiler><lengthrange mode="all" inttotal="1e300"/></compiler>',
            after='<actuator><motor joint="j"/></actuator>',
        ),
        "1,000,000,000,000,000,000 steps",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HUGE)
def test_what_is_too_large_is_refused_at_once_with_numbers(case):
    text, number = HUGE[case]
    began = time.monotonic()
    with pytest.raises(TooLarge) as caught:
        compile_model(text)
    assert time.monotonic() - began < 5
    message = str(caught.value)
    assert number in message and "more than the limit of" in message and "limits=Limits(" in message
    assert caught.value.line in (2, 3) and caught.value.path
    assert isinstance(caught.value, CompileError | MemoryError)


def test_the_message_names_the_limit_that_helps():
    text = document(tree=f'<replicate count="3" offset="0 0 3">{BODY}</replicate>')
    with pytest.raises(TooLarge, match=r"12 elements, more than the limit of 10; .*Limits\(elements=12\)"):
        compile_model(text, limits=Limits(elements=10))
    assert compile_model(text, limits=Limits(elements=12)).nbody == 4


def test_bytes_can_be_raised_and_lowered():
    text = document('<asset><hfield name="h" nrow="10" ncol="20" size="1 1 1 1"/></asset>')
    with pytest.raises(TooLarge, match="height field of 10 x 20, comes to 1,600 bytes"):
        compile_model(text, limits=Limits(bytes=1000))
    assert compile_model(text, limits=Limits(bytes=1600)).nhfielddata == 200


def test_attached_models_are_counted_once_for_each_attachment():
    child = document(tree=f'<replicate count="10">{BODY}</replicate>').encode()
    attach = "".join(f'<attach model="c" prefix="p{i}_"/>' for i in range(10))
    text = f'<mujoco><asset><model name="c" file="c.xml"/></asset><worldbody>{attach}</worldbody></mujoco>'
    assert compile_model(text, assets={"c.xml": child}).nbody == 101
    with pytest.raises(TooLarge, match="elements"):
        compile_model(text, assets={"c.xml": child}, limits=Limits(elements=400))


def test_the_builder_and_the_simulation_take_limits():
    from kinema import Simulation
    from kinema.model import ModelBuilder

    for take in (ModelBuilder().add_mjcf, Simulation):
        with pytest.raises(TooLarge):
            take(document(), limits=Limits(elements=2))


def test_the_tree_of_errors_has_it():
    assert "TooLarge" in errors.__doc__


# ---- numbers that burst

ALL = """<mujoco><compiler autolimits="true"><lengthrange/></compiler><option/><size/>
  <visual><global/><quality/><headlight/><map/><scale/></visual><statistic/>
  <default><joint damping="1"/><geom friction="1 .1 .1"/></default>
  <asset><texture name="t" type="2d" builtin="checker" width="4" height="4"/><material name="m" texture="t"/>
    <mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="hf" nrow="2" ncol="2" size="1 1 1 1"/>
    <mesh name="ball" builtin="sphere" params="1"/></asset>
  <worldbody><geom type="plane" size="1 1 1" material="m"/><light pos="0 0 3"/><geom type="hfield" hfield="hf"/>
    <body name="b" pos="0 0 1"><joint name="j" type="ball" range="0 1"/>
      <geom name="e" type="ellipsoid" size=".1 .2 .3"/><geom type="mesh" mesh="tetra"/>
      <geom name="c" type="cylinder" fromto="0 0 0 0 0 1" size=".05"/><site name="s"/>
      <body name="b2" pos="0 0 .3"><joint name="j2"/><joint name="j3" type="slide" springdamper="1 1"/><geom size=".1"/>
        <site name="s2" pos=".1 0 0"/><camera name="cam" resolution="4 4" focal="1 1" sensorsize="1 1"/></body></body>
    <body name="b3"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site name="s3"/></body>
    <replicate count="2" offset="1 0 0"><body name="r"><joint/><geom size=".1"/></body></replicate></worldbody>
  <contact><pair geom1="e" geom2="c"/></contact>
  <tendon><spatial name="t" springlength="0 1"><site site="s"/><geom geom="c" sidesite="s2"/><site site="s3"/>
      <pulley divisor="2"/><site site="s"/><site site="s2"/></spatial>
    <fixed><joint joint="j2" coef="1"/></fixed></tendon>
  <equality><weld body1="b" body2="b3"/><joint joint1="j2" joint2="j3"/></equality>
  <actuator><general joint="j2" dyntype="filter"/><position joint="j2" dampratio="1"/><cylinder joint="j3"/>
    <general cranksite="s" slidersite="s2" cranklength="1"/></actuator>
  <sensor><user dim="3"/><contact num="2" geom1="e"/><jointpos joint="j2" nsample="2" delay=".01"/></sensor>
  <custom><numeric name="n" size="3" data="1"/></custom><keyframe><key/></keyframe></mujoco>"""
VALUES = ("1e308", "-1e308", "1e-308", "nan", "inf", "0", "-1", "2147483647", "1e160", "99999")


def numeric_attributes(root: Node) -> list[tuple[Node, str, int]]:
    """Every number an element may have: the element, the attribute and how many numbers it takes."""
    found, todo = [], [(root, schema.root())]
    while todo:
        node, spec = todo.pop()
        for name, attribute in spec.attributes.items():
            if attribute.type in schema.NUMERIC:
                written = node.attributes.get(name, "").split()
                found.append((node, name, len(written) or max(1, attribute.min or 1)))
        todo += [(child, spec.children[child.tag]) for child in node.children]
    return found


@pytest.mark.parametrize("part", range(4))
def test_odd_numbers_anywhere_give_a_model_or_an_error_of_ours(part):
    """Large, small, not finite, negative, in every numeric attribute of the schema: in bounded time."""
    root = read_xml(ALL)
    assert compile_model(root).nbody
    cases = numeric_attributes(root)
    for k, (node, name, count) in enumerate(cases):
        if k % 4 != part:
            continue
        before = node.attributes.get(name)
        value = VALUES[k // 4 % len(VALUES)]
        node.attributes[name] = " ".join([value] * count)
        began = time.process_time()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                compile_model(root)
            except KinemaError as error:
                assert str(error)
        assert time.process_time() - began < 10, (node.path, name, value)
        if before is None:
            del node.attributes[name]
        else:
            node.attributes[name] = before


def test_a_position_past_arithmetic_is_followed_or_placed():
    """MuJoCo takes such numbers where nothing is computed with them."""
    text = document(tree='<body pos="1e308 0 0"><joint/><geom size="1"/></body>')
    theirs = mujoco.MjModel.from_xml_string(text)
    with np.errstate(all="ignore"):
        assert compile_model(text).body_pos[1, 0] == theirs.body_pos[1, 0] == 1e308
    text = document(tree='<body euler="inf 0 0"><geom size="1e200"/></body>')
    theirs = mujoco.MjModel.from_xml_string(text)
    with np.errstate(all="ignore"):
        ours = compile_model(text)
    np.testing.assert_array_equal(ours.body_quat, theirs.body_quat)  # no numbers


def test_numbers_past_single_precision_are_refused_where_mujoco_refuses_them():
    """1e60 in every attribute: MuJoCo keeps colours, lights, cameras and vertices in single precision."""
    bone = '<bone body="b" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>'
    skin = f'<skin vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">{bone}</skin>'
    builtin = '<mesh name="ball" builtin="sphere" params="1"/></asset>'  # whose vertices MuJoCo does not read
    assert builtin in ALL
    root = read_xml(ALL.replace(builtin, f"{skin}</asset>").replace("<map/>", "<map/><rgba/>"))
    for node, name, count in numeric_attributes(root):
        before = node.attributes.get(name)
        node.attributes[name] = " ".join(["1e60"] * count)
        try:
            mujoco.MjSpec.from_string(written(root))
            theirs = False
        except ValueError as error:
            theirs = "too large" in str(error)
        try:
            validate(root)
            ours = False
        except KinemaError as error:
            ours = "too large" in str(error)
        assert ours == theirs, (node.path, name)
        if before is None:
            del node.attributes[name]
        else:
            node.attributes[name] = before


def written(node: Node) -> str:
    attributes = "".join(f' {name}="{value}"' for name, value in node.attributes.items())
    return f"<{node.tag}{attributes}>{''.join(written(child) for child in node.children)}</{node.tag}>"


@pytest.mark.parametrize(
    ("raised", "told"),
    [(OverflowError, CompileError), (ZeroDivisionError, CompileError), (np.linalg.LinAlgError, CompileError)]
    + [(ValueError, CompileError), (MemoryError, TooLarge), (RecursionError, TooLarge)],
)
def test_what_bursts_in_the_compiler_is_told_at_the_element_in_hand(raised, told):
    root = read_xml(document())
    geom = next(node for node in root.walk() if node.tag == "geom")

    def inner():
        raise raised("too much")

    def compile_something(element):
        inner()

    with pytest.raises(told) as caught, told_as_compile_errors(root):
        compile_something(Element(geom, "geom"))
    assert (caught.value.line, caught.value.path) == (3, "worldbody/body[b]/geom[g]")
    with pytest.raises(TooLarge, match="as it was"), told_as_compile_errors(root):
        raise TooLarge("as it was")
