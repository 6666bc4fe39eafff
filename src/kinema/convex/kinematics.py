"""Forward kinematics: from qpos to the pose of every body, joint, geom and site.

    x_b = x_p + R_p p_b,   q_b = q_p q_b'     (p_b, q_b'): pose of b in its parent's frame, joints included

What joints do to a body does not depend on where its parent is. So every body first finds its pose in its parent's
frame by itself; one pass over the bodies, parents first, carries these to the world's.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.quaternion import axis_angle, mul_quat, normalize, rotate, to_mat
from kinema.math.store import put
from kinema.mujoco_enums import Joint


@wp.func
def qpos_quat(qpos: wp.array2d(dtype=float), w: int, adr: int) -> wp.vec4:
    """The unit quaternion stored in qpos from adr on."""
    return normalize(wp.vec4(qpos[w, adr], qpos[w, adr + 1], qpos[w, adr + 2], qpos[w, adr + 3]))


@wp.func
def local_pose(m: Model, d: Data, w: int, b: int):
    """Pose of one body in its parent's frame, and the anchors and axes of its joints there.

    Joints act one after the other, each on the frame the ones before it have left.
    """
    first = m.body.jntadr[b]
    count = m.body.jntnum[b]
    pos = m.body.pos[w, b]
    quat = m.body.quat[w, b]
    mocap = m.body.mocapid[b]
    if b == 0:
        pos = wp.vec3(0.0)
        quat = wp.vec4(1.0, 0.0, 0.0, 0.0)
    if mocap >= 0:
        pos = d.state.mocap_pos[w, mocap]
        quat = normalize(d.state.mocap_quat[w, mocap])
    for j in range(first, first + count):
        kind = m.jnt.type[j]
        a = m.jnt.qposadr[j]
        if kind == Joint.FREE:
            pos = wp.vec3(d.state.qpos[w, a], d.state.qpos[w, a + 1], d.state.qpos[w, a + 2])
            quat = qpos_quat(d.state.qpos, w, a + 3)
            put(d.pose.xanchor, w, j, pos)
            put(d.pose.xaxis, w, j, m.jnt.axis[w, j])
        else:
            offset = m.jnt.pos[w, j]
            local_axis = m.jnt.axis[w, j]
            anchor = pos + rotate(quat, offset)
            axis = rotate(quat, local_axis)
            if kind == Joint.SLIDE:
                pos += axis * (d.state.qpos[w, a] - m.jnt.qpos0[w, a])
            else:
                if kind == Joint.BALL:
                    quat = mul_quat(quat, qpos_quat(d.state.qpos, w, a))
                else:
                    quat = mul_quat(quat, axis_angle(local_axis, d.state.qpos[w, a] - m.jnt.qpos0[w, a]))
                pos = anchor - rotate(quat, offset)
            put(d.pose.xanchor, w, j, anchor)
            put(d.pose.xaxis, w, j, axis)
    put(d.pose.xpos, w, b, pos)
    put(d.pose.xquat, w, b, normalize(quat))


@wp.func
def chain(m: Model, d: Data, w: int, b: int):
    """Carry the pose of one body from its parent's frame to the world's."""
    p = m.body.parentid[b]
    if p > 0:
        quat = d.pose.xquat[w, p]
        put(d.pose.xpos, w, b, d.pose.xpos[w, p] + rotate(quat, d.pose.xpos[w, b]))
        put(d.pose.xquat, w, b, normalize(mul_quat(quat, d.pose.xquat[w, b])))


@wp.func
def body_pose(m: Model, d: Data, w: int, b: int):
    """Matrices and inertial frame of one body."""
    quat = d.pose.xquat[w, b]
    put(d.pose.xmat, w, b, to_mat(quat))
    put(d.pose.xipos, w, b, d.pose.xpos[w, b] + rotate(quat, m.body.ipos[w, b]))
    put(d.pose.ximat, w, b, to_mat(mul_quat(quat, m.body.iquat[w, b])))


@wp.func
def joint_pose(m: Model, d: Data, w: int, j: int):
    """Anchor and axis of one joint, from the frame of its body's parent to the world's."""
    p = m.body.parentid[m.jnt.bodyid[j]]
    if p > 0:
        quat = d.pose.xquat[w, p]
        put(d.pose.xanchor, w, j, d.pose.xpos[w, p] + rotate(quat, d.pose.xanchor[w, j]))
        put(d.pose.xaxis, w, j, rotate(quat, d.pose.xaxis[w, j]))


@wp.func
def geom_pose(m: Model, d: Data, w: int, g: int):
    """Pose of one geom."""
    b = m.geom.bodyid[g]
    quat = d.pose.xquat[w, b]
    put(d.pose.geom_xpos, w, g, d.pose.xpos[w, b] + rotate(quat, m.geom.pos[w, g]))
    put(d.pose.geom_xmat, w, g, to_mat(mul_quat(quat, m.geom.quat[w, g])))


@wp.func
def site_pose(m: Model, d: Data, w: int, s: int):
    """Pose of one site."""
    b = m.site.bodyid[s]
    quat = d.pose.xquat[w, b]
    put(d.pose.site_xpos, w, s, d.pose.xpos[w, b] + rotate(quat, m.site.pos[w, s]))
    put(d.pose.site_xmat, w, s, to_mat(mul_quat(quat, m.site.quat[w, s])))


def stages() -> list[Stage]:
    """mj_kinematics."""
    return [
        Stage(local_pose, over="nbody"),
        Stage(chain, sweep="down"),
        Stage(body_pose, over="nbody"),
        Stage(joint_pose, over="njnt"),
        Stage(geom_pose, over="ngeom"),
        Stage(site_pose, over="nsite"),
    ]
