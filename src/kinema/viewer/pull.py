"""Pulling a body with the mouse: a spring, critically damped, from the grabbed point to the pointer.

    f = k m (target - p) - sqrt(k) m v            p, v: the grabbed point and its velocity
    t = (p - c) x f - sqrt(kr) I n (n . w)        about the centre of mass c; n along the spring, w the body's turning

as MuJoCo's viewer does it (mjv_applyPerturbForce): k and kr are `<visual><map stiffness stiffnessrot>`, m and I the
inverse of the body's body_invweight0, the mass and inertia that are felt at it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Grip:
    """A body that is being pulled.

    Attributes:
        world, body: Which.
        local: The grabbed point in the body's frame [m].
        target: Where it is pulled to, in its world [m].
    """

    world: int
    body: int
    local: np.ndarray
    target: np.ndarray


def grip_at(world: int, body: int, point: np.ndarray, xpos: np.ndarray, xmat: np.ndarray) -> Grip:
    """Take hold of a body at a point of its world."""
    local = np.asarray(xmat, dtype=float).reshape(3, 3).T @ (np.asarray(point, dtype=float) - xpos)
    return Grip(world, body, local, np.asarray(point, dtype=float))


def grabbed_point(grip: Grip, xpos: np.ndarray, xmat: np.ndarray) -> np.ndarray:
    """Where the grabbed point is now (3,)."""
    return np.asarray(xpos, dtype=float) + np.asarray(xmat, dtype=float).reshape(3, 3) @ grip.local


def pull_force(m, grip: Grip, pose: dict[str, np.ndarray]) -> np.ndarray:
    """Force and torque (6,) on the pulled body, as xfrc_applied takes them.

    Args:
        m: The model.
        grip: What is pulled, and to where.
        pose: Of the body in its world: xpos, xmat, xipos, cvel; and subtree_com of its root.
    """
    weight = np.asarray(m.body_invweight0[grip.body], dtype=float)
    if weight[0] <= 0:
        return np.zeros(6)
    mass, inertia = 1 / weight[0], 1 / max(weight[1], 1e-12)
    stiffness, turning = float(m.vis.map.stiffness), float(m.vis.map.stiffnessrot)
    point = grabbed_point(grip, pose["xpos"], pose["xmat"])
    spin, slide = np.asarray(pose["cvel"][:3], dtype=float), np.asarray(pose["cvel"][3:], dtype=float)
    velocity = slide + np.cross(spin, point - pose["subtree_com"])
    away = point - grip.target
    force = -stiffness * mass * away - np.sqrt(stiffness) * mass * velocity
    torque = np.cross(point - pose["xipos"], force)
    distance = np.linalg.norm(away)
    if distance > 0:
        axis = away / distance
        torque -= np.sqrt(turning) * inertia * axis * (axis @ spin)
    return np.concatenate([force, torque])
