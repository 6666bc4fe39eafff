"""Arrays that are made when they are first read."""

import copy
import pickle

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.compile.deferred import DeferredArrays


def test_made_once_when_read():
    made = []
    arrays = DeferredArrays({"a": np.ones(2)})
    arrays.later("b", lambda: made.append(1) or np.arange(3))
    assert list(arrays) == ["a", "b"] and "b" in arrays and len(arrays) == 2 and not made
    assert arrays["b"].tolist() == [0, 1, 2] == arrays["b"].tolist()
    assert made == [1]


def test_a_written_array_is_not_made():
    arrays = DeferredArrays()
    arrays.later("b", lambda: pytest.fail("not wanted any more"))
    arrays["b"] = np.zeros(1)
    assert arrays["b"].tolist() == [0]
    arrays.later("c", lambda: pytest.fail("not wanted any more"))
    del arrays["c"]
    assert "c" not in arrays and arrays.get("c") is None


def test_taken_over_unmade():
    made = []
    first, second = DeferredArrays(), DeferredArrays({"a": np.ones(1)})
    second.later("b", lambda: made.append(1) or np.arange(3))
    first.take(second)
    assert not made and first["b"].tolist() == [0, 1, 2] and first["a"].tolist() == [1]


@pytest.mark.parametrize("copied", [dict, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a)), lambda a: {**a}])
def test_copies_hold_the_arrays(copied):
    arrays = DeferredArrays()
    arrays.later("b", lambda: np.arange(3))
    assert copied(arrays)["b"].tolist() == [0, 1, 2]


def test_pixels_of_a_pattern_are_drawn_when_read():
    sky = '<texture type="skybox" builtin="gradient" mark="random" width="32"/>'
    m = compile_model(f"<mujoco><asset>{sky}</asset></mujoco>")
    assert m.ntexdata == 6 * 32 * 32 * 3 and "tex_data" in m.arrays._later
    assert len(m.tex_data) == m.ntexdata and "tex_data" not in m.arrays._later
