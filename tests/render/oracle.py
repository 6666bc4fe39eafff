"""What MuJoCo sees: the first geom on every pixel's ray, by mj_ray, and the rays themselves in double precision.

Not mj_multiRay: of MuJoCo 4.0 it misses geoms that mj_ray finds (on two of the robots drawn here).
"""

from __future__ import annotations

import mujoco
import numpy as np

GROUPS = np.array([1, 1, 1, 0, 0, 0], np.uint8)


def pixel_rays(m, d, camera: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Origin, unit directions (height, width, 3) and their cosines to the gaze, of a perspective camera."""
    view = mujoco.MjvCamera()
    if camera < 0:
        mujoco.mjv_defaultFreeCamera(m, view)
    else:
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera
    scene = mujoco.MjvScene(m, maxgeom=1000 + 20 * m.ngeom)
    mujoco.mjv_updateScene(m, d, mujoco.MjvOption(), None, view, mujoco.mjtCatBit.mjCAT_ALL, scene)
    eyes = scene.camera  # left and right; the picture is seen from between them
    frustum = eyes[0]
    forward, up = np.array(frustum.forward, float), np.array(frustum.up, float)
    right = np.cross(forward, up)
    half = frustum.frustum_width or 0.5 * (frustum.frustum_top - frustum.frustum_bottom) * width / height
    x = frustum.frustum_center + half * (2 * (np.arange(width) + 0.5) / width - 1)
    tall = frustum.frustum_top - frustum.frustum_bottom
    y = frustum.frustum_top - tall * (np.arange(height) + 0.5) / height
    rays = frustum.frustum_near * forward + x[None, :, None] * right + y[:, None, None] * up
    length = np.linalg.norm(rays, axis=2)
    origin = 0.5 * (np.array(eyes[0].pos, float) + np.array(eyes[1].pos, float))
    return origin, rays / length[..., None], frustum.frustum_near / length


def seen(m, d, camera: int, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Geom id (-1: none) and depth in metres along the gaze, the far plane where nothing is."""
    origin, rays, cosine = pixel_rays(m, d, camera, width, height)
    far = m.vis.map.zfar * m.stat.extent
    ids, depth, found = np.full((height, width), -1), np.full((height, width), far), np.zeros(1, np.int32)
    for y, x in np.ndindex(height, width):
        distance = mujoco.mj_ray(m, d, origin, rays[y, x], GROUPS, 1, -1, found) * cosine[y, x]
        if 0 <= distance <= far:
            ids[y, x], depth[y, x] = found[0], distance
    return ids, depth


def within_a_pixel(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where a label of one picture is that of the other at the same pixel or at one of its eight neighbours."""
    padded = np.pad(expected, 1, mode="edge")
    height, width = found.shape
    near = np.zeros(found.shape, bool)
    for dy in range(3):
        for dx in range(3):
            near |= padded[dy : dy + height, dx : dx + width] == found
    return near
