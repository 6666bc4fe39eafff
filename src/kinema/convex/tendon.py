"""Tendons: length, Jacobian, velocity, and the forces they make on their own.

    fixed      L = sum c_j q_j,                       J = c
    spatial    L = sum |x_{k+1} - x_k| / divisor,     J = sum u' (J_{k+1} - J_k) / divisor,   u = (x_{k+1} - x_k) / |.|

A spatial path runs through sites; between two sites it may go around a sphere or a cylinder (wrap.py), whose two points
of contact belong to the geom's body. A pulley ends a branch and gives the divisor of the next. Only segments between
different bodies move the length, and only by the dofs the two bodies do not share: turning both together does not
change a distance.

    spring   f = -(k x + k1 x^2 + k2 x^3),   x = how far L is outside [lower, upper]
    damper   f = -(b v + b1 v |v| + b2 v^3)
    armature M += a J'J,   bias += a J' (J. q.)

The recipe runs `fixed_tendon`, `spatial_tendon` and `tendon_paths` with the positions, `tendon_velocity` with the
velocities, `tendon_passive` inside the passive forces (it adds to qfrc_spring and qfrc_damper), `tendon_bias` after the
bias force (it adds to qfrc_bias). The mass matrix takes the armature itself (mass.py).
"""

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.jacobian import add_row, common_dof, last_dof, point_motion
from kinema.convex.mass import actuator_armature
from kinema.convex.model import Model
from kinema.convex.passive import actuator_damping, damping_at, stiffness_at
from kinema.convex.stage import Stage
from kinema.convex.wrap import wrap
from kinema.math.spatial import angular
from kinema.math.vector import normalize_with_length
from kinema.mujoco_enums import MINVAL, Disable, Tendon, Transmission, Wrap

AT_SITE, AT_PULLEY = wp.constant(-1), wp.constant(-2)  # wrap_obj where it is not a geom's id


# ---------------------------------------------------------------------------------------------- position


@wp.func
def fixed_tendon(m: Model, d: Data, w: int, i: int):
    """Length and Jacobian of tendon i, if it is a combination of joints."""
    if m.tendon.type[i] == Tendon.FIXED:
        row = m.tendon.ten_J_rowadr[i]
        nnz = m.tendon.ten_J_rownnz[i]
        adr = m.tendon.adr[i]
        length = float(0.0)
        for k in range(adr, adr + m.tendon.num[i]):
            joint = m.tendon.wrap_objid[k]
            coef = m.tendon.wrap_prm[w, k]
            length += coef * d.state.qpos[w, m.jnt.qposadr[joint]]
            dof = m.jnt.dofadr[joint]
            for c in range(row, row + nnz):
                if m.tendon.ten_J_colind[c] == dof:
                    d.ten.J[w, c] = coef
        d.ten.length[w, i] = length
        d.ten.wrapnum[w, i] = 0


@wp.func
def path_point(
    wrap_xpos: wp.array3d(dtype=wp.vec3), wrap_obj: wp.array3d(dtype=int), w: int, at: int, xpos: wp.vec3, obj: int
):
    """Write one point of a path."""
    wrap_xpos[w, at / 2, at % 2] = xpos
    wrap_obj[w, at / 2, at % 2] = obj


