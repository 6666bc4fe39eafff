"""Rows of contacts in models with flexes: a point of each side, as part of a body, or as a mean of those that bear it.

    geom                part of its body
    vertex, element     the mean of the bodies that bear it, by their shares (bearing.py)
    segment of a rod    a point of its surface, which moves with both ends and turns with the segment

Rows list their columns (sparse.py); those of one contact share them.
"""

from functools import cache

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.bearing import (
    bearers,
    bearing,
    is_corner,
    side_coordinates,
    side_vertices,
    side_weights,
    turning_segment,
)
from kinema.convex.constraint.columns import ANY_TREE
from kinema.convex.constraint.contact import put_rows, surface_velocity
from kinema.convex.constraint.row import inverse_inertia, row_time
from kinema.convex.constraint.sparse import open_rows, place_of
from kinema.convex.data import Data, Rows
from kinema.convex.flex.rod_chain import PAST
from kinema.convex.jacobian import last_dof, point_motion
from kinema.convex.model import Model
from kinema.convex.stage import named
from kinema.math.spatial import angular, linear
from kinema.mujoco_enums import MINVAL, Cone, Exclude, Geom

NEGLIGIBLE = wp.constant(1.0e-6)  # a share of a contact that its bearer does not feel


@wp.func
def moves(m: Model, w: int, body: int) -> bool:
    """Does any dof move a body?"""
    return last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body) >= 0


@wp.func
def joined(part: int, other: int) -> int:
    """What moves as one, of what was found so far and another; -1: nothing was found, -2: several do."""
    return wp.where(part == -1 or part == other, other, -2)


@wp.func
def want_flex_contact(m: Model, d: Data, w: int, c: int):
    """How many rows a contact wants, and whom they move.

    An element wants rows if any of its vertices may move, also one that bears nothing of the contact. Nodes of an
    interpolated flex count only if they bear. A vertex of a rod turns with its segment: it wants rows if the other end
    may move, though it is pinned itself.
    """
    geoms = d.con.geom[w, c]
    bodies = wp.vec2i(-1, -1)
    movable = bool(False)
    part = int(-1)  # of what moves as one; -2: several do
    hard = d.con.exclude[w, c] == Exclude.NONE  # not a spring: passive_contact.py
    for side in range(2):
        if geoms[side] >= 0:
            bodies[side] = m.geom.bodyid[geoms[side]]
            movable = movable or moves(m, w, bodies[side])
            part = joined(part, m.body.weldid[bodies[side]])
        else:
            f = d.fcon.flex[w, c][side]
            corners = side_vertices(m, d, w, c, side)
            share = side_weights(m, d, w, c, corners)
            x = side_coordinates(m, w, corners, share)
            for k in range(bearers(m, f)):
                body, weight = bearing(m, f, corners, share, x, k)
                bears = wp.abs(weight) > NEGLIGIBLE
                if bears or (hard and is_corner(m, f, corners, k)):
                    movable = movable or moves(m, w, body)
                    part = joined(part, m.body.weldid[body])
            e = turning_segment(m, d, w, c, side)
            if hard and e >= 0:
                for end in range(2):
                    body = m.flex.point[m.flex.rod[m.size.nflexrod + e][end]][1]
                    movable = movable or moves(m, w, body)
                    part = joined(part, m.body.weldid[body])
    dim = d.con.dim[w, c]
    rows = dim
    if dim > 1 and m.opt.cone == Cone.PYRAMIDAL:
        rows = 2 * (dim - 1)
    if d.con.exclude[w, c] == Exclude.PASSIVE:  # passive_contact.py
        rows = 1
    elif d.con.exclude[w, c] != Exclude.NONE:
        rows = 0
    if part != -2 or not movable:
        rows = 0
    d.crow.want[w, c] = rows
    d.crow.trees[w, c] = ANY_TREE
    d.crow.bodies[w, c] = bodies


