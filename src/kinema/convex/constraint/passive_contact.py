"""Passive contact of flexes: a penalty on depth in place of a constraint, without friction (`passive="true"`).

Where a flex meets another, itself, or what cannot move, a spring presses along the normal, with the stiffness
k = OMEGA2 m, where m is the smaller mass of the two sides:

    of vertices that are bodies    the smallest of those that take part
    of an interpolated flex        (nodes / vertices) / sum of w^2 / m_n: what its nodes, with shares w and masses m_n,
                                   oppose to a push; nodes that slide along three axes count, the mesh's vertices all

The discrete integrator takes the spring at the end of the step, where the depth is dist + h J v + h^2 J a:

    f = -k (dist + h J v + h^2 J a) = -D (J a - aref),     D = h^2 k,     aref = -dist / h^2 - J v / h

Within the margin, where nothing is pressed yet, dist counts as 0, and what is left slows the approach, as in MuJoCo.
So the spring is a row that acts both ways, softly: one solve has it and all else, whichever vertices it couples. MuJoCo
keeps the same term in its metric; accelerations agree, but there the force counts to qfrc_spring, here to
qfrc_constraint, and nefc counts the row. Contacts say so in `exclude`, and have no address.
"""

from __future__ import annotations

import warp as wp

from kinema.convex.constraint.bearing import bearers, bearing, side_coordinates, side_vertices, side_weights
from kinema.convex.constraint.sparse import add_point, open_rows
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.mujoco_enums import MINVAL, Constraint, Exclude

OMEGA2 = wp.constant(5.0e7)  # squared frequency of the spring [rad^2/s^2]
NO_MASS = wp.constant(1.0e30)  # of what has none to oppose


@wp.func
def vertex_mass(m: Model, d: Data, w: int, v: int, least: float) -> float:
    """The smaller of a mass and that of a vertex, if it slides along three axes."""
    body = m.flex.point[v][1]
    if body >= 0:
        if m.body.dofnum[body] == 3:
            i = m.body.dofadr[body]
            mass = d.inertia.M[w, m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1]
            if mass > 0.0:
                return wp.min(least, mass)
    return least


@wp.func
def add_side(m: Model, d: Data, w: int, c: int, r: int, side: int) -> float:
    """Row r += how fast one side of a contact moves along the normal; returns the smallest mass of its vertices."""
    f = d.fcon.flex[w, c][side]
    frame = d.con.frame[w, c]
    normal = (2.0 * float(side) - 1.0) * wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
    corners = side_vertices(m, d, w, c, side)
    share = side_weights(m, d, w, c, corners)
    x = side_coordinates(m, w, corners, share)
    least = float(NO_MASS)
    for k in range(bearers(m, f)):
        body, part = bearing(m, f, corners, share, x, k)
        if part != 0.0:
            add_point(m, d, w, r, body, d.con.pos[w, c], part * normal)
        if m.flex.span[f][4] == 0 and corners[wp.min(k, 3)] >= 0:
            least = vertex_mass(m, d, w, corners[wp.min(k, 3)], least)
    return least


@wp.func
def node_mass(m: Model, d: Data, w: int, f: int, r: int) -> float:
    """The mass of the side of an interpolated flex whose shares are all that a row has; nodes slide along unit axes."""
    inverse = float(0.0)
    for a in range(d.efc.ncol[w, r]):
        i = d.efc.col[w, r, a]
        body = m.dof.bodyid[i]
        if m.body.dofnum[body] == 3 and m.flex.bodypoint[body + 1] > m.flex.bodypoint[body]:
            mass = d.inertia.M[w, m.dof.M_rowadr[i] + m.dof.M_rownnz[i] - 1]
            if mass > 0.0:
                inverse += d.efc.J[w, r, a] * d.efc.J[w, r, a] / mass
    if inverse == 0.0:
        return NO_MASS
    return float(m.flex.span[f][9]) / float(m.flex.span[f][1]) / inverse


@wp.func
def add_sides(m: Model, d: Data, w: int, c: int, r: int) -> float:
    """The columns of a row; returns the smaller mass of the sides that are flexes."""
    least = float(NO_MASS)
    for side in range(2):
        f = d.fcon.flex[w, c][side]
        if f >= 0:
            open_rows(d.efc, w, r, 1)
            least = wp.min(least, add_side(m, d, w, c, r, side))
            if m.flex.span[f][4] != 0:
                least = wp.min(least, node_mass(m, d, w, f, r))
    if d.fcon.flex[w, c][0] >= 0:  # the second side is in place
        add_side(m, d, w, c, r, 0)
    return least


@wp.func
def passive_contacts(m: Model, d: Data, w: int, lane: int, lanes: int):
    """The rows of passive contacts."""
    h = m.opt.timestep[w]
    for c in range(lane, d.con.ncon[w], lanes):
        r = d.crow.address[w, c]
        if d.con.exclude[w, c] == Exclude.PASSIVE and r >= 0:
            least = add_sides(m, d, w, c, r)
            vel = float(0.0)
            for a in range(d.efc.ncol[w, r]):
                vel += d.efc.J[w, r, a] * d.state.qvel[w, d.efc.col[w, r, a]]
            weight = h * h * OMEGA2 * wp.where(least < NO_MASS, least, 0.0)
            dist = d.con.dist[w, c]
            d.efc.type[w, r] = Constraint.EQUALITY
            d.efc.id[w, r] = c
            d.efc.pos[w, r] = dist
            d.efc.margin[w, r] = 0.0
            d.efc.frictionloss[w, r] = 0.0
            d.efc.vel[w, r] = vel
            d.efc.D[w, r] = weight
            d.efc.R[w, r] = 1.0 / wp.max(weight, MINVAL)
            d.efc.aref[w, r] = -(wp.min(dist, 0.0) / h + vel) / h
            d.crow.address[w, c] = -1
