"""Particles against shapes: signed distance and outward normal of each kind of shape, and the contacts they give.

A particle of radius r at x touches a shape when the distance of x from its surface is below r + margin + gap. The
contact point is x - d n in the body's frame, the normal n points from the shape to the particle, in the world's frame.
Contacts are counted, placed by a scan over particles and written in the order of shapes, so the result does not depend
on the order of threads.
"""

from __future__ import annotations

import warp as wp

from kinema.dialect import mend
from kinema.model.enums import GeoType, ParticleFlags, ShapeFlags

mend()

FAR = 1.0e6
MESH_REACH = 1.0e3


@wp.struct
class Shapes:
    """What particles need to know of the shapes, indexed [shape]."""

    body: wp.array(dtype=int)
    type: wp.array(dtype=int)
    flags: wp.array(dtype=int)
    world: wp.array(dtype=int)
    xform: wp.array(dtype=wp.transform)
    scale: wp.array(dtype=wp.vec3)
    margin: wp.array(dtype=float)
    mesh: wp.array(dtype=wp.uint64)
    world_start: wp.array(dtype=int)


@wp.func
def outward(v: wp.vec3, otherwise: wp.vec3) -> wp.vec3:
    """Unit vector along v, or another where v vanishes."""
    length = wp.length(v)
    return wp.where(length > 1.0e-12, v / wp.max(length, 1.0e-12), otherwise)


@wp.func
def sphere_distance(x: wp.vec3, radius: float) -> wp.vec4:
    """(normal, distance) of a sphere at x."""
    n = outward(x, wp.vec3(0.0, 0.0, 1.0))
    return wp.vec4(n[0], n[1], n[2], wp.length(x) - radius)


@wp.func
def box_distance(x: wp.vec3, half: wp.vec3) -> wp.vec4:
    """(normal, distance) of a box: outside by the nearest point, inside by the nearest face."""
    q = wp.vec3(wp.abs(x[0]) - half[0], wp.abs(x[1]) - half[1], wp.abs(x[2]) - half[2])
    out = wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0))
    sign = wp.vec3(wp.where(x[0] < 0.0, -1.0, 1.0), wp.where(x[1] < 0.0, -1.0, 1.0), wp.where(x[2] < 0.0, -1.0, 1.0))
    face = wp.vec3(0.0, 0.0, 1.0)
    if q[0] >= q[1] and q[0] >= q[2]:
        face = wp.vec3(1.0, 0.0, 0.0)
    elif q[1] >= q[2]:
        face = wp.vec3(0.0, 1.0, 0.0)
    inside = wp.max(q[0], wp.max(q[1], q[2]))
    n = wp.cw_mul(sign, outward(out, face))
    return wp.vec4(n[0], n[1], n[2], wp.where(inside > 0.0, wp.length(out), inside))


@wp.func
def capsule_distance(x: wp.vec3, radius: float, half: float) -> wp.vec4:
    """(normal, distance) of a capsule along z."""
    return sphere_distance(x - wp.vec3(0.0, 0.0, wp.clamp(x[2], -half, half)), radius)


@wp.func
def revolved(x: wp.vec3, normal: wp.vec2, distance: float) -> wp.vec4:
    """(normal, distance) of a solid of revolution about z, from the normal in (radial, axial) directions at x."""
    radial = outward(wp.vec3(x[0], x[1], 0.0), wp.vec3(1.0, 0.0, 0.0))
    n = normal[0] * radial + wp.vec3(0.0, 0.0, normal[1])
    return wp.vec4(n[0], n[1], n[2], distance)


@wp.func
def cylinder_distance(x: wp.vec3, radius: float, half: float) -> wp.vec4:
    """(normal, distance) of a cylinder along z."""
    r = wp.sqrt(x[0] * x[0] + x[1] * x[1]) - radius
    z = wp.abs(x[2]) - half
    up = wp.where(x[2] < 0.0, -1.0, 1.0)
    out = wp.vec2(wp.max(r, 0.0), wp.max(z, 0.0))
    inside = wp.max(r, z)
    length = wp.length(out)
    n = wp.where(r > z, wp.vec2(1.0, 0.0), wp.vec2(0.0, up))
    if length > 1.0e-12:
        n = wp.vec2(out[0] / length, out[1] / length * up)
    return revolved(x, n, wp.where(inside > 0.0, length, inside))


