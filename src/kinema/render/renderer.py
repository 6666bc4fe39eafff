"""Renderer: cameras, a size and kinds of pictures, with all memory made beforehand.

Two kernels draw. `look` sends one ray through every pixel and writes depth, what is seen and, where colours are wanted,
the hit; `paint` turns hits into colours. Neighbouring threads take pixels of a small tile, whose rays meet the same
things. On the CPU ranges of pixels are shared out over threads.

Edges of things are smoothed as multisampling would: a pixel whose neighbours show another item, or the same one much
nearer or farther, is drawn again with four rays. Edges of shadows likewise: `shadow` finds out which lights reach each
pixel, and where pixels around differ, `paint` sends several rays to the bulb.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import warp as wp

from kinema.convex.references import pass_by_reference
from kinema.errors import BuildError, did_you_mean
from kinema.render import place
from kinema.render import scene as scenes
from kinema.render.camera import Ray, Views, pixel_ray, upload_views, view_of
from kinema.render.decor import SHAPES, check_overlays, decorations
from kinema.render.flex import with_flexes
from kinema.render.items import GROUPS, items_of, with_room
from kinema.render.scene import Scene
from kinema.render.shade import Shade, dark_of, radiance_of
from kinema.render.shown import Shown
from kinema.render.skin import bend, plant_skins
from kinema.render.trace import Features, Hit, nearest_of

KINDS = ("rgb", "depth", "segmentation")
TILE_WIDTH, TILE_HEIGHT = 8, 4
BLOCK = 128  # CUDA threads of a block: four tiles
PARTS = 8  # ranges of pixels a thread: some parts of a picture are slower than others
SMALL = 4096  # pixels that are not worth sharing out
pass_by_reference(Scene, Views)


@wp.struct
class Canvas:
    """The pictures: [slot, camera, row, column]. Arrays of kinds that are not wanted are empty."""

    width: int
    height: int
    cameras: int
    across: int  # tiles in a row
    down: int  # rows of tiles
    smooth: int
    rgb: wp.array4d(dtype=wp.vec3ub)
    depth: wp.array4d(dtype=float)
    segmentation: wp.array4d(dtype=wp.vec2i)
    t: wp.array4d(dtype=float)
    item: wp.array4d(dtype=int)
    face: wp.array4d(dtype=int)
    uv: wp.array4d(dtype=wp.vec2)
    dark: wp.array4d(dtype=int)  # bits of lights that do not reach the pixel; -1: nothing is there


@wp.struct
class Pixel:
    slot: int
    camera: int
    x: int
    y: int


@wp.func
def pixel_of(canvas: Canvas, index: int) -> Pixel:
    """The pixel of a thread; beyond the picture's edge where its size is no multiple of a tile's."""
    lane = index % (TILE_WIDTH * TILE_HEIGHT)
    tile = index // (TILE_WIDTH * TILE_HEIGHT)
    p = Pixel()
    p.x = (tile % canvas.across) * TILE_WIDTH + lane % TILE_WIDTH
    tile = tile // canvas.across
    p.y = (tile % canvas.down) * TILE_HEIGHT + lane // TILE_WIDTH
    tile = tile // canvas.down
    p.camera = tile % canvas.cameras
    p.slot = tile // canvas.cameras
    return p


@wp.func
def ray_through(views: Views, canvas: Canvas, p: Pixel, dx: float, dy: float) -> Ray:
    """The ray through a place in a pixel; 0.5, 0.5 is its middle."""
    s = (float(p.x) + dx) / float(canvas.width)
    t = (float(p.y) + dy) / float(canvas.height)
    return pixel_ray(views, p.slot, p.camera, s, t)


@cache
def look_kernel(features: Features, colours: bool) -> wp.Kernel:
    """First hit of every pixel's ray: depth and object, and the hit itself for colours."""
    nearest = nearest_of(features)

    @wp.kernel(enable_backward=False, module="unique", grid_stride=False)
    def look(scene: Scene, views: Views, canvas: Canvas, first: int):
        p = pixel_of(canvas, first + wp.tid())
        if p.x >= canvas.width or p.y >= canvas.height:
            return
        ray = ray_through(views, canvas, p, 0.5, 0.5)
        near = scene.sky.near / ray.cosine
        far = scene.sky.far / ray.cosine
        hit = nearest(scene, p.slot, ray.origin, ray.direction, near, far, -1)
        if canvas.depth.shape[0] > 0:
            canvas.depth[p.slot, p.camera, p.y, p.x] = hit.t * ray.cosine
        if canvas.segmentation.shape[0] > 0:
            seen = wp.vec2i(-1, -1)
            if hit.item >= 0:
                seen = wp.vec2i(scene.look.owner[hit.item], scene.look.objtype[hit.item])
            canvas.segmentation[p.slot, p.camera, p.y, p.x] = seen
        if wp.static(colours):
            canvas.t[p.slot, p.camera, p.y, p.x] = hit.t
            canvas.item[p.slot, p.camera, p.y, p.x] = hit.item
            if wp.static(features.surfaces):
                canvas.face[p.slot, p.camera, p.y, p.x] = hit.face
                canvas.uv[p.slot, p.camera, p.y, p.x] = wp.vec2(hit.u, hit.v)

    return look


