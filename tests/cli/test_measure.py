"""kinema warm and kinema bench: they run what they measure."""

import json

import mujoco
import pytest

from kinema.cli.bench import scenes


def test_warm_says_how_long_and_where(kinema, arm):
    code, out, _ = kinema("warm", arm)
    assert code == 0 and "arm.xml" in out and "cache:" in out
    assert "was warm" in kinema("warm", arm)[1]


def test_bench_of_a_model_beside_mujoco(kinema, arm):
    code, out, _ = kinema("bench", arm, "--worlds", "1,4", "--steps", 20, "--json")
    rows = json.loads(out)
    assert code == 0 and [row["worlds"] for row in rows] == [1, 4]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["kinema"] / row["mujoco"])
        assert row["realtime"] == pytest.approx(row["kinema"] * 0.01)


def test_built_in_scenes_are_models():
    made = {name: mujoco.MjModel.from_xml_string(xml) for name, xml in scenes().items()}
    assert made["objects"].nv == 32 * 6 and made["chain"].nv == 20


def test_numbers_of_worlds_are_checked(kinema, arm):
    code, _, err = kinema("bench", arm, "--worlds", "1,x")
    assert code == 2 and "--worlds 1,x" in err
