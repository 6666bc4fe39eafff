"""The field table: one row per array of a model.

A row says everything generic code needs: how many rows the array has (`frequency`), what one row is (`dtype`, `shape`),
who holds it at run time (`assignment`), what its values point at (`references`), its default, unit and meaning, and
what a merge does to it beyond that (`transform`). Users' custom attributes become rows of the same kind, so storage,
merging, finalize, State/Control/Contacts, save and load know no array by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from . import transform as move
from .enums import MAXVAL
from .frequency import ACTUATOR, ENTITIES, EQUALITY, FILTER_PAIR, MUSCLE, MUSCLE_POINT, AttributeAssignment

MODEL, STATE, CONTROL, CONTACT = AttributeAssignment

References = str | tuple[str | None, ...] | Callable[..., np.ndarray] | None
Identity = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Field:
    """One array of a model.

    Args:
        name: Name, without namespace.
        frequency: Key of the frequency that counts its rows.
        dtype: Warp dtype of an element, `str`, or `object`.
        shape: Further dimensions of a row: ``(5,)`` makes a 2-D array of 5 columns.
        assignment: Which object holds it; MODEL keeps the initial value of STATE and CONTROL rows too.
        namespace: Namespace it lies in, if any.
        references: What the values point at: a frequency key, ``"world"``, one of these per component, or a hook
            ``remap(values, offsets, columns) -> values``.
        default: Value of rows nobody set.
        unit: SI unit, empty where there is none.
        doc: One line of meaning.
        sentinel: The finalized array has one more row: the count of what it references.
        flat: The finalized array is 1-D although a row has several values.
        prefixed: Labels that take the prefix of a merge.
        hidden: Lives on the builder only.
        runtime: Exists on its run-time object only; the model holds no initial value.
        on_request: Allocated only when asked for (`request_state_attributes`, `request_contact_attributes`).
        grad: Follows the model's `requires_grad`.
        display: Matters to eyes, or beside the solver, only; worlds that differ in it are still alike.
        transform: What the transform of a merge does to the rows (see `transform.py`).
        derived: Names of the columns a derived field is computed from at finalize (see `derived.py`).
        custom: Added by a user or a solver.
    """

    name: str
    frequency: str
    dtype: Any
    default: Any = None
    unit: str = ""
    doc: str = ""
    shape: tuple[int, ...] = ()
    assignment: AttributeAssignment = MODEL
    namespace: str | None = None
    references: References = None
    sentinel: bool = False
    flat: bool = False
    prefixed: bool = False
    hidden: bool = False
    runtime: bool = False
    on_request: bool = False
    grad: bool = False
    display: bool = False
    transform: Callable[..., None] | None = None
    derived: tuple[str, ...] = ()
    custom: bool = False

    @cached_property
    def key(self) -> str:
        """``namespace:name``, or the bare name."""
        return f"{self.namespace}:{self.name}" if self.namespace else self.name

    @cached_property
    def is_object(self) -> bool:
        """Rows are Python objects (strings, geometry), not numbers."""
        return self.dtype in (str, object)

    @cached_property
    def numpy_dtype(self) -> np.dtype:
        """NumPy dtype of one scalar."""
        if self.is_object:
            return np.dtype(object)
        return np.dtype(wp.dtype_to_numpy(getattr(self.dtype, "_wp_scalar_type_", self.dtype)))

    @cached_property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row, scalars of a vector or matrix dtype included."""
        return (*self.shape, *getattr(self.dtype, "_shape_", ()))

    @cached_property
    def fill(self) -> np.ndarray | Any:
        """The default as a row."""
        if self.is_object:
            return self.default if self.default is not None or self.dtype is object else ""
        if self.default is not None:
            return np.broadcast_to(np.asarray(self.default, self.numpy_dtype).reshape(-1), self.row_size).reshape(
                self.row_shape
            )
        row = np.zeros(self.row_shape, self.numpy_dtype)
        if wp.types.type_is_quaternion(self.dtype) or wp.types.type_is_transformation(self.dtype):
            row[..., -1] = 1
        return row

    @cached_property
    def row_size(self) -> int:
        """Scalars in a row."""
        return int(np.prod(self.row_shape, dtype=int))


