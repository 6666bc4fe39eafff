"""Whether something stands between a point that moves and where it would touch.

A pair is looked at on its own, so a body that falls on a table would be stopped by the floor beneath it as well. A
point of geom g that goes from `start` to `end` is hidden when the segment hits a third geom that g collides with and
does not touch yet. What moves along with the other geom of the pair hides nothing, unless it is the world.
"""

import warp as wp

from kinema.collide.advance import separation
from kinema.collide.bundles import Ahead, Geoms, Hulls, Options, Pairs
from kinema.collide.precision import ZERO, real, vec3r
from kinema.collide.ray import mesh_of, ray_shape
from kinema.collide.support import geom_shape
from kinema.mujoco_enums import MINVAL, Geom


@wp.func
def misses_sphere(p: wp.vec3, v: wp.vec3, c: wp.vec3, r: float) -> bool:
    """Whether the segment p + t v, t in [0, 1], stays outside of a sphere; a radius of 0 is no sphere."""
    d = c - p
    t = wp.clamp(wp.dot(d, v) / wp.max(wp.dot(v, v), MINVAL), 0.0, 1.0)
    return r > 0.0 and wp.length(d - v * t) > r * 1.0001


@wp.func
def is_hidden(
    w: int, g: int, other: int, start: vec3r, end: vec3r, geoms: Geoms, hulls: Hulls, pairs: Pairs, ahead: Ahead,
    options: Options,
) -> bool:  # fmt: skip
    """Whether the way of a point of geom g of world w to the other geom of its pair is blocked."""
    p = wp.vec3(start)
    v = wp.vec3(end - start)
    if wp.length_sq(v) == 0.0:
        return False
    weld = ahead.weld[other]
    for k in range(ahead.partneradr[g], ahead.partneradr[g + 1]):
        third = ahead.partner[k][0]
        if third != other and (weld == 0 or ahead.weld[third] != weld):
            if not misses_sphere(p, v, geoms.xpos[w, third], geoms.rbound[w, third]):
                turn = wp.transpose(geoms.xmat[w, third])
                mesh = mesh_of(geoms, ahead.mesh, third)
                size = geoms.size[w, third]
                if geoms.type[third] == Geom.PLANE:
                    size = wp.vec3()  # the size of a plane is what is drawn of it
                t, _n = ray_shape(geoms.type[third], size, mesh, turn * (p - geoms.xpos[w, third]), turn * v)
                if t >= 0.0 and t <= 1.0:
                    plane = geoms.type[third] == Geom.PLANE
                    s1 = geom_shape(geoms, w, wp.where(plane, third, g), ZERO)
                    s2 = geom_shape(geoms, w, wp.where(plane, g, third), ZERO)
                    r = separation(hulls, s1, s2, real(options.ccd_tolerance), options.ccd_iterations)
                    if r.dist > real(pairs.margin[w, ahead.partner[k][1]]):
                        return True
    return False
