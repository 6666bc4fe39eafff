"""Elastic rods as the stages see them (rod.py): chains, their segments, and the bends between segments.

MuJoCo keeps a record for every vertex that bends, or for a pair of them (compile/flex_rod.py). A rod whose segments
turn about themselves is a chain: an open row of segments, each with a hinge of its own or clamped to the body that
holds both its ends. Other rods (loops, chains without hinges) have records only.

Where the frames of a chain begin follows from the rest pose, in which all joints of the model are at 0:

    first segment    its direction t, and a normal u, in its body's frame and in the world
    last segment     the same, carried along the chain without twist, in its body's frame
    each bend        the curvature at rest along u and t x u of the segment before it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.convex.flex import cells
from kinema.model.transform import rotation
from kinema.mujoco_enums import MINVAL

RECORD = 10  # numbers of a bend: compile/flex_rod.py
FRAMES = 18  # numbers of a chain: t and u of the first segment in its body, in the world, of the last in its body
LIST = 9


@dataclass(frozen=True, slots=True)
class Chain:
    """A rod whose segments turn."""

    flex: int
    vertices: np.ndarray  # along the rod, counted over all flexes
    joints: list[int]  # of each segment; -1: it is clamped
    clamps: tuple[int, int]  # the bodies that hold the first and the last segment; -1: none
    records: np.ndarray


def records(m: Any, f: int) -> np.ndarray:
    """The bends of a flex, (n, 10)."""
    adr = int(m.flex_bendingadr[f])
    if int(m.flex_dim[f]) != 1 or adr < 0 or m.flex_rigid[f]:
        return np.zeros((0, RECORD))
    count = int(m.flex_bending[adr])
    return np.asarray(m.flex_bending)[adr + 1 : adr + 1 + RECORD * count].reshape(count, RECORD)


def has_rods(m: Any) -> bool:
    """Is any rod elastic?"""
    return bool(getattr(m, "nflex", 0)) and any(len(records(m, f)) for f in range(m.nflex))


def chain_of(m: Any, f: int) -> Chain | None:
    """The chain that a flex is; None where nothing of it turns."""
    found = records(m, f)
    if not len(found) or np.any(found[:, 3] >= 0):  # pairs have other numbers in their place
        return None
    if not np.any((found[:, 7] >= 0) | (found[:, 5] != 0) | (found[:, 9] != 0)):
        return None
    local = [*found[:, 0].astype(int), *found[-1, 1:3].astype(int)]
    vertices = int(m.flex_vertadr[f]) + np.array(local)
    body = np.asarray(m.flex_vertbodyid)[vertices]
    first, last = body[0] == body[1], len(found) > 1 and body[-2] == body[-1]
    joints = [-1 if first or found[0, 7] < 1 else int(found[0, 7]) - 1, *found[:, 7].astype(int).tolist()]
    return Chain(f, vertices, joints, (int(body[0]) if first else -1, int(body[-1]) if last else -1), found)


def chains(m: Any) -> list[Chain]:
    """All chains of a model."""
    return [chain for f in range(m.nflex) if (chain := chain_of(m, f)) is not None]


def is_box(chain: Chain) -> bool:
    """Has the rod a rectangular section?"""
    return bool(chain.records[0, 9] != 0)


def has_box_section(m: Any, f: int) -> bool:
    """Is a flex a rod with a rectangular section?"""
    chain = chain_of(m, f)
    return chain is not None and is_box(chain)


# ---------------------------------------------------------------------------------------------- lists


def sizes(m: Any) -> dict[str, int]:
    """How many chains, segments of chains, and bends a model has."""
    found = chains(m) if has_rods(m) else []
    bends = sum(len(records(m, f)) for f in range(m.nflex)) if has_rods(m) else 0
    return {"nflexrod": len(found), "nflexsegment": sum(len(c.joints) for c in found), "nflexbend": bends}


def rod_list(m: Any) -> np.ndarray:
    """Chains, then their segments, then bends: nine numbers each.

        chain      flex, first segment, segments, address of its state, the bodies that clamp its first and its last
                   segment or -1, address of its frames, 1: bending turns segments, 1: its section is a box
        segment    two vertices, its dof and address in qpos or -1, chain, the bends before and after it or -1,
                   its number in the chain, 0
        bend       four vertices or three and -1, flex, address of its numbers, segment before it or -1, address of its
                   curvature at rest, 0
    """
    rods: list[list[int]] = []
    segments: list[list[int]] = []
    bends: list[list[int]] = []
    at = extra_start(m)
    for f in range(m.nflex):
        own = records(m, f)
        chain = chain_of(m, f)
        first, vertex = len(bends), int(m.flex_vertadr[f])
        numbers = len(m.flex_stiffness) + int(m.flex_bendingadr[f]) + 1
        for k, record in enumerate(own):
            corners = [vertex + int(v) if v >= 0 else -1 for v in record[:4]]
            segment = len(segments) + k if chain else -1
            bends.append([*corners, f, numbers + RECORD * k, segment, at + FRAMES + 2 * k, 0])
        if chain:
            turned = int(np.any((own[:, 5] != 0) | (own[:, 6] > 0) | (own[:, 9] != 0)))
            state, box = int(m.flex_plasticadr[f]), int(is_box(chain))
            rods.append([f, len(segments), len(chain.joints), state, *chain.clamps, at, turned, box])
            for k, joint in enumerate(chain.joints):
                dof, place = (int(m.jnt_dofadr[joint]), int(m.jnt_qposadr[joint])) if joint >= 0 else (-1, -1)
                before, after = first + k - 1 if k else -1, first + k if k < len(own) else -1
                segments.append([*chain.vertices[k : k + 2], dof, place, len(rods) - 1, before, after, k, 0])
            at += FRAMES + 2 * len(own)
    return np.array([*rods, *segments, *bends], int).reshape(-1, LIST)


def extra_start(m: Any) -> int:
    """Where numbers of chains begin among those of elastic flexes: elastic.numbers."""
    return len(m.flex_stiffness) + len(m.flex_bending) + cells.cell_lists(m)[2].size


def numbers(m: Any) -> np.ndarray:
    """Frames and rest curvatures of all chains, in the order of `rod_list`."""
    return np.concatenate([np.zeros(0), *(reference(m, chain) for chain in chains(m))])


def bend_vertices(m: Any) -> list[np.ndarray]:
    """The vertices of each bend."""
    found = []
    for f in range(m.nflex):
        for record in records(m, f):
            found.append(int(m.flex_vertadr[f]) + record[: 3 if record[3] < 0 else 4].astype(int))
    return found


def twist_dofs(m: Any) -> list[np.ndarray]:
    """The dofs of neighbouring segments that both turn."""
    found = []
    for chain in chains(m):
        for one, two in zip(chain.joints, chain.joints[1:], strict=False):
            if one >= 0 and two >= 0:
                found.append(np.array([m.jnt_dofadr[one], m.jnt_dofadr[two]], int))
    return found


def segment_of_element(m: Any) -> np.ndarray:
    """The segment that each element is, counted over all chains; -1: none."""
    found = np.full(m.nflexelem, -1)
    before = 0
    for chain in chains(m):
        f = chain.flex
        pairs = zip(chain.vertices.tolist(), chain.vertices[1:].tolist(), strict=False)
        place = {frozenset(pair): before + k for k, pair in enumerate(pairs)}
        first = int(m.flex_elemdataadr[f])
        for e in range(int(m.flex_elemnum[f])):
            ends = np.asarray(m.flex_elem)[first + 2 * e : first + 2 * e + 2] + int(m.flex_vertadr[f])
            found[int(m.flex_elemadr[f]) + e] = place.get(frozenset(ends.tolist()), -1)
        before += len(chain.joints)
    return found


def segment_of_vertex(m: Any) -> np.ndarray:
    """The segment that leaves each vertex, of the last vertex the one that ends there; -1: none."""
    found = np.full(m.nflexvert, -1)
    before = 0
    for chain in chains(m):
        count = len(chain.joints)
        found[chain.vertices] = before + np.minimum(np.arange(count + 1), count - 1)
        before += count
    return found


# ---------------------------------------------------------------------------------------------- rest


def rest_pose(m: Any, body: int) -> tuple[np.ndarray, np.ndarray]:
    """Where a body is, and how it is turned, with all joints at 0."""
    pos, turn = np.zeros(3), np.eye(3)
    while body > 0:
        own = rotation(np.asarray(m.body_quat)[body])
        pos, turn = np.asarray(m.body_pos)[body] + own @ pos, own @ turn
        body = int(m.body_parentid[body])
    return pos, turn


def normal_to(t: np.ndarray) -> np.ndarray:
    """A normal of a direction: along y, or z where that is too near."""
    u = np.array([0.0, 1.0, 0.0]) if -0.5 < t[1] < 0.5 else np.array([0.0, 0.0, 1.0])
    u = u - t * (t @ u)
    return u / np.linalg.norm(u)


def carried(u: np.ndarray, t: np.ndarray, to: np.ndarray) -> np.ndarray:
    """A normal of t as one of another direction, turned the shortest way."""
    u = u - (to @ u) / max(MINVAL, 1 + t @ to) * (t + to)
    return u / np.linalg.norm(u)


def reference(m: Any, chain: Chain) -> np.ndarray:
    """The frames of a chain at rest, then of each bend the curvature along u and t x u."""
    body = np.asarray(m.flex_vertbodyid)[chain.vertices]
    poses = [rest_pose(m, int(b)) for b in body]
    local = np.asarray(m.flex_vert).reshape(-1, 3)[chain.vertices] * (not m.flex_centered[chain.flex])
    x = np.array([pos + turn @ place for (pos, turn), place in zip(poses, local, strict=True)])
    along = np.diff(x, axis=0)
    direction = along / np.linalg.norm(along, axis=1, keepdims=True)
    first = poses[0][1]
    t = first.T @ direction[0]
    u = normal_to(t)
    if chain.records[0, 9] < 0:  # the first half size of its box is the smaller one
        u = np.cross(t, u)
    found = [t, u, first @ t, first @ u]
    u = first @ u
    rest = []
    for k, record in enumerate(chain.records):
        kappa = np.zeros(3)
        if record[6] > 0:
            size = np.prod(np.linalg.norm(along[k : k + 2], axis=1)) + along[k] @ along[k + 1]
            kappa = 2 * np.cross(along[k], along[k + 1]) / size
        rest += [kappa @ u, kappa @ np.cross(direction[k], u)]
        u = carried(u, direction[k], direction[k + 1])
    last = poses[-1][1].T
    return np.concatenate([*found, last @ direction[-1], last @ u, rest])
