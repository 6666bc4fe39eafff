"""How fluid forces change with velocity: 6 x 6 matrices d(torque, force)/d(w, v), in the frame of the body or geom.

Symbols as in fluid.py. With c the squared cross sections, n = c v, s = n.v, A = pi sqrt(n.n / s):

    d s = 2 n,   d(n.n) = 2 c n,   d A = A (c n / n.n - n / s)
    Kutta   f = k g G,   g = sqrt(s / (n.n v.v)),   G = s v - (v.v) n
            d g = g (n / s - c n / n.n - v / v.v),   d G = 2 v n^T + s - 2 n v^T - (v.v) c
"""

import warp as wp

from kinema.convex.bundle import vec12
from kinema.convex.data import Data
from kinema.convex.fluid import by_length, inertia_box, semiaxes
from kinema.convex.model import Model
from kinema.convex.velocity import local_velocity
from kinema.math.some import is_some
from kinema.math.spatial import angular, linear
from kinema.mujoco_enums import MINVAL


@wp.func
def blocks(a: wp.mat33, b: wp.mat33, c: wp.mat33, d: wp.mat33) -> wp.spatial_matrix:
    """[a b; c d]"""
    res = wp.spatial_matrix()
    three = int(3)
    for i in range(three):
        for j in range(three):
            res[i, j] = a[i, j]
            res[i, j + 3] = b[i, j]
            res[i + 3, j] = c[i, j]
            res[i + 3, j + 3] = d[i, j]
    return res


@wp.func
def box_slope(box: wp.vec3, vel: wp.spatial_vector, density: float, viscosity: float) -> wp.spatial_matrix:
    """Of the inertia-box model: diagonal."""
    diameter = (box[0] + box[1] + box[2]) / 3.0
    slope = wp.spatial_vector()
    for a in range(3):
        x, y = box[(a + 1) % 3], box[(a + 2) % 3]
        slope[a] = -wp.PI * diameter * diameter * diameter * viscosity - density / 32.0 * box[a] * (
            x * x * x * x + y * y * y * y
        ) * wp.abs(vel[a])
        slope[a + 3] = -3.0 * wp.PI * diameter * viscosity - density * x * y * wp.abs(vel[a + 3])
    return wp.diag(slope)


@wp.func
def ellipsoid_slope(
    axes: wp.vec3, coef: vec12, vel: wp.spatial_vector, density: float, viscosity: float
) -> wp.spatial_matrix:
    """Of the ellipsoid model."""
    w = angular(vel)
    v = linear(vel)
    blunt, slender, spin = coef[1], coef[2], coef[3]
    largest, middle, smallest = by_length(axes)
    speed = wp.length(v)
    identity = wp.identity(3, dtype=float)

    # fluid that moves along, and Magnus lift
    mass = density * wp.vec3(coef[6], coef[7], coef[8])
    inertia = density * wp.vec3(coef[9], coef[10], coef[11])
    magnus = coef[5] * density * 4.0 / 3.0 * wp.PI * axes[0] * axes[1] * axes[2]
    turn_v = wp.skew(wp.cw_mul(mass, v)) - wp.skew(v) * wp.diag(mass)
    turn_w = wp.skew(wp.cw_mul(inertia, w)) - wp.skew(w) * wp.diag(inertia)
    push_w = wp.skew(wp.cw_mul(mass, v)) - magnus * wp.skew(v)
    push_v = magnus * wp.skew(w) - wp.skew(w) * wp.diag(mass)

    # Kutta lift and drag
    diameter = 2.0 / 3.0 * (axes[0] + axes[1] + axes[2])
    push_v -= 3.0 * wp.PI * diameter * viscosity * identity
    if speed > MINVAL:
        u = v / speed  # all of these are homogeneous in v: work with its direction
        s = axes / largest
        c = wp.cw_mul(wp.vec3(s[1] * s[2], s[2] * s[0], s[0] * s[1]), wp.vec3(s[1] * s[2], s[2] * s[0], s[0] * s[1]))
        n = wp.cw_mul(c, u)
        cn = wp.cw_mul(c, n)
        along = wp.max(MINVAL, wp.dot(n, u))
        normal2 = wp.max(MINVAL, wp.dot(n, n))
        area = wp.PI * largest * largest * wp.sqrt(normal2 / along)
        area_slope = area * (cn / normal2 - n / along)
        lift = wp.PI * largest * largest * coef[4] * density * wp.sqrt(along / normal2)
        g_slope = n / along - cn / normal2 - u
        shape = along * u - n
        shape_slope = 2.0 * wp.outer(u, n) + along * identity - 2.0 * wp.outer(n, u) - wp.diag(c)
        push_v += lift * speed * (wp.outer(shape, g_slope) + shape_slope)
        area_max = wp.PI * largest * middle
        drag = density * (area * blunt + slender * (area_max - area))
        push_v -= speed * (drag * (identity + wp.outer(u, u)) + density * (blunt - slender) * wp.outer(u, area_slope))

    moment_max = 8.0 / 15.0 * wp.PI * middle * largest * largest * largest * largest
    moments = wp.vec3(0.0)
    squares = wp.vec3(0.0)
    for a in range(3):
        wide = wp.max(axes[(a + 1) % 3], axes[(a + 2) % 3])
        moment = 8.0 / 15.0 * wp.PI * axes[a] * wide * wide * wide * wide
        k = spin * moment + slender * (moment_max - moment)
        moments[a] = w[a] * k
        squares[a] = w[a] * k * k
    total = wp.length(moments)
    turn_w -= (wp.PI * diameter * diameter * diameter * viscosity + density * total) * identity
    if total > 1.0e-30:
        turn_w -= density / total * wp.outer(w, squares)
    return coef[0] * blocks(turn_w, turn_v, push_w, push_v)