def world_key(frequency: str) -> str:
    """Key of the column that says which world each row of a frequency belongs to."""
    return _WORLD_KEYS.get(frequency, f"{frequency}#world")


_WORLD_KEYS = {
    **{kind: f"{kind}_world" for kind in ("body", "shape", "joint", "articulation", "particle", "constraint_mimic")},
    EQUALITY: "mujoco:equality_constraint_world",
}

WORLD_STARTS = {
    **{kind: f"{kind}_world_start" for kind in ("particle", "body", "shape", "joint", "articulation")},
    **{kind: f"{kind}_world_start" for kind in ("joint_dof", "joint_coord", "joint_constraint")},
    EQUALITY: "mujoco:equality_constraint_world_start",
}
"""Arrays of world starts a model shows, by frequency."""


def world_field(frequency: str) -> Field:
    """The hidden column of worlds of a frequency that has no public one."""
    return Field(f"{frequency}#world", frequency, wp.int32, -1, doc="World of the row", references="world", hidden=True)


def _group(frequency: str, *rows: dict[str, Any], **common: Any) -> Iterable[Field]:
    return [Field(frequency=frequency, **{**common, **row}) for row in rows]


def _f(name: str, dtype: Any, default: Any, unit: str, doc: str, references: References = None, **more: Any) -> dict:
    return dict(name=name, dtype=dtype, default=default, unit=unit, doc=doc, references=references, **more)


F, I, B, V3, V2I, M33, X, SV = (
    wp.float32, wp.int32, wp.bool, wp.vec3, wp.vec2i, wp.mat33, wp.transform, wp.spatial_vector,
)  # fmt: skip

_BODY = _group(
    "body",
    _f("body_label", str, "", "", "Labels of the bodies", prefixed=True),
    _f("body_q", X, Identity, "m, -", "Pose at the start", assignment=STATE, grad=True, transform=move.move_poses),
    _f("body_qd", SV, 0.0, "m/s, rad/s", "Velocity at the start: of the centre of mass, world frame", assignment=STATE,
       grad=True, transform=move.turn_vectors),
    _f("body_com", V3, 0.0, "m", "Centre of mass in the body's frame", grad=True),
    _f("body_mass", F, 0.0, "kg", "Mass", grad=True),
    _f("body_inertia", M33, 0.0, "kg m^2", "Inertia about the centre of mass", grad=True),
    _f("body_inv_mass", F, 0.0, "1/kg", "Inverse mass", grad=True, derived=("body_mass", "body_inertia")),
    _f("body_inv_inertia", M33, 0.0, "1/(kg m^2)", "Inverse inertia", grad=True,
       derived=("body_mass", "body_inertia")),
    _f("body_flags", I, 1, "", "BodyFlags"),
    _f("body_world", I, -1, "", "World of the body, -1 for global", "world"),
    _f("body_colors", I, -1, "", "Colour of the body for Gauss-Seidel sweeps"),
    _f("body_lock_inertia", B, False, "", "Shapes added to the body leave its inertia alone", hidden=True),
    _f("body_f", SV, 0.0, "N, N m", "External force and torque at the centre of mass, world frame", assignment=STATE,
       grad=True, runtime=True),
    _f("body_qdd", SV, 0.0, "m/s^2, rad/s^2", "Acceleration", assignment=STATE, grad=True, runtime=True,
       on_request=True),
    _f("body_parent_f", SV, 0.0, "N, N m", "Force of the parent joint", assignment=STATE, grad=True, runtime=True,
       on_request=True),
)  # fmt: skip

