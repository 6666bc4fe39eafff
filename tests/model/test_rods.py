"""Rods along points have the rows that Newton gives them."""

from __future__ import annotations

import numpy as np
import pytest

import kinema
from kinema.errors import BuildError

from .newton_arrays import compared_fields, differences, quietly

LINE = [(0.0, 0.0, 1.0), (0.3, 0.0, 1.0), (0.5, 0.2, 1.1), (0.5, 0.2, 1.6)]
RING = [(np.cos(t), np.sin(t), 0.0) for t in np.linspace(0.0, 2.0 * np.pi, 7)]


@pytest.mark.parametrize("points, options", [
    (LINE, {"label": "rope", "body_frame_origin": "start"}),
    (LINE, {"body_frame_origin": "com", "radius": 0.02, "bend_stiffness": 3.0, "bend_damping": 0.1}),
    (RING, {"closed": True, "label": "ring", "body_frame_origin": "com", "twist_stiffness": 2.0}),
])  # fmt: skip
def test_rows_are_newtons(points, options):
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    models = []
    for library in (newton, kinema):
        builder = library.ModelBuilder()
        found = quietly(lambda b=builder: b.add_rod(points, **options))
        joints = len(points) - (1 if "closed" in options else 2)
        assert found[0] == list(range(len(points) - 1)) and len(found[1]) == joints
        models.append(quietly(lambda b=builder: b.finalize("cpu")))
    assert not differences(*models, compared_fields("body_", "joint_", "articulation_", "shape_"))
    assert models[1].shape_collision_filter_pairs == {
        tuple(map(int, pair)) for pair in models[0].shape_collision_filter_pairs
    }


def test_a_rod_of_newtons_is_taken():
    newton = pytest.importorskip("newton")
    builder, twin = kinema.ModelBuilder(), kinema.ModelBuilder()
    rod = newton.Rod(LINE, radius=0.05)
    builder.add_rod(rod=rod)
    twin.add_rod(LINE, radius=0.05, quaternions=rod.quaternions)
    np.testing.assert_array_equal(builder.body_q, twin.body_q)
    with pytest.raises(BuildError, match="branches"):
        builder.add_rod(rod=newton.Rod(LINE, edges=[(0, 1), (1, 2), (1, 3)]))


def test_what_is_wrong_is_said():
    builder = kinema.ModelBuilder()
    with pytest.raises(BuildError, match="three points; got 2"):
        builder.add_rod(LINE[:2])
    with pytest.raises(BuildError, match="segment 1 has length 0"):
        builder.add_rod([LINE[0], LINE[1], LINE[1]])
    with pytest.raises(BuildError, match="quaternion 0 does not turn z"):
        builder.add_rod(LINE, quaternions=[(0, 0, 0, 1)] * 3)
    with pytest.raises(BuildError, match="'middle' is not 'start' or 'com'"):
        builder.add_rod(LINE, body_frame_origin="middle")
    assert builder.body_count == 0
