"""Limits of joints and tendons: rows that push back where a value leaves its range."""

import warp as wp

from kinema.convex.bundle import vec5
from kinema.convex.constraint.friction import tendon_columns, tendon_trees
from kinema.convex.constraint.row import LIMIT_JOINT, LIMIT_TENDON, put_scalars, solref_floor
from kinema.convex.data import Data, Rows
from kinema.convex.kinematics import BALL, HINGE, SLIDE, qpos_quat
from kinema.convex.model import Model
from kinema.math.lanes import lane_count, sync
from kinema.math.quaternion import to_velocity
from kinema.math.vector import normalize_with_length


@wp.func
def limit_addresses(m: Model, d: Data, w: int):
    """Find the active limits and give each its row; `efc.pos` holds the distance, `efc.margin` the side until then."""
    first = d.efc.nefc[w]
    r = first
    dropped = d.efc.dropped[w]
    for j in range(m.size.njnt):
        if m.jnt.limited[j] != 0:
            kind = m.jnt.type[j]
            a = m.jnt.qposadr[j]
            margin = m.jnt.margin[w, j]
            bounds = m.jnt.range[w, j]
            if kind == HINGE or kind == SLIDE:
                value = d.state.qpos[w, a]
                for s in range(2):
                    side = 2.0 * float(s) - 1.0
                    dist = side * (bounds[s] - value)
                    if dist < margin:
                        if r < m.size.nefcmax:
                            open_row(d.efc, w, r, LIMIT_JOINT, j, dist, side)
                            r += 1
                        else:
                            dropped += 1
            if kind == BALL:
                turn = to_velocity(qpos_quat(d.state.qpos, w, a), 1.0)
                dist = wp.max(bounds[0], bounds[1]) - wp.length(turn)
                if dist < margin:
                    if r < m.size.nefcmax:
                        open_row(d.efc, w, r, LIMIT_JOINT, j, dist, 1.0)
                        r += 1
                    else:
                        dropped += 1
    for t in range(m.size.ntendon):
        if m.tendon.limited[t] != 0:
            bounds = m.tendon.range[w, t]
            for s in range(2):
                side = 2.0 * float(s) - 1.0
                dist = side * (bounds[s] - d.ten.length[w, t])
                if dist < m.tendon.margin[w, t]:
                    if r < m.size.nefcmax:
                        open_row(d.efc, w, r, LIMIT_TENDON, t, dist, side)
                        r += 1
                    else:
                        dropped += 1
    d.efc.nl[w] = r - first
    d.efc.nefc[w] = r
    d.efc.dropped[w] = dropped


@wp.func
def open_row(efc: Rows, w: int, r: int, kind: int, ident: int, dist: float, side: float):
    """Reserve a row for a limit."""
    efc.type[w, r] = kind
    efc.id[w, r] = ident
    efc.pos[w, r] = dist
    efc.margin[w, r] = side


@wp.func
def limit_rows(m: Model, d: Data, w: int, lane: int):
    """Fill the rows of active limits: lanes share out the columns of J, then the rows."""
    first = d.efc.ne[w] + d.efc.nf[w]
    end = first + d.efc.nl[w]
    floor = solref_floor(m.opt, w)
    for r in range(first, end):
        ident = d.efc.id[w, r]
        side = d.efc.margin[w, r]
        if d.efc.type[w, r] == LIMIT_JOINT:
            v = m.jnt.dofadr[ident]
            tree = m.dof.treeid[v]
            adr = m.tree.dofadr[tree]
            ball = m.jnt.type[ident] == BALL
            axis = wp.vec3()
            if ball:
                axis, angle = normalize_with_length(to_velocity(qpos_quat(d.state.qpos, w, m.jnt.qposadr[ident]), 1.0))
            for i in range(adr + lane, adr + m.tree.dofnum[tree], lane_count()):
                entry = float(0.0)
                if ball:
                    if i >= v and i < v + 3:
                        entry = -axis[i - v]
                elif i == v:
                    entry = -side
                d.efc.J[w, r, i] = entry
        else:
            tendon_columns(
                d.efc.J, d.ten.J, m.tendon.ten_J_colind, w, lane, r, m.tendon.ten_J_rowadr[ident],
                m.tendon.ten_J_rownnz[ident], -side,
            )  # fmt: skip
    sync()
    for r in range(first + lane, end, lane_count()):
        ident = d.efc.id[w, r]
        side = d.efc.margin[w, r]
        dist = d.efc.pos[w, r]
        if d.efc.type[w, r] == LIMIT_JOINT:
            v = m.jnt.dofadr[ident]
            vel = -side * d.state.qvel[w, v]
            if m.jnt.type[ident] == BALL:
                vel = (
                    d.efc.J[w, r, v] * d.state.qvel[w, v]
                    + d.efc.J[w, r, v + 1] * d.state.qvel[w, v + 1]
                    + d.efc.J[w, r, v + 2] * d.state.qvel[w, v + 2]
                )
            d.efc.trees[w, r] = wp.vec2i(m.dof.treeid[v], -1)
            residual = vec5(dist, m.jnt.margin[w, ident], 0.0, vel, m.dof.invweight0[w, v])
            put_scalars(
                d.efc, w, r, LIMIT_JOINT, ident, residual, m.jnt.solref[w, ident], m.jnt.solimp[w, ident], floor
            )
        else:
            d.efc.trees[w, r] = tendon_trees(m.tendon.treenum[ident], m.tendon.treeid[ident])
            vel = -side * d.ten.velocity[w, ident]
            residual = vec5(dist, m.tendon.margin[w, ident], 0.0, vel, m.tendon.invweight0[w, ident])
            put_scalars(
                d.efc, w, r, LIMIT_TENDON, ident, residual, m.tendon.solref_lim[w, ident],
                m.tendon.solimp_lim[w, ident], floor,
            )  # fmt: skip
    sync()
