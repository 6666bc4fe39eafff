"""Contact sensors: the contacts between two sets of geoms, sorted and reduced to a fixed number of slots.

A contact matches when one of its sides is in the first set and the other in the second. A set is a geom, a body, a
subtree (xbody), everything, or, for the first, all that touches inside a site. Slots hold the matching contacts as they
come, the deepest, or the strongest; or one slot holds the net wrench about the centre of the forces, in the global
frame. Readings are turned so that the normal points from the first set to the second.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex.side import contact_body, contact_velocity
from kinema.convex.loads import contact_force
from kinema.convex.model import Model
from kinema.convex.sensors.frames import part3, put3
from kinema.convex.sensors.zone import inside
from kinema.mujoco_enums import MINVAL, ContactData, ContactReduce, Obj, Sensor

FOUND, FORCE, TORQUE, DIST, POS, NORMAL, TANGENT, LINVEL, ANGVEL = (wp.constant(1 << k) for k in ContactData)


@wp.func
def in_set(parentid: wp.array(dtype=int), body: int, geom: int, kind: int, i: int) -> bool:
    """Whether a geom of a body belongs to a set."""
    result = kind == Obj.UNKNOWN or kind == Obj.SITE
    if kind == Obj.GEOM:
        result = geom == i
    elif kind == Obj.BODY:
        result = body == i
    elif kind == Obj.XBODY:
        b = int(body)
        while b > i:
            b = parentid[b]
        result = b == i
    return result


@wp.func
def contact_match(m: Model, d: Data, w: int, i: int, c: int) -> int:
    """0: contact c is not for sensor i; 1: it is; -1: it is, with the sides exchanged."""
    kind1 = m.sensor.objtype[i]
    kind2 = m.sensor.reftype[i]
    obj = m.sensor.objid[i]
    ref = m.sensor.refid[i]
    match = int(1)
    if kind1 == Obj.SITE:
        if not inside(
            d.pose.site_xpos[w, obj], d.pose.site_xmat[w, obj], m.site.size[w, obj], m.site.type[obj], d.con.pos[w, c]
        ):
            match = 0
    if match != 0 and (kind1 != Obj.UNKNOWN or kind2 != Obj.UNKNOWN):
        geoms = d.con.geom[w, c]
        body1 = contact_body(m, d, w, c, 0)
        body2 = contact_body(m, d, w, c, 1)
        straight1 = in_set(m.body.parentid, body1, geoms[0], kind1, obj)
        crossed1 = in_set(m.body.parentid, body2, geoms[1], kind1, obj)
        crossed2 = in_set(m.body.parentid, body1, geoms[0], kind2, ref)
        straight2 = in_set(m.body.parentid, body2, geoms[1], kind2, ref)
        if kind1 != Obj.UNKNOWN and kind2 != Obj.UNKNOWN:
            if not (straight1 and straight2):
                match = wp.where(crossed1 and crossed2, -1, 0)
        elif kind1 != Obj.UNKNOWN:
            if not straight1:
                match = wp.where(crossed1, -1, 0)
        elif not straight2:
            match = wp.where(crossed2, -1, 0)
    return match


@wp.func
def slot_size(spec: int) -> int:
    """Numbers in a slot."""
    size = int(0)
    for k in range(9):
        if (spec & (1 << k)) != 0:
            size += wp.where(k == 0 or k == 3, 1, 3)
    return size


@wp.func
def contact_sensor(m: Model, d: Data, w: int, i: int):
    """Fill the slots of a contact sensor."""
    if m.sensor.type[i] == Sensor.CONTACT:
        spec = m.sensor.intprm[i][0]
        reduce = m.sensor.intprm[i][1]
        size = slot_size(spec)
        adr = m.sensor.adr[i]
        dim = m.sensor.dim[i]
        for k in range(dim):
            d.sensor.sensordata[w, adr + k] = 0.0

        count = int(0)  # contacts that match
        force = wp.vec3(0.0)
        torque = wp.vec3(0.0)
        centre = wp.vec3(0.0)
        total = float(0.0)
        last = float(-1e30)  # contacts up to this one, in order of the criterion, are written
        last_id = int(-1)
        slots = int(0)
        turn = int(0)
        while turn <= slots:  # first all are counted and summed, then each turn finds the next contact in order
            best = int(-1)
            best_match = int(0)
            lowest = float(1e30)
            for c in range(d.con.ncon[w]):
                match = contact_match(m, d, w, i, c)
                if match != 0:
                    criterion = float(0.0)
                    local = wp.spatial_vector()
                    if reduce == ContactReduce.MAXFORCE or reduce == ContactReduce.NETFORCE:
                        local = contact_force(
                            d.efc.force, w, d.crow.address[w, c], d.con.dim[w, c], m.opt.cone, d.con.friction[w, c],
                            d.con.adhesion[w, c],
                        )  # fmt: skip
                        criterion = -(local[0] * local[0] + local[1] * local[1] + local[2] * local[2])
                    elif reduce == ContactReduce.MINDIST:
                        criterion = d.con.dist[w, c]
                    if turn == 0:
                        count += 1
                        if reduce == ContactReduce.NETFORCE:
                            to_global = float(match) * wp.transpose(d.con.frame[w, c])
                            f = to_global * wp.vec3(local[0], local[1], local[2])
                            pos = d.con.pos[w, c]
                            weight = wp.length(f)
                            force += f
                            torque += to_global * wp.vec3(local[3], local[4], local[5]) + wp.cross(pos, f)
                            centre += weight * pos
                            total += weight
                    elif reduce != ContactReduce.NETFORCE:
                        unwritten = criterion > last or (criterion == last and c > last_id)
                        if unwritten and criterion < lowest:
                            lowest = criterion
                            best = c
                            best_match = match
            if turn == 0:
                slots = wp.min(count, dim / size)
                if reduce == ContactReduce.NETFORCE:
                    slots = wp.min(count, 1)
                    centre = centre / wp.max(total, MINVAL)
                    torque -= wp.cross(centre, force)
            else:
                last = lowest
                last_id = best
                at = adr + (turn - 1) * size
                if (spec & FOUND) != 0:
                    d.sensor.sensordata[w, at] = float(count)
                    at += 1
                local = wp.spatial_vector()
                sign = float(best_match)
                frame = wp.identity(3, dtype=float)
                if best >= 0:
                    frame = d.con.frame[w, best]
                    local = contact_force(
                        d.efc.force, w, d.crow.address[w, best], d.con.dim[w, best], m.opt.cone,
                        d.con.friction[w, best], d.con.adhesion[w, best],
                    )  # fmt: skip
                    force = wp.vec3(local[0], local[1], sign * local[2])
                    torque = wp.vec3(local[3], local[4], sign * local[5])
                    centre = d.con.pos[w, best]
                else:
                    sign = 1.0
                at = part3(d.sensor.sensordata, w, at, spec & FORCE, force)
                at = part3(d.sensor.sensordata, w, at, spec & TORQUE, torque)
                if (spec & DIST) != 0:
                    if best >= 0:
                        d.sensor.sensordata[w, at] = d.con.dist[w, best]
                    at += 1
                at = part3(d.sensor.sensordata, w, at, spec & POS, centre)
                normal = sign * wp.vec3(frame[0, 0], frame[0, 1], frame[0, 2])
                at = part3(d.sensor.sensordata, w, at, spec & NORMAL, normal)
                tangent = sign * wp.vec3(frame[1, 0], frame[1, 1], frame[1, 2])
                at = part3(d.sensor.sensordata, w, at, spec & TANGENT, tangent)
                if (spec & (LINVEL | ANGVEL)) != 0 and best >= 0:
                    linvel = wp.vec3(0.0)
                    angvel = wp.vec3(0.0)
                    side_sign = float(-1.0)
                    for side in range(2):
                        linear, turning = contact_velocity(m, d, w, best, side)
                        linvel += side_sign * (frame * linear)
                        angvel += side_sign * (frame * turning)
                        side_sign = 1.0
                    if (spec & LINVEL) != 0:
                        put3(d.sensor.sensordata, w, at, wp.vec3(linvel[0], linvel[1], sign * linvel[2]))
                        at += 3
                    if (spec & ANGVEL) != 0:
                        put3(d.sensor.sensordata, w, at, wp.vec3(angvel[0], angvel[1], sign * angvel[2]))
            turn += 1
