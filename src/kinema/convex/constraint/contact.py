"""Contact rows: one for a frictionless contact, the edges of a pyramid, or the axes of an elliptic cone.

    J_k = n_k . (J_point2 - J_point1)     k: normal, two tangents; then, from the rotations, spin and two rolls
    pyramid edge:  J_0 +- mu_k J_k        2 (condim - 1) rows
    elliptic:      J_0, J_1, ...          condim rows
"""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.impedance import (
    damping,
    impedance,
    regularization,
    safe_friction_solref,
    safe_solimp,
    safe_solref,
    stiffness,
)
from kinema.convex.constraint.row import (
    CONTACT_ELLIPTIC,
    CONTACT_FRICTIONLESS,
    CONTACT_PYRAMIDAL,
    holds,
    point_column,
    solref_floor,
)
from kinema.convex.data import Data, Rows
from kinema.convex.model import Model
from kinema.math.lanes import lane_count, lane_sum
from kinema.math.spatial import angular

DISABLE_CONTACT = wp.constant(16)
PYRAMIDAL = wp.constant(0)


@wp.func
def contact_rows(m: Model, d: Data, w: int, lane: int, n: int) -> int:
    """Append the rows of all contacts; returns the new number of rows."""
    if m.opt.disableflags & DISABLE_CONTACT:
        return n
    floor = solref_floor(m, w)
    r = n
    for c in range(d.con.ncon[w]):
        geoms = d.con.geom[w, c]
        b1 = m.geom.bodyid[geoms[0]]
        b2 = m.geom.bodyid[geoms[1]]
        dim = d.con.dim[w, c]
        rows = dim
        if dim > 1 and m.opt.cone == PYRAMIDAL:
            rows = 2 * (dim - 1)
        if d.con.exclude[w, c] != 0 or m.body.weldid[b1] == m.body.weldid[b2]:
            rows = 0
        if lane == 0:
            d.crow.address[w, c] = wp.where(rows > 0 and r + rows <= m.size.nefcmax, r, -1)
        if rows > 0 and r + rows <= m.size.nefcmax:
            vel = contact_columns(m, d, w, lane, r, c, b1, b2)
            if lane == 0:
                if m.size.flg_surfacevel != 0:
                    vel += surface_velocity(m, d, w, c)
                contact_scalars(m, d, w, r, c, b1, b2, vel, floor)
            r += rows
        elif lane == 0:
            d.efc.dropped[w] = d.efc.dropped[w] + rows
    return r


@wp.func
def contact_columns(m: Model, d: Data, w: int, lane: int, r: int, c: int, b1: int, b2: int) -> wp.spatial_vector:
    """Write the rows of J of one contact; returns its velocity in the contact frame (normal, tangents, spin, rolls)."""
    pos = d.con.pos[w, c]
    frame = d.con.frame[w, c]
    dim = d.con.dim[w, c]
    friction = d.con.friction[w, c]
    vel = wp.spatial_vector()
    for i in range(lane, m.size.nv, lane_count()):
        body = m.dof.bodyid[i]
        end = m.dof.bodyend[i]
        sign = holds(b2, body, end) - holds(b1, body, end)
        axis = wp.spatial_vector()
        if sign != 0.0:
            cdof = d.inertia.cdof[w, i]
            point = point_column(cdof, pos - d.inertia.subtree_com[w, m.body.rootid[body]])
            axis = wp.spatial_vector(sign * (frame * point), sign * (frame * angular(cdof)))
            vel += axis * d.state.qvel[w, i]
        if dim == 1:
            d.efc.J[w, r, i] = axis[0]
        elif m.opt.cone == PYRAMIDAL:
            for k in range(1, dim):
                edge = friction[k - 1] * axis[k]
                d.efc.J[w, r + 2 * k - 2, i] = axis[0] + edge
                d.efc.J[w, r + 2 * k - 1, i] = axis[0] - edge
        else:
            for k in range(dim):
                d.efc.J[w, r + k, i] = axis[k]
    for k in range(dim):
        vel[k] = lane_sum(vel[k])
    return vel


