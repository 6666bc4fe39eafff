"""Which geom pairs may collide, in the order of MuJoCo's contacts.

A pair collides when it is listed explicitly, or when all of these hold:
  - bits: contype1 & conaffinity2 or contype2 & conaffinity1,
  - the bodies are not welded together, and at least one of them can move,
  - neither weld group is the parent of the other (unless filterparent is off, or one of them is the world),
  - the bodies are not excluded, and the pair is not listed explicitly,
  - the pair table has a function for it.

Order: by body pair (lower body id, higher body id); within one, explicit pairs first. The others follow by geom id, of
the lower body's geom first. Where MuJoCo walks bounding volume trees (a body with several geoms) it sorts instead by
(geom of lower type, geom of higher type).
"""

from typing import NamedTuple

import numpy as np

from kinema.collide.parameters import PairParameters, explicit_parameters, mix_parameters, override_parameters
from kinema.collide.table import PAIR_FUNCTION, max_contacts
from kinema.mujoco_enums import Disable


class GeomPairs(NamedTuple):
    """Pairs that may collide, in contact order. Leading axis npair."""

    geom: np.ndarray  # (npair, 2) type of the first not above the type of the second
    explicit: np.ndarray  # (npair,) index of the explicit pair, or -1
    function: np.ndarray  # (npair,) PairFunction
    slots: np.ndarray  # (npair,) largest number of contacts
    key: np.ndarray  # (npair, 4) what the order is by: bodies, then geoms (-1 and index for explicit pairs)
    parameters: PairParameters


def bodies_may_collide(m, body1: np.ndarray, body2: np.ndarray) -> np.ndarray:
    """The body half of the filter, element-wise: weld groups, motion, parents, excludes."""
    weld1, weld2 = m.body_weldid[body1], m.body_weldid[body2]
    parent1, parent2 = m.body_weldid[m.body_parentid[weld1]], m.body_weldid[m.body_parentid[weld2]]
    ok = weld1 != weld2
    ok &= (m.body_dofnum[weld1] > 0) | (m.body_dofnum[weld2] > 0)
    if not int(m.opt.disableflags) & Disable.FILTERPARENT:
        ok &= ~((weld1 != 0) & (weld2 != 0) & ((weld1 == parent2) | (weld2 == parent1)))
    if m.nexclude:
        signature = (np.minimum(body1, body2).astype(np.int64) << 16) + np.maximum(body1, body2)
        ok &= ~np.isin(signature, np.asarray(m.exclude_signature, np.int64))
    return ok


def implicit_pairs(m, special: np.ndarray | None = None) -> np.ndarray:
    """(n, 2) geoms of pairs that collide by the filter, the geom of the lower body first; explicit pairs left out.

    With a mask of special geoms only pairs with at least one of them.
    """
    contype, conaffinity = np.asarray(m.geom_contype), np.asarray(m.geom_conaffinity)
    body = np.asarray(m.geom_bodyid)
    active = np.flatnonzero((contype != 0) | (conaffinity != 0))
    found = []
    # row by row keeps memory linear in the number of geoms
    for k, g in enumerate(active):
        other = active[k + 1 :]
        if special is not None and not special[g]:
            other = other[special[other]]
        bits = (contype[g] & conaffinity[other]) | (contype[other] & conaffinity[g])
        other = other[bits != 0]
        other = other[bodies_may_collide(m, np.full(len(other), body[g]), body[other])]
        if len(other):
            found.append(np.stack([np.full(len(other), g), other], axis=1))
    if not found:
        return np.zeros((0, 2), int)
    pairs = np.concatenate(found)
    swap = body[pairs[:, 0]] > body[pairs[:, 1]]
    pairs[swap] = pairs[swap][:, ::-1]
    if m.npair:
        low, high = pairs.min(1).astype(np.int64), pairs.max(1).astype(np.int64)
        e1, e2 = np.asarray(m.pair_geom1, np.int64), np.asarray(m.pair_geom2, np.int64)
        listed = np.isin(low * m.ngeom + high, np.minimum(e1, e2) * m.ngeom + np.maximum(e1, e2))
        pairs = pairs[~listed]
    return pairs


