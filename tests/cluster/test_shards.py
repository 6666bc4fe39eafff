"""Records written as files hold what would have been brought back."""

import json

import numpy as np
import pytest

from kinema.cluster import LocalExecutor, read_shards, rollout
from kinema.errors import ResourceError
from tests.cluster.samples import PENDULUM, damp, scattered

GIVEN = dict(worlds=7, steps=11, policy=damp, initial=scattered, every=2, block=3, chunk=4, record=("qpos", "time"))


def test_shards_hold_the_records(tmp_path):
    there = rollout(PENDULUM, **GIVEN)
    written = rollout(PENDULUM, **GIVEN, out=tmp_path / "run", executor=LocalExecutor(2))
    assert written.arrays == {} and len(written.shards) == 9
    found = read_shards(tmp_path / "run")
    assert set(found) == {"qpos", "time"}
    for name, values in there.arrays.items():
        np.testing.assert_array_equal(found[name], values)
    contents = json.loads((tmp_path / "run" / "rollout.json").read_text())
    assert contents["worlds"] == 7 and contents["records"] == 5 and contents["timestep"] == 0.01
    assert not list((tmp_path / "run").glob("*.part"))


def test_an_unfinished_rollout_is_not_read(tmp_path):
    with pytest.raises(ResourceError, match="did not finish"):
        read_shards(tmp_path)
