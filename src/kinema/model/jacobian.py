"""Jacobians and mass matrices of articulations, over the core arrays.

    J_l   6 rows a link: J_l qd = (velocity of the link's centre of mass, angular velocity), in the world's frame
    H     = sum over links of J_l^T diag(m, m, m, R I R^T) J_l; armature is not in it

    eval_jacobian(model, state)       (articulations, 6 * most joints, most dofs)
    eval_mass_matrix(model, state)    (articulations, most dofs, most dofs)

Both read `state.body_q` and `state.joint_q`, which must agree (`eval_fk`, or a solver's step).
"""

from __future__ import annotations

from typing import Any

import warp as wp

from ..errors import BuildError
from .articulation import Joints, chosen, is_free, joints_of, turned_axis
from .enums import JointType
from .model import Model
from .state import State


@wp.func
def about_origin(axis: wp.vec3, point: wp.vec3) -> wp.spatial_vector:
    """Turning about an axis through a point: (velocity of what is at the origin, angular velocity)."""
    return wp.spatial_vector(wp.cross(point, axis), axis)


@wp.kernel(enable_backward=False)
def motion_axes(
    joints: Joints,
    joint_q: wp.array(dtype=float),
    body_q: wp.array(dtype=wp.transform),
    axes: wp.array(dtype=wp.spatial_vector),
):
    """How each dof of a joint moves what follows it, as a spatial vector about the world's origin."""
    j = wp.tid()
    kind = joints.kind[j]
    parent = joints.parent[j]
    child = joints.child[j]
    d = joints.qd_start[j]
    anchor = joints.frame_p[j]
    if parent >= 0:
        anchor = body_q[parent] * anchor
    at = wp.transform_get_translation(anchor)
    if is_free(kind) or kind == wp.static(int(JointType.BALL)):
        if is_free(kind):
            at = wp.transform_point(body_q[child], joints.com[child])
        for k in range(3):
            axis = wp.vec3()
            axis[k] = 1.0
            axis = wp.transform_vector(anchor, axis)
            if is_free(kind):
                axes[d + k] = wp.spatial_vector(axis, wp.vec3())
                axes[d + 3 + k] = about_origin(axis, at)
            else:
                axes[d + k] = about_origin(axis, at)
    elif kind != wp.static(int(JointType.ROD)):
        linear = joints.dof_dim[j, 0]
        held = wp.transform_get_translation(body_q[child] * joints.frame_c[j])  # where slides have brought the anchor
        for k in range(linear):
            axes[d + k] = wp.spatial_vector(wp.transform_vector(anchor, joints.axis[d + k]), wp.vec3())
        for k in range(linear, linear + joints.dof_dim[j, 1]):
            axes[d + k] = about_origin(wp.transform_vector(anchor, turned_axis(joints, j, k, joint_q)), held)


@wp.kernel(enable_backward=False)
def jacobian_rows(
    joints: Joints,
    start: wp.array(dtype=int),
    end: wp.array(dtype=int),
    mask: wp.array(dtype=wp.bool),
    body_q: wp.array(dtype=wp.transform),
    axes: wp.array(dtype=wp.spatial_vector),
    J: wp.array3d(dtype=float),
):
    """Six rows of one link, from its joint up to the root."""
    a, link = wp.tid()
    if not chosen(a, end.shape[0], mask) or start[a] + link >= end[a]:
        return
    first = joints.qd_start[start[a]]
    j = start[a] + link
    child = joints.child[j]
    centre = wp.transform_point(body_q[child], joints.com[child])
    while j >= 0:
        for d in range(joints.qd_start[j], joints.qd_start[j + 1]):
            omega = wp.spatial_bottom(axes[d])
            v = wp.spatial_top(axes[d]) + wp.cross(omega, centre)
            for k in range(3):
                J[a, 6 * link + k, d - first] = v[k]
                J[a, 6 * link + 3 + k, d - first] = omega[k]
        j = joints.ancestor[j]


@wp.kernel(enable_backward=False)
def spatial_inertias(
    inertia: wp.array(dtype=wp.mat33),
    mass: wp.array(dtype=float),
    body_q: wp.array(dtype=wp.transform),
    out: wp.array(dtype=wp.spatial_matrix),
):
    """Inertia of a body about its centre of mass, in the world's frame."""
    b = wp.tid()
    turn = wp.quat_to_matrix(wp.transform_get_rotation(body_q[b]))
    world = turn * inertia[b] * wp.transpose(turn)
    found = wp.spatial_matrix()
    for i in range(3):
        found[i, i] = mass[b]
        for k in range(3):
            found[3 + i, 3 + k] = world[i, k]
    out[b] = found


