"""Height fields against MuJoCo: one contact a prism, in its order."""

import numpy as np
import pytest
from oracle import compare, random_poses, two_geoms
from shapes import ASSET, GEOM

# Boxes and meshes without a margin: MuJoCo stops EPA at the first repeated vertex of the shape whatever the prism's, so
# that its answer depends on ties; half of the poses are unstable there, and fewer of the others can agree.
SHARP = {"box", "cube", "rock"}


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "ellipsoid", "cylinder", "box", "cube", "rock"])
def test_shape_on_hfield(kind, margin):
    m = two_geoms(GEOM["hfield"] + f' margin="{margin}"', GEOM[kind] + f' margin="{margin}"', asset=ASSET)
    rng = np.random.default_rng(7)
    qpos = random_poses(m, rng, 80)
    qpos[:, :3] = rng.uniform([-0.9, -0.8, -0.1], [1.0, 1.0, 0.5], size=(80, 3))
    score = compare(m, qpos, rng, tol=1e-5)
    assert score.touching > 20
    assert score.fraction >= (0.8 if kind in SHARP and margin == 0 else 0.9), score.failures