_JOINT = _group(
    "joint",
    _f("joint_label", str, "", "", "Labels of the joints", prefixed=True),
    _f("joint_type", I, 0, "", "JointType"),
    _f("joint_parent", I, -1, "", "Parent body, -1 for the world", "body"),
    _f("joint_child", I, -1, "", "Child body", "body"),
    _f("joint_X_p", X, Identity, "m, -", "Joint frame in the parent", grad=True, transform=move.move_root_frames),
    _f("joint_X_c", X, Identity, "m, -", "Joint frame in the child", grad=True),
    _f("joint_dof_dim", I, 0, "", "Numbers of linear and angular dofs", shape=(2,)),
    _f("joint_enabled", B, True, "", "Whether the joint holds its bodies"),
    _f("joint_world", I, -1, "", "World of the joint, -1 for global", "world"),
    _f("joint_articulation", I, -1, "", "Articulation of the joint, -1 for none", "articulation"),
    _f("joint_ancestor", I, -1, "", "Joint whose child is this joint's parent, -1 for none", "joint",
       derived=("joint_parent", "joint_child", "joint_articulation")),
    _f("joint_q_start", I, 0, "", "First coordinate of the joint", "joint_coord", sentinel=True),
    _f("joint_qd_start", I, 0, "", "First dof of the joint", "joint_dof", sentinel=True),
    _f("joint_cts_start", I, 0, "", "First constraint of the joint", "joint_constraint", hidden=True),
    _f("joint_twist_lower", F, 0.0, "rad", "Lower twist limit", grad=True),
    _f("joint_twist_upper", F, 0.0, "rad", "Upper twist limit", grad=True),
    _f("joint_mimic_joint", I, -1, "", "Joint this one follows, -1 for none", "joint"),
    _f("joint_mimic_coeffs", wp.vec2, (0.0, 1.0), "", "Offset and factor of the followed coordinate"),
    _f("joint_collision_filter_parent", B, True, "", "Shapes of parent and child do not collide", hidden=True),
)  # fmt: skip

_JOINT_COORD = _group(
    "joint_coord",
    _f("joint_q", F, 0.0, "m or rad", "Coordinates at the start", assignment=STATE, transform=move.move_free_roots),
    _f("joint_target_q", F, 0.0, "m or rad", "Position targets", assignment=CONTROL),
    grad=True,
)

_JOINT_DOF = _group(
    "joint_dof",
    _f("joint_qd", F, 0.0, "m/s or rad/s", "Velocities at the start", assignment=STATE,
       transform=move.turn_free_roots),
    _f("joint_f", F, 0.0, "N or N m", "Generalized forces", assignment=CONTROL),
    _f("joint_act", F, 0.0, "N or N m", "Feed-forward actuation", assignment=CONTROL),
    _f("joint_target_qd", F, 0.0, "m/s or rad/s", "Velocity targets", assignment=CONTROL),
    _f("joint_axis", V3, (1.0, 0.0, 0.0), "", "Axis"),
    _f("joint_armature", F, 0.0, "kg m^2 or kg", "Armature"),
    _f("joint_target_mode", I, 0, "", "JointTargetMode", grad=False),
    _f("joint_target_ke", F, 0.0, "N/m or N m/rad", "Stiffness of the drive"),
    _f("joint_target_kd", F, 0.0, "N s/m or N m s/rad", "Damping of the drive"),
    _f("joint_damping", F, 0.0, "N s/m or N m s/rad", "Passive damping"),
    _f("joint_limit_lower", F, -MAXVAL, "m or rad", "Lower limit"),
    _f("joint_limit_upper", F, MAXVAL, "m or rad", "Upper limit"),
    _f("joint_limit_ke", F, 1e4, "N/m or N m/rad", "Stiffness of the limits"),
    _f("joint_limit_kd", F, 1e1, "N s/m or N m s/rad", "Damping of the limits"),
    _f("joint_effort_limit", F, 1e6, "N or N m", "Largest effort"),
    _f("joint_velocity_limit", F, 1e6, "m/s or rad/s", "Largest velocity"),
    _f("joint_friction", F, 0.0, "N or N m", "Dry friction"),
    grad=True,
)  # fmt: skip

_ARTICULATION = _group(
    "articulation",
    _f("articulation_label", str, "", "", "Labels of the articulations", prefixed=True),
    _f("articulation_start", I, 0, "", "First joint of the articulation", "joint", sentinel=True),
    _f("articulation_end", I, 0, "", "One past the last tree joint", "joint"),
    _f("articulation_world", I, -1, "", "World of the articulation, -1 for global", "world"),
)

