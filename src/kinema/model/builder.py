"""ModelBuilder: collects the rows of a model and makes the model of them.

The work is done in the files named after it: rows and columns (`rows.py`, `columns.py`), custom attributes
(`attributes.py`), worlds and merging (`worlds.py`, `merge.py`), and the adders (`bodies.py`, `joints.py`,
`constraints.py`, `shapes.py`, `particles.py`, `deformables.py`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import BuildError, WrongKind
from .actuation import ActuatorEntry
from .attributes import CustomAttribute
from .deformables import DeformableMethods
from .enums import Axis
from .fields import CONTACT, STATE
from .frequency import CustomFrequency
from .joints import JointDofConfig
from .model import Model, check_requests
from .shapes import ShapeConfig as Shape


class ModelBuilder(DeformableMethods):
    """Collects bodies, joints, shapes, particles and whatever else a model has.

    Every column is readable and writable under its field's name (``builder.joint_q[7:] = 0.1``); writing does not go
    through after more rows were added, so take the view anew.

    Args:
        up_axis: Axis against gravity.
        gravity: Gravity [m/s²]: a vector, or a number along the up axis; -9.81 if None.
    """

    ActuatorEntry = ActuatorEntry
    CustomAttribute = CustomAttribute
    CustomFrequency = CustomFrequency
    JointDofConfig = JointDofConfig
    ShapeConfig = Shape

    def __init__(self, up_axis: Axis | str | int = Axis.Z, gravity: Any = None):
        self._world_labels: dict[int, str] = {}
        self._requested_state: set[str] = set()
        self._requested_contact: set[str] = set()
        super().__init__(up_axis, gravity)
        self.default_shape_cfg = Shape()
        self.default_joint_cfg = JointDofConfig()
        self.rigid_gap = 0.1
        self.default_particle_radius = 0.1
        self.default_tri_ke, self.default_tri_ka, self.default_tri_kd = 100.0, 100.0, 10.0
        self.default_tri_drag, self.default_tri_lift = 0.0, 0.0
        self.default_spring_ke, self.default_spring_kd = 100.0, 0.0
        self.default_edge_ke, self.default_edge_kd = 100.0, 0.0
        self.default_tet_k_mu, self.default_tet_k_lambda, self.default_tet_k_damp = 1.0e3, 1.0e3, 0.0
        self.default_tet_density = 1.0
        self.balance_inertia = True
        self.bound_mass: float | None = None
        self.bound_inertia: float | None = None
        self.particle_max_velocity = 1.0e5
        self.use_coord_layout_targets = bool(vars(sys.modules["kinema"]).get("use_coord_layout_targets", True))

    def request_state_attributes(self, *attributes: str) -> None:
        """Let states of the model allocate further arrays, such as ``"body_qdd"``."""
        check_requests(attributes, STATE)
        self._requested_state.update(attributes)

    def request_contact_attributes(self, *attributes: str) -> None:
        """Let contacts of the model allocate further arrays: ``"force"``."""
        check_requests(attributes, CONTACT)
        self._requested_contact.update(attributes)

    def validate_joint_ordering(self) -> bool:
        """Whether joints of every articulation come after the joints of their parents; warns of those that do not."""
        from .finalize import check_joint_order

        return check_joint_order(self.template())

    def add_mjcf(self, source: Any, **options: Any) -> Any:
        """Compile an MJCF document into this builder; see `kinema.compile.add_mjcf` for the options."""
        self.mutable("add_mjcf()")
        from ..compile import add_mjcf

        return add_mjcf(self, source, **options)

    def add_urdf(self, source: Any, **options: Any) -> Any:
        """Compile a URDF description into this builder; see `kinema.compile.add_urdf` for the options."""
        self.mutable("add_urdf()")
        from ..compile import add_urdf

        return add_urdf(self, source, **options)

    def add_usd(self, source: Any, **options: Any) -> dict[str, Any]:
        """Add a USD stage (a path, or a `pxr.Usd.Stage`); see `kinema.usd.add_usd` for the options."""
        self.mutable("add_usd()")
        from ..usd import add_usd

        return add_usd(self, source, **options)

    def collapse_fixed_joints(
        self, verbose: bool = False, joints_to_keep: Sequence[str | int] | None = None
    ) -> dict[str, Any]:
        """Make bodies that fixed joints hold part of what holds them, and remove these joints.

        Args:
            verbose: Print what became of which body.
            joints_to_keep: Labels or indices of fixed joints that stay.

        Returns:
            New indices by old ones (`body_remap`, `joint_remap`, `articulation_remap`), and of bodies that are gone
            what they are part of and where (`body_merged_parent`, `body_merged_transform`, `merged_body_data`).
        """
        self.mutable("collapse_fixed_joints()")
        from .collapse import collapse_fixed_joints

        result = collapse_fixed_joints(self, joints_to_keep or ())
        if verbose:
            for label, entry in result["merged_body_data"].items():
                print(f"{label} is part of {entry['parent_body']}")
        return result

    def add_rod(
        self, positions: Sequence[Any] | None = None, *, quaternions: Any = None, radius: float | None = None,
        cfg: Shape | None = None, stretch_stiffness: float | None = None, stretch_damping: float | None = None,
        shear_stiffness: float | None = None, shear_damping: float | None = None, bend_stiffness: float | None = None,
        bend_damping: float | None = None, twist_stiffness: float | None = None, twist_damping: float | None = None,
        closed: bool | None = None, label: str | None = None, wrap_in_articulation: bool = True, color: Any = None,
        body_frame_origin: str | None = None, rod: Any = None, junction_collision_filter: bool = True,
    ) -> tuple[list[int], list[int]]:  # fmt: skip
        """Add a rod of capsules along points, joined by `add_joint_rod`; returns its bodies and joints.

        Args:
            positions: Points of the centre line [m].
            quaternions: Orientations of segments (xyzw), z along each; found from the points if None.
            radius: Radius [m] of the capsules; 0.1 if None.
            cfg: Settings of the shapes.
            stretch_stiffness: Gains of the joints, this and the next seven, as in `add_joint_rod`.
            stretch_damping: As above.
            shear_stiffness: As above.
            shear_damping: As above.
            bend_stiffness: As above.
            bend_damping: As above.
            twist_stiffness: As above.
            twist_damping: As above.
            closed: Join the last segment to the first.
            label: What bodies, shapes and joints are named after.
            wrap_in_articulation: Hold the first segment with a free joint, and make an articulation of the joints.
            color: Display colour.
            body_frame_origin: Where frames of segments are: "start" (if None) or "com", midway.
            rod: A `Rod` instead of positions, quaternions, radius and closed; it may branch, and has a material.
            junction_collision_filter: Let segments that meet where three or more do not touch.
        """
        call = "add_rod()"
        self.mutable(call)
        from .rods import add_rod, check_chain, gains_of, graph_of, rod_parts

        gains = gains_of(locals())
        if (positions is None) == (rod is None):
            raise BuildError(f"{call}: give positions or rod, one of them")
        if rod is None:
            assert positions is not None
            check_chain(positions, call)
            graph = graph_of(positions, None, quaternions, call)
            parts: dict[str, Any] = {"radius": radius, "closed": bool(closed), "rigidities": None}
        else:
            given = {"quaternions": quaternions, "radius": radius, "closed": closed}
            said = [name for name, value in given.items() if value is not None]
            if said:
                raise BuildError(f"{call}: {said[0]}= is said by the rod already")
            graph, parts = rod_parts(rod, call)
        with self.all_or_nothing():
            return add_rod(
                self, graph, cfg=cfg, label=label, wrap_in_articulation=wrap_in_articulation, color=color, gains=gains,
                body_frame_origin=body_frame_origin, junction_collision_filter=junction_collision_filter, call=call,
                **parts,
            )  # fmt: skip

    def add_rod_graph(
        self, node_positions: Sequence[Any], edges: Sequence[Any], *, radius: float = 0.1, cfg: Shape | None = None,
        stretch_stiffness: float | None = None, stretch_damping: float | None = None,
        shear_stiffness: float | None = None, shear_damping: float | None = None, bend_stiffness: float | None = None,
        bend_damping: float | None = None, twist_stiffness: float | None = None, twist_damping: float | None = None,
        label: str | None = None, wrap_in_articulation: bool = True, quaternions: Any = None,
        junction_collision_filter: bool = True, color: Any = None, body_frame_origin: str | None = None,
    ) -> tuple[list[int], list[int]]:  # fmt: skip
        """Add a rod that may branch: points, and pairs of them that segments join; the rest as in `add_rod`.

        Newton has deprecated it for `add_rod(rod=Rod(points, edges=edges))`, which does the same.
        """
        call = "add_rod_graph()"
        self.mutable(call)
        from .rods import add_rod, gains_of, graph_of

        gains = gains_of(locals())
        graph = graph_of(node_positions, edges, quaternions, call)
        with self.all_or_nothing():
            return add_rod(
                self, graph, radius=radius, closed=False, rigidities=None, cfg=cfg, label=label, color=color,
                wrap_in_articulation=wrap_in_articulation, body_frame_origin=body_frame_origin, gains=gains,
                junction_collision_filter=junction_collision_filter, call=call,
            )  # fmt: skip

    def add_actuator(
        self, drive_class: Any = None, index: int | None = None, clamping: Sequence[Any] | None = None,
        delay_steps: int | None = None, pos_index: int | None = None, *, controller_class: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Add an actuator for one dof, to be stepped beside the solver; see `kinema.actuators`.

        Dofs whose actuators are of one kind become one `Actuator` in `model.actuators`.

        Args:
            drive_class: Law of effort: `kinema.actuators.DrivePD`, `DrivePID`, or a class of your own.
            index: The dof, a row of `joint_qd`.
            clamping: Bounds of effort, as pairs of a class and its numbers.
            delay_steps: How many steps late commands come; not at all if None.
            pos_index: The dof's coordinate, a row of `joint_q`; `index` if None.
            controller_class: What `drive_class` was called once.
            kwargs: Numbers of the drive, such as kp and kd.
        """
        self.mutable("add_actuator()")
        from .actuation import add_actuator

        if controller_class is not None:
            if drive_class is not None:
                raise WrongKind("add_actuator(): controller_class= is the old name of drive_class=: give one of them")
            warnings.warn("add_actuator(): controller_class= is called drive_class now", DeprecationWarning, 2)
            drive_class = controller_class
        add_actuator(self, drive_class, index, clamping, delay_steps, pos_index, kwargs)

    @property
    def actuator_entries(self) -> dict[tuple, Any]:
        """What was added by `add_actuator`, by kind, to be read."""
        from .actuation import entries_of

        names = ("actuator_dof", "actuator_coord", "actuator_parts")
        return entries_of(*(self.rows(name).tolist() for name in names))

    def approximate_meshes(
        self, method: str = "convex_hull", shape_indices: Any = None, raise_on_failure: bool = False,
        keep_visual_shapes: bool = False, **remeshing_kwargs: Any,
    ) -> set[int]:  # fmt: skip
        """Replace meshes that touch by something simpler; returns the shapes that were.

        Args:
            method: "convex_hull", "bounding_box", "bounding_sphere", or "coacd" for several convex parts.
            shape_indices: Which shapes; all meshes that touch if None.
            raise_on_failure: Raise where a mesh cannot be approximated; otherwise it stays, with a warning.
            keep_visual_shapes: Add the meshes again as shapes that are only seen.
            remeshing_kwargs: Options of the coacd package.
        """
        self.mutable("approximate_meshes()")
        from .approximation import approximate_meshes

        more = {"raise_on_failure": raise_on_failure, "keep_visual_shapes": keep_visual_shapes}
        return approximate_meshes(self, method, shape_indices, **more, **remeshing_kwargs)

    def finalize(
        self,
        device: Any = None,
        *,
        requires_grad: bool = False,
        skip_all_validations: bool = False,
        skip_validation_worlds: bool = False,
        skip_validation_joints: bool = False,
        skip_validation_shapes: bool = False,
        skip_validation_structure: bool = False,
        skip_validation_joint_ordering: bool = True,
    ) -> Model:
        """Make the model; the builder takes no more rows afterwards.

        Args:
            device: Device of the arrays; Warp's default if None.
            requires_grad: Whether gradients flow through the arrays.
            skip_all_validations: Check nothing.
            skip_validation_worlds: Do not check the order of worlds.
            skip_validation_joints: Do not check that joints are in articulations.
            skip_validation_shapes: Do not check gaps of shapes.
            skip_validation_structure: Do not check that indices are in range.
            skip_validation_joint_ordering: Do not check that parents come before children.
        """
        from .finalize import finalize

        flags = {
            "worlds": skip_validation_worlds,
            "joints": skip_validation_joints,
            "shapes": skip_validation_shapes,
            "structure": skip_validation_structure,
            "joint_ordering": skip_validation_joint_ordering,
        }
        skip = {name for name, is_set in flags.items() if is_set or skip_all_validations}
        model = finalize(self, device, requires_grad=requires_grad, skip=skip)
        self._finalized = True
        return model
