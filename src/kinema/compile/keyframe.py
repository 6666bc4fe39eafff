"""<keyframe>: saved states. A vector shorter than the model's is completed with the reference configuration."""

from __future__ import annotations

import numpy as np

from kinema.compile.constants import quaternion
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.mujoco_enums import Joint

WHOLE = {"mpos": 3, "mquat": 4}
"""Vectors that are completed body by body: what is left of the last, incomplete body is dropped."""


def compile_keyframe(c: Compilation) -> None:
    """Fill the key arrays; needs qpos0, mocap bodies, actuators, and the constants (for plastic states)."""
    keys = c.elements["key"]
    a = c.arrays
    a["key_time"] = np.array([e.number("time", 0.0) for e in keys], dtype=np.float64)
    for name, reference in _references(c).items():
        rows = [_complete(e, name, reference) for e in keys]
        a[f"key_{name}"] = np.array(rows, dtype=np.float64).reshape(len(keys), len(reference))
    _normalize(c)


def _references(c: Compilation) -> dict[str, np.ndarray]:
    a = c.arrays
    mocap = np.flatnonzero(np.asarray(a["body_mocapid"]) >= 0)
    mocap = mocap[np.argsort(np.asarray(a["body_mocapid"])[mocap])]
    return {
        "qpos": np.asarray(a["qpos0"], dtype=np.float64),
        "qvel": np.zeros(c.size("nv")),
        "act": np.zeros(c.size("na")),
        "mpos": np.asarray(a["body_pos"])[mocap].ravel(),
        "mquat": np.asarray(a["body_quat"])[mocap].ravel(),
        "ctrl": np.zeros(c.size("nu")),
        "plastic": _plastic(c),
    }


def _plastic(c: Compilation) -> np.ndarray:
    """Plastic state at rest: spring references of joints, spring lengths of tendons."""
    a = c.arrays
    rest = np.zeros(c.sizes.get("nplastic", 0))
    for joint in np.flatnonzero(np.asarray(a["jnt_plasticadr"]) >= 0):
        adr, qadr = a["jnt_plasticadr"][joint], a["jnt_qposadr"][joint]
        width = 4 if a["jnt_type"][joint] == Joint.BALL else 1
        rest[adr : adr + width] = a["qpos_spring"][qadr : qadr + width]
    for tendon in np.flatnonzero(np.asarray(a["tendon_plasticadr"]) >= 0):
        adr = a["tendon_plasticadr"][tendon]
        rest[adr : adr + 2] = a["tendon_lengthspring"][tendon]
    return rest


def _complete(e: Element, name: str, reference: np.ndarray) -> np.ndarray:
    given = e.vector(name, ())
    if len(given) > len(reference):
        raise e.error(f"invalid {name} size: expected {len(reference)}, got {len(given)}", name)
    width = WHOLE.get(name, 1)
    kept = len(given) - len(given) % width
    return np.concatenate((given[:kept], reference[kept:]))


def _normalize(c: Compilation) -> None:
    a = c.arrays
    for joint in np.flatnonzero(np.asarray(a["jnt_type"]) <= Joint.BALL):
        adr = int(a["jnt_qposadr"][joint]) + (3 if a["jnt_type"][joint] == Joint.FREE else 0)
        a["key_qpos"][:, adr : adr + 4] = quaternion.normalize(a["key_qpos"][:, adr : adr + 4])
        if a["jnt_plasticadr"][joint] >= 0:
            adr = int(a["jnt_plasticadr"][joint])
            a["key_plastic"][:, adr : adr + 4] = quaternion.normalize(a["key_plastic"][:, adr : adr + 4])
    for adr in range(0, a["key_mquat"].shape[1], 4):
        a["key_mquat"][:, adr : adr + 4] = quaternion.normalize(a["key_mquat"][:, adr : adr + 4])
