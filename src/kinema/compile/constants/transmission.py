"""Lengths and moment rows of actuators at a pose, one row an output (three for an orientation actuator).

    joint       hinge, slide  ℓ = g q, row g;  ball  ℓ = g·expmap(q), row g;  free  ℓ = 0, row g (6)
    inparent    as above with the rotational gear turned by q⁻¹
    tendon      ℓ = g L, row g J
    site        ℓ = 0, row Jᵀ(R g);  with a reference site  ℓ = g·R_rᵀ(x - x_r) + g·(q ⊖ q_r), row (J - J_r)ᵀ R_r g
    crank       v = x_crank - x_slider, a = slider axis:  ℓ = g (a·v - √((a·v)² + rod² - v·v))
    orientation ℓ = expmap of the relative rotation, rows along the site's axes
    body        no contact without a collision pass: ℓ = 0, row 0
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import Pose, wrench_rows
from kinema.compile.constants.tree import Tree
from kinema.mujoco_enums import Joint, Transmission

Array = np.ndarray


def transmissions(m, tree: Tree, pose: Pose, ten_length: Array, ten_rows: Array) -> tuple[Array, Array]:
    """actuator_length (W, nout) and moment rows (W, nout, nv)."""
    worlds = len(pose.xpos)
    length, rows = np.zeros((worlds, m.nout)), np.zeros((worlds, m.nout, m.nv))
    if not m.nactuator:
        return length, rows
    kind, target, out = np.asarray(m.actuator_trntype), np.asarray(m.actuator_trnid), np.asarray(m.actuator_outadr)
    gear = np.asarray(m.actuator_gear)

    on_joint = (kind == Transmission.JOINT) | (kind == Transmission.JOINTINPARENT)
    jnt_type = np.asarray(m.jnt_type)
    scalar = on_joint.copy()
    scalar[on_joint] = jnt_type[target[on_joint, 0]] >= Joint.SLIDE
    joint, o = target[scalar, 0], out[scalar]
    length[:, o] = pose.qpos[:, np.asarray(m.jnt_qposadr)[joint]] * gear[o, 0]
    rows[:, o, np.asarray(m.jnt_dofadr)[joint]] = gear[o, 0]

    on_tendon = kind == Transmission.TENDON
    tendon, o = target[on_tendon, 0], out[on_tendon]
    length[:, o] = ten_length[:, tendon] * gear[o, 0]
    rows[:, o] = ten_rows[:, tendon] * gear[o, :1]

    for i in np.flatnonzero(on_joint & ~scalar):
        length[:, out[i]], rows[:, out[i]] = _ball_or_free(m, pose, target[i, 0], gear[out[i]], kind[i])
    for i in np.flatnonzero(kind == Transmission.SITE):
        length[:, out[i]], rows[:, out[i]] = _site(m, tree, pose, target[i, 0], target[i, 1], gear[out[i]])
    for i in np.flatnonzero(kind == Transmission.SLIDERCRANK):
        rod = m.actuator_cranklength[i]
        crank, slider = target[i]
        length[:, out[i]], rows[:, out[i]] = _slider_crank(m, tree, pose, crank, slider, rod, gear[out[i], 0])
    for i in np.flatnonzero(kind == Transmission.SO3):
        block = slice(out[i], out[i] + 3)
        length[:, block], rows[:, block] = _orientation(m, tree, pose, *target[i])
    return length, rows


def _ball_or_free(m, pose: Pose, joint: int, gear: Array, kind: int) -> tuple[Array, Array]:
    rows = np.zeros((len(pose.xpos), m.nv))
    adr, dof = int(m.jnt_qposadr[joint]), int(m.jnt_dofadr[joint])
    ball = m.jnt_type[joint] == Joint.BALL
    q = quat.normalize(pose.qpos[:, adr : adr + 4] if ball else pose.qpos[:, adr + 3 : adr + 7])
    axis = np.broadcast_to(gear[:3] if ball else gear[3:], (len(q), 3))
    if kind == Transmission.JOINTINPARENT:
        axis = quat.rotate(quat.conjugate(q), axis)
    if ball:
        rows[:, dof : dof + 3] = axis
        return np.sum(quat.rotation_vector(q) * axis, axis=-1), rows
    rows[:, dof : dof + 3], rows[:, dof + 3 : dof + 6] = gear[:3], axis
    return np.zeros(len(q)), rows


def _site_rows(m, tree: Tree, pose: Pose, site: int, force: Array, torque: Array) -> Array:
    body = np.asarray(m.site_bodyid)[[site]]
    point = pose.site_xpos[:, [site]]
    return wrench_rows(m, pose, tree, body, point, force[:, None], torque[:, None])[:, 0]


def site_quat(m, pose: Pose, site: int) -> Array:
    return quat.multiply(pose.xquat[:, m.site_bodyid[site]], np.asarray(m.site_quat)[site])


def _common_dofs(m, tree: Tree, site: int, other: int) -> Array:
    return tree.moves[m.site_bodyid[site]] & tree.moves[m.site_bodyid[other]]


def _site(m, tree: Tree, pose: Pose, site: int, reference: int, gear: Array) -> tuple[Array, Array]:
    worlds = len(pose.xpos)
    frame = pose.site_xmat[:, site if reference < 0 else reference]
    force, torque = frame @ gear[:3], frame @ gear[3:]
    rows = _site_rows(m, tree, pose, site, force, torque)
    if reference < 0:
        return np.zeros(worlds), rows
    rows = rows - _site_rows(m, tree, pose, reference, force, torque)
    rows[:, _common_dofs(m, tree, site, reference)] = 0.0
    length = np.zeros(worlds)
    if gear[:3].any():
        length += np.sum((pose.site_xpos[:, site] - pose.site_xpos[:, reference]) * force, axis=-1)
    if gear[3:].any():
        between = quat.multiply(quat.conjugate(site_quat(m, pose, reference)), site_quat(m, pose, site))
        length += quat.rotation_vector(between) @ gear[3:]
    return length, rows


def _slider_crank(m, tree: Tree, pose: Pose, crank: int, slider: int, rod: float, gear: float) -> tuple[Array, Array]:
    v = pose.site_xpos[:, crank] - pose.site_xpos[:, slider]
    a = pose.site_xmat[:, slider, :, 2]
    av = np.sum(a * v, axis=-1)
    det = av**2 + rod**2 - np.sum(v * v, axis=-1)
    reach = det > 0
    root = np.sqrt(np.where(reach, det, 1.0))
    factor = np.where(reach, 1 - av / root, 1.0)[:, None]
    along = factor * a + np.where(reach, 1 / root, 0.0)[:, None] * v  # dℓ/dv
    turning = factor * v  # dℓ/da
    length = av - np.where(reach, root, 0.0)
    none = np.zeros_like(a)
    rows = _site_rows(m, tree, pose, crank, along, none)
    # the axis turns with the slider's body: da = ω × a, so its share is the torque a × dℓ/da
    rows = rows - _site_rows(m, tree, pose, slider, along, -quat.cross(a, turning))
    return gear * length, gear * rows


def _orientation(m, tree: Tree, pose: Pose, target: int, reference: int) -> tuple[Array, Array]:
    rows = np.zeros((len(pose.xpos), 3, m.nv))
    if reference < 0:
        adr, dof = int(m.jnt_qposadr[target]), int(m.jnt_dofadr[target])
        rows[:, range(3), range(dof, dof + 3)] = 1.0
        return quat.rotation_vector(quat.normalize(pose.qpos[:, adr : adr + 4])), rows
    between = quat.multiply(quat.conjugate(site_quat(m, pose, reference)), site_quat(m, pose, target))
    common = _common_dofs(m, tree, target, reference)
    for k in range(3):
        axis = pose.site_xmat[:, target, :, k]
        none = np.zeros_like(axis)
        rows[:, k] = _site_rows(m, tree, pose, target, none, axis) - _site_rows(m, tree, pose, reference, none, axis)
        rows[:, k, common] = 0.0
    return quat.rotation_vector(between), rows
