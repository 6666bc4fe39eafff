"""The examples of plugins run, and print what they promise."""

import importlib.util
import pathlib
import re

import pytest
import warp as wp

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(name: str, capsys) -> str:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wp.init()  # greets on stdout
    capsys.readouterr()
    module.main()
    return "\n".join(line for line in capsys.readouterr().out.splitlines() if not line.startswith("Module "))


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+\.?\d*", text)]


def test_actuator(capsys):
    lines = run("plugin_actuator", capsys).splitlines()
    sag = [numbers(line)[1] for line in lines]
    assert len(lines) == 3 and sag[0] > sag[1] > sag[2] > 0
    # the spring carries the arm: k x = m g l / 2 cos
    assert sag[2] == pytest.approx(57.3 * 9.81 * 0.25 * 0.88 / 200, rel=0.02)


def test_sensor(capsys):
    lines = run("plugin_sensor", capsys).splitlines()
    assert numbers(lines[0])[1] == pytest.approx(3.28084 * (100 - 9.81 / 2), abs=0.2)
    assert [numbers(line)[-1] for line in lines[:3]] == [499, 999, 1499]
    assert lines[3].endswith("[0.0, 1500.0]")


def test_passive(capsys):
    storm, calm = numbers(run("plugin_passive", capsys))
    # drag v^2 cos = weight sin on the pendulum
    assert abs(storm) == pytest.approx(52.5, abs=0.2) and calm == 0.0


def test_sdf(capsys):
    _, dice, ball = numbers(run("plugin_sdf", capsys))
    assert dice == pytest.approx(0.3, abs=2e-3) and ball == pytest.approx(0.7, abs=3e-3)
