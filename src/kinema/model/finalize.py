"""From rows to a model: check, derive, gather every column, put it on the device.

Checks and derived columns run on the stored rows and on each template once; only gathering grows with worlds. Labels
and custom attributes are gathered when somebody reads them: solvers read the latter from a template.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from ..errors import BuildError, WrongMoment
from .actuation import entries_of, make_actuators
from .derived import derive, joint_ancestors
from .device import DeviceGeometry, GaussianData, HeightfieldData, device_array
from .enums import GeoType, JointType, ShapeFlags
from .fields import FIELDS, STATE, WORLD_STARTS, Field, world_key
from .frequency import ACTUATOR, BUILT_IN, COUNT_NAMES, EQUALITY, FILTER_PAIR, UNORDERED, public_frequency
from .merge import Layout, Template, gather, resolve_reference
from .model import Model
from .pairs import find_pairs
from .state import place, space_of
from .worlds import check_reference_ranges, check_world_order, world_runs, world_starts

if TYPE_CHECKING:
    from .builder import ModelBuilder

Hints = tuple[np.ndarray, np.ndarray, set[str]]
"""Number that worlds of one template share, worlds that adders filled, fields written after merging."""

CONTACTS_PER_SHAPE = 12
"""Room for contacts per colliding shape, as long as pairs do not need less."""
CONTACTS_PER_PARTICLE = 6
"""Room among them for contacts of cloth and soft bodies per particle: two triangles each, with three corners."""


def finalize(builder: ModelBuilder, device: Any, *, requires_grad: bool, skip: set[str]) -> Model:
    """Make a model of a builder's rows."""
    if builder.current_world != -1:
        raise WrongMoment(f"finalize(): world {builder.current_world} is still open; call end_world() first")
    builder.check_all_references()
    base, layout = builder.layout()
    sources = [base, *(group.template for group in layout.groups)]
    for source in sources:
        if "structure" not in skip:
            check_reference_ranges(source, "finalize()", source.counts)
        if "joints" not in skip:
            check_joints(source)
        if "joint_ordering" not in skip:
            check_joint_order(source)
        if "shapes" not in skip:
            check_gaps(source)
        derive(
            source,
            balance=builder.balance_inertia,
            bound_mass=builder.bound_mass,
            bound_inertia=builder.bound_inertia,
        )

    model = Model(device)
    model.requires_grad = requires_grad
    model.up_axis = builder.up_axis
    model.world_count = max(builder.world_count, 1)
    model.world_label = [builder._world_labels.get(w, f"world_{w}") for w in range(model.world_count)]
    model.use_coord_layout_targets = builder.use_coord_layout_targets
    model.particle_max_velocity = builder.particle_max_velocity
    model._requested_state = set(builder._requested_state)
    model._requested_contact = set(builder._requested_contact)
    model.kinds = {kind: layout.total[kind] for kind in layout.total if kind not in ("once", "world")}
    model.custom_frequency_counts = {
        kind: count for kind, count in model.kinds.items() if kind not in BUILT_IN or kind == EQUALITY
    }
    for name, kind in COUNT_NAMES.items():
        setattr(model, name, model.kinds.get(kind, 0))

    if model.kinds[ACTUATOR]:
        _place_actuators(model, builder, base, layout)
    host = _place_arrays(model, builder, base, layout)
    _place_world_starts(model, base, layout, skip)
    _sort_unordered(model, host)
    _place_gravity(model, builder)
    _place_particles(model, host)
    _place_articulations(model, host)
    place_geometry(model, host, lambda: gather(FIELDS["shape_source"], base, layout))
    model._class_hints = _class_hints(model, builder)
    _place_pairs(model, host, model._class_hints)
    defer_bvh(model)
    return model


def _place_arrays(model: Model, builder: ModelBuilder, base: Template, layout: Layout) -> dict[str, np.ndarray]:
    """Every field of the table onto the model; returns the numeric columns on the host."""
    table = {**{key: f for key, f in FIELDS.items() if f.derived or f.runtime}, **builder._table}
    host: dict[str, np.ndarray] = {}
    for key, field in table.items():
        if field.runtime:
            if field.assignment == STATE:
                model.fields[key] = field
            continue
        by_dof = key == "joint_target_q" and not model.use_coord_layout_targets
        model.fields[key] = replace(field, frequency="joint_dof") if by_dof else field
        if field.hidden:
            model._hidden[key] = cache(partial(gather, field, base, layout))
            continue
        model.attribute_frequency[key] = public_frequency(model.fields[key].frequency)
        if field.custom or field.assignment != 0:
            model.attribute_assignment[key] = field.assignment
        if field.is_object or field.custom:
            place(model, field, partial(_expand, model, field, base, layout), lazy=True)
            continue
        rows = host[key] = gather(field, base, layout)
        if field.sentinel:
            end = layout.total[resolve_reference(str(field.references), table, layout.total)]
            rows = np.concatenate([rows, np.array([end], np.int32)])
        if by_dof:
            rows = rows[_dof_layout(host["joint_type"], host["joint_q_start"], len(rows))]
        place(model, field, _upload(model, field, rows))
    return host


