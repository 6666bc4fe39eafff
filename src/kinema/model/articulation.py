"""Kinematics of articulations over the core arrays: from joint coordinates to bodies, and back.

    x_c   = x_p X_p X_j(q) X_c^-1           X_p, X_c: the joint's frames in its parent and its child
    D6    slides first, then turns one after the other, each about its axis as the ones before have turned it:
          R = R(a_0, q_0) R(a_1, q_1) R(a_2, q_2),   w = sum of (R(a_0, q_0) .. R(a_{k-1}, q_{k-1}) a_k) qd_k
    body  (velocity of its centre of mass, angular velocity), in the world's frame

    eval_fk(model, joint_q, joint_qd, state)     fills state.body_q and state.body_qd
    eval_ik(model, state, joint_q, joint_qd)     fills the coordinates

A solver writes bodies itself; these are for whoever sets coordinates or poses by hand. Changed frames and axes are seen
at once. Of a document's body with several joints whose anchors differ, the core arrays hold the first anchor only:
there the solver's own poses are right.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..dialect import mend
from ..errors import BuildError
from .enums import BodyFlags, JointType
from .model import Model

mend()


@wp.struct
class Joints:
    """The model's joints."""

    kind: wp.array(dtype=int)
    parent: wp.array(dtype=int)
    child: wp.array(dtype=int)
    ancestor: wp.array(dtype=int)
    articulation: wp.array(dtype=int)
    q_start: wp.array(dtype=int)
    qd_start: wp.array(dtype=int)
    frame_p: wp.array(dtype=wp.transform)
    frame_c: wp.array(dtype=wp.transform)
    axis: wp.array(dtype=wp.vec3)
    dof_dim: wp.array2d(dtype=int)
    com: wp.array(dtype=wp.vec3)
    flags: wp.array(dtype=int)


COLUMNS = {
    "kind": "joint_type", "parent": "joint_parent", "child": "joint_child", "ancestor": "joint_ancestor",
    "articulation": "joint_articulation", "q_start": "joint_q_start", "qd_start": "joint_qd_start",
    "frame_p": "joint_X_p", "frame_c": "joint_X_c", "axis": "joint_axis", "dof_dim": "joint_dof_dim",
    "com": "body_com", "flags": "body_flags",
}  # fmt: skip
"""Where the columns of `Joints` are on a model."""


def joints_of(model: Model) -> Joints:
    """The joints of a model, as its arrays are now."""
    found = Joints()
    for name, key in COLUMNS.items():
        setattr(found, name, getattr(model, key))
    return found


@wp.func
def is_free(kind: int) -> bool:
    """Whether a joint leaves its child free."""
    return kind == wp.static(int(JointType.FREE)) or kind == wp.static(int(JointType.DISTANCE))


@wp.func
def read3(x: wp.array(dtype=float), i: int) -> wp.vec3:
    return wp.vec3(x[i], x[i + 1], x[i + 2])


@wp.func
def read4(x: wp.array(dtype=float), i: int) -> wp.quat:
    return wp.quat(x[i], x[i + 1], x[i + 2], x[i + 3])


@wp.func
def write3(x: wp.array(dtype=float), i: int, v: wp.vec3):
    for k in range(3):
        x[i + k] = v[k]


@wp.func
def write4(x: wp.array(dtype=float), i: int, q: wp.quat):
    for k in range(4):
        x[i + k] = q[k]


@wp.func
def velocity_of(qd: wp.spatial_vector, x: wp.transform, com: wp.vec3, point: wp.vec3) -> wp.vec3:
    """Velocity of a point that moves with a body."""
    return wp.spatial_top(qd) + wp.cross(wp.spatial_bottom(qd), point - wp.transform_point(x, com))