@wp.func
def add_axis(efc: Rows, w: int, r: int, i: int, dim: int, cone: int, friction: vec5, axis: wp.spatial_vector):
    """The rows of a contact += how dof i moves its point along the axes of its frame, and turns it about them."""
    pyramid = dim > 1 and cone == Cone.PYRAMIDAL
    k = place_of(efc, w, r, wp.where(pyramid, 2 * (dim - 1), dim), i)
    if pyramid:
        for a in range(1, dim):
            edge = friction[a - 1] * axis[a]
            efc.J[w, r + 2 * a - 2, k] = efc.J[w, r + 2 * a - 2, k] + axis[0] + edge
            efc.J[w, r + 2 * a - 1, k] = efc.J[w, r + 2 * a - 1, k] + axis[0] - edge
    else:
        for a in range(dim):
            efc.J[w, r + a, k] = efc.J[w, r + a, k] + axis[a]


@wp.func
def add_body(m: Model, d: Data, w: int, c: int, r: int, body: int, weight: float) -> wp.spatial_vector:
    """The rows of a contact += those of its point as part of a body, weighted; returns the velocity it adds."""
    dim = d.con.dim[w, c]
    frame = d.con.frame[w, c]
    friction = d.con.friction[w, c]
    offset = d.con.pos[w, c] - d.inertia.subtree_com[w, m.body.rootid[body]]
    vel = wp.spatial_vector()
    i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
    while i >= 0:
        cdof = d.inertia.cdof[w, i]
        axis = weight * wp.spatial_vector(frame * point_motion(cdof, offset), frame * angular(cdof))
        vel += axis * d.state.qvel[w, i]
        add_axis(d.efc, w, r, i, dim, m.opt.cone, friction, axis)
        i = m.dof.parentid[i]
    return vel


@wp.func
def put_motion(m: Model, d: Data, w: int, c: int, r: int, i: int, motion: wp.spatial_vector) -> wp.spatial_vector:
    """The rows of a contact += how dof i moves and turns its point, in the world; returns the velocity it adds."""
    frame = d.con.frame[w, c]
    axis = wp.spatial_vector(frame * linear(motion), frame * angular(motion))
    add_axis(d.efc, w, r, i, d.con.dim[w, c], m.opt.cone, d.con.friction[w, c], axis)
    return axis * d.state.qvel[w, i]


@cache
def of_segment(put: wp.Function) -> wp.Function:
    """A function that puts how each dof moves the point of a contact on the surface of a segment, and returns the sum.

    With the place x = w0 x0 + w1 x1 on its axis and the arm a from there, the point moves with the section, which turns
    with the axis, and about it: t x dt/dt, and the angle θ of its hinge beyond the frame that is carried along.
    """

    def segment_motion(m: Model, d: Data, w: int, c: int, r: int, side: int, e: int):
        segment = m.flex.rod[m.size.nflexrod + e]
        sign = wp.where(side == 0, -1.0, 1.0)
        x0 = d.flex.vert_xpos[w, segment[0]]
        x1 = d.flex.vert_xpos[w, segment[1]]
        span = x1 - x0
        length = wp.length(span)
        t = span / wp.max(MINVAL, length)
        f = d.fcon.flex[w, c][side]
        v = d.fcon.vert[w, c][side]
        x = d.con.pos[w, c]
        share = wp.clamp(wp.dot(x - x0, t) / wp.max(MINVAL, length), 0.0, 1.0)
        if v >= 0:
            share = wp.where(m.flex.span[f][0] + v == segment[1], 1.0, 0.0)
            g = d.con.geom[w, c][1 - side]
            if g >= 0:
                if m.geom.type[g] == Geom.PLANE:
                    x += (0.5 * sign * d.con.dist[w, c]) * wp.vec3(
                        d.con.frame[w, c][0, 0], d.con.frame[w, c][0, 1], d.con.frame[w, c][0, 2]
                    )
        arm = x - (1.0 - share) * x0 - share * x1
        across = wp.cross(t, arm - wp.dot(arm, t) * t)
        past = d.flex.segment[w, e, PAST]
        before = wp.vec3(past[0], past[1], past[2])
        carried = wp.vec3()  # how the carried frame turns with where the ends are
        size = length * (1.0 + wp.dot(before, t))
        if past[3] > 1.0 and segment[2] >= 0 and size >= MINVAL:
            carried = wp.cross(before, t) / -size
        vel = wp.spatial_vector()
        for end in range(2):
            body = m.flex.point[segment[end]][1]
            weight = wp.where(end == 0, 1.0 - share, share)
            outward = wp.where(end == 0, -1.0, 1.0)
            place = wp.where(end == 0, x0, x1)
            offset = place - d.inertia.subtree_com[w, m.body.rootid[body]]
            i = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
            while i >= 0 and length >= MINVAL:
                motion = point_motion(d.inertia.cdof[w, i], offset)
                turn = outward / length * wp.cross(t, motion) + (outward * wp.dot(carried, motion)) * t
                shift = outward / length * (wp.dot(arm, t) * motion - wp.dot(arm, motion) * t)
                shift += weight * motion + (outward * wp.dot(carried, motion)) * across
                vel += wp.static(put)(m, d, w, c, r, i, wp.spatial_vector(sign * turn, sign * shift))
                i = m.dof.parentid[i]
        if segment[2] >= 0:
            vel += wp.static(put)(m, d, w, c, r, segment[2], wp.spatial_vector(sign * t, sign * across))
        return vel

    return named(segment_motion, f"{put.key}_of_segment")


