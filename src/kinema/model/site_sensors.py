"""Sensors at sites of a Model, over all worlds: what an inertial unit feels, and where shapes are seen from sites.

    accelerometer = R^T (a - g + alpha x r + w x (w x r)),   gyroscope = R^T w        R: the site's frame in the world

with (a, alpha) the acceleration of the body's centre of mass (`State.body_qdd`) and r the way from there to the site.
Sites and shapes are chosen by labels: a glob or several, a compiled regular expression, or indices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import warp as wp

from ..closed import Closed
from ..errors import BuildError, did_you_mean
from .enums import ShapeFlags
from .model import Model
from .state import State

Labels = str | Sequence[str] | re.Pattern | Sequence[int]


def match_labels(labels: Sequence[str], wanted: Labels, what: str = "label") -> list[int]:
    """Indices of the labels that are wanted, in their order; BuildError where there are none."""
    if isinstance(wanted, re.Pattern):
        found = [k for k, label in enumerate(labels) if wanted.fullmatch(label)]
    elif isinstance(wanted, str):
        found = [k for k, label in enumerate(labels) if fnmatchcase(label, wanted)]
    elif all(isinstance(item, str) for item in wanted):
        found = [k for k, label in enumerate(labels) if any(fnmatchcase(label, str(item)) for item in wanted)]
    elif all(isinstance(item, int | np.integer) for item in wanted):
        found = [int(item) for item in wanted]
        outside = [k for k in found if not 0 <= k < len(labels)]
        if outside:
            raise BuildError(f"{what} {outside[0]}: there are {len(labels)}")
    else:
        raise BuildError(f"{what}={wanted!r}: give globs, a compiled expression, or indices")
    if not found:
        hint = did_you_mean(wanted, labels) if isinstance(wanted, str) else ""
        raise BuildError(f"no {what} matches {wanted!r}{hint}")
    return found


def _sites(model: Model, wanted: Labels, what: str) -> list[int]:
    found = match_labels(model.shape_label, wanted, what)
    flags = model.shape_flags.numpy()
    others = [k for k in found if not flags[k] & ShapeFlags.SITE]
    if others:
        raise BuildError(f"{what} {model.shape_label[others[0]]!r} is a shape, not a site: add_site() makes one")
    return found


@wp.func
def shape_pose(
    shape: int, body: wp.array(dtype=int), local: wp.array(dtype=wp.transform), body_q: wp.array(dtype=wp.transform)
) -> wp.transform:
    """Pose of a shape in the world."""
    x = local[shape]
    if body[shape] >= 0:
        x = body_q[body[shape]] * x
    return x


@wp.struct
class Shapes:
    """What sensors need to know of shapes and their bodies."""

    body: wp.array(dtype=int)
    world: wp.array(dtype=int)
    local: wp.array(dtype=wp.transform)
    com: wp.array(dtype=wp.vec3)
    gravity: wp.array(dtype=wp.vec3)


def _shapes(model: Model) -> Shapes:
    found = Shapes()
    found.body, found.world, found.local = model.shape_body, model.shape_world, model.shape_transform
    found.com, found.gravity = model.body_com, model.gravity
    return found


@wp.kernel(enable_backward=False)
def feel(
    shapes: Shapes,
    sites: wp.array(dtype=int),
    body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
    body_qdd: wp.array(dtype=wp.spatial_vector),
    accelerometer: wp.array(dtype=wp.vec3),
    gyroscope: wp.array(dtype=wp.vec3),
):
    """Readings of one inertial unit."""
    i = wp.tid()
    site = sites[i]
    body = shapes.body[site]
    world = shapes.world[site]
    if world < 0:  # of no world: gravity's last row
        world = shapes.gravity.shape[0] - 1
    turn = wp.transform_get_rotation(shape_pose(site, shapes.body, shapes.local, body_q))
    a = -shapes.gravity[world]
    omega = wp.vec3()
    if body >= 0:
        place = wp.transform_get_translation(shapes.local[site]) - shapes.com[body]
        r = wp.quat_rotate(wp.transform_get_rotation(body_q[body]), place)
        omega = wp.spatial_bottom(body_qd[body])
        a += wp.spatial_top(body_qdd[body]) + wp.cross(wp.spatial_bottom(body_qdd[body]), r)
        a += wp.cross(omega, wp.cross(omega, r))
    accelerometer[i] = wp.quat_rotate_inv(turn, a)
    gyroscope[i] = wp.quat_rotate_inv(turn, omega)


@wp.kernel(enable_backward=False)
def see(
    shapes: Shapes,
    seen: wp.array(dtype=int),
    references: wp.array(dtype=int),
    body_q: wp.array(dtype=wp.transform),
    transforms: wp.array(dtype=wp.transform),
):
    """Pose of one shape in the frame of its reference."""
    i = wp.tid()
    reference = references[wp.where(references.shape[0] == 1, 0, i)]
    here = shape_pose(reference, shapes.body, shapes.local, body_q)
    transforms[i] = wp.transform_inverse(here) * shape_pose(seen[i], shapes.body, shapes.local, body_q)


class SensorIMU(Closed):
    """Inertial units: the acceleration they feel, gravity in it, and their angular velocity, each in its site's frame.

    It asks for `body_qdd` of states, so make it before them and solvers; or give `update` observables of that kind.

    Args:
        model: The model.
        sites: Which sites, by labels or indices.
        verbose: Not used.
        request_state_attributes: Ask the model for `body_qdd`; False where somebody has.
    """

    solver_observable_kinds = frozenset({"body_qdd"})
    """What `update` reads of observables."""

    def __init__(
        self, model: Model, sites: Labels, *, verbose: bool | None = None, request_state_attributes: bool = True
    ):
        self.model = model
        found = _sites(model, sites, "site")
        if request_state_attributes:
            model.request_state_attributes("body_qdd")
        self.n_sensors = len(found)
        self.sensor_sites_arr = wp.array(found, dtype=int, device=model.device)
        self.accelerometer = wp.zeros(len(found), dtype=wp.vec3, device=model.device)
        self.gyroscope = wp.zeros(len(found), dtype=wp.vec3, device=model.device)

    def update(self, state: State, *, observables: Any = None) -> None:
        """Take the readings of a state that a solver has written; accelerations are the observables' where given."""
        qdd = state.body_qdd if observables is None else observables.body_qdd
        if qdd is None:
            raise BuildError("there is no body_qdd: make the sensor before model.state() and the solver, or give "
                             "observables=solver.observables(sensor.solver_observable_kinds)")  # fmt: skip
        inputs: list[Any] = [_shapes(self.model), self.sensor_sites_arr, state.body_q, state.body_qd, qdd]
        outputs = [self.accelerometer, self.gyroscope]
        wp.launch(feel, self.n_sensors, inputs + outputs, device=self.model.device)


class SensorFrameTransform(Closed):
    """Poses of shapes in the frames of sites.

    Args:
        model: The model.
        shapes: Which shapes or sites, by labels or indices.
        reference_sites: From where: one site for all, or one for each.
        verbose: Not used.
    """

    def __init__(self, model: Model, shapes: Labels, reference_sites: Labels, *, verbose: bool | None = None):
        self.model = model
        seen, references = match_labels(model.shape_label, shapes, "shape"), _sites(model, reference_sites, "site")
        if len(references) not in (1, len(seen)):
            raise BuildError(f"{len(seen)} shapes are seen from {len(references)} sites: give one, or one for each")
        self._seen, self._references = (wp.array(k, dtype=int, device=model.device) for k in (seen, references))
        self.transforms = wp.zeros(len(seen), dtype=wp.transform, device=model.device)

    def update(self, state: State) -> None:
        """Look at a state."""
        inputs = [_shapes(self.model), self._seen, self._references, state.body_q, self.transforms]
        wp.launch(see, len(self.transforms), inputs, device=self.model.device)
