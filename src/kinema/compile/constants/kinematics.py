"""Forward kinematics on the host: where every body, joint, geom and site is at a configuration.

    body      x = x_parent + R_parent p,   q = q_parent q_body, then each joint in turn:
    slide     x += a (θ - θ0)              hinge, ball   q ← q q_joint, x ← anchor - R p_joint
    free      x, q = qpos
    centre    c_b = Σ m x_i / Σ m over the subtree of b
    dof       spatial axis (ω, v) with v taken at the centre of mass c of the body's tree:
              slide (0, a), hinge (a, a × (c - anchor))

Arrays have a leading axis W over configurations, or over worlds: masses and inertias may differ along it. Velocity axes
of free and ball joints are the body's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.tree import Tree
from kinema.mujoco_enums import MINVAL, Joint

Array = np.ndarray


MANY = 1 << 18
"""Entries of Jacobian rows from which on only those that are not zero are computed."""


@dataclass
class Pose:
    """Everything position dependent, under mjData's names (W first)."""

    qpos: Array
    xpos: Array
    xquat: Array
    xmat: Array
    xipos: Array
    xanchor: Array
    xaxis: Array
    geom_xpos: Array
    geom_xmat: Array
    site_xpos: Array
    site_xmat: Array
    subtree_com: Array
    cdof: Array


def forward_kinematics(m, tree: Tree, qpos: Array) -> Pose:
    """Poses at configurations qpos (W, nq)."""
    qpos = np.atleast_2d(np.asarray(qpos, dtype=float))
    worlds = len(qpos)
    xpos, xquat = np.zeros((worlds, m.nbody, 3)), np.zeros((worlds, m.nbody, 4))
    xquat[..., 0] = 1.0
    xanchor, xaxis = np.zeros((worlds, m.njnt, 3)), np.zeros((worlds, m.njnt, 3))
    jnt_type, jnt_pos, jnt_axis = np.asarray(m.jnt_type), np.asarray(m.jnt_pos), np.asarray(m.jnt_axis)
    qadr, qpos0, parent = np.asarray(m.jnt_qposadr), np.asarray(m.qpos0), np.asarray(m.body_parentid)
    body_pos, body_quat = np.asarray(m.body_pos), np.asarray(m.body_quat)

    for bodies, places in zip(tree.levels, tree.joints, strict=True):
        up = parent[bodies]
        xpos[:, bodies] = xpos[:, up] + quat.rotate(xquat[:, up], body_pos[bodies])
        xquat[:, bodies] = quat.multiply(xquat[:, up], body_quat[bodies])
        for owners, joints in places:
            kind = jnt_type[joints]
            free = kind == Joint.FREE
            if free.any():
                b, adr = owners[free], qadr[joints[free]]
                xpos[:, b] = qpos[:, adr[:, None] + np.arange(3)]
                xquat[:, b] = quat.normalize(qpos[:, adr[:, None] + np.arange(3, 7)])
                xanchor[:, joints[free]], xaxis[:, joints[free]] = xpos[:, b], jnt_axis[joints[free]]
                if free.all():
                    continue
                owners, joints, kind = owners[~free], joints[~free], kind[~free]
            anchor = xpos[:, owners] + quat.rotate(xquat[:, owners], jnt_pos[joints])
            axis = quat.rotate(xquat[:, owners], jnt_axis[joints])
            xanchor[:, joints], xaxis[:, joints] = anchor, axis
            slide = kind == Joint.SLIDE
            if slide.any():
                adr = qadr[joints[slide]]
                xpos[:, owners[slide]] += axis[:, slide] * (qpos[:, adr] - qpos0[adr])[..., None]
            turn = ~slide
            if turn.any():
                b, j = owners[turn], joints[turn]
                adr = qadr[j]
                local = quat.of_axis_angle(jnt_axis[j], qpos[:, adr] - qpos0[adr])
                ball = jnt_type[j] == Joint.BALL
                if ball.any():
                    local[:, ball] = quat.normalize(qpos[:, adr[ball][:, None] + np.arange(4)])
                xquat[:, b] = quat.multiply(xquat[:, b], local)
                xpos[:, b] = anchor[:, turn] - quat.rotate(xquat[:, b], jnt_pos[j])
        xquat[:, bodies] = quat.normalize(xquat[:, bodies])

    xmat = quat.matrix(xquat)
    xipos = xpos + _turn(xmat, np.asarray(m.body_ipos))
    geom_xpos, geom_xmat = attached(xpos, xquat, xmat, m.geom_bodyid, m.geom_pos, m.geom_quat)
    site_xpos, site_xmat = attached(xpos, xquat, xmat, m.site_bodyid, m.site_pos, m.site_quat)
    com = _centres_of_mass(m, tree, xipos)
    cdof = _dof_axes(m, xmat, xanchor, xaxis, com)
    return Pose(
        qpos, xpos, xquat, xmat, xipos, xanchor, xaxis, geom_xpos, geom_xmat, site_xpos, site_xmat, com, cdof
    )


