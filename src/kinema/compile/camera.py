"""Cameras: pose, tracking mode and intrinsics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kinema.compile import pose
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.frames import apply_frame
from kinema.compile.orientation import read_orientation
from kinema.errors import did_you_mean
from kinema.mujoco_enums import CameraOutput, CamLight, Projection, words

MODES = words(CamLight)
PROJECTIONS = words(Projection)
OUTPUTS = dict(zip(("rgb", "depth", "distance", "normal", "segmentation"), map(int, CameraOutput), strict=True))


@dataclass(slots=True)
class Camera:
    """A compiled camera."""

    pos: list[float]
    quat: list[float]
    fovy: float
    intrinsic: list[float]
    resolution: list[int]
    sensorsize: list[float]


def compile_camera(c: Compilation, e: Element) -> Camera:
    """One camera, in its body's coordinates."""
    pos = e.vector("pos", (0, 0, 0), length=3).tolist()
    pos, quat = apply_frame(e.frame, pos, read_orientation(e))
    fovy = e.number("fovy", 45.0)
    if fovy >= 180:
        raise e.error("fovy must be less than 180 degrees", "fovy")
    resolution = e.vector("resolution", (1, 1), length=2, dtype=int).tolist()
    sensor = [float(np.float32(v)) for v in e.vector("sensorsize", (0, 0), length=2)]
    focal, focal_pixel, principal, principal_pixel = (
        e.vector(name, (0, 0), length=2).tolist() for name in ("focal", "focalpixel", "principal", "principalpixel")
    )
    sized = min(sensor) > 0
    if any(focal + focal_pixel + principal + principal_pixel) and not sized:
        raise e.error("focal and principal require 'sensorsize'")
    if sized and min(resolution) <= 0:
        raise e.error("sensorsize requires a positive resolution", "resolution")
    near = c.visual["map"]["znear"]
    intrinsic = [near, near, 0.0, 0.0]
    if sized:
        density = [resolution[k] / sensor[k] for k in range(2)]  # pixels per unit length; pixel values win
        lengths = [focal_pixel[k] / density[k] if focal_pixel[k] else focal[k] for k in range(2)]
        points = [principal_pixel[k] / density[k] if principal_pixel[k] else principal[k] for k in range(2)]
        intrinsic = lengths + points
        fovy = math.atan2(sensor[1] / 2, intrinsic[1]) * 360.0 / math.pi
    return Camera(pos, pose.normalize(quat)[0], fovy, intrinsic, resolution, sensor)


def _output(e: Element) -> int:
    bits = 0
    for word in (e.text("output", "").split() or ["rgb"]):
        if word not in OUTPUTS:
            raise e.error(f"output {word!r} is not one of {', '.join(OUTPUTS)}{did_you_mean(word, OUTPUTS)}", "output")
        bits |= OUTPUTS[word]
    return bits


def fill_cameras(c: Compilation) -> None:
    """Set every cam_* array but those at qpos0."""
    elements = c.elements["camera"]
    records: list[Camera] = [e.record for e in elements]
    n, a = len(elements), c.arrays
    a["cam_mode"] = np.array([e.keyword("mode", MODES, 0) for e in elements], dtype=np.int32)
    a["cam_bodyid"] = np.array([e.body.id for e in elements], dtype=np.int32)
    a["cam_targetbodyid"] = np.array([c.reference(e, "target", "body") for e in elements], dtype=np.int32)
    a["cam_pos"] = np.array([r.pos for r in records], dtype=np.float64).reshape(n, 3)
    a["cam_quat"] = np.array([r.quat for r in records], dtype=np.float64).reshape(n, 4)
    a["cam_projection"] = np.array([e.keyword("projection", PROJECTIONS, 0) for e in elements], dtype=np.int32)
    a["cam_fovy"] = np.array([r.fovy for r in records], dtype=np.float64)
    a["cam_ipd"] = np.array([e.number("ipd", 0.068) for e in elements], dtype=np.float64)
    a["cam_resolution"] = np.array([r.resolution for r in records], dtype=np.int32).reshape(n, 2)
    a["cam_output"] = np.array([_output(e) for e in elements], dtype=np.int32)
    a["cam_sensorsize"] = np.array([r.sensorsize for r in records], dtype=np.float32).reshape(n, 2)
    a["cam_intrinsic"] = np.array([r.intrinsic for r in records], dtype=np.float32).reshape(n, 4)
    a["cam_user"] = c.user_data("camera", "nuser_cam")
