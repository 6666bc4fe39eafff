"""Adding joints.

A joint adds one row to the joints and as many to dofs, coordinates and constraints as its type has. Coordinates of free
and distance joints are [x y z, qx qy qz qw], of ball joints [qx qy qz qw], of the others one per axis.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BuildError
from .bodies import BodyMethods
from .columns import numeric
from .enums import MAXVAL, Axis, JointTargetMode, JointType
from .transform import IDENTITY, transform_inverse, transform_mul
from .worlds import pose


class JointDofConfig:
    """One axis of a joint: direction, limits, drive and passive properties (SI units).

    A target outside the limits moves to their middle.
    """

    def __init__(
        self,
        *,
        axis: Any = Axis.X,
        limit_lower: float = -MAXVAL,
        limit_upper: float = MAXVAL,
        limit_ke: float = 1e4,
        limit_kd: float = 1e1,
        target_pos: float = 0.0,
        target_vel: float = 0.0,
        target_ke: float = 0.0,
        target_kd: float = 0.0,
        damping: float = 0.0,
        armature: float = 0.0,
        effort_limit: float = 1e6,
        velocity_limit: float = 1e6,
        friction: float = 0.0,
        actuator_mode: JointTargetMode | None = None,
    ):
        self.axis = axis_vector(axis)
        self.limit_lower, self.limit_upper = limit_lower, limit_upper
        self.limit_ke, self.limit_kd = limit_ke, limit_kd
        self.target_pos, self.target_vel = target_pos, target_vel
        self.target_ke, self.target_kd = target_ke, target_kd
        self.damping, self.armature, self.friction = damping, armature, friction
        self.effort_limit, self.velocity_limit = effort_limit, velocity_limit
        self.actuator_mode = actuator_mode
        if not limit_lower <= target_pos <= limit_upper:
            self.target_pos = 0.5 * (limit_lower + limit_upper)

    @classmethod
    def create_unlimited(cls, axis: Any) -> JointDofConfig:
        """An axis without limits."""
        return cls(axis=axis, limit_ke=0.0, limit_kd=0.0)


def axis_vector(axis: Any) -> np.ndarray:
    """Unit vector of an axis given by a member of `Axis`, a letter, an index or three numbers."""
    if isinstance(axis, (Axis, str)) or np.ndim(axis) == 0:
        return Axis.from_any(axis).to_vec3()
    value = numeric(axis)
    if value is None or value.size != 3 or not np.all(np.isfinite(value)) or not np.any(value):
        raise BuildError(f"axis={axis!r} is not a direction")
    value = value.reshape(3).astype(np.float64)
    return value / np.linalg.norm(value)


def quat_from_targets(x: float, y: float, z: float) -> np.ndarray:
    """Quaternion (xyzw) of the rotation by x, then y, then z about the axes of the moving frame."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.array([x, y, z]) / 2), np.sin(np.array([x, y, z]) / 2)
    return np.array(
        [
            sx * cy * cz + cx * sy * sz,
            cx * sy * cz - sx * cy * sz,
            cx * cy * sz + sx * sy * cz,
            cx * cy * cz - sx * sy * sz,
        ]
    )


MAY_BE_INFINITE = ("axis", "actuator_mode", "limit_lower", "limit_upper", "effort_limit", "velocity_limit")
"""What of an axis is no number, or may be without bound."""
_XYZ = (Axis.X, Axis.Y, Axis.Z)
_DOF_COLUMNS = {
    "joint_axis": "axis",
    "joint_target_qd": "target_vel",
    "joint_target_ke": "target_ke",
    "joint_target_kd": "target_kd",
    "joint_damping": "damping",
    "joint_limit_ke": "limit_ke",
    "joint_limit_kd": "limit_kd",
    "joint_armature": "armature",
    "joint_effort_limit": "effort_limit",
    "joint_velocity_limit": "velocity_limit",
    "joint_friction": "friction",
}


