"""Light: what colour a ray brings back.

The model is OpenGL's, as MuJoCo uses it, with light computed in every pixel:

    surface = texture * clamp(emission + sum over lights without shadow) + sum over shadow lights that reach the point
    light   = spot * attenuation * (ambient + max(n.l, 0) diffuse) * rgba + (n.h)^shininess * specular

A headlight shines along the camera's gaze. Things seen through are lit without shadows and laid over what is behind;
MuJoCo draws them twice, so their opacity is 1 - (1 - alpha)^2. The one mirror of a scene adds the unshadowed view of
the other side, dimmed by its reflectance. Behind everything is the sky, and above an endless floor a cone of haze.

Edges of shadows (`Shade.SOFT`) are the mean of rays from places of the pixel to places of the bulb. So a shadow is
never sharper than a pixel, and as soft as the bulb makes it.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import warp as wp

from kinema.mujoco_enums import Geom, LightType
from kinema.render.intersect import normal_of_box, normal_of_capsule, normal_of_cylinder, normal_of_ellipsoid
from kinema.render.items import CUBE, FLAT, SHAPE, VERTEX
from kinema.render.scene import Scene
from kinema.render.texture import sample_cube, sample_flat, shape_coordinates
from kinema.render.trace import Features, Hit, nearest_of, occluded_of

OPAQUE = wp.constant(0.995)
LAYERS = 8  # things seen through on one ray
RAYS = 16  # of a pixel on the edge of a shadow


class Shade(IntEnum):
    """How it is found out whether a light reaches a point."""

    NONE = 0  # it does
    RAY = 1  # by a ray
    KNOWN = 2  # it was found out before: bits of lights
    SOFT = 3  # by several rays


@wp.struct
class Surface:
    """A point of a surface: where, which way it faces, and what it is made of."""

    pos: wp.vec3
    normal: wp.vec3
    rgba: wp.vec4
    texture: wp.vec4
    material: wp.vec4


@wp.func
def surface_normal(scene: Scene, slot: int, hit: Hit, x: wp.vec3, size: wp.vec3) -> wp.vec3:
    """Normal as shaded, in the item's frame."""
    shape = scene.look.shape[hit.item]
    normal = wp.vec3(0.0, 0.0, 1.0)
    if shape == Geom.SPHERE or shape == Geom.ELLIPSOID:
        normal = normal_of_ellipsoid(x, size)
    elif shape == Geom.CAPSULE:
        normal = normal_of_capsule(x, size)
    elif shape == Geom.CYLINDER:
        normal = normal_of_cylinder(x, size)
    elif shape == Geom.BOX:
        normal = normal_of_box(x, size)
    elif shape == Geom.MESH or shape == Geom.SDF or shape == Geom.HFIELD:
        k = scene.look.corner[hit.item] + 3 * hit.face
        a = scene.look.normal[k]
        b = scene.look.normal[k + 1]
        c = scene.look.normal[k + 2]
        normal = wp.normalize(a * hit.u + b * hit.v + c * (1.0 - hit.u - hit.v))
    elif shape == Geom.SKIN:
        k = scene.look.corner[hit.item] + 3 * hit.face
        a = scene.placed.skin_normal[slot, scene.look.vertex[k]]
        b = scene.placed.skin_normal[slot, scene.look.vertex[k + 1]]
        c = scene.placed.skin_normal[slot, scene.look.vertex[k + 2]]
        normal = wp.normalize(a * hit.u + b * hit.v + c * (1.0 - hit.u - hit.v))
    return normal


