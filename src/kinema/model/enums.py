"""The small enumerations a model is described with. Values are Newton's, so that arrays mean the same in both."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any

import numpy as np

MAXVAL = 1.0e10
"""Large finite number that stands for "no limit" (MuJoCo's mjMAXVAL)."""


AxisType = Any
"""What says an axis: an `Axis`, a letter, an index, or three numbers."""


class Axis(IntEnum):
    """One of the three coordinate axes; the up axis of a model, or a joint's axis."""

    X = 0
    Y = 1
    Z = 2

    @classmethod
    def from_any(cls, value: Axis | str | int) -> Axis:
        """The axis a user means by a member, an index or a letter."""
        if isinstance(value, str):
            if value.upper() not in cls.__members__:
                raise ValueError(f"axis {value!r} is not one of 'X', 'Y', 'Z'")
            return cls[value.upper()]
        return cls(int(value))

    def to_vec3(self) -> np.ndarray:
        """Unit vector along the axis, shape (3,)."""
        return np.eye(3)[self]


class JointType(IntEnum):
    """Kinds of joints."""

    PRISMATIC = 0
    REVOLUTE = 1
    BALL = 2
    FIXED = 3
    FREE = 4
    DISTANCE = 5
    D6 = 6
    ROD = 7
    CABLE = 7

    def dof_count(self, num_axes: int) -> tuple[int, int]:
        """Numbers of velocity dofs and position coordinates of a joint with `num_axes` axes."""
        by_type = {JointType.BALL: (3, 4), JointType.FREE: (6, 7), JointType.DISTANCE: (6, 7), JointType.FIXED: (0, 0)}
        return by_type.get(self, (num_axes, num_axes))

    def constraint_count(self, num_axes: int) -> int:
        """Number of constraint equations the joint puts between its two bodies."""
        return {JointType.BALL: 3, JointType.FREE: 0, JointType.DISTANCE: 0, JointType.FIXED: 6}.get(self, 6 - num_axes)


class JointTargetMode(IntEnum):
    """What the drive of a dof follows."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    POSITION_VELOCITY = 3
    EFFORT = 4

    @staticmethod
    def from_gains(
        target_ke: float, target_kd: float, force_position_velocity: bool = False, has_drive: bool = False
    ) -> JointTargetMode:
        """The mode that non-zero gains imply."""
        if force_position_velocity and target_ke != 0.0 and target_kd != 0.0:
            return JointTargetMode.POSITION_VELOCITY
        if target_ke != 0.0:
            return JointTargetMode.POSITION
        if target_kd != 0.0:
            return JointTargetMode.VELOCITY
        return JointTargetMode.EFFORT if has_drive else JointTargetMode.NONE


class EqType(IntEnum):
    """Kinds of equality constraints."""

    CONNECT = 0
    WELD = 1
    JOINT = 2


class GeoType(IntEnum):
    """Kinds of shapes."""

    NONE = 0
    PLANE = 1
    HFIELD = 2
    SPHERE = 3
    CAPSULE = 4
    ELLIPSOID = 5
    CYLINDER = 6
    BOX = 7
    MESH = 8
    CONE = 9
    CONVEX_MESH = 10
    GAUSSIAN = 11
    SDF = 12


class ShapeFlags(IntFlag):
    """What a shape takes part in."""

    VISIBLE = 1
    COLLIDE_SHAPES = 2
    COLLIDE_PARTICLES = 4
    SITE = 8
    HYDROELASTIC = 16


class ParticleFlags(IntFlag):
    """What a particle takes part in."""

    ACTIVE = 1
    PROXY = 2


class BodyFlags(IntFlag):
    """How a body moves."""

    DYNAMIC = 1
    KINEMATIC = 2
    PROXY = 4
    ALL = 7


class ModelFlags(IntFlag):
    """Which parts of a model changed, for `solver.notify_model_changed`."""

    JOINT_PROPERTIES = 1
    JOINT_DOF_PROPERTIES = 2
    BODY_PROPERTIES = 4
    BODY_INERTIAL_PROPERTIES = 8
    SHAPE_PROPERTIES = 16
    MODEL_PROPERTIES = 32
    CONSTRAINT_PROPERTIES = 64
    TENDON_PROPERTIES = 128
    ACTUATOR_PROPERTIES = 256
    ALL = 511
