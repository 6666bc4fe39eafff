"""How far an object juts out of a site: insidesite with enclosed="true".

With the signed distance s to the site's surface, negative inside, an object A reaches

    max { s(a) : a in A },       beyond the site where it is positive, clear of its surface where it is negative.

Sites are convex, so s is convex too, and a convex function is largest at an extreme point of A:

    sphere, capsule      centres, plus the radius
    box, mesh            corners
    ellipsoid, cylinder  climb: from a point of A to the point of A farthest along the slope of s there, which never
                         goes down; from many directions, since there may be several tops

Distances are exact: closed forms; for an ellipsoid the root of one equation; for the hull of a mesh the nearest point
by projecting on one half-space after the other (Hildreth). A kernel of its own: few models have such sensors.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from kinema.arrays import one_of
from kinema.convex.access import access
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.sensors.mesh_zone import half_spaces, placed_vertices
from kinema.convex.stage import Stage
from kinema.convex.status import IDLE
from kinema.mujoco_enums import Geom, Obj, Sensor

CLIMB = wp.constant(60)  # steps from one point to the next
SWEEPS = wp.constant(400)  # over the half-spaces of a hull
BISECTIONS = wp.constant(60)
SMALL = wp.constant(1.0e-9)


@wp.struct
class Enclosures:
    """The sensors, the pieces of what they watch, and the hulls of their sites."""

    sensor: wp.array(dtype=int)
    piece: wp.array(dtype=int)  # first piece of each sensor, and the end
    object: wp.array(dtype=wp.vec2i)  # of each piece: mjtObj and id
    corner: wp.array(dtype=int)  # first corner of each piece that is a mesh, and the end
    corners: wp.array(dtype=wp.vec3)  # in the frame of the object
    plane: wp.array(dtype=int)  # first half-space of each sensor, and the end
    planes: wp.array(dtype=wp.vec4)  # of sites that are meshes, in the site's frame: n.x + d <= 0
    push: wp.array2d(dtype=float)  # (nworld, planes) multipliers of the half-spaces


@wp.func
def box_distance(p: wp.vec3, size: wp.vec3) -> wp.vec4:
    """Slope of the distance to a box, and the distance."""
    q = wp.vec3(wp.abs(p[0]) - size[0], wp.abs(p[1]) - size[1], wp.abs(p[2]) - size[2])
    sign = wp.vec3(wp.sign(p[0]), wp.sign(p[1]), wp.sign(p[2]))
    out = wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0))
    dist = wp.length(out)
    slope = wp.vec3(0.0)
    if dist > 0.0:
        slope = wp.cw_mul(out, sign) / dist
    elif q[0] >= q[1] and q[0] >= q[2]:
        dist = q[0]
        slope = wp.vec3(sign[0], 0.0, 0.0)
    elif q[1] >= q[2]:
        dist = q[1]
        slope = wp.vec3(0.0, sign[1], 0.0)
    else:
        dist = q[2]
        slope = wp.vec3(0.0, 0.0, sign[2])
    return wp.vec4(slope[0], slope[1], slope[2], dist)


@wp.func
def cylinder_distance(p: wp.vec3, radius: float, half: float) -> wp.vec4:
    """The same for a cylinder: a box of the two lengths across and along."""
    across = wp.sqrt(p[0] * p[0] + p[1] * p[1])
    flat = box_distance(wp.vec3(across, p[2], 0.0), wp.vec3(radius, half, 1.0e9))
    away = wp.vec2(1.0, 0.0)
    if across > SMALL:
        away = wp.vec2(p[0] / across, p[1] / across)
    return wp.vec4(flat[0] * away[0], flat[0] * away[1], flat[1], flat[3])


@wp.func
def segment_distance(p: wp.vec3, radius: float, half: float) -> wp.vec4:
    """The same for a capsule; a sphere is one of no length."""
    away = p - wp.vec3(0.0, 0.0, wp.clamp(p[2], -half, half))
    dist = wp.length(away)
    slope = wp.vec3(1.0, 0.0, 0.0)
    if dist > SMALL:
        slope = away / dist
    return wp.vec4(slope[0], slope[1], slope[2], dist - radius)


@wp.func
def ellipsoid_distance(p: wp.vec3, size: wp.vec3) -> wp.vec4:
    """The same for an ellipsoid: the nearest point is e_i^2 p_i / (t + e_i^2), with t where it is on the surface."""
    e = wp.vec3d(wp.float64(size[0]), wp.float64(size[1]), wp.float64(size[2]))
    least = wp.min(e[0], wp.min(e[1], e[2]))
    tiny = wp.float64(1.0e-7) * least
    y = wp.vec3d()
    norm = wp.float64(0.0)
    for i in range(3):
        y[i] = wp.max(wp.abs(wp.float64(p[i])), tiny)
        norm += y[i] * y[i]
    low = -least * least
    high = wp.sqrt(norm) * wp.max(e[0], wp.max(e[1], e[2]))
    for _ in range(BISECTIONS):
        t = wp.float64(0.5) * (low + high)
        f = wp.float64(-1.0)
        for i in range(3):
            r = e[i] * y[i] / (t + e[i] * e[i])
            f += r * r
        if f > wp.float64(0.0):
            low = t
        else:
            high = t
    t = wp.float64(0.5) * (low + high)
    away = wp.float64(0.0)
    steep = wp.float64(0.0)
    normal = wp.vec3d()
    for i in range(3):
        x = e[i] * e[i] * y[i] / (t + e[i] * e[i])
        away += (y[i] - x) * (y[i] - x)
        normal[i] = x / (e[i] * e[i])
        steep += normal[i] * normal[i]
    dist = wp.sqrt(away)
    if t < wp.float64(0.0):
        dist = -dist
    steep = wp.sqrt(steep)
    slope = wp.vec3()
    for i in range(3):
        slope[i] = float(normal[i] / steep) * wp.where(p[i] < 0.0, -1.0, 1.0)
    return wp.vec4(slope[0], slope[1], slope[2], float(dist))


@wp.func
def hull_distance(e: Enclosures, w: int, k: int, p: wp.vec3) -> wp.vec4:
    """The same for the hull of the mesh of sensor k's site."""
    first = e.plane[k]
    end = e.plane[k + 1]
    best = wp.vec4(1.0, 0.0, 0.0, -1.0e30)
    for i in range(first, end):
        h = e.planes[i]
        dist = h[0] * p[0] + h[1] * p[1] + h[2] * p[2] + h[3]
        if dist > best[3]:
            best = wp.vec4(h[0], h[1], h[2], dist)
        e.push[w, i] = 0.0
    if best[3] <= 0.0:
        return best
    x = p
    sweep = int(0)
    while sweep < SWEEPS:
        moved = float(0.0)
        for i in range(first, end):
            h = e.planes[i]
            n = wp.vec3(h[0], h[1], h[2])
            old = e.push[w, i]
            new = wp.max(0.0, old + wp.dot(n, x) + h[3])
            x = x - (new - old) * n
            e.push[w, i] = new
            moved = wp.max(moved, wp.abs(new - old))
        sweep += 1
        if moved < 1.0e-8:
            sweep = SWEEPS
    away = p - x
    dist = wp.length(away)
    if dist < SMALL:
        return best
    return wp.vec4(away[0] / dist, away[1] / dist, away[2] / dist, dist)


