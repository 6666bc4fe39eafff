"""Sites: places on bodies, with a shape for drawing and for touch sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile import pose
from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.compile.frames import apply_frame
from kinema.compile.geom import GEOM_TYPES, check_size, material_of, read_pose, same_frame
from kinema.mujoco_enums import Geom


@dataclass(slots=True)
class Site:
    """A compiled site."""

    kind: int
    size: list[float]
    pos: list[float]
    quat: list[float]
    mesh: int = -1


def compile_site(c: Compilation, e: Element) -> Site:
    """One site, in its body's coordinates."""
    kind = e.keyword("type", GEOM_TYPES, Geom.SPHERE)
    if kind in (Geom.HFIELD, Geom.PLANE):
        raise e.error("height fields and planes are not allowed in a site", "type")
    size = e.vector("size", (0.005, 0.005, 0.005), at_most=3).tolist()
    mesh = c.reference(e, "mesh")
    if (kind == Geom.MESH) != (mesh >= 0):
        raise e.error("a mesh site needs 'mesh', the name of a mesh asset, and no other site may have it")
    pos, quat, size = read_pose(e, kind, size)
    if kind == Geom.MESH:
        asset = c.scratch["meshes"][mesh]
        low, high = asset.aamm[:3], asset.aamm[3:]
        size = [max(abs(float(a)), abs(float(b))) for a, b in zip(low, high, strict=True)]
    pos, quat = apply_frame(e.frame, pos, quat)
    check_size(e, kind, size)
    return Site(kind, size, pos, pose.normalize(quat)[0], mesh)


def fill_sites(c: Compilation) -> None:
    """Set every site_* array."""
    elements = c.elements["site"]
    records: list[Site] = [e.record for e in elements]
    n, a = len(elements), c.arrays
    a["site_type"] = np.array([s.kind for s in records], dtype=np.int32)
    a["site_bodyid"] = np.array([e.body.id for e in elements], dtype=np.int32)
    a["site_dataid"] = np.array([s.mesh for s in records], dtype=np.int32)
    a["site_matid"] = np.array([material_of(c, e) for e in elements], dtype=np.int32)
    a["site_group"] = np.array([e.integer("group", 0) for e in elements], dtype=np.int32)
    frames = [same_frame(s.pos, s.quat, e.body.record) for s, e in zip(records, elements, strict=True)]
    a["site_sameframe"] = np.array(frames, dtype=np.uint8)
    a["site_size"] = np.array([s.size for s in records], dtype=np.float64).reshape(n, 3)
    a["site_pos"] = np.array([s.pos for s in records], dtype=np.float64).reshape(n, 3)
    a["site_quat"] = np.array([s.quat for s in records], dtype=np.float64).reshape(n, 4)
    rgba = [e.vector("rgba", (0.5, 0.5, 0.5, 1), length=4) for e in elements]
    a["site_rgba"] = np.array(rgba, dtype=np.float32).reshape(n, 4)
    a["site_user"] = c.user_data("site", "nuser_site")
