"""Compiling robots takes at most three times as long as MuJoCo, side by side, meshes cached on both sides."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import mujoco
import pytest

from kinema.compile import compile_model
from tests.conformance.models import SHARED

ROBOTS = (
    "menagerie/shadow_hand/scene_right.xml", "menagerie/agility_cassie/scene.xml", "menagerie/trossen_wx250s/scene.xml",
    "menagerie/google_barkour_vb/scene.xml", "menagerie/tetheria_aero_hand_open/scene_right.xml",
)  # fmt: skip
LIMIT = 3.0


def shortest(work: Callable[[], object], runs: int = 4) -> float:
    """Least processor time of several runs; the first warms the caches."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.skipif(not SHARED.is_dir(), reason="public robots are not beside the project (../shared/models)")
def test_compile_time_beside_mujoco():
    ours = theirs = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ROBOTS:
            path = SHARED / name
            theirs += shortest(lambda path=path: mujoco.MjModel.from_xml_path(str(path)))
            ours += shortest(lambda path=path: compile_model(path))
    assert ours <= LIMIT * theirs, f"{1e3 * ours:.0f} ms against {1e3 * theirs:.0f} ms"
