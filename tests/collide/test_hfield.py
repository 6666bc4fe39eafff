"""Height fields against MuJoCo: one contact a prism, in its order."""

import numpy as np
import pytest
from oracle import compare, random_poses, two_geoms
from shapes import ASSET, GEOM

# Boxes and meshes without a margin: the corners of a prism have no number, and MuJoCo ends EPA at the first corner of
# the shape that it has seen before, whatever corner of the prism came with it. A face of the polytope often holds an
# edge of the shape; then both its corners are supports, and the last bit of MuJoCo's doubles chooses. More than half of
# the poses change under noise of 1e-6, and shapes and fields in float32 decide some of the others otherwise.
SHARP = {"box", "cube", "rock"}


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "ellipsoid", "cylinder", "box", "cube", "rock"])
def test_shape_on_hfield(kind, margin):
    m = two_geoms(GEOM["hfield"] + f' margin="{margin}"', GEOM[kind] + f' margin="{margin}"', asset=ASSET)
    rng = np.random.default_rng(7)
    sharp = kind in SHARP and margin == 0
    n = 300 if sharp else 80
    qpos = random_poses(m, rng, n)
    qpos[:, :3] = rng.uniform([-0.9, -0.8, -0.1], [1.0, 1.0, 0.5], size=(n, 3))
    score = compare(m, qpos, rng, tol=1e-5, trials=12 if sharp else 3)
    assert score.touching > 20
    assert score.fraction >= (0.94 if sharp else 0.97), score.failures
