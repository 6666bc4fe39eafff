"""Random numbers that depend on what they are for, not on when they are drawn.

    number = hash(seed, world, episode, k)

A world's k-th number of an episode is a function of these four integers alone: the same whatever worlds run beside it,
on however many machines, in whatever order, with NumPy or with torch. The hash is PCG4D of Jarzynski and Olano, "Hash
Functions for GPU Rendering", JCGT 9(3), 2020: a linear congruential step, two rounds of multiplications across the
four words, and shifts between. All of it is modulo 2³²; 64-bit integers, which wrap around, hold what is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinema.errors import BuildError

WORD = 0xFFFFFFFF
MULTIPLIER, INCREMENT = 1664525, 1013904223  # of the congruential step


def hash4(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, Any, Any, Any]:
    """Four words from four words, elementwise; integers as int64 arrays with values in 0 ... 2³² - 1."""
    v = [(x * MULTIPLIER + INCREMENT) & WORD for x in (a, b, c, d)]
    v = _mix([x ^ (x >> 16) for x in _mix(v)])
    return v[0], v[1], v[2], v[3]


def _mix(v: list) -> list:
    """Add to each word a product of two others, one after the other."""
    x, y, z, w = v
    x = (x + y * w) & WORD
    y = (y + z * x) & WORD
    z = (z + x * y) & WORD
    w = (w + y * z) & WORD
    return [x, y, z, w]


class Draws:
    """Random numbers of a batch of worlds; each call draws the next ones of every world.

    Args:
        seed: Any integer; its low 32 bits count.
        world: Global index of each world, (n,) integers.
        episode: Which episode, or other occasion, of each world: (n,) integers or one integer.
        first: How many numbers of the occasion were drawn before.

    With torch tensors as `world`, all results are torch tensors on their device.
    """

    def __init__(self, seed: int, world: Any, episode: Any = 0, first: int = 0):
        self._torch = not isinstance(world, np.ndarray)
        self._seed = int(seed) & WORD
        self._world = world.long() if self._torch else world.astype(np.int64)
        if isinstance(episode, np.ndarray):
            episode = episode.astype(np.int64)
        elif not isinstance(episode, int):
            episode = episode.long()
        self._episode = episode + 0 * self._world
        self._next = first

    def bits(self, count: int) -> Any:
        """The next `count` 32-bit words of every world, (n, count) int64."""
        if count < 1:
            raise BuildError(f"count={count}: draw at least one number")
        k = self._next + self._range(count)
        self._next += count
        return hash4(self._seed, self._world[:, None] & WORD, self._episode[:, None] & WORD, k & WORD)[0]

    def uniform(self, low: Any = 0.0, high: Any = 1.0, shape: int | tuple[int, ...] = ()) -> Any:
        """Float32 numbers in [low, high), (n, *shape); low and high may be arrays that fit."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        unit = self._unit(math.prod(shape)).reshape(-1, *shape)
        return low + (high - low) * unit

    def normal(self, mean: Any = 0.0, deviation: Any = 1.0, shape: int | tuple[int, ...] = ()) -> Any:
        """Normally distributed float32 numbers, (n, *shape), by Box and Muller's transform."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        count = math.prod(shape)
        radius, angle = 1.0 - self._unit(count), (2.0 * math.pi) * self._unit(count)
        if self._torch:
            unit = (-2.0 * radius.log()).sqrt() * angle.cos()
        else:
            unit = np.sqrt(-2.0 * np.log(radius)) * np.cos(angle)
        return mean + deviation * unit.reshape(-1, *shape)

    def integers(self, high: int, shape: int | tuple[int, ...] = ()) -> Any:
        """Integers in 0 ... high - 1, (n, *shape) int64."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return ((self.bits(math.prod(shape)) * high) >> 32).reshape(-1, *shape)

    def _unit(self, count: int) -> Any:
        """Float32 numbers in [0, 1): the upper 24 bits are exact in float32, so both libraries give the same ones."""
        whole = self.bits(count) >> 8
        return (whole.float() if self._torch else whole.astype(np.float32)) * 2.0**-24

    def _range(self, count: int) -> Any:
        if not self._torch:
            return np.arange(count, dtype=np.int64)[None]
        import torch

        return torch.arange(count, device=self._world.device)[None]