@wp.func
def site_distance(m: Model, d: Data, e: Enclosures, w: int, k: int, x: wp.vec3) -> wp.vec4:
    """Slope of the signed distance to the site of sensor k in the world's frame, and the distance."""
    site = m.sensor.refid[e.sensor[k]]
    mat = d.pose.site_xmat[w, site]
    p = wp.transpose(mat) * (x - d.pose.site_xpos[w, site])
    kind = m.site.type[site]
    size = m.site.size[w, site]
    found = wp.vec4()
    if kind == Geom.MESH:
        found = hull_distance(e, w, k, p)
    elif kind == Geom.BOX:
        found = box_distance(p, size)
    elif kind == Geom.CYLINDER:
        found = cylinder_distance(p, size[0], size[1])
    elif kind == Geom.ELLIPSOID:
        found = ellipsoid_distance(p, size)
    elif kind == Geom.CAPSULE:
        found = segment_distance(p, size[0], size[1])
    else:
        found = segment_distance(p, size[0], 0.0)
    slope = mat * wp.vec3(found[0], found[1], found[2])
    return wp.vec4(slope[0], slope[1], slope[2], found[3])


@wp.func
def farthest(kind: int, size: wp.vec3, n: wp.vec3) -> wp.vec3:
    """The point of an ellipsoid or cylinder that is farthest along a direction."""
    if kind == Geom.ELLIPSOID:
        s = wp.cw_mul(size, n)
        return wp.cw_mul(size, s) / wp.max(wp.length(s), SMALL)
    across = wp.max(wp.sqrt(n[0] * n[0] + n[1] * n[1]), SMALL)
    return wp.vec3(size[0] * n[0] / across, size[0] * n[1] / across, wp.where(n[2] < 0.0, -size[1], size[1]))


