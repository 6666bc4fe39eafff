"""MuJoCo's integer codes, as far as derived constants and the sections compiled beside them need them."""

from __future__ import annotations

from enum import IntEnum


class Joint(IntEnum):
    FREE, BALL, SLIDE, HINGE = range(4)


class Wrap(IntEnum):
    NONE, JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(6)


class Transmission(IntEnum):
    JOINT, JOINTINPARENT, SLIDERCRANK, TENDON, SITE, BODY, SO3 = range(7)
    UNDEFINED = 1000


class Dynamics(IntEnum):
    NONE, INTEGRATOR, FILTER, FILTEREXACT, MUSCLE, DCMOTOR, PID, USER = range(8)


class Gain(IntEnum):
    FIXED, AFFINE, MUSCLE, DCMOTOR, SO3, PID, USER = range(7)


class Bias(IntEnum):
    NONE, AFFINE, MUSCLE, DCMOTOR, SO3, USER = range(6)


class Equality(IntEnum):
    CONNECT, WELD, JOINT, TENDON, FLEX, FLEXVERT, FLEXSTRAIN, DISTANCE = range(8)


class Stage(IntEnum):
    NONE, POS, VEL, ACC = range(4)


class DataType(IntEnum):
    REAL, POSITIVE, AXIS, QUATERNION = range(4)


class Obj(IntEnum):
    """mjtObj; the names are MuJoCo's, so ``Obj[kind.upper()]`` finds the code of an MJCF object type."""

    UNKNOWN = 0
    BODY = 1
    XBODY = 2
    JOINT = 3
    DOF = 4
    GEOM = 5
    SITE = 6
    CAMERA = 7
    LIGHT = 8
    FLEX = 9
    MESH = 10
    SKIN = 11
    HFIELD = 12
    TEXTURE = 13
    MATERIAL = 14
    PAIR = 15
    EXCLUDE = 16
    EQUALITY = 17
    TENDON = 18
    ACTUATOR = 19
    SENSOR = 20
    NUMERIC = 21
    TEXT = 22
    TUPLE = 23
    KEY = 24
    PLUGIN = 25


MINVAL = 1e-15
"""mjMINVAL: what MuJoCo treats as zero."""
