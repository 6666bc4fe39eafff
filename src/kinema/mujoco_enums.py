"""MuJoCo's enumerations, each once, for Python, Warp kernels and native code.

The values are the contract of mjModel's arrays (`geom_type`, `sensor_type`, `opt.disableflags`), so they are MuJoCo's,
under its names without their prefix: mjGEOM_SPHERE is `Geom.SPHERE`, mjDSBL_CONTACT is `Disable.CONTACT`. Kernels name
the members as they are, and Warp writes their values into the code; native code gets them as text (`native`) and writes
`Disable::CONTACT`. A Newton-style model's own enumerations (JointType, GeoType) are other numbers, in
`kinema.model.enums`.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Disable(IntFlag):
    """mjtDisableBit: parts of the physics that an option switches off."""

    (
        CONSTRAINT, EQUALITY, FRICTIONLOSS, LIMIT, CONTACT, SPRING, DAMPER, GRAVITY, CLAMPCTRL, WARMSTART,
        FILTERPARENT, ACTUATION, REFSAFE, SENSOR, MIDPHASE, EULERDAMP, AUTORESET, NATIVECCD, ISLAND, MULTICCD,
    ) = (1 << k for k in range(20))


class Enable(IntFlag):
    """mjtEnableBit: parts of the physics that an option switches on."""

    OVERRIDE, ENERGY, FWDINV, INVDISCRETE, SLEEP, DIAGEXACT, IPC, SPECULATIVE = (1 << k for k in range(8))


class Integrator(IntEnum):
    """mjtIntegrator: how a step is taken."""

    EULER, RK4, IMPLICIT, IMPLICITFAST, DISCRETE = range(5)


class Solver(IntEnum):
    """mjtSolver: what minimizes the constraint problem."""

    PGS, CG, NEWTON = range(3)


class Cone(IntEnum):
    """mjtCone: the shape of a friction cone."""

    PYRAMIDAL, ELLIPTIC = range(2)


class Jacobian(IntEnum):
    """mjtJacobian: how a constraint Jacobian is stored."""

    DENSE, SPARSE, AUTO = range(3)


class Obj(IntEnum):
    """mjtObj: kinds of objects; ``Obj[kind.upper()]`` finds the code of an MJCF object type."""

    (
        UNKNOWN, BODY, XBODY, JOINT, DOF, GEOM, SITE, CAMERA, LIGHT, FLEX, MESH, SKIN, HFIELD, TEXTURE,
        MATERIAL, PAIR, EXCLUDE, EQUALITY, TENDON, ACTUATOR, SENSOR, NUMERIC, TEXT, TUPLE, KEY, PLUGIN,
    ) = range(26)
    FRAME = 100
    DEFAULT = 101
    MODEL = 102


class Joint(IntEnum):
    """mjtJoint: kinds of joints."""

    FREE, BALL, SLIDE, HINGE = range(4)


class Geom(IntEnum):
    """mjtGeom: shapes; those from 100 on are only drawn."""

    PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)
    ARROW = 100
    ARROW1 = 101
    ARROW2 = 102
    LINE = 103
    LINEBOX = 104
    FLEX = 105
    SKIN = 106
    LABEL = 107
    TRIANGLE = 108
    NONE = 1001


class GeomInertia(IntEnum):
    """mjtGeomInertia: where the mass of a shape is."""

    VOLUME, SHELL = range(2)


class MeshInertia(IntEnum):
    """mjtMeshInertia: how the inertia of a mesh is found."""

    CONVEX, EXACT, LEGACY, SHELL = range(4)


class SameFrame(IntEnum):
    """mjtSameFrame: which frame of its body an element's frame is."""

    NONE, BODY, INERTIA, BODYROT, INERTIAROT = range(5)


class SleepPolicy(IntEnum):
    """mjtSleepPolicy: whether a tree may fall asleep."""

    AUTO, AUTO_NEVER, AUTO_ALLOWED, NEVER, ALLOWED, INIT = range(6)


class CamLight(IntEnum):
    """mjtCamLight: how a camera or light follows bodies."""

    FIXED, TRACK, TRACKCOM, TARGETBODY, TARGETBODYCOM = range(5)


class Projection(IntEnum):
    """mjtProjection: how a camera projects."""

    PERSPECTIVE, ORTHOGRAPHIC = range(2)


class CameraOutput(IntFlag):
    """mjtCamOutBit: what a camera delivers."""

    RGB, DEPTH, DIST, NORMAL, SEG = (1 << k for k in range(5))


class LightType(IntEnum):
    """mjtLightType: kinds of lights."""

    SPOT, DIRECTIONAL, POINT, IMAGE = range(4)


