"""The examples with soft bodies do what they say; run by MuJoCo, which needs no kernels."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("deformables", EXAMPLES / "deformables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_hand_lifts_the_ball(example, capsys):
    assert example.main(["ball", "--seconds", "0.8", "--solver", "mujoco"]) > 0.03
    assert "64 particles" in capsys.readouterr().out


def test_the_towel_hangs_on_the_humanoid(example):
    assert example.main(["towel", "--seconds", "0.5", "--solver", "mujoco"]) > 0.15


def test_the_rope_turns_the_pulleys(example, tmp_path):
    picture = tmp_path / "rope.png"
    assert example.main(["rope", "--seconds", "0.3", "--solver", "mujoco", "--picture", str(picture)]) > 0.05
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
