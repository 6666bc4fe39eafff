"""What the elements of a world's soft bodies are made of, written into the compiled model.

MuJoCo compiles one material a flex; its arrays hold numbers for every element, edge and hinge, and so may differ:

    flex_stiffness       metric of edge lengths of each element, from its rest shape (tri_poses, tet_poses) and material
    flex_bending         form of each hinge, from edge_bending_properties and edge_rest_angle
    flexedge_length0     rest length of each edge: of the rest shapes, or of the springs
    geom_conaffinity     geoms that touch particles get a bit of their own, which no other geom looks for

The flexes of a world's soft bodies are the last of its model.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinema.adapter.deformables import FlexPart, Soft
from kinema.compile.flex_elasticity import BENDING, edge_metric, hinges
from kinema.compile.host_model import HostModel
from kinema.errors import BuildError
from kinema.geometry.flex_topology import EDGES
from kinema.mujoco_enums import FlexSelf, SleepPolicy

BITS = 31
ROUNDING = 1e-5
"""Relative difference of lengths that float32 makes between a rest shape and the particles it was made from."""
DISAGREE = 1e-2
"""Relative difference that neighbours may have in what they say of the edge between them."""


def add_elasticity(host: HostModel, soft: Soft, touched: np.ndarray) -> None:
    """Write materials, rest shapes and contacts of soft bodies into a model; its arrays are replaced.

    Args:
        host: The model; its last flexes are those of `soft.parts`, its last geoms the spheres of `soft.lone`.
        soft: The soft bodies.
        touched: Which of the other geoms particles may touch.
    """
    first = int(host.nflex) - len(soft.parts)
    new = {name: np.array(host.arrays[name]) for name in (
        "flexedge_length0", "flex_edgeflap", "flex_stiffnessadr", "flex_bendingadr", "flex_contype",
        "flex_conaffinity", "flex_selfcollide", "geom_contype", "geom_conaffinity", "body_contype",
        "body_conaffinity",
    )}  # fmt: skip
    stiffness, bending = [np.asarray(host.flex_stiffness)], [np.asarray(host.flex_bending)]
    for k, part in enumerate(soft.parts):
        f = first + k
        edges = slice(int(host.flex_edgeadr[f]), int(host.flex_edgeadr[f]) + int(host.flex_edgenum[f]))
        corners = _corners(host, f, part)
        if part.dim == 1:
            number = _edge_numbers(host, f, part, part.elements)
            new["flexedge_length0"][edges.start + number] = soft.rows["spring_rest_length"][part.rows]
        elif (part.rows >= 0).all():
            x, mu, lame = _rest_shapes(soft.rows, part, corners)
            if np.any(mu + lame):
                new["flexedge_length0"][edges] = _rest_lengths(host, f, part, x)
                new["flex_stiffnessadr"][f] = sum(map(len, stiffness))
                stiffness.append(edge_metric(x, mu, lame).ravel())
        if len(part.hinges):
            flap, form = _hinges(host, f, soft.rows, part)
            new["flex_edgeflap"][edges] = flap
            new["flex_bendingadr"][f] = sum(map(len, bending))
            bending.append(form.ravel())
    _touch(host, new, soft, first, touched)
    new["tree_sleep_policy"] = _may_sleep(host, new, soft, first)
    host.arrays.update(new)
    for name, parts in (("flex_stiffness", stiffness), ("flex_bending", bending)):
        host.arrays[name] = np.concatenate(parts)
        host.sizes[f"n{name.replace('_', '')}"] = len(host.arrays[name])


def _may_sleep(host: HostModel, new: Mapping[str, np.ndarray], soft: Soft, first: int) -> np.ndarray:
    """Who falls asleep: particles that elements hold together, which the compiler took for flexes that nothing holds.

    Those of springs do not, as in MuJoCo: a spring couples no trees. Nor does what hangs on fixed particles, which a
    state may move at any time.
    """
    policy = np.array(host.arrays["tree_sleep_policy"])
    tree = np.asarray(host.body_treeid)[int(host.nbody) - soft.count :]
    held: set[int] = set()
    loose: set[int] = set()
    for k, part in enumerate(soft.parts):
        elastic = any(new[f"flex_{name}adr"][first + k] >= 0 for name in ("stiffness", "bending"))
        sleeps = elastic and not soft.fixed[part.vertices].any()
        (held if sleeps else loose).update(tree[part.vertices].tolist())
    for t in held - loose - {-1}:
        if policy[t] == SleepPolicy.AUTO_NEVER:
            policy[t] = SleepPolicy.AUTO_ALLOWED
    return policy


def _corners(host: HostModel, f: int, part: FlexPart) -> np.ndarray:
    """Particles of each element, as the compiled flex winds it."""
    start, width = int(host.flex_elemdataadr[f]), part.dim + 1
    local = np.asarray(host.flex_elem)[start : start + width * len(part.elements)].reshape(-1, width)
    return part.vertices[local]


def _rest_shapes(
    rows: Mapping[str, np.ndarray], part: FlexPart, corners: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of each element at rest, in a frame of its own, (n, dim + 1, 3), and its Lamé parameters."""
    kind = "tri" if part.dim == 2 else "tet"
    inverse = np.asarray(rows[f"{kind}_poses"], dtype=float).reshape(-1, part.dim, part.dim)[part.rows]
    sides = np.swapaxes(np.linalg.inv(inverse), 1, 2)  # from the first corner to each other
    x = np.zeros((len(corners), part.dim + 1, 3))
    x[:, 1:, : part.dim] = sides
    if part.dim == 3:  # compiled tetrahedra may be wound the other way
        order = (corners[:, :, None] == part.elements[:, None, :]).argmax(axis=2)
        x = np.take_along_axis(x, order[:, :, None], axis=1)
    mu, lame = np.asarray(rows[f"{kind}_materials"], dtype=float)[part.rows, :2].T
    return x, mu, lame


