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
def tracked(d: Data, w: int, b: int, mode: int, pos0: wp.vec3, poscom0: wp.vec3) -> wp.vec3:
    """Where a camera or light that tracks body b, or its centre of mass, is."""
    if mode == CamLight.TRACK:
        return d.pose.xpos[w, b] + pos0
    return d.inertia.subtree_com[w, b] + poscom0


@wp.func
def aim(d: Data, w: int, b: int, mode: int) -> wp.vec3:
    """The point that a camera or light aims at: body b, or its centre of mass."""
    if mode == CamLight.TARGETBODY:
        return d.pose.xpos[w, b]
    return d.inertia.subtree_com[w, b]


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
        pos = tracked(d, w, b, mode, m.cam.pos0[w, c], m.cam.poscom0[w, c])
    elif target >= 0 and mode != CamLight.FIXED:
        mat = look_from(pos, aim(d, w, target, mode))
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
        pos = tracked(d, w, b, mode, m.light.pos0[w, l], m.light.poscom0[w, l])
    elif target >= 0 and mode != CamLight.FIXED:
        direction = aim(d, w, target, mode) - pos
    put(d.pose.light_xpos, w, l, pos)
    put(d.pose.light_xdir, w, l, normalize(direction))
