"""Constants of many worlds that differ in masses and inertias only, all at once.

Geometry is the same in all of them, so poses, tendons and transmissions are computed once; the inertia matrix at qpos0,
its inverse and what follows are stacked over worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.compile.constants import derived_constants, rest
from kinema.compile.constants.kinematics import forward_kinematics
from kinema.compile.constants.mass import mass_matrix
from kinema.compile.constants.weights import row_weights, weights

Array = np.ndarray

INERTIAL = ("body_mass", "body_inertia", "body_ipos", "body_iquat", "dof_armature")
"""What may differ."""

CHUNK = 256  # worlds at a time: matrices of all bodies and dofs are large


class _Worlds:
    """A model whose inertial fields have a leading axis of worlds."""

    def __init__(self, m: Any, values: Mapping[str, Array]):
        self._m, self._values = m, values

    def __getattr__(self, name: str) -> Any:
        return self._values[name] if name in self._values else getattr(self._m, name)


def inertial_constants(m: Any, values: Mapping[str, Array]) -> dict[str, Array]:
    """What `derived_constants` gives of masses and inertias, for each world: name -> (worlds, ...).

    Args:
        m: The model.
        values: Fields of INERTIAL that differ, (worlds, ...); the others are the model's.
    """
    count = len(next(iter(values.values())))
    parts = []
    for start in range(0, count, CHUNK):
        part = {name: np.asarray(rows, dtype=float)[start : start + CHUNK] for name, rows in values.items()}
        parts.append(_chunk(m, part))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _chunk(m: Any, values: Mapping[str, Array]) -> dict[str, Array]:
    base, known = rest(m), derived_constants(m)
    worlds, many = len(next(iter(values.values()))), _Worlds(m, values)
    pose = forward_kinematics(many, base.tree, np.tile(np.asarray(m.qpos0), (worlds, 1)))
    mass, diagonal = mass_matrix(many, base.tree, pose, base.ten_rows)
    rows = [np.broadcast_to(r, (worlds, *r.shape[1:])) for r in (base.ten_rows, base.act_rows)]
    total = base.tree.sum_up(np.atleast_2d(np.asarray(many.body_mass)))
    body, dof = weights(many, pose, mass)
    found = {
        "body_subtreemass": np.broadcast_to(total, (worlds, m.nbody)),
        "dof_M0": np.broadcast_to(diagonal, (worlds, m.nv)),
        "body_invweight0": body,
        "dof_invweight0": dof,
        "tendon_invweight0": row_weights(mass, rows[0])[0],
        "actuator_acc0": row_weights(mass, rows[1])[1],
    }
    for kind in ("cam", "light"):  # where they stand from the centre of mass they follow
        body, target = (np.asarray(getattr(m, f"{kind}_{name}")) for name in ("bodyid", "targetbodyid"))
        followed = np.where(target >= 0, target, body)
        moved = base.pose.subtree_com[0][followed] - pose.subtree_com[:, followed]
        found[f"{kind}_poscom0"] = known[f"{kind}_poscom0"] + moved
    return found
