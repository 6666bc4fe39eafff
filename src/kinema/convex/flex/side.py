"""One side of a contact, to sensors and to sleep: which body stands for it, and how it moves.

    geom                 its body
    vertex, element      the body of the vertex; of an element that of its first vertex that may move
    interpolated flex    the body of its first node that may move, wherever the contact is

That body says whether a contact is one of a sensor's, and is MuJoCo's choice. The contact moves with all bodies that
bear it, each by its share.
"""

import warp as wp

from kinema.convex.constraint.bearing import bearers, bearing, side_coordinates, side_vertices, side_weights
from kinema.convex.data import Data
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.math.spatial import angular


@wp.func
def contact_body(m: Model, d: Data, w: int, c: int, side: int) -> int:
    """The body that stands for one side of contact c."""
    g = d.con.geom[w, c][side]
    if g >= 0:
        return m.geom.bodyid[g]
    f = d.fcon.flex[w, c][side]
    if f < 0:
        return -1
    span = m.flex.span[f]
    order = wp.abs(span[4])
    corners = wp.vec4i(-1, -1, -1, -1)
    count = int(4)
    if order == 0:
        corners = side_vertices(m, d, w, c, side)
    else:
        count = (span[5] * order + 1) * (span[6] * order + 1) * (span[7] * order + 1)
    body = int(-1)
    for k in range(count):
        point = span[8] + k
        if order == 0:
            point = corners[k]
        if point >= 0:
            if body < 0 or m.body.treeid[wp.max(body, 0)] < 0:
                other = m.flex.point[point][1]
                if body < 0 or m.body.treeid[other] >= 0:
                    body = other
    return body


@wp.func
def point_velocity(m: Model, d: Data, w: int, body: int, x: wp.vec3):
    """Velocity of a point of a body, linear and angular."""
    cvel = d.vel.cvel[w, body]
    return point_motion(cvel, x - d.inertia.subtree_com[w, m.body.rootid[body]]), angular(cvel)


@wp.func
def contact_velocity(m: Model, d: Data, w: int, c: int, side: int):
    """Velocity of one side of contact c where it touches, linear and angular."""
    x = d.con.pos[w, c]
    g = d.con.geom[w, c][side]
    linear = wp.vec3(0.0)
    turning = wp.vec3(0.0)
    f = int(-1)
    if g >= 0:
        linear, turning = point_velocity(m, d, w, m.geom.bodyid[g], x)
    else:
        f = d.fcon.flex[w, c][side]
    if f >= 0:
        corners = side_vertices(m, d, w, c, side)
        share = side_weights(m, d, w, c, corners)
        place = side_coordinates(m, w, corners, share)
        for k in range(bearers(m, f)):
            body, part = bearing(m, f, corners, share, place, k)
            along, about = point_velocity(m, d, w, wp.max(body, 0), x)
            linear += part * along
            turning += part * about
    return linear, turning