@wp.func
def joint_pose(joints: Joints, j: int, joint_q: wp.array(dtype=float)) -> wp.transform:
    """X_j: the child's frame in the parent's."""
    kind = joints.kind[j]
    i = joints.q_start[j]
    d = joints.qd_start[j]
    pos = wp.vec3()
    turn = wp.quat_identity()
    if is_free(kind):
        pos = read3(joint_q, i)
        turn = read4(joint_q, i + 3)
    elif kind == wp.static(int(JointType.BALL)):
        turn = read4(joint_q, i)
    else:
        linear = joints.dof_dim[j, 0]
        for k in range(linear):
            pos += joints.axis[d + k] * joint_q[i + k]
        for k in range(linear, linear + joints.dof_dim[j, 1]):
            turn = turn * wp.quat_from_axis_angle(joints.axis[d + k], joint_q[i + k])
    return wp.transform(pos, turn)


@wp.func
def turned_axis(joints: Joints, j: int, k: int, joint_q: wp.array(dtype=float)) -> wp.vec3:
    """The axis of turn k of a joint in the parent's frame, as the turns before it have left it."""
    first = joints.dof_dim[j, 0]
    turn = wp.quat_identity()
    for before in range(first, k):
        angle = joint_q[joints.q_start[j] + before]
        turn = turn * wp.quat_from_axis_angle(joints.axis[joints.qd_start[j] + before], angle)
    return wp.quat_rotate(turn, joints.axis[joints.qd_start[j] + k])


@wp.func
def joint_velocity(
    joints: Joints, j: int, joint_q: wp.array(dtype=float), joint_qd: wp.array(dtype=float)
) -> wp.spatial_vector:
    """(linear, angular) velocity of a joint in the parent's frame; of a free joint that of the centre of mass."""
    kind = joints.kind[j]
    d = joints.qd_start[j]
    v = wp.vec3()
    omega = wp.vec3()
    if is_free(kind):
        v = read3(joint_qd, d)
        omega = read3(joint_qd, d + 3)
    elif kind == wp.static(int(JointType.BALL)):
        omega = read3(joint_qd, d)
    else:
        linear = joints.dof_dim[j, 0]
        for k in range(linear):
            v += joints.axis[d + k] * joint_qd[d + k]
        for k in range(linear, linear + joints.dof_dim[j, 1]):
            omega += turned_axis(joints, j, k, joint_q) * joint_qd[d + k]
    return wp.spatial_vector(v, omega)


@wp.func
def chosen(articulation: int, count: int, mask: wp.array(dtype=wp.bool)) -> bool:
    """Whether an articulation is there and asked for."""
    if articulation < 0 or articulation >= count:
        return False
    if mask:
        return mask[articulation]
    return True


@wp.kernel(enable_backward=False)
def forward_kinematics(
    joints: Joints,
    start: wp.array(dtype=int),
    end: wp.array(dtype=int),
    mask: wp.array(dtype=wp.bool),
    indices: wp.array(dtype=int),
    joint_q: wp.array(dtype=float),
    joint_qd: wp.array(dtype=float),
    wanted: int,
    body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
):
    """Bodies of one articulation, parents first."""
    a = wp.tid()
    if indices:
        a = indices[a]
    if not chosen(a, end.shape[0], mask):
        return
    for j in range(start[a], end[a]):
        kind = joints.kind[j]
        child = joints.child[j]
        skipped = joints.articulation[j] < 0 or kind == wp.static(int(JointType.ROD))
        if not skipped and (joints.flags[child] & wanted) != 0:
            parent = joints.parent[j]
            anchor = joints.frame_p[j]
            if parent >= 0:
                anchor = body_q[parent] * anchor
            moved = anchor * joint_pose(joints, j, joint_q)
            x = moved * wp.transform_inverse(joints.frame_c[j])
            centre = wp.transform_point(x, joints.com[child])
            local = joint_velocity(joints, j, joint_q, joint_qd)
            v = wp.transform_vector(anchor, wp.spatial_top(local))
            omega = wp.transform_vector(anchor, wp.spatial_bottom(local))
            if not is_free(kind):
                v += wp.cross(omega, centre - wp.transform_get_translation(moved))
            if parent >= 0:
                v += velocity_of(body_qd[parent], body_q[parent], joints.com[parent], centre)
                omega += wp.spatial_bottom(body_qd[parent])
            body_q[child] = x
            body_qd[child] = wp.spatial_vector(v, omega)


