"""Changes of core arrays, carried over to the rows of a document.

A document runs from its `mujoco` rows. Users of Newton's arrays change `model.body_mass` and notify the solver all the
same, so what differs in the core arrays from what the model was built with overrules the rows:

    body_mass, body_com, body_inertia                       body_mass, body_ipos, body_inertia and body_iquat
    joint_armature, joint_damping, joint_friction           dof_armature, dof_damping, dof_frictionloss
    joint_limit_lower, joint_limit_upper                    jnt_range
    joint_effort_limit                                      jnt_actfrcrange
    shape_material_mu, _torsional, _rolling, shape_margin   geom_friction, geom_margin
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kinema.compile.host_model import HostModel
from kinema.errors import BuildError

BODY = ("body_mass", "body_com", "body_inertia")
DOF = {"joint_armature": "dof_armature", "joint_damping": "dof_damping", "joint_friction": "dof_frictionloss"}
LIMITS = {"joint_limit_lower": 0, "joint_limit_upper": 1}
FRICTION = ("shape_material_mu", "shape_material_mu_torsional", "shape_material_mu_rolling")
WATCHED = (*BODY, *DOF, *LIMITS, "joint_effort_limit", *FRICTION, "shape_margin")


def snapshot(rows: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The watched columns of a world as it was built."""
    return {key: np.array(rows[key]) for key in WATCHED}


def apply_changes(
    host: HostModel, bodies: np.ndarray, joints: np.ndarray, geoms: np.ndarray, built: Mapping[str, np.ndarray],
    rows: Mapping[str, np.ndarray],
) -> None:  # fmt: skip
    """Let changed core rows overrule a compiled model.

    Args:
        host: The model; its arrays are replaced, not written into.
        bodies, joints, geoms: Core rows of its bodies, joints and geoms, as in `view.Source`.
        built: What `snapshot` gave.
        rows: The columns as they are now.
    """
    changed = {key: _rows_that_differ(built[key], rows[key]) for key in WATCHED}
    for index, body in enumerate(bodies):
        if body >= 0:
            _change_body(host, index, int(body), changed, rows)
    for joint in range(len(joints)):
        _change_joint(host, joint, int(joints[joint][2]), changed, rows)
    for geom, shape in enumerate(geoms):
        if shape >= 0:
            for column, key in enumerate(FRICTION):
                if changed[key][shape]:
                    _write(host, "geom_friction", (geom, column), rows[key][shape])
            if changed["shape_margin"][shape]:
                _write(host, "geom_margin", geom, rows["shape_margin"][shape])


def _rows_that_differ(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    return (before != now).reshape(len(before), -1).any(axis=1)


def _write(host: HostModel, name: str, index: object, value: object) -> None:
    array = np.array(host.arrays[name])
    array[index] = value
    host.arrays[name] = array


def _change_body(host: HostModel, index: int, body: int, changed: Mapping, rows: Mapping) -> None:
    if changed["body_mass"][body]:
        _write(host, "body_mass", index, rows["body_mass"][body])
    if changed["body_com"][body]:
        _write(host, "body_ipos", index, rows["body_com"][body])
    if changed["body_inertia"][body]:
        from scipy.spatial.transform import Rotation  # imported on use: it takes a second

        moments, axes = np.linalg.eigh(np.asarray(rows["body_inertia"][body], dtype=float).reshape(3, 3))
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        _write(host, "body_inertia", index, moments)
        _write(host, "body_iquat", index, Rotation.from_matrix(axes).as_quat()[[3, 0, 1, 2]])


def _change_joint(host: HostModel, joint: int, dof: int, changed: Mapping, rows: Mapping) -> None:
    first = int(host.jnt_dofadr[joint])
    last = first + {0: 6, 1: 3}.get(int(host.jnt_type[joint]), 1)
    for key, name in DOF.items():
        for k in range(last - first):
            if changed[key][dof + k]:
                _write(host, name, first + k, rows[key][dof + k])
    for key, side in LIMITS.items():
        if changed[key][dof]:
            if not host.jnt_limited[joint]:
                name = host.names("joint")[joint]
                raise BuildError(f"{key} of joint {name!r} changed, but its document sets no limit")
            _write(host, "jnt_range", (joint, side), rows[key][dof] + host.qpos0[host.jnt_qposadr[joint]])
    if changed["joint_effort_limit"][dof]:
        if not host.jnt_actfrclimited[joint]:
            raise BuildError(
                f"joint_effort_limit of joint {host.names('joint')[joint]!r} changed, but its document sets none"
            )
        _write(host, "jnt_actfrcrange", joint, np.array([-1, 1]) * float(rows["joint_effort_limit"][dof]))
