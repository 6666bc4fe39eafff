"""Constants derived from a model by a dynamics pass at its reference configuration, on the host in float64.

Every function takes an object with mjModel's attribute names: compile's HostModel, or a MjModel.

    derived_constants(m)   all of them, under mjModel's names ("stat" holds mjStatistic's)
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from kinema.compile.constants.flex import flex_constants
from kinema.compile.constants.flex_metric import flex_metric
from kinema.compile.constants.frames import camera_frames, equality_data, light_frames
from kinema.compile.constants.gains import damping_from_ratio
from kinema.compile.constants.kinematics import Pose, forward_kinematics
from kinema.compile.constants.mass import MassMatrix, mass_matrix
from kinema.compile.constants.statistics import statistics
from kinema.compile.constants.tendon import Segments, segments, tendon_lengths, tendon_rows
from kinema.compile.constants.topology import topology
from kinema.compile.constants.transmission import transmissions
from kinema.compile.constants.tree import Tree
from kinema.compile.constants.weights import row_weights, weights

__all__ = ["Rest", "derived_constants", "rest", "statistics"]

Array = np.ndarray


@dataclass
class Rest:
    """The model at qpos0: poses, tendons, inertia and transmissions."""

    tree: Tree
    cut: Segments
    pose: Pose
    ten_length: Array  # (1, ntendon)
    ten_rows: Array  # (1, ntendon, nv)
    mass: MassMatrix
    dof_M0: Array  # (nv,)
    act_length: Array  # (1, nout)
    act_rows: Array  # (1, nout, nv)


def rest(m) -> Rest:
    """Run the position stage at qpos0."""
    tree, cut = Tree(m), segments(m)
    pose = forward_kinematics(m, tree, np.asarray(m.qpos0)[None])
    length, points = tendon_lengths(m, pose, cut)
    rows = tendon_rows(m, tree, pose, cut, points)
    mass, diagonal = mass_matrix(m, tree, pose, rows)
    act_length, act_rows = transmissions(m, tree, pose, length, rows)
    return Rest(tree, cut, pose, length, rows, mass, diagonal[0], act_length, act_rows)


def derived_constants(m) -> dict[str, Any]:
    """Every constant MuJoCo computes after a model's rows are written, but the length range of muscles.

    Reads eq_data, actuator_biasprm and tendon_lengthspring as written in MJCF and returns them completed.
    """
    r = rest(m)
    body, dof = weights(m, r.pose, r.mass)
    act_weight, act_acceleration = row_weights(r.mass, r.act_rows)
    found: dict[str, Any] = {
        "body_subtreemass": r.tree.sum_up(np.asarray(m.body_mass)[None])[0],
        "dof_M0": r.dof_M0,
        "tendon_length0": r.ten_length[0],
        "actuator_length0": r.act_length[0],
        "body_invweight0": body[0],
        "dof_invweight0": dof[0],
        "tendon_invweight0": row_weights(r.mass, r.ten_rows)[0][0],
        "actuator_acc0": act_acceleration[0],
        "actuator_biasprm": damping_from_ratio(m, act_weight[0]),
        "eq_data": equality_data(m, r.pose),
        "tendon_lengthspring": _spring_lengths(m, r),
    }
    found |= camera_frames(m, r.pose)
    found |= light_frames(m, r.pose)
    found |= topology(m, r.tree)
    found |= flex_constants(m, r.pose, r.mass)
    found |= flex_metric(m, r.pose)
    stat, found["dof_length"] = statistics(m, r.pose, r.mass.diagonal(m.nv)[0], found["flexedge_length0"])
    found["stat"] = SimpleNamespace(**stat)
    return found


def _spring_lengths(m, r: Rest) -> Array:
    """tendon_lengthspring with -1, -1 replaced by the length at qpos_spring."""
    spring = np.array(m.tendon_lengthspring, dtype=float)
    automatic = (spring == -1).all(axis=1) if len(spring) else np.zeros(0, dtype=bool)
    if automatic.any():
        pose = forward_kinematics(m, r.tree, np.asarray(m.qpos_spring)[None])
        length, _ = tendon_lengths(m, pose, r.cut)
        spring[automatic] = length[0, automatic, None]
    return spring
