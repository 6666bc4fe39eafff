"""The tree of bodies, prepared once a model: levels to sweep over, and blocks of coupled degrees of freedom.

A sweep from the root (kinematics) or from the leaves (masses) goes level by level, all bodies of a level at once.
The mass matrix is block diagonal over kinematic trees. Blocks with the same inner structure (a thousand loose balls)
are stacked, so that linear algebra runs on them together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Block:
    """G equal trees of n dofs and b bodies."""

    dofs: Array  # (G, n)
    bodies: Array  # (G, b)
    moves: Array  # (b, n) bool: this dof moves this body
    above: Array  # (n, n) bool: dof j is dof i itself or above it


@dataclass
class Tree:
    """Topology of an object with mjModel's attributes."""

    m: Any
    levels: list[Array] = field(init=False)  # body ids by depth, the world left out
    joints: list[list[tuple[Array, Array]]] = field(init=False)  # by level and place on the body: (bodies, joints)

    def __post_init__(self) -> None:
        m = self.m
        parent = np.asarray(m.body_parentid)
        depth = np.zeros(m.nbody, dtype=int)
        for body in range(1, m.nbody):
            depth[body] = depth[parent[body]] + 1
        order = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[order], np.arange(1, depth.max(initial=0) + 2))
        self.levels = [order[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
        number, first = np.asarray(m.body_jntnum), np.asarray(m.body_jntadr)
        self.joints = []
        for bodies in self.levels:
            places = []
            for place in range(int(number[bodies].max(initial=0))):
                having = bodies[number[bodies] > place]
                places.append((having, first[having] + place))
            self.joints.append(places)

    @cached_property
    def moves(self) -> Array:
        """(nbody, nv) bool: whether a dof moves a body."""
        m = self.m
        moves = np.zeros((m.nbody, m.nv), dtype=bool)
        for body in range(1, m.nbody):
            moves[body] = moves[m.body_parentid[body]]
            adr = m.body_dofadr[body]
            moves[body, adr : adr + m.body_dofnum[body]] = True
        return moves

    @cached_property
    def treeid(self) -> Array:
        """Kinematic tree of each body, -1 for bodies that cannot move."""
        m = self.m
        weld = np.asarray(m.body_weldid)
        treeid = np.full(m.nbody, -1)
        moving = np.asarray(m.body_dofnum)[weld] > 0
        treeid[moving] = np.asarray(m.dof_treeid)[np.asarray(m.body_dofadr)[weld[moving]]]
        return treeid

    def sum_up(self, values: Array, axis: int = 1) -> Array:
        """Each body's value plus those of all below it, along the body axis of an array (W, nbody, …)."""
        total = np.moveaxis(values, axis, 0).copy()
        parent = np.asarray(self.m.body_parentid)
        for bodies in reversed(self.levels):
            np.add.at(total, parent[bodies], total[bodies])
        return np.moveaxis(total, 0, axis)

    @cached_property
    def blocks(self) -> list[Block]:
        """The trees, equal ones stacked."""
        dof_tree, body_tree = np.asarray(self.m.dof_treeid), self.treeid
        alike: dict[tuple, list[tuple[Array, Array]]] = {}
        dof_order, body_order = np.argsort(dof_tree, kind="stable"), np.argsort(body_tree, kind="stable")
        for tree in np.unique(dof_tree):
            dofs = dof_order[slice(*np.searchsorted(dof_tree[dof_order], (tree, tree + 1)))]
            bodies = body_order[slice(*np.searchsorted(body_tree[body_order], (tree, tree + 1)))]
            alike.setdefault(self._shape(dofs, bodies), []).append((dofs, bodies))
        return [self._block(members) for members in alike.values()]

    def _shape(self, dofs: Array, bodies: Array) -> tuple:
        """What blocks must share to be stacked: parents of dofs and bodies, owners of dofs, in local numbers."""
        m = self.m
        place = {int(d): i for i, d in enumerate(dofs)}
        body_place = {int(b): i for i, b in enumerate(bodies)}
        return (
            tuple(place.get(p, -1) for p in np.asarray(m.dof_parentid)[dofs].tolist()),
            tuple(body_place.get(p, -1) for p in np.asarray(m.body_parentid)[bodies].tolist()),
            tuple(body_place[b] for b in np.asarray(m.dof_bodyid)[dofs].tolist()),
        )

    def _block(self, members: list[tuple[Array, Array]]) -> Block:
        dofs, bodies = members[0]
        dof_parent, body_parent, owner = self._shape(dofs, bodies)
        n, b = len(dofs), len(bodies)
        above, moves = np.zeros((n, n), dtype=bool), np.zeros((b, n), dtype=bool)
        for i, p in enumerate(dof_parent):
            if p >= 0:
                above[i] = above[p]
            above[i, i] = True
        owned: list[list[int]] = [[] for _ in range(b)]
        for i, o in enumerate(owner):
            owned[o].append(i)
        for i, p in enumerate(body_parent):
            if p >= 0:
                moves[i] = moves[p]
            moves[i, owned[i]] = True
        return Block(np.stack([d for d, _ in members]), np.stack([b for _, b in members]), moves, above)
