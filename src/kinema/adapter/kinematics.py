"""Where bodies are and how they move, from qpos and qvel alone: poses and velocities of their origins, parents first.

    x_b        = x_p (pose in the parent)              joints act in turn, each on the frame the last one left
    v_b        = v_p + w_p x (x_b - x_p) + what the joints add
    slide      moves the origin along its axis a:      v += a qd
    hinge      turns about its anchor:                 w += a qd,   v = v(anchor) + w x (origin - anchor)
    free       is where qpos says:                     v = qvel[0:3],   w = R qvel[3:6]

The same as the first and last lines of a step (`convex/kinematics.py`, `convex/velocity.py`), without the inertias and
the poses of geoms and sites that a step needs in between.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from kinema.math.quaternion import axis_angle
from kinema.mujoco_enums import Joint


@wp.struct
class Tree:
    """Bodies and joints, by mjModel's names."""

    body_parentid: wp.array(dtype=int)
    body_mocapid: wp.array(dtype=int)
    body_jntadr: wp.array(dtype=int)
    body_jntnum: wp.array(dtype=int)
    jnt_type: wp.array(dtype=int)
    jnt_qposadr: wp.array(dtype=int)
    jnt_dofadr: wp.array(dtype=int)
    body_pos: wp.array2d(dtype=wp.vec3)
    body_quat: wp.array2d(dtype=wp.vec4)
    jnt_pos: wp.array2d(dtype=wp.vec3)
    jnt_axis: wp.array2d(dtype=wp.vec3)
    qpos0: wp.array2d(dtype=float)
    mocap_pos: wp.array2d(dtype=wp.vec3)
    mocap_quat: wp.array2d(dtype=wp.vec4)


@wp.struct
class Chains:
    """Bodies in chains: each goes on from its parent as long as that is the last so far, else it begins another.

    A chain has the way from the world to its first body before it, so that a thread can go through it alone.
    """

    body: wp.array(dtype=int)  # the way, then its own bodies
    start: wp.array(dtype=int)  # where each begins; one more: the end of the last
    own: wp.array(dtype=int)  # its first body of its own


def chains(parentid: np.ndarray, device: wp.Device) -> Chains:
    """The chains of a model's bodies; parents stand before their children, and so do their chains."""
    ways: list[list[int]] = []
    shared: list[int] = []
    place = {0: (-1, 0)}  # of each body its chain, and how far along
    for body in range(1, len(parentid)):
        chain, along = place[int(parentid[body])]
        if chain < 0 or along < len(ways[chain]):
            ways.append(ways[chain][:along] if chain >= 0 else [])
            shared.append(along)
            chain = len(ways) - 1
        ways[chain].append(body)
        place[body] = chain, len(ways[chain])
    found = Chains()
    start = np.cumsum([0, *map(len, ways)])
    found.body = wp.array(np.array([body for way in ways for body in way], np.int32), dtype=int, device=device)
    found.start = wp.array(start.astype(np.int32), dtype=int, device=device)
    found.own = wp.array((start[:-1] + shared).astype(np.int32), dtype=int, device=device)
    return found


@wp.struct
class Moving:
    """Poses of bodies in the world's own frame, and (velocity of the origin, angular velocity), [world, body]."""

    x: wp.array2d(dtype=wp.transform)
    v: wp.array2d(dtype=wp.spatial_vector)


@wp.func
def to_quat(q: wp.vec4) -> wp.quat:
    """A quaternion out of MuJoCo's w, x, y, z; a compiled model's are of unit length."""
    return wp.quat(q[1], q[2], q[3], q[0])


@wp.func
def read_quat(x: wp.array2d(dtype=float), w: int, i: int) -> wp.quat:
    return wp.normalize(wp.quat(x[w, i + 1], x[w, i + 2], x[w, i + 3], x[w, i]))


@wp.func
def read3(x: wp.array2d(dtype=float), w: int, i: int) -> wp.vec3:
    return wp.vec3(x[w, i], x[w, i + 1], x[w, i + 2])


@wp.func
def move_body(
    tree: Tree, qpos: wp.array2d(dtype=float), qvel: wp.array2d(dtype=float), w: int, b: int, base: wp.transform,
    twist: wp.spatial_vector,
):  # fmt: skip
    """Pose and velocity of one body, given its parent's."""
    mocap = tree.body_mocapid[b]
    pos = wp.transform_point(base, tree.body_pos[w, b])
    quat = wp.transform_get_rotation(base) * to_quat(tree.body_quat[w, b])
    omega = wp.spatial_bottom(twist)
    v = wp.spatial_top(twist) + wp.cross(omega, pos - wp.transform_get_translation(base))
    if mocap >= 0:
        pos = tree.mocap_pos[w, mocap]
        quat = wp.normalize(to_quat(tree.mocap_quat[w, mocap]))
    first = tree.body_jntadr[b]
    for j in range(first, first + tree.body_jntnum[b]):
        kind = tree.jnt_type[j]
        i = tree.jnt_qposadr[j]
        k = tree.jnt_dofadr[j]
        if kind == wp.static(Joint.FREE):
            pos = read3(qpos, w, i)
            quat = read_quat(qpos, w, i + 3)
            v = read3(qvel, w, k)
            omega = wp.quat_rotate(quat, read3(qvel, w, k + 3))
        elif kind == wp.static(Joint.SLIDE):
            axis = wp.quat_rotate(quat, tree.jnt_axis[w, j])
            step = axis * (qpos[w, i] - tree.qpos0[w, i])
            pos += step
            v += wp.cross(omega, step) + axis * qvel[w, k]
        else:
            arm = wp.quat_rotate(quat, tree.jnt_pos[w, j])
            anchor = pos + arm
            v += wp.cross(omega, arm)
            if kind == wp.static(Joint.BALL):
                quat = quat * read_quat(qpos, w, i)
                omega += wp.quat_rotate(quat, read3(qvel, w, k))
            else:
                omega += wp.quat_rotate(quat, tree.jnt_axis[w, j]) * qvel[w, k]
                quat = quat * to_quat(axis_angle(tree.jnt_axis[w, j], qpos[w, i] - tree.qpos0[w, i]))
            pos = anchor - wp.quat_rotate(quat, tree.jnt_pos[w, j])
            v += wp.cross(omega, pos - anchor)
    return wp.transform(pos, wp.normalize(quat)), wp.spatial_vector(v, omega)