@wp.func
def spatial_tendon(m: Model, d: Data, w: int, i: int):
    """Length, Jacobian and path of tendon i, if it is a path through sites.

    The path is written from twice its first object's address on, where there is room for it whatever it wraps around;
    `tendon_paths` closes the gaps.
    """
    if m.tendon.type[i] == Tendon.SPATIAL:
        row = m.tendon.ten_J_rowadr[i]
        end = row + m.tendon.ten_J_rownnz[i]
        for c in range(row, end):
            d.ten.J[w, c] = 0.0
        adr = m.tendon.adr[i]
        last = adr + m.tendon.num[i] - 1
        length = float(0.0)
        inverse_divisor = float(1.0)
        at = int(2 * adr)
        k = int(adr)
        while k < last:
            here = m.tendon.wrap_type[k]
            ahead = m.tendon.wrap_type[k + 1]
            if here == Wrap.PULLEY or ahead == Wrap.PULLEY:
                if here == Wrap.PULLEY:
                    inverse_divisor = 1.0 / m.tendon.wrap_prm[w, k]
                    path_point(d.ten.wrap_xpos, d.ten.wrap_obj, w, at, wp.vec3(0.0), AT_PULLEY)
                    at += 1
                k += 1
            else:
                # from the site here to the next site, straight or around the geom between them
                around = ahead == Wrap.SPHERE or ahead == Wrap.CYLINDER
                next_site = wp.where(around, k + 2, k + 1)
                site0 = m.tendon.wrap_objid[k]
                site1 = m.tendon.wrap_objid[next_site]
                x0 = d.pose.site_xpos[w, site0]
                x1 = d.pose.site_xpos[w, site1]
                arc = float(-1.0)
                t0 = x0
                t1 = x1
                geom = int(-1)
                if around:
                    geom = m.tendon.wrap_objid[k + 1]
                    side = int(wp.round(m.tendon.wrap_prm[w, k + 1]))
                    side_xpos = wp.vec3(0.0)
                    if side >= 0:
                        side_xpos = d.pose.site_xpos[w, side]
                    arc, t0, t1 = wrap(
                        x0, x1, d.pose.geom_xpos[w, geom], d.pose.geom_xmat[w, geom], m.geom.size[w, geom][0], ahead,
                        side_xpos, side >= 0,
                    )  # fmt: skip
                path_point(d.ten.wrap_xpos, d.ten.wrap_obj, w, at, x0, AT_SITE)
                at += 1
                pieces = int(1)
                if arc >= 0.0:
                    pieces = 2
                    length += arc * inverse_divisor
                    path_point(d.ten.wrap_xpos, d.ten.wrap_obj, w, at, t0, geom)
                    path_point(d.ten.wrap_xpos, d.ten.wrap_obj, w, at + 1, t1, geom)
                    at += 2
                for piece in range(pieces):
                    start = x0
                    start_body = m.site.bodyid[site0]
                    stop = x1
                    stop_body = m.site.bodyid[site1]
                    if pieces == 2:
                        if piece == 0:
                            stop = t0
                            stop_body = m.geom.bodyid[geom]
                        else:
                            start = t1
                            start_body = m.geom.bodyid[geom]
                    u, distance = normalize_with_length(stop - start)
                    length += distance * inverse_divisor
                    if start_body != stop_body:
                        u = u * inverse_divisor
                        dof0 = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, start_body)
                        dof1 = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, stop_body)
                        shared = common_dof(m.dof.parentid, dof0, dof1)
                        add_row(
                            d.ten.J, w, end, m.tendon.ten_J_colind, m.dof.parentid, d.inertia.cdof, dof0, shared,
                            start - d.inertia.subtree_com[w, m.body.rootid[start_body]], -u,
                        )  # fmt: skip
                        add_row(
                            d.ten.J, w, end, m.tendon.ten_J_colind, m.dof.parentid, d.inertia.cdof, dof1, shared,
                            stop - d.inertia.subtree_com[w, m.body.rootid[stop_body]], u,
                        )  # fmt: skip
                k = next_site
                branch_ends = bool(True)
                if k < last:
                    branch_ends = m.tendon.wrap_type[k + 1] == Wrap.PULLEY
                if branch_ends:
                    path_point(d.ten.wrap_xpos, d.ten.wrap_obj, w, at, x1, AT_SITE)
                    at += 1
        d.ten.length[w, i] = length
        d.ten.wrapnum[w, i] = at - 2 * adr


@wp.func
def tendon_paths(m: Model, d: Data, w: int):
    """Move the points of all paths together, as MuJoCo lays them out."""
    count = int(0)
    for i in range(m.size.ntendon):
        first = 2 * m.tendon.adr[i]
        num = d.ten.wrapnum[w, i]
        d.ten.wrapadr[w, i] = count
        if first != count:
            for k in range(num):
                xpos = d.ten.wrap_xpos[w, (first + k) / 2, (first + k) % 2]
                obj = d.ten.wrap_obj[w, (first + k) / 2, (first + k) % 2]
                path_point(d.ten.wrap_xpos, d.ten.wrap_obj, w, count + k, xpos, obj)
        count += num


# ---------------------------------------------------------------------------------------------- velocity and force


@wp.func
def tendon_velocity(m: Model, d: Data, w: int, i: int):
    """Rate of the length of tendon i."""
    row = m.tendon.ten_J_rowadr[i]
    velocity = float(0.0)
    for c in range(row, row + m.tendon.ten_J_rownnz[i]):
        velocity += d.ten.J[w, c] * d.state.qvel[w, m.tendon.ten_J_colind[c]]
    d.ten.velocity[w, i] = velocity


@wp.func
def stretch(length: float, lower: float, upper: float) -> float:
    """How far a length is outside [lower, upper]; on a bound it counts as outside, where it has a slope."""
    x = float(0.0)
    if length >= upper:
        x = length - upper
    elif length <= lower:
        x = length - lower
    return x


@wp.func
def tendon_rest(m: Model, d: Data, w: int, i: int) -> wp.vec2:
    """The lengths between which the spring of tendon i is slack; one that can yield carries its own."""
    rest = m.tendon.lengthspring[w, i]
    yielded = m.tendon.plasticadr[i]
    if yielded >= 0:
        rest = wp.vec2(d.state.plastic[w, yielded], d.state.plastic[w, yielded + 1])
    return rest


@wp.func
def tendon_damping(m: Model, w: int, i: int) -> wp.vec3:
    """Coefficients (b0, b1, b2) of tendon i, those of actuators on it included."""
    poly = m.tendon.dampingpoly[w, i]
    sum = wp.vec3(m.tendon.damping[w, i], poly[0], poly[1])
    if m.tendon.actuatorid[i] != -1:
        sum += actuator_damping(m, w, True, i, m.tendon.actuatorid[i])
    return sum