_SHAPE = _group(
    "shape",
    _f("shape_label", str, "", "", "Labels of the shapes", prefixed=True),
    _f("shape_transform", X, Identity, "m, -", "Pose in the body", grad=True, transform=move.move_static_shapes),
    _f("shape_body", I, -1, "", "Body, -1 for static shapes", "body"),
    _f("shape_flags", I, 0, "", "ShapeFlags"),
    _f("shape_type", I, 0, "", "GeoType"),
    _f("shape_scale", V3, 1.0, "m", "Size or scale, by type", grad=True),
    _f("shape_source", object, None, "", "Mesh, height field or other source of the geometry"),
    _f("shape_is_solid", B, True, "", "Solid or hollow"),
    _f("shape_margin", F, 0.0, "m", "Outward offset of the surface", grad=True),
    _f("shape_gap", F, 0.1, "m", "Further distance within which contacts are found", grad=True),
    _f("shape_collision_group", I, 1, "", "Collision group"),
    _f("shape_collision_radius", F, 0.0, "m", "Radius of the bounding sphere", grad=True),
    _f("shape_world", I, -1, "", "World of the shape, -1 for global", "world"),
    _f("shape_color", V3, 0.0, "", "Display colour, 0 to 1", display=True),
    _f("shape_opacity", F, 1.0, "", "Display opacity, 0 to 1", display=True),
    _f("shape_filter", I, 0, "", "Filter group"),
    _f("shape_material_ke", F, 2.5e3, "N/m", "Contact stiffness", grad=True),
    _f("shape_material_kd", F, 100.0, "N s/m", "Contact damping", grad=True),
    _f("shape_material_kf", F, 1000.0, "N s/m", "Friction stiffness", grad=True),
    _f("shape_material_ka", F, 0.0, "m", "Adhesion distance", grad=True),
    _f("shape_material_mu", F, 1.0, "", "Friction coefficient", grad=True),
    _f("shape_material_restitution", F, 0.0, "", "Restitution", grad=True),
    _f("shape_material_mu_torsional", F, 0.005, "", "Torsional friction", grad=True),
    _f("shape_material_mu_rolling", F, 0.0001, "", "Rolling friction", grad=True),
    _f("shape_material_kh", F, 1e10, "N/m^3", "Hydroelastic stiffness", grad=True),
    _f("shape_collision_aabb_lower", V3, 0.0, "m", "Lower corner of the local box, scaled",
       derived=("shape_type", "shape_scale", "shape_source")),
    _f("shape_collision_aabb_upper", V3, 0.0, "m", "Upper corner of the local box, scaled",
       derived=("shape_type", "shape_scale", "shape_source")),
)  # fmt: skip

_FILTER = _group(
    FILTER_PAIR, _f("shape_filter_pairs", V2I, -1, "", "Two shapes that never collide", "shape", hidden=True)
)

_PARTICLE = _group(
    "particle",
    _f("particle_q", V3, 0.0, "m", "Positions at the start", assignment=STATE, grad=True, transform=move.move_points),
    _f("particle_qd", V3, 0.0, "m/s", "Velocities at the start", assignment=STATE, grad=True,
       transform=move.turn_vectors),
    _f("particle_mass", F, 0.0, "kg", "Mass", grad=True),
    _f("particle_inv_mass", F, 0.0, "1/kg", "Inverse mass", grad=True, derived=("particle_mass",)),
    _f("particle_radius", F, 0.1, "m", "Radius", grad=True),
    _f("particle_flags", I, 1, "", "ParticleFlags"),
    _f("particle_world", I, -1, "", "World of the particle, -1 for global", "world"),
    _f("particle_colors", I, -1, "", "Colour of the particle for Gauss-Seidel sweeps"),
    _f("particle_f", V3, 0.0, "N", "External force", assignment=STATE, grad=True, runtime=True),
)  # fmt: skip

_SPRING = _group(
    "spring",
    _f("spring_indices", I, -1, "", "Two particles", "particle", shape=(2,), flat=True),
    _f("spring_rest_length", F, 0.0, "m", "Rest length", grad=True),
    _f("spring_stiffness", F, 0.0, "N/m", "Stiffness", grad=True),
    _f("spring_damping", F, 0.0, "N s/m", "Damping", grad=True),
    _f("spring_control", F, 0.0, "", "Activation", grad=True),
    _f("spring_constraint_lambdas", F, 0.0, "", "Lagrange multipliers"),
)

