"""Limits of joints and tendons: rows that push back where a value leaves its range."""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.friction import tendon_columns, tendon_trees
from kinema.convex.constraint.row import LIMIT_JOINT, LIMIT_TENDON, put_scalars, solref_floor
from kinema.convex.data import Data
from kinema.convex.kinematics import BALL, HINGE, SLIDE, qpos_quat
from kinema.convex.model import Model
from kinema.math.lanes import lane_count, sync
from kinema.math.quaternion import to_velocity
from kinema.math.vector import normalize_with_length


@wp.func
def limit_rows(m: Model, d: Data, w: int, lane: int):
    """Append the rows of active limits."""
    floor = solref_floor(m.opt, w)
    first = d.efc.nefc[w]
    r = first
    for j in range(m.size.njnt):
        if m.jnt.limited[j] != 0:
            kind = m.jnt.type[j]
            v = m.jnt.dofadr[j]
            a = m.jnt.qposadr[j]
            margin = m.jnt.margin[w, j]
            bounds = m.jnt.range[w, j]
            tree = m.dof.treeid[v]
            adr = m.tree.dofadr[tree]
            if kind == HINGE or kind == SLIDE:
                value = d.state.qpos[w, a]
                for s in range(2):
                    side = 2.0 * float(s) - 1.0
                    dist = side * (bounds[s] - value)
                    if dist < margin:
                        if r < m.size.nefcmax:
                            for i in range(adr + lane, adr + m.tree.dofnum[tree], lane_count()):
                                d.efc.J[w, r, i] = wp.where(i == v, -side, 0.0)
                            if lane == 0:
                                d.efc.trees[w, r] = wp.vec2i(tree, -1)
                                residual = vec5(dist, margin, 0.0, -side * d.state.qvel[w, v], m.dof.invweight0[w, v])
                                put_scalars(d.efc, w, r, LIMIT_JOINT, j, residual, m.jnt.solref[w, j],
                                            m.jnt.solimp[w, j], floor)  # fmt: skip
                            r += 1
                        elif lane == 0:
                            d.efc.dropped[w] = d.efc.dropped[w] + 1
            if kind == BALL:
                axis, angle = normalize_with_length(to_velocity(qpos_quat(d.state.qpos, w, a), 1.0))
                dist = wp.max(bounds[0], bounds[1]) - angle
                if dist < margin:
                    if r < m.size.nefcmax:
                        for i in range(adr + lane, adr + m.tree.dofnum[tree], lane_count()):
                            k = i - v
                            column = float(0.0)
                            if k >= 0 and k < 3:
                                column = -axis[k]
                            d.efc.J[w, r, i] = column
                        if lane == 0:
                            d.efc.trees[w, r] = wp.vec2i(tree, -1)
                            vel = -(axis[0] * d.state.qvel[w, v] + axis[1] * d.state.qvel[w, v + 1]
                                    + axis[2] * d.state.qvel[w, v + 2])  # fmt: skip
                            residual = vec5(dist, margin, 0.0, vel, m.dof.invweight0[w, v])
                            put_scalars(d.efc, w, r, LIMIT_JOINT, j, residual, m.jnt.solref[w, j],
                                        m.jnt.solimp[w, j], floor)  # fmt: skip
                        r += 1
                    elif lane == 0:
                        d.efc.dropped[w] = d.efc.dropped[w] + 1
    for t in range(m.size.ntendon):
        if m.tendon.limited[t] != 0:
            margin = m.tendon.margin[w, t]
            bounds = m.tendon.range[w, t]
            for s in range(2):
                side = 2.0 * float(s) - 1.0
                dist = side * (bounds[s] - d.ten.length[w, t])
                if dist < margin:
                    if r < m.size.nefcmax:
                        tendon_columns(d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r,
                               m.tendon.ten_J_rowadr[t], m.tendon.ten_J_rownnz[t], -side)
                        if lane == 0:
                            d.efc.trees[w, r] = tendon_trees(m.tendon.treenum[t], m.tendon.treeid[t])
                            residual = vec5(dist, margin, 0.0, -side * d.ten.velocity[w, t], m.tendon.invweight0[w, t])
                            put_scalars(d.efc, w, r, LIMIT_TENDON, t, residual, m.tendon.solref_lim[w, t],
                                        m.tendon.solimp_lim[w, t], floor)  # fmt: skip
                        r += 1
                    elif lane == 0:
                        d.efc.dropped[w] = d.efc.dropped[w] + 1
    sync()
    if lane == 0:
        d.efc.nl[w] = r - first
        d.efc.nefc[w] = r
    sync()
