"""Programs written for PyMJCF run unchanged: dm_control's own walkers, arenas and props, built with kinema.mjcf.

A program runs twice in processes of their own, once as it is and once with kinema.mjcf in the place of dm_control.mjcf,
and both must write the same document. Where a file includes others, assets come in another order, and compiled models
are compared.
"""

import json
import pathlib
import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest

PROGRAM = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
if sys.argv[1] == "kinema":
    import dm_control
    import kinema.mjcf
    sys.modules["dm_control.mjcf"] = dm_control.mjcf = kinema.mjcf
    for name in ("attribute base constants copier debugging element namescope parser physics schema skin "
                 "traversal_utils").split():
        sys.modules["dm_control.mjcf." + name] = importlib.import_module("kinema.mjcf." + name)

import numpy as np
from dm_control import composer
from dm_control.entities.manipulators import kinova
from dm_control.entities.props import primitive
from dm_control.locomotion.arenas import corridors, floors
from dm_control.locomotion.walkers import ant, cmu_humanoid, rodent

def walker(kind):
    arena = floors.Floor()
    arena.add_free_entity(kind())
    return arena

def corridor():
    arena = corridors.GapsCorridor()
    arena.regenerate(np.random.RandomState(0))
    arena.add_free_entity(cmu_humanoid.CMUHumanoid())
    return arena

def props():
    arena = floors.Floor()
    for shape, size in (("sphere", [.1]), ("box", [.1, .2, .3]), ("capsule", [.1, .2])):
        arena.add_free_entity(primitive.Primitive(geom_type=shape, size=size, name=shape))
    return arena

def jaco():
    arena, arm = composer.Arena(), kinova.JacoArm()
    arm.attach(kinova.JacoHand())
    arena.attach(arm)
    return arena

made = {"ant": walker(ant.Ant), "rodent": walker(rodent.Rat), "corridor": corridor(), "props": props(), "jaco": jaco()}
out = {}
for name, arena in made.items():
    model = arena.mjcf_model
    files = {key: value.hex() for key, value in model.get_assets().items()} if name == "jaco" else {}
    out[name] = (model.to_xml_string(), sorted(model.get_assets()), files)
json.dump(out, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    source = str(pathlib.Path(__file__).parents[2] / "src")
    found = {}
    for package in ("dm_control", "kinema"):
        report = folder / f"{package}.json"
        command = [sys.executable, str(program), package, str(report)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=source)
        assert done.returncode == 0, done.stderr
        found[package] = json.loads(report.read_text())
    return found


def shortest(text: str) -> str:
    """A document with the shortest text of every number: PyMJCF writes 17 digits."""
    return re.sub(r"(?<=[\s\"])-?\d+\.?\d*(?:e[-+]\d+)?(?=[\s\"])", lambda number: repr(float(number[0])), text)


@pytest.mark.parametrize("name", ["ant", "rodent", "corridor", "props"])
def test_same_document(written, name):
    ours, theirs = written["kinema"][name], written["dm_control"][name]
    assert shortest(ours[0]) == shortest(theirs[0])
    assert ours[1] == theirs[1]


def test_same_model_where_files_are_included(written):
    models = []
    for package in ("kinema", "dm_control"):
        xml, names, files = written[package]["jaco"]
        assert sorted(files) == names
        models.append(mujoco.MjModel.from_xml_string(xml, {name: bytes.fromhex(data) for name, data in files.items()}))
    ours, theirs = models
    for field in ("body_pos", "body_quat", "body_inertia", "jnt_range", "geom_size", "actuator_gainprm", "qpos0"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field), err_msg=field)
    assert [ours.body(n).name for n in range(ours.nbody)] == [theirs.body(n).name for n in range(theirs.nbody)]
