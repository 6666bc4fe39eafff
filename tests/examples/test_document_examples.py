"""The examples of the document layer run, and print what they promise."""

import pathlib
import subprocess
import sys

import mujoco
import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_arms():
    assert run("document_arms").splitlines() == [
        "left_arm/shoulder",
        "left_arm/elbow",
        "right_arm/shoulder",
        "right_arm/elbow",
        '<motor name="right_arm/elbow" class="right_arm/" joint="right_arm/hinge"/>',
    ]


def test_attachment_frames():
    lines = run("document_attachment_frames").splitlines()
    assert lines[0] == '<body pos="1 2 3" quat="1 0 0 1" name="child/">'
    assert lines[1].strip() == '<joint name="child/lift/" class="/" type="slide" axis="0 0 1"/>'
    assert lines[2].strip().startswith('<geom name="child/bar" class="child/"')
    assert "<geom> is not a valid child of <body>" in lines[4]
    assert lines[5:] == ["['parent/', 'parent/child/lift/']", "0 joints after detaching"]


def test_defaults():
    text = run("document_defaults")
    lines = text.splitlines()
    assert lines[0] == "green [0. 1. 0. 1.] None"
    for name in ("/", "green", "child/", "child/stiff"):
        assert f'<default class="{name}">' in text
    assert '<joint name="child/hinge" class="child/stiff"/>' in text
    assert lines[-1] == "[0. 1. 0. 1.]"


def test_conflicts():
    lines = run("document_conflicts").splitlines()
    assert "Conflicting values for attribute `angle`: radian vs degree" in lines[0]
    assert lines[1] == "timestep 0.002 0.002"
    assert lines[2] == "[ 0.  0. 90.] [0.  0.  0.5]"
    m = mujoco.MjModel.from_xml_string("\n".join(lines[3:]))
    assert m.body("door").quat[0] == pytest.approx(0.70711, abs=1e-4)
    assert m.body("child/latch").quat[0] == pytest.approx(0.96891, abs=1e-4)
