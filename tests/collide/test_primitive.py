"""Analytic pairs against MuJoCo: hundreds of poses for each pair of types."""

import numpy as np
import pytest
from oracle import compare, random_poses, two_geoms

GEOM = {
    "plane": 'type="plane" size="3 3 .1" quat=".9 .3 -.2 .1" pos=".1 .2 -.1"',
    "sphere": 'type="sphere" size=".21"',
    "capsule": 'type="capsule" size=".11 .3"',
    "ellipsoid": 'type="ellipsoid" size=".2 .35 .13"',
    "cylinder": 'type="cylinder" size=".22 .31"',
    "box": 'type="box" size=".2 .3 .12"',
}
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
    print(score, score.worst, score.failures[:4])
    assert score.touching > 100
    assert score.fraction >= 0.99


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair, margin):
    m = two_geoms(*(GEOM[t] + f' margin="{margin}"' for t in pair))
    rng = np.random.default_rng(7)
    score = compare(m, random_poses(m, rng, 300), rng, tol=1e-5, ordered=pair != ("box", "box"))
    print(score, score.worst, score.failures[:4])
    assert score.touching > 50
    assert score.judged > 200
    assert score.fraction >= 0.99
