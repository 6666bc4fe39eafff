"""Frames of objects: bodies (inertial or own frame), geoms, sites, cameras."""

import warp as wp

from kinema.convex.data import Poses
from kinema.mujoco_enums import Obj


@wp.func
def object_position(pose: Poses, w: int, kind: int, i: int) -> wp.vec3:
    """Position of an object."""
    pos = wp.vec3(0.0)
    if kind == Obj.SITE:
        pos = pose.site_xpos[w, i]
    elif kind == Obj.BODY:
        pos = pose.xipos[w, i]
    elif kind == Obj.GEOM:
        pos = pose.geom_xpos[w, i]
    elif kind == Obj.CAMERA:
        pos = pose.cam_xpos[w, i]
    else:
        pos = pose.xpos[w, i]
    return pos


@wp.func
def object_rotation(pose: Poses, w: int, kind: int, i: int) -> wp.mat33:
    """Orientation of an object."""
    mat = wp.mat33()
    if kind == Obj.SITE:
        mat = pose.site_xmat[w, i]
    elif kind == Obj.BODY:
        mat = pose.ximat[w, i]
    elif kind == Obj.GEOM:
        mat = pose.geom_xmat[w, i]
    elif kind == Obj.CAMERA:
        mat = pose.cam_xmat[w, i]
    else:
        mat = pose.xmat[w, i]
    return mat


@wp.func
def object_body(
    geom_bodyid: wp.array(dtype=int),
    site_bodyid: wp.array(dtype=int),
    cam_bodyid: wp.array(dtype=int),
    kind: int,
    i: int,
) -> int:
    """The body an object belongs to."""
    body = i
    if kind == Obj.SITE:
        body = site_bodyid[i]
    elif kind == Obj.GEOM:
        body = geom_bodyid[i]
    elif kind == Obj.CAMERA:
        body = cam_bodyid[i]
    return body


@wp.func
def put3(sensordata: wp.array2d(dtype=float), w: int, adr: int, v: wp.vec3):
    """Write a reading of three numbers."""
    sensordata[w, adr] = v[0]
    sensordata[w, adr + 1] = v[1]
    sensordata[w, adr + 2] = v[2]


@wp.func
def part3(sensordata: wp.array2d(dtype=float), w: int, adr: int, asked: int, v: wp.vec3) -> int:
    """Write a part of a reading, three numbers, where it is asked for; returns where the next part goes."""
    if asked != 0:
        put3(sensordata, w, adr, v)
        return adr + 3
    return adr


@wp.func
def part1(sensordata: wp.array2d(dtype=float), w: int, adr: int, asked: int, x: float) -> int:
    """The same of one number."""
    if asked != 0:
        sensordata[w, adr] = x
        return adr + 1
    return adr
