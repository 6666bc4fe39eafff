"""Contacts as derivatives see them: the pairs that touch, and how often, are those that detection has found.

Detection looks through all pairs of geoms for those that touch; where it has found them, their geometry (distance,
place, frame) follows from the two poses by the same functions as ever, here in duals. So the derivative of a contact
has what its pair function has: curved shapes roll on each other, edges and vertices stay who they are.
"""

from __future__ import annotations

from functools import cache

import warp as wp

from kinema.collide.build import Build
from kinema.collide.bundles import Contacts, Touch
from kinema.collide.narrow import finish_contact, pair_function
from kinema.collide.workspace import Workspace
from kinema.convex.data import Data
from kinema.convex.model import Model

GIVEN = ("ncon", "contact_pair")
"""What detection has found, and this starts from."""


@wp.func
def contacts_of(con: Contacts, w: int, first: int, end: int) -> int:
    """How many contacts from the first on are of one pair."""
    n = int(1)
    while first + n < end and con.pair[w, first + n] == con.pair[w, first]:
        n += 1
    return n


@cache
def over_pairs(build: Build, before: wp.Function, after: wp.Function) -> wp.Function:
    """The contacts of geoms of one world anew, pair by pair as they were found; those of flexes have no pair.

    Args:
        build: Which pairs of shapes there may be.
        before: What is done before the contacts of a pair: (m, d, w, pair, the first of them).
        after: What is done after them: (m, d, w, pair, the first, how many).
    """
    collide_pair = pair_function(build)

    @wp.func
    def over_pairs(m: Model, d: Data, w: int):
        touch = Touch()
        touch.dist = d.con.dist
        touch.pos = d.con.pos
        touch.frame = d.con.frame
        end = d.con.ncon[w]
        first = int(0)
        while first < end:
            pair = d.con.pair[w, first]
            n = contacts_of(d.con, w, first, end)
            if pair >= 0:
                before(m, d, w, pair, first)
                collide_pair(
                    w, pair, m.collision.geoms, m.collision.meshes, m.collision.hfields, m.collision.pairs,
                    m.collision.settings.options, touch, first, Workspace(),
                )  # fmt: skip
                after(m, d, w, pair, first, n)
            first += n

    return over_pairs


@wp.func
def nothing(m: Model, d: Data, w: int, pair: int, first: int):
    """Geoms are where they are."""


@wp.func
def finish(m: Model, d: Data, w: int, pair: int, first: int, n: int):
    """What else belongs to the contacts of a pair."""
    for k in range(first, first + n):
        finish_contact(d.con, m.collision.pairs, w, k, pair, False)


def touching(build: Build) -> wp.Function:
    """Contacts as they are."""
    return over_pairs(build, nothing, finish)
