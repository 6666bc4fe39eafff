"""Cameras: which ray goes through which pixel.

In a camera's frame x points right, y up and -z into the picture. A lens maps the picture to a rectangle (centre c, half
sizes h): at depth 1 in perspective, in metres for an orthographic camera. A pixel at fractions (s, t) of the picture,
from the upper left, looks along (c_x + (2s - 1) h_x, c_y + (1 - 2t) h_y, -1).

    fovy         h_y = tan(fovy / 2), h_x = h_y * width / height, c = 0
    intrinsic    h = sensor size / 2 / focal length, c = principal point / focal length; the picture is the sensor's
    orthographic h_y = fovy / 2 in metres
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp

from kinema.errors import BuildError
from kinema.mujoco_enums import Projection
from kinema.simulation.named import ids_of

FREE = -1


@dataclass(frozen=True, kw_only=True)
class FreeCamera:
    """A camera that is not in the model; what is not given is the model's default free camera.

    Attributes:
        azimuth, elevation: Direction in which it looks, in degrees.
        distance: From the point it looks at.
        lookat: The point it looks at; with `track`, relative to the centre of mass of the body's subtree.
        fovy: Vertical field of view in degrees; the height of the picture in metres if orthographic.
        orthographic: Whether it has no perspective.
        track: Name or id of a body to follow in every world.
    """

    azimuth: float | None = None
    elevation: float | None = None
    distance: float | None = None
    lookat: tuple[float, float, float] | None = None
    fovy: float | None = None
    orthographic: bool | None = None
    track: str | int | None = None

    def __post_init__(self):
        if self.lookat is not None:
            point = tuple(float(x) for x in self.lookat)  # hashable, whatever it was
            if len(point) != 3:
                raise BuildError(f"lookat={self.lookat!r}: a point has three coordinates")
            object.__setattr__(self, "lookat", point)


@dataclass
class View:
    """One camera as it was asked for; `camera` is its id in the model, or FREE, and only then the rest counts."""

    camera: int
    orthographic: bool
    pos: np.ndarray
    mat: np.ndarray
    body: int = -1
    fovy: float = 45.0


def view_of(m, camera) -> View:
    """The view of a camera: an id, a name, a FreeCamera, or None or -1 for the model's free camera."""
    if camera is None or (isinstance(camera, int | np.integer) and camera == FREE):
        camera = FreeCamera()
    if isinstance(camera, FreeCamera):
        return _free_view(m, camera)
    if not isinstance(camera, int | str | np.integer):
        raise BuildError(f"camera={camera!r}: give a name, an id, a FreeCamera, or None for the free camera")
    i = ids_of(m, "camera", camera if isinstance(camera, str) else int(camera))[0][0]
    return View(i, int(m.cam_projection[i]) == Projection.ORTHOGRAPHIC, np.zeros(3), np.eye(3))


def _free_view(m, camera: FreeCamera) -> View:
    settings = m.vis.global_

    def chosen(value, default):
        return default if value is None else value

    azimuth = np.deg2rad(chosen(camera.azimuth, settings.azimuth))
    elevation = np.deg2rad(chosen(camera.elevation, settings.elevation))
    body = -1 if camera.track is None else ids_of(m, "body", camera.track)[0][0]
    centre = np.zeros(3) if body >= 0 else np.asarray(m.stat.center, float)
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    eye = np.asarray(chosen(camera.lookat, centre), float) - forward * chosen(camera.distance, 1.5 * m.stat.extent)
    mat = np.stack([right, np.cross(right, forward), -forward], axis=1)
    orthographic = bool(chosen(camera.orthographic, settings.orthographic))
    return View(FREE, orthographic, eye, mat, body, float(chosen(camera.fovy, settings.fovy)))


@wp.struct
class Views:
    """Cameras of a picture, (ncam,) each; poses and lenses are [slot, camera] and placed before every picture."""

    aspect: float  # width by height
    camera: wp.array(dtype=int)
    orthographic: wp.array(dtype=int)
    body: wp.array(dtype=int)
    free_pos: wp.array(dtype=wp.vec3)
    free_mat: wp.array(dtype=wp.mat33)
    free_fovy: wp.array(dtype=float)
    pos: wp.array2d(dtype=wp.vec3)
    mat: wp.array2d(dtype=wp.mat33)
    lens: wp.array2d(dtype=wp.vec4)  # centre, half sizes


def upload_views(views: list[View], aspect: float, slots: int, device) -> Views:
    """Cameras on the device, with room for their poses."""
    bundle, shape = Views(), (slots, len(views))
    bundle.aspect = aspect
    bundle.camera = wp.array([v.camera for v in views], dtype=int, device=device)
    bundle.orthographic = wp.array([int(v.orthographic) for v in views], dtype=int, device=device)
    bundle.body = wp.array([v.body for v in views], dtype=int, device=device)
    bundle.free_pos = wp.array(np.array([v.pos for v in views], np.float32), dtype=wp.vec3, device=device)
    bundle.free_mat = wp.array(np.array([v.mat for v in views], np.float32), dtype=wp.mat33, device=device)
    bundle.free_fovy = wp.array([v.fovy for v in views], dtype=float, device=device)
    bundle.pos = wp.zeros(shape, dtype=wp.vec3, device=device)
    bundle.mat = wp.zeros(shape, dtype=wp.mat33, device=device)
    bundle.lens = wp.zeros(shape, dtype=wp.vec4, device=device)
    return bundle


@wp.func
def lens_of(fovy: float, sensor: wp.vec2, intrinsic: wp.vec4, aspect: float, orthographic: bool) -> wp.vec4:
    """Centre and half sizes of the picture at depth 1, or in metres."""
    if orthographic:
        return wp.vec4(0.0, 0.0, 0.5 * fovy * aspect, 0.5 * fovy)
    if sensor[1] > 0.0:
        return wp.vec4(
            intrinsic[2] / intrinsic[0], -intrinsic[3] / intrinsic[1],
            0.5 * sensor[0] / intrinsic[0], 0.5 * sensor[1] / intrinsic[1],
        )
    tall = wp.tan(wp.radians(0.5 * fovy))
    return wp.vec4(0.0, 0.0, tall * aspect, tall)


@wp.struct
class Ray:
    """A ray into the scene: origin, unit direction, and how much of its length is depth."""

    origin: wp.vec3
    direction: wp.vec3
    cosine: float


@wp.func
def pixel_ray(views: Views, slot: int, c: int, s: float, t: float) -> Ray:
    """The ray through fractions (s, t) of a picture, from the upper left."""
    lens = views.lens[slot, c]
    mat = views.mat[slot, c]
    x = lens[0] + (2.0 * s - 1.0) * lens[2]
    y = lens[1] + (1.0 - 2.0 * t) * lens[3]
    ray = Ray()
    ray.origin = views.pos[slot, c]
    if views.orthographic[c] != 0:
        ray.origin += mat @ wp.vec3(x, y, 0.0)
        ray.direction = mat @ wp.vec3(0.0, 0.0, -1.0)
        ray.cosine = 1.0
    else:
        length = wp.sqrt(x * x + y * y + 1.0)
        ray.direction = mat @ (wp.vec3(x, y, -1.0) / length)
        ray.cosine = 1.0 / length
    return ray
