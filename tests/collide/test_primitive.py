"""Analytic pairs against MuJoCo: hundreds of poses for each pair of types."""

import numpy as np
import pytest
from oracle import compare, random_poses, two_geoms
from shapes import GEOM

PAIRS = [
    ("plane", "sphere"),
    ("plane", "capsule"),
    ("plane", "ellipsoid"),
    ("plane", "cylinder"),
    ("plane", "box"),
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "cylinder"),
    ("sphere", "box"),
    ("capsule", "capsule"),
    ("capsule", "box"),
    ("box", "box"),
]


def parallel_poses(m, rng: np.random.Generator, n: int) -> np.ndarray:
    """Poses with parallel axes and faces, in contact and with sliding offsets."""
    qpos = random_poses(m, rng, n, aligned=1.0)
    qpos[:, -7:-4] = (qpos[:, :3] if m.njnt == 2 else 0.0) + rng.uniform(-0.35, 0.35, size=(n, 3))
    return qpos


@pytest.mark.parametrize("pair", [("capsule", "capsule"), ("capsule", "box"), ("box", "box")], ids="-".join)
def test_parallel(pair):
    m = two_geoms(*(GEOM[t] for t in pair))
    rng = np.random.default_rng(8)
    score = compare(m, parallel_poses(m, rng, 300), rng, tol=1e-5, ordered=False)
    assert score.touching > 100
    assert score.fraction >= 0.99, score.failures


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair, margin):
    m = two_geoms(*(GEOM[t] + f' margin="{margin}"' for t in pair))
    rng = np.random.default_rng(7)
    score = compare(m, random_poses(m, rng, 300), rng, tol=1e-5, ordered=pair != ("box", "box"))
    assert score.touching > 50
    assert score.judged > 200
    assert score.fraction >= 0.99, score.failures