def _expand(model: Model, field: Field, base: Template, layout: Layout) -> Any:
    """What lists and custom attributes become when somebody reads them: most rows are only read from a template."""
    rows = gather(field, base, layout)
    return rows.tolist() if field.is_object else _upload(model, field, rows)


def _upload(model: Model, field: Field, rows: np.ndarray) -> wp.array:
    return device_array(field, rows, model.device, requires_grad=model.requires_grad)


def _dof_layout(types: np.ndarray, q_start: np.ndarray, coords: int) -> np.ndarray:
    """Rows of the coordinates that have a dof of their own: all but the last one of quaternions."""
    keep = np.ones(coords, bool)
    for kind, last in ((JointType.BALL, 3), (JointType.FREE, 6), (JointType.DISTANCE, 6)):
        keep[q_start[types == kind] + last] = False
    return keep


def _place_world_starts(model: Model, base: Template, layout: Layout, skip: set[str]) -> None:
    for kind in model.kinds:
        worlds, sizes = world_runs(kind, base, layout)
        if kind in UNORDERED:
            order = np.lexsort((worlds, worlds < 0))
            worlds, sizes = worlds[order], sizes[order]
        elif "worlds" not in skip:
            check_world_order(worlds, world_key(kind), model.world_count)
        model._starts[kind] = partial(world_starts, worlds, sizes, model.world_count)
        if kind in WORLD_STARTS:
            namespace, _, name = WORLD_STARTS[kind].rpartition(":")
            starts: wp.array = wp.array(model.kind_starts(kind), dtype=wp.int32, device=model.device)
            object.__setattr__(space_of(model, namespace or None), name, starts)
    object.__setattr__(space_of(model, "mujoco"), "equality_constraint_count", model.kinds[EQUALITY])


def _sort_unordered(model: Model, host: dict[str, np.ndarray]) -> None:
    """Rows that may be added at any time in the order of their worlds, global ones last."""
    for kind in UNORDERED:
        worlds = model._hidden[world_key(kind)]()
        order = np.lexsort((worlds, worlds < 0))
        keys = [key for key, field in model.fields.items() if field.frequency == kind]
        ordered = {key: model._hidden[key]()[order] for key in keys}
        model._hidden |= {key: cache(partial(np.asarray, rows)) for key, rows in ordered.items()}
        if kind == FILTER_PAIR:
            host["filter_world"] = ordered[world_key(kind)]
            host["shape_filter_pairs"] = ordered["shape_filter_pairs"]


def _place_actuators(model: Model, builder: ModelBuilder, base: Template, layout: Layout) -> None:
    """Actuators of rows, and what their drives read of controls."""
    names = ("actuator_dof", "actuator_coord", "actuator_parts")
    entries = entries_of(*(gather(FIELDS[name], base, layout).tolist() for name in names))
    model.actuators = make_actuators(
        entries.values(), model.device, grad=model.requires_grad, by_coordinate=model.use_coord_layout_targets
    )
    for actuator in model.actuators:
        actuator.register_custom_attributes(builder)


def _place_gravity(model: Model, builder: ModelBuilder) -> None:
    rows = [*builder.world_gravity, builder.gravity] if builder.world_gravity else [builder.gravity]
    model.gravity = wp.array(np.stack(rows), dtype=wp.vec3, device=model.device, requires_grad=model.requires_grad)


def _place_particles(model: Model, host: dict[str, np.ndarray]) -> None:
    radius = host["particle_radius"]
    model.particle_max_radius = float(radius.max()) if len(radius) else 0.0
    if model.particle_count > 1 and model.particle_max_radius > 0.0:
        model.particle_grid = wp.HashGrid(128, 128, 128, device=model.device)
    for name in ("particle", "body"):
        setattr(model, f"{name}_color_groups", color_groups(host[f"{name}_colors"], model.device))


