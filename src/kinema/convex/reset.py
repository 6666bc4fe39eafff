"""Put worlds back to their initial state, on the device: a training loop resets some of them at every step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import warp as wp

from kinema.convex import plastic
from kinema.convex.actuation import initial_control
from kinema.convex.history import initial as initial_history
from kinema.convex.sleep.rings import MINAWAKE
from kinema.devices import device_named
from kinema.mujoco_enums import Enable, SleepPolicy


def initial_state(m, plugin_state) -> dict[str, np.ndarray]:
    """One world's state as the model defines it (mj_resetData)."""
    mocap = np.flatnonzero(np.asarray(m.body_mocapid) >= 0)
    order = mocap[np.argsort(np.asarray(m.body_mocapid)[mocap])]
    return {
        **{name: np.zeros(m.nv) for name in ("qvel", "qacc_warmstart", "qfrc_applied", "qacc")},
        **{name: np.zeros(()) for name in ("time", "status", "substep")},
        "act": np.zeros(m.na),
        "userdata": np.zeros(m.nuserdata),
        "xfrc_applied": np.zeros((m.nbody, 6)),
        "qpos": np.asarray(m.qpos0),
        "plugin_state": np.asarray(plugin_state),
        "plastic": plastic.initial(m),
        **_asleep(m),
        "ctrl": initial_control(m),
        "history": initial_history(m),
        "eq_active": np.asarray(m.eq_active0),
        "mocap_pos": np.asarray(m.body_pos)[order] if len(order) else np.zeros((0, 3)),
        "mocap_quat": np.asarray(m.body_quat)[order] if len(order) else np.zeros((0, 4)),
    }


def _asleep(m) -> dict[str, np.ndarray]:
    """All trees awake, but for those that are to begin asleep: these are ready for it (sleep/)."""
    policy = np.asarray(m.tree_sleep_policy)
    begins, on = policy == SleepPolicy.INIT, bool(int(m.opt.enableflags) & Enable.SLEEP)
    slow = ~np.isin(policy, (SleepPolicy.NEVER, SleepPolicy.AUTO_NEVER)) & begins.any()  # one that lays some down looks
    return {
        "tree_asleep": np.where(begins & on, -1, -(1 + MINAWAKE) + (slow & on)),
        "asleep_qpos": np.asarray(m.qpos0) if on and m.ntree else np.zeros(0),
        "sleep_settled": np.zeros(()),
    }


@wp.struct
class Words:
    """Where every 32-bit word of a world's state lies, and where the word lies that is to be put there."""

    count: int
    to: wp.array(dtype=wp.uint64)  # addresses in the first world
    stride: wp.array(dtype=wp.uint64)  # bytes to the next world
    given: wp.array(dtype=wp.uint64)
    given_stride: wp.array(dtype=wp.uint64)  # 0 where one value is for all worlds


@wp.func_native("*(int*)to = *(const int*)given;")
def copy_word(to: wp.uint64, given: wp.uint64):
    """Copy the four bytes at one address to another."""
    ...


@wp.kernel(enable_backward=False)
def put_words(words: Words, mask: wp.array(dtype=int), parts: int):
    """Words of the worlds of the mask; each thread takes every parts-th of a world."""
    part, w = wp.tid()
    if mask[w] != 0:
        world = wp.uint64(w)
        for k in range(part, words.count, parts):
            copy_word(words.to[k] + world * words.stride[k], words.given[k] + world * words.given_stride[k])


class StatePutter:
    """Writes one world's values into chosen worlds without a detour over the host, all fields in one launch.

    Args:
        arrays: The device's arrays by name, [world, ...].
        values: One world's values by name; every world's with `per_world`.
    """

    def __init__(self, arrays: Mapping[str, wp.array], values: Mapping[str, np.ndarray], *, per_world: bool = False):
        self.held: list[tuple[wp.array, wp.array]] = []
        self.nworld, self.device, rows = 0, device_named("cpu"), []
        for name, value in values.items():
            array = arrays[name]
            if array.size and np.size(value):
                element = getattr(array.dtype, "_shape_", ())
                scalar = getattr(array.dtype, "_wp_scalar_type_", array.dtype)
                host = np.ascontiguousarray(value, dtype=wp.dtype_to_numpy(scalar))
                host = host.reshape(array.shape[0] if per_world else 1, *array.shape[1:], *element)
                given = wp.array(host, dtype=array.dtype, device=array.device)
                self.held.append((array, given))
                rows.append(_words(array, given, per_world))
                self.nworld, self.device = array.shape[0], device_named(array.device)
        self.words = Words()
        if rows:
            table = np.concatenate(rows, axis=1)
            self.words.count = table.shape[1]
            self.words.to, self.words.stride, self.words.given, self.words.given_stride = (
                wp.array(row, dtype=wp.uint64, device=self.device) for row in table
            )

    def put(self, mask: wp.array) -> None:
        """Write into the worlds where the mask is not 0."""
        if self.held:  # on a GPU a thread a word, neighbours being worlds; on the CPU one world after the other
            parts = self.words.count if self.device.is_cuda else 1
            wp.launch(put_words, dim=(parts, self.nworld), inputs=[self.words, mask, parts], device=self.device)


def _words(array: wp.array, given: wp.array, per_world: bool) -> np.ndarray:
    """Columns of Words for one array, (4, words)."""
    size = wp.types.type_size_in_bytes(array.dtype)
    inside = np.arange(0, size, 4)[None]

    def offsets(of: wp.array) -> np.ndarray:
        places = np.zeros(1, np.int64)
        for extent, stride in zip(of.shape[1:], of.strides[1:], strict=True):
            places = (places[:, None] + stride * np.arange(extent)[None]).ravel()
        return (places[:, None] + inside).ravel()

    to, source = array.ptr + offsets(array), given.ptr + offsets(given)
    stride, source_stride = array.strides[0], given.strides[0] if per_world else 0
    return np.stack([to, np.full_like(to, stride), source, np.full_like(to, source_stride)]).astype(np.uint64)
