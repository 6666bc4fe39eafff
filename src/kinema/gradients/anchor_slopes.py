"""How Jdot v of connects and welds changes with velocities; and what connects are made of (connect_slopes.cpp).

Everything behind dof k gets the spatial acceleration S_k x v + Z_k for a unit of its velocity (tree_slopes.cpp), a
point of it at r from the centre of the tree, with velocity p and turning at w, so

    d(acceleration of the point)/dv_k = linear + angular x r + S_ang x p + w x (S_lin + S_ang x r)

and the rotational rows of a weld follow by the product rule from equality.py, `weld_drift`.
"""

import warp as wp

from kinema.convex.constraint.equality import anchors, row_count
from kinema.convex.constraint.row import holds, point_column, row_time
from kinema.convex.data import Data
from kinema.convex.integrate.derivatives import dof_slope
from kinema.convex.model import Model
from kinema.gradients.row_slopes import impedance_slope
from kinema.math.impedance import impedance, safe_solimp, safe_solref, stiffness
from kinema.math.lanes import lane_count, sync
from kinema.math.quaternion import conjugate, mul_quat
from kinema.math.spatial import angular, cross_motion, linear
from kinema.mujoco_enums import Equality, Integrator


@wp.func
def is_connected(m: Model, e: int) -> bool:
    """Has an equality a closed form? Connects have one in continuous time."""
    return m.eq.type[e] == Equality.CONNECT and m.opt.integrator != Integrator.DISCRETE


@wp.func
def point_slope(
    cdof: wp.spatial_vector, slope: wp.spatial_vector, vel: wp.spatial_vector, offset: wp.vec3
) -> wp.vec3:
    """Of the acceleration of a point at an offset from the centre of its tree; vel: of its body."""
    own = cross_motion(cdof, vel) + slope
    p = linear(vel) + wp.cross(angular(vel), offset)
    turning = wp.cross(angular(cdof), p) + wp.cross(angular(vel), point_column(cdof, offset))
    return linear(own) + wp.cross(angular(own), offset) + turning


POINT = 12
"""Numbers of a connect: its two points, its two bodies, its first row, -1: none; s, s' and s_D of its spring."""


@wp.func
def put_connect(m: Model, d: Data, w: int, slot: int, e: int, row: int, out: wp.array3d(dtype=float)):
    """Those of equality e; row: -1 where it is none, or is known otherwise."""
    out[slot, e, 8] = float(row)
    if row >= 0:
        b1, b2, x1, x2, _q1, _q2 = anchors(m, d, w, e)
        ref = safe_solref(m.eq.solref[w, e], row_time(m.opt, w)[0])
        solimp = safe_solimp(m.eq.solimp[w, e])
        gap = wp.length(x1 - x2)
        imp = impedance(solimp, gap)
        slope = impedance_slope(solimp, gap)
        k = stiffness(ref, solimp[1])
        for i in range(3):
            out[slot, e, i] = x1[i]
            out[slot, e, 3 + i] = x2[i]
        out[slot, e, 6] = float(b1)
        out[slot, e, 7] = float(b2)
        out[slot, e, 9] = k * imp
        out[slot, e, 10] = k * slope
        out[slot, e, 11] = slope / (imp * (1.0 - imp))


@wp.func
def anchor_slopes(
    m: Model, d: Data, w: int, lane: int, slot: int, out: wp.array3d(dtype=float), points: wp.array3d(dtype=float)
):
    """Those of all rows of connects and welds, [slot, row, dof]; lanes share out the dofs."""
    for e in range(m.size.neq):
        size = row_count(m.eq.type[e])
        r = d.efc.start[w, e]
        if lane == 0:
            put_connect(m, d, w, slot, e, wp.where(is_connected(m, e), r, -1), points)
        if r >= 0 and size > 1:
            b1, b2, x1, x2, q1, q2 = anchors(m, d, w, e)
            r1 = x1 - d.inertia.subtree_com[w, m.body.rootid[b1]]
            r2 = x2 - d.inertia.subtree_com[w, m.body.rootid[b2]]
            v1 = d.vel.cvel[w, b1]
            v2 = d.vel.cvel[w, b2]
            apart = angular(v1) - angular(v2)
            for i in range(lane, m.size.nv, lane_count()):
                s1 = holds(b1, m.dof.bodyid[i], m.dof.bodyend[i])
                s2 = holds(b2, m.dof.bodyid[i], m.dof.bodyend[i])
                lin = wp.vec3()
                rot = wp.vec3()
                if s1 + s2 > 0.0:
                    cdof = d.inertia.cdof[w, i]
                    slope = dof_slope(m, d, w, i)
                    lin = s1 * point_slope(cdof, slope, v1, r1) - s2 * point_slope(cdof, slope, v2, r2)
                    if size == 6:
                        turn = angular(cdof)
                        u = s1 * angular(cross_motion(cdof, v1) + slope) - s2 * angular(cross_motion(cdof, v2) + slope)
                        u += s1 * wp.cross(turn, angular(v2)) + s2 * wp.cross(angular(v1), turn)
                        p = wp.vec4(-(s1 - s2) * wp.dot(apart, turn), u[0], u[1], u[2])
                        quat = mul_quat(mul_quat(conjugate(q2), p), q1)
                        rot = 0.5 * m.eq.data[w, e][10] * wp.vec3(quat[1], quat[2], quat[3])
                for k in range(3):
                    out[slot, r + k, i] = lin[k]
                if size == 6:
                    for k in range(3):
                        out[slot, r + 3 + k, i] = rot[k]
    sync()