@wp.func
def tendon_passive(m: Model, d: Data, w: int):
    """Add the springs and dampers of tendons to qfrc_spring and qfrc_damper."""
    for i in range(m.size.ntendon):
        spring = float(0.0)
        if (m.opt.disableflags & Disable.SPRING) == 0:
            slack = tendon_rest(m, d, w, i)
            x = stretch(d.ten.length[w, i], slack[0], slack[1])
            spring = -x * stiffness_at(m.tendon.stiffness[w, i], m.tendon.stiffnesspoly[w, i], x)
        damper = float(0.0)
        if (m.opt.disableflags & Disable.DAMPER) == 0:
            v = d.ten.velocity[w, i]
            b = tendon_damping(m, w, i)
            damper = -v * damping_at(b[0], wp.vec2(b[1], b[2]), v)
        if spring != 0.0 or damper != 0.0:
            row = m.tendon.ten_J_rowadr[i]
            for c in range(row, row + m.tendon.ten_J_rownnz[i]):
                k = m.tendon.ten_J_colind[c]
                d.frc.qfrc_spring[w, k] = d.frc.qfrc_spring[w, k] + d.ten.J[w, c] * spring
                d.frc.qfrc_damper[w, k] = d.frc.qfrc_damper[w, k] + d.ten.J[w, c] * damper


# ---------------------------------------------------------------------------------------------- armature


@wp.func
def length_bias(m: Model, d: Data, w: int, i: int) -> float:
    """Second derivative of the length of a spatial tendon through sites when qacc = 0: J. q. .

    With v and a the relative velocity and acceleration of the ends of a piece: u . a + |v - u (u . v)|^2 / distance.
    """
    result = float(0.0)
    inverse_divisor = float(1.0)
    adr = m.tendon.adr[i]
    for k in range(adr, adr + m.tendon.num[i] - 1):
        if m.tendon.wrap_type[k] == Wrap.PULLEY:
            inverse_divisor = 1.0 / m.tendon.wrap_prm[w, k]
        elif m.tendon.wrap_type[k + 1] != Wrap.PULLEY:
            gap = wp.vec3(0.0)
            v = wp.vec3(0.0)
            a = wp.vec3(0.0)
            sign = float(-1.0)
            for end in range(k, k + 2):
                site = m.tendon.wrap_objid[end]
                body = m.site.bodyid[site]
                xpos = d.pose.site_xpos[w, site]
                offset = xpos - d.inertia.subtree_com[w, m.body.rootid[body]]
                cvel = d.vel.cvel[w, body]
                velocity = point_motion(cvel, offset)
                cacc = wp.spatial_vector()
                dof = last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, body)
                while dof >= 0:
                    cacc += d.vel.cdof_dot[w, dof] * d.state.qvel[w, dof]
                    dof = m.dof.parentid[dof]
                gap += sign * xpos
                v += sign * velocity
                a += sign * (point_motion(cacc, offset) + wp.cross(angular(cvel), velocity))
                sign = 1.0
            u, distance = normalize_with_length(gap)
            v -= wp.dot(u, v) * u
            if distance > MINVAL:
                result += (wp.dot(u, a) + wp.dot(v, v) / distance) * inverse_divisor
    return result


@wp.func
def total_armature(m: Model, w: int, i: int) -> float:
    """Armature of tendon i, that of actuators on it included."""
    armature = m.tendon.armature[w, i]
    if m.tendon.actuatorid[i] != -1:
        armature += actuator_armature(m, w, True, i, m.tendon.actuatorid[i])
    return armature


@wp.func
def tendon_bias(m: Model, d: Data, w: int):
    """Add to qfrc_bias what the armature of spatial tendons makes of velocity."""
    for i in range(m.size.ntendon):
        armature = float(0.0)
        if m.tendon.type[i] == Tendon.SPATIAL:
            armature = total_armature(m, w, i)
        if armature != 0.0:
            force = armature * length_bias(m, d, w, i)
            row = m.tendon.ten_J_rowadr[i]
            for c in range(row, row + m.tendon.ten_J_rownnz[i]):
                k = m.tendon.ten_J_colind[c]
                d.frc.qfrc_bias[w, k] = d.frc.qfrc_bias[w, k] + force * d.ten.J[w, c]


# ---------------------------------------------------------------------------------------------- host


def stages(m) -> list[Stage]:
    """The stages of position for the kinds of tendons a model has."""
    types = np.asarray(m.tendon_type)
    recipe = [Stage(fixed_tendon, over="ntendon")] if np.any(types == Tendon.FIXED) else []
    if np.any(types == Tendon.SPATIAL):
        recipe += [Stage(spatial_tendon, over="ntendon"), Stage(tendon_paths)]
    return recipe


def has_armature(m) -> bool:
    """Whether any tendon, or an actuator on one, has armature."""
    on_tendon = np.asarray(m.actuator_trntype) == Transmission.TENDON
    return bool(np.any(m.tendon_armature) or np.any(np.asarray(m.actuator_armature)[on_tendon]))
