"""The scene on the device: what never changes, and what is placed anew before every picture.

A slot is a world that is drawn. Rows of items are [slot, item]; place.py fills them. Where there are many items, a
bounding volume hierarchy over their boxes has one tree a slot; it is built once and then refitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from kinema.arrays import shared
from kinema.mujoco_enums import Geom, LightType, Obj, Texture
from kinema.render.flex import rope_ends
from kinema.render.items import Items
from kinema.render.skin import Skins, upload_skins
from kinema.render.texture import Textures, upload_textures
from kinema.render.triangles import Surfaces, upload_surfaces

TREE_FROM = {"cpu": 1, "cuda": 40}
"""From so many items on a tree is walked; below, going through the list of balls is faster. On a CPU the tree wins from
about ten items on and never loses much, so there it is always taken and one kernel serves all scenes."""


@wp.struct
class Look:
    """What items look like, by item; colours may differ per slot."""

    shape: wp.array(dtype=int)
    objtype: wp.array(dtype=int)
    owner: wp.array(dtype=int)
    segment: wp.array(dtype=int)
    surface: wp.array(dtype=wp.uint64)
    faces: wp.array(dtype=int)  # of the surface
    corner: wp.array(dtype=int)
    rgba: wp.array2d(dtype=wp.vec4)  # [slot, item]
    material: wp.array(dtype=wp.vec4)  # emission, specular, shininess exponent, reflectance
    texture: wp.array(dtype=int)
    mapping: wp.array(dtype=int)
    scale: wp.array(dtype=wp.vec3)  # of texture coordinates
    density: wp.array(dtype=wp.vec2)  # textures a unit of length
    normal: wp.array(dtype=wp.vec3)  # by corner
    vertex: wp.array(dtype=int)  # by corner, of skins
    texcoord: wp.array(dtype=wp.vec2)  # by corner
    face_density: wp.array(dtype=float)  # by face: textures a unit of length
    ball: wp.array(dtype=wp.vec4)  # around a surface of triangles, in its frame
    half: wp.array(dtype=wp.vec3)  # half sizes of the box about the ball's centre
    width: wp.array(dtype=float)  # radius of a tendon or a rope
    ends: wp.array(dtype=wp.vec2i)  # bodies that an element of a rope reaches between
    end_at: wp.array2d(dtype=wp.vec3)  # (item, 2) and where on them


@wp.struct
class Placed:
    """Where items are now, [slot, item]."""

    world: wp.array(dtype=int)  # (slot,) the world drawn
    ball: wp.array2d(dtype=wp.vec4)  # centre and radius; a negative radius hides the item
    pos: wp.array2d(dtype=wp.vec3)
    mat: wp.array2d(dtype=wp.mat33)
    size: wp.array2d(dtype=wp.vec3)
    lower: wp.array(dtype=wp.vec3)  # boxes of the tree, slot by slot
    upper: wp.array(dtype=wp.vec3)
    tree: wp.uint64
    root: wp.array(dtype=int)  # (slot,) where a slot's tree begins
    surface_root: wp.array2d(dtype=int)  # where a slot's part of a surface's hierarchy begins; -1: it has it all
    skin_normal: wp.array2d(dtype=wp.vec3)  # [slot, vertex]
    listed: int  # items [0, listed) are gone through one by one; the others are in the tree
    count: int


SUN = 0.00465  # radius of the sun as seen from here [rad]


@wp.struct
class Lights:
    """Lights of the model that are on, by light; poses are [slot, light]."""

    count: int
    id: wp.array(dtype=int)
    kind: wp.array(dtype=int)  # mjtLightType
    castshadow: wp.array(dtype=int)
    ambient: wp.array(dtype=wp.vec3)
    diffuse: wp.array(dtype=wp.vec3)
    specular: wp.array(dtype=wp.vec3)
    attenuation: wp.array(dtype=wp.vec3)
    spot: wp.array(dtype=wp.vec2)  # cosine of the cutoff, exponent
    radius: wp.array(dtype=float)  # of the bulb; of a directional light its tangent
    pos: wp.array2d(dtype=wp.vec3)
    dir: wp.array2d(dtype=wp.vec3)


@wp.struct
class Sky:
    """What is far away, and the light at the camera."""

    texture: int  # of the sky; -1: black
    haze: wp.vec4  # colour, and how steep its cone is
    haze_peak: float  # where on the cone it is thickest
    floor: int  # the infinite plane that haze lies on; -1: none
    far: float
    near: float
    epsilon: float  # how far a shadow ray begins above a surface
    global_ambient: float
    head_on: int
    head_ambient: wp.vec3
    head_diffuse: wp.vec3
    head_specular: wp.vec3
    mirror: int  # the item that reflects; -1: none


@wp.struct
class Scene:
    """All that kernels need to draw."""

    look: Look
    placed: Placed
    lights: Lights
    sky: Sky
    textures: Textures


@dataclass
class Setting:
    """A scene with what keeps it alive, and what it holds that kernels may leave out."""

    scene: Scene
    items: Items
    surfaces: Surfaces
    skins: Skins | None
    tree: wp.Bvh | None
    has_surfaces: bool
    has_textures: bool
    is_clear: bool
    casts_shadows: bool


def build(m, items: Items, worlds: np.ndarray, device, *, shadows: bool = True, reflections: bool = True,
          sky: bool = True, haze: bool = True, tree: bool | None = None) -> Setting:  # fmt: skip
    """Upload everything; `worlds` are the worlds drawn, one a slot."""
    items = _ordered(items)
    surfaces = upload_surfaces(m, items, device)
    if tree is None:
        tree = np.sum(_bounded(items)) >= TREE_FROM["cuda" if device.is_cuda else "cpu"]
    skins = upload_skins(m, items, len(worlds), device)
    placed = _placed(items, worlds, device, tree, skins)
    scene = Scene()
    scene.look = _look(m, items, surfaces, len(worlds), device)
    scene.placed = placed
    scene.lights = _lights(m, len(worlds), device, shadows)
    scene.sky = _sky(m, items, scene.lights, reflections, sky, haze)
    scene.textures = upload_textures(m, device)
    textured = bool(np.any(items.texture >= 0)) or scene.sky.texture >= 0
    return Setting(
        scene, items, surfaces, skins, None, has_surfaces=bool(surfaces.kept or skins), has_textures=textured,
        is_clear=bool(np.any(items.rgba[:, 3] < 0.995)) or bool(np.any(items.shape == Geom.PLANE)),
        casts_shadows=shadows and bool(np.any(scene.lights.castshadow.numpy())),
    )  # fmt: skip


def _bounded(items: Items) -> np.ndarray:
    return (items.shape != Geom.PLANE) & (items.shape != Geom.SKIN)


def _ordered(items: Items) -> Items:
    """Planes and skins first: they have no bounding ball and stay out of the tree."""
    order = np.argsort(_bounded(items), kind="stable")
    return Items(**{name: getattr(items, name)[order] for name in Items.__dataclass_fields__})


def _ropes(m, items: Items, device) -> tuple[wp.array, wp.array]:
    """What the elements of ropes among the items reach between."""
    rows = np.flatnonzero((items.objtype == Obj.FLEX) & (items.shape == Geom.CAPSULE))
    count = len(items) if len(rows) else 0
    ends, at = np.zeros((count, 2), np.int32), np.zeros((count, 2, 3), np.float32)
    for f in np.unique(items.owner[rows]).tolist():
        mine = rows[items.owner[rows] == f]
        bodies, points = rope_ends(m, f)
        ends[mine], at[mine] = bodies[items.segment[mine]], points[items.segment[mine]]
    return wp.array(ends, dtype=wp.vec2i, device=device), wp.array(at, dtype=wp.vec3, device=device)


def _look(m, items: Items, surfaces: Surfaces, slots: int, device) -> Look:
    look = Look()
    for name in ("shape", "objtype", "owner", "segment", "texture", "mapping"):
        setattr(look, name, wp.array(getattr(items, name), dtype=int, device=device))
    look.surface, look.faces, look.corner, look.vertex = surfaces.id, surfaces.faces, surfaces.corner, surfaces.vertex
    look.normal, look.texcoord, look.face_density = surfaces.normal, surfaces.texcoord, surfaces.density
    look.rgba = shared(items.rgba, slots, wp.vec4, device)
    look.ball = wp.array(surfaces.ball, dtype=wp.vec4, device=device)
    look.half = wp.array(surfaces.half, dtype=wp.vec3, device=device)
    look.ends, look.end_at = _ropes(m, items, device)
    look.width = wp.array(np.ascontiguousarray(items.size[:, 0]), dtype=float, device=device)
    material = items.look * np.array([1.0, 1.0, 128.0, 1.0], np.float32)
    look.material = wp.array(material, dtype=wp.vec4, device=device)
    look.scale = wp.array(items.scale, dtype=wp.vec3, device=device)
    look.density = wp.array(_densities(items, surfaces), dtype=wp.vec2, device=device)
    return look


def _densities(items: Items, surfaces: Surfaces) -> np.ndarray:
    """Textures a unit of length, along u and v: decides how blurred a texture is read. Meshes with texture coordinates
    know better, face by face."""
    size = items.size[:, :2]
    own = np.where(items.shape[:, None] == Geom.PLANE, 0.5, 1.0) / np.where(size > 0, 2 * size, 1.0)
    own = np.where((items.shape[:, None] == Geom.PLANE) & (size > 0), 0.5 / np.maximum(size, 1e-9), own)
    round_ = np.isin(items.shape, (Geom.SPHERE, Geom.CAPSULE, Geom.CYLINDER))
    own[round_, 0] = 1.0 / (2 * np.pi * np.maximum(size[round_, 0], 1e-9))
    own[surfaces.ball[:, 3] > 0] = 0.5
    return (own * items.scale[:, :2]).astype(np.float32)


def _placed(items: Items, worlds: np.ndarray, device, tree: bool, skins: Skins | None) -> Placed:
    slots, count = len(worlds), len(items)
    listed = int(np.sum(~_bounded(items))) if tree else count
    placed = Placed()
    placed.world = wp.array(worlds.astype(np.int32), dtype=int, device=device)
    placed.ball = wp.zeros((slots, count), dtype=wp.vec4, device=device)
    placed.pos = wp.zeros((slots, count), dtype=wp.vec3, device=device)
    placed.mat = wp.zeros((slots, count), dtype=wp.mat33, device=device)
    placed.size = wp.array(np.broadcast_to(items.size, (slots, count, 3)).copy(), dtype=wp.vec3, device=device)
    in_tree = count - listed
    placed.lower = wp.zeros(max(slots * in_tree, 1), dtype=wp.vec3, device=device)
    placed.upper = wp.zeros(max(slots * in_tree, 1), dtype=wp.vec3, device=device)
    placed.root = wp.zeros(slots, dtype=int, device=device)
    placed.listed, placed.count = listed, count
    if skins is None:
        placed.surface_root = shared(np.full(count, -1, np.int32), slots, int, device)
        placed.skin_normal = wp.zeros((0, 0), dtype=wp.vec3, device=device)
    else:
        placed.surface_root = wp.full((slots, count), -1, dtype=int, device=device)
        placed.skin_normal = skins.arrays.normal
    return placed


def plant(setting: Setting) -> None:
    """Build the tree over items that have been placed once; afterwards it is only refitted."""
    placed = setting.scene.placed
    in_tree = placed.count - placed.listed
    if not in_tree or setting.tree is not None:
        return
    device = placed.lower.device
    slots = placed.ball.shape[0]
    groups = wp.array(np.repeat(np.arange(slots, dtype=np.int32), in_tree), dtype=int, device=device)
    setting.tree = wp.Bvh(placed.lower, placed.upper, groups=groups)
    placed.tree = setting.tree.id
    wp.launch(_roots, dim=slots, inputs=[setting.tree.id], outputs=[placed.root], device=device)
    setting.scene.placed = placed


@wp.kernel(enable_backward=False)
def _roots(tree: wp.uint64, root: wp.array(dtype=int)):
    slot = wp.tid()
    root[slot] = wp.bvh_get_group_root(tree, slot)


def _lights(m, slots: int, device, shadows: bool) -> Lights:
    on = [i for i in range(m.nlight) if m.light_active[i] and m.light_type[i] != LightType.IMAGE]  # not of images
    chosen = np.array(on, dtype=int)

    def rows(name: str, width: int) -> wp.array:
        values = np.asarray(getattr(m, name), np.float32).reshape(-1, width)[chosen]
        return wp.array(values, dtype=wp.vec3, device=device)

    def integers(name: str) -> wp.array:
        return wp.array(np.asarray(getattr(m, name)).astype(np.int32)[chosen], dtype=int, device=device)

    lights = Lights()
    lights.count = len(on)
    lights.id = wp.array(chosen.astype(np.int32), dtype=int, device=device)
    lights.kind = integers("light_type")
    lights.castshadow = integers("light_castshadow")
    if not shadows:
        lights.castshadow.zero_()
    for name in ("ambient", "diffuse", "specular", "attenuation"):
        setattr(lights, name, rows(f"light_{name}", 3))
    cutoff = np.asarray(m.light_cutoff, float)[chosen]
    spot = np.stack([np.cos(np.deg2rad(np.minimum(cutoff, 180.0))), np.asarray(m.light_exponent)[chosen]], axis=1)
    lights.spot = wp.array(spot.astype(np.float32).reshape(-1, 2), dtype=wp.vec2, device=device)
    distant = np.asarray(m.light_type)[chosen] == LightType.DIRECTIONAL
    bulb = np.where(distant, SUN, np.asarray(m.light_bulbradius, float)[chosen])
    lights.radius = wp.array(bulb.astype(np.float32), dtype=float, device=device)
    lights.pos = wp.zeros((slots, len(on)), dtype=wp.vec3, device=device)
    lights.dir = wp.zeros((slots, len(on)), dtype=wp.vec3, device=device)
    return lights


def _sky(m, items: Items, lights: Lights, reflections: bool, has_sky: bool, has_haze: bool) -> Sky:
    sky, head, extent = Sky(), m.vis.headlight, float(m.stat.extent)
    boxes = [i for i in range(m.ntex) if int(m.tex_type[i]) == Texture.SKYBOX]
    sky.texture = boxes[0] if boxes and has_sky else -1
    steep = float(m.vis.map.haze)
    sky.haze = wp.vec4(*(float(c) for c in m.vis.rgba.haze[:3]), steep)
    # the thickest haze is where the cone meets the diagonal of the rim
    angle = np.arctan2(1.0, steep)
    sky.haze_peak = float(np.sqrt(0.5) * steep * np.sin(angle) / np.sin(0.75 * np.pi - angle))
    endless = np.flatnonzero((items.shape == Geom.PLANE) & (items.size[:, 0] == 0) & (items.size[:, 1] == 0))
    sky.floor = int(endless[0]) if len(endless) and boxes and steep > 0 and has_sky and has_haze else -1
    sky.near, sky.far = float(m.vis.map.znear) * extent, float(m.vis.map.zfar) * extent
    sky.epsilon = 1e-4 * extent
    sky.head_on = int(bool(head.active))
    sky.global_ambient = 0.0 if sky.head_on or lights.count else 0.3
    for name in ("ambient", "diffuse", "specular"):
        setattr(sky, f"head_{name}", wp.vec3(*(float(c) for c in getattr(head, name)[:3])))
    flat = np.isin(items.shape, (Geom.PLANE, Geom.BOX)) & (items.look[:, 3] > 0) & (items.rgba[:, 3] >= 0.995)
    order = np.lexsort((items.owner, items.objtype))  # MuJoCo's order, before planes were put first
    mirrors = [int(i) for i in order if flat[i]]
    sky.mirror = mirrors[0] if mirrors and reflections else -1
    return sky
