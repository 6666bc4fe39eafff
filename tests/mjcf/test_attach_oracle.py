"""Composed documents beside MuJoCo's own composition: MjSpec.attach on the same two files."""

import pathlib

import dm_control
import mujoco
import numpy as np
import pytest

from kinema import mjcf

PACKAGE = pathlib.Path(dm_control.__file__).parent
MENAGERIE = pathlib.Path(__file__).parents[3] / "shared" / "models" / "menagerie"

# (parent, child): degrees with radians both ways, classes, tendons, equalities, meshes, keyframes.
PAIRS = [
    (PACKAGE / "suite/walker.xml", PACKAGE / "third_party/kinova/jaco_arm.xml"),
    (PACKAGE / "suite/manipulator.xml", PACKAGE / "third_party/kinova/jaco_hand.xml"),
    (PACKAGE / "suite/point_mass.xml", PACKAGE / "suite/finger.xml"),
    (PACKAGE / "suite/cartpole.xml", MENAGERIE / "robotiq_2f85/2f85.xml"),
    (PACKAGE / "suite/reacher.xml", MENAGERIE / "shadow_hand/right_hand.xml"),
    (PACKAGE / "suite/acrobot.xml", MENAGERIE / "wonik_allegro/right_hand.xml"),
]
PLACE = {"pos": [0.5, -0.25, 1], "quat": [0.5, 0.5, -0.5, 0.5]}

# kind: (count, prefix of its arrays, arrays)
OBJECTS = {
    "joint": ("njnt", "jnt", ["range", "stiffness", "axis", "solref", "actfrcrange"]),
    "geom": ("ngeom", "geom", ["size", "friction", "contype", "condim", "rgba", "solimp"]),
    "body": ("nbody", "body", ["mass", "inertia", "ipos", "iquat"]),
    "actuator": ("nu", "actuator", ["gainprm", "biasprm", "forcerange", "gear"]),
    "tendon": ("ntendon", "tendon", ["range", "stiffness", "width", "damping"]),
    "sensor": ("nsensor", "sensor", ["type", "dim", "cutoff"]),
    "equality": ("neq", "eq", ["type", "data", "solref"]),
}


def ours(parent_file, child_file):
    parent, child = mjcf.from_path(parent_file), mjcf.from_path(child_file)
    child.model = "child"
    site = parent.worldbody.add("site", name="attachment", **PLACE)
    site.attach(child)
    return mujoco.MjModel.from_xml_string(parent.to_xml_string(), parent.get_assets())


def theirs(parent_file, child_file):
    parent, child = mujoco.MjSpec.from_file(str(parent_file)), mujoco.MjSpec.from_file(str(child_file))
    site = parent.worldbody.add_site(name="attachment", **PLACE)
    parent.attach(child, prefix="child/", site=site)
    return parent.compile()


def named(m, kind):
    """Numbers of the elements that have a name of their own."""
    rows = (getattr(m, kind)(number) for number in range(getattr(m, OBJECTS[kind][0])))
    return {row.name: row.id for row in rows if row.name and not row.name.endswith("/") and "unnamed" not in row.name}


@pytest.mark.parametrize(("parent", "child"), PAIRS, ids=lambda path: path.stem)
def test_same_as_mjspec(parent, child):
    if not child.exists():
        pytest.skip(f"{child} is not there")
    try:
        expected = theirs(parent, child)
        found = ours(parent, child)
    except ValueError as error:
        if "Conflicting values" not in str(error):
            raise
        pytest.skip(f"PyMJCF's rules refuse this pair: {error}")
    compared = 0
    for kind, (_, prefix, fields) in OBJECTS.items():
        mine, reference = named(found, kind), named(expected, kind)
        assert set(reference) <= set(mine), kind
        for field in fields:
            arrays = getattr(found, f"{prefix}_{field}"), getattr(expected, f"{prefix}_{field}")
            for name, number in reference.items():
                told = f"{kind} {name} {field}"
                np.testing.assert_allclose(arrays[0][mine[name]], arrays[1][number], atol=1e-9, err_msg=told)
                compared += 1
    assert compared > 50
    data = mujoco.MjData(found), mujoco.MjData(expected)
    for m, d in zip((found, expected), data, strict=True):
        mujoco.mj_forward(m, d)
    mine = named(found, "geom")
    for name, number in named(expected, "geom").items():
        np.testing.assert_allclose(data[0].geom_xpos[mine[name]], data[1].geom_xpos[number], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(data[0].geom_xmat[mine[name]], data[1].geom_xmat[number], atol=1e-9, err_msg=name)