def color_groups(colors: np.ndarray, device: Any) -> list[wp.array]:
    """Rows of each colour."""
    return [
        wp.array(np.flatnonzero(colors == color).astype(np.int32), dtype=wp.int32, device=device)
        for color in range(int(colors.max(initial=-1)) + 1)
    ]


def _place_articulations(model: Model, host: dict[str, np.ndarray]) -> None:
    start, end = host["articulation_start"], host["articulation_end"]
    dofs = np.append(host["joint_qd_start"], model.joint_dof_count)
    model.max_joints_per_articulation = int((end - start).max(initial=0))
    model.max_dofs_per_articulation = int((dofs[end] - dofs[start]).max(initial=0))


def place_geometry(model: Model, host: dict[str, np.ndarray], sources: Callable[[], np.ndarray]) -> None:
    """Meshes and height fields onto the device, each source once."""
    geometry = DeviceGeometry(host["shape_type"], host["shape_scale"], sources, model.device)
    device = model.device
    model._geometry = geometry  # keeps the meshes alive
    model.shape_source_ptr = wp.array(geometry.pointers, dtype=wp.uint64, device=device)
    model.shape_edge_range = wp.array(geometry.edge_range, dtype=wp.vec2i, device=device)
    model.mesh_edge_indices = wp.array(geometry.edges, dtype=wp.vec2i, device=device)
    model.shape_heightfield_index = wp.array(geometry.heightfield_index, dtype=wp.int32, device=device)
    model.heightfield_meshes = geometry.heightfield_meshes
    model.heightfield_count = int((host["shape_type"] == GeoType.HFIELD).sum())
    model.heightfield_elevations = wp.array(geometry.elevations, dtype=wp.float32, device=device)
    model.heightfield_data = wp.array(geometry.heightfields, dtype=HeightfieldData, device=device)
    model.gaussians_count = len(geometry.gaussians)
    model.gaussians_data = wp.array(geometry.gaussians, dtype=GaussianData, device=device)


def _class_hints(model: Model, builder: ModelBuilder) -> Hints:
    """What the builder knows about which worlds are alike."""
    parts: dict[int, tuple[int, ...]] = {}
    xforms: np.ndarray | None = None
    merged = [*builder._merged, *((s.template, s.world, s.xform) for s in builder._segments)]
    for template, world, xform in merged:
        parts[world] = (*parts.get(world, ()), id(template))
        if xform is not None and world >= 0:
            if xforms is None:
                xforms = np.tile(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), (model.world_count, 1))
            xforms[world] = xform
    numbers: dict[tuple[int, ...], int] = {}
    seeds = np.array([numbers.setdefault(parts.get(w, ()), len(numbers)) for w in range(model.world_count)])
    model._alone = {s.world: s for s in builder._segments if len(parts[s.world]) == 1 and s.world >= 0}
    direct = np.zeros(model.world_count, bool)
    direct[list(builder._direct_worlds)] = True
    for world in builder._direct_worlds:
        model._alone.pop(world, None)
    model._world_xforms = xforms
    return seeds, direct, set(builder._touched)


def _place_pairs(model: Model, host: dict[str, np.ndarray], hints: Hints) -> None:
    seeds, direct, touched = hints
    names = ("shape_flags", "shape_body", "shape_collision_group", "shape_world", "shape_filter_pairs")
    columns = {name: host[name] for name in (*names, "filter_world")}
    starts = model.kind_starts("shape")
    kinds = seeds
    if direct.any() or touched & set(names):
        # rows were added or changed world by world: compare what the rule looks at
        keys: dict[bytes, int] = {}
        body_starts, filters = model.kind_starts("body"), model.kind_starts(FILTER_PAIR)
        kinds = np.empty(model.world_count, np.int64)
        for w in range(model.world_count):
            span, own = slice(starts[w], starts[w + 1]), slice(filters[w], filters[w + 1])
            pairs = host["shape_filter_pairs"][own]
            body = host["shape_body"][span]
            key = b"|".join(
                part.tobytes()
                for part in (
                    host["shape_flags"][span],
                    host["shape_collision_group"][span],
                    np.where(body >= body_starts[w], body - body_starts[w], body),
                    np.where(pairs >= starts[w], pairs - starts[w], -1 - pairs),
                )
            )
            kinds[w] = keys.setdefault(key, len(keys))
    found = model._contact_pairs = find_pairs(columns, starts, kinds)
    model.shape_contact_pair_count = len(found)
    colliding = int(((host["shape_flags"] & ShapeFlags.COLLIDE_SHAPES) != 0).sum())
    soft = int(((host["shape_flags"] & ShapeFlags.COLLIDE_PARTICLES) != 0).sum())
    model.rigid_contact_max = min(8 * len(found), max(64, CONTACTS_PER_SHAPE * colliding))
    model.soft_contact_max = model.particle_count * min(soft, 8)
    model.rigid_contact_max += CONTACTS_PER_PARTICLE * model.particle_count * bool(soft)  # a solver's own stand there
    defer_pairs(model, host)


