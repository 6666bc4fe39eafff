"""Distance sensors: smallest distance between the geoms of two bodies, or two geoms, and the segment that spans it.

Beyond the cutoff the distance is the cutoff, the segment and its direction are 0.
"""

from functools import cache

import numpy as np
import warp as wp

from kinema.collide.build import epa_room
from kinema.collide.bundles import Touch
from kinema.collide.distance import distance_function
from kinema.collide.table import PAIR_FUNCTION, function_mask, uses_native
from kinema.convex.data import Data
from kinema.convex.model import Model, Probes
from kinema.convex.sensors.frames import put3
from kinema.convex.stage import Stage
from kinema.mujoco_enums import Obj, Sensor

TYPES = {Sensor.GEOMDIST, Sensor.GEOMNORMAL, Sensor.GEOMFROMTO}
SLOTS = 64  # contacts a pair function may write


@cache
def distance_stage(mask: int, epa: int, portal: bool = False) -> Stage:
    """The stage that measures distances by the pair functions in the mask; `portal`: as without nativeccd."""
    geom_distance = distance_function(mask, epa, portal)

    @wp.func
    def distance_sensors(m: Model, d: Data, w: int):
        for i in range(m.size.nsensor):
            kind = m.sensor.type[i]
            if kind == Sensor.GEOMDIST or kind == Sensor.GEOMNORMAL or kind == Sensor.GEOMFROMTO:
                cutoff = m.sensor.cutoff[w, i]
                dist = float(cutoff)
                start = wp.vec3(0.0)
                stop = wp.vec3(0.0)
                for k in range(m.collision.probes[0].adr[i], m.collision.probes[0].adr[i + 1]):
                    t, a, b = geom_distance(
                        w, m.collision.probes[0].geom[k], m.collision.probes[0].function[k], cutoff,
                        m.collision.geoms, m.collision.meshes, m.collision.hfields, m.collision.settings.options,
                        m.collision.probes[0].touch, 0,
                    )  # fmt: skip
                    if t < dist:
                        dist = t
                        start = a
                        stop = b
                adr = m.sensor.adr[i]
                if kind == Sensor.GEOMDIST:
                    d.sensor.sensordata[w, adr] = dist
                elif kind == Sensor.GEOMNORMAL:
                    along = stop - start
                    if wp.dot(along, along) > 0.0:
                        along = wp.normalize(along)
                    put3(d.sensor.sensordata, w, adr, along)
                else:
                    put3(d.sensor.sensordata, w, adr, start)
                    put3(d.sensor.sensordata, w, adr + 3, stop)

    return Stage(distance_sensors)


def _geoms(m, objtype: int, obj: int) -> range:
    """The geoms a sensor measures from or to."""
    if objtype == Obj.BODY:
        return range(int(m.body_geomadr[obj]), int(m.body_geomadr[obj] + m.body_geomnum[obj]))
    return range(obj, obj + 1)


def _pairs(m) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First pair of each sensor, geoms of each pair, and the function that measures it."""
    first, geoms = [0], []
    for i in range(m.nsensor):
        if int(m.sensor_type[i]) in TYPES:
            ones = _geoms(m, int(m.sensor_objtype[i]), int(m.sensor_objid[i]))
            twos = _geoms(m, int(m.sensor_reftype[i]), int(m.sensor_refid[i]))
            geoms += [(a, b) for a in ones for b in twos]
        first.append(len(geoms))
    geoms = np.array(geoms, dtype=np.int32).reshape(-1, 2)
    types = np.sort(np.asarray(m.geom_type)[geoms], axis=1)
    return np.array(first, dtype=np.int32), geoms, PAIR_FUNCTION[types[:, 0], types[:, 1]]


def stage(m) -> Stage:
    """The stage for the pairs a model measures."""
    return distance_stage(function_mask(_pairs(m)[2]), epa_room(m), not uses_native(m))


def probes(m, nworld: int, device) -> Probes:
    """The pairs a model measures, on the device."""
    first, geoms, function = _pairs(m)
    result = Probes()
    result.adr = wp.array(first, dtype=int, device=device)
    result.geom = wp.array(geoms, dtype=wp.vec2i, device=device)
    result.function = wp.array(function, dtype=int, device=device)
    touch = Touch()
    touch.dist = wp.zeros((nworld, SLOTS), dtype=float, device=device)
    touch.pos = wp.zeros((nworld, SLOTS), dtype=wp.vec3, device=device)
    touch.frame = wp.zeros((nworld, SLOTS), dtype=wp.mat33, device=device)
    result.touch = touch
    return result