def attached(xpos: Array, xquat: Array, xmat: Array, bodyid, pos, quaternion) -> tuple[Array, Array]:
    """World positions and matrices of frames fixed to bodies."""
    bodyid = np.asarray(bodyid)
    position = xpos[:, bodyid] + _turn(xmat[:, bodyid], np.asarray(pos, dtype=float))
    return position, quat.matrix(quat.multiply(xquat[:, bodyid], np.asarray(quaternion, dtype=float)))


def _turn(rotation: Array, vector: Array) -> Array:
    return (rotation @ vector[..., None])[..., 0]


def _centres_of_mass(m, tree: Tree, xipos: Array) -> Array:
    mass = np.atleast_2d(np.asarray(m.body_mass))
    total = tree.sum_up(mass)
    moment = tree.sum_up(mass[..., None] * xipos)
    light = total < MINVAL
    com = moment / np.where(light, 1.0, total)[..., None]
    return np.where(light[..., None], xipos, com)


def _dof_axes(m, xmat: Array, xanchor: Array, xaxis: Array, com: Array) -> Array:
    joint, body = np.asarray(m.dof_jntid), np.asarray(m.dof_bodyid)
    kind = np.asarray(m.jnt_type)[joint]
    offset = np.arange(m.nv) - np.asarray(m.jnt_dofadr)[joint]
    cdof = np.zeros((len(xmat), m.nv, 6))
    if not m.nv:
        return cdof
    axis = xaxis[:, joint]
    # the rotations of free and ball joints are about the body's own axes: columns of its matrix
    column = np.where(kind == Joint.FREE, offset - 3, offset)
    own = ((kind == Joint.FREE) & (offset >= 3)) | (kind == Joint.BALL)
    axis[:, own] = xmat[:, body[own], :, column[own]].swapaxes(0, 1)
    shift = (kind == Joint.FREE) & (offset < 3)
    axis[:, shift] = np.eye(3)[offset[shift]]
    slides = shift | (kind == Joint.SLIDE)
    turns = ~slides
    cdof[:, slides, 3:] = axis[:, slides]
    root = np.asarray(m.body_rootid)[body[turns]]
    cdof[:, turns, :3] = axis[:, turns]
    cdof[:, turns, 3:] = quat.cross(axis[:, turns], com[:, root] - xanchor[:, joint[turns]])
    return cdof


def wrench_rows(
    m, pose: Pose, tree: Tree, body: Array, point: Array, force: Array, torque: Array | None = None
) -> Array:
    """Rows Jᵀ(force at point, torque) of points fixed to bodies (P,): (W, P, nv), for point and force (W, P, 3)."""
    lever = point - pose.subtree_com[:, np.asarray(m.body_rootid)[body]]
    moment = quat.cross(lever, force)
    if torque is not None:
        moment = moment + torque
    wrench = np.concatenate((moment, force), axis=-1)
    moves = tree.moves[body]
    if moves.size < MANY:
        return (wrench @ pose.cdof.swapaxes(1, 2)) * moves
    rows, (r, d) = np.zeros((len(wrench), *moves.shape)), np.nonzero(moves)  # few of many dofs move a body
    rows[:, r, d] = np.sum(wrench[:, r] * pose.cdof[:, d], axis=-1)
    return rows