def defer_pairs(model: Model, host: dict[str, np.ndarray]) -> None:
    """Pairs as lists and arrays are made when somebody reads them."""
    pairs = model._contact_pairs
    model._lazy["shape_contact_pairs"] = lambda: wp.array(pairs.expand(), dtype=wp.vec2i, device=model.device)
    filters_of = host["shape_filter_pairs"]
    model._lazy["shape_collision_filter_pairs"] = lambda: {tuple(pair) for pair in np.sort(filters_of, axis=1).tolist()}
    bodies, count = host["shape_body"], model.body_count

    def shapes_of_bodies() -> dict[int, list[int]]:
        shapes: dict[int, list[int]] = {-1: [], **{body: [] for body in range(count)}}
        for shape, body in enumerate(bodies.tolist()):
            shapes[body].append(shape)
        return shapes

    model._lazy["body_shapes"] = shapes_of_bodies


_BVH_SHAPES = (
    "bvh_shapes", "bvh_shapes_group_roots", "bvh_shape_enabled", "bvh_shape_bounds", "bvh_shape_world_transforms",
    "bvh_shape_count_enabled",
)  # fmt: skip
_BVH_PARTICLES = ("bvh_particles", "bvh_particles_group_roots")


def defer_bvh(model: Model) -> None:
    """BVHs at the initial state are built when somebody first reads one of their arrays."""
    for names, count, build in (
        (_BVH_SHAPES, model.shape_count, model.bvh_build_shapes),
        (_BVH_PARTICLES, model.particle_count, model.bvh_build_particles),
    ):
        for name in names:
            if count:
                delattr(model, name)
                model._lazy[name] = _Built(model, names, name, build)


class _Built:
    """Builds a BVH and answers with one of its arrays."""

    def __init__(self, model: Model, names: tuple[str, ...], name: str, build: Any):
        self._model, self._names, self._name, self._build = model, names, name, build

    def __call__(self) -> Any:
        for name in self._names:
            self._model._lazy.pop(name, None)
        self._build(self._model)
        return getattr(self._model, self._name)


def check_joints(source: Template) -> None:
    """Joints between bodies must hang together as trees: every moving body's joint is in an articulation."""
    if not source.counts.get("joint"):
        return
    parent, child, owner = (source.column(FIELDS[f"joint_{name}"]) for name in ("parent", "child", "articulation"))
    inside = owner >= 0
    known = np.concatenate([parent[inside], child[inside]])
    orphans = np.flatnonzero(~inside & (parent >= 0) & ~np.isin(child, known))
    if len(orphans):
        labels = source.column(FIELDS["joint_label"])[orphans[:5]].tolist()
        raise BuildError(
            f"finalize(): {len(orphans)} joints are in no articulation, first {labels}; call add_articulation()"
        )


def check_joint_order(source: Template) -> bool:
    """Warn of joints that come before the joint their parent hangs on; whether there are none."""
    parent, child, owner = (source.column(FIELDS[f"joint_{name}"]) for name in ("parent", "child", "articulation"))
    early = np.flatnonzero((owner >= 0) & (joint_ancestors(parent, child, owner) > np.arange(len(owner))))
    if len(early):
        labels = source.column(FIELDS["joint_label"])[early[:5]].tolist()
        warnings.warn(f"{len(early)} joints come before the joints of their parents, first {labels}", stacklevel=3)
    return len(early) == 0


def check_gaps(source: Template) -> None:
    """Warn of colliding shapes whose gap is negative: contacts would be missed."""
    flags, gap = source.column(FIELDS["shape_flags"]), source.column(FIELDS["shape_gap"])
    collides = (flags & (ShapeFlags.COLLIDE_SHAPES | ShapeFlags.COLLIDE_PARTICLES)) != 0
    wrong = np.flatnonzero(collides & (gap < 0.0))
    if len(wrong):
        labels = source.column(FIELDS["shape_label"])[wrong[:5]].tolist()
        warnings.warn(f"{len(wrong)} shapes have a negative gap, first {labels}; contacts are missed", stacklevel=4)
