"""Joints of a world as prims of UsdPhysics.

    frames      local poses 0 and 1; a joint's axis is x, y or z of its frame, and other axes turn the frame
    D6          a PhysicsJoint that locks what it has not; where its axes are not those of its frame, a hinge or a slide
                for each, which are read as one joint again
    turns       degrees, and gains per degree

USD lists the joints of an articulation by name, so names are numbered where that is not the order of the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import BuildError
from ..model import JointTargetMode, JointType
from ..model.transform import IDENTITY, quat_between, transform_mul
from .gprims import name_of, quat
from .joints import D6, DEGREE

UNLIMITED = 1e10
"""Limits and efforts from here on are none."""
NO_SPEED = 1e6
"""Limits of speed from here on are none: Newton's default."""
KINDS = {
    JointType.REVOLUTE: "RevoluteJoint", JointType.PRISMATIC: "PrismaticJoint", JointType.BALL: "SphericalJoint",
    JointType.FIXED: "FixedJoint", JointType.DISTANCE: "DistanceJoint", JointType.D6: "Joint",
}  # fmt: skip


def write_number(prim: Any, name: str, value: float) -> None:
    """An attribute that UsdPhysics has no name for."""
    from pxr import Sdf

    prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(value)


class JointWriter:
    """Writes the joints of one world.

    Args:
        stage: The stage.
        rows: Rows of the world, indices counted within it.
        back: What takes the world to its own frame.
        root: Path of the world's prim, which stands for what does not move.
        bodies: Path of each body.
        apart: Whether no shape of one body touches one of another.
        by_coordinate: Whether position targets are laid out as coordinates are.
    """

    def __init__(
        self, stage: Any, rows: Mapping[str, np.ndarray], back: np.ndarray, root: str, bodies: Mapping[int, str],
        apart: Callable[[int, int], bool], *, by_coordinate: bool,
    ):  # fmt: skip
        self.stage, self.rows, self.back, self.root, self.bodies = stage, rows, back, root, bodies
        self.apart, self.by_coordinate = apart, by_coordinate
        self.paths: dict[int, str] = {}
        self.dofs: dict[int, str] = {}
        self.labels = self._labels()

    def write(self, joint: int, name: Callable[[str], str]) -> None:
        """Write a joint, at the path that `name` gives for a label."""
        rows = self.rows
        kind, label = JointType(int(rows["joint_type"][joint])), self.labels[joint]
        if kind not in KINDS:
            raise BuildError(f"save_usd(): joint {label!r} is a {kind.name} joint, which UsdPhysics does not have")
        first = int(rows["joint_qd_start"][joint])
        linear, angular = (int(n) for n in rows["joint_dof_dim"][joint])
        if kind == JointType.D6 and self._own_axes(joint) is None:  # one joint an axis, which are read as one D6
            for k in range(linear + angular):
                single = JointType.PRISMATIC if k < linear else JointType.REVOLUTE
                self._write_joint(joint, single, k, name(f"{label}_{k}"))
            return
        path = name(label)
        made, prim = self._write_joint(joint, kind, 0, path)
        if kind == JointType.DISTANCE:
            made.CreateMinDistanceAttr(float(rows["joint_limit_lower"][first]))
            made.CreateMaxDistanceAttr(float(rows["joint_limit_upper"][first]))
        elif kind == JointType.D6:
            self._axes(prim, joint)
        elif kind == JointType.BALL:
            self._numbers(prim, first, DEGREE)

    def _write_joint(self, joint: int, kind: JointType, k: int, path: str) -> tuple[Any, Any]:
        """The prim of a joint, or of the k-th axis of one, with its frames and ends."""
        from pxr import Gf, Sdf, UsdPhysics

        rows = self.rows
        self.paths.setdefault(joint, path)
        made = getattr(UsdPhysics, KINDS[kind]).Define(self.stage, path)
        prim = made.GetPrim()
        parent, child = int(rows["joint_parent"][joint]), int(rows["joint_child"][joint])
        frame_p, frame_c = (np.asarray(rows[key][joint], float) for key in ("joint_X_p", "joint_X_c"))
        if parent < 0:
            frame_p = transform_mul(self.back, frame_p)
        turn, dof = IDENTITY, int(rows["joint_qd_start"][joint]) + k
        if kind in (JointType.REVOLUTE, JointType.PRISMATIC):
            token, turn = _axis_token(np.asarray(rows["joint_axis"][dof], float))
            made.CreateAxisAttr(token)
        made.CreateBody0Rel().SetTargets([Sdf.Path(self.bodies.get(parent, self.root))])
        made.CreateBody1Rel().SetTargets([Sdf.Path(self.bodies[child])])
        for frame, position, rotation in (
            (transform_mul(frame_p, turn), made.CreateLocalPos0Attr, made.CreateLocalRot0Attr),
            (transform_mul(frame_c, turn), made.CreateLocalPos1Attr, made.CreateLocalRot1Attr),
        ):
            position(Gf.Vec3f(*map(float, frame[:3])))
            rotation(quat(frame[3:], Gf.Quatf))
        if not bool(rows["joint_enabled"][joint]):
            made.CreateJointEnabledAttr(False)
        if int(rows["joint_articulation"][joint]) < 0:
            made.CreateExcludeFromArticulationAttr(True)
        if parent >= 0 and not self.apart(parent, child):
            made.CreateCollisionEnabledAttr(True)
        if kind in (JointType.REVOLUTE, JointType.PRISMATIC):
            self._axis(made, prim, joint, k, "angular" if kind == JointType.REVOLUTE else "linear")
            self.dofs[dof] = path
        return made, prim

    def _own_axes(self, joint: int) -> dict[str, int] | None:
        """Which axis of its frame each axis of a D6 is, in the order of USD's; None where it is none of them."""
        rows, first = self.rows, int(self.rows["joint_qd_start"][joint])
        linear, angular = (int(n) for n in rows["joint_dof_dim"][joint])
        found: dict[str, int] = {}
        for k in range(linear + angular):
            axis = np.asarray(rows["joint_axis"][first + k], float)
            name = [name for name, along, turns in D6.values() if turns == (k >= linear) and np.allclose(along, axis)]
            if not name:
                return None
            found[name[0]] = k
        in_order = list(found) == [name for name in D6 if name in found]
        return found if in_order and len(found) == linear + angular else None

    def _axes(self, prim: Any, joint: int) -> None:
        """Axes of a D6: those of its frame that it has, and locks for those that it has not."""
        from pxr import UsdPhysics

        found = self._own_axes(joint) or {}
        for name in D6:
            word = name[0].lower() + name[1:]
            if name in found:
                self._axis(None, prim, joint, found[name], word)
            else:
                limit = UsdPhysics.LimitAPI.Apply(prim, word)
                limit.CreateLowAttr(1.0)
                limit.CreateHighAttr(-1.0)

    def _labels(self) -> list[str]:
        """What joints are called. USD lists joints of an articulation by name: where that is not the order of a
        body's children, they are numbered."""
        rows = self.rows
        labels = [str(label) for label in rows["joint_label"]]
        owner, parent = np.asarray(rows["joint_articulation"]), np.asarray(rows["joint_parent"])
        for tree in set(owner[owner >= 0].tolist()):
            joints = np.flatnonzero(owner == tree).tolist()
            names = {j: name_of(labels[j], "joint", set()) for j in joints}
            siblings = [[names[j] for j in joints if parent[j] == p] for p in set(parent[joints].tolist())]
            if any(group != sorted(group) for group in siblings):
                width = len(str(len(joints)))
                for k, j in enumerate(joints):
                    labels[j] = f"joint{k:0{width}d}_{names[j]}"
        return labels

    def _axis(self, made: Any, prim: Any, joint: int, k: int, axis: str) -> None:
        """Limits, drive and numbers of one axis; `made` is a joint with limits of its own."""
        from pxr import UsdPhysics

        rows = self.rows
        dof, coord = int(rows["joint_qd_start"][joint]) + k, int(rows["joint_q_start"][joint]) + k
        unit = DEGREE if axis == "angular" or axis.startswith("rot") else 1.0
        low, high = float(rows["joint_limit_lower"][dof]), float(rows["joint_limit_upper"][dof])
        ends = [(low, -np.inf), (high, np.inf)]
        values = [value / unit if abs(value) < UNLIMITED else endless for value, endless in ends]
        if made is not None:
            made.CreateLowerLimitAttr(values[0])
            made.CreateUpperLimitAttr(values[1])
        elif np.any(np.isfinite(values)):
            limit = UsdPhysics.LimitAPI.Apply(prim, axis)
            limit.CreateLowAttr(values[0])
            limit.CreateHighAttr(values[1])
        self._drive(prim, dof, coord, axis, unit)
        self._numbers(prim, dof, unit, f"{axis}:" if made is None else "")
        q, qd = float(rows["joint_q"][coord]), float(rows["joint_qd"][dof])
        if q or qd:
            write_number(prim, f"newton:{axis}:position", q / unit)
            write_number(prim, f"newton:{axis}:velocity", qd / unit)

    def _drive(self, prim: Any, dof: int, coord: int, axis: str, unit: float) -> None:
        from pxr import UsdPhysics

        rows = self.rows
        effort = float(rows["joint_effort_limit"][dof])
        if JointTargetMode(int(rows["joint_target_mode"][dof])) == JointTargetMode.NONE:
            return
        drive = UsdPhysics.DriveAPI.Apply(prim, axis)
        drive.CreateTypeAttr("force")
        drive.CreateStiffnessAttr(float(rows["joint_target_ke"][dof]) * unit)
        drive.CreateDampingAttr(float(rows["joint_target_kd"][dof]) * unit)
        at = coord if self.by_coordinate else dof
        drive.CreateTargetPositionAttr(float(rows["joint_target_q"][at]) / unit)
        drive.CreateTargetVelocityAttr(float(rows["joint_target_qd"][dof]) / unit)
        drive.CreateMaxForceAttr(effort if effort < UNLIMITED else np.inf)

    def _numbers(self, prim: Any, dof: int, unit: float, axis: str = "") -> None:
        """What UsdPhysics has no name for; angular values are per degree. Axes of a joint share all but limits."""
        rows = self.rows
        for name, key in (("limitStiffness", "joint_limit_ke"), ("limitDamping", "joint_limit_kd")):
            write_number(prim, f"newton:{axis}{name}", float(rows[key][dof]) * unit)
        shared = {"armature": float(rows["joint_armature"][dof]), "friction": float(rows["joint_friction"][dof]),
                  "damping": float(rows["joint_damping"][dof]) * unit}  # fmt: skip
        speed = float(rows["joint_velocity_limit"][dof])
        if speed < NO_SPEED:
            shared["velocityLimit"] = speed / unit
        for name, value in shared.items():
            written = prim.GetAttribute(f"newton:{name}")
            if written and not np.isclose(written.Get(), value):
                warnings.warn(f"save_usd(): {prim.GetPath()}: axes of a joint share {name} in a stage; the first's is "
                              "written", stacklevel=8)  # fmt: skip
            elif not written:
                write_number(prim, f"newton:{name}", value)


def _axis_token(axis: np.ndarray) -> tuple[str, np.ndarray]:
    """x, y or z, and what turns a joint's frame so that its axis lies along it."""
    for k, token in enumerate("XYZ"):
        if np.allclose(axis, np.eye(3)[k], atol=1e-6):
            return token, IDENTITY
    return "X", np.concatenate([np.zeros(3), quat_between(np.array([1.0, 0.0, 0.0]), axis / np.linalg.norm(axis))])
