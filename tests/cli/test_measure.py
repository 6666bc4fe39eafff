"""kinema warm and kinema bench: they run what they measure."""

import json
import re
from pathlib import Path

import mujoco
import pytest

from kinema.cli.bench import scenes


def test_warm_says_how_long_and_where(kinema, arm):
    seconds = []
    for _ in range(2):
        code, out, _ = kinema("warm", arm)
        assert code == 0 and "cache:" in out
        seconds.append(float(re.search(r"arm\.xml +(\d+\.\d) s", out)[1]))
    assert seconds[1] < 3  # the first call has left nothing to do


def test_warm_takes_the_models_of_a_folder(kinema, arm, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "arm.xml").write_text(Path(arm).read_text())
    (tmp_path / "part.xml").write_text("<mujoco><default/></mujoco>")  # to be included
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody><geom sice='1'/></worldbody></mujoco>")
    code, out, _ = kinema("warm", tmp_path)
    assert code == 0 and re.search(r"deep/arm\.xml +\d+\.\d s", out)
    assert "part.xml" not in out and re.search(r"broken\.xml +left out: .*sice", out)


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