_TRIANGLE = _group(
    "triangle",
    _f("tri_indices", I, -1, "", "Three particles", "particle", shape=(3,)),
    _f("tri_poses", wp.mat22, 0.0, "1/m", "Inverse of the rest shape", grad=True),
    _f("tri_activations", F, 0.0, "", "Activation", assignment=CONTROL, grad=True),
    _f("tri_materials", F, 0.0, "Pa, Pa, Pa s, Pa s, Pa", "k_mu, k_lambda, k_damp, k_drag, k_lift", shape=(5,),
       grad=True),
    _f("tri_areas", F, 0.0, "m^2", "Rest area", grad=True),
    _f("tri_color", V3, (0.7, 0.5, 0.3), "", "Display colour, 0 to 1", display=True),
    _f("tri_opacity", F, 1.0, "", "Display opacity, 0 to 1", display=True),
)  # fmt: skip

_EDGE = _group(
    "edge",
    _f("edge_indices", I, -1, "", "Particles o0, o1 opposite the edge and v1, v2 on it", "particle", shape=(4,)),
    _f("edge_rest_angle", F, 0.0, "rad", "Rest angle", grad=True),
    _f("edge_rest_length", F, 0.0, "m", "Rest length", grad=True),
    _f("edge_bending_properties", F, 0.0, "N m/rad, N s", "Stiffness and damping", shape=(2,), grad=True),
    _f("edge_constraint_lambdas", F, 0.0, "", "Lagrange multipliers"),
)

_TETRAHEDRON = _group(
    "tetrahedron",
    _f("tet_indices", I, -1, "", "Four particles", "particle", shape=(4,)),
    _f("tet_poses", M33, 0.0, "1/m", "Inverse of the rest shape"),
    _f("tet_activations", F, 0.0, "", "Activation", assignment=CONTROL),
    _f("tet_materials", F, 0.0, "Pa, Pa, Pa s", "k_mu, k_lambda, k_damp", shape=(3,)),
    grad=True,
)

_MUSCLE = [
    *_group(
        MUSCLE,
        _f("muscle_start", I, 0, "", "First waypoint of the muscle", MUSCLE_POINT, sentinel=True),
        _f("muscle_params", F, 0.0, "N, m, m, m, -", "f0, lm, lt, lmax, pen", shape=(5,), grad=True),
        _f("muscle_activations", F, 0.0, "", "Activation, 0 to 1", assignment=CONTROL, grad=True),
    ),
    *_group(
        MUSCLE_POINT,
        _f("muscle_bodies", I, -1, "", "Body of the waypoint", "body"),
        _f("muscle_points", V3, 0.0, "m", "Waypoint in the body", grad=True),
    ),
]

_ACTUATOR = _group(
    ACTUATOR,
    _f("actuator_dof", I, -1, "", "Dof that the actuator moves", "joint_dof"),
    _f("actuator_coord", I, -1, "", "Coordinate of the dof", "joint_coord"),
    _f("actuator_parts", object, None, "", "Drive, clamps and delay with their numbers"),
    hidden=True,
    display=True,
)

_CONSTRAINT_MIMIC = _group(
    "constraint_mimic",
    _f("constraint_mimic_label", str, "", "", "Labels of the mimic constraints", prefixed=True),
    _f("constraint_mimic_joint0", I, -1, "", "Follower", "joint"),
    _f("constraint_mimic_joint1", I, -1, "", "Leader", "joint"),
    _f("constraint_mimic_coef0", F, 0.0, "", "Offset of joint0 = coef0 + coef1 joint1"),
    _f("constraint_mimic_coef1", F, 1.0, "", "Factor of joint0 = coef0 + coef1 joint1"),
    _f("constraint_mimic_enabled", B, True, "", "Whether the constraint acts"),
    _f("constraint_mimic_world", I, -1, "", "World of the constraint, -1 for global", "world"),
)

