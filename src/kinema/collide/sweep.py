"""Preparing the broad phase of scenes of many geoms (see broad.py) on the host."""

from typing import NamedTuple

import numpy as np
import warp as wp

from kinema.arrays import empty_worlds, flat
from kinema.collide import upload
from kinema.collide.bundles import Pairs, Sweep
from kinema.collide.filter import GeomPairs, geom_pairs
from kinema.collide.table import PAIR_FUNCTION, function_mask, max_contacts
from kinema.mujoco_enums import Disable, Geom

MANY = 350  # colliding geoms from which a list of all their pairs no longer pays
LARGE = 4.0  # geoms larger than this many times the median are paired with all others in advance
PAIRS_PER_GEOM = 12  # first guess of the near pairs of a geom


class SweepPlan(NamedTuple):
    """Geoms that are swept, pairs that are not, and the room that pairs need."""

    active: np.ndarray
    special: GeomPairs
    width: float
    capacity: int
    slots: int
    mask: int


def colliding(m) -> np.ndarray:
    """Geoms that take part in collisions."""
    return np.flatnonzero((np.asarray(m.geom_contype) != 0) | (np.asarray(m.geom_conaffinity) != 0))


def plan(m) -> SweepPlan:
    """Divide the geoms of a model into swept and special ones."""
    every = colliding(m)
    kind, radius = np.asarray(m.geom_type), np.asarray(m.geom_rbound)
    unbounded = (kind == Geom.PLANE) | (kind == Geom.HFIELD)
    middle = np.median(radius[every][~unbounded[every]]) if (~unbounded[every]).any() else 0.0
    special = unbounded | (radius > LARGE * middle)
    active = every[~special[every]]
    pairs = geom_pairs(m, special)

    reach = radius[active] + np.maximum(0.0, m.geom_margin[active] + m.geom_gap[active])
    types = np.unique(kind[active]).tolist()
    slots = [max_contacts(m, a, b) for a in types for b in types if a <= b]
    functions = np.concatenate([PAIR_FUNCTION[np.ix_(types, types)].ravel(), pairs.function])
    n = len(active)
    capacity = len(pairs.function) + min(n * (n - 1) // 2, PAIRS_PER_GEOM * n)
    return SweepPlan(
        active, pairs, float(2 * reach.max(initial=1e-3)), max(1, capacity),
        int(max([1, *slots, *pairs.slots.tolist()])), function_mask(functions),
    )  # fmt: skip


def starts(owner: np.ndarray, n: int) -> np.ndarray:
    """(n + 1,) where the entries of each owner begin in a list sorted by owner."""
    return np.searchsorted(owner, np.arange(n + 1)).astype(np.int32)


def pack_keys(key: np.ndarray) -> np.ndarray:
    """Sort keys of special pairs among those of their lower body, as pair_key in broad.py makes them."""
    key = key.astype(np.int64)
    return (key[:, 1] << 42) | ((key[:, 2] + 1) << 21) | key[:, 3]


def bundle(m, p: SweepPlan, nworld: int) -> tuple[Sweep, Pairs]:
    """The arrays of the broad phase, and room for the pairs it finds."""
    s = Sweep()
    flags = int(m.opt.disableflags)
    weld = np.asarray(m.body_weldid)
    parent = weld[np.asarray(m.body_parentid)[weld]]
    body = np.asarray(m.geom_bodyid)
    several = (np.asarray(m.body_geomnum) > 1) & (np.asarray(m.body_bvhadr) >= 0)
    s.width = p.width
    s.active = flat(p.active.astype(np.int32))
    s.bits = flat(np.stack([m.geom_contype, m.geom_conaffinity], axis=1), wp.vec2i)
    s.body = flat(body)
    s.weld = flat(weld)
    s.weldparent = flat(np.full_like(parent, -1) if flags & Disable.FILTERPARENT else parent)
    s.moves = flat((np.asarray(m.body_dofnum)[weld] > 0).astype(np.int32))
    s.tree = flat(np.zeros_like(weld) if flags & Disable.MIDPHASE else several.astype(np.int32))
    s.bodyadr = flat(starts(body[p.active], m.nbody))
    exclude = np.asarray(m.exclude_signature, np.int64)
    s.exclude = wp.array(np.sort(((exclude >> 16) << 32) | (exclude & 0xFFFF)), dtype=wp.int64)
    listed = np.sort(np.stack([m.pair_geom1, m.pair_geom2], axis=1), axis=1).astype(np.int64).reshape(-1, 2)
    s.listed = wp.array(np.sort((listed[:, 0] << 32) | listed[:, 1]), dtype=wp.int64)
    s.table = wp.array(PAIR_FUNCTION, dtype=int)
    s.special = upload.pairs(p.special, 1)
    s.specialadr = flat(starts(p.special.key[:, 0], m.nbody))
    s.specialkey = flat(pack_keys(p.special.key), wp.int64)
    s.parameters = upload.geom_parameters(m, nworld)
    s.margin = flat(np.asarray(m.geom_margin) + np.asarray(m.geom_gap), float)
    n = len(p.active)
    s.order = empty_worlds((nworld, n), int)
    s.order.assign(np.tile(p.active.astype(np.int32), (nworld, 1)))
    s.cell = empty_worlds((nworld, n), wp.int64)
    s.count = empty_worlds((nworld, m.nbody), int)
    s.key = empty_worlds((nworld, p.capacity), wp.int64)
    s.source = empty_worlds((nworld, p.capacity), int)
    return s, upload.swept_pairs(p.capacity, nworld)
