"""Zones: the volumes of sites, and who is inside them."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sensors.frames import object_position
from kinema.mujoco_enums import MINVAL, Geom, Obj, Sensor


@wp.func
def inside(pos: wp.vec3, mat: wp.mat33, size: wp.vec3, kind: int, point: wp.vec3) -> bool:
    """Whether a point is inside a primitive shape (mju_insideGeom)."""
    p = wp.transpose(mat) * (point - pos)
    across = p[0] * p[0] + p[1] * p[1]
    result = bool(False)
    if kind == Geom.SPHERE:
        result = wp.dot(p, p) < size[0] * size[0]
    elif kind == Geom.CAPSULE:
        beyond = p[2] - wp.clamp(p[2], -size[1], size[1])
        result = across + beyond * beyond < size[0] * size[0]
    elif kind == Geom.ELLIPSOID:
        q = wp.cw_div(p, size)
        result = wp.dot(q, q) < 1.0
    elif kind == Geom.CYLINDER:
        result = wp.abs(p[2]) < size[1] and across < size[0] * size[0]
    elif kind == Geom.BOX:
        result = wp.abs(p[0]) < size[0] and wp.abs(p[1]) < size[1] and wp.abs(p[2]) < size[2]
    elif kind == Geom.PLANE:
        result = p[2] < 0.0
    return result


@wp.func
def watched_point(m: Model, d: Data, w: int, i: int) -> wp.vec3:
    """The position of what sensor i watches; of a body without mass the centre of its subtree."""
    objtype = m.sensor.objtype[i]
    obj = m.sensor.objid[i]
    point = object_position(d.pose, w, objtype, obj)
    if objtype == Obj.BODY and obj > 0:
        if m.body.mass[w, obj] < MINVAL and m.body.subtreemass[w, obj] >= MINVAL:
            point = d.inertia.subtree_com[w, obj]
    return point


@wp.func
def inside_sensor(m: Model, d: Data, w: int, i: int):
    """1 while an object's frame is inside a site."""
    if m.sensor.type[i] == Sensor.INSIDESITE:
        site = m.sensor.refid[i]
        found = inside(
            d.pose.site_xpos[w, site], d.pose.site_xmat[w, site], m.site.size[w, site], m.site.type[site],
            watched_point(m, d, w, i),
        )  # fmt: skip
        d.sensor.sensordata[w, m.sensor.adr[i]] = wp.where(found, 1.0, 0.0)