@wp.func
def three_angles(turn: wp.quat, a0: wp.vec3, a1: wp.vec3, a2: wp.vec3) -> wp.vec3:
    """Angles about three axes at right angles, one after the other, that make up a rotation."""
    third = wp.cross(a0, a1)
    x = wp.quat_rotate(turn, a0)
    y = wp.quat_rotate(turn, a1)
    z = wp.quat_rotate(turn, third)
    side = wp.where(wp.dot(third, a2) < 0.0, -1.0, 1.0)
    first = wp.atan2(-wp.dot(a1, z), wp.dot(third, z))
    second = wp.asin(wp.clamp(wp.dot(a0, z), -1.0, 1.0))
    return wp.vec3(first, second, side * wp.atan2(-wp.dot(a0, y), wp.dot(a0, x)))


@wp.func
def angles_of(joints: Joints, j: int, turn: wp.quat, joint_q: wp.array(dtype=float)):
    """Coordinates of a joint's turns from the rotation they make."""
    first = joints.dof_dim[j, 0]
    count = joints.dof_dim[j, 1]
    i = joints.q_start[j] + first
    d = joints.qd_start[j] + first
    if count == 1:
        joint_q[i] = wp.quat_twist_angle_signed(joints.axis[d], turn)
    elif count > 1:
        a2 = wp.cross(joints.axis[d], joints.axis[d + 1])
        if count > 2:
            a2 = joints.axis[d + 2]
        angles = three_angles(turn, joints.axis[d], joints.axis[d + 1], a2)
        for k in range(count):
            joint_q[i + k] = angles[k]


@wp.func
def rates_of(
    joints: Joints, j: int, omega: wp.vec3, joint_q: wp.array(dtype=float), joint_qd: wp.array(dtype=float)
):
    """Velocities of a joint's turns from the angular velocity they make, in the parent's frame."""
    first = joints.dof_dim[j, 0]
    count = joints.dof_dim[j, 1]
    d = joints.qd_start[j]
    if count == 1:
        joint_qd[d + first] = wp.dot(omega, joints.axis[d + first])
    elif count > 1:
        a0 = joints.axis[d + first]
        a1 = turned_axis(joints, j, first + 1, joint_q)
        a2 = wp.cross(a0, a1)
        if count > 2:
            a2 = turned_axis(joints, j, first + 2, joint_q)
        volume = wp.dot(a0, wp.cross(a1, a2))
        joint_qd[d + first] = wp.dot(omega, wp.cross(a1, a2)) / volume
        joint_qd[d + first + 1] = wp.dot(omega, wp.cross(a2, a0)) / volume
        if count > 2:
            joint_qd[d + first + 2] = wp.dot(omega, wp.cross(a0, a1)) / volume


