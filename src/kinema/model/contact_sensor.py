"""SensorContact: the forces that contacts put on bodies or shapes, over all worlds.

    total_force[i]        sum over the contacts of sensing object i
    force_matrix[i, j]    of those with its counterpart j alone
    ..._friction          the parts across the contacts' normals:  f - (n . f) n
    position_matrix       mean of the contacts' places, weighted by |f|

A sensing object is summed by one thread, over the contacts of its world in their order, so that sums are the same bits
every time. Contacts come in the order of worlds (`solver.update_contacts`), and a search finds where a world begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from ..closed import Closed
from ..errors import BuildError
from .contacts import Contacts
from .model import Model
from .site_sensors import Labels, match_labels, shape_pose
from .state import State

KINDS = ("body", "shape")


@wp.struct
class Found:
    """Contacts, and what their shapes are."""

    count: wp.array(dtype=int)
    shape0: wp.array(dtype=int)
    shape1: wp.array(dtype=int)
    point0: wp.array(dtype=wp.vec3)
    point1: wp.array(dtype=wp.vec3)
    offset0: wp.array(dtype=wp.vec3)
    offset1: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    force: wp.array(dtype=wp.spatial_vector)
    body: wp.array(dtype=int)  # of each shape
    world: wp.array(dtype=int)  # of each shape
    row: wp.array(dtype=int)  # sensing object that a shape is part of; -1: none
    column: wp.array(dtype=int)  # counterpart that it is part of; -1: none


@wp.struct
class Readings:
    """What is measured; empty where it is not wanted."""

    total: wp.array(dtype=wp.vec3)
    total_friction: wp.array(dtype=wp.vec3)
    matrix: wp.array2d(dtype=wp.vec3)
    matrix_friction: wp.array2d(dtype=wp.vec3)
    position: wp.array2d(dtype=wp.vec3)
    weight: wp.array2d(dtype=float)


@wp.func
def world_of(found: Found, c: int) -> int:
    """The world of a contact: at most one of its shapes is of no world."""
    world = int(-1)
    if found.shape0[c] >= 0:
        world = found.world[found.shape0[c]]
    if found.shape1[c] >= 0:
        world = wp.max(world, found.world[found.shape1[c]])
    return world


@wp.func
def first_of(found: Found, world: int, count: int) -> int:
    """The first contact of a world."""
    low = int(0)
    high = int(count)
    while low < high:
        middle = (low + high) / 2
        if world_of(found, middle) < world:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func
def on_surface(shape: int, point: wp.vec3, offset: wp.vec3, found: Found, body_q: wp.array(dtype=wp.transform)):
    """A point of a contact in space, on the surface with its margin."""
    x = point + offset
    if shape >= 0:
        if found.body[shape] >= 0:
            x = wp.transform_point(body_q[found.body[shape]], x)
    return x


@wp.func
def take(
    found: Found, readings: Readings, row: int, c: int, mine: int, other: int, sign: float,
    body_q: wp.array(dtype=wp.transform),
):  # fmt: skip
    """Add a contact to the readings of a sensing object, if one of its shapes is part of that."""
    if mine >= 0:
        if found.row[mine] == row:
            force = sign * wp.spatial_top(found.force[c])
            n = wp.normalize(found.normal[c])
            friction = force - wp.dot(force, n) * n
            if readings.total.shape[0] > 0:
                readings.total[row] += force
                readings.total_friction[row] += friction
            column = int(-1)
            if other >= 0:
                column = found.column[other]
            if readings.matrix.shape[0] > 0 and column >= 0:
                readings.matrix[row, column] += force
                readings.matrix_friction[row, column] += friction
                if body_q.shape[0] > 0:
                    x0 = on_surface(found.shape0[c], found.point0[c], found.offset0[c], found, body_q)
                    x1 = on_surface(found.shape1[c], found.point1[c], found.offset1[c], found, body_q)
                    weight = wp.length(force)
                    readings.position[row, column] += 0.5 * weight * (x0 + x1)
                    readings.weight[row, column] += weight


@wp.kernel(enable_backward=False)
def sense(found: Found, row_world: wp.array(dtype=int), body_q: wp.array(dtype=wp.transform), readings: Readings):
    """Sum the contacts of one sensing object."""
    row = wp.tid()
    if readings.total.shape[0] > 0:
        readings.total[row] = wp.vec3()
        readings.total_friction[row] = wp.vec3()
    columns = int(0)
    if readings.matrix.shape[0] > 0:
        columns = readings.matrix.shape[1]
    for j in range(columns):
        readings.matrix[row, j] = wp.vec3()
        readings.matrix_friction[row, j] = wp.vec3()
        readings.position[row, j] = wp.vec3()
        readings.weight[row, j] = 0.0
    count = wp.min(found.count[0], found.shape0.shape[0])
    c = first_of(found, row_world[row], count)
    while c < count:
        if world_of(found, c) != row_world[row]:
            break
        take(found, readings, row, c, found.shape0[c], found.shape1[c], 1.0, body_q)
        take(found, readings, row, c, found.shape1[c], found.shape0[c], -1.0, body_q)
        c += 1
    for j in range(columns):
        if readings.weight[row, j] > 0.0:
            readings.position[row, j] = readings.position[row, j] / readings.weight[row, j]


@wp.kernel(enable_backward=False)
def place(
    indices: wp.array(dtype=int),
    is_body: int,
    body: wp.array(dtype=int),
    local: wp.array(dtype=wp.transform),
    body_q: wp.array(dtype=wp.transform),
    transforms: wp.array(dtype=wp.transform),
):
    """Pose of one sensing object."""
    i = wp.tid()
    if is_body != 0:
        transforms[i] = body_q[indices[i]]
    else:
        transforms[i] = shape_pose(indices[i], body, local, body_q)


class SensorContact(Closed):
    """Contact forces on bodies or shapes, together and by what they touch.

    Give either bodies or shapes to sense, and to tell apart by either bodies or shapes as counterparts, or none: by
    labels or indices. Counterparts of no world, such as a ground plane, count for every world, and come first.

    Args:
        model: The model.
        sensing_bodies, sensing_shapes: What is sensed.
        counterpart_bodies, counterpart_shapes: What it touches, told apart.
        measure_total: Sum over all that it touches.
        verbose: Not used.
        request_contact_attributes: Ask the model for `contacts.force`; False where observables are handed to `update`.

    Attributes:
        total_force, total_force_friction: (n,) [N]; None: not wanted.
        force_matrix, force_matrix_friction: (n, most counterparts of any world) [N]; None: no counterparts.
        position_matrix: Of the same shape [m].
        sensing_indices: Body or shape of each row.
        counterpart_indices: Bodies or shapes of each row's columns.
        sensing_type, counterpart_type: "body" or "shape"; None: no counterparts.
        sensing_transforms: Poses of what is sensed.
    """

    def __init__(
        self, model: Model, *, sensing_bodies: Labels | None = None, sensing_shapes: Labels | None = None,
        counterpart_bodies: Labels | None = None, counterpart_shapes: Labels | None = None, measure_total: bool = True,
        verbose: bool | None = None, request_contact_attributes: bool = True,
    ):  # fmt: skip
        if (sensing_bodies is None) == (sensing_shapes is None):
            raise BuildError("SensorContact(): give either sensing_bodies or sensing_shapes")
        if counterpart_bodies is not None and counterpart_shapes is not None:
            raise BuildError("SensorContact(): give counterpart_bodies or counterpart_shapes, not both")
        self.model, device = model, model.device
        self.sensing_type = "shape" if sensing_bodies is None else "body"
        sensed: Any = sensing_shapes if sensing_bodies is None else sensing_bodies
        self.sensing_indices = _chosen(model, self.sensing_type, sensed, "sensing")
        against = counterpart_bodies if counterpart_shapes is None else counterpart_shapes
        self.counterpart_type: str | None = None
        if against is not None:
            self.counterpart_type = "shape" if counterpart_bodies is None else "body"
        elif not measure_total:
            raise BuildError("SensorContact(): measure_total=False and no counterparts leave nothing to measure")
        worlds = _worlds(model, self.sensing_type)[self.sensing_indices]
        if _has_worlds(model) and (worlds < 0).any():
            name = getattr(model, f"{self.sensing_type}_label")[self.sensing_indices[int(np.argmax(worlds < 0))]]
            raise BuildError(f"SensorContact(): {name!r} is of no world and touches those of all: put it into worlds")
        columns, self.counterpart_indices, width = self._counterparts(against, worlds)
        row = np.full(max(1, getattr(model, f"{self.sensing_type}_count")), -1, np.int32)
        row[self.sensing_indices] = np.arange(len(self.sensing_indices))
        self._row = wp.array(_of_shapes(model, self.sensing_type, row), dtype=int, device=device)
        self._column = wp.array(columns, dtype=int, device=device)
        self._world = wp.array(worlds.astype(np.int32), dtype=int, device=device)
        self._indices = wp.array(np.asarray(self.sensing_indices, np.int32), dtype=int, device=device)
        n = len(self.sensing_indices)
        self.sensing_transforms = wp.zeros(n, dtype=wp.transform, device=device)
        self.total_force, self.total_force_friction = (
            wp.zeros(n, dtype=wp.vec3, device=device) if measure_total else None for _ in range(2)
        )
        self.force_matrix, self.force_matrix_friction, self.position_matrix = (
            wp.zeros((n, width), dtype=wp.vec3, device=device) if width else None for _ in range(3)
        )
        self._weight = wp.zeros((n, width), dtype=float, device=device)
        self._nowhere = wp.empty(0, dtype=wp.transform, device=device)
        if request_contact_attributes:
            model.request_contact_attributes("force")

    @property
    def solver_observable_kinds(self) -> frozenset[str]:
        """What to ask a solver for."""
        return frozenset({"contact_f"})

    def _counterparts(self, against: Labels | None, worlds: np.ndarray) -> tuple[np.ndarray, list[list[int]], int]:
        """Column of each shape, counterparts of each row, and how many columns there are."""
        model, kind = self.model, self.counterpart_type
        if against is None or kind is None:
            return np.full(max(1, model.shape_count), -1, np.int32), [[] for _ in worlds], 0
        found = np.unique(_chosen(model, kind, against, "counterpart"))
        of = _worlds(model, kind)
        everywhere = found[of[found] < 0].tolist()
        column = np.full(max(1, getattr(model, f"{kind}_count")), -1, np.int32)
        column[everywhere] = np.arange(len(everywhere))
        local = found[of[found] >= 0]
        order = local[np.argsort(of[local], kind="stable")]
        first = np.searchsorted(of[order], of[order])
        column[order] = len(everywhere) + np.arange(len(order)) - first
        by_world = {int(w): order[of[order] == w].tolist() for w in np.unique(worlds)}
        lists = [everywhere + by_world[int(w)] for w in worlds]
        width = len(everywhere) + max((int(np.sum(of[order] == w)) for w in np.unique(of[order])), default=0)
        return _of_shapes(model, kind, column), lists, width

    def update(self, state: State | None, contacts: Contacts, *, observables: Any = None) -> None:
        """Take the readings of contacts that a solver has filled.

        Args:
            state: Where bodies are, for poses and places; None: those stay as they are, places are 0.
            contacts: Buffers that `solver.update_contacts`, or `solver.step` with observables, has filled.
            observables: Where forces are; None: in `contacts.force`.
        """
        force = contacts.force if observables is None else observables.contact_f
        if force is None:
            raise BuildError(
                "the contacts have no forces: make the sensor before model.contacts() and call "
                "solver.update_contacts(contacts), or hand over observables"
            )
        body_q = self._nowhere if state is None or state.body_q is None else state.body_q
        model, device, n = self.model, self.model.device, len(self.sensing_indices)
        if body_q.shape[0]:
            inputs = [self._indices, int(self.sensing_type == "body"), model.shape_body, model.shape_transform, body_q]
            wp.launch(place, n, [*inputs, self.sensing_transforms], device=device)
        found = Found()
        for name in ("shape0", "shape1", "point0", "point1", "offset0", "offset1", "normal", "count"):
            setattr(found, name, getattr(contacts, f"rigid_contact_{name}"))
        found.force, found.body, found.world = force, model.shape_body, model.shape_world
        found.row, found.column = self._row, self._column
        readings = Readings()
        arrays = {"total": self.total_force, "total_friction": self.total_force_friction, "matrix": self.force_matrix,
                  "matrix_friction": self.force_matrix_friction, "position": self.position_matrix}  # fmt: skip
        for name, array in arrays.items():
            if array is not None:
                setattr(readings, name, array)
        readings.weight = self._weight
        wp.launch(sense, n, [found, self._world, body_q, readings], device=device)


def _chosen(model: Model, kind: str, wanted: Labels, what: str) -> list[int]:
    found = match_labels(getattr(model, f"{kind}_label"), wanted, f"{what} {kind}")
    if len(set(found)) != len(found):
        twice = next(k for k in found if found.count(k) > 1)
        raise BuildError(f"SensorContact(): {what} {kind} {twice} is given twice")
    return found


def _worlds(model: Model, kind: str) -> np.ndarray:
    """World of each body or shape; where no world was opened, all are of one that is not numbered."""
    return getattr(model, f"{kind}_world").numpy()


def _has_worlds(model: Model) -> bool:
    return bool((model.shape_world.numpy() >= 0).any() or (model.body_world.numpy() >= 0).any())


def _of_shapes(model: Model, kind: str, numbers: np.ndarray) -> np.ndarray:
    """Numbers of bodies or shapes, by shape."""
    if kind == "shape":
        return numbers
    body = model.shape_body.numpy()
    return np.where(body >= 0, numbers[body], -1).astype(np.int32)


__all__: Sequence[str] = ["SensorContact"]
