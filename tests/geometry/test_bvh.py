"""Bounding volume hierarchies: invariants, and MuJoCo's tree over the geoms of a body."""

import mujoco
import numpy as np
import pytest

from kinema.geometry.bvh import build, circumcenter, mesh_bvh


def boxes(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    center, half = rng.normal(size=(count, 3)), rng.uniform(0.01, 0.3, (count, 3))
    return center, center - half, center + half


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 31, 100, 1000])
def test_every_node_holds_its_children_and_every_element_is_a_leaf(count):
    center, lower, upper = boxes(count)
    tree = build(center, lower, upper)
    assert len(tree.nodeid) == 2 * count - 1
    leaf = tree.nodeid >= 0
    assert sorted(tree.nodeid[leaf]) == list(range(count))
    assert (tree.child[leaf] == -1).all() and (tree.child[~leaf] > 0).all()
    low, high = tree.aabb[:, :3] - tree.aabb[:, 3:], tree.aabb[:, :3] + tree.aabb[:, 3:]
    for side in range(2):
        inner = np.flatnonzero(~leaf)
        child = tree.child[inner, side]
        assert (low[inner] <= low[child] + 1e-12).all() and (high[inner] >= high[child] - 1e-12).all()
        assert (tree.depth[child] == tree.depth[inner] + 1).all()
    assert tree.depth.max() == np.ceil(np.log2(count))


def test_nothing():
    tree = build(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))
    assert tree.child.shape == (0, 2) and tree.aabb.shape == (0, 6)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20])
def test_tree_of_a_body_is_mujocos(count):
    """The same function serves bodies: elements are geoms, boxes are in the frame of the body's inertia."""
    rng = np.random.default_rng(count)
    positions = rng.uniform(-1, 1, (count, 3)).round(3)
    geoms = "".join(f'<geom type="sphere" size=".1" pos="{x} {y} {z}"/>' for x, y, z in positions)
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    xml = f"<mujoco><worldbody><body>{inertial}{geoms}</body></worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    start, number = model.body_bvhadr[1], model.body_bvhnum[1]
    tree = build(positions, positions - 0.1, positions + 0.1, ids=np.arange(count, dtype=np.int32))
    part = slice(start, start + number)
    assert (tree.nodeid == model.bvh_nodeid[part]).all()
    assert (tree.child == model.bvh_child[part]).all()
    assert (tree.depth == model.bvh_depth[part]).all()
    assert tree.aabb == pytest.approx(model.bvh_aabb[part], abs=1e-12)


def test_ties_go_by_number():
    center = np.zeros((6, 3))
    tree = build(center, center - 1, center + 1, ids=np.arange(10, 16, dtype=np.int32))
    assert tree.nodeid[tree.nodeid >= 0].tolist() == list(range(10, 16))


def test_circumcenter_is_equally_far_from_all_corners():
    a, b, c = np.random.default_rng(0).normal(size=(3, 50, 3))
    center = circumcenter(a, b, c)
    radius = [np.linalg.norm(center - corner, axis=1) for corner in (a, b, c)]
    assert radius[0] == pytest.approx(radius[1], rel=1e-6) and radius[0] == pytest.approx(radius[2], rel=1e-6)


def test_mesh_tree_covers_the_faces():
    vert = np.random.default_rng(1).normal(size=(30, 3))
    face = np.random.default_rng(2).permuted(np.tile(np.arange(30), (40, 1)), axis=1)[:, :3].astype(np.int32)
    tree = mesh_bvh(vert, face)
    for node in np.flatnonzero(tree.nodeid >= 0):
        corner = vert[face[tree.nodeid[node]]]
        assert (np.abs(corner - tree.aabb[node, :3]) <= tree.aabb[node, 3:] + 1e-12).all()
