"""Convex pairs and height fields with nativeccd disabled, against MuJoCo's libccd."""

import mujoco
import numpy as np
import pytest
from oracle import compare, random_poses, two_geoms
from shapes import ASSET, GEOM

NATIVE = int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)
PAIRS = [
    ("sphere", "rock"),
    ("capsule", "cylinder"),
    ("capsule", "rock"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "box"),
    ("cylinder", "cylinder"),
    ("cylinder", "box"),
    ("cube", "rock"),
    ("rock", "rock"),
]


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair(pair, margin):
    """Same contacts in the same order, those found by tilting included."""
    m = two_geoms(*(GEOM[t] + f' margin="{margin}"' for t in pair), asset=ASSET)
    m.opt.disableflags |= NATIVE
    rng = np.random.default_rng(7)
    score = compare(m, random_poses(m, rng, 150), rng, tol=1e-5)
    assert score.touching > 30
    assert score.judged > 120
    assert score.fraction >= 0.97, score.failures


def test_one_contact_without_multiccd():
    m = two_geoms(GEOM["cylinder"], GEOM["rock"], asset=ASSET)
    m.opt.disableflags |= NATIVE | int(mujoco.mjtDisableBit.mjDSBL_MULTICCD)
    rng = np.random.default_rng(8)
    score = compare(m, random_poses(m, rng, 100), rng, tol=1e-5)
    assert score.touching > 20
    assert score.fraction >= 0.97, score.failures


@pytest.mark.parametrize("kind", ["sphere", "capsule", "ellipsoid", "cylinder", "rock"])
def test_shape_on_hfield(kind):
    m = two_geoms(GEOM["hfield"], GEOM[kind], asset=ASSET)
    m.opt.disableflags |= NATIVE
    rng = np.random.default_rng(7)
    qpos = random_poses(m, rng, 80)
    qpos[:, :3] = rng.uniform([-0.9, -0.8, -0.1], [1.0, 1.0, 0.5], size=(80, 3))
    score = compare(m, qpos, rng, tol=1e-5)
    assert score.touching > 20
    assert score.fraction >= 0.97, score.failures