class JointMethods(BodyMethods):
    """The builder's methods that add joints."""

    def add_joint(
        self,
        joint_type: JointType,
        parent: int,
        child: int,
        *,
        linear_axes: Sequence[JointDofConfig] | None = None,
        angular_axes: Sequence[JointDofConfig] | None = None,
        label: str | None = None,
        parent_xform: Any = None,
        child_xform: Any = None,
        collision_filter_parent: bool | None = None,
        enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:
        """Add a joint of any type; returns its index.

        Args:
            joint_type: Type of the joint.
            parent: Parent body, -1 for the world.
            child: Child body.
            linear_axes: Linear axes.
            angular_axes: Angular axes.
            label: Name; ``joint_<number>`` if None.
            parent_xform: Joint frame in the parent.
            child_xform: Joint frame in the child.
            collision_filter_parent: Whether shapes of parent and child never collide; by default True, except for
                joints to the world that are not fixed.
            enabled: Whether the joint holds.
            custom_attributes: Values of attributes of frequency JOINT, JOINT_DOF, JOINT_COORD or JOINT_CONSTRAINT; for
                the last three a list, a dict by local index, or one value for all.
        """
        return self._add_joint(
            "add_joint()", JointType(joint_type), parent, child, list(linear_axes or ()), list(angular_axes or ()),
            label, parent_xform, child_xform, collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def _add_joint(
        self, call: str, kind: JointType, parent: int, child: int, linear: list, angular: list, label: str | None,
        parent_xform: Any, child_xform: Any, filter_parent: bool | None, enabled: bool, custom: dict | None,
    ) -> int:  # fmt: skip
        self.mutable(call)
        parent = self._check_joint_body(parent, "parent", call, none=True)
        child = self._check_joint_body(child, "child", call)
        if parent == child:
            raise BuildError(f"{call}: body {child} cannot be its own parent")
        axes = [*linear, *angular]
        self._check_axes(axes, call)
        dofs, coords = kind.dof_count(len(axes))
        constraints = kind.constraint_count(len(axes))
        if constraints < 0 or (kind in (JointType.BALL, JointType.FREE, JointType.DISTANCE) and len(axes) != dofs):
            raise BuildError(f"{call}: a {kind.name} joint cannot have {len(linear)} linear and {len(angular)} axes")
        frame_p, frame_c = pose(parent_xform, call, "parent_xform"), pose(child_xform, call, "child_xform")
        frame_p = IDENTITY if frame_p is None else frame_p
        frame_c = IDENTITY if frame_c is None else frame_c
        filtered = (kind == JointType.FIXED or parent != -1) if filter_parent is None else bool(filter_parent)
        q, target_q = self._start_coords(kind, coords, linear, angular, parent, child, frame_p, frame_c)

        joint_rows = self.prepare("joint", 1, {
            "joint_label": [label or f"joint_{self.count('joint') + 1}"],
            "joint_type": int(kind), "joint_parent": parent, "joint_child": child, "joint_X_p": frame_p,
            "joint_X_c": frame_c, "joint_dof_dim": (len(linear), len(angular)), "joint_enabled": bool(enabled),
            "joint_q_start": self.count("joint_coord"), "joint_qd_start": self.count("joint_dof"),
            "joint_cts_start": self.count("joint_constraint"), "joint_collision_filter_parent": filtered,
        }, call)  # fmt: skip
        dof_rows = self.prepare("joint_dof", dofs, _dof_columns(axes), call) if dofs else []
        coord_rows = self.prepare("joint_coord", coords, {"joint_q": q, "joint_target_q": target_q}, call)
        counts = {"joint": 1, "joint_dof": dofs, "joint_coord": coords, "joint_constraint": constraints}
        values = self.prepare_custom(counts, custom, call)
        self._warn_parallel(kind, parent, child)

        prepared = {"joint": joint_rows, "joint_dof": dof_rows, "joint_coord": coord_rows, "joint_constraint": []}
        joint = self.count("joint")
        for name, rows in prepared.items():
            start = self.commit(name, counts[name], rows)
            self.commit_custom(name, start, values[name])
        if filtered:
            self._filter_between(parent, child)
        return joint

    def _check_joint_body(self, body: int, role: str, call: str, *, none: bool = False) -> int:
        index = self.check_index("body", body, f"{call} {role}", none=none)
        if index >= 0:
            world = int(self.rows("body_world")[index])
            if world != self._current_world:
                raise BuildError(
                    f"{call}: {role} body {index} is in world {world}, but the current world is {self._current_world}"
                )
        return index

    @staticmethod
    def _check_axes(axes: list[JointDofConfig], call: str) -> None:
        for axis in axes:
            for name, value in vars(axis).items():
                if name not in MAY_BE_INFINITE and not math.isfinite(value):
                    raise BuildError(f"{call}: {name}={value!r} of an axis is not finite")
            if any(math.isnan(getattr(axis, name)) for name in MAY_BE_INFINITE[2:]):
                found = {name: getattr(axis, name) for name in MAY_BE_INFINITE[2:]}
                raise BuildError(f"{call}: limits {found} of an axis are not numbers")

    def _start_coords(self, kind, coords, linear, angular, parent, child, frame_p, frame_c):
        """Coordinates at the start, and position targets."""
        q, target = np.zeros(coords), np.zeros(coords)
        if kind in (JointType.BALL, JointType.FREE, JointType.DISTANCE):
            q[-1] = 1.0
            target[: len(linear)] = [axis.target_pos for axis in linear]
            target[-4:] = quat_from_targets(*(axis.target_pos for axis in angular))
        elif coords:
            target[:] = [axis.target_pos for axis in [*linear, *angular]]
        if kind == JointType.FREE:
            # the child stays where it was placed: body = parent Xp q Xc^-1
            bodies = self.rows("body_q").astype(np.float64)
            anchor = frame_p if parent < 0 else transform_mul(bodies[parent], frame_p)
            q = transform_mul(transform_mul(transform_inverse(anchor), bodies[child]), frame_c)
        return q, target

    def _warn_parallel(self, kind: JointType, parent: int, child: int) -> None:
        for other in self._joints_of(child):
            ends = {int(self.rows("joint_parent")[other]), int(self.rows("joint_child")[other])}
            if ends == {parent, child}:
                warnings.warn(
                    f"a {kind.name} joint between bodies {parent} and {child} is parallel to joint {other}; "
                    "for a body with a joint of its own use add_link() instead of add_body()",
                    UserWarning,
                    stacklevel=5,
                )
                return

    def _joints_of(self, body: int) -> list[int]:
        return self.rows_by("joint", "joint_parent", "joint_child").get(body, [])

    # joint types

    def _axis_config(self, axis: Any, given: dict[str, Any]) -> JointDofConfig:
        if isinstance(axis, JointDofConfig):
            return axis
        default = self.default_joint_cfg
        values = {name: getattr(default, name) if value is None else value for name, value in given.items()}
        return JointDofConfig(axis=default.axis if axis is None else axis, **values)

    def add_joint_revolute(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, axis: Any = None,
        target_pos: float | None = None, target_vel: float | None = None, target_ke: float | None = None,
        target_kd: float | None = None, damping: float | None = None, limit_lower: float | None = None,
        limit_upper: float | None = None, limit_ke: float | None = None, limit_kd: float | None = None,
        armature: float | None = None, effort_limit: float | None = None, velocity_limit: float | None = None,
        friction: float | None = None, actuator_mode: JointTargetMode | None = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a hinge. Values left at None come from `default_joint_cfg`; the rest is as in `add_joint`."""
        config = self._axis_config(axis, dict(
            target_pos=target_pos, target_vel=target_vel, target_ke=target_ke, target_kd=target_kd, damping=damping,
            limit_lower=limit_lower, limit_upper=limit_upper, limit_ke=limit_ke, limit_kd=limit_kd, armature=armature,
            effort_limit=effort_limit, velocity_limit=velocity_limit, friction=friction, actuator_mode=actuator_mode,
        ))  # fmt: skip
        return self._add_joint(
            "add_joint_revolute()", JointType.REVOLUTE, parent, child, [], [config], label, parent_xform, child_xform,
            collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_prismatic(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, axis: Any = Axis.X,
        target_pos: float | None = None, target_vel: float | None = None, target_ke: float | None = None,
        target_kd: float | None = None, damping: float | None = None, limit_lower: float | None = None,
        limit_upper: float | None = None, limit_ke: float | None = None, limit_kd: float | None = None,
        armature: float | None = None, effort_limit: float | None = None, velocity_limit: float | None = None,
        friction: float | None = None, actuator_mode: JointTargetMode | None = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a slider. Values left at None come from `default_joint_cfg`; the rest is as in `add_joint`."""
        config = self._axis_config(axis, dict(
            target_pos=target_pos, target_vel=target_vel, target_ke=target_ke, target_kd=target_kd, damping=damping,
            limit_lower=limit_lower, limit_upper=limit_upper, limit_ke=limit_ke, limit_kd=limit_kd, armature=armature,
            effort_limit=effort_limit, velocity_limit=velocity_limit, friction=friction, actuator_mode=actuator_mode,
        ))  # fmt: skip
        return self._add_joint(
            "add_joint_prismatic()", JointType.PRISMATIC, parent, child, [config], [], label, parent_xform,
            child_xform, collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_ball(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None,
        armature: float | None = None, friction: float | None = None, damping: float | None = None,
        label: str | None = None, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None, actuator_mode: JointTargetMode | None = None,
    ) -> int:  # fmt: skip
        """Add a ball joint; arguments as in `add_joint_revolute`."""
        default = self.default_joint_cfg
        angular = [
            JointDofConfig(
                axis=axis,
                armature=default.armature if armature is None else armature,
                friction=default.friction if friction is None else friction,
                damping=default.damping if damping is None else damping,
                actuator_mode=actuator_mode,
            )
            for axis in _XYZ
        ]
        return self._add_joint(
            "add_joint_ball()", JointType.BALL, parent, child, [], angular, label, parent_xform, child_xform,
            collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_fixed(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint without freedom; arguments as in `add_joint`."""
        return self._add_joint(
            "add_joint_fixed()", JointType.FIXED, parent, child, [], [], label, parent_xform, child_xform,
            collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_free(
        self, child: int, *, parent_xform: Any = None, child_xform: Any = None, parent: int = -1,
        label: str | None = None, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint with all six freedoms; its coordinates keep the child where it was placed."""
        linear, angular = ([JointDofConfig.create_unlimited(axis) for axis in _XYZ] for _ in range(2))
        return self._add_joint(
            "add_joint_free()", JointType.FREE, parent, child, linear, angular, label, parent_xform, child_xform,
            collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_distance(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None,
        min_distance: float = -1.0, max_distance: float = 1.0, collision_filter_parent: bool | None = None,
        enabled: bool = True, custom_attributes: dict[str, Any] | None = None, label: str | None = None,
    ) -> int:  # fmt: skip
        """Add a joint that keeps two points within distances [m]; a negative bound is none."""
        linear = [JointDofConfig(axis=Axis.X, limit_lower=min_distance, limit_upper=max_distance)]
        linear += [JointDofConfig.create_unlimited(axis) for axis in (Axis.Y, Axis.Z)]
        angular = [JointDofConfig.create_unlimited(axis) for axis in _XYZ]
        return self._add_joint(
            "add_joint_distance()", JointType.DISTANCE, parent, child, linear, angular, label, parent_xform,
            child_xform, collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_d6(
        self, parent: int, child: int, *, linear_axes: Sequence[JointDofConfig] | None = None,
        angular_axes: Sequence[JointDofConfig] | None = None, label: str | None = None, parent_xform: Any = None,
        child_xform: Any = None, collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add a joint with up to three linear and three angular axes; arguments as in `add_joint`."""
        return self._add_joint(
            "add_joint_d6()", JointType.D6, parent, child, list(linear_axes or ()), list(angular_axes or ()), label,
            parent_xform, child_xform, collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_rod(
        self, parent: int, child: int, *, parent_xform: Any = None, child_xform: Any = None,
        stretch_stiffness: float | None = None, stretch_damping: float | None = None,
        shear_stiffness: float | None = None, shear_damping: float | None = None,
        bend_stiffness: float | None = None, bend_damping: float | None = None,
        twist_stiffness: float | None = None, twist_damping: float | None = None, label: str | None = None,
        collision_filter_parent: bool | None = None, enabled: bool = True,
        custom_attributes: dict[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Add the joint between two segments of a rod: stretch, shear [N/m], bend, twist [N m/rad] and their damping.

        Stretch is stiff (1e5) unless told otherwise; shear follows stretch, and twist follows bend, where not given.
        """
        stretch = (1e5 if stretch_stiffness is None else stretch_stiffness, stretch_damping or 0.0)
        bend = (bend_stiffness or 0.0, bend_damping or 0.0)

        def following(stiffness: float | None, damping: float | None, leader: tuple) -> tuple[float, float]:
            if stiffness is None and damping is None:
                return leader
            return (leader[0] if stiffness is None else stiffness, damping or 0.0)

        gains = [
            stretch, following(shear_stiffness, shear_damping, stretch), bend,
            following(twist_stiffness, twist_damping, bend),
        ]  # fmt: skip
        if any(ke < 0.0 for ke, _ in gains):
            raise BuildError(f"add_joint_rod(): stiffness must not be negative, got {[ke for ke, _ in gains]}")
        axes = [JointDofConfig(target_ke=ke, target_kd=kd) for ke, kd in gains]
        return self._add_joint(
            "add_joint_rod()", JointType.ROD, parent, child, axes[:2], axes[2:], label, parent_xform, child_xform,
            collision_filter_parent, enabled, custom_attributes,
        )  # fmt: skip

    def add_joint_cable(self, parent: int, child: int, **options: Any) -> int:
        """Deprecated name of `add_joint_rod`."""
        warnings.warn("add_joint_cable() is called add_joint_rod() now", DeprecationWarning, stacklevel=2)
        return self.add_joint_rod(parent, child, **options)


def _dof_columns(axes: list[JointDofConfig]) -> dict[str, Any]:
    columns: dict[str, Any] = {key: np.array([getattr(a, name) for a in axes]) for key, name in _DOF_COLUMNS.items()}
    lower, upper = (np.array([getattr(a, name) for a in axes], float) for name in ("limit_lower", "limit_upper"))
    columns["joint_limit_lower"] = np.where(np.isfinite(lower), lower, -MAXVAL)
    columns["joint_limit_upper"] = np.where(np.isfinite(upper), upper, MAXVAL)
    columns["joint_target_mode"] = [
        int(
            a.actuator_mode
            if a.actuator_mode is not None
            else JointTargetMode.from_gains(
                a.target_ke, a.target_kd, has_drive=a.target_ke != 0.0 or a.target_kd != 0.0
            )
        )
        for a in axes
    ]
    return columns