def by_type(m, pairs: np.ndarray) -> np.ndarray:
    """Pairs with the geom of lower type first."""
    swap = m.geom_type[pairs[:, 0]] > m.geom_type[pairs[:, 1]]
    return np.where(swap[:, None], pairs[:, ::-1], pairs)


def order_keys(m, pairs: np.ndarray) -> np.ndarray:
    """(n, 4) sort keys of implicit pairs: bodies, then geoms as MuJoCo's midphase leaves them."""
    body = np.asarray(m.geom_bodyid)[pairs]
    tree = np.asarray(m.body_geomnum)[body].max(axis=1) > 1
    tree &= (np.asarray(m.body_bvhadr)[body] >= 0).all(axis=1)
    if int(m.opt.disableflags) & Disable.MIDPHASE:
        tree[:] = False
    geoms = np.where(tree[:, None], by_type(m, pairs), pairs)
    return np.concatenate([body, geoms], axis=1)


def plain_order(m, pairs: GeomPairs) -> np.ndarray:
    """(npair,) which pair comes at each place where MuJoCo does not walk bounding volume trees."""
    body = np.asarray(m.geom_bodyid)[pairs.geom]
    geom = np.where((body[:, 0] > body[:, 1])[:, None], pairs.geom[:, ::-1], pairs.geom)
    key = np.where((pairs.explicit >= 0)[:, None], pairs.key, np.concatenate([pairs.key[:, :2], geom], axis=1))
    return np.lexsort(key.T[::-1]).astype(np.int32)


def geom_pairs(m, special: np.ndarray | None = None) -> GeomPairs:
    """All pairs that may collide, with the parameters of their contacts, in contact order.

    With a mask of special geoms only explicit pairs and pairs with at least one of these geoms.
    """
    off = int(m.opt.disableflags) & (Disable.CONSTRAINT | Disable.CONTACT)
    implicit = np.zeros((0, 2), int) if off else implicit_pairs(m, special)
    nexplicit = 0 if off else int(m.npair)
    index = np.arange(nexplicit)
    explicit = np.stack([m.pair_geom1[index], m.pair_geom2[index]], axis=1).astype(int).reshape(-1, 2)

    body = np.sort(np.asarray(m.geom_bodyid)[explicit], axis=1)
    keys_explicit = np.concatenate([body, np.full((nexplicit, 1), -1), index[:, None]], axis=1)
    keys = np.concatenate([keys_explicit, order_keys(m, implicit)])
    order = np.lexsort(keys.T[::-1])

    geom = by_type(m, np.concatenate([explicit, implicit]))[order]
    explicit_id = np.concatenate([index, np.full(len(implicit), -1)])[order]
    types = np.asarray(m.geom_type)[geom]
    function = PAIR_FUNCTION[types[:, 0], types[:, 1]]
    keep = function != 0
    geom, explicit_id, types, function = geom[keep], explicit_id[keep], types[keep], function[keep]
    key = keys[order][keep]

    forced = explicit_id >= 0
    mixed = mix_parameters(m, geom[:, 0], geom[:, 1])
    own = explicit_parameters(m, explicit_id[forced])
    for a, b in zip(mixed, own, strict=True):
        a[forced] = b
    parameters = override_parameters(m, mixed)

    kinds, inverse = np.unique(types, axis=0, return_inverse=True)
    counts = [max_contacts(m, a, b) for a, b in kinds.tolist()]
    slots = np.array(counts, np.int32)[inverse.reshape(-1)] if len(types) else np.zeros(0, np.int32)
    return GeomPairs(geom.astype(np.int32), explicit_id.astype(np.int32), function, slots, key, parameters)
