"""Episodes of all worlds: how many, how long, how much they earned, and which begin anew, kept by one kernel a step.

With ended = terminated or truncated, and three ways to go on, which are Gymnasium's:

    same step     a world that ended begins its next episode within the step
    next step     it begins with the next step, whose action is not used: reward 0, no end
    disabled      it begins when `reset` says so

Random numbers of an episode are hashes of seed, world, episode and count (kinema.draws), computed by a kernel for the
worlds that begin one; nothing leaves the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from kinema.convex.status import CONTACT_OVERFLOW, PAIR_OVERFLOW, ROW_OVERFLOW
from kinema.draws import INCREMENT, MULTIPLIER, Draws
from kinema.errors import BuildError

SAME_STEP, NEXT_STEP, DISABLED = range(3)
OVERFLOW = int(CONTACT_OVERFLOW) | int(ROW_OVERFLOW) | int(PAIR_OVERFLOW)


@wp.struct
class Counters:
    """What is known of each world's episode, and what the last step gave."""

    index: wp.array(dtype=wp.int64)  # of the world, among all there are
    episode: wp.array(dtype=wp.int64)
    length: wp.array(dtype=wp.int64)
    gained: wp.array(dtype=float)
    over: wp.array(dtype=int)  # waits for its next episode
    begins: wp.array(dtype=int)  # the worlds that begin one now

    ends: wp.array(dtype=wp.bool)  # as the task says
    earned: wp.array(dtype=float)

    reward: wp.array(dtype=float)
    terminated: wp.array(dtype=wp.bool)
    truncated: wp.array(dtype=wp.bool)
    ended: wp.array(dtype=wp.bool)
    failed: wp.array(dtype=wp.bool)
    final_return: wp.array(dtype=float)
    final_length: wp.array(dtype=wp.int64)
    trouble: wp.array(dtype=int)  # one word: bits of overflow that any world has had


@wp.kernel(enable_backward=False)
def close_step(status: wp.array(dtype=int), c: Counters, mode: int, longest: int):
    """See who has come to an end with a step, and who begins anew."""
    w = wp.tid()
    failed = status[w] != 0
    skipped = mode == wp.static(NEXT_STEP) and c.over[w] != 0
    length = c.length[w]
    terminated = c.ends[w] or failed
    truncated = length >= wp.int64(longest) and not terminated
    reward = float(0.0)
    if not failed:
        reward = c.earned[w]
    if (status[w] & wp.static(OVERFLOW)) != 0:
        wp.atomic_or(c.trouble, 0, status[w] & wp.static(OVERFLOW))
    if skipped:
        failed, terminated, truncated, reward = False, False, False, 0.0
    ended = terminated or truncated
    gained = c.gained[w] + reward
    c.reward[w] = reward
    c.failed[w] = failed
    c.terminated[w] = terminated
    c.truncated[w] = truncated
    c.ended[w] = ended
    c.final_return[w] = wp.where(ended, gained, 0.0)
    c.final_length[w] = wp.where(ended, length, wp.int64(0))
    begins = skipped
    if mode == wp.static(SAME_STEP):
        begins = ended
    c.over[w] = wp.where(ended and mode != wp.static(SAME_STEP), 1, 0)
    c.begins[w] = wp.where(begins, 1, 0)
    c.episode[w] = c.episode[w] + wp.where(begins, wp.int64(1), wp.int64(0))
    c.length[w] = wp.where(begins, wp.int64(0), length)
    c.gained[w] = wp.where(begins, 0.0, gained)


@wp.kernel(enable_backward=False)
def grow_older(c: Counters):
    """Count an action."""
    w = wp.tid()
    c.length[w] = c.length[w] + wp.int64(1)


@wp.kernel(enable_backward=False)
def begin_episodes(c: Counters, anew: int):
    """The next episode, or the first one, of the worlds that begin."""
    w = wp.tid()
    if c.begins[w] != 0:
        c.episode[w] = wp.where(anew != 0, wp.int64(0), c.episode[w] + wp.int64(1))
        c.length[w] = wp.int64(0)
        c.gained[w] = 0.0
        c.over[w] = 0


@wp.func
def hash_word(a: wp.uint32, b: wp.uint32, c: wp.uint32, d: wp.uint32) -> wp.uint32:
    """The first word of draws.hash4, in arithmetic that wraps by itself."""
    m = wp.uint32(wp.static(MULTIPLIER))
    n = wp.uint32(wp.static(INCREMENT))
    x = a * m + n
    y = b * m + n
    z = c * m + n
    v = d * m + n
    x += y * v
    y += z * x
    z += x * y
    v += y * z
    shift = wp.uint32(16)
    x = x ^ (x >> shift)
    y = y ^ (y >> shift)
    z = z ^ (z >> shift)
    v = v ^ (v >> shift)
    return x + y * v


