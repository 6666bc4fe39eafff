"""Changes of core arrays, carried over to the rows of a document.

A document runs from its `mujoco` rows. Users of Newton's arrays change `model.body_mass` and notify the solver all the
same, so what differs in the core arrays from what the model was built with overrules the rows:

    body_mass, body_com, body_inertia                       body_mass, body_ipos, body_inertia and body_iquat
    joint_armature, joint_damping, joint_friction           dof_armature, dof_damping, dof_frictionloss
    joint_limit_lower, joint_limit_upper                    jnt_range
    joint_effort_limit                                      jnt_actfrcrange
    joint_axis, joint_X_p, joint_X_c                        jnt_axis, jnt_pos; body_pos and body_quat by X_p X_c^-1
    shape_transform, shape_scale                            geom_pos, geom_quat, geom_size, and those of sites
    shape_material_mu, _torsional, _rolling                 geom_friction
    shape_margin, shape_gap                                 geom_margin, geom_gap

What a model built by hand is lowered from and a document has no row for is refused by name; REFUSED says what to change
instead. What no world is made from (restitution, colours) has no effect here and none in a new solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinema.compile.host_model import HostModel
from kinema.convex.geom_sizes import bounds
from kinema.errors import BuildError
from kinema.model.enums import JointType
from kinema.model.transform import quat_rotate, transform_inverse, transform_mul
from kinema.mujoco_enums import Geom, Joint

BODY = ("body_mass", "body_com", "body_inertia")
DOF = {"joint_armature": "dof_armature", "joint_damping": "dof_damping", "joint_friction": "dof_frictionloss"}
LIMITS = {"joint_limit_lower": 0, "joint_limit_upper": 1}
FRICTION = ("shape_material_mu", "shape_material_mu_torsional", "shape_material_mu_rolling")
WIDTHS = {"shape_margin": "geom_margin", "shape_gap": "geom_gap"}
MOVED = ("joint_X_p", "shape_transform")
"""Frames that a world carries along to where it is placed."""

FRAMES = (*MOVED, "joint_X_c", "joint_axis", "shape_scale")
CARRIED = (*BODY, *DOF, *LIMITS, "joint_effort_limit", *FRAMES, *FRICTION, *WIDTHS)

STRUCTURE = "it is part of the document's structure; change the document and build the model again"
REFUSED = {
    "body_flags": STRUCTURE,
    "joint_type": STRUCTURE,
    "joint_parent": STRUCTURE,
    "joint_child": STRUCTURE,
    "joint_dof_dim": STRUCTURE,
    "joint_enabled": "joints of documents always hold; change mujoco.eq_active for equality constraints",
    "joint_mimic_joint": STRUCTURE,
    "joint_mimic_coeffs": "change mujoco.eq_data",
    "joint_target_mode": "documents have actuators of their own",
    "joint_target_ke": "documents have actuators of their own: change mujoco.actuator_gainprm and actuator_biasprm",
    "joint_target_kd": "documents have actuators of their own: change mujoco.actuator_biasprm",
    "joint_limit_ke": "change mujoco.jnt_solref",
    "joint_limit_kd": "change mujoco.jnt_solref",
    "shape_body": STRUCTURE,
    "shape_flags": STRUCTURE,
    "shape_type": STRUCTURE,
    "shape_source": STRUCTURE,
    "shape_collision_group": "change mujoco.geom_contype and mujoco.geom_conaffinity",
    "shape_material_ke": "change mujoco.geom_solref",
    "shape_material_kd": "change mujoco.geom_solref",
}
"""Core arrays that rows of a document cannot follow, and what to do instead."""

WATCHED = (*CARRIED, *REFUSED)


def snapshot(rows: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The watched columns of a world as it was built."""
    return {key: np.array(rows[key]) for key in WATCHED}