@wp.func
def surface_velocity(m: Model, d: Data, w: int, c: int) -> wp.spatial_vector:
    """What moving surfaces add to the velocity of a contact: in the tangent plane and about the normal only."""
    geoms = d.con.geom[w, c]
    pos = d.con.pos[w, c]
    lin = wp.vec3()
    ang = wp.vec3()
    for side in range(2):
        g = geoms[side]
        local = m.geom.surfacevel[w, g]
        sign = 2.0 * float(side) - 1.0
        rot = d.pose.geom_xmat[w, g]
        turn = rot * wp.vec3(local[3], local[4], local[5])
        lin += sign * (rot * wp.vec3(local[0], local[1], local[2]) + wp.cross(turn, pos - d.pose.geom_xpos[w, g]))
        ang += sign * turn
    frame = d.con.frame[w, c]
    along = frame * lin
    return wp.spatial_vector(0.0, along[1], along[2], (frame * ang)[0], 0.0, 0.0)


@wp.func
def contact_scalars(m: Model, d: Data, w: int, r: int, c: int, b1: int, b2: int, vel: wp.spatial_vector, floor: float):
    """Residual, regularization and reference acceleration of the rows of one contact."""
    dim = d.con.dim[w, c]
    friction = d.con.friction[w, c]
    weight = m.body.invweight0[w, b1] + m.body.invweight0[w, b2]  # (translation, rotation)
    margin = d.con.includemargin[w, c]
    dist = d.con.dist[w, c]
    adhesion = d.con.adhesion[w, c]
    solimp = safe_solimp(d.con.solimp[w, c])
    ref = safe_solref(d.con.solref[w, c], floor)
    imp = impedance(solimp, dist - margin)
    k = stiffness(ref, solimp[1])
    b = damping(ref, solimp[1])
    push = -k * imp * (dist - margin)
    mu = friction[0] / wp.sqrt(wp.max(1e-15, m.opt.impratio[w]))
    d.crow.mu[w, c] = mu
    if dim == 1:
        put_contact(d.efc, w, r, CONTACT_FRICTIONLESS, c, vec5(dist, margin, vel[0], -b * vel[0] + push, adhesion),
                    regularization(imp, weight[0]))  # fmt: skip
    elif m.opt.cone == PYRAMIDAL:
        # all edges share the R that matches the friction of the elliptic cone
        reg = 2.0 * mu * mu * regularization(imp, weight[0] * (1.0 + friction[0] * friction[0]))
        share = adhesion / float(2 * (dim - 1))
        for e in range(2 * (dim - 1)):
            axis = e / 2 + 1
            along = friction[axis - 1] * vel[axis]
            v = vel[0] + wp.where(e % 2 == 0, along, -along)
            put_contact(d.efc, w, r + e, CONTACT_PYRAMIDAL, c, vec5(dist, margin, v, -b * v + push, share), reg)
    else:
        normal = regularization(imp, weight[0])
        put_contact(d.efc, w, r, CONTACT_ELLIPTIC, c, vec5(dist, margin, vel[0], -b * vel[0] + push, adhesion), normal)
        slide = damping(safe_friction_solref(d.con.solreffriction[w, c], ref, floor), solimp[1])
        first = normal / wp.max(1e-15, m.opt.impratio[w])
        for a in range(1, dim):
            ratio = friction[0] / friction[a - 1]
            put_contact(d.efc, w, r + a, CONTACT_ELLIPTIC, c, vec5(0.0, 0.0, vel[a], -slide * vel[a], 0.0),
                        first * ratio * ratio)  # fmt: skip


@wp.func
def put_contact(efc: Rows, w: int, r: int, kind: int, c: int, what: vec5, reg: float):
    """Store one contact row; what: position, margin, velocity, reference acceleration, adhesion."""
    efc.type[w, r] = kind
    efc.id[w, r] = c
    efc.pos[w, r] = what[0]
    efc.margin[w, r] = what[1]
    efc.frictionloss[w, r] = 0.0
    efc.vel[w, r] = what[2]
    efc.R[w, r] = reg
    efc.D[w, r] = 1.0 / reg
    efc.aref[w, r] = what[3] + reg * what[4]
