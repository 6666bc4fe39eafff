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


def same_models(make):
    """Models of both libraries, made by a function of a library and a builder, compared."""
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    models, found = [], []
    for library in (newton, kinema):
        builder = library.ModelBuilder()
        found.append(quietly(lambda b=builder, lib=library: make(lib, b)))
        models.append(quietly(lambda b=builder: b.finalize("cpu", skip_validation_joints=True)))
    assert found[0] == found[1] and found[1][1]
    assert not differences(*models, compared_fields("body_", "joint_", "articulation_", "shape_"))
    assert models[1].shape_collision_filter_pairs == {
        tuple(map(int, pair)) for pair in models[0].shape_collision_filter_pairs
    }
    return models[1]


STAR = [(0.0, 0.0, 1.0), (0.3, 0.0, 1.0), (0.6, 0.1, 1.0), (0.3, 0.4, 1.2), (0.3, 0.0, 0.4), (2, 0, 0), (2.5, 0, 0)]
GRAPHS = {
    "a junction": (STAR[:5], [(0, 1), (1, 2), (3, 1), (1, 4)]),
    "two parts": (STAR, [(0, 1), (2, 1), (1, 3), (5, 6), (1, 4)]),
    "a circle": (STAR[:4], [(0, 1), (1, 2), (2, 3), (3, 0)]),
}


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_newtons(name, wrapped):
    points, edges = GRAPHS[name]
    options = {"label": "net", "bend_stiffness": 3.0, "body_frame_origin": "com", "wrap_in_articulation": wrapped}
    model = same_models(lambda library, builder: builder.add_rod_graph(points, edges, **options))
    assert model.articulation_count == ((2 if name == "two parts" else 1) if wrapped else 0)
    again = kinema.ModelBuilder()
    quietly(lambda: again.add_rod(rod=kinema.Rod(points, edges=edges), **options))
    np.testing.assert_allclose(again.joint_X_p, model.joint_X_p.numpy(), atol=1e-6)


MATERIALS = {
    "moduli": {"radius": 0.02, "youngs_modulus": 1e6, "poissons_ratio": 0.3},
    "shear": {"radius": 0.02, "youngs_modulus": 1e6, "shear_modulus": 2e5},
    "rigidities": {"stretch_rigidity": 10.0, "shear_rigidity": 4.0, "bend_rigidity": 0.3, "twist_rigidity": 0.2},
}


@pytest.mark.parametrize("name", MATERIALS)
def test_what_a_rod_is_made_of_gives_stiffness(name):
    options = {"bend_damping": 0.1, "body_frame_origin": "start", "twist_stiffness": 5.0 if name == "shear" else None}
    model = same_models(lambda library, b: b.add_rod(rod=library.Rod(LINE, **MATERIALS[name]), **options))
    assert len(np.unique(model.joint_target_ke.numpy()[6:].round(6))) > 4  # joints between segments of other lengths


def test_rods_have_newtons_frames():
    newton = pytest.importorskip("newton", reason="the newton package is the oracle of this test")
    for make in (
        lambda library: library.Rod(LINE),
        lambda library: library.Rod(RING, closed=True),
        lambda library: library.Rod(STAR[:4], edges=[(0, 1), (2, 1), (1, 3)]),
        lambda library: library.Rod.create_straight((1, 0, 0), (0, 2, 1), 3.0, segment_count=4, twist_total=1.2),
    ):
        theirs, ours = make(newton), make(kinema)
        for name in ("points", "edges", "quaternions", "segment_lengths"):
            a, b = getattr(theirs, name), getattr(ours, name)
            assert a.dtype == b.dtype, name
            np.testing.assert_allclose(b, a, atol=2e-6, err_msg=name)


def test_a_rod_of_newtons_is_taken():
    newton = pytest.importorskip("newton", reason="it makes the rod")
    builder, twin = kinema.ModelBuilder(), kinema.ModelBuilder()
    rod = newton.Rod(LINE, radius=0.05)
    builder.add_rod(rod=rod)
    twin.add_rod(LINE, radius=0.05, quaternions=rod.quaternions)
    np.testing.assert_array_equal(builder.body_q, twin.body_q)


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
    with pytest.raises(BuildError, match="add_rod_graph.*edge 1, .1, 9.: there are 4 points"):
        builder.add_rod_graph(LINE, [(0, 1), (1, 9)])
    with pytest.raises(BuildError, match="branches needs stiffnesses"):
        builder.add_rod(rod=kinema.Rod(STAR[:4], edges=[(0, 1), (1, 2), (1, 3)], **MATERIALS["moduli"]))
    with pytest.raises(BuildError, match="radius=, youngs_modulus= and one of"):
        kinema.Rod(LINE, youngs_modulus=1.0)
    with pytest.raises(BuildError, match="the last point where the first is"):
        kinema.Rod(LINE, closed=True)
    assert builder.body_count == 0
