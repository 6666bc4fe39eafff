"""Model: the arrays that say what is simulated, on one device.

A model is made by `ModelBuilder.finalize`. Its arrays are the rows of the field table (`fields.py`), flat over all
worlds; what is rarely used (labels, expanded contact pairs, BVHs) is computed on first use.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import warp as wp

from ..closed import Closed
from ..devices import device_named
from ..errors import BuildError, UnknownKey, did_you_mean
from . import bvh
from .classes import WorldClass, group_worlds
from .contacts import Contacts
from .control import Control
from .enums import Axis, ShapeFlags
from .fields import ALIASES, CONTACT, CONTROL, FIELDS, MODEL, STATE, Field
from .frequency import (
    COUNT_NAMES,
    AttributeAssignment,
    AttributeFrequency,
    frequency_key,
    public_frequency,
)
from .merge import Segment, resolve_reference
from .pairs import ContactPairs
from .state import AttributeNamespace, Holder, State, find, place, space_of
from .worlds import gravity_vector

_NO_TEXTURES: dict[str, Callable[[Model], Any]] = {
    "sdf_block_coords": lambda model: wp.empty(0, dtype=wp.vec3us, device=model.device),
    "sdf_index2blocks": lambda model: wp.empty(0, dtype=wp.vec2i, device=model.device),
    "shape_sdf_index": lambda model: wp.full(model.shape_count, -1, dtype=wp.int32, device=model.device),
    "texture_sdf_data": lambda model: wp.empty(0, dtype=wp.uint64, device=model.device),
    "texture_sdf_coarse_textures": lambda model: [],
    "texture_sdf_subgrid_start_slots": lambda model: [],
    "texture_sdf_subgrid_textures": lambda model: [],
}
"""Deprecated names about SDF textures, which this library does not use: what a model without any answers."""


Assignment: TypeAlias = AttributeAssignment
Frequency: TypeAlias = AttributeFrequency


class Model(Closed):
    """What is simulated.

    Besides the arrays of the field table: counts (`body_count`, …), `world_count`, `gravity` per world, `fields` (the
    table of this model), `world_classes`, and defaults of particle and soft contacts.
    """

    AttributeAssignment = AttributeAssignment
    AttributeFrequency = AttributeFrequency
    AttributeNamespace = AttributeNamespace

    MEMBERS = frozenset(COUNT_NAMES) | {
        "actuators", "attribute_assignment", "attribute_frequency", "body_color_groups", "body_shapes",
        "bvh_particles", "bvh_particles_group_roots", "bvh_shape_bounds", "bvh_shape_count_enabled",
        "bvh_shape_enabled", "bvh_shape_world_transforms", "bvh_shapes", "bvh_shapes_group_roots",
        "custom_frequency_counts", "device", "fields", "gaussians_count", "gaussians_data", "gravity",
        "heightfield_count", "heightfield_data", "heightfield_elevations", "heightfield_meshes", "kinds",
        "max_dofs_per_articulation", "max_joints_per_articulation", "mesh_edge_indices", "particle_adhesion",
        "particle_cohesion", "particle_color_groups", "particle_grid", "particle_kd", "particle_ke", "particle_kf",
        "particle_max_radius", "particle_max_velocity", "particle_mu", "requires_grad", "rigid_contact_max",
        "shape_collision_filter_pairs", "shape_contact_pair_count", "shape_contact_pairs", "shape_edge_range",
        "shape_heightfield_index", "shape_source_ptr", "soft_contact_kd", "soft_contact_ke", "soft_contact_kf",
        "soft_contact_max", "soft_contact_mu", "soft_contact_restitution", "up_axis", "use_coord_layout_targets",
        "world_count", "world_label", *_NO_TEXTURES,
    }  # fmt: skip
    """Names besides methods and fields that a model has; custom attributes may not take them."""

    def __init__(self, device: Any = None):
        self.device: wp.Device = device_named(device)
        self.requires_grad = False
        self.world_count = 1
        self.world_label: list[str] = []
        self.up_axis = Axis.Z
        self.use_coord_layout_targets = True
        self.fields: dict[str, Field] = {}
        self.kinds: dict[str, int] = {}
        self.custom_frequency_counts: dict[str, int] = {}
        self.attribute_frequency: dict[str, Frequency | str] = {}
        self.attribute_assignment: dict[str, Assignment] = {}
        self.actuators: list[Any] = []
        self.gravity: Any = None
        self.particle_ke, self.particle_kd, self.particle_kf = 1.0e3, 1.0e2, 1.0e2
        self.particle_mu, self.particle_cohesion, self.particle_adhesion = 0.5, 0.0, 0.0
        self.particle_max_radius, self.particle_max_velocity = 0.0, 1.0e5
        self.particle_grid: wp.HashGrid | None = None
        self.soft_contact_ke, self.soft_contact_kd, self.soft_contact_kf = 1.0e3, 10.0, 1.0e3
        self.soft_contact_mu, self.soft_contact_restitution = 0.5, 0.0
        self.bvh_shapes: Any = None
        self.bvh_shapes_group_roots: Any = None
        self.bvh_shape_enabled: Any = None
        self.bvh_shape_bounds: Any = None
        self.bvh_shape_world_transforms: Any = None
        self.bvh_particles: Any = None
        self.bvh_particles_group_roots: Any = None
        self.bvh_shape_count_enabled = 0
        self._contact_pairs = ContactPairs(np.empty((0, 2), np.int32), [])
        self._lazy: dict[str, Callable[[], Any]] = {}
        self._hidden: dict[str, Callable[[], np.ndarray]] = {}
        self._starts: dict[str, Any] = {}  # arrays, or what computes them
        self._row_worlds: dict[str, wp.array] = {}
        self._requested_state: set[str] = set()
        self._requested_contact: set[str] = set()
        self._world_xforms: np.ndarray | None = None
        self._hooked: set[str] = set()  # fields whose remap hook was lost on the way through a file
        self._alone: dict[int, Segment] = {}  # worlds that are one copy of a template
        self._class_hints: tuple[np.ndarray, np.ndarray, set[str]] | None = None
        self._classes: list[WorldClass] | None = None
        self._class_of: np.ndarray | None = None
        for name in (*COUNT_NAMES, "gaussians_count", "heightfield_count"):
            setattr(self, name, 0)

    # reading by name

    if TYPE_CHECKING:  # arrays are set by name, as the table says

        def __setattr__(self, name: str, value: Any) -> None: ...

    def _takes(self, name: str) -> bool:
        return name in self.MEMBERS or name in self._lazy or self._is_field(name)

    def _is_field(self, name: str) -> bool:
        field = self.fields.get(name) or FIELDS.get(name)
        return field is not None and field.namespace is None

    def _known(self) -> Iterable[str]:
        return {*super()._known(), *self.MEMBERS, *(key for key in self.fields if ":" not in key)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._lazy:
            value = self._lazy.pop(name)()
            object.__setattr__(self, name, value)
            return value
        if name in ALIASES:
            return self._old_name(name)
        if name in _NO_TEXTURES:
            warnings.warn(f"Model.{name} is deprecated; there are no SDF textures", DeprecationWarning, stacklevel=2)
            return _NO_TEXTURES[name](self)
        known = [*vars(self), *self._lazy, *ALIASES]
        raise UnknownKey(f"Model has no attribute {name!r}{did_you_mean(name, known)}")

    def _old_name(self, name: str) -> Any:
        key = ALIASES[name]
        if name in ("joint_target_pos", "joint_target_vel") and self.use_coord_layout_targets:
            raise UnknownKey(f"Model.{name} does not exist with targets by coordinate; use Model.{key}")
        warnings.warn(f"Model.{name} is called {key.replace(':', '.')} now", DeprecationWarning, stacklevel=3)
        namespace, _, rest = key.rpartition(":")
        return getattr(space_of(self, namespace or None), rest)

    def array_of(self, field: Field) -> Any:
        """The array (or list) of a field, hidden ones included."""
        hidden = self._hidden.get(field.key)
        return hidden() if hidden is not None else find(self, field)

    @property
    def joint_target_q_start(self) -> wp.array:
        """First row of each joint in `joint_target_q`, shape (joint_count + 1,)."""
        return self.joint_q_start if self.use_coord_layout_targets else self.joint_qd_start

    @property
    def has_heightfields(self) -> bool:
        """Deprecated; see `heightfield_count`."""
        warnings.warn("Model.has_heightfields is heightfield_count > 0 now", DeprecationWarning, stacklevel=2)
        return self.heightfield_count > 0

    # run-time objects

    def _fill(self, holder: Holder, requires_grad: bool, requested: set[str], *, clone: bool = True) -> Any:
        for field in holder._fields.values():
            value: Any = None
            if field.runtime:
                if not field.on_request or field.key in requested:
                    shape = (self._rows_of(field), *field.shape)
                    value = wp.zeros(shape, dtype=field.dtype, device=self.device, requires_grad=requires_grad)
            else:
                value = find(self, field)
                if isinstance(value, list):
                    value = list(value)
                elif clone:
                    value = wp.clone(value, requires_grad=requires_grad and field.grad)
            place(holder, field, value)
        return holder

    def _rows_of(self, field: Field) -> int:
        return self.kinds.get(field.frequency, self.world_count if field.frequency == "world" else 1)

    def _assigned(self, assignment: Assignment) -> dict[str, Field]:
        return {key: field for key, field in self.fields.items() if field.assignment == assignment}

    def state(self, requires_grad: bool | None = None) -> State:
        """A new state at the model's initial values; `requires_grad` is the model's if None."""
        grad = self.requires_grad if requires_grad is None else requires_grad
        return self._fill(State(self._assigned(STATE)), grad, self._requested_state)

    def control(self, requires_grad: bool | None = None, clone_variables: bool = True) -> Control:
        """A new control at the model's initial values, or sharing the model's arrays where not `clone_variables`."""
        grad = self.requires_grad if requires_grad is None else requires_grad
        return self._fill(Control(self._assigned(CONTROL)), grad, set(), clone=clone_variables)

    def contacts(self, collision_pipeline: Any = None) -> Contacts:
        """Empty buffers for contacts; a pipeline's own where one is given."""
        if collision_pipeline is not None:
            return collision_pipeline.contacts()
        custom = {key: field for key, field in self._assigned(CONTACT).items() if field.custom}
        buffers = Contacts(
            self.rigid_contact_max,
            self.soft_contact_max,
            requires_grad=self.requires_grad,
            device=self.device,
            requested_attributes=self._requested_contact,
            fields=custom,
        )
        for field in custom.values():
            value = find(self, field)
            place(buffers, field, list(value) if isinstance(value, list) else wp.clone(value))
        return buffers

    def collide(
        self, state: State, contacts: Contacts | None = None, *, collision_pipeline: Any = None,
        enable_rigid_soft_full_surface_contact: bool = False,
    ) -> Contacts:  # fmt: skip
        """Find the contacts of a state; new buffers are made where none are given.

        With particles, contacts are those of particles with shapes: whole surfaces are refused.
        """
        if enable_rigid_soft_full_surface_contact:
            raise BuildError("collide(): enable_rigid_soft_full_surface_contact=True is not supported")
        if collision_pipeline is not None:
            contacts = collision_pipeline.contacts() if contacts is None else contacts
            collision_pipeline.collide(state, contacts)
            return contacts
        from ..adapter.model_contacts import collide_model  # a higher layer, imported on use

        contacts = self.contacts() if contacts is None else contacts
        collide_model(self, state, contacts)
        return contacts

    # attributes

    def add_attribute(
        self,
        name: str,
        attrib: wp.array | list[Any],
        frequency: Frequency | str,
        assignment: Assignment | None = None,
        namespace: str | None = None,
        references: Any = None,
    ) -> None:
        """Add an array after the model was built.

        Args:
            name: Name of the attribute.
            attrib: Array on the model's device, or list of strings.
            frequency: What counts its rows.
            assignment: Object that holds it; MODEL if None.
            namespace: Namespace to put it in.
            references: What its values point at.
        """
        key = f"{namespace}:{name}" if namespace else name
        top = namespace or name
        is_space = isinstance(self.__dict__.get(top), AttributeNamespace)
        if key in self.fields or key in FIELDS or (not is_space and (top in self.MEMBERS or hasattr(Model, top))):
            raise UnknownKey(f"add_attribute({key!r}): the name is taken")
        if isinstance(attrib, wp.array) and attrib.device != self.device:
            raise UnknownKey(f"add_attribute({key!r}): array is on {attrib.device}, the model on {self.device}")
        kind = frequency_key(frequency)
        count = {"once": 1, "world": self.world_count}.get(kind, self.kinds.get(kind))
        if count is not None and len(attrib) != count:
            raise BuildError(f"add_attribute({key!r}): {len(attrib)} rows for {count} of frequency {kind!r}")
        dtype = attrib.dtype if isinstance(attrib, wp.array) else str
        shape = attrib.shape[1:] if isinstance(attrib, wp.array) else ()
        field = Field(
            name, kind, dtype, shape=tuple(shape), namespace=namespace, references=references, custom=True,
            assignment=AttributeAssignment.MODEL if assignment is None else AttributeAssignment(assignment),
        )  # fmt: skip
        self.fields[key] = field
        self.attribute_frequency[key] = public_frequency(kind)
        self.attribute_assignment[key] = field.assignment
        place(self, field, attrib)

    def get_attribute_frequency(self, name: str) -> Frequency | str:
        """Frequency of an attribute; KeyError where the name is unknown."""
        if name not in self.attribute_frequency:
            raise UnknownKey(f"no attribute {name!r}{did_you_mean(name, self.attribute_frequency)}")
        return self.attribute_frequency[name]

    def get_attribute_assignment(self, name: str) -> Assignment:
        """Assignment of an attribute; MODEL where nothing else was said."""
        self.get_attribute_frequency(name)
        return self.attribute_assignment.get(name, MODEL)

    def get_custom_frequency_count(self, frequency: str) -> int:
        """Rows of a custom frequency; KeyError where it is unknown."""
        if frequency not in self.custom_frequency_counts:
            raise UnknownKey(
                f"no custom frequency {frequency!r}{did_you_mean(frequency, self.custom_frequency_counts)}"
            )
        return self.custom_frequency_counts[frequency]

    def common_length(self, *keys: str) -> int:
        """Number of rows that arrays of one entity share; an error names the arrays that disagree.

        For attributes with ``frequency=None``, whose lengths nothing else keeps together. Unregistered keys are left
        out; without any the length is 0.
        """
        lengths = {key: len(find(self, self.fields[key])) for key in keys if key in self.fields}
        if len(set(lengths.values())) > 1:
            usual = max(set(lengths.values()), key=list(lengths.values()).count)
            odd = {key: length for key, length in lengths.items() if length != usual}
            raise BuildError(f"attributes of one entity differ in length: {odd}, the others have {usual} rows")
        return next(iter(lengths.values()), 0)

    def request_state_attributes(self, *attributes: str) -> None:
        """Let new states allocate further arrays, such as ``"body_qdd"``."""
        check_requests(attributes, STATE)
        self._requested_state.update(attributes)

    def request_contact_attributes(self, *attributes: str) -> None:
        """Let new contacts allocate further arrays: ``"force"``."""
        check_requests(attributes, CONTACT)
        self._requested_contact.update(attributes)

    def get_requested_state_attributes(self) -> list[str]:
        """Names asked for by `request_state_attributes`."""
        return sorted(self._requested_state)

    def get_requested_contact_attributes(self) -> set[str]:
        """Names asked for by `request_contact_attributes`."""
        return set(self._requested_contact)

    def set_gravity(self, gravity: Any, world: int | None = None) -> None:
        """Set gravity [m/s²] of one world (-1: of global rows), or of everything.

        Args:
            gravity: A vector, a number along the up axis, or one vector per world.
            world: World to change; all if None.
        """
        rows = self.gravity.numpy().copy()
        if world is None:
            value = np.asarray(gravity, dtype=np.float64)
            if value.ndim == 2:
                if value.shape != (self.world_count, 3):
                    raise BuildError(f"set_gravity(): {value.shape} vectors for {self.world_count} worlds")
                rows[: self.world_count] = value
            else:
                rows[:] = gravity_vector(gravity, self.up_axis)
        else:
            if not -1 <= world < self.world_count:
                raise IndexError(f"set_gravity(): world {world} is not in -1 to {self.world_count - 1}")
            rows[world] = gravity_vector(gravity, self.up_axis)
        self.gravity.assign(rows)

    def shape_collision_filter_mask(self, pairs: Any) -> np.ndarray:
        """Whether each of some pairs of shapes, shape (n, 2), never collides."""
        filters = np.sort(self._hidden["shape_filter_pairs"]().astype(np.int64), axis=1)
        wanted = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1)
        return np.isin(wanted @ [self.shape_count, 1], filters @ [self.shape_count, 1])

    # worlds

    def reference_kind(self, reference: str) -> str:
        """Frequency that a reference stands for."""
        return resolve_reference(reference, self.fields, self.kinds)

    def row_worlds(self, frequency: Frequency | str) -> wp.array:
        """World of each row of a frequency, -1 for global rows, on the device."""
        kind = frequency_key(frequency)
        if kind not in self._row_worlds:
            starts = self.kind_starts(kind) if kind != "world" else np.arange(self.world_count + 2)
            rows = np.full(int(starts[-1]) if kind != "world" else self.world_count, -1, np.int32)
            rows[starts[0] : starts[-2]] = np.repeat(
                np.arange(self.world_count, dtype=np.int32), np.diff(starts[:-1])
            )
            self._row_worlds[kind] = wp.array(rows, dtype=wp.int32, device=self.device)
        return self._row_worlds[kind]

    def kind_starts(self, kind: str) -> np.ndarray:
        """Start of each world in a frequency, on the host, shape (world_count + 2,)."""
        starts = self._starts[kind]
        if callable(starts):
            starts = self._starts[kind] = starts()
        return starts

    def row_span(self, kind: str, world: int) -> tuple[int, int]:
        """First and one past the last row of a world in a frequency."""
        starts = self.kind_starts(kind)
        return int(starts[world]), int(starts[world + 1])

    @property
    def world_classes(self) -> list[WorldClass]:
        """Groups of identical worlds, in the order of their first worlds; see `classes.py`."""
        if self._classes is None:
            numbers = self.world_class_of
            self._classes = [WorldClass(self, np.flatnonzero(numbers == n)) for n in range(int(numbers.max()) + 1)]
        return self._classes

    @property
    def world_class_of(self) -> np.ndarray:
        """Index into `world_classes` of each world."""
        if self._class_of is None:
            hints = self._class_hints or (np.zeros(self.world_count, int), np.ones(self.world_count, bool), set())
            self._class_of = group_worlds(self, *hints)
        return self._class_of

    # bounding volumes

    def bvh_build_shapes(
        self, state: Any, *, bvh_constructor: str | None = None, shape_flags: int = ShapeFlags.VISIBLE
    ) -> None:
        """Build the BVH over shapes with any of the flags at a state, with one root per world."""
        bvh.build_shapes(self, state, bvh_constructor, int(shape_flags))

    def bvh_refit_shapes(self, state: Any) -> None:
        """Move the BVH over shapes to a state."""
        bvh.refit_shapes(self, state)

    def bvh_build_particles(self, state: Any, *, bvh_constructor: str | None = None) -> None:
        """Build the BVH over particles at a state, with one root per world."""
        bvh.build_particles(self, state, bvh_constructor)

    def bvh_refit_particles(self, state: Any) -> None:
        """Move the BVH over particles to a state."""
        bvh.refit_particles(self, state)

    # files

    def save(self, path: Any, state: State | None = None) -> None:
        """Write the model, and a state where one is given, to one file; see `save.py`."""
        from .save import save

        save(path, self, state)

    def save_mjcf(self, path: Any = None, *, world: int = 0) -> str:
        """One world as an MJCF document, with its numbers as they are now; gives the text.

        Documents that were added come back as numbers: all that physics needs is said, textures are not. The text is
        compiled and compared before it is given.

        Args:
            path: The file to write, if any.
            world: Which world; it is written in its own frame.
        """
        if not 0 <= world < self.world_count:
            raise IndexError(f"save_mjcf(): world {world} is not in 0 to {self.world_count - 1}")
        from ..simulation.simulation import Simulation  # a higher layer, imported on use

        for sim in Simulation.of_model(self):
            found = np.flatnonzero(sim._of_model().worlds == world)
            if len(found):
                return sim.save_xml(path, world=int(found[0]))
        raise BuildError(f"save_mjcf(): no engine runs world {world}")

    def save_usd(self, path: Any = None, *, world: int | None = None, state: State | None = None) -> Any:
        """Write the model as a USD stage with UsdPhysics (extra `usd`), which `add_usd` reads back; gives the stage.

        Worlds that are alike refer to one class of prims. Particles, and actuators and tendons of documents are left
        out with a warning: `save_mjcf` writes a document.

        Args:
            path: The file to write, ending in .usda, .usdc or .usd; in memory only if None.
            world: Which world; all if None.
            state: Where bodies are and how they move; the model's initial values if None.
        """
        from ..usd.export import save_usd  # a higher layer, imported on use

        return save_usd(self, path, world=world, state=state)

    @staticmethod
    def load(path: Any, device: Any = None) -> tuple[Model, State | None]:
        """Read a model, and the state that was saved with it or None."""
        from .save import load

        return load(path, device)


def check_requests(attributes: tuple[str, ...], assignment: Assignment) -> None:
    """Names that can be requested of states or contacts."""
    known = [key for key, field in FIELDS.items() if field.assignment == assignment and field.on_request]
    for name in attributes:
        if name not in known:
            raise BuildError(f"cannot request {name!r}{did_you_mean(name, known)}; known are {sorted(known)}")
