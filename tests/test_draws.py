"""Random numbers by hash: known values, no dependence on the batch, both libraries alike, and fair."""

import numpy as np
import pytest

from kinema.draws import WORD, Draws, hash4
from kinema.errors import BuildError


def reference(v):
    """PCG4D with Python's integers, as the paper prints it."""
    x, y, z, w = ((a * 1664525 + 1013904223) % 2**32 for a in v)
    for last in (False, True):
        x = (x + y * w) % 2**32
        y = (y + z * x) % 2**32
        z = (z + x * y) % 2**32
        w = (w + y * z) % 2**32
        if not last:
            x, y, z, w = (a ^ (a >> 16) for a in (x, y, z, w))
    return x, y, z, w


def test_hash_is_pcg4d():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, size=(4, 200), dtype=np.int64)
    words[:, 0], words[:, 1] = 0, WORD
    found = np.stack(hash4(*words), 1)
    np.testing.assert_array_equal(found, [reference([int(a) for a in column]) for column in words.T])


def test_a_world_does_not_see_its_neighbours():
    every = Draws(7, np.arange(100), np.arange(100) % 3)
    some = Draws(7, np.array([41, 5]), np.array([41 % 3, 5 % 3]))
    for shape in ((), 4, (2, 3)):
        np.testing.assert_array_equal(every.uniform(shape=shape)[[41, 5]], some.uniform(shape=shape))
        np.testing.assert_array_equal(every.normal(shape=shape)[[41, 5]], some.normal(shape=shape))


def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    ours, theirs = Draws(-3, np.arange(50), 4), Draws(-3, torch.arange(50), 4)
    np.testing.assert_array_equal(ours.bits(9), theirs.bits(9).numpy())
    a, b = ours.uniform(-2.0, 3.0, 5), theirs.uniform(-2.0, 3.0, 5)
    assert a.dtype == np.float32 and b.dtype == torch.float32
    np.testing.assert_array_equal(a, b.numpy())
    np.testing.assert_allclose(ours.normal(shape=3), theirs.normal(shape=3).numpy(), rtol=0, atol=2e-6)
    np.testing.assert_array_equal(ours.integers(17, 4), theirs.integers(17, 4).numpy())


def test_seed_world_episode_and_order_all_matter():
    base = Draws(0, np.arange(8)).uniform(shape=8)
    assert not np.any(base == Draws(1, np.arange(8)).uniform(shape=8))
    assert not np.any(base == Draws(0, np.arange(8) + 8).uniform(shape=8))
    assert not np.any(base == Draws(0, np.arange(8), 1).uniform(shape=8))
    again = Draws(0, np.arange(8))
    np.testing.assert_array_equal(base, np.concatenate([again.uniform(shape=3), again.uniform(shape=5)], axis=1))
    np.testing.assert_array_equal(base[:, 3:], Draws(0, np.arange(8), first=3).uniform(shape=5))


def test_numbers_are_fair():
    draws = Draws(5, np.arange(2000))
    uniform, normal, integers = draws.uniform(shape=50), draws.normal(shape=50), draws.integers(10, 50)
    assert 0 <= uniform.min() and uniform.max() < 1
    counts = np.bincount((uniform.ravel() * 100).astype(int), minlength=100)
    assert np.sum((counts - 1000.0) ** 2 / 1000.0) < 99 + 5 * np.sqrt(2 * 99)  # chi squared, five deviations
    assert abs(normal.mean()) < 5 / np.sqrt(normal.size) and abs(normal.std() - 1) < 5 / np.sqrt(2 * normal.size)
    assert abs(np.corrcoef(uniform[:-1].ravel(), uniform[1:].ravel())[0, 1]) < 5 / np.sqrt(normal.size)  # worlds
    assert abs(np.corrcoef(uniform[:, :-1].ravel(), uniform[:, 1:].ravel())[0, 1]) < 5 / np.sqrt(normal.size)  # draws
    assert set(integers.ravel().tolist()) == set(range(10))


def test_limits_may_be_arrays():
    found = Draws(0, np.arange(1000)).uniform(np.float32([0, 10]), np.float32([1, 20]), 2)
    assert np.all(found >= [0, 10]) and np.all(found < [1, 20])


def test_nothing_to_draw_is_refused():
    with pytest.raises(BuildError, match="at least one"):
        Draws(0, np.arange(3)).bits(0)
