"""Pictures along rays that are given: of what a ray of every pixel meets, whatever camera it is of.

    t, n        distance to the first hit, and the normal there, in space
    forward     t (v . gaze): the part of the distance along the camera's gaze
    shape       which shape of a Model it is
    albedo      its colour without light; colour: with it (shade.py)

Rays are in the camera's frame, which looks along -z, y up; each world and camera has a pose of its own. Worlds are
drawn in their own frames, so poses are taken there, and normals back.
"""

from __future__ import annotations

from functools import cache

import warp as wp

from kinema.render.scene import Scene
from kinema.render.shade import Shade, radiance_of, surface_of
from kinema.render.trace import Features, nearest_of

NEAR = 1.0e-4  # where rays begin, from the eye [m]


@wp.struct
class Eyes:
    """Cameras: poses [camera, world], rays [camera, row, column, 2] as origins and directions."""

    pose: wp.array2d(dtype=wp.transform)
    rays: wp.array4d(dtype=wp.vec3)
    world: wp.array(dtype=int)  # of the model, by slot
    place: wp.array(dtype=wp.transform)  # of the world in space, by slot
    shape: wp.array(dtype=int)  # of each geom, counted within the world; -2 - index: of no world; -1: none
    start: wp.array(dtype=int)  # first shape of each slot's world
    far: float


@wp.struct
class Images:
    """Pictures [world, camera, row, column], empty where they are not wanted, and what is in them where nothing is."""

    color: wp.array4d(dtype=wp.uint32)
    hdr: wp.array4d(dtype=wp.vec3)
    depth: wp.array4d(dtype=float)
    forward: wp.array4d(dtype=float)
    shape: wp.array4d(dtype=wp.uint32)
    normal: wp.array4d(dtype=wp.vec3)
    albedo: wp.array4d(dtype=wp.uint32)
    no_color: wp.uint32
    no_depth: float
    no_shape: wp.uint32
    no_normal: wp.vec3
    no_albedo: wp.uint32


@wp.func
def packed(c: wp.vec3) -> wp.uint32:
    """Red, green, blue and opacity in one number, red lowest."""
    r = wp.uint32(wp.clamp(c[0], 0.0, 1.0) * 255.0 + 0.5)
    g = wp.uint32(wp.clamp(c[1], 0.0, 1.0) * 255.0 + 0.5)
    b = wp.uint32(wp.clamp(c[2], 0.0, 1.0) * 255.0 + 0.5)
    return r | (g << wp.uint32(8)) | (b << wp.uint32(16)) | (wp.uint32(255) << wp.uint32(24))


@wp.func
def shape_seen(eyes: Eyes, slot: int, geom: int) -> int:
    """The shape of the model that a geom is."""
    shape = eyes.shape[geom]
    if shape >= 0:
        return eyes.start[slot] + shape
    return -2 - shape if shape < -1 else -1


@cache
def ray_kernel(features: Features, colours: bool) -> wp.Kernel:
    """One thread a pixel."""
    nearest, surface, radiance = nearest_of(features), surface_of(features), radiance_of(features)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def look_along(scene: Scene, eyes: Eyes, images: Images):
        slot, camera, y, x = wp.tid()
        w = eyes.world[slot]
        place = eyes.place[slot]
        pose = wp.transform_inverse(place) * eyes.pose[camera, w]
        p = wp.transform_point(pose, eyes.rays[camera, y, x, 0])
        v = wp.normalize(wp.transform_vector(pose, eyes.rays[camera, y, x, 1]))
        gaze = wp.transform_vector(pose, wp.vec3(0.0, 0.0, -1.0))
        hit = nearest(scene, slot, p, v, NEAR, eyes.far, -1)
        depth = images.no_depth
        forward = images.no_depth
        shape = images.no_shape
        normal = images.no_normal
        albedo = images.no_albedo
        colour = images.no_color
        light = wp.vec3()
        if hit.item >= 0:
            depth = hit.t
            forward = hit.t * wp.dot(v, gaze)
            shape = wp.uint32(shape_seen(eyes, slot, scene.look.owner[hit.item]))
            s = surface(scene, slot, hit, p, v, 0.0)
            normal = wp.transform_vector(place, s.normal)
            albedo = packed(wp.vec3(
                s.rgba[0] * s.texture[0], s.rgba[1] * s.texture[1], s.rgba[2] * s.texture[2]
            ))  # fmt: skip
            if wp.static(colours):
                light = radiance(scene, slot, p, v, hit, gaze, wp.vec2(0.0, 0.0), eyes.far, int(Shade.RAY), 0)
                colour = packed(light)
        if images.depth.shape[0] > 0:
            images.depth[w, camera, y, x] = depth
        if images.forward.shape[0] > 0:
            images.forward[w, camera, y, x] = forward
        if images.shape.shape[0] > 0:
            images.shape[w, camera, y, x] = shape
        if images.normal.shape[0] > 0:
            images.normal[w, camera, y, x] = normal
        if images.albedo.shape[0] > 0:
            images.albedo[w, camera, y, x] = albedo
        if images.color.shape[0] > 0:
            images.color[w, camera, y, x] = colour
        if images.hdr.shape[0] > 0:
            images.hdr[w, camera, y, x] = light

    return look_along