@wp.func
def cone_distance(x: wp.vec3, radius: float, half: float) -> wp.vec4:
    """(normal, distance) of a cone along z with its tip at +half."""
    rho = wp.sqrt(x[0] * x[0] + x[1] * x[1])
    slant = wp.sqrt(radius * radius + 4.0 * half * half)
    along = wp.vec2(radius / slant, -2.0 * half / slant)  # from the tip down the side, in (radial, axial)
    from_tip = wp.vec2(rho, x[2] - half)
    t = wp.clamp(wp.dot(from_tip, along), 0.0, slant)
    to_side = from_tip - t * along
    to_base = wp.vec2(wp.max(rho - radius, 0.0), x[2] + half)
    if rho < radius:
        to_base = wp.vec2(0.0, x[2] + half)
    normal_side = wp.vec2(-along[1], along[0])
    beyond_side = wp.dot(from_tip, normal_side)
    inside = beyond_side < 0.0 and x[2] > -half
    d = wp.min(wp.length(to_side), wp.length(to_base))
    n = normal_side
    if inside:
        d = wp.max(beyond_side, -half - x[2])
        if -half - x[2] > beyond_side:
            n = wp.vec2(0.0, -1.0)
    elif wp.length(to_side) <= wp.length(to_base):
        if wp.length(to_side) > 1.0e-9:
            n = to_side / wp.length(to_side)
    else:
        n = to_base / wp.max(wp.length(to_base), 1.0e-9)
    return revolved(x, n, d)


@wp.func
def ellipsoid_distance(x: wp.vec3, half: wp.vec3) -> wp.vec4:
    """(normal, distance) of an ellipsoid, by Newton's iteration for the nearest point."""
    least = wp.min(half[0], wp.min(half[1], half[2]))
    level = wp.length(wp.cw_div(x, half))
    if level < 1.0e-9:
        return wp.vec4(0.0, 0.0, 1.0, -least)
    # nearest point y: x = y + t grad, with sum (a x / (a^2 + t))^2 = 1; the root lies above -least^2
    lower = float(-least * least)
    upper = float(wp.length(wp.cw_mul(half, x)) + 1.0e-6)
    t = float(wp.where(level > 1.0, 0.0, 0.5 * lower))
    for _ in range(32):
        f = float(-1.0)
        df = float(0.0)
        for k in range(3):
            s = half[k] * half[k] + t
            r = half[k] * x[k] / s
            f += r * r
            df -= 2.0 * r * r / s
        if f > 0.0:
            lower = t
        else:
            upper = t
        t = t - f / wp.min(df, -1.0e-12)
        if t <= lower or t >= upper:
            t = 0.5 * (lower + upper)
    y = wp.vec3()
    for k in range(3):
        y[k] = half[k] * half[k] * x[k] / (half[k] * half[k] + t)
    n = wp.normalize(wp.vec3(y[0] / (half[0] * half[0]), y[1] / (half[1] * half[1]), y[2] / (half[2] * half[2])))
    return wp.vec4(n[0], n[1], n[2], wp.dot(x - y, n))


@wp.func
def mesh_distance(mesh: wp.uint64, x: wp.vec3, scale: wp.vec3) -> wp.vec4:
    """(normal, distance) of a triangle mesh in its scaled frame."""
    query = wp.mesh_query_point_sign_normal(mesh, wp.cw_div(x, scale), MESH_REACH)
    if query.result:
        point = wp.cw_mul(wp.mesh_eval_position(mesh, query.face, query.u, query.v), scale)
        d = wp.length(x - point) * query.sign
        n = outward(x - point, wp.vec3(0.0, 0.0, 1.0)) * query.sign
        return wp.vec4(n[0], n[1], n[2], d)
    return wp.vec4(0.0, 0.0, 1.0, wp.static(FAR))


@wp.func
def plane_distance(x: wp.vec3, width: float, length: float) -> wp.vec4:
    """(normal, distance) of a plane z = 0, infinite where the sizes are 0."""
    beyond = (width > 0.0 and wp.abs(x[0]) > 0.5 * width) or (length > 0.0 and wp.abs(x[1]) > 0.5 * length)
    return wp.vec4(0.0, 0.0, 1.0, wp.where(beyond, wp.static(FAR), x[2]))


@wp.func
def shape_distance(kind: int, x: wp.vec3, scale: wp.vec3, mesh: wp.uint64) -> wp.vec4:
    """(normal, distance) of any shape at a point of its frame."""
    found = wp.vec4(0.0, 0.0, 1.0, wp.static(FAR))
    if kind == wp.static(int(GeoType.PLANE)):
        found = plane_distance(x, scale[0], scale[1])
    elif kind == wp.static(int(GeoType.SPHERE)):
        found = sphere_distance(x, scale[0])
    elif kind == wp.static(int(GeoType.BOX)):
        found = box_distance(x, scale)
    elif kind == wp.static(int(GeoType.CAPSULE)):
        found = capsule_distance(x, scale[0], scale[1])
    elif kind == wp.static(int(GeoType.CYLINDER)):
        found = cylinder_distance(x, scale[0], scale[1])
    elif kind == wp.static(int(GeoType.CONE)):
        found = cone_distance(x, scale[0], scale[1])
    elif kind == wp.static(int(GeoType.ELLIPSOID)):
        found = ellipsoid_distance(x, scale)
    elif mesh != wp.uint64(0):
        found = mesh_distance(mesh, x, scale)
    return found