@wp.func
def juts(m: Model, d: Data, e: Enclosures, w: int, k: int, piece: int) -> float:
    """How far one piece reaches beyond the site of sensor k."""
    what = e.object[piece]
    pos = wp.vec3()
    mat = wp.mat33()
    size = wp.vec3()
    kind = int(0)
    if what[0] == Obj.SITE:
        pos = d.pose.site_xpos[w, what[1]]
        mat = d.pose.site_xmat[w, what[1]]
        size = m.site.size[w, what[1]]
        kind = m.site.type[what[1]]
    else:
        pos = d.pose.geom_xpos[w, what[1]]
        mat = d.pose.geom_xmat[w, what[1]]
        size = m.geom.size[w, what[1]]
        kind = m.geom.type[what[1]]
    most = float(-1.0e30)
    if kind == Geom.MESH:
        for c in range(e.corner[piece], e.corner[piece + 1]):
            most = wp.max(most, site_distance(m, d, e, w, k, pos + mat * e.corners[c])[3])
    elif kind == Geom.ELLIPSOID or kind == Geom.CYLINDER:
        for start in range(27):
            n = wp.vec3(float(start % 3 - 1), float((start // 3) % 3 - 1), float(start // 9 - 1))
            if start == 13:  # no direction: that from the site to the object
                n = wp.transpose(mat) * (pos - d.pose.site_xpos[w, m.sensor.refid[e.sensor[k]]])
            for _ in range(CLIMB):
                found = site_distance(m, d, e, w, k, pos + mat * farthest(kind, size, n))
                n = wp.transpose(mat) * wp.vec3(found[0], found[1], found[2])
                most = wp.max(most, found[3])
    elif kind == Geom.BOX:
        for c in range(8):
            corner = wp.vec3(float(c & 1) * 2.0 - 1.0, float((c >> 1) & 1) * 2.0 - 1.0, float(c >> 2) * 2.0 - 1.0)
            most = wp.max(most, site_distance(m, d, e, w, k, pos + mat * wp.cw_mul(corner, size))[3])
    else:
        half = wp.where(kind == Geom.CAPSULE, size[1], 0.0)
        for c in range(2):
            end = wp.vec3(0.0, 0.0, (float(c) * 2.0 - 1.0) * half)
            most = wp.max(most, site_distance(m, d, e, w, k, pos + mat * end)[3] + size[0])
    return most


@wp.kernel(enable_backward=False)
def read_enclosures(m: Model, d: Data, given: wp.array(dtype=Enclosures)):
    """The readings: of several pieces the largest; enclosures are an array of one: kernels take 32 kB at most."""
    w, k = wp.tid()
    e = given[0]
    most = float(-1.0e30)
    for piece in range(e.piece[k], e.piece[k + 1]):
        most = wp.max(most, juts(m, d, e, w, k, piece))
    if (d.state.status[w] & IDLE) == 0:
        d.sensor.sensordata[w, m.sensor.adr[e.sensor[k]]] = most


# ---------------------------------------------------------------------------------------------- host


def enclosed(m) -> np.ndarray:
    """The sensors that measure how far an object juts out of a site."""
    kind = np.asarray(m.sensor_type)
    return np.flatnonzero((kind == Sensor.INSIDESITE) & (np.asarray(m.sensor_intprm).reshape(-1, 3)[:, 0] != 0))


def pieces(m, sensor: int) -> list[tuple[int, int]]:
    """What a sensor watches: a geom, a site, or the geoms of a body or of its subtree."""
    kind, which = int(m.sensor_objtype[sensor]), int(m.sensor_objid[sensor])
    if kind not in (Obj.BODY, Obj.XBODY):
        return [(kind, which)]
    parent = np.asarray(m.body_parentid)
    bodies = {which}
    if kind == Obj.XBODY:
        for body in range(which + 1, int(m.nbody)):
            bodies |= {body} if int(parent[body]) in bodies else set()
    return [(int(Obj.GEOM), g) for g, body in enumerate(np.asarray(m.geom_bodyid).tolist()) if body in bodies]


def corners(m, kind: int, which: int) -> np.ndarray:
    """Corners of a piece that is a mesh, in its frame; none of others."""
    if kind == Obj.SITE and int(m.site_type[which]) == Geom.MESH:
        return placed_vertices(m, int(m.site_dataid[which]))
    if kind == Obj.GEOM and int(m.geom_type[which]) == Geom.MESH:
        mesh = int(m.geom_dataid[which])
        first = int(m.mesh_vertadr[mesh])
        return np.asarray(m.mesh_vert, dtype=float)[first : first + int(m.mesh_vertnum[mesh])]
    return np.zeros((0, 3))


def _starts(parts: list) -> np.ndarray:
    return np.cumsum([0, *(len(part) for part in parts)])


def stage(m, device: wp.Device, nworld: int) -> Stage:
    """The readings of all sensors of enclosure."""
    sensors = enclosed(m)
    watched = [pieces(m, int(i)) for i in sensors]
    objects = [what for some in watched for what in some]
    hulls = [corners(m, *what) for what in objects]
    sites = [int(m.sensor_refid[i]) for i in sensors]
    planes = [
        np.unique(np.round(half_spaces(m, int(m.site_dataid[s])), 9), axis=0)
        if int(m.site_type[s]) == Geom.MESH else np.zeros((0, 4)) for s in sites
    ]  # fmt: skip
    e = Enclosures()
    with wp.ScopedDevice(device):
        e.sensor, e.piece = wp.array(sensors, dtype=int), wp.array(_starts(watched), dtype=int)
        e.object = wp.array(np.array(objects).reshape(-1, 2), dtype=wp.vec2i)
        e.corner, e.corners = wp.array(_starts(hulls), dtype=int), wp.array(np.vstack(hulls), dtype=wp.vec3)
        e.plane, e.planes = wp.array(_starts(planes), dtype=int), wp.array(np.vstack(planes), dtype=wp.vec4)
        e.push = wp.zeros((nworld, max(1, len(np.vstack(planes)))), dtype=float)
    one = one_of(e, Enclosures, device)
    if device.is_cuda:  # no module may be loaded while a graph is captured
        read_enclosures.module.load(device)

    def launch(m: Model, d: Data) -> None:
        wp.launch(read_enclosures, (nworld, len(sensors)), [m, d, one], device=device)

    return Stage(None, launch=launch, touches=access(read_enclosures))