@wp.kernel(enable_backward=False)
def inverse_kinematics(
    joints: Joints,
    start: wp.array(dtype=int),
    end: wp.array(dtype=int),
    mask: wp.array(dtype=wp.bool),
    indices: wp.array(dtype=int),
    body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
    wanted: int,
    joint_q: wp.array(dtype=float),
    joint_qd: wp.array(dtype=float),
):
    """Coordinates of one joint of one articulation."""
    a, offset = wp.tid()
    if indices:
        a = indices[a]
    if not chosen(a, end.shape[0], mask):
        return
    j = start[a] + offset
    if j >= end[a]:
        return
    child = joints.child[j]
    if (joints.flags[child] & wanted) == 0:
        return
    kind = joints.kind[j]
    parent = joints.parent[j]
    anchor = joints.frame_p[j]
    if parent >= 0:
        anchor = body_q[parent] * anchor
    x = body_q[child]
    held = x * joints.frame_c[j]
    place = wp.transform_inverse(anchor) * held
    point = wp.transform_get_translation(held)
    if is_free(kind):
        point = wp.transform_point(x, joints.com[child])
    v = velocity_of(body_qd[child], x, joints.com[child], point)
    omega = wp.spatial_bottom(body_qd[child])
    if parent >= 0:
        v -= velocity_of(body_qd[parent], body_q[parent], joints.com[parent], point)
        omega -= wp.spatial_bottom(body_qd[parent])
    v = wp.quat_rotate_inv(wp.transform_get_rotation(anchor), v)
    omega = wp.quat_rotate_inv(wp.transform_get_rotation(anchor), omega)
    i = joints.q_start[j]
    d = joints.qd_start[j]
    if is_free(kind):
        write3(joint_q, i, wp.transform_get_translation(place))
        write4(joint_q, i + 3, wp.transform_get_rotation(place))
        write3(joint_qd, d, v)
        write3(joint_qd, d + 3, omega)
    elif kind == wp.static(int(JointType.BALL)):
        write4(joint_q, i, wp.transform_get_rotation(place))
        write3(joint_qd, d, omega)
    else:
        for k in range(joints.dof_dim[j, 0]):
            joint_q[i + k] = wp.dot(wp.transform_get_translation(place), joints.axis[d + k])
            joint_qd[d + k] = wp.dot(v, joints.axis[d + k])
        angles_of(joints, j, wp.transform_get_rotation(place), joint_q)
        rates_of(joints, j, omega, joint_q, joint_qd)


def eval_fk(
    model: Model, joint_q: wp.array, joint_qd: wp.array, state: Any, mask: wp.array | None = None,
    indices: wp.array | None = None, body_flag_filter: int = BodyFlags.ALL,
) -> None:  # fmt: skip
    """Put bodies where joint coordinates say.

    Args:
        model: The model.
        joint_q: Coordinates, shape (joint_coord_count,).
        joint_qd: Velocities, shape (joint_dof_count,).
        state: Holds `body_q` and `body_qd`, which are written: a State, or the model itself.
        mask: Which articulations, shape (articulation_count,); None: all.
        indices: Which articulations, by index, instead of a mask.
        body_flag_filter: Kinds of bodies that are written (`BodyFlags`).
    """
    count = _how_many(model, mask, indices)
    inputs = [joints_of(model), model.articulation_start, model.articulation_end, mask, indices, joint_q, joint_qd]
    outputs = [int(body_flag_filter), state.body_q, state.body_qd]
    if count:
        wp.launch(forward_kinematics, count, inputs + outputs, device=model.device)


def eval_ik(
    model: Model, state: Any, joint_q: wp.array, joint_qd: wp.array, mask: wp.array | None = None,
    indices: wp.array | None = None, body_flag_filter: int = BodyFlags.ALL,
) -> None:  # fmt: skip
    """Find the joint coordinates at which bodies are where a state has them.

    Args:
        model: The model.
        state: Holds `body_q` and `body_qd`.
        joint_q: Coordinates to write, shape (joint_coord_count,).
        joint_qd: Velocities to write, shape (joint_dof_count,).
        mask: Which articulations, shape (articulation_count,); None: all.
        indices: Which articulations, by index, instead of a mask.
        body_flag_filter: Kinds of children whose joints are written (`BodyFlags`).
    """
    count = _how_many(model, mask, indices)
    inputs = [joints_of(model), model.articulation_start, model.articulation_end, mask, indices]
    inputs += [state.body_q, state.body_qd, int(body_flag_filter), joint_q, joint_qd]
    if count:
        wp.launch(inverse_kinematics, (count, model.max_joints_per_articulation), inputs, device=model.device)


def _how_many(model: Model, mask: wp.array | None, indices: wp.array | None) -> int:
    if mask is not None and indices is not None:
        raise BuildError("mask and indices say the same thing twice: give one of them")
    if mask is not None and mask.shape != (model.articulation_count,):
        raise BuildError(f"mask has shape {mask.shape} for {model.articulation_count} articulations")
    return model.articulation_count if indices is None else len(indices)
