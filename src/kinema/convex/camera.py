"""Cameras and lights: fixed to a body, following it, or looking at another (mj_camlight)."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.quaternion import mul_quat, rotate, to_mat
from kinema.math.store import put
from kinema.math.vector import normalize
from kinema.mujoco_enums import CamLight


@wp.func
def look_from(pos: wp.vec3, target: wp.vec3) -> wp.mat33:
    """Camera at pos looking at target, upright: z points away from it, x is horizontal."""
    z = normalize(pos - target)
    x = normalize(wp.cross(wp.vec3(0.0, 0.0, 1.0), z))
    y = normalize(wp.cross(z, x))
    return wp.matrix_from_cols(x, y, z)


@wp.func
def camera_pose(m: Model, d: Data, w: int, c: int):
    """Pose of one camera."""
    b = m.cam.bodyid[c]
    target = m.cam.targetbodyid[c]
    mode = m.cam.mode[c]
    quat = d.pose.xquat[w, b]
    pos = d.pose.xpos[w, b] + rotate(quat, m.cam.pos[w, c])
    mat = to_mat(mul_quat(quat, m.cam.quat[w, c]))
    if mode == CamLight.TRACK or mode == CamLight.TRACKCOM:
        mat = m.cam.mat0[w, c]
        if mode == CamLight.TRACK:
            pos = d.pose.xpos[w, b] + m.cam.pos0[w, c]
        else:
            pos = d.inertia.subtree_com[w, b] + m.cam.poscom0[w, c]
    elif target >= 0:
        if mode == CamLight.TARGETBODY:
            mat = look_from(pos, d.pose.xpos[w, target])
        elif mode == CamLight.TARGETBODYCOM:
            mat = look_from(pos, d.inertia.subtree_com[w, target])
    put(d.pose.cam_xpos, w, c, pos)
    put(d.pose.cam_xmat, w, c, mat)


@wp.func
def light_pose(m: Model, d: Data, w: int, l: int):
    """Position and direction of one light."""
    b = m.light.bodyid[l]
    target = m.light.targetbodyid[l]
    mode = m.light.mode[l]
    quat = d.pose.xquat[w, b]
    pos = d.pose.xpos[w, b] + rotate(quat, m.light.pos[w, l])
    direction = rotate(quat, m.light.dir[w, l])
    if mode == CamLight.TRACK or mode == CamLight.TRACKCOM:
        direction = m.light.dir0[w, l]
        if mode == CamLight.TRACK:
            pos = d.pose.xpos[w, b] + m.light.pos0[w, l]
        else:
            pos = d.inertia.subtree_com[w, b] + m.light.poscom0[w, l]
    elif target >= 0:
        if mode == CamLight.TARGETBODY:
            direction = d.pose.xpos[w, target] - pos
        elif mode == CamLight.TARGETBODYCOM:
            direction = d.inertia.subtree_com[w, target] - pos
    put(d.pose.light_xpos, w, l, pos)
    put(d.pose.light_xdir, w, l, normalize(direction))
