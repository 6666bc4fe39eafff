"""Rangefinders: distance to the nearest geom along the z axis of a site, or through every pixel of a camera.

A pixel (column, row) of a perspective camera looks along ((column + 1/2 - cx) / fx, -(row + 1/2 - cy) / fy, -1), of an
orthographic one straight ahead from its own place on the image plane. Geoms of the sensor's own body are not seen. For
each ray the fields asked for follow each other: distance (-1: nothing), direction, origin, point, normal, depth.
"""

import warp as wp

from kinema.collide.ray import RayFilter, ray_world
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sensors.frames import part1, part3
from kinema.math.vector import column, normalize
from kinema.mujoco_enums import Obj, Projection, RayData, Sensor

DIST, DIR, ORIGIN, POINT, NORMAL, DEPTH = (wp.constant(1 << k) for k in RayData)
ALL_GROUPS = wp.constant(63)


@wp.func
def pixel_ray(
    size: wp.vec2, intrinsic: wp.vec4, resolution: wp.vec2i, fovy: float, projection: int, pixel: int
):  # fmt: skip
    """Origin and direction, in the camera's frame, of the ray through a pixel."""
    width = float(resolution[0])
    height = float(resolution[1])
    c = wp.vec2(0.5 * width, 0.5 * height)
    f = c
    if projection == Projection.PERSPECTIVE:
        if size[0] != 0.0 and size[1] != 0.0:
            f = wp.vec2(intrinsic[0] / size[0] * width, intrinsic[1] / size[1] * height)
            c = wp.vec2(intrinsic[2] / size[0] * width, intrinsic[3] / size[1] * height)
        else:
            focal = 0.5 / wp.tan(fovy * wp.PI / 360.0) * height
            f = wp.vec2(focal, focal)
    x = (float(pixel % resolution[0]) + 0.5 - c[0]) / f[0]
    y = -(float(pixel / resolution[0]) + 0.5 - c[1]) / f[1]
    origin = wp.vec3(0.0)
    direction = wp.vec3(0.0, 0.0, -1.0)
    if projection == Projection.PERSPECTIVE:
        direction = normalize(wp.vec3(x, y, -1.0))
    else:
        origin = wp.vec3(0.5 * fovy * x, 0.5 * fovy * y, 0.0)
    return origin, direction


@wp.func
def range_sensor(m: Model, d: Data, w: int, i: int):
    """Cast the rays of a rangefinder."""
    if m.sensor.type[i] == Sensor.RANGEFINDER:
        spec = m.sensor.intprm[i][0]
        obj = m.sensor.objid[i]
        on_site = m.sensor.objtype[i] == Obj.SITE
        seen = RayFilter()
        seen.groups = ALL_GROUPS
        seen.with_static = 1
        rays = int(1)
        centre = wp.vec3(0.0)
        axis = wp.vec3(0.0)  # depth is measured against it
        if on_site:
            seen.bodyexclude = m.site.bodyid[obj]
            centre = d.pose.site_xpos[w, obj]
            axis = -column(d.pose.site_xmat[w, obj], 2)
        else:
            seen.bodyexclude = m.cam.bodyid[obj]
            centre = d.pose.cam_xpos[w, obj]
            axis = column(d.pose.cam_xmat[w, obj], 2)
            rays = m.cam.resolution[obj][0] * m.cam.resolution[obj][1]
        at = m.sensor.adr[i]
        for k in range(rays):
            origin = centre
            direction = -axis
            if not on_site:
                start, along = pixel_ray(
                    m.cam.sensorsize[w, obj], m.cam.intrinsic[w, obj], m.cam.resolution[obj], m.cam.fovy[w, obj],
                    m.cam.projection[obj], k,
                )  # fmt: skip
                origin = centre + d.pose.cam_xmat[w, obj] * start
                direction = d.pose.cam_xmat[w, obj] * along
            dist, geom, normal = ray_world(
                m.collision.geoms, m.collision.hfields, m.collision.rays[0], seen, w, origin, direction
            )
            hit = geom >= 0
            point = origin + dist * direction
            depth = -wp.dot(point - centre, axis)
            if not hit:
                dist = -1.0
                depth = -1.0
                point = wp.vec3(0.0)
                normal = wp.vec3(0.0)
                direction = wp.vec3(0.0)
            at = part1(d.sensor.sensordata, w, at, spec & DIST, dist)
            at = part3(d.sensor.sensordata, w, at, spec & DIR, direction)
            at = part3(d.sensor.sensordata, w, at, spec & ORIGIN, origin)
            at = part3(d.sensor.sensordata, w, at, spec & POINT, point)
            at = part3(d.sensor.sensordata, w, at, spec & NORMAL, normal)
            at = part1(d.sensor.sensordata, w, at, spec & DEPTH, depth)
