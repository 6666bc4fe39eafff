"""Lights: pose, tracking mode and appearance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile import pose
from kinema.compile.camera import MODES
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.mujoco_enums import LightType, words

LIGHT_TYPES = words(LightType)


@dataclass(slots=True)
class Light:
    """A compiled light."""

    pos: list[float]
    dir: list[float]


def compile_light(e: Element) -> Light:
    """One light, in its body's coordinates."""
    pos, direction = e.vector("pos", (0, 0, 0), length=3).tolist(), e.vector("dir", (0, 0, -1), length=3).tolist()
    if e.frame is not None:
        frame_pos, frame_quat = e.frame.in_body()
        pos = pose.compose(frame_pos, frame_quat, pos, pose.IDENTITY)[0]
        direction = pose.rotate(frame_quat, direction)
    direction, norm = pose.normalize(direction)
    if norm < pose.EPS:
        raise e.error("light has a zero direction", "dir")
    if not 0 <= e.number("softness", 0.2) <= 1:
        raise e.error("softness must be in [0, 1]", "softness")
    return Light(pos, direction)


def _light_type(e: Element) -> int:
    """`type`, or its older spelling `directional`, whichever the strongest layer uses."""
    kind = LIGHT_TYPES["spot"]
    for layer in e.layers:
        if "directional" in layer and "type" in layer:
            raise e.error("'directional' and 'type' cannot both be given")
        if "directional" in layer:
            kind = LIGHT_TYPES["directional" if layer["directional"] == "true" else "spot"]
        if "type" in layer:
            kind = e.keyword("type", LIGHT_TYPES)
    return kind


def fill_lights(c: Compilation) -> None:
    """Set every light_* array but those at qpos0."""
    elements = c.elements["light"]
    records: list[Light] = [e.record for e in elements]
    n, a = len(elements), c.arrays

    def floats(attribute: str, default: float) -> np.ndarray:
        return np.array([e.number(attribute, default) for e in elements], dtype=np.float32)

    def colors(attribute: str, default: tuple[float, float, float]) -> np.ndarray:
        return np.array([e.vector(attribute, default, length=3) for e in elements], dtype=np.float32).reshape(n, 3)

    a["light_mode"] = np.array([e.keyword("mode", MODES, 0) for e in elements], dtype=np.int32)
    a["light_bodyid"] = np.array([e.body.id for e in elements], dtype=np.int32)
    a["light_targetbodyid"] = np.array([c.reference(e, "target", "body") for e in elements], dtype=np.int32)
    a["light_type"] = np.array([_light_type(e) for e in elements], dtype=np.int32)
    a["light_texid"] = np.array([c.reference(e, "texture") for e in elements], dtype=np.int32)
    a["light_castshadow"] = np.array([e.flag("castshadow", True) for e in elements], dtype=np.uint8)
    a["light_active"] = np.array([e.flag("active", True) for e in elements], dtype=np.uint8)
    a["light_pos"] = np.array([r.pos for r in records], dtype=np.float64).reshape(n, 3)
    a["light_dir"] = np.array([r.dir for r in records], dtype=np.float64).reshape(n, 3)
    a["light_bulbradius"] = floats("bulbradius", 0.02)
    a["light_intensity"] = floats("intensity", 0.0)
    a["light_range"] = floats("range", 10.0)
    a["light_attenuation"] = colors("attenuation", (1, 0, 0))
    a["light_cutoff"] = floats("cutoff", 45.0)
    a["light_softness"] = floats("softness", 0.2)
    a["light_exponent"] = floats("exponent", 10.0)
    a["light_ambient"] = colors("ambient", (0, 0, 0))
    a["light_diffuse"] = colors("diffuse", (0.7, 0.7, 0.7))
    a["light_specular"] = colors("specular", (0.3, 0.3, 0.3))
