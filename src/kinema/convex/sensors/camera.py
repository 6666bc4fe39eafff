"""Camera projection: the pixel at which a camera sees a site."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import MINVAL, Sensor


@wp.func
def projection_sensor(m: Model, d: Data, w: int, i: int):
    """Pixel coordinates of a site: x to the right, y downwards, from the upper left corner."""
    if m.sensor.type[i] == Sensor.CAMPROJECTION:
        camera = m.sensor.refid[i]
        resolution = m.cam.resolution[camera]
        width = float(resolution[0])
        height = float(resolution[1])
        size = m.cam.sensorsize[w, camera]
        focal = 0.5 / wp.tan(m.cam.fovy[w, camera] * wp.PI / 360.0) * height
        fx = focal
        fy = focal
        if wp.abs(size[0]) > 0.0 and wp.abs(size[1]) > 0.0:  # a switch: which way it is on, derivatives do not say
            intrinsic = m.cam.intrinsic[w, camera]
            fx = intrinsic[0] / size[0] * width
            fy = intrinsic[1] / size[1] * height
        gap = d.pose.site_xpos[w, m.sensor.objid[i]] - d.pose.cam_xpos[w, camera]
        p = wp.transpose(d.pose.cam_xmat[w, camera]) * gap
        depth = p[2]
        if wp.abs(depth) < MINVAL:
            depth = wp.where(depth < 0.0, -MINVAL, MINVAL)
        adr = m.sensor.adr[i]
        d.sensor.sensordata[w, adr] = 0.5 * width - fx * p[0] / depth
        d.sensor.sensordata[w, adr + 1] = 0.5 * height + fy * p[1] / depth
