"""A recipe in parts: every stage in its place, and parts that models share."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema import building
from kinema.convex import parts
from kinema.convex.engine import Engine
from kinema.convex.stage import world_kernel

BALL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .2"><freejoint/>
<geom size=".1"/>{geom}</body></worldbody>{sensor}</mujoco>"""


@pytest.fixture(scope="module")
def recipes():
    box, clock = '<geom type="box" size=".1 .1 .1"/>', "<sensor><clock/></sensor>"
    texts = [BALL.format(geom=geom, sensor=sensor) for geom, sensor in (("", ""), (box, ""), ("", clock))]
    return [Engine(mujoco.MjModel.from_xml_string(text), 1, device="cpu").recipes["step"] for text in texts]


def test_every_stage_stands_where_it_stood(recipes):
    for recipe in recipes:
        assert sum(parts.parts(recipe), ()) == recipe
        assert 5 < len(parts.parts(recipe)) < 20


@pytest.mark.parametrize("changed", [1, 2], ids=["a geom", "a sensor"])
def test_adding_something_leaves_most_parts_as_they_are(recipes, changed):
    before, after = parts.parts(recipes[0]), parts.parts(recipes[changed])
    assert len(set(after) - set(before)) == 1


def test_parts_give_the_bits_of_one_kernel():
    m = mujoco.MjModel.from_xml_string(BALL.format(geom="", sensor=""))
    one, other = Engine(m, 3, device="cpu"), Engine(m, 3, device="cpu")
    for engine in (one, other):
        engine.write("qvel", np.random.default_rng(0).normal(size=(3, 6)))
    one.step(40)
    wp.launch(world_kernel(other.recipes["step"]), dim=3, inputs=[other.m, other.d, 0, 40, 1], device="cpu")
    for name in ("qpos", "qvel", "qacc", "efc_force", "contact_dist"):
        assert one.read(name).tobytes() == other.read(name).tobytes()
    assert one.read("ncon").max() > 0


def test_compiling_is_told_with_the_time_it_took_last(monkeypatch, tmp_path):
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))
    heard = []
    with building.listening(heard.append):
        assert [building.timed("rows: place", "1 of 2", lambda: 7) for _ in range(2)] == [7, 7]
    assert building.timed("rows: place", "1 of 2", lambda: 8) == 8  # nobody listens any more
    assert heard == ["compiling rows: place, 1 of 2", "compiling rows: place, 1 of 2 (0.0 s last time)"]


def test_parts_are_called_by_what_they_are_about(recipes):
    titles = [parts.title(part) for part in parts.parts(recipes[0])]
    assert titles[0] == "poses: check_position" and "collision: detect" in titles and len(set(titles)) == len(titles)
