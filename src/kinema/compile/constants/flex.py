"""Constants of flexes at qpos0: lengths of edges, their Jacobians' sparsity, and their inverse weights.

    length    |x_2 - x_1|
    J         (x_2 - x_1)ᵀ / length (J_2 - J_1): entries at the dofs that move either end
    weight    J M⁻¹ Jᵀ; between two point masses their mean 1 / m

Rows of the Jacobian are laid out for flexes whose edges can make forces; of others there is room but no entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.compile.constants.kinematics import Pose, attached
from kinema.compile.constants.mass import MassMatrix

Array = np.ndarray

FORCES = ("flex_edgeequality", "flex_edgedamping", "flex_edgestiffness", "flex_damping")
"""Why edges of a flex have Jacobians."""
AT_ONCE = 256


def flex_constants(m, pose: Pose, mass: MassMatrix) -> dict[str, Any]:
    """flexedge_length0, flexedge_invweight0 and the flexedge_J arrays."""
    x, bodies = _vertices(m, pose), np.asarray(m.flex_vertbodyid)
    number = len(np.asarray(m.flex_edge))
    length, weight = np.zeros(number), np.zeros(number)
    rownnz = np.zeros(number, np.int32)
    colind: list[int] = []
    chains = _Chains(m)
    room = 0
    for f in range(m.nflex):
        edges = np.arange(m.flex_edgeadr[f], m.flex_edgeadr[f] + m.flex_edgenum[f])
        ends = m.flex_vertadr[f] + np.asarray(m.flex_edge)[edges]
        if m.flex_interp[f]:
            continue
        length[edges] = np.sqrt(((x[ends[:, 1]] - x[ends[:, 0]]) ** 2).sum(axis=1))
        if m.flex_rigid[f]:
            continue
        pairs = bodies[ends]
        rows = [chains.of_pair(a, b) for a, b in pairs.tolist()]
        room += sum(map(len, rows))
        forces = any(np.asarray(getattr(m, name))[f] for name in FORCES)
        if forces:
            rownnz[edges] = [len(row) for row in rows]
            colind.extend(dof for row in rows for dof in row)
        rigid = np.asarray(m.flexedge_rigid)[edges].astype(bool)
        weight[edges] = _weights(m, pose, mass, x, ends, pairs, rows if forces else None, rigid)
    columns = np.zeros(room, np.int32)
    columns[: len(colind)] = colind
    return {
        "flexedge_length0": length, "flexedge_invweight0": weight, "flexedge_J_rownnz": rownnz,
        "flexedge_J_rowadr": (np.cumsum(rownnz) - rownnz).astype(np.int32), "flexedge_J_colind": columns,
    }  # fmt: skip


def _vertices(m, pose: Pose) -> Array:
    """Vertices in the world; those carried along by nodes are left at the origin, nothing here depends on them."""
    body = np.maximum(np.asarray(m.flex_vertbodyid), 0)
    identity = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (len(body), 4))
    return attached(pose.xpos, pose.xquat, pose.xmat, body, m.flex_vert, identity)[0][0]


class _Chains:
    """Dofs that move a body, in order."""

    def __init__(self, m):
        self.parent, self.adr = np.asarray(m.body_parentid).tolist(), np.asarray(m.body_dofadr).tolist()
        self.number = np.asarray(m.body_dofnum).tolist()
        self.known: dict[int, list[int]] = {0: []}

    def of(self, body: int) -> list[int]:
        if body not in self.known:
            own = range(self.adr[body], self.adr[body] + self.number[body])
            self.known[body] = [*self.of(self.parent[body]), *own]
        return self.known[body]

    def of_pair(self, one: int, two: int) -> list[int]:
        return sorted({*self.of(one), *self.of(two)})


def _weights(
    m, pose: Pose, mass: MassMatrix, x: Array, ends: Array, pairs: Array, rows: list[list[int]] | None, rigid: Array
) -> Array:
    """Inverse weights of the edges of one flex; without rows only those between point masses."""
    weight = np.zeros(len(ends))
    simple = (np.asarray(m.body_simple)[pairs] == 2).all(axis=1)
    heavy = np.asarray(m.body_mass)[pairs]
    points = simple & ~rigid
    weight[points] = (1 / heavy[points]).sum(axis=1) / 2
    if rows is None:
        return weight
    general = np.flatnonzero(~simple & ~rigid)
    for part in (general[i : i + AT_ONCE] for i in range(0, len(general), AT_ONCE)):
        dense = np.zeros((len(part), m.nv))
        for row, e in zip(dense, part.tolist(), strict=True):
            direction = x[ends[e, 1]] - x[ends[e, 0]]
            size = np.sqrt(direction @ direction)
            direction = direction / size if size > 0 else np.array([1.0, 0.0, 0.0])  # as mju_normalize3
            for body, at, sign in ((pairs[e, 1], x[ends[e, 1]], 1.0), (pairs[e, 0], x[ends[e, 0]], -1.0)):
                row += sign * _point_row(m, pose, int(body), at, direction, rows[e])
        weight[part] = (mass.solve(dense[None])[0] * dense).sum(axis=1)
    return weight


def _point_row(m, pose: Pose, body: int, at: Array, direction: Array, dofs: list[int]) -> Array:
    """Jᵀ direction of a point of a body."""
    row = np.zeros(m.nv)
    moving = [d for d in dofs if _moves(m, d, body)]
    lever = at - pose.subtree_com[0, m.body_rootid[body]]
    axes = pose.cdof[0, moving]
    row[moving] = axes[:, :3] @ np.cross(lever, direction) + axes[:, 3:] @ direction
    return row


def _moves(m, dof: int, body: int) -> bool:
    owner = m.dof_bodyid[dof]
    while body > owner:
        body = int(m.body_parentid[body])
    return body == owner
