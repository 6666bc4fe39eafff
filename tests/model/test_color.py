"""Colouring: no two neighbours share a colour, worlds are coloured alike, groups are the colours' rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinema.model import ModelBuilder
from kinema.model.color import ColoringAlgorithm, color_graph


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.data(), st.sampled_from(ColoringAlgorithm), st.sampled_from([None, 1.0, 1.5]))
def test_neighbours_differ(count, data, algorithm, ratio):
    node = st.integers(0, count - 1)
    edges = np.array(data.draw(st.lists(st.tuples(node, node), max_size=40)), dtype=int).reshape(-1, 2)
    colors = color_graph(count, edges, algorithm, ratio)
    degree = np.bincount(np.unique(np.sort(edges, axis=1), axis=0).reshape(-1), minlength=count).max()
    assert all(colors[a] != colors[b] for a, b in edges if a != b)
    assert 0 <= colors.min() and colors.max() <= degree


def cloth() -> ModelBuilder:
    b = ModelBuilder()
    b.add_cloth_grid(pos=(0, 0, 0), rot=(0, 0, 0, 1), vel=(0, 0, 0), dim_x=4, dim_y=3, cell_x=0.1, cell_y=0.1, mass=0.1,
                     add_springs=True)  # fmt: skip
    links = [b.add_link(mass=1.0, inertia=np.eye(3)) for _ in range(3)]
    b.add_articulation([b.add_joint_revolute(p, c) for p, c in ((-1, 0), (0, 1), (1, 2))])
    assert links == [0, 1, 2]
    return b


@pytest.mark.parametrize("bending", [False, True])
def test_cloth(bending):
    template = cloth()
    template.color(include_bending=bending)
    b = ModelBuilder()
    b.replicate(template, 2)
    model = b.finalize("cpu")
    colors = model.particle_colors.numpy()
    elements = [model.tri_indices.numpy(), *([model.edge_indices.numpy()] if bending else [])]
    for rows in elements:
        for row in rows:
            corners = row[row >= 0]
            assert len(set(colors[corners])) == len(corners)
    half = model.particle_count // 2
    np.testing.assert_array_equal(colors[:half], colors[half:])
    groups = [group.numpy() for group in model.particle_color_groups]
    assert sorted(np.concatenate(groups)) == list(range(model.particle_count))
    assert all((colors[group] == number).all() for number, group in enumerate(groups))
    bodies = model.body_colors.numpy()
    for parent, child in zip(model.joint_parent.numpy(), model.joint_child.numpy(), strict=True):
        assert parent < 0 or bodies[parent] != bodies[child]


def test_balancing_evens_out_groups():
    star = np.array([(0, i) for i in range(1, 7)] + [(7, 0)])
    plain, even = (np.bincount(color_graph(20, star, balance_ratio=ratio)) for ratio in (None, 1.1))
    assert np.ptp(even) < np.ptp(plain) and even.sum() == 20


def test_given_colours():
    b = cloth()
    b.set_coloring([np.arange(0, 20, 2), np.arange(1, 20, 2)])
    model = b.finalize("cpu")
    assert model.particle_colors.numpy().tolist() == [0, 1] * 10
    with pytest.raises(ValueError, match="particle 99"):
        cloth().set_coloring([[99]])
