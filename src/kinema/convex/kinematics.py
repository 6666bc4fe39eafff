"""Forward kinematics: from qpos to the pose of every body, joint, geom and site.

    x_b = x_p + R_p p_b,   q_b = q_p q_b0,   then each joint of b turns or slides the body about its own anchor.

Bodies are numbered parents first, so one pass over them is enough.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.quaternion import axis_angle, mul_quat, normalize, rotate, to_mat

FREE, BALL, SLIDE, HINGE = wp.constant(0), wp.constant(1), wp.constant(2), wp.constant(3)


@wp.func
def qpos_quat(qpos: wp.array2d(dtype=float), w: int, adr: int) -> wp.vec4:
    """The unit quaternion stored in qpos from adr on."""
    return normalize(wp.vec4(qpos[w, adr], qpos[w, adr + 1], qpos[w, adr + 2], qpos[w, adr + 3]))


@wp.func
def kinematics(m: Model, d: Data, w: int):
    """Poses of bodies, joint anchors and axes."""
    d.pose.xpos[w, 0] = wp.vec3(0.0)
    d.pose.xipos[w, 0] = wp.vec3(0.0)
    d.pose.xquat[w, 0] = wp.vec4(1.0, 0.0, 0.0, 0.0)
    d.pose.xmat[w, 0] = wp.identity(3, dtype=float)
    d.pose.ximat[w, 0] = wp.identity(3, dtype=float)
    for b in range(1, m.size.nbody):
        first = m.body.jntadr[b]
        count = m.body.jntnum[b]
        pos = wp.vec3(0.0)
        quat = wp.vec4(1.0, 0.0, 0.0, 0.0)
        free = bool(False)
        if count == 1:
            free = m.jnt.type[first] == FREE
        if free:
            a = m.jnt.qposadr[first]
            pos = wp.vec3(d.state.qpos[w, a], d.state.qpos[w, a + 1], d.state.qpos[w, a + 2])
            quat = qpos_quat(d.state.qpos, w, a + 3)
            d.pose.xanchor[w, first] = pos
            d.pose.xaxis[w, first] = m.jnt.axis[w, first]
        else:
            local_pos = m.body.pos[w, b]
            local_quat = m.body.quat[w, b]
            mocap = m.body.mocapid[b]
            if mocap >= 0:
                local_pos = d.state.mocap_pos[w, mocap]
                local_quat = normalize(d.state.mocap_quat[w, mocap])
            p = m.body.parentid[b]
            pos = local_pos
            quat = local_quat
            if p > 0:
                parent_quat = d.pose.xquat[w, p]
                pos = d.pose.xpos[w, p] + rotate(parent_quat, local_pos)
                quat = mul_quat(parent_quat, local_quat)
            for j in range(first, first + count):
                anchor = pos + rotate(quat, m.jnt.pos[w, j])
                axis = rotate(quat, m.jnt.axis[w, j])
                a = m.jnt.qposadr[j]
                kind = m.jnt.type[j]
                if kind == SLIDE:
                    pos += axis * (d.state.qpos[w, a] - m.jnt.qpos0[w, a])
                else:
                    if kind == BALL:
                        quat = mul_quat(quat, qpos_quat(d.state.qpos, w, a))
                    else:
                        quat = mul_quat(quat, axis_angle(m.jnt.axis[w, j], d.state.qpos[w, a] - m.jnt.qpos0[w, a]))
                    pos = anchor - rotate(quat, m.jnt.pos[w, j])
                d.pose.xanchor[w, j] = anchor
                d.pose.xaxis[w, j] = axis
            quat = normalize(quat)
        d.pose.xpos[w, b] = pos
        d.pose.xquat[w, b] = quat
        d.pose.xmat[w, b] = to_mat(quat)
        d.pose.xipos[w, b] = pos + rotate(quat, m.body.ipos[w, b])
        d.pose.ximat[w, b] = to_mat(mul_quat(quat, m.body.iquat[w, b]))


@wp.func
def geom_pose(m: Model, d: Data, w: int, g: int):
    """Pose of one geom."""
    b = m.geom.bodyid[g]
    quat = d.pose.xquat[w, b]
    d.pose.geom_xpos[w, g] = d.pose.xpos[w, b] + rotate(quat, m.geom.pos[w, g])
    d.pose.geom_xmat[w, g] = to_mat(mul_quat(quat, m.geom.quat[w, g]))


@wp.func
def site_pose(m: Model, d: Data, w: int, s: int):
    """Pose of one site."""
    b = m.site.bodyid[s]
    quat = d.pose.xquat[w, b]
    d.pose.site_xpos[w, s] = d.pose.xpos[w, b] + rotate(quat, m.site.pos[w, s])
    d.pose.site_xmat[w, s] = to_mat(mul_quat(quat, m.site.quat[w, s]))
