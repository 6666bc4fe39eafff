"""Touch: the normal forces of a body's contacts in the zone of a site.

A contact counts when the line of its force, from the contact point into the body, meets the site's volume: a contact on
the surface of the body counts although the zone lies inside.
"""

import warp as wp

from kinema.collide.ray import ray_box, ray_capsule, ray_cylinder, ray_ellipsoid
from kinema.convex.data import Data
from kinema.convex.flex.side import contact_body
from kinema.convex.loads import contact_force
from kinema.convex.model import Model
from kinema.mujoco_enums import Geom, Sensor


@wp.func
def ray_meets(pos: wp.vec3, mat: wp.mat33, size: wp.vec3, kind: int, point: wp.vec3, along: wp.vec3) -> bool:
    """Whether a ray meets the surface of a primitive shape."""
    p = wp.transpose(mat) * (point - pos)
    v = wp.transpose(mat) * along
    t = float(-1.0)
    normal = wp.vec3()
    if kind == Geom.SPHERE:
        t, normal = ray_ellipsoid(p, v, wp.vec3(size[0]))
    elif kind == Geom.CAPSULE:
        t, normal = ray_capsule(p, v, size)
    elif kind == Geom.ELLIPSOID:
        t, normal = ray_ellipsoid(p, v, size)
    elif kind == Geom.CYLINDER:
        t, normal = ray_cylinder(p, v, size)
    elif kind == Geom.BOX:
        t, normal = ray_box(p, v, size)
    return t >= 0.0


@wp.func
def touch_sensor(m: Model, d: Data, w: int, i: int):
    """Sum the normal forces in the zone."""
    if m.sensor.type[i] == Sensor.TOUCH:
        site = m.sensor.objid[i]
        body = m.site.bodyid[site]
        reading = float(0.0)
        for c in range(d.con.ncon[w]):
            row = d.crow.address[w, c]
            body0 = contact_body(m, d, w, c, 0)
            body1 = contact_body(m, d, w, c, 1)
            if row >= 0 and (body0 == body or body1 == body):
                force = contact_force(
                    d.efc.force, w, row, d.con.dim[w, c], m.opt.cone, d.con.friction[w, c], d.con.adhesion[w, c]
                )[0]
                if force > 0.0:
                    frame = d.con.frame[w, c]
                    normal = wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
                    if body1 == body:
                        normal = -normal
                    if ray_meets(
                        d.pose.site_xpos[w, site], d.pose.site_xmat[w, site], m.site.size[w, site], m.site.type[site],
                        d.con.pos[w, c], normal,
                    ):  # fmt: skip
                        reading += force
        d.sensor.sensordata[w, m.sensor.adr[i]] = reading
