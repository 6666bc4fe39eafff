"""SensorTiledCamera: pictures of all worlds of a Model, by cameras that are given as poses and rays.

    sensor = SensorTiledCamera(model)
    rays = sensor.utils.compute_camera_rays_pinhole(width, height, camera_fovs=0.8)
    color = sensor.utils.create_color_image_output(width, height)
    sensor.update(state, camera_transforms, rays, color_image=color)          [world, camera, row, column]

The names are Newton's, and so are shapes and packing; the tracer is that of `sim.render`. Light is that of the
documents in the model and, as in MuJoCo, a lamp at the camera; a model built by hand has the lamp alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from kinema.closed import Closed
from kinema.errors import BuildError
from kinema.model import Model, State
from kinema.render.ray_images import Eyes, Images, ray_kernel
from kinema.render.renderer import Renderer
from kinema.render.trace import Features
from kinema.simulation import Simulation

IMAGES = {
    "color": wp.uint32, "hdr_color": wp.vec3, "depth": float, "forward_depth": float, "shape_index": wp.uint32,
    "normal": wp.vec3, "albedo": wp.uint32,
}  # fmt: skip
"""Kinds of pictures, and what a pixel of each is."""

FIELDS = {"hdr_color": "hdr", "forward_depth": "forward", "shape_index": "shape"}


@dataclass
class RenderConfig:
    """How pictures are made.

    Attributes:
        enable_shadows: Whether lights of documents cast shadows.
        enable_textures: Whether things have their textures.
        max_distance: How far is seen [m].
    """

    enable_shadows: bool = False
    enable_textures: bool = True
    max_distance: float = 1000.0


@dataclass
class ClearData:
    """What pixels are where nothing is."""

    clear_color: int = 0
    clear_depth: float = 0.0
    clear_shape_index: int = 0xFFFFFFFF
    clear_normal: tuple[float, float, float] = (0.0, 0.0, 0.0)
    clear_albedo: int = 0


@wp.kernel(enable_backward=False)
def pinhole_rays(fovy: wp.array(dtype=float), first: int, rays: wp.array4d(dtype=wp.vec3)):
    """Rays through the centres of pixels, of cameras that look along -z with y up."""
    camera, y, x = wp.tid()
    height = float(rays.shape[1])
    tall = wp.tan(0.5 * fovy[camera])
    across = 2.0 * (float(x) + 0.5 - 0.5 * float(rays.shape[2])) / height
    up = 2.0 * (0.5 * height - float(y) - 0.5) / height
    rays[first + camera, y, x, 0] = wp.vec3()
    rays[first + camera, y, x, 1] = wp.normalize(wp.vec3(tall * across, tall * up, -1.0))


class Utils:
    """Arrays for pictures, rays of cameras, and pictures put together as tiles."""

    def __init__(self, model: Model):
        self._worlds, self._device = model.world_count, model.device

    def _output(self, kind: str, width: int, height: int, camera_count: int) -> wp.array:
        return wp.zeros((self._worlds, camera_count, height, width), dtype=IMAGES[kind], device=self._device)

    def create_color_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for colours, four bytes in a number: (worlds, cameras, height, width)."""
        return self._output("color", width, height, camera_count)

    def create_hdr_color_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for colours as numbers."""
        return self._output("hdr_color", width, height, camera_count)

    def create_depth_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for distances along rays [m]."""
        return self._output("depth", width, height, camera_count)

    def create_forward_depth_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for distances along the gaze [m]."""
        return self._output("forward_depth", width, height, camera_count)

    def create_shape_index_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for indices of shapes."""
        return self._output("shape_index", width, height, camera_count)

    def create_normal_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for normals."""
        return self._output("normal", width, height, camera_count)

    def create_albedo_image_output(self, width: int, height: int, camera_count: int = 1) -> wp.array:
        """Room for colours without light."""
        return self._output("albedo", width, height, camera_count)

    def compute_camera_rays_pinhole(
        self, width: int, height: int, *, camera_fovs: Any = None, out_rays: wp.array | None = None,
        camera_index: int = 0,
    ) -> wp.array:  # fmt: skip
        """Rays of pinhole cameras, (cameras, height, width, 2): origins and directions in the camera's frame.

        Args:
            width, height: Size of the pictures.
            camera_fovs: Vertical angle of view of each camera [rad]: a number or several.
            out_rays: Where to write them; None: a new array.
            camera_index: Of the first camera in `out_rays`.
        """
        if camera_fovs is None:
            raise BuildError("compute_camera_rays_pinhole(): give camera_fovs, the vertical angles of view [rad]")
        given = camera_fovs.numpy() if isinstance(camera_fovs, wp.array) else camera_fovs
        angles = np.atleast_1d(np.asarray(given, np.float32))
        rays = out_rays
        if rays is None:
            rays = wp.zeros((len(angles), height, width, 2), dtype=wp.vec3, device=self._device)
            camera_index = 0
        if rays.shape[1:] != (height, width, 2) or rays.shape[0] < camera_index + len(angles):
            raise BuildError(f"out_rays has shape {rays.shape}: {len(angles)} cameras of {height} x {width} do not fit")
        fovy = wp.array(angles, dtype=float, device=self._device)
        wp.launch(pinhole_rays, (len(angles), height, width), [fovy, camera_index, rays], device=self._device)
        return rays

    def compute_pinhole_camera_rays(self, width: int, height: int, camera_fovs: Any) -> wp.array:
        """`compute_camera_rays_pinhole`, as it was called before."""
        return self.compute_camera_rays_pinhole(width, height, camera_fovs=camera_fovs)

    def to_rgba_from_color(self, image: wp.array) -> wp.array:
        """The bytes of colours, (worlds * cameras, height, width, 4): the same memory."""
        worlds, cameras, height, width = image.shape
        return image.view(wp.vec4ub).reshape((worlds * cameras, height, width)).view(wp.uint8)

    def flatten_color_image_to_rgba(
        self, image: wp.array, out_buffer: wp.array | None = None, worlds_per_row: int | None = None
    ) -> wp.array:
        """All pictures as tiles of one, (rows, columns, 4) bytes."""
        return self._tiles(self.to_rgba_from_color(image).numpy(), out_buffer, worlds_per_row)

    def flatten_depth_image_to_rgba(
        self, image: wp.array, out_buffer: wp.array | None = None, worlds_per_row: int | None = None
    ) -> wp.array:
        """Depths as tiles in grey, near ones bright, black where nothing is."""
        depth = image.numpy().reshape(-1, *image.shape[2:])
        near, far = (depth[depth > 0].min(), depth[depth > 0].max()) if (depth > 0).any() else (0.0, 1.0)
        grey = np.where(depth > 0, 255 - 205 * (depth - near) / max(far - near, 1e-6), 0).astype(np.uint8)
        return self._tiles(np.repeat(grey[..., None], 4, axis=-1), out_buffer, worlds_per_row)

    def flatten_normal_image_to_rgba(
        self, image: wp.array, out_buffer: wp.array | None = None, worlds_per_row: int | None = None
    ) -> wp.array:
        """Normals as tiles of colours."""
        normal = np.clip(image.numpy().reshape(-1, *image.shape[2:], 3) * 0.5 + 0.5, 0, 1)
        tiles = np.concatenate([(255 * normal).astype(np.uint8), np.full((*normal.shape[:-1], 1), 255, np.uint8)], -1)
        return self._tiles(tiles, out_buffer, worlds_per_row)

    def _tiles(self, pictures: np.ndarray, out: wp.array | None, per_row: int | None) -> wp.array:
        count, height, width, _ = pictures.shape
        per_row = int(np.ceil(np.sqrt(count))) if per_row is None else int(per_row)
        down = -(-count // per_row)
        padded = np.zeros((down * per_row, height, width, 4), np.uint8)
        padded[:count] = pictures
        whole = padded.reshape(down, per_row, height, width, 4).swapaxes(1, 2).reshape(down * height, -1, 4)
        if out is None:
            return wp.array(np.ascontiguousarray(whole), dtype=wp.uint8, device=self._device)
        out.assign(np.ascontiguousarray(whole).reshape(out.shape))
        return out

    def create_default_light(self, *args: Any, **kwargs: Any) -> None:
        """Refused: light is the documents' own, and a lamp at the camera."""
        raise BuildError("create_default_light(): put a <light> into a document; there is a lamp at the camera anyway")