_EQUALITY = _group(
    EQUALITY,
    _f("equality_constraint_label", str, "", "", "Labels of the equality constraints", prefixed=True),
    _f("equality_constraint_type", I, 0, "", "EqType"),
    _f("equality_constraint_body1", I, -1, "", "First body", "body"),
    _f("equality_constraint_body2", I, -1, "", "Second body", "body"),
    _f("equality_constraint_anchor", V3, 0.0, "m", "Anchor on the first body"),
    _f("equality_constraint_torquescale", F, 1.0, "m", "Weight of the angular rows of a weld"),
    _f("equality_constraint_relpose", X, Identity, "m, -", "Pose of the second body in the first"),
    _f("equality_constraint_joint1", I, -1, "", "Joint that follows", "joint"),
    _f("equality_constraint_joint2", I, -1, "", "Joint that is followed, -1 for a constant", "joint"),
    _f("equality_constraint_polycoef", F, 0.0, "", "Coefficients of the polynomial", shape=(5,)),
    _f("equality_constraint_enabled", B, True, "", "Whether the constraint acts"),
    _f("equality_constraint_world", I, -1, "", "World of the constraint, -1 for global", "world"),
    namespace="mujoco",
)

_CONTACTS = [
    *_group(
        "rigid_contact",
        _f("rigid_contact_point_id", I, 0, "", "Identity of the contact point"),
        _f("rigid_contact_shape0", I, -1, "", "First shape"),
        _f("rigid_contact_shape1", I, -1, "", "Second shape"),
        _f("rigid_contact_point0", V3, 0.0, "m", "Point on the first body, body frame"),
        _f("rigid_contact_point1", V3, 0.0, "m", "Point on the second body, body frame"),
        _f("rigid_contact_offset0", V3, 0.0, "m", "Offset by the first margin, body frame"),
        _f("rigid_contact_offset1", V3, 0.0, "m", "Offset by the second margin, body frame"),
        _f("rigid_contact_normal", V3, 0.0, "", "Normal from the first shape to the second, world frame"),
        _f("rigid_contact_margin0", F, 0.0, "m", "Margin of the first shape"),
        _f("rigid_contact_margin1", F, 0.0, "m", "Margin of the second shape"),
        _f("rigid_contact_tids", I, -1, "", "Thread that found the contact"),
        _f("force", SV, 0.0, "N, N m", "Force and torque at the contact", runtime=True, on_request=True),
        assignment=CONTACT,
        runtime=True,
    ),
    *_group(
        "soft_contact",
        _f("soft_contact_particle", I, -1, "", "Particle"),
        _f("soft_contact_shape", I, -1, "", "Shape"),
        _f("soft_contact_body_pos", V3, 0.0, "m", "Point on the body, body frame"),
        _f("soft_contact_body_vel", V3, 0.0, "m/s", "Velocity of that point, body frame"),
        _f("soft_contact_normal", V3, 0.0, "", "Normal, world frame"),
        _f("soft_contact_tids", I, -1, "", "Thread that found the contact"),
        assignment=CONTACT,
        runtime=True,
    ),
]

_STATE_EXTRA = _group(
    "joint_dof",
    _f("qfrc_actuator", F, 0.0, "N or N m", "Actuator force of each dof", grad=True),
    namespace="mujoco",
    assignment=STATE,
    runtime=True,
    on_request=True,
)

FIELDS: dict[str, Field] = {
    field.key: field
    for group in (
        _BODY, _JOINT, _JOINT_COORD, _JOINT_DOF, _ARTICULATION, _SHAPE, _FILTER, _PARTICLE, _SPRING, _TRIANGLE, _EDGE,
        _TETRAHEDRON, _MUSCLE, _ACTUATOR, _CONSTRAINT_MIMIC, _EQUALITY, _CONTACTS, _STATE_EXTRA,
    )
    for field in group
}  # fmt: skip
"""Every built-in array, by key."""

FIELDS |= {world_key(kind): world_field(kind) for kind in ENTITIES if world_key(kind) not in FIELDS}

STORED = {key for key, field in FIELDS.items() if not field.runtime and not field.derived}
"""Keys a builder keeps columns for."""

ALIASES = {
    "shape_key": "shape_label",
    "body_key": "body_label",
    "joint_key": "joint_label",
    "articulation_key": "articulation_label",
    "joint_target_pos": "joint_target_q",
    "joint_target_vel": "joint_target_qd",
    **{f"equality_constraint_{part}": f"mujoco:equality_constraint_{part}" for part in (
        "anchor", "body1", "body2", "enabled", "joint1", "joint2", "label", "polycoef", "relpose", "torquescale",
        "type", "world", "world_start", "count",
    )},
}  # fmt: skip
"""Old names of fields and what they are called now; reading one warns."""