def _rest_lengths(host: HostModel, f: int, part: FlexPart, x: np.ndarray) -> np.ndarray:
    """Length of each edge at rest: where the particles were when the flex was made, unless the rest shapes differ."""
    start, count = int(host.flex_edgeadr[f]), int(host.flex_edgenum[f])
    placed = np.asarray(host.flexedge_length0)[start : start + count]
    pairs = EDGES[part.dim]
    lengths = np.linalg.norm(x[:, pairs[:, 0]] - x[:, pairs[:, 1]], axis=2)
    first = int(host.flex_elemedgeadr[f])
    edge = np.asarray(host.flex_elemedge)[first : first + lengths.size].reshape(lengths.shape)
    mean = np.bincount(edge.ravel(), lengths.ravel(), count) / np.bincount(edge.ravel(), minlength=count)
    apart = np.abs(lengths / mean[edge] - 1.0)
    if apart.max() > DISAGREE:
        worst = int(np.unravel_index(apart.argmax(), apart.shape)[0])
        raise BuildError(
            f"rest shapes of neighbouring elements disagree on the edge between them by {100 * apart.max():.1f} % "
            f"(element {int(part.rows[worst])}): give cloth whose panels are sewn together particles of its own a "
            "panel, and springs between them"
        )
    return np.where(np.abs(mean - placed) <= ROUNDING * placed, placed, mean)


def _edge_numbers(host: HostModel, f: int, part: FlexPart, ends: np.ndarray) -> np.ndarray:
    """Number of each edge of a flex, by its two particles."""
    start, count = int(host.flex_edgeadr[f]), int(host.flex_edgenum[f])
    n = len(part.vertices)
    known = np.sort(np.asarray(host.flex_edge)[start : start + count], axis=1) @ np.array([n, 1])
    wanted = np.sort(part.local(ends), axis=1) @ np.array([n, 1])
    order = np.argsort(known)
    return order[np.searchsorted(known[order], wanted)]


def _hinges(
    host: HostModel, f: int, rows: Mapping[str, np.ndarray], part: FlexPart
) -> tuple[np.ndarray, np.ndarray]:
    """Points across each edge, -1 where it is no hinge; and its numbers."""
    mine = np.asarray(rows["edge_indices"], dtype=int).reshape(-1, 4)[part.hinges]
    start, count = int(host.flex_edgeadr[f]), int(host.flex_edgenum[f])
    number = _edge_numbers(host, f, part, mine[:, 2:])
    flap, form = np.full((count, 2), -1), np.zeros((count, BENDING))
    flap[number] = part.local(mine[:, :2])
    ends = part.vertices[np.asarray(host.flex_edge)[start + number]]
    along = np.where(ends[:, 0] == mine[:, 2], 1.0, -1.0)
    q = np.asarray(rows["particle_q"], dtype=float)
    v = [q[ends[:, 0]], q[ends[:, 1]], q[mine[:, 0]], q[mine[:, 1]]]
    ke = np.asarray(rows["edge_bending_properties"], dtype=float)[part.hinges, 0]
    length = np.asarray(rows["edge_rest_length"], dtype=float)[part.hinges]
    angle = np.asarray(rows["edge_rest_angle"], dtype=float)[part.hinges]
    form[number] = hinges(v, ke * length, along * angle)
    return flap, form


def _touch(host: HostModel, new: dict[str, np.ndarray], soft: Soft, first: int, touched: np.ndarray) -> None:
    """Let elements and spheres meet geoms by a bit that nothing else uses."""
    used = np.concatenate([np.asarray(host.arrays[f"{kind}_{name}"]) for kind in ("geom", "flex")
                           for name in ("contype", "conaffinity")])  # fmt: skip
    taken = int(np.bitwise_or.reduce(used.astype(np.int64), initial=0))
    free = [1 << k for k in reversed(range(BITS)) if not taken & (1 << k)]
    if len(free) < 2:
        raise BuildError("all bits of contype and conaffinity are in use: leave two for particles")
    bit, own = free[:2]
    new["geom_conaffinity"][touched] |= bit
    drawn = soft.lone
    spheres = slice(int(host.ngeom) - len(drawn), int(host.ngeom))
    loose = ~np.isin(drawn, soft.rows["spring_indices"])  # what springs hold is closer than its radii by design
    new["geom_contype"][spheres] = np.where(loose, bit | own, bit)
    new["geom_conaffinity"][spheres] = np.where(loose, own, 0)
    for name in ("contype", "conaffinity"):
        np.bitwise_or.at(new[f"body_{name}"], np.asarray(host.geom_bodyid), new[f"geom_{name}"])
    for k, part in enumerate(soft.parts):
        if part.touches:
            new["flex_contype"][first + k] = bit
            new["flex_conaffinity"][first + k] = bit if soft.contact.among else 0
            new["flex_selfcollide"][first + k] = FlexSelf.AUTO if soft.contact.among else FlexSelf.NONE