@cache
def shadow_kernel(features: Features) -> wp.Kernel:
    """Which lights do not reach the first hit of every pixel's ray."""
    dark = dark_of(features)

    @wp.kernel(enable_backward=False, module="unique", grid_stride=False, module_options={"fast_math": True})
    def shadow(scene: Scene, views: Views, canvas: Canvas, first: int):
        p = pixel_of(canvas, first + wp.tid())
        if p.x >= canvas.width or p.y >= canvas.height:
            return
        ray = ray_through(views, canvas, p, 0.5, 0.5)
        hit = hit_of(canvas, p)
        bits = int(-1)
        if hit.item >= 0:
            bits = dark(scene, p.slot, hit, ray.origin, ray.direction)
        canvas.dark[p.slot, p.camera, p.y, p.x] = bits

    return shadow


@wp.func
def hit_of(canvas: Canvas, p: Pixel) -> Hit:
    """What `look` found for a pixel."""
    hit = Hit()
    hit.t = canvas.t[p.slot, p.camera, p.y, p.x]
    hit.item = canvas.item[p.slot, p.camera, p.y, p.x]
    if canvas.face.shape[0] > 0:
        hit.face = canvas.face[p.slot, p.camera, p.y, p.x]
        uv = canvas.uv[p.slot, p.camera, p.y, p.x]
        hit.u = uv[0]
        hit.v = uv[1]
    return hit