add_segment = of_segment(put_motion)
"""The rows of a contact += those of its point on the surface of a segment; returns the velocity it adds."""


@wp.func
def name_corners(m: Model, d: Data, w: int, c: int, r: int):
    """Let rows of a contact on a pinned vertex, which move nothing, list the corners: they belong to their island."""
    for side in range(2):
        if d.crow.bodies[w, c][side] < 0:
            corners = side_vertices(m, d, w, c, side)
            for k in range(4):
                if is_corner(m, d.fcon.flex[w, c][side], corners, k):
                    add_body(m, d, w, c, r, m.flex.point[corners[k]][1], 0.0)


@wp.func
def sparse_contacts(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows of contacts: a point of each side, as part of a body or as a mean of those that bear an element."""
    for c in range(lane, d.con.ncon[w], lanes):
        r = d.crow.address[w, c]
        if r >= 0 and d.con.exclude[w, c] == Exclude.NONE:
            dim = d.con.dim[w, c]
            rows = dim
            if dim > 1 and m.opt.cone == Cone.PYRAMIDAL:
                rows = 2 * (dim - 1)
            open_rows(d.efc, w, r, rows)
            vel = wp.spatial_vector()
            weight = float(0.0)
            for side in range(2):
                sign = 2.0 * float(side) - 1.0
                body = d.crow.bodies[w, c][side]
                if body >= 0:
                    vel += add_body(m, d, w, c, r, body, sign)
                    weight += m.body.invweight0[w, body][0]
                else:
                    f = d.fcon.flex[w, c][side]
                    corners = side_vertices(m, d, w, c, side)
                    share = side_weights(m, d, w, c, corners)
                    x = side_coordinates(m, w, corners, share)
                    e = turning_segment(m, d, w, c, side)
                    if e >= 0:
                        vel += add_segment(m, d, w, c, r, side, e)
                    for k in range(bearers(m, f)):
                        bearer, part = bearing(m, f, corners, share, x, k)
                        if part != 0.0:
                            if e < 0:
                                vel += add_body(m, d, w, c, r, bearer, sign * part)
                            weight += part * m.body.invweight0[w, bearer][0]
            if d.efc.ncol[w, r] == 0:
                name_corners(m, d, w, c, r)
            if m.size.flg_surfacevel != 0:
                for side in range(2):
                    g = d.con.geom[w, c][side]
                    if g >= 0:  # elements of flexes have no such velocity
                        vel += (2.0 * float(side) - 1.0) * surface_velocity(
                            m.geom.surfacevel, d.pose.geom_xpos, d.pose.geom_xmat, w, g, d.con.pos[w, c],
                            d.con.frame[w, c],
                        )  # fmt: skip
            d.crow.vel[w, c] = vel
            weight = inverse_inertia(m.opt, weight)
            put_rows(
                d.con, d.crow, d.efc, w, r, c, m.opt.cone, m.opt.impratio[w], row_time(m.opt, w), weight, vel
            )