@wp.kernel(enable_backward=False)
def mass_entries(
    joints: Joints,
    start: wp.array(dtype=int),
    end: wp.array(dtype=int),
    mask: wp.array(dtype=wp.bool),
    inertias: wp.array(dtype=wp.spatial_matrix),
    J: wp.array3d(dtype=float),
    H: wp.array3d(dtype=float),
):
    """One entry of one articulation's mass matrix, and its mirror image."""
    a, i, k = wp.tid()
    if not chosen(a, end.shape[0], mask) or k > i:
        return
    if i >= joints.qd_start[end[a]] - joints.qd_start[start[a]]:
        return
    total = float(0.0)
    for link in range(end[a] - start[a]):
        left = wp.spatial_vector()
        right = wp.spatial_vector()
        for row in range(6):
            left[row] = J[a, 6 * link + row, i]
            right[row] = J[a, 6 * link + row, k]
        total += wp.dot(left, inertias[joints.child[start[a] + link]] * right)
    H[a, i, k] = total
    H[a, k, i] = total


def eval_jacobian(
    model: Model, state: State, J: wp.array | None = None, joint_S_s: wp.array | None = None,
    mask: wp.array | None = None,
) -> wp.array | None:  # fmt: skip
    """Jacobians of the links of every articulation: J_l @ joint_qd is what body_qd of the link is.

    Args:
        model: The model.
        state: Its `body_q` and `joint_q`.
        J: Array to fill, shape (articulation_count, 6 * max_joints_per_articulation, max_dofs_per_articulation).
        joint_S_s: Scratch, shape (joint_dof_count,), of spatial vectors.
        mask: Which articulations, shape (articulation_count,); the others are zero. None: all.

    Returns:
        J; None where the model has no articulations.
    """
    count, links, dofs = model.articulation_count, model.max_joints_per_articulation, model.max_dofs_per_articulation
    if count == 0:
        return None
    J = _buffer("J", J, (count, 6 * links, dofs), float, model)
    J.zero_()
    axes = _buffer("joint_S_s", joint_S_s, (model.joint_dof_count,), wp.spatial_vector, model)
    joints = joints_of(model)
    wp.launch(motion_axes, model.joint_count, [joints, state.joint_q, state.body_q, axes], device=model.device)
    inputs = [joints, model.articulation_start, model.articulation_end, mask, state.body_q, axes, J]
    wp.launch(jacobian_rows, (count, links), inputs, device=model.device)
    return J


def eval_mass_matrix(
    model: Model, state: State, H: wp.array | None = None, J: wp.array | None = None,
    body_I_s: wp.array | None = None, joint_S_s: wp.array | None = None, mask: wp.array | None = None,
) -> wp.array | None:  # fmt: skip
    """Mass matrices of every articulation.

    Args:
        model: The model.
        state: Its `body_q` and `joint_q`.
        H: Array to fill, shape (articulation_count, max_dofs_per_articulation, max_dofs_per_articulation).
        J: Jacobians of this state, where they are known already.
        body_I_s: Scratch, shape (body_count,), of spatial matrices.
        joint_S_s: Scratch for the Jacobians.
        mask: Which articulations, shape (articulation_count,); the others are zero. None: all.

    Returns:
        H; None where the model has no articulations.
    """
    count, dofs = model.articulation_count, model.max_dofs_per_articulation
    if count == 0:
        return None
    H = _buffer("H", H, (count, dofs, dofs), float, model)
    H.zero_()
    inertias = _buffer("body_I_s", body_I_s, (model.body_count,), wp.spatial_matrix, model)
    inputs = [model.body_inertia, model.body_mass, state.body_q, inertias]
    wp.launch(spatial_inertias, model.body_count, inputs, device=model.device)
    if J is None:
        J = eval_jacobian(model, state, joint_S_s=joint_S_s, mask=mask)
    inputs = [joints_of(model), model.articulation_start, model.articulation_end, mask, inertias, J, H]
    wp.launch(mass_entries, (count, dofs, dofs), inputs, device=model.device)
    return H


def _buffer(name: str, given: wp.array | None, shape: tuple[int, ...], dtype: Any, model: Model) -> wp.array:
    """The array that was given, if it fits, or a new one."""
    if given is None:
        return wp.zeros(shape, dtype=dtype, device=model.device)
    if given.shape != shape:
        raise BuildError(f"{name} has shape {given.shape}; {shape} is needed")
    return given
