"""`validate` takes what MuJoCo's reader takes, and says where and what when it does not."""

import pathlib

import mujoco
import pytest

from kinema.errors import BadValue, UnknownAttribute, UnknownElement
from kinema.mjcf.source import expand_includes, read_xml
from kinema.mjcf.validate import validate


def world(inside):
    return f"<mujoco><worldbody>{inside}</worldbody></mujoco>"


def geom(attributes):
    return world(f'<geom size="1" {attributes}/>')


ACCEPTED = [
    geom('pos=""'),
    geom('condim=" +3 "'),
    geom('mass="1e3"'),
    geom('mass="inf"'),
    geom('mass="0x10"'),
    geom('mass=".5"'),
    geom('mass="5."'),
    geom('solref="1"'),
    geom('user="1 2 3"'),
    geom('name=""'),
    geom('pos="1\t2\n3"'),
    world('<camera output="rgb depth"/>'),
    world('<frame any="thing"><geom size="1"/></frame>'),
    world('<replicate count="2" sep="-"><geom size="1"/></replicate>'),
    "<mujoco><worldbody/><worldbody/></mujoco>",
    "<mujoco><default/><default/></mujoco>",
    '<mujoco model="a">text<worldbody/></mujoco>',
    '<mujoco><option timestep="0"/></mujoco>',
]

REFUSED = [
    (geom('pos="1 2"'), BadValue, "needs 3 values, got 2"),
    (geom('pos="1 2 3 4"'), BadValue, "takes 3 values, got 4"),
    (geom('solref="1 1 1"'), BadValue, "takes 1 to 2 values, got 3"),
    (geom('type="Box"'), BadValue, "invalid keyword 'Box'.*did you mean 'box'"),
    (geom('type=" sphere"'), BadValue, "invalid keyword"),
    (geom('shellinertia="TRUE"'), BadValue, "invalid keyword"),
    (geom('condim="3.0"'), BadValue, "'3.0' is not an integer"),
    (geom('condim="3 4"'), BadValue, "takes 1 value, got 2"),
    (geom('group="99999999999"'), BadValue, "too large"),
    (geom('mass="1e400"'), BadValue, "too large"),
    (geom('mass="1,2"'), BadValue, "'1,2' is not a number"),
    (geom('mass="1_0"'), BadValue, "not a number"),
    (geom('mass="1f"'), BadValue, "not a number"),
    (geom('sixe="1"'), UnknownAttribute, "'sixe' is not a valid attribute for <geom>; did you mean 'size'"),
    (geom('quat="1 0 0 0" euler="1 2 3"'), BadValue, "at most one of quat, axisangle"),
    (world('<camera output="rgb foo"/>'), BadValue, "invalid keyword 'foo'"),
    (world('<goem size="1"/>'), UnknownElement, "<goem> is not a valid child of <worldbody>; did you mean 'geom'"),
    (world("<worldbody/>"), UnknownElement, "not a valid child"),
    (world('<composite type="cable"/>'), UnknownElement, "<composite>.*MuJoCo 4.0 removed it.*<flexcomp"),
    (world("<joint/>"), UnknownElement, "not a valid child of <worldbody>"),
    (world('<body><inertial mass="1"/></body>'), BadValue, "'pos' of element <inertial> is required"),
    (world('<replicate><geom size="1"/></replicate>'), BadValue, "'count'.*required"),
    ("<mujoco><option><flag/><flag/></option></mujoco>", BadValue, "only one <flag>"),
    ("<mujoco><default><geom/><geom/></default></mujoco>", BadValue, "only one <geom>"),
    ('<mujoco foo="1"/>', UnknownAttribute, "'foo' is not a valid attribute for <mujoco>"),
    ('<mujoco><compiler eulerseq="xy"/></mujoco>', BadValue, "exactly 3 characters"),
    ("<mujoco><equality><connect/></equality></mujoco>", BadValue, "one of site1.site2, body1.anchor must be"),
    (
        '<mujoco><sensor><framepos objtype="body" objname="world" reftype="body"/></sensor></mujoco>',
        BadValue,
        "reftype, refname must be specified together",
    ),
    ('<mujoco><default><light directional="true" type="spot"/></default></mujoco>', BadValue, "at most one"),
    ('<mujoco><custom><numeric name="a" data="1 b"/></custom></mujoco>', BadValue, "'b' is not a number"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_mujoco_accepts(text):
    mujoco.MjSpec.from_string(text)
    validate(read_xml(text))


@pytest.mark.parametrize(("text", "kind", "message"), REFUSED)
def test_what_mujoco_refuses(text, kind, message):
    with pytest.raises(ValueError):
        mujoco.MjSpec.from_string(text)
    with pytest.raises(kind, match=message):
        validate(read_xml(text))


def test_errors_say_where():
    text = '<mujoco>\n<worldbody>\n<body name="torso">\n<geom size="a"/>\n</body>\n</worldbody>\n</mujoco>'
    with pytest.raises(BadValue) as caught:
        validate(read_xml(text, file="robot.xml"))
    error = caught.value
    assert (error.file, error.line, error.path) == ("robot.xml", 4, "worldbody/body[torso]/geom")
    assert str(error).startswith("robot.xml:4: worldbody/body[torso]/geom: ")


def model_files():
    import dm_control

    found = sorted(pathlib.Path(dm_control.__file__).parent.rglob("*.xml"))
    shared = pathlib.Path(__file__).parents[3] / "shared" / "models"
    return found + sorted(shared.rglob("*.xml"))


@pytest.mark.parametrize("path", model_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_models(path):
    tree = read_xml(path.read_bytes(), file=str(path))
    if tree.tag != "mujoco":
        pytest.skip("not a model")

    def open_file(name, relative_to):
        beside = pathlib.Path(relative_to).parent / name
        return beside.read_bytes(), str(beside.resolve())

    try:
        mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        pytest.skip(f"mujoco cannot load it: {str(error)[:60]}")
    validate(expand_includes(tree, open_file))
