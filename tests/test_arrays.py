"""One uploader: how worlds lie in memory is decided in kinema/arrays.py and nowhere else."""

import pathlib
import re

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.arrays import empty_worlds, flat, per_world, per_world_or_shared, shared
from kinema.convex.engine import Engine

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "kinema"
VIEW = re.compile(r"strides=\(0|strides = .*\(0,|\.transpose\(\(len")


def test_nothing_else_makes_such_views():
    found = [path for path in SOURCE.rglob("*.py") if VIEW.search(path.read_text("utf-8"))]
    assert [path.relative_to(SOURCE).as_posix() for path in found] == ["arrays.py"]


@pytest.mark.parametrize("values", [np.arange(6.0).reshape(2, 3), np.zeros((0, 3))])
def test_shared_rows_are_stored_once(values):
    array = shared(values, 5, wp.vec3, "cpu")
    assert array.shape == (5, len(values)) and array.strides[0] == 0
    np.testing.assert_array_equal(array.numpy(), np.broadcast_to(values, (5, *values.shape)))
    array.stored.assign(values[None] + 1)
    np.testing.assert_array_equal(array.numpy(), np.broadcast_to(values + 1, (5, *values.shape)))


def test_a_number_for_all_worlds():
    array = shared(np.float32(0.002), 3, float, "cpu")
    assert array.shape == (3,)
    np.testing.assert_array_equal(array.numpy(), np.full(3, 0.002, np.float32))


def test_worlds_that_differ():
    values = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    np.testing.assert_array_equal(per_world(values, wp.vec3, "cpu").numpy(), values)
    assert per_world(values, float, "cpu").shape == (2, 3, 3)
    assert per_world_or_shared(values, 2, wp.vec3, "cpu").strides[0] > 0
    assert per_world_or_shared(values[:1], 2, wp.vec3, "cpu").strides[0] == 0
    assert empty_worlds((2, 3), wp.vec3, "cpu").shape == (2, 3)


def test_lists_can_always_be_indexed():
    assert flat([], device="cpu").shape == (1,)
    np.testing.assert_array_equal(flat([3, 4], device="cpu").numpy(), [3, 4])


def test_sizes_of_geoms_live_once():
    m = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    engine = Engine(m, nworld=2, device="cpu")
    assert engine.collider.detector.geoms.size.ptr == engine.array("geom_size").ptr
    engine.set_parameter("geom_size", [[0.2, 0.0, 0.0]])
    np.testing.assert_allclose(engine.collider.detector.geoms.size.numpy()[1], [[0.2, 0.0, 0.0]])
