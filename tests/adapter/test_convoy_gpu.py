"""Engines side by side in one CUDA graph: the bits of engines one by one, worlds that wait for room included."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from kinema import ModelBuilder, SolverConvex

from .test_kin import walker

pytestmark = pytest.mark.gpu
STEPS = 120


def pile(count):
    """Boxes that fall into a heap: more and more contacts, until lists must grow."""
    boxes = "".join(
        f'<body pos="{0.05 * (k % 3)} {0.04 * (k % 2)} {0.2 + 0.25 * k}"><freejoint/><geom type="box" size=".1 .1 .1"/>'
        "</body>" for k in range(count)
    )  # fmt: skip
    return f'<mujoco><worldbody><geom type="plane" size="0 0 1"/>{boxes}</worldbody></mujoco>'


def model():
    main = ModelBuilder()
    for document, count in ((walker(0.2), 3), (walker(0.3), 2), (walker(0.25, legs=3), 4), (pile(12), 2)):
        one = ModelBuilder()
        one.add_mjcf(document)
        main.replicate(one, count)
    return main.finalize(device="cuda:0")


def test_gives_the_bits_of_engines_one_by_one():
    built = model()
    together, apart = SolverConvex(built), SolverConvex(built)
    assert len(together.batches) == 3 and together._convoy is not None
    apart._convoy = None
    (one, other), (two, twin) = ([built.state() for _ in range(2)] for _ in range(2))
    for _ in range(STEPS):
        together.step(one, other)
        together.step(other, one)
        apart.step(two, twin)
        apart.step(twin, two)
    for name in ("joint_q", "joint_qd", "body_q"):
        np.testing.assert_array_equal(getattr(one, name).numpy(), getattr(two, name).numpy())
    assert together.trouble() == {} == apart.trouble()
    grown = [batch.engine.version for batch in together.batches]
    assert max(grown) > 0, "lists of the heap have grown"


def test_is_taken_up_by_a_graph_of_somebody_elses():
    built = model()
    solver, twin = SolverConvex(built), SolverConvex(built)
    state, expected = built.state(), built.state()
    for _ in range(3):
        solver.step(state, state)
        twin.step(expected, expected)
    with wp.ScopedCapture(device="cuda:0") as capture:
        solver.step(state, state)
    for _ in range(10):
        wp.capture_launch(capture.graph)
        twin.step(expected, expected)
    np.testing.assert_array_equal(state.joint_q.numpy(), expected.joint_q.numpy())
