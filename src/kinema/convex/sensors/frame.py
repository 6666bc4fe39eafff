"""Sensors of frames: where an object is, how it moves, in the frame of another object or of the world.

With x, R, v, w the position, orientation, velocity and spin of an object and of its reference (the world's where there
is none), a relative reading is

    position  R_r' (x - x_r)            axis     R_r' R e_k            quaternion  q_r* q
    velocity  R_r' (v - v_r - w_r x (x - x_r))                         spin        R_r' (w - w_r)

Velocimeter, gyro and accelerometer read in the site's own frame. Accelerations are those a sensor at rest feels: the
world accelerates against gravity.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.convex.sensors.frames import object_body, object_position, object_rotation, put3
from kinema.math.quaternion import conjugate, mul_quat
from kinema.math.spatial import angular, linear
from kinema.math.vector import column
from kinema.mujoco_enums import Obj, Sensor


@wp.func
def frame_pose(m: Model, d: Data, w: int, i: int):
    """Sensors of position, orientation and magnetic field."""
    kind = m.sensor.type[i]
    adr = m.sensor.adr[i]
    obj = m.sensor.objid[i]
    ref = m.sensor.refid[i]
    if kind == Sensor.MAGNETOMETER:
        put3(d.sensor.sensordata, w, adr, wp.transpose(d.pose.site_xmat[w, obj]) * m.opt.magnetic[w])
    elif kind == Sensor.FRAMEQUAT:
        quat = wp.vec4(1.0, 0.0, 0.0, 0.0)  # of the reference inverted, then of the object
        for side in range(2):
            index = ref
            objtype = m.sensor.reftype[i]
            if side == 1:
                index = obj
                objtype = m.sensor.objtype[i]
            if index >= 0:
                own = wp.vec4(1.0, 0.0, 0.0, 0.0)
                body = object_body(m.geom.bodyid, m.site.bodyid, m.cam.bodyid, objtype, index)
                if objtype == Obj.SITE:
                    own = m.site.quat[w, index]
                elif objtype == Obj.BODY:
                    own = m.body.iquat[w, index]
                elif objtype == Obj.GEOM:
                    own = m.geom.quat[w, index]
                elif objtype == Obj.CAMERA:
                    own = m.cam.quat[w, index]
                turned = mul_quat(d.pose.xquat[w, body], own)
                if side == 0:
                    quat = conjugate(turned)
                else:
                    quat = mul_quat(quat, turned)
        for k in range(4):
            d.sensor.sensordata[w, adr + k] = quat[k]
    elif kind == Sensor.FRAMEPOS or (kind >= Sensor.FRAMEXAXIS and kind <= Sensor.FRAMEZAXIS):
        reading = wp.vec3(0.0)
        if kind == Sensor.FRAMEPOS:
            reading = object_position(d.pose, w, m.sensor.objtype[i], obj)
            if ref >= 0:
                reading -= object_position(d.pose, w, m.sensor.reftype[i], ref)
        else:
            reading = column(object_rotation(d.pose, w, m.sensor.objtype[i], obj), kind - Sensor.FRAMEXAXIS)
        if ref >= 0:
            reading = wp.transpose(object_rotation(d.pose, w, m.sensor.reftype[i], ref)) * reading
        put3(d.sensor.sensordata, w, adr, reading)


@wp.func
def frame_velocity(m: Model, d: Data, w: int, i: int):
    """Sensors of velocity and spin."""
    kind = m.sensor.type[i]
    own_frame = kind == Sensor.VELOCIMETER or kind == Sensor.GYRO
    if own_frame or kind == Sensor.FRAMELINVEL or kind == Sensor.FRAMEANGVEL:
        obj = m.sensor.objid[i]
        objtype = m.sensor.objtype[i]
        ref = m.sensor.refid[i]
        reftype = m.sensor.reftype[i]
        body = object_body(m.geom.bodyid, m.site.bodyid, m.cam.bodyid, objtype, obj)
        pos = object_position(d.pose, w, objtype, obj)
        cvel = d.vel.cvel[w, body]
        reading = angular(cvel)
        of_position = kind == Sensor.VELOCIMETER or kind == Sensor.FRAMELINVEL
        if of_position:
            reading = point_motion(cvel, pos - d.inertia.subtree_com[w, m.body.rootid[body]])
        if own_frame:
            reading = wp.transpose(d.pose.site_xmat[w, obj]) * reading
        elif ref >= 0:
            ref_body = object_body(m.geom.bodyid, m.site.bodyid, m.cam.bodyid, reftype, ref)
            ref_vel = d.vel.cvel[w, ref_body]
            if of_position:  # the point of the reference's body that is where the object is
                reading -= point_motion(ref_vel, pos - d.inertia.subtree_com[w, m.body.rootid[ref_body]])
            else:
                reading -= angular(ref_vel)
            reading = wp.transpose(object_rotation(d.pose, w, reftype, ref)) * reading
        put3(d.sensor.sensordata, w, m.sensor.adr[i], reading)


@wp.func
def frame_acceleration(m: Model, d: Data, w: int, i: int):
    """Sensors of acceleration; bodies' accelerations must be there (loads.body_acceleration)."""
    kind = m.sensor.type[i]
    if kind == Sensor.ACCELEROMETER or kind == Sensor.FRAMELINACC or kind == Sensor.FRAMEANGACC:
        obj = m.sensor.objid[i]
        objtype = m.sensor.objtype[i]
        body = object_body(m.geom.bodyid, m.site.bodyid, m.cam.bodyid, objtype, obj)
        offset = object_position(d.pose, w, objtype, obj) - d.inertia.subtree_com[w, m.body.rootid[body]]
        cvel = d.vel.cvel[w, body]
        cacc = d.vel.cacc[w, body]
        reading = angular(cacc)
        if kind != Sensor.FRAMEANGACC:
            reading = point_motion(cacc, offset) + wp.cross(angular(cvel), point_motion(cvel, offset))
        if kind == Sensor.ACCELEROMETER:
            reading = wp.transpose(d.pose.site_xmat[w, obj]) * reading
        put3(d.sensor.sensordata, w, m.sensor.adr[i], reading)


@wp.func
def interaction(m: Model, d: Data, w: int, i: int):
    """Force and torque between a site's body and its parent; the loads must be there (loads.joint_loads)."""
    kind = m.sensor.type[i]
    if kind == Sensor.FORCE or kind == Sensor.TORQUE:
        site = m.sensor.objid[i]
        body = m.site.bodyid[site]
        load = d.vel.cfrc_int[w, body]
        reading = linear(load)
        if kind == Sensor.TORQUE:
            offset = d.pose.site_xpos[w, site] - d.inertia.subtree_com[w, m.body.rootid[body]]
            reading = angular(load) - wp.cross(offset, linear(load))
        put3(d.sensor.sensordata, w, m.sensor.adr[i], wp.transpose(d.pose.site_xmat[w, site]) * reading)