@wp.func
def texture_colour(scene: Scene, hit: Hit, x: wp.vec3, normal: wp.vec3, size: wp.vec3, pixel: float) -> wp.vec4:
    """Colour of the item's texture at point x of its frame, where a pixel covers a length."""
    i = hit.item
    id = scene.look.texture[i]
    mapping = scene.look.mapping[i]
    scale = scene.look.scale[i]
    if mapping == CUBE:
        q = x
        shape = scene.look.shape[i]
        meshed = shape == Geom.MESH or shape == Geom.SDF or shape == Geom.HFIELD or shape == Geom.SKIN
        if shape != Geom.PLANE and not meshed:
            q = wp.cw_div(x, size)
            if shape == Geom.CAPSULE and wp.abs(x[2]) > size[2]:  # ends are balls on top of the unit cylinder
                q = wp.vec3(x[0] / size[0], x[1] / size[0],
                            wp.sign(x[2]) * (1.0 + (wp.abs(x[2]) - size[2]) / size[0]))  # fmt: skip
        q = wp.cw_mul(q, scale)
        return sample_cube(scene.textures, id, q, pixel / wp.max(wp.length(x), 1.0e-9))
    uv = wp.vec2()
    density = scene.look.density[i]
    if mapping == VERTEX:
        k = scene.look.corner[i] + 3 * hit.face
        a = scene.look.texcoord[k]
        b = scene.look.texcoord[k + 1]
        c = scene.look.texcoord[k + 2]
        uv = a * hit.u + b * hit.v + c * (1.0 - hit.u - hit.v)
        uv = wp.vec2(uv[0] * scale[0], uv[1] * scale[1])
        density = wp.vec2(scale[0], scale[1]) * scene.look.face_density[k // 3]
    elif mapping == FLAT:
        uv = wp.vec2(0.5 * scale[0] * x[0] - 0.5, -0.5 * scale[1] * x[1] - 0.5)
    elif mapping == SHAPE:
        uv = shape_coordinates(scene.look.shape[i], x, normal, size)
        uv = wp.vec2(uv[0] * scale[0], uv[1] * scale[1])
        if scene.look.shape[i] == Geom.PLANE and (size[0] <= 0.0 or size[1] <= 0.0):
            uv = uv - wp.vec2(0.5, 0.5)
    return sample_flat(scene.textures, id, uv, density, pixel)


@wp.func
def lobe(normal: wp.vec3, to_light: wp.vec3, to_eye: wp.vec3, shininess: float) -> wp.vec2:
    """How much of diffuse and of specular light a surface sends to the eye."""
    cosine = wp.dot(normal, to_light)
    if cosine <= 0.0:
        return wp.vec2(0.0, 0.0)
    half = wp.normalize(to_light + to_eye)
    return wp.vec2(cosine, wp.pow(wp.max(wp.dot(normal, half), 1.0e-6), shininess))


@wp.func
def lit(s: Surface, ambient: wp.vec3, diffuse: wp.vec3, specular: wp.vec3, part: wp.vec2) -> wp.vec3:
    """Light of one lamp as sent to the eye."""
    rgb = wp.vec3(s.rgba[0], s.rgba[1], s.rgba[2])
    return wp.cw_mul(rgb, ambient + diffuse * part[0]) + specular * (part[1] * s.material[1])


@wp.func
def saturated(c: wp.vec3) -> wp.vec3:
    return wp.vec3(wp.clamp(c[0], 0.0, 1.0), wp.clamp(c[1], 0.0, 1.0), wp.clamp(c[2], 0.0, 1.0))


@cache
def surface_of(features: Features) -> wp.Function:
    """surface(scene, slot, hit, p, v, spread) -> Surface: the point that a ray met."""

    @wp.func
    def surface(scene: Scene, slot: int, hit: Hit, p: wp.vec3, v: wp.vec3, pixel: float) -> Surface:
        s = Surface()
        i = hit.item
        mat = scene.placed.mat[slot, i]
        size = scene.placed.size[slot, i]
        s.pos = p + v * hit.t
        x = wp.transpose(mat) @ (s.pos - scene.placed.pos[slot, i])
        normal = surface_normal(scene, slot, hit, x, size)
        s.normal = mat @ normal
        s.rgba = scene.look.rgba[slot, i]
        s.material = scene.look.material[i]
        s.texture = wp.vec4(1.0, 1.0, 1.0, 1.0)
        if wp.static(features.textures):
            if scene.look.texture[i] >= 0:
                slant = wp.max(wp.abs(wp.dot(s.normal, v)), 0.02)
                s.texture = texture_colour(scene, hit, x, normal, size, pixel / slant)
        return s

    return surface


@wp.func
def across(v: wp.vec3) -> wp.vec3:
    """A unit vector across another."""
    axis = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(v[0]) > 0.7:
        axis = wp.vec3(0.0, 1.0, 0.0)
    return wp.normalize(wp.cross(v, axis))


@wp.func
def on_disc(k: int) -> wp.vec2:
    """The k-th of RAYS even places on the unit disc (Vogel's spiral)."""
    r = wp.sqrt((float(k) + 0.5) / float(RAYS))
    turn = 2.3999632 * float(k)
    return wp.vec2(r * wp.cos(turn), r * wp.sin(turn))


@cache
def reached_of(features: Features) -> wp.Function:
    """reached(scene, slot, s, k, pixel, soft) -> which part of light k reaches a surface, 0 to 1."""
    occluded = occluded_of(features)

    @wp.func
    def reached(scene: Scene, slot: int, s: Surface, k: int, pixel: float, soft: bool) -> float:
        distant = scene.lights.kind[k] == LightType.DIRECTIONAL
        start = s.pos + s.normal * (scene.sky.epsilon + 1.0e-5 * wp.length(s.pos))
        to_light = -scene.lights.dir[slot, k]
        far = scene.sky.far
        if not distant:
            gap = scene.lights.pos[slot, k] - s.pos
            far = wp.length(gap)
            to_light = gap / wp.max(far, 1.0e-9)
        reach = far
        if distant:
            reach = 1.0
        u = across(to_light)
        v = wp.cross(to_light, u)
        a = across(s.normal)
        b = wp.cross(s.normal, a)
        rays = wp.where(soft, RAYS, 1)
        count = int(0)
        for n in range(rays):
            at = wp.vec2()
            x = float(0.0)
            y = float(0.0)
            if soft:
                at = scene.lights.radius[k] * on_disc(n)
                cell = (5 * n) % RAYS  # places of the pixel in another order than those of the bulb
                x = pixel * (0.25 * (float(cell % 4) + 0.5) - 0.5)
                y = pixel * (0.25 * (float(cell // 4) + 0.5) - 0.5)
            ray = wp.normalize(to_light * reach + u * at[0] + v * at[1])
            if not occluded(scene, slot, start + a * x + b * y, ray, far):
                count += 1
        return float(count) / float(rays)

    return reached


@cache
def dark_of(features: Features) -> wp.Function:
    """dark(scene, slot, hit, p, v) -> bits of the first 31 lights that cast shadows and do not reach what a ray met."""
    surface = surface_of(features)
    reached = reached_of(features)

    @wp.func
    def dark(scene: Scene, slot: int, hit: Hit, p: wp.vec3, v: wp.vec3) -> int:
        s = surface(scene, slot, hit, p, v, 0.0)
        bits = int(0)
        for k in range(wp.min(scene.lights.count, 31)):
            if scene.lights.castshadow[k] != 0:
                if reached(scene, slot, s, k, 0.0, False) == 0.0:
                    bits = bits | (1 << k)
        return bits

    return dark


@cache
def illumination_of(features: Features) -> wp.Function:
    """illumination(scene, slot, s, gaze, to_eye, shade, dark, pixel) -> colour a surface sends to the eye."""
    reached = reached_of(features)

    @wp.func
    def illumination(scene: Scene, slot: int, s: Surface, gaze: wp.vec3, to_eye: wp.vec3, shade: int, dark: int,
                     pixel: float) -> wp.vec3:  # fmt: skip
        rgb = wp.vec3(s.rgba[0], s.rgba[1], s.rgba[2])
        texture = wp.vec3(s.texture[0], s.texture[1], s.texture[2])
        sky = scene.sky
        plain = rgb * (s.material[0] + sky.global_ambient)
        cast = wp.vec3()
        if sky.head_on != 0:
            part = lobe(s.normal, -gaze, to_eye, s.material[2])
            plain += lit(s, sky.head_ambient, sky.head_diffuse, sky.head_specular, part)
        for k in range(scene.lights.count):
            dir = scene.lights.dir[slot, k]
            to_light = -dir
            far = sky.far
            strength = float(1.0)
            if scene.lights.kind[k] != LightType.DIRECTIONAL:
                gap = scene.lights.pos[slot, k] - s.pos
                far = wp.length(gap)
                to_light = gap / wp.max(far, 1.0e-9)
                a = scene.lights.attenuation[k]
                strength = 1.0 / wp.max(a[0] + far * (a[1] + far * a[2]), 1.0e-9)
                if scene.lights.kind[k] == LightType.SPOT:
                    spot = scene.lights.spot[k]
                    cosine = -wp.dot(to_light, dir)
                    if cosine < spot[0]:
                        strength = 0.0
                    elif spot[1] > 0.0:
                        strength *= wp.pow(wp.max(cosine, 1.0e-6), spot[1])
            if strength > 0.0:
                part = lobe(s.normal, to_light, to_eye, s.material[2])
                light = strength * lit(
                    s, scene.lights.ambient[k], scene.lights.diffuse[k], scene.lights.specular[k], part
                )
                own = False
                if wp.static(features.shadows):
                    if shade != Shade.NONE and scene.lights.castshadow[k] != 0:
                        part_seen = float(1.0)
                        if shade == Shade.KNOWN and k < 31:
                            part_seen = wp.where((dark & (1 << k)) != 0, 0.0, 1.0)
                        elif wp.dot(light, light) > 0.0:
                            part_seen = reached(scene, slot, s, k, pixel, shade == Shade.SOFT)
                        cast += part_seen * saturated(light)
                        own = True
                if not own:
                    plain += light
        return saturated(wp.cw_mul(texture, saturated(plain) + cast))

    return illumination


@wp.func
def haze_on(scene: Scene, slot: int, p: wp.vec3, v: wp.vec3) -> wp.vec2:
    """Opacity of the haze over the floor on a ray, and its distance. In units of the sky's radius the haze is a cone
    frustum about the floor's normal, rising from radius 1 - steepness on the floor to 1 at the eye's height."""
    none = wp.vec2(0.0, 0.0)
    floor = scene.sky.floor
    radius = 0.7 * scene.sky.far
    mat = scene.placed.mat[slot, floor]
    up = wp.vec3(mat[0, 2], mat[1, 2], mat[2, 2])
    height = wp.dot(p - scene.placed.pos[slot, floor], up) / radius
    rise = wp.dot(v, up)
    if height <= 0.0 or rise >= 0.0:
        return none
    out = wp.length(v - up * rise)
    t = 1.0 / (out - scene.sky.haze[3] * rise / height)
    h = 1.0 + t * rise / height
    if h <= 0.0:
        return none
    peak = scene.sky.haze_peak
    return wp.vec2(wp.where(h < peak, h / peak, (1.0 - h) / (1.0 - peak)), t * radius)


@cache
def radiance_of(features: Features) -> wp.Function:
    """radiance(scene, slot, p, v, hit, gaze, spread, far, shade, dark) -> colour of a ray whose first hit is known.

    `shade` and `dark` are of that hit; what is behind it asks for itself.
    """
    nearest = nearest_of(features)
    surface = surface_of(features)
    illumination = illumination_of(features)

    @wp.func
    def background(scene: Scene, v: wp.vec3, spread: float) -> wp.vec3:
        colour = wp.vec3()
        if wp.static(features.textures):
            if scene.sky.texture >= 0:
                c = sample_cube(scene.textures, scene.sky.texture, wp.vec3(v[0], v[2], -v[1]), spread)
                colour = wp.vec3(c[0], c[1], c[2])
        return colour

    @wp.func
    def hazed(scene: Scene, slot: int, p: wp.vec3, v: wp.vec3, t: float, colour: wp.vec3) -> wp.vec3:
        if scene.sky.floor >= 0:
            haze = haze_on(scene, slot, p, v)
            if haze[0] > 0.0 and t > haze[1]:
                c = scene.sky.haze
                return colour * (1.0 - haze[0]) + wp.vec3(c[0], c[1], c[2]) * haze[0]
        return colour

    @wp.func
    def reflection(scene: Scene, slot: int, s: Surface, v: wp.vec3, gaze: wp.vec3, spread: float, t: float) -> wp.vec3:
        """The other side of the mirror, without shadows."""
        mirrored = v - 2.0 * wp.dot(v, s.normal) * s.normal
        hit = nearest(scene, slot, s.pos, mirrored, 0.0, scene.sky.far, scene.sky.mirror)
        if hit.item < 0:
            return wp.vec3()
        other = surface(scene, slot, hit, s.pos, mirrored, spread * (t + hit.t))
        dim = s.material[3]
        rgba = other.rgba
        other.rgba = wp.vec4(rgba[0] * dim, rgba[1] * dim, rgba[2] * dim, rgba[3])
        look = other.material  # OpenGL leaves highlights as they are, which it hardly ever sees: it lights corners only
        other.material = wp.vec4(look[0], look[1] * dim, look[2], look[3])
        return illumination(scene, slot, other, gaze, -mirrored, Shade.NONE, 0, 0.0)

    @wp.func
    def radiance(scene: Scene, slot: int, p: wp.vec3, v: wp.vec3, first: Hit, gaze: wp.vec3, spread: wp.vec2,
                 far: float, shade: int, dark: int) -> wp.vec3:  # fmt: skip
        colour = wp.vec3()
        through = float(1.0)
        hit = first
        for layer in range(LAYERS):
            pixel = spread[0] + spread[1] * hit.t
            if hit.item < 0:
                colour += through * hazed(scene, slot, p, v, far, background(scene, v, spread[1]))
                through = 0.0
            else:
                s = surface(scene, slot, hit, p, v, pixel)
                alpha = float(1.0)
                if wp.static(features.clear):
                    alpha = s.rgba[3]
                    if scene.look.shape[hit.item] == Geom.PLANE and wp.dot(s.normal, v) > 0.0:
                        alpha = 0.3 * alpha  # from behind
                if alpha >= OPAQUE or layer == LAYERS - 1:
                    how = shade
                    if layer > 0:
                        how = int(Shade.RAY)
                    c = illumination(scene, slot, s, gaze, -v, how, dark, pixel)
                    if wp.static(features.mirror):
                        if hit.item == scene.sky.mirror and s.material[3] > 0.0:
                            up = wp.static(_top_of)(scene, slot, hit.item, s.normal)
                            if up:
                                c = saturated(c + reflection(scene, slot, s, v, gaze, spread[1], hit.t))
                    colour += through * hazed(scene, slot, p, v, hit.t, c)
                    through = 0.0
                else:
                    alpha = 1.0 - (1.0 - alpha * s.texture[3]) * (1.0 - alpha * s.texture[3])
                    colour += through * alpha * illumination(scene, slot, s, gaze, -v, Shade.NONE, 0, 0.0)
                    through *= 1.0 - alpha
                    hit = nearest(scene, slot, p, v, hit.t + 1.0e-5 * wp.max(1.0, hit.t), far, -1)
            if through <= 0.0:
                break
        return colour

    return radiance


@wp.func
def _top_of(scene: Scene, slot: int, i: int, normal: wp.vec3) -> bool:
    """Whether a normal is that of the upper side, the only one of a box that mirrors."""
    mat = scene.placed.mat[slot, i]
    return wp.dot(normal, wp.vec3(mat[0, 2], mat[1, 2], mat[2, 2])) > 0.99