class _Part:
    """Worlds of one structure: their scene, and what tells which shape of the model is seen."""

    def __init__(self, sim: Simulation, config: RenderConfig):
        self.sim = sim
        self.renderer = Renderer(
            sim, None, 8, 8, shadows=config.enable_shadows, reflections=False, sky=False, haze=False, site_groups=()
        )
        batch, device = sim._of_model().batch, sim.engine.device
        ints = {"world": batch.worlds.worlds, "shape": batch.source.geoms, "start": batch.starts("shape")}
        self._kept = {
            name: wp.array(np.asarray(values, np.int32), dtype=int, device=device) for name, values in ints.items()
        }
        self._kept["place"] = batch.boundary.items.places.xform

    def draw(self, state: State, pose: wp.array, rays: wp.array, images: Images, config: RenderConfig) -> None:
        """All pictures of these worlds."""
        self.sim.read_model_state(state)
        self.renderer._place(True)
        eyes = Eyes()
        eyes.pose, eyes.rays, eyes.far = pose, rays, config.max_distance
        for name, array in self._kept.items():
            setattr(eyes, name, array)
        features: Features = self.renderer._features()
        if not config.enable_textures:
            features = replace(features, textures=False)
        colours = bool(images.color.shape[0] or images.hdr.shape[0])
        dim = (self.sim.worlds, *rays.shape[:3])
        inputs = [self.renderer.setting.scene, eyes, images]
        wp.launch(ray_kernel(features, colours), dim, inputs, device=self.sim.engine.device)


