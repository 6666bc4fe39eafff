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
from kinema.simulation.named import ids_of

ORTHOGRAPHIC = 1  # mjtProjection
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


@dataclass
class View:
    """One camera as the kernels see it; `camera` is its id in the model, or FREE."""

    camera: int
    pos: np.ndarray
    mat: np.ndarray
    body: int
    centre: np.ndarray
    half: np.ndarray
    orthographic: bool


def view_of(m, camera, width: int, height: int) -> View:
    """The view of a camera: an id, a name, a FreeCamera, or None or -1 for the model's free camera."""
    if camera is None or (isinstance(camera, int | np.integer) and camera == FREE):
        camera = FreeCamera()
    if isinstance(camera, FreeCamera):
        return _free_view(m, camera, width / height)
    if not isinstance(camera, int | str | np.integer):
        raise BuildError(f"camera={camera!r}: give a name, an id, a FreeCamera, or None for the free camera")
    return _fixed_view(m, ids_of(m, "camera", camera)[0][0], width / height)


def _lens(fovy: float, aspect: float, orthographic: bool) -> np.ndarray:
    tall = 0.5 * fovy if orthographic else np.tan(np.deg2rad(fovy) / 2)
    return np.array([tall * aspect, tall])


def _fixed_view(m, i: int, aspect: float) -> View:
    orthographic = int(m.cam_projection[i]) == ORTHOGRAPHIC
    half, centre = _lens(float(m.cam_fovy[i]), aspect, orthographic), np.zeros(2)
    sensor = np.asarray(m.cam_sensorsize, float).reshape(-1, 2)[i]
    if sensor[1] and not orthographic:
        focal, principal = np.asarray(m.cam_intrinsic, float).reshape(-1, 2, 2)[i]
        half = 0.5 * sensor / focal
        centre = np.array([principal[0], -principal[1]]) / focal
    return View(i, np.zeros(3), np.eye(3), -1, centre, half, orthographic)


def _free_view(m, camera: FreeCamera, aspect: float) -> View:
    settings = m.vis.global_

    def chosen(value, default):
        return default if value is None else value

    azimuth = np.deg2rad(chosen(camera.azimuth, settings.azimuth))
    elevation = np.deg2rad(chosen(camera.elevation, settings.elevation))
    orthographic = bool(chosen(camera.orthographic, settings.orthographic))
    body = -1 if camera.track is None else ids_of(m, "body", camera.track)[0][0]
    centre = np.zeros(3) if body >= 0 else np.asarray(m.stat.center, float)
    forward = np.array(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)]
    )
    up = np.array([-np.sin(elevation) * np.cos(azimuth), -np.sin(elevation) * np.sin(azimuth), np.cos(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    eye = np.asarray(chosen(camera.lookat, centre), float) - forward * chosen(camera.distance, 1.5 * m.stat.extent)
    half = _lens(chosen(camera.fovy, settings.fovy), aspect, orthographic)
    return View(FREE, eye, np.stack([right, up, -forward], axis=1), body, np.zeros(2), half, orthographic)


@wp.struct
class Views:
    """Cameras of a picture, (ncam,) each; poses are [slot, camera] and computed before every picture."""

    camera: wp.array(dtype=int)
    body: wp.array(dtype=int)
    free_pos: wp.array(dtype=wp.vec3)
    free_mat: wp.array(dtype=wp.mat33)
    lens: wp.array(dtype=wp.vec4)  # centre, half sizes
    orthographic: wp.array(dtype=int)
    pos: wp.array2d(dtype=wp.vec3)
    mat: wp.array2d(dtype=wp.mat33)


def upload_views(views: list[View], slots: int, device) -> Views:
    bundle = Views()
    bundle.camera = wp.array([v.camera for v in views], dtype=int, device=device)
    bundle.body = wp.array([v.body for v in views], dtype=int, device=device)
    bundle.free_pos = wp.array(np.array([v.pos for v in views], np.float32), dtype=wp.vec3, device=device)
    bundle.free_mat = wp.array(np.array([v.mat for v in views], np.float32), dtype=wp.mat33, device=device)
    lens = np.array([(*v.centre, *v.half) for v in views], np.float32)
    bundle.lens = wp.array(lens, dtype=wp.vec4, device=device)
    bundle.orthographic = wp.array([int(v.orthographic) for v in views], dtype=int, device=device)
    bundle.pos = wp.zeros((slots, len(views)), dtype=wp.vec3, device=device)
    bundle.mat = wp.zeros((slots, len(views)), dtype=wp.mat33, device=device)
    return bundle


@wp.struct
class Ray:
    """A ray into the scene: origin, unit direction, and how much of its length is depth."""

    origin: wp.vec3
    direction: wp.vec3
    cosine: float


@wp.func
def pixel_ray(views: Views, slot: int, c: int, s: float, t: float) -> Ray:
    """The ray through fractions (s, t) of a picture, from the upper left."""
    lens = views.lens[c]
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