@wp.func
def is_shadow_edge(canvas: Canvas, p: Pixel) -> bool:
    """Whether other lights reach a pixel than reach some pixel up to eight away: penumbras are no wider."""
    bits = canvas.dark[p.slot, p.camera, p.y, p.x]
    for k in range(32):
        step = 1 << (k // 8)
        turn = k % 8
        right = wp.where(turn == 0 or turn == 1 or turn == 7, 1, wp.where(turn >= 3 and turn <= 5, -1, 0))
        up = wp.where(turn >= 1 and turn <= 3, 1, wp.where(turn >= 5, -1, 0))
        x = wp.clamp(p.x + step * right, 0, canvas.width - 1)
        y = wp.clamp(p.y + step * up, 0, canvas.height - 1)
        other = canvas.dark[p.slot, p.camera, y, x]
        if other >= 0 and other != bits:
            return True
    return False


@wp.func
def is_edge(canvas: Canvas, p: Pixel) -> bool:
    """Whether a pixel lies on the outline of something."""
    item = canvas.item[p.slot, p.camera, p.y, p.x]
    t = canvas.t[p.slot, p.camera, p.y, p.x]
    for k in range(4):
        x = wp.clamp(p.x + wp.where(k == 0, 1, wp.where(k == 1, -1, 0)), 0, canvas.width - 1)
        y = wp.clamp(p.y + wp.where(k == 2, 1, wp.where(k == 3, -1, 0)), 0, canvas.height - 1)
        if canvas.item[p.slot, p.camera, y, x] != item:
            return True
        if item >= 0 and wp.abs(canvas.t[p.slot, p.camera, y, x] - t) > 0.05 * t:
            return True
    return False


@cache
def paint_kernel(features: Features) -> wp.Kernel:
    """Colours of hits."""
    nearest = nearest_of(features)
    radiance = radiance_of(features)

    @wp.kernel(enable_backward=False, module="unique", grid_stride=False, module_options={"fast_math": True})
    def paint(scene: Scene, views: Views, canvas: Canvas, first: int):
        p = pixel_of(canvas, first + wp.tid())
        if p.x >= canvas.width or p.y >= canvas.height:
            return
        mat = views.mat[p.slot, p.camera]
        gaze = -wp.vec3(mat[0, 2], mat[1, 2], mat[2, 2])
        covered = 2.0 * views.lens[p.slot, p.camera][3] / float(canvas.height)
        spread = wp.vec2(0.0, covered)
        if views.orthographic[p.camera] != 0:
            spread = wp.vec2(covered, 0.0)
        count = int(1)
        shade = int(Shade.RAY)
        dark = int(0)
        if canvas.smooth != 0:
            if is_edge(canvas, p):
                count = 4
            elif canvas.dark.shape[0] > 0:
                dark = canvas.dark[p.slot, p.camera, p.y, p.x]
                shade = int(Shade.KNOWN)
                if is_shadow_edge(canvas, p):
                    shade = int(Shade.SOFT)
        colour = wp.vec3()
        for k in range(count):
            dx = float(0.5)
            dy = float(0.5)
            if count > 1:  # a rotated grid: four different rows and columns
                dx = 0.125 + 0.25 * float((2 * k + k // 2) % 4)
                dy = 0.125 + 0.25 * float(k)
            ray = ray_through(views, canvas, p, dx, dy)
            near = scene.sky.near / ray.cosine
            far = scene.sky.far / ray.cosine
            hit = Hit()
            if count > 1:
                hit = nearest(scene, p.slot, ray.origin, ray.direction, near, far, -1)
            else:
                hit = hit_of(canvas, p)
            colour += radiance(scene, p.slot, ray.origin, ray.direction, hit, gaze, spread, far, shade, dark)
        colour = colour * (255.0 / float(count)) + wp.vec3(0.5, 0.5, 0.5)
        canvas.rgb[p.slot, p.camera, p.y, p.x] = wp.vec3ub(
            wp.uint8(wp.min(colour[0], 255.0)), wp.uint8(wp.min(colour[1], 255.0)), wp.uint8(wp.min(colour[2], 255.0))
        )

    return paint


class Renderer:
    """Pictures of many worlds by the same cameras, drawn into arrays that stay where they are.

    Args:
        sim: The simulation.
        cameras: Cameras: ids, names, `FreeCamera`s, or None for the model's free camera. One or a sequence.
        width, height: Size of each picture in pixels.
        kinds: Which pictures to draw: "rgb", "depth", "segmentation".
        worlds: Which worlds are drawn: indices; None: all.
        shadows: Whether lights cast shadows (where the model says so).
        reflections: Whether a material with reflectance mirrors.
        sky, haze: Whether the model's sky is behind everything, and haze before it.
        antialias: Smooth the outlines of things and the edges of shadows.
        geom_groups, site_groups, tendon_groups, skin_groups, flex_groups: Groups that are drawn.
        overlays: What is drawn on top: "contacts", "forces", "joints", "frames", "inertia". They are computed on the
            host, and only for colours.
        threads: CPU threads; None: one a core.

    Attributes:
        rgb: (worlds, cameras, height, width) of three bytes each, on the device.
        depth: The same of floats: metres along the camera's gaze; the far plane where nothing is.
        segmentation: The same of two integers: object id and mjtObj; (-1, -1) where nothing is.
    """

    def __init__(
        self, sim, cameras=None, width: int = 320, height: int = 240, *, kinds: Collection[str] = ("rgb",),
        worlds: Sequence[int] | None = None, shadows: bool = True, reflections: bool = True, sky: bool = True,
        haze: bool = True, antialias: bool = False,
        geom_groups: Collection[int] = GROUPS, site_groups: Collection[int] = GROUPS,
        tendon_groups: Collection[int] = GROUPS, skin_groups: Collection[int] = GROUPS,
        flex_groups: Collection[int] = GROUPS,
        overlays: Collection[str] = (), threads: int | None = None,
    ):  # fmt: skip
        kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        for kind in kinds:
            if kind not in KINDS:
                raise BuildError(f"kind={kind!r}{did_you_mean(kind, KINDS)}: a picture is one of {', '.join(KINDS)}")
        if not all(isinstance(side, int | np.integer) and side >= 1 for side in (width, height)):
            raise BuildError(f"a picture of {width} x {height} pixels: both must be whole numbers, at least 1")
        self.sim, self.kinds, self.width, self.height = sim, kinds, width, height
        self.device = sim.engine.device
        self.worlds = _chosen(worlds, sim.worlds)
        model = sim.model
        cameras = list(cameras) if isinstance(cameras, list | tuple) else [cameras]
        views = [view_of(model, camera) for camera in cameras]
        self.views = upload_views(views, width / height, len(self.worlds), self.device)
        self.overlays = check_overlays(overlays)
        if self.overlays and kinds != ("rgb",):
            raise BuildError(f"overlays={self.overlays}: they are drawn in colours only, not in {', '.join(kinds)}")
        self._model = with_flexes(model)
        self._items = items_of(
            self._model, geom_groups=geom_groups, site_groups=site_groups, tendon_groups=tendon_groups,
            skin_groups=skin_groups, flex_groups=flex_groups,
        )  # fmt: skip
        self._light = {"shadows": shadows, "reflections": reflections, "sky": sky, "haze": haze}
        self._room: dict[int, int] = {}
        self.setting = self._build()
        self.canvas = self._canvas(len(cameras), antialias)
        self.rgb, self.depth, self.segmentation = self.canvas.rgb, self.canvas.depth, self.canvas.segmentation
        self._threads = threads or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
        self._pool: ThreadPoolExecutor | None = None
        self._commands: list[list[wp.Launch]] | None = None

    def _build(self) -> scenes.Setting:
        items = with_room(self._items, self._room) if self._room else self._items
        setting = scenes.build(self._model, items, self.worlds, self.device, **self._light)
        if self._room:  # decorations differ from world to world
            look = setting.scene.look
            colours = np.ascontiguousarray(np.broadcast_to(setting.items.rgba, (*look.rgba.shape, 4)))
            look.rgba = wp.array(colours, dtype=wp.vec4, device=self.device)
            setting.scene.look = look
        return setting

    def _decorate(self) -> None:
        """Put decorations into their rooms; where there are more of a shape than rooms, there are to be more."""
        found = decorations(self.sim, self.worlds, self.overlays)
        most = {int(shape): max(int(np.sum(each.shape == shape)) for each in found) for shape in SHAPES}
        if not self._room or any(most[shape] > self._room[shape] for shape in most):
            self._room = {shape: 1 << max(count - 1, 3).bit_length() for shape, count in most.items()}
            self.setting, self._commands = self._build(), None
        look, placed = self.setting.scene.look, self.setting.scene.placed
        arrays = {name: getattr(placed, name).numpy() for name in ("pos", "mat", "size")}
        arrays["rgba"] = look.rgba.numpy()
        first = placed.count - sum(self._room.values())
        for shape, room in self._room.items():
            for slot, each in enumerate(found):
                own = each.of(shape)
                arrays["size"][slot, first : first + room] = 0.0
                for name, target in arrays.items():
                    target[slot, first : first + len(own)] = getattr(own, name)
            first += room
        for name, values in arrays.items():
            target = look.rgba if name == "rgba" else getattr(placed, name)
            target.assign(values)

    def _canvas(self, cameras: int, antialias: bool) -> Canvas:
        shape = (len(self.worlds), cameras, self.height, self.width)

        def made(wanted: bool, dtype) -> wp.array:
            return wp.zeros(shape if wanted else (0, 0, 0, 0), dtype=dtype, device=self.device)

        canvas, colours = Canvas(), "rgb" in self.kinds
        canvas.width, canvas.height, canvas.cameras = self.width, self.height, cameras
        canvas.across, canvas.down = -(-self.width // TILE_WIDTH), -(-self.height // TILE_HEIGHT)
        canvas.smooth = int(antialias)
        if _threads_of(canvas, len(self.worlds)) >= 2**31:
            raise BuildError(
                f"{len(self.worlds)} worlds x {cameras} cameras x {self.width} x {self.height} are too many pixels for"
                " one picture: draw some worlds at a time (worlds=...)"
            )
        canvas.rgb = made(colours, wp.vec3ub)
        canvas.depth = made("depth" in self.kinds, float)
        canvas.segmentation = made("segmentation" in self.kinds, wp.vec2i)
        canvas.t, canvas.item = made(colours, float), made(colours, int)
        surfaces = colours and (self.setting.has_surfaces or not self.device.is_cuda)
        canvas.face, canvas.uv = made(surfaces, int), made(surfaces, wp.vec2)
        canvas.dark = made(colours and antialias and self.setting.casts_shadows, int)
        return canvas

    def render(self, *, refresh: bool = True) -> None:
        """Draw all pictures of the present state.

        Args:
            refresh: Compute poses from the state first. False: draw poses as the last step or forward left them.
        """
        self._place(refresh)
        commands = self._commands or self._record()
        for parts in commands:
            if len(parts) == 1:
                parts[0].launch()
            else:
                self._pool = self._pool or ThreadPoolExecutor(self._threads)
                list(self._pool.map(lambda part: part.launch(), parts))

    def set_rgba(self, rgba) -> None:
        """Give items their own colours in every world: (worlds, items, 4), in the order of `renderer.items`."""
        look = self.setting.scene.look
        values = np.broadcast_to(np.asarray(rgba, np.float32), (*look.rgba.shape, 4))
        look.rgba = wp.array(np.ascontiguousarray(values), dtype=wp.vec4, device=self.device)
        self.setting.scene.look = look
        self._commands = None

    @property
    def items(self) -> scenes.Items:
        """What is drawn, in order: columns `objtype`, `owner`, `rgba`, ..."""
        return self.setting.items

    # ------------------------------------------------------------------------------------------ inside

    def _place(self, refresh: bool) -> None:
        scene = self.setting.scene
        if refresh:
            self._refresh()
        if self.overlays:
            self._decorate()
            scene = self.setting.scene
        shown = self._shown()
        slots, items, lights = len(self.worlds), scene.placed.count, scene.lights.count
        self._launch(place.place_views, self.views.pos.shape, [scene.placed, shown, self.views])
        if items:
            self._launch(place.place_items, (slots, items), [scene.look, shown, scene.placed])
        if lights:
            self._launch(place.place_lights, (slots, lights), [scene.placed, shown, scene.lights])
        skins = self.setting.skins
        if skins:
            bend(skins, scene.placed.world, shown)
            for mesh in skins.meshes:
                mesh.refit()
            if not skins.meshes:
                plant_skins(skins, self._model, scene.look.surface, scene.placed.surface_root)
        if self.setting.tree is None:
            scenes.plant(self.setting)
        else:
            self.setting.tree.refit()

    def _refresh(self) -> None:
        """Compute poses from the state, and nothing that a later step would notice."""
        self.sim.engine.poses()

    def _shown(self) -> Shown:
        """The engine's arrays, which it may have made anew since the last picture."""
        return self.sim.engine.bundle(Shown)

    def _launch(self, kernel: wp.Kernel, dim, inputs: list) -> None:
        wp.launch(kernel, dim=dim, inputs=inputs, device=self.device)

    def _features(self) -> Features:
        setting = self.setting
        has_tree = setting.tree is not None
        if not self.device.is_cuda:
            return Features(True, has_tree, textures=True, clear=True, mirror=True, shadows=True)
        return Features(
            setting.has_surfaces, has_tree, textures=setting.has_textures, clear=setting.is_clear,
            mirror=setting.scene.sky.mirror >= 0, shadows=setting.casts_shadows,
        )  # fmt: skip

    def _record(self) -> list[list[wp.Launch]]:
        """Launches of the drawing kernels, each split into ranges of pixels."""
        setting, colours = self.setting, "rgb" in self.kinds
        features = self._features()
        kernels = [look_kernel(Features(surfaces=features.surfaces, tree=features.tree), colours)]
        if colours and self.canvas.dark.shape[0]:
            kernels.append(shadow_kernel(replace(features, textures=False, clear=False, mirror=False)))
        if colours:
            kernels.append(paint_kernel(features))
        canvas = self.canvas
        total = _threads_of(canvas, len(self.worlds))
        parts = 1
        if not self.device.is_cuda and self._threads > 1 and total > SMALL:
            parts = PARTS * self._threads
        bounds = np.linspace(0, total, parts + 1).astype(int).tolist()
        self._commands = [
            [
                wp.launch(
                    kernel, dim=last - first, inputs=[setting.scene, self.views, canvas, first], device=self.device,
                    record_cmd=True, block_dim=BLOCK,
                )
                for first, last in zip(bounds[:-1], bounds[1:], strict=True)
            ]
            for kernel in kernels
        ]  # fmt: skip
        return self._commands


def _threads_of(canvas: Canvas, slots: int) -> int:
    """One a pixel, whole tiles."""
    return slots * canvas.cameras * canvas.across * canvas.down * TILE_WIDTH * TILE_HEIGHT


def _chosen(worlds, count: int) -> np.ndarray:
    if worlds is None:
        return np.arange(count)
    chosen = np.atleast_1d(np.asarray(worlds))
    if chosen.dtype == bool:
        chosen = np.flatnonzero(chosen)
    if chosen.size == 0 or np.any(chosen < -count) or np.any(chosen >= count):
        raise BuildError(f"worlds={worlds!r}: the simulation has worlds 0 to {count - 1}")
    return (chosen % count).astype(np.int32)