class Texture(IntEnum):
    """mjtTexture: kinds of textures."""

    TEXTURE_2D, CUBE, SKYBOX = range(3)


class TextureRole(IntEnum):
    """mjtTextureRole: what a material uses a texture for."""

    USER, RGB, OCCLUSION, ROUGHNESS, METALLIC, NORMAL, OPACITY, EMISSIVE, RGBA, ORM = range(10)


class ColorSpace(IntEnum):
    """mjtColorSpace: how colours of a texture are stored."""

    AUTO, LINEAR, SRGB = range(3)


class Builtin(IntEnum):
    """mjtBuiltin: textures made by rule."""

    NONE, GRADIENT, CHECKER, FLAT = range(4)


class Mark(IntEnum):
    """mjtMark: marks on textures made by rule."""

    NONE, EDGE, CROSS, RANDOM = range(4)


class Equality(IntEnum):
    """mjtEq: kinds of equality constraints."""

    CONNECT, WELD, JOINT, TENDON, FLEX, FLEXVERT, FLEXSTRAIN, DISTANCE = range(8)


class FlexSelf(IntEnum):
    """mjtFlexSelf: how a flex looks for contacts with itself."""

    NONE, NARROW, BVH, SAP, AUTO = range(5)


class Tendon(IntEnum):
    """mjtTendon: kinds of tendons."""

    FIXED, SPATIAL = range(2)


class Wrap(IntEnum):
    """mjtWrap: what a tendon passes."""

    NONE, JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(6)


class Transmission(IntEnum):
    """mjtTrn: what an actuator acts on."""

    JOINT, JOINTINPARENT, SLIDERCRANK, TENDON, SITE, BODY, SO3 = range(7)
    UNDEFINED = 1000


class Dynamics(IntEnum):
    """mjtDyn: how an activation changes."""

    NONE, INTEGRATOR, FILTER, FILTEREXACT, MUSCLE, DCMOTOR, PID, USER = range(8)


class Gain(IntEnum):
    """mjtGain: how a force grows with control or activation."""

    FIXED, AFFINE, MUSCLE, DCMOTOR, SO3, PID, USER = range(7)


class Bias(IntEnum):
    """mjtBias: the rest of an actuator's force."""

    NONE, AFFINE, MUSCLE, DCMOTOR, SO3, USER = range(6)


class ControlInput(IntFlag):
    """mjtCtrlInput: what the numbers of a control mean."""

    POS, VEL, FF, VOLTAGE, NONE, PRESSURE = (1 << k for k in range(6))


class ControlChart(IntEnum):
    """mjtCtrlChart: how a control writes a rotation."""

    EXPMAP = 1
    QUAT = 2


class Sensor(IntEnum):
    """mjtSensor: kinds of sensors."""

    (
        TOUCH, ACCELEROMETER, VELOCIMETER, GYRO, FORCE, TORQUE, MAGNETOMETER, RANGEFINDER, CAMPROJECTION,
        JOINTPOS, JOINTVEL, TENDONPOS, TENDONVEL, ACTUATORPOS, ACTUATORVEL, ACTUATORFRC, JOINTACTFRC,
        TENDONACTFRC, BALLQUAT, BALLANGVEL, JOINTLIMITPOS, JOINTLIMITVEL, JOINTLIMITFRC, TENDONLIMITPOS,
        TENDONLIMITVEL, TENDONLIMITFRC, FRAMEPOS, FRAMEQUAT, FRAMEXAXIS, FRAMEYAXIS, FRAMEZAXIS, FRAMELINVEL,
        FRAMEANGVEL, FRAMELINACC, FRAMEANGACC, SUBTREECOM, SUBTREELINVEL, SUBTREEANGMOM, INSIDESITE, GEOMDIST,
        GEOMNORMAL, GEOMFROMTO, CONTACT, E_POTENTIAL, E_KINETIC, CLOCK, TACTILE, PLUGIN, USER,
    ) = range(49)


class Stage(IntEnum):
    """mjtStage: after which stage of a step something can be computed."""

    NONE, POS, VEL, ACC = range(4)


class DataType(IntEnum):
    """mjtDataType: what the numbers of a sensor are."""

    REAL, POSITIVE, AXIS, QUATERNION = range(4)


class ContactData(IntEnum):
    """mjtConDataField: what a contact sensor reports, as numbers of bits."""

    FOUND, FORCE, TORQUE, DIST, POS, NORMAL, TANGENT, LINVEL, ANGVEL = range(9)