def differing(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Which rows differ."""
    before, now = np.asarray(before), np.asarray(now)
    if not len(before):
        return np.zeros(0, dtype=bool)
    if before.dtype == object:
        return np.array([a is not b for a, b in zip(before, now, strict=True)], dtype=bool)
    return (before != now).reshape(len(before), -1).any(axis=1)


class CoreChanges:
    """Lets changed core rows overrule a compiled model.

    Args:
        host: The model; its arrays are replaced, not written into.
        bodies, joints, geoms, sites: Core rows of its bodies, joints, geoms and sites, as in `view.Source`.
        built: What `snapshot` gave, in the world's own frame.
        rows: The columns as they are now, in the same frame.
        changed: Of the columns in MOVED, which rows were changed.
    """

    def __init__(
        self, host: HostModel, bodies: np.ndarray, joints: np.ndarray, geoms: np.ndarray, sites: np.ndarray,
        built: Mapping[str, np.ndarray], rows: Mapping[str, np.ndarray], changed: Mapping[str, np.ndarray],
    ):  # fmt: skip
        self.host, self.bodies, self.joints, self.built, self.rows = host, bodies, joints, built, rows
        self.shapes = {"geom": geoms, "site": sites}
        self.changed = {
            key: changed[key] if key in changed else differing(built[key], rows[key]) for key in WATCHED
        }  # fmt: skip

    def apply(self) -> None:
        """Write what has changed; BuildError for what cannot be."""
        self._refuse()
        for index, body in enumerate(self.bodies):
            if body >= 0:
                self._body(index, int(body))
        for joint in range(len(self.joints)):
            self._joint(joint, int(self.joints[joint][0]), int(self.joints[joint][2]))
        for joint in np.flatnonzero(self.changed["joint_X_p"] | self.changed["joint_X_c"]):
            self._frames(int(joint))
        for geom, shape in enumerate(self.shapes["geom"]):
            if shape >= 0:
                self._contact(geom, int(shape))
        for kind, shapes in self.shapes.items():
            for index, shape in enumerate(shapes):
                if shape >= 0:
                    self._shape(kind, index, int(shape))

    def _write(self, name: str, index: Any, value: Any) -> None:
        array = np.array(self.host.arrays[name])
        array[index] = value
        self.host.arrays[name] = array

    def _refuse(self) -> None:
        """Rows of documents that changed and cannot be followed; of what was built by hand everything can."""
        mine = {
            "body": {int(b) for b in self.bodies if b >= 0},
            "joint": {k for k, child in enumerate(self.rows["joint_child"]) if int(child) in self.bodies},
            "shape": {int(s) for shapes in self.shapes.values() for s in shapes if s >= 0},
        }
        first = np.append(np.asarray(self.built_starts()), len(self.rows["joint_axis"]))
        for key, instead in REFUSED.items():
            for row in np.flatnonzero(self.changed[key]).tolist():
                kind = key.partition("_")[0]
                owner = row
                if kind == "joint" and len(self.changed[key]) == len(self.rows["joint_axis"]):  # a row a dof
                    owner = int(np.searchsorted(first, row, side="right")) - 1
                if owner in mine[kind]:
                    label = str(self.rows[f"{kind}_label"][owner])
                    raise BuildError(f"{key} of {kind} {label!r} changed, which a document cannot follow: {instead}")

    def built_starts(self) -> np.ndarray:
        """First dof of each joint."""
        count = len(self.rows["joint_type"])
        return np.asarray(self.rows["joint_qd_start"]).astype(int)[:count]

    # ---- bodies and joints

    def _body(self, index: int, body: int) -> None:
        changed, rows = self.changed, self.rows
        if changed["body_mass"][body]:
            self._write("body_mass", index, rows["body_mass"][body])
        if changed["body_com"][body]:
            self._write("body_ipos", index, rows["body_com"][body])
        if changed["body_inertia"][body]:
            from scipy.spatial.transform import Rotation  # imported on use: it takes a second

            moments, axes = np.linalg.eigh(np.asarray(rows["body_inertia"][body], dtype=float).reshape(3, 3))
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            self._write("body_inertia", index, moments)
            self._write("body_iquat", index, Rotation.from_matrix(axes).as_quat()[[3, 0, 1, 2]])

    def _joint(self, joint: int, core: int, dof: int) -> None:
        host, changed, rows = self.host, self.changed, self.rows
        first = int(host.jnt_dofadr[joint])
        dofs: dict[int, int] = {Joint.FREE: 6, Joint.BALL: 3}
        count = dofs.get(int(host.jnt_type[joint]), 1)
        for key, name in DOF.items():
            for k in range(count):
                if changed[key][dof + k]:
                    self._write(name, first + k, rows[key][dof + k])
        for key, side in LIMITS.items():
            if changed[key][dof]:
                self._need(joint, key, "jnt_limited", "sets no limit")
                self._write("jnt_range", (joint, side), rows[key][dof] + host.qpos0[host.jnt_qposadr[joint]])
        if changed["joint_effort_limit"][dof]:
            self._need(joint, "joint_effort_limit", "jnt_actfrclimited", "sets none")
            self._write("jnt_actfrcrange", joint, np.array([-1, 1]) * float(rows["joint_effort_limit"][dof]))
        if count == 1 and (changed["joint_axis"][dof] or changed["joint_X_c"][core]):
            frame = np.asarray(rows["joint_X_c"][core], dtype=float)
            axis = quat_rotate(frame[3:], np.asarray(rows["joint_axis"][dof], dtype=float))
            self._write("jnt_axis", joint, axis / np.linalg.norm(axis))

    def _need(self, joint: int, key: str, switch: str, otherwise: str) -> None:
        if not getattr(self.host, switch)[joint]:
            name = self.host.names("joint")[joint]
            raise BuildError(f"{key} of joint {name!r} changed, but its document {otherwise}")

    def _frames(self, core: int) -> None:
        """Move the body that a joint holds, and the joint on it: T' = X_p' X_p^-1 T X_c X_c'^-1."""
        if int(self.rows["joint_type"][core]) == JointType.FREE:
            return  # its frames stand between joint_q and qpos: conventions.py
        body = np.flatnonzero(self.bodies == int(self.rows["joint_child"][core]))
        if not len(body):
            return  # built by hand
        index, host = int(body[0]), self.host
        before, now = ([np.asarray(rows[key][core], dtype=float) for key in ("joint_X_p", "joint_X_c")]
                       for rows in (self.built, self.rows))  # fmt: skip
        pose = np.concatenate([host.body_pos[index], np.asarray(host.body_quat[index])[[1, 2, 3, 0]]]).astype(float)
        for step in (transform_inverse(before[0]), now[0]):
            pose = transform_mul(step, pose)
        for step in (before[1], transform_inverse(now[1])):
            pose = transform_mul(pose, step)
        self._write("body_pos", index, pose[:3])
        self._write("body_quat", index, pose[[6, 3, 4, 5]])
        shift = transform_mul(now[1], transform_inverse(before[1]))
        for joint in range(int(host.body_jntadr[index]), int(host.body_jntadr[index] + host.body_jntnum[index])):
            anchor = np.asarray(host.jnt_pos[joint], dtype=float)
            self._write("jnt_pos", joint, shift[:3] + quat_rotate(shift[3:], anchor))

    # ---- shapes

    def _contact(self, geom: int, shape: int) -> None:
        for column, key in enumerate(FRICTION):
            if self.changed[key][shape]:
                self._write("geom_friction", (geom, column), self.rows[key][shape])
        for key, name in WIDTHS.items():
            if self.changed[key][shape]:
                self._write(name, geom, self.rows[key][shape])

    def _shape(self, kind: str, index: int, shape: int) -> None:
        if self.changed["shape_transform"][shape]:
            pose = np.asarray(self.rows["shape_transform"][shape], dtype=float)
            self._write(f"{kind}_pos", index, pose[:3])
            self._write(f"{kind}_quat", index, pose[[6, 3, 4, 5]])
        if self.changed["shape_scale"][shape]:
            type_ = int(getattr(self.host, f"{kind}_type")[index])
            scale = np.asarray(self.rows["shape_scale"][shape], dtype=float)
            if kind == "site":
                self._write("site_size", index, scale)
                return
            if type_ in (Geom.MESH, Geom.HFIELD, Geom.SDF):
                label = str(self.rows["shape_label"][shape])
                raise BuildError(f"shape_scale of shape {label!r} changed, but its mesh is the document's: {STRUCTURE}")
            if type_ == Geom.PLANE:
                self._write("geom_size", (index, slice(2)), scale[:2] / 2)
                return
            sizes: dict[int, int] = {Geom.SPHERE: 1, Geom.CAPSULE: 2, Geom.CYLINDER: 2}
            used = sizes.get(type_, 3)
            size = np.where(np.arange(3) < used, scale, 0.0)
            radius, half = bounds(np.array([type_]), size[None])
            self._write("geom_size", index, size)
            self._write("geom_rbound", index, radius[0])
            self._write("geom_aabb", (index, slice(3, 6)), half[0])
