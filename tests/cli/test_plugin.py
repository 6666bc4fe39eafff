"""--plugin FILE: every command takes it, and the model that uses the plugin then runs."""

import json

import pytest

from kinema.cli.arguments import COMMANDS
from kinema.plugins import find_plugin, unregister

PLUGIN = """
import warp as wp
from kinema.plugins import ActuatorInput, P, plugin

@plugin("test.motor")
class Motor:
    gain: float = 2.0

    @wp.func
    def actuator(x: ActuatorInput, p: P) -> float:
        return p.gain * x.ctrl
"""

MODEL = """<mujoco><extension><plugin plugin="test.motor"/></extension>
<worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" contype="0" conaffinity="0"/></body></worldbody>
<actuator><plugin plugin="test.motor" joint="j"/></actuator></mujoco>"""


@pytest.fixture
def files(tmp_path):
    """A plugin in a file of its own, and a model that uses it."""
    (tmp_path / "motor.py").write_text(PLUGIN)
    (tmp_path / "robot.xml").write_text(MODEL)
    yield tmp_path / "robot.xml", tmp_path / "motor.py"
    unregister("test.motor")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_it(kinema, command):
    assert "--plugin FILE" in kinema(command, "--help")[1]


def test_a_model_that_needs_it(kinema, files):
    model, plugin = files
    code, _, said = kinema("info", model)
    assert code == 2 and "plugin test.motor not found" in said and "--plugin FILE" in said
    code, out, _ = kinema("info", model, "--plugin", plugin, "--json")
    assert code == 0 and json.loads(out)["plugins"]
    assert find_plugin("test.motor") is not None


def test_a_folder(kinema, files):
    model, plugin = files
    assert kinema("info", model, "--plugin", plugin.parent)[0] == 0


def test_a_file_that_is_not_there_or_is_broken(kinema, files, tmp_path):
    model, _ = files
    code, _, said = kinema("run", model, "--plugin", tmp_path / "none.py")
    assert code == 2 and "no plugin file" in said
    (tmp_path / "broken.py").write_text("1 / 0")
    code, _, said = kinema("run", model, "--plugin", tmp_path / "broken.py")
    assert code == 2 and "broken.py" in said and "ZeroDivisionError" in said


def test_run(kinema, files):
    model, plugin = files
    code, out, said = kinema("run", model, "--plugin", plugin, "--steps", 5, "--ctrl", "random", "--json")
    assert code == 0, said
    assert json.loads(out)["bad worlds"] == 0
