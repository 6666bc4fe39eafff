"""Elements near a box, found by a tree of boxes, against asking all of them (convex/flex/tree.py)."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.convex.bundle import vec6
from kinema.convex.data import Data
from kinema.convex.engine import Engine
from kinema.convex.flex.tree import LEAF, build_tree, find_elements, leaf_count, sort_found
from kinema.convex.model import Model

SOLID = """
<mujoco>
  <worldbody>
    <geom type="sphere" size=".1" pos="0 0 -2"/>
    <flexcomp name="first" type="grid" dim="2" count="3 2 1" spacing=".1 .1 .1" mass="1" radius=".01"/>
    <flexcomp name="soft" type="grid" dim="{dim}" count="{count}" spacing=".1 .1 .1" mass="1" radius=".01" pos="0 0 1"/>
  </worldbody>
</mujoco>"""


@wp.kernel(enable_backward=False)
def ask(m: Model, d: Data, f: int, boxes: wp.array(dtype=vec6), after: int, number: wp.array(dtype=int)):
    """The elements near each box, one box after the other: how many, and of the last one which."""
    build_tree(m, d, 0, f)
    for k in range(boxes.shape[0]):
        number[k] = find_elements(m, d, 0, f, boxes[k], after)
        sort_found(d, 0, m.flex.span[f][2], number[k])


def bent(dim: int, count: str) -> Engine:
    """Two flexes, their vertices moved at random."""
    m = mujoco.MjModel.from_xml_string(SOLID.format(dim=dim, count=count))
    engine = Engine(m, 1, device="cpu")
    engine.write("qpos", np.random.default_rng(0).normal(scale=0.05, size=(1, m.nq)).astype(np.float32))
    engine.forward()
    return engine


@pytest.mark.parametrize(("dim", "count"), [(1, "2 1 1"), (1, "30 1 1"), (2, "9 7 1"), (3, "3 3 2"), (3, "6 6 5")])
@pytest.mark.parametrize("size", [0.0, 0.05, 0.3, 10.0])
def test_what_a_tree_finds(dim: int, count: str, size: float):
    """All elements that may touch something and whose boxes meet, each once; none of another flex."""
    engine = bent(dim, count)
    m = engine.source
    first = int(m.flex_elemadr[1])
    box = engine.read("flexelem_aabb")[0, first:]
    low, high = box[:, :3] - box[:, 3:], box[:, :3] + box[:, 3:]
    active = (m.flex_dim[1] < 3) | (m.flex_elemlayer[first:] < m.flex_activelayers[1])
    rng = np.random.default_rng(1)
    for middle in rng.uniform(low.min(axis=0), high.max(axis=0), size=(20, 3)):
        asked = np.concatenate([middle - size, middle + size]).astype(np.float32)
        number = wp.zeros(1, dtype=int, device="cpu")
        boxes = wp.array(asked[None], dtype=vec6, device="cpu")
        wp.launch(ask, 1, [engine.m, engine.d, 1, boxes, -1, number], device="cpu")
        wanted = np.flatnonzero(active & (low <= asked[3:]).all(axis=1) & (high >= asked[:3]).all(axis=1))
        found = engine.array("flexorder").numpy()[0, first:][: int(number.numpy()[0])] - first
        np.testing.assert_array_equal(found, wanted)
    assert size < 10.0 or len(wanted) == active.sum()


def test_elements_after_a_place():
    """What is found after each place in the tree, added up, are all pairs once."""
    engine = bent(2, "9 7 1")
    elements = int(engine.source.flex_elemnum[1])
    everything = wp.array(np.array([[-9, -9, -9, 9, 9, 9]], np.float32), dtype=vec6, device="cpu")
    number = wp.zeros(1, dtype=int, device="cpu")
    found = []
    for place in range(-1, elements):
        wp.launch(ask, 1, [engine.m, engine.d, 1, everything, place, number], device="cpu")
        found.append(int(number.numpy()[0]))
    assert found == list(range(elements, -1, -1))


def test_a_tree_has_room():
    """Nodes are fewer than elements, of which there are as many places."""
    for elements in (*range(1, 200), 1000, 1025, 4097):
        leaves = leaf_count(elements)
        assert LEAF * leaves >= elements and 2 * leaves - 1 <= elements