Config = RenderConfig  # the class has attributes of these names
Clear = ClearData


class SensorTiledCamera(Closed):
    """Cameras that see all worlds of a model.

    Args:
        model: The model.
        default_render_config: How pictures are made; None: `RenderConfig()`.
        load_textures: Whether things have their textures.

    Attributes:
        utils: Arrays for pictures, and rays of cameras.
    """

    RenderConfig = RenderConfig
    ClearData = ClearData
    Utils = Utils
    DEFAULT_CLEAR_DATA = ClearData()
    GRAY_CLEAR_DATA = ClearData(clear_color=0xFF666666, clear_albedo=0xFF000000)

    def __init__(
        self, model: Model, *, default_render_config: Config | None = None, load_textures: bool = True
    ):
        self.model, self.utils = model, Utils(model)
        self.default_render_config = default_render_config or RenderConfig(enable_textures=load_textures)
        self._parts = [_Part(sim, self.default_render_config) for sim in Simulation.of_model(model)]

    def update(
        self, state: State, camera_transforms: wp.array | None = None, camera_rays: wp.array | None = None, *,
        color_image: wp.array | None = None, hdr_color_image: wp.array | None = None,
        depth_image: wp.array | None = None, forward_depth_image: wp.array | None = None,
        shape_index_image: wp.array | None = None, normal_image: wp.array | None = None,
        albedo_image: wp.array | None = None, clear_data: Clear | None = None,
        render_config: Config | None = None, kernel_block_dim: int = 64,
    ) -> None:  # fmt: skip
        """Draw the pictures that there is room for.

        Args:
            state: Where bodies are.
            camera_transforms: Poses of cameras in space, (cameras, worlds).
            camera_rays: Their rays, (cameras, height, width, 2), from `utils`.
            color_image, hdr_color_image, depth_image, forward_depth_image, shape_index_image, normal_image,
                albedo_image: Pictures to draw, (worlds, cameras, height, width); None: not wanted.
            clear_data: What pixels are where nothing is.
            render_config: How far is seen, and whether with textures; shadows are those of the default.
            kernel_block_dim: Not used.
        """
        if camera_transforms is None or camera_rays is None:
            raise BuildError("update(): give camera_transforms (cameras, worlds) and camera_rays")
        shape = (self.model.world_count, *camera_rays.shape[:3])
        if camera_transforms.shape != (shape[1], shape[0]):
            raise BuildError(f"camera_transforms has shape {camera_transforms.shape}: expected {(shape[1], shape[0])}")
        given = {
            "color": color_image, "hdr_color": hdr_color_image, "depth": depth_image,
            "forward_depth": forward_depth_image, "shape_index": shape_index_image, "normal": normal_image,
            "albedo": albedo_image,
        }  # fmt: skip
        images, clear = Images(), clear_data or self.DEFAULT_CLEAR_DATA
        for name, array in given.items():
            if array is not None:
                if array.shape != shape:
                    raise BuildError(f"{name}_image has shape {array.shape}: expected {shape}")
                setattr(images, FIELDS.get(name, name), array)
        images.no_color, images.no_albedo = clear.clear_color, clear.clear_albedo
        images.no_depth, images.no_shape = clear.clear_depth, clear.clear_shape_index
        images.no_normal = wp.vec3(*clear.clear_normal)
        for part in self._parts:
            part.draw(state, camera_transforms, camera_rays, images, render_config or self.default_render_config)
