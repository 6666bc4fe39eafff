"""What a ray meets first, and whether anything stands between a point and a light.

Items are passed over quickly by the ball around each; with many items a tree is walked instead of the list. Of hits at
one distance the item that comes first in the table wins, whatever the order of the search, so pictures are repeatable.
Functions are made for a scene's `Features`: on CUDA, where registers are dear, kernels do not contain what a scene has
not; on the CPU, where compiling is, one kernel has everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import warp as wp

from kinema.mujoco_enums import Geom, Obj
from kinema.render.intersect import (
    MISS,
    enter_box,
    enter_capsule,
    enter_cylinder,
    enter_ellipsoid,
    enter_plane,
    enter_sphere,
)
from kinema.render.scene import Scene

THROUGH = 8  # faces of one surface that may look away before one that looks at the eye


@dataclass(frozen=True)
class Features:
    """What a scene has: surfaces of triangles, a tree, textures, things seen through, a mirror, shadows."""

    surfaces: bool
    tree: bool
    textures: bool = False
    clear: bool = False
    mirror: bool = False
    shadows: bool = False


@wp.struct
class Hit:
    """What a ray met: distance, item (-1: nothing), and on a surface the face and where on it."""

    t: float
    item: int
    face: int
    u: float
    v: float


@wp.func
def enter_shape(shape: int, p: wp.vec3, v: wp.vec3, size: wp.vec3) -> float:
    """Where a ray enters a shape that is not a surface of triangles."""
    if shape == Geom.PLANE:
        return enter_plane(p, v, size)
    if shape == Geom.SPHERE:
        return enter_sphere(p, v, size[0])
    if shape == Geom.CAPSULE:
        return enter_capsule(p, v, size)
    if shape == Geom.ELLIPSOID:
        return enter_ellipsoid(p, v, size)
    if shape == Geom.CYLINDER:
        return enter_cylinder(p, v, size)
    if shape == Geom.BOX:
        return enter_box(p, v, size)
    return MISS


@wp.func
def ball_in_reach(ball: wp.vec4, p: wp.vec3, v: wp.vec3, near: float, far: float) -> bool:
    """Whether a ray passes through a ball between two distances. Across the ray, not by differences of squares: far
    things stay exact."""
    radius = ball[3]
    to = wp.vec3(ball[0], ball[1], ball[2]) - p
    along = wp.dot(to, v)
    across = to - v * along
    return radius > 0.0 and wp.dot(across, across) <= radius * radius and along + radius > near and along - radius < far


@cache
def nearest_of(features: Features) -> wp.Function:
    """nearest(scene, slot, p, v, near, far, skip) -> Hit: the first front face a ray meets, not that of item `skip`."""

    @wp.func
    def try_item(scene: Scene, slot: int, i: int, p: wp.vec3, v: wp.vec3, near: float, best: Hit) -> Hit:
        shape = scene.look.shape[i]
        mat = wp.transpose(scene.placed.mat[slot, i])
        q = mat @ (p - scene.placed.pos[slot, i])
        u = mat @ v
        found = best
        surface = wp.uint64(0)
        if wp.static(features.surfaces):
            surface = scene.look.surface[i]
        if wp.static(features.surfaces) and surface != wp.uint64(0):
            start = near
            root = scene.placed.surface_root[slot, i]
            for _ in range(THROUGH):
                query = wp.mesh_query_ray(surface, q + u * start, u, best.t - start, root)
                if not query.result:
                    break
                t = start + query.t
                if wp.dot(query.normal, u) < 0.0:
                    if t < best.t or (t == best.t and i < best.item):
                        found.t = t
                        found.item = i
                        found.face = query.face % scene.look.faces[i]  # of a skin every slot has its own
                        found.u = query.u
                        found.v = query.v
                    break
                start = t + 1.0e-5 * wp.max(1.0, t)
        else:
            t = enter_shape(shape, q, u, scene.placed.size[slot, i])
            if t > near and (t < best.t or (t == best.t and i < best.item)):
                found.t = t
                found.item = i
        return found

    @wp.func
    def nearest(scene: Scene, slot: int, p: wp.vec3, v: wp.vec3, near: float, far: float, skip: int) -> Hit:
        best = Hit()
        best.t = far
        best.item = -1
        for i in range(scene.placed.listed):
            if i != skip and ball_in_reach(scene.placed.ball[slot, i], p, v, near, best.t):
                best = try_item(scene, slot, i, p, v, near, best)
        if wp.static(features.tree):
            query = wp.bvh_query_ray(scene.placed.tree, p, v, scene.placed.root[slot])
            k = int(0)
            in_tree = scene.placed.count - scene.placed.listed
            while wp.bvh_query_next(query, k, best.t):
                i = k - slot * in_tree + scene.placed.listed
                if i != skip and ball_in_reach(scene.placed.ball[slot, i], p, v, near, best.t):
                    best = try_item(scene, slot, i, p, v, near, best)
        return best

    return nearest


@cache
def occluded_of(features: Features) -> wp.Function:
    """occluded(scene, slot, p, v, far) -> bool: whether anything lies on a ray before `far`."""

    @wp.func
    def blocks(scene: Scene, slot: int, i: int, p: wp.vec3, v: wp.vec3, far: float) -> bool:
        if scene.look.objtype[i] == Obj.UNKNOWN:  # a decoration
            return False
        mat = wp.transpose(scene.placed.mat[slot, i])
        q = mat @ (p - scene.placed.pos[slot, i])
        u = mat @ v
        surface = wp.uint64(0)
        if wp.static(features.surfaces):
            surface = scene.look.surface[i]
        if wp.static(features.surfaces) and surface != wp.uint64(0):
            return wp.mesh_query_ray_anyhit(surface, q, u, far, scene.placed.surface_root[slot, i])
        t = enter_shape(scene.look.shape[i], q, u, scene.placed.size[slot, i])
        return t > 0.0 and t < far

    @wp.func
    def occluded(scene: Scene, slot: int, p: wp.vec3, v: wp.vec3, far: float) -> bool:
        for i in range(scene.placed.listed):
            if ball_in_reach(scene.placed.ball[slot, i], p, v, 0.0, far):
                if blocks(scene, slot, i, p, v, far):
                    return True
        if wp.static(features.tree):
            query = wp.bvh_query_ray(scene.placed.tree, p, v, scene.placed.root[slot])
            k = int(0)
            in_tree = scene.placed.count - scene.placed.listed
            while wp.bvh_query_next(query, k, far):
                i = k - slot * in_tree + scene.placed.listed
                if ball_in_reach(scene.placed.ball[slot, i], p, v, 0.0, far):
                    if blocks(scene, slot, i, p, v, far):
                        return True
        return False

    return occluded
