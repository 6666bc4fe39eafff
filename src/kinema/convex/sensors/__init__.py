"""Sensors: readings of what the engine has computed, one file a family.

A family is a function over sensors that passes over those of other families; a model runs the families it has, one
after the other for each sensor, after everything they read is there. Readings are then cut off and, where sensors have
histories, delayed (reading.py).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import warp as wp

from kinema.convex import loads
from kinema.convex.extension import NONE, Extension
from kinema.convex.sensors import (
    camera,
    contact,
    distance,
    frame,
    joint,
    limit,
    rangefinder,
    reading,
    subtree,
    touch,
    zone,
)
from kinema.convex.stage import Stage, one_after_another
from kinema.errors import BuildError
from kinema.mujoco_enums import Disable, Equality, Tendon
from kinema.mujoco_enums import Sensor as S

FAMILIES = {
    "joint": (joint.joint_sensor, {S.JOINTPOS, S.JOINTVEL, S.JOINTACTFRC, S.BALLQUAT, S.BALLANGVEL}),
    "tendon": (joint.tendon_sensor, {S.TENDONPOS, S.TENDONVEL, S.TENDONACTFRC}),
    "actuator": (joint.actuator_sensor, {S.ACTUATORPOS, S.ACTUATORVEL, S.ACTUATORFRC}),
    "frame pose": (
        frame.frame_pose,
        {S.MAGNETOMETER, S.FRAMEPOS, S.FRAMEQUAT, S.FRAMEXAXIS, S.FRAMEYAXIS, S.FRAMEZAXIS},
    ),
    "frame velocity": (frame.frame_velocity, {S.VELOCIMETER, S.GYRO, S.FRAMELINVEL, S.FRAMEANGVEL}),
    "frame acceleration": (frame.frame_acceleration, {S.ACCELEROMETER, S.FRAMELINACC, S.FRAMEANGACC}),
    "interaction": (frame.interaction, {S.FORCE, S.TORQUE}),
    "limit": (limit.limit_sensor, {kind for kind in S if "LIMIT" in kind.name}),
    "subtree": (subtree.subtree_sensor, {S.SUBTREECOM, S.SUBTREELINVEL, S.SUBTREEANGMOM}),
    "global": (subtree.global_sensor, {S.E_POTENTIAL, S.E_KINETIC, S.CLOCK}),
    "camera": (camera.projection_sensor, {S.CAMPROJECTION}),
    "zone": (zone.inside_sensor, {S.INSIDESITE}),
    "contact": (contact.contact_sensor, {S.CONTACT}),
    "touch": (touch.touch_sensor, {S.TOUCH}),
    "range": (rangefinder.range_sensor, {S.RANGEFINDER}),
}
"""The function of each family, and the values of mjtSensor it serves."""

ELSEWHERE = {S.TACTILE, S.PLUGIN, S.USER}  # readings of taxels (tactile.py), and those that plugins and users write


def sensor_types(m) -> set[int]:
    """The types of sensors a model has; none where sensors are switched off."""
    return set() if m.opt.disableflags & Disable.SENSOR else set(np.asarray(m.sensor_type).tolist())


def stages(m, extension: Extension = NONE) -> list[Stage]:
    """What the sensors of a model need and the engine does not compute otherwise, then their readings."""
    types = sensor_types(m)
    if not types and not extension.loads:
        return []
    missing = unread(m)
    if missing:
        raise BuildError(f"sensors {missing} are of types that are not simulated: remove them")
    recipe = []
    if types & {1, 4, 5, 33, 34} or extension.loads:
        recipe.append(Stage(loads.body_acceleration, sweep="down"))
    if types & {S.FORCE, S.TORQUE} or extension.loads:
        recipe += load_stages(m)
    readings = [func for func, served in FAMILIES.values() if types & served]
    between = [distance.stage(m)] if types & distance.TYPES else []
    between += extension.at("acceleration", m)
    after = [reading.cut_off] if np.any(m.sensor_cutoff) else []
    after += [reading.recall] if has_history(m) else []
    if between:
        recipe += [*together(readings), *between, *together(after)]
    else:
        recipe += together([*readings, *after])
    return [replace(s, once=True) for s in recipe]


def together(functions: Sequence[wp.Function]) -> list[Stage]:
    """One stage over sensors of some functions over a sensor; none of none."""
    return [Stage(one_after_another(functions), over="nsensor")] if functions else []


def unread(m) -> list[int]:
    """The sensors of a model that no stage reads."""
    served = set().union(distance.TYPES, ELSEWHERE, *(types for _, types in FAMILIES.values()))
    return [i for i, kind in enumerate(np.asarray(m.sensor_type).tolist()) if kind not in served]


def load_stages(m) -> list[Stage]:
    """The forces between bodies."""
    recipe = [Stage(loads.applied_loads, over="nbody")]
    constrained = not m.opt.disableflags & Disable.CONSTRAINT
    if constrained and np.any(np.isin(m.eq_type, (Equality.CONNECT, Equality.WELD))):
        recipe.append(Stage(loads.equality_loads))
    if np.any(np.asarray(m.tendon_type) == Tendon.SPATIAL):
        recipe.append(Stage(loads.tendon_loads))
    recipe.append(Stage(loads.joint_loads, sweep="up"))
    if constrained:
        recipe += [Stage(loads.contact_wrench, over="ncon"), Stage(loads.contact_loads, over="nbody")]
        recipe.append(Stage(loads.contact_joint_loads, over="nbody"))
    return recipe


def has_history(m) -> bool:
    """Whether any sensor keeps its past readings."""
    return bool(m.nsensor) and bool(np.any(np.asarray(m.sensor_history).reshape(-1, 2)[:, 0]))


def advance_stages(m) -> list[Stage]:
    """What sensors do when a step ends, before time advances."""
    if not has_history(m) or m.opt.disableflags & Disable.SENSOR:
        return []
    return [Stage(reading.remember, over="nsensor")]