class RayData(IntEnum):
    """mjtRayDataField: what a rangefinder reports, as numbers of bits."""

    DIST, DIR, ORIGIN, POINT, NORMAL, DEPTH = range(6)


class ContactReduce(IntEnum):
    """How a contact sensor chooses among contacts (MuJoCo has no name for it)."""

    NONE, MINDIST, MAXFORCE, NETFORCE = range(4)


class Interpolation(IntEnum):
    """How a value is read between samples of its history (MuJoCo has no name for it)."""

    ZOH, LINEAR, CUBIC = range(3)


class Constraint(IntEnum):
    """mjtConstraint: kinds of constraint rows."""

    (
        EQUALITY, FRICTION_DOF, FRICTION_TENDON, LIMIT_JOINT, LIMIT_TENDON, CONTACT_FRICTIONLESS,
        CONTACT_PYRAMIDAL, CONTACT_ELLIPTIC,
    ) = range(8)


class ConstraintState(IntEnum):
    """mjtConstraintState: which piece of its cost a row is on."""

    SATISFIED, QUADRATIC, LINEARNEG, LINEARPOS, CONE = range(5)


class Exclude(IntEnum):
    """What mjContact.exclude says, which MuJoCo documents as numbers: why a contact has no rows of its own."""

    NONE, GAP, FUSED, NODOFS, PASSIVE = range(5)


class Capability(IntFlag):
    """mjtPluginCapabilityBit: what a plugin takes part in."""

    ACTUATOR, SENSOR, PASSIVE, SDF = (1 << k for k in range(4))


class LengthRangeMode(IntEnum):
    """mjtLRMode: which actuators get a length range."""

    NONE, MUSCLE, MUSCLEUSER, ALL = range(4)


class Limited(IntEnum):
    """mjtLimited: whether a limit holds: by word, or by whether a range is given."""

    FALSE, TRUE, AUTO = range(3)


class Conflict(IntEnum):
    """mjtConflict: what attaching does where two documents set an option."""

    WARNING, MERGE, ERROR = range(3)


MJT = {
    "mjtDisableBit": Disable,
    "mjtEnableBit": Enable,
    "mjtIntegrator": Integrator,
    "mjtSolver": Solver,
    "mjtCone": Cone,
    "mjtJacobian": Jacobian,
    "mjtObj": Obj,
    "mjtJoint": Joint,
    "mjtGeom": Geom,
    "mjtFlexSelf": FlexSelf,
    "mjtGeomInertia": GeomInertia,
    "mjtMeshInertia": MeshInertia,
    "mjtSameFrame": SameFrame,
    "mjtSleepPolicy": SleepPolicy,
    "mjtCamLight": CamLight,
    "mjtProjection": Projection,
    "mjtCamOutBit": CameraOutput,
    "mjtLightType": LightType,
    "mjtTexture": Texture,
    "mjtTextureRole": TextureRole,
    "mjtColorSpace": ColorSpace,
    "mjtBuiltin": Builtin,
    "mjtMark": Mark,
    "mjtEq": Equality,
    "mjtTendon": Tendon,
    "mjtWrap": Wrap,
    "mjtTrn": Transmission,
    "mjtDyn": Dynamics,
    "mjtGain": Gain,
    "mjtBias": Bias,
    "mjtCtrlInput": ControlInput,
    "mjtCtrlChart": ControlChart,
    "mjtSensor": Sensor,
    "mjtStage": Stage,
    "mjtDataType": DataType,
    "mjtConDataField": ContactData,
    "mjtRayDataField": RayData,
    "mjtConstraint": Constraint,
    "mjtConstraintState": ConstraintState,
    "mjtPluginCapabilityBit": Capability,
    "mjtLRMode": LengthRangeMode,
    "mjtLimited": Limited,
    "mjtConflict": Conflict,
}
"""Each enumeration by MuJoCo's name of it."""


def words(kind: type[IntEnum] | type[IntFlag], *names: str) -> dict[str, int]:
    """Keywords of an enumeration and their values: all members' names in lower case, or some as they are spelled."""
    return {name: int(kind[name.upper()]) for name in names or [name.lower() for name in kind.__members__]}


def native(*kinds: type[IntEnum] | type[IntFlag]) -> str:
    """Enumerations as declarations for native code, which names members as Python does: Disable::WARMSTART."""
    members = {kind: ", ".join(f"{member.name} = {int(member)}" for member in kind) for kind in kinds}
    return "".join(f"struct {kind.__name__} {{ enum {{ {text} }}; }};\n" for kind, text in members.items())


MINVAL = 1e-15
"""mjMINVAL: what MuJoCo treats as zero."""
