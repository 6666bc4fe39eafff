"""Whom things depend on: the bodies that must be awake for a sensor or an actuator to be, and what trees consist of.

A sensor sleeps where nothing it looks at is awake: it keeps its last reading. What looks at nothing, or only at what
never moves, never sleeps (mj_sensorSleepState, mj_actuatorSleepState).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.mujoco_enums import Enable, Joint, Obj, Sensor, Transmission

POSITIONS = {Joint.FREE: 7, Joint.BALL: 4, Joint.SLIDE: 1, Joint.HINGE: 1}
ALWAYS = (-1, -1)
OWNERS: dict[int, str] = {
    Obj.JOINT: "jnt_bodyid", Obj.DOF: "dof_bodyid", Obj.GEOM: "geom_bodyid", Obj.SITE: "site_bodyid",
    Obj.CAMERA: "cam_bodyid", Obj.LIGHT: "light_bodyid",
}  # fmt: skip
UNSLEEPING = (Sensor.USER, Sensor.PLUGIN, Sensor.RANGEFINDER)


def sleeps(m: Any) -> bool:
    """May trees of the model sleep?"""
    return bool(int(m.opt.enableflags) & Enable.SLEEP) and m.ntree > 0


def _joints(m: Any) -> np.ndarray:
    """The tree of each joint."""
    return np.asarray(m.body_treeid)[np.asarray(m.jnt_bodyid)]


def tree_qposadr(m: Any) -> np.ndarray:
    """Where the positions of each tree begin."""
    of = _joints(m)
    first = np.searchsorted(of, np.arange(m.ntree))
    return np.asarray(m.jnt_qposadr)[first] if m.ntree else np.zeros(0)


def tree_qposnum(m: Any) -> np.ndarray:
    """How many positions each tree has."""
    number = [POSITIONS[Joint(kind)] for kind in np.asarray(m.jnt_type).tolist()]
    return np.bincount(_joints(m), weights=number, minlength=m.ntree) if m.ntree else np.zeros(0)


def tree_mocapid(m: Any) -> np.ndarray:
    """The mocap body that each tree hangs on, or -1."""
    root = np.asarray(m.body_rootid)[np.asarray(m.tree_bodyadr)]
    return np.asarray(m.body_mocapid)[root] if m.ntree else np.zeros(0)


def _tendon(m: Any, tendon: int) -> list[int]:
    """A body of each tree that a tendon pulls on; none where it pulls on many, which never sleep."""
    count = int(m.tendon_treenum[tendon])
    trees = np.asarray(m.tendon_treeid).reshape(-1, 2)[tendon][: min(count, 2)]
    return [int(m.tree_bodyadr[tree]) for tree in trees] if count <= 2 else []


def _actuator(m: Any, actuator: int) -> list[int]:
    """The bodies that an actuator moves."""
    kind = int(m.actuator_trntype[actuator])
    one, two = np.asarray(m.actuator_trnid).reshape(-1, 2)[actuator].tolist()
    if kind in (Transmission.JOINT, Transmission.JOINTINPARENT):
        return _bodies(m, Obj.JOINT, one)
    if kind == Transmission.TENDON:
        return _tendon(m, one)
    if kind == Transmission.BODY:
        return [one]
    if kind == Transmission.SITE:
        return _bodies(m, Obj.SITE, one)
    if kind == Transmission.SLIDERCRANK or (kind == Transmission.SO3 and two != -1):
        return [*_bodies(m, Obj.SITE, one), *_bodies(m, Obj.SITE, two)]
    return _bodies(m, Obj.JOINT, one) if kind == Transmission.SO3 else []


def _bodies(m: Any, kind: int, number: int) -> list[int]:
    """The bodies of an object."""
    if kind in (Obj.BODY, Obj.XBODY):
        return [number]
    if kind == Obj.TENDON:
        return _tendon(m, number)
    if kind == Obj.ACTUATOR:
        return _actuator(m, number)
    return [int(getattr(m, OWNERS[kind])[number])] if kind in OWNERS else []


def _pair(m: Any, bodies: list[int]) -> tuple[int, int]:
    """Two bodies, of which one must be awake; nobody where they are of no tree."""
    moving = [body for body in dict.fromkeys(bodies) if m.body_treeid[body] >= 0]
    return (moving[0], moving[-1]) if moving else ALWAYS


def of_sensors(m: Any) -> np.ndarray:
    """For each sensor the bodies of which one must be awake, (nsensor, 2); -1: it never sleeps."""
    found = np.full((m.nsensor, 2), -1, dtype=np.int32)
    for i in range(m.nsensor):
        kind, obj, ref = int(m.sensor_type[i]), int(m.sensor_objtype[i]), int(m.sensor_reftype[i])
        volume = kind == Sensor.CONTACT and Obj.SITE in (obj, ref)
        if kind in UNSLEEPING or volume:
            continue
        bodies = _bodies(m, obj, int(m.sensor_objid[i])) if obj != Obj.UNKNOWN else []
        bodies += _bodies(m, ref, int(m.sensor_refid[i])) if ref != Obj.UNKNOWN else []
        if not any(m.body_treeid[b] < 0 and m.body_mocapid[m.body_rootid[b]] >= 0 for b in bodies):  # mocap: awake
            found[i] = _pair(m, bodies)
    return found


def of_actuators(m: Any) -> np.ndarray:
    """For each actuator the bodies of which one must be awake, (nactuator, 2); -1: it never sleeps."""
    found = [_pair(m, _actuator(m, i)) for i in range(m.nactuator)]
    return np.array(found, dtype=np.int32).reshape(-1, 2)