@wp.func
def about_com(b: wp.spatial_matrix, mat: wp.mat33, offset: wp.vec3) -> wp.spatial_matrix:
    """A slope written in a local frame, carried to the tree's com in global orientation: X^T b X."""
    inverse = wp.transpose(mat)
    x = blocks(inverse, wp.mat33(0.0), -inverse * wp.skew(offset), inverse)
    return wp.transpose(x) * b * x


@wp.func
def drag_alone(coef: vec12) -> vec12:
    """Coefficients of a geom without lift, and without the fluid that moves along."""
    res = coef
    for k in range(4, 12):
        res[k] = 0.0
    return res


@wp.func
def body_fluid_slope(m: Model, d: Data, w: int, b: int, symmetric: bool) -> wp.spatial_matrix:
    """Slope of the fluid's wrench on body b about its tree's com."""
    return _body_slope(m, d, w, b, symmetric, False)


@wp.func
def body_drag_slope(m: Model, d: Data, w: int, b: int) -> wp.spatial_matrix:
    """The same of drag alone, which is symmetric and takes energy only."""
    return _body_slope(m, d, w, b, True, True)


@wp.func
def _body_slope(m: Model, d: Data, w: int, b: int, symmetric: bool, drag: bool) -> wp.spatial_matrix:
    density = m.opt.density[w]
    viscosity = m.opt.viscosity[w]
    sum = wp.spatial_matrix()
    mass = m.body.mass[w, b]
    if mass >= MINVAL and (is_some(density) or is_some(viscosity)):
        com = d.inertia.subtree_com[w, m.body.rootid[b]]
        first = m.body.geomadr[b]
        ellipsoids = int(0)
        for g in range(first, first + m.body.geomnum[b]):
            if m.geom.fluid[w, g][0] > 0.0:
                ellipsoids += 1
                pos = d.pose.geom_xpos[w, g]
                mat = d.pose.geom_xmat[w, g]
                vel = local_velocity(d.vel.cvel[w, b], com, pos, mat)
                vel -= wp.spatial_vector(wp.vec3(0.0), wp.transpose(mat) * m.opt.wind[w])
                axes = semiaxes(m.geom.type[g], m.geom.size[w, g])
                coef = m.geom.fluid[w, g]
                if drag:
                    coef = drag_alone(coef)
                slope = ellipsoid_slope(axes, coef, vel, density, viscosity)
                if symmetric:
                    slope = 0.5 * (slope + wp.transpose(slope))
                sum += about_com(slope, mat, pos - com)
        if ellipsoids == 0:
            pos = d.pose.xipos[w, b]
            mat = d.pose.ximat[w, b]
            vel = local_velocity(d.vel.cvel[w, b], com, pos, mat)
            vel -= wp.spatial_vector(wp.vec3(0.0), wp.transpose(mat) * m.opt.wind[w])
            slope = box_slope(inertia_box(m.body.inertia[w, b], mass), vel, density, viscosity)
            sum = about_com(slope, mat, pos - com)
    return sum
