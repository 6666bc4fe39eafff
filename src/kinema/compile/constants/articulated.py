"""Solves with the joint-space inertia of a large tree in time linear in its dofs, by articulated bodies.

Dofs are taken one by one, each as a massless link; d runs over them, p is the one above d, s_d its axis. All axes are
about one point, the centre of mass of the tree, so nothing is moved between links (Featherstone, ch. 7 and 10):

    leaves first   U_d = I_d s_d,   D_d = s_d·U_d + armature,   I_p += I_d - U_d U_dᵀ / D_d
    M⁻¹ y          u_d = y_d - s_d·f_d,   f_p += f_d + U_d u_d / D_d,   then  x_d = (u_d - U_d·a_p) / D_d,  a_d = a_p + s_d x_d
    root first     Ω_d = P Ω_p Pᵀ + s_d s_dᵀ / D_d,   P = 1 - s_d U_dᵀ / D_d

Ω_d = J M⁻¹ Jᵀ is how link d answers a wrench, and (M⁻¹)_dd = 1/D_d + U_dᵀ Ω_p U_d / D_d². The D are the pivots of MuJoCo's
factor, kept from vanishing as there. A dense factor costs n³: a hub with 3000 bodies on it took a minute.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.tree import Block
from kinema.mujoco_enums import MINVAL

Array = np.ndarray

CHUNK = 1 << 24
"""Numbers held at once while solving for many rows."""


@dataclass(frozen=True)
class _Level:
    """Dofs of one depth, sorted by the dof above: `starts` is where each of `above` has its first."""

    dofs: Array
    parents: Array
    above: Array
    starts: Array


class Articulated:
    """The factor of G equal trees: as `mass.Dense`, for trees of many dofs.

    Args:
        block: The trees.
        momentum: Of each composite body moving along the axis of a dof, (W, G, n, 6).
        axes: Spatial axes of the dofs, (W, G, n, 6).
        inertia: Spatial inertias of the bodies, (W, G, b, 6, 6).
        armature: Of each dof, (…, G, n).
        diagonal: Of M, (W, G, n).
    """

    def __init__(self, block: Block, momentum: Array, axes: Array, inertia: Array, armature: Array, diagonal: Array):
        self.block, self.axes, self.diagonal = block, axes, diagonal
        self._whole = momentum, armature
        n = axes.shape[2]
        self.levels = _levels(block.above)
        held = np.where(block.moves.any(axis=1), n - 1 - np.argmax(block.moves[:, ::-1], axis=1), -1)
        self.link = held  # the link that carries each body
        link = np.zeros((*axes.shape, 6))
        for i in np.flatnonzero(held >= 0):
            link[:, :, held[i]] += inertia[:, :, i]
        self.force, self.pivot = np.zeros_like(axes), np.zeros(axes.shape[:-1])
        for level in reversed(self.levels):
            inner, s = link[:, :, level.dofs], axes[:, :, level.dofs]
            u = (inner @ s[..., None])[..., 0]
            pivot = np.maximum(np.sum(u * s, axis=-1) + armature[..., level.dofs], MINVAL)
            self.force[:, :, level.dofs], self.pivot[:, :, level.dofs] = u, pivot
            if len(level.above):
                left = inner - u[..., :, None] * u[..., None, :] / pivot[..., None, None]
                link[:, :, level.above] += np.add.reduceat(left, level.starts, axis=2)

    @property
    def matrix(self) -> Array:
        """M itself, (W, G, n, n)."""
        momentum, armature = self._whole
        return joint_inertia(self.block, momentum, self.axes, armature)

    def solve(self, rows: Array) -> Array:
        """M⁻¹ applied to each row: (W, G, P, n) → the same."""
        out = np.zeros_like(rows)
        wanted = np.flatnonzero(rows.any(axis=(0, 1, 3)))
        step = max(1, CHUNK // max(1, self.axes.size))
        for start in range(0, len(wanted), step):
            some = wanted[start : start + step]
            out[:, :, some] = self._solve(rows[:, :, some])
        return out

    def _solve(self, rows: Array) -> Array:
        axes, force, pivot = self.axes[:, :, None], self.force[:, :, None], self.pivot[:, :, None]
        load = np.zeros((*rows.shape, 6))
        u = rows.copy()
        for level in reversed(self.levels):
            here = level.dofs
            u[..., here] -= np.sum(axes[..., here, :] * load[..., here, :], axis=-1)
            if len(level.above):
                passed = load[..., here, :] + force[..., here, :] * (u[..., here] / pivot[..., here])[..., None]
                load[..., level.above, :] += np.add.reduceat(passed, level.starts, axis=-2)
        motion, x = load, u  # their places are free again
        for level in self.levels:
            here = level.dofs
            before = motion[..., level.parents, :] if len(level.above) else np.zeros((1, 6))
            x[..., here] = (u[..., here] - np.sum(force[..., here, :] * before, axis=-1)) / pivot[..., here]
            motion[..., here, :] = before + axes[..., here, :] * x[..., here, None]
        return x

    def weights(self, axes: Array, lever: Array) -> tuple[Array, Array]:
        """Diagonal of M⁻¹ (W, G, n), and of each body the mean answer to forces and to torques at `lever` (W, G, b, 2).

        Args:
            axes: Spatial axes of the dofs, (W, G, n, 6).
            lever: From the centre of mass of the tree to the body's own, (W, G, b, 3).
        """
        answer, inverse = np.zeros((*self.axes.shape, 6)), np.zeros_like(self.pivot)
        for level in self.levels:
            here = level.dofs
            s, u, pivot = axes[:, :, here], self.force[:, :, here], self.pivot[:, :, here]
            own = s[..., :, None] * s[..., None, :] / pivot[..., None, None]
            inverse[:, :, here] = 1.0 / pivot
            if len(level.above):
                above = answer[:, :, level.parents]
                inverse[:, :, here] += np.einsum("...i,...ij,...j->...", u, above, u) / pivot**2
                pass_on = np.eye(6) - s[..., :, None] * u[..., None, :] / pivot[..., None, None]
                own = own + pass_on @ above @ pass_on.swapaxes(-1, -2)
            answer[:, :, here] = own
        body = np.where((self.link >= 0)[:, None, None], answer[:, :, self.link], 0.0)
        at = np.concatenate((-quat.skew(lever), np.broadcast_to(np.eye(3), (*lever.shape, 3))), axis=-1)
        linear = np.einsum("...ki,...ij,...kj->...", at, body, at)
        angular = np.trace(body[..., :3, :3], axis1=-2, axis2=-1)
        return inverse, np.stack((linear, angular), axis=-1) / 3.0


def _levels(above: Array) -> list[_Level]:
    """Dofs by depth, roots first."""
    depth = above.sum(axis=1) - 1
    strictly = above & ~np.eye(len(above), dtype=bool)
    parent = np.where(depth > 0, len(above) - 1 - np.argmax(strictly[:, ::-1], axis=1), -1)
    levels = []
    for k in range(int(depth.max(initial=-1)) + 1):
        dofs = np.flatnonzero(depth == k)
        dofs = dofs[np.argsort(parent[dofs], kind="stable")]
        if k == 0:
            none = np.zeros(0, dtype=int)
            levels.append(_Level(dofs, parent[dofs], none, none))
            continue
        first = np.flatnonzero(np.r_[True, np.diff(parent[dofs]) > 0])
        levels.append(_Level(dofs, parent[dofs], parent[dofs][first], first))
    return levels


def joint_inertia(block: Block, momentum: Array, axes: Array, armature: Array) -> Array:
    """M of G equal trees, (W, G, n, n): momentum of composite bodies along the axes above them."""
    lower = momentum @ axes.swapaxes(-1, -2) * block.above
    matrix = lower + np.tril(lower, -1).swapaxes(-1, -2)
    n = block.dofs.shape[1]
    matrix[..., np.arange(n), np.arange(n)] += armature
    return matrix