@wp.func
def body_frame(shapes: Shapes, s: int, body_q: wp.array(dtype=wp.transform)) -> wp.transform:
    pose = wp.transform_identity()
    if shapes.body[s] >= 0:
        pose = body_q[shapes.body[s]]
    return pose


@wp.func
def touches(
    shapes: Shapes, s: int, x: wp.vec3, radius: float, gap: float, body_q: wp.array(dtype=wp.transform)
) -> wp.vec4:
    """(normal in the shape's frame, distance), FAR where they do not touch."""
    found = wp.vec4(0.0, 0.0, 1.0, wp.static(FAR))
    if (shapes.flags[s] & wp.static(int(ShapeFlags.COLLIDE_PARTICLES))) != 0:
        frame = wp.transform_inverse(body_frame(shapes, s, body_q) * shapes.xform[s])
        near = shape_distance(shapes.type[s], wp.transform_point(frame, x), shapes.scale[s], shapes.mesh[s])
        if near[3] < radius + shapes.margin[s] + gap:
            found = near
    return found


@wp.func
def candidate(shapes: Shapes, world: int, k: int) -> int:
    """The k-th shape a particle of a world may meet: shapes of no world, then its own; -1 after the last."""
    n = shapes.world_start.shape[0]
    leading = shapes.world_start[0]
    trailing = shapes.world_start[n - 1] - shapes.world_start[n - 2]
    if world < 0:
        return wp.where(k < shapes.world_start[n - 1], k, -1)
    if k < leading:
        return k
    if k < leading + trailing:
        return shapes.world_start[n - 2] + k - leading
    own = shapes.world_start[world] + k - leading - trailing
    return wp.where(own < shapes.world_start[world + 1], own, -1)


@wp.kernel(enable_backward=False)
def count_contacts(
    shapes: Shapes,
    gap: float,
    flags: wp.array(dtype=int),
    world: wp.array(dtype=int),
    particle_q: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    body_q: wp.array(dtype=wp.transform),
    count: wp.array(dtype=int),
):
    """Contacts of each particle."""
    p = wp.tid()
    n = int(0)
    if (flags[p] & wp.static(int(ParticleFlags.ACTIVE))) != 0:
        k = int(0)
        s = candidate(shapes, world[p], 0)
        while s >= 0:
            if touches(shapes, s, particle_q[p], radius[p], gap, body_q)[3] < wp.static(FAR):
                n += 1
            k += 1
            s = candidate(shapes, world[p], k)
    count[p] = n


@wp.kernel(enable_backward=False)
def write_contacts(
    shapes: Shapes,
    gap: float,
    world: wp.array(dtype=int),
    particle_q: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    body_q: wp.array(dtype=wp.transform),
    count: wp.array(dtype=int),
    end: wp.array(dtype=int),
    particle: wp.array(dtype=int),
    shape: wp.array(dtype=int),
    body_pos: wp.array(dtype=wp.vec3),
    body_vel: wp.array(dtype=wp.vec3),
    normal: wp.array(dtype=wp.vec3),
    tids: wp.array(dtype=int),
    total: wp.array(dtype=int),
):
    """Write the contacts of each particle; `end` is the running sum of the counts."""
    p = wp.tid()
    if p == world.shape[0] - 1:
        total[0] = end[p]
    c = end[p] - count[p]
    if count[p] > 0:
        k = int(0)
        s = candidate(shapes, world[p], 0)
        while s >= 0:
            found = touches(shapes, s, particle_q[p], radius[p], gap, body_q)
            if found[3] < wp.static(FAR):
                if c < particle.shape[0]:
                    pose = body_frame(shapes, s, body_q)
                    n = wp.transform_vector(pose * shapes.xform[s], wp.vec3(found[0], found[1], found[2]))
                    particle[c] = p
                    shape[c] = s
                    body_pos[c] = wp.transform_point(wp.transform_inverse(pose), particle_q[p] - found[3] * n)
                    body_vel[c] = wp.vec3(0.0)
                    normal[c] = n
                    tids[c] = p
                c += 1
            k += 1
            s = candidate(shapes, world[p], k)