@wp.kernel(enable_backward=False)
def draw(
    c: Counters, seed: wp.array(dtype=wp.int64), first: int, words: wp.array2d(dtype=wp.int64),
    units: wp.array2d(dtype=float),
):  # fmt: skip
    """Words, or numbers in [0, 1), of the worlds that begin an episode; those of others stay as they are."""
    w = wp.tid()
    if c.begins[w] != 0:
        for k in range(wp.max(words.shape[1], units.shape[1])):
            word = hash_word(
                wp.uint32(seed[0]), wp.uint32(c.index[w]), wp.uint32(c.episode[w]), wp.uint32(first + k)
            )  # fmt: skip
            if k < words.shape[1]:
                words[w, k] = wp.int64(word)
            if k < units.shape[1]:
                units[w, k] = float(word >> wp.uint32(8)) * wp.static(2.0**-24)


def repeatable(kernel: wp.Kernel, dim: int, inputs: list, device: wp.Device) -> Callable[[], None]:
    """A launch whose arguments are looked at once."""
    return wp.launch(kernel, dim=dim, inputs=inputs, device=device, record_cmd=True).launch


class Episodes:
    """Counters of all worlds, on the simulation's device.

    Args:
        worlds: What shares arrays with the task's library (`Worlds`).
        mode: How worlds go on after an end: SAME_STEP, NEXT_STEP or DISABLED.
        first_world: Index of the first world, where these are some of a greater number.
    """

    def __init__(self, worlds: Any, mode: int, first_world: int = 0):
        self.worlds, self.mode = worlds, mode
        self.device, self.count = worlds.sim.engine.device, worlds.count
        c = self.counters = Counters()
        for name, var in Counters.vars.items():
            setattr(c, name, wp.zeros(self.count, dtype=var.type.dtype, device=self.device))
        c.index.assign(first_world + np.arange(self.count, dtype=np.int64))
        c.trouble = wp.zeros(1, dtype=int, device=self.device)
        self.seed: wp.array = wp.zeros(1, dtype=wp.int64, device=self.device)
        self.draws = DeviceDraws(self)
        self._close: tuple[Any, Callable[[], None]] | None = None
        self._older = repeatable(grow_older, self.count, [self.counters], self.device)

    def __getattr__(self, name: str) -> Any:
        """A counter of every world, in the task's library."""
        if name.startswith("_") or name not in Counters.vars:
            raise AttributeError(name)
        return self.worlds.share(getattr(self.counters, name))

    def grow_older(self) -> None:
        """Count an action of all worlds, before it is looked at."""
        self._older()

    def close(self, ends: Any, earned: Any, longest: int) -> None:
        """Count a step of all worlds: what the task says of it, and the length an episode is cut off at."""
        self.worlds.fill(self.counters.ends, ends)
        self.worlds.fill(self.counters.earned, earned)
        status = self.worlds.sim.engine.array("status")
        if self._close is None or self._close[0] != (status.ptr, longest):
            inputs = [status, self.counters, self.mode, longest]
            self._close = (status.ptr, longest), repeatable(close_step, self.count, inputs, self.device)
        self._close[1]()

    def begin(self, mask: Any, *, anew: bool) -> None:
        """Begin episodes in the worlds of a mask: the next ones, or counted from 0 again."""
        self.worlds.fill(self.counters.begins, mask)
        wp.launch(begin_episodes, dim=self.count, inputs=[self.counters, int(anew)], device=self.device)


class DeviceDraws(Draws):
    """Draws of the worlds that begin an episode; what it gives for others has no meaning.

    Args:
        episodes: Whose.
    """

    def __init__(self, episodes: Episodes):
        self._episodes = episodes
        self._torch = episodes.worlds.backend == "torch"
        self._next = 0
        self._made: dict[tuple[int, int, bool], tuple[wp.array, Callable[[], None]]] = {}

    def again(self) -> DeviceDraws:
        """The first numbers of the episode come next."""
        self._next = 0
        return self

    def bits(self, count: int) -> Any:
        """The next `count` 32-bit words of every world, (n, count) int64."""
        if count < 1:
            raise BuildError(f"count={count}: draw at least one number")
        return self._draw(count, False) + 0  # its own: these arrays are used again

    def _unit(self, count: int) -> Any:
        return self._draw(count, True)

    def _draw(self, count: int, unit: bool) -> Any:
        of, key = self._episodes, (self._next, count, unit)
        if key not in self._made:
            none = wp.zeros((of.count, 0), dtype=wp.int64 if unit else float, device=of.device)
            made = wp.zeros((of.count, count), dtype=float if unit else wp.int64, device=of.device)
            inputs = [of.counters, of.seed, self._next, *((none, made) if unit else (made, none))]
            self._made[key] = made, repeatable(draw, of.count, inputs, of.device)
        self._next += count
        made, launch = self._made[key]
        launch()
        return of.worlds.share(made)
