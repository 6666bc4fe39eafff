"""Skins: deformable surfaces for display, from a file or the document to mjModel's skin arrays.

    skin = compile_skin(name, load_skin(name, resource=..., vertex=..., texcoord=..., face=..., bones=[...]))
    arrays = pack_skins([skin, ...], body_ids={"torso": 1, ...})

`pack_skins` gives the arrays a skin's own data decides (skin_vert, skin_bone*, addresses and counts). The caller fills
skin_matid, skin_group, skin_rgba, skin_inflate and skin_pathadr from the element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kinema.errors import CompileError, did_you_mean
from kinema.geometry.skn import Bone, SkinData
from kinema.mujoco_enums import MINVAL
from kinema.resources import Resource, decode


def bone(
    body: str,
    *,
    bindpos: Sequence[float] | np.ndarray,
    bindquat: Sequence[float] | np.ndarray,
    vertid: Sequence[int] | np.ndarray,
    vertweight: Sequence[float] | np.ndarray,
) -> Bone:
    """A bone from its attributes."""
    return Bone(
        body,
        np.asarray(bindpos, np.float32),
        np.asarray(bindquat, np.float32),
        np.asarray(vertid, np.int32).ravel(),
        np.asarray(vertweight, np.float32).ravel(),
    )


def load_skin(
    name: str,
    *,
    resource: Resource | None = None,
    vertex: Sequence[float] | np.ndarray | None = None,
    texcoord: Sequence[float] | np.ndarray | None = None,
    face: Sequence[int] | np.ndarray | None = None,
    bones: Sequence[Bone] = (),
) -> SkinData:
    """The raw skin: decoded from its file, or as written in the document."""
    if resource is not None:
        if bones or any(value is not None and len(value) for value in (vertex, texcoord, face)):
            raise CompileError(f"Both skin data and file were specified: {resource.name}")
        return decode("skin", resource)
    vert, tex = (np.asarray([] if value is None else value, np.float32).ravel() for value in (vertex, texcoord))
    faces = np.asarray([] if face is None else face, np.int32).ravel()
    for what, flat, width in (("Vertex", vert, 3), ("Texcoord", tex, 2), ("Face", faces, 3)):
        if len(flat) % width:
            raise CompileError(f"{what} data must be multiple of {width} in skin {name!r}, got {len(flat)} numbers")
    return SkinData(vert.reshape(-1, 3), faces.reshape(-1, 3), tex.reshape(-1, 2), list(bones))


def compile_skin(name: str, skin: SkinData) -> SkinData:
    """A checked skin with weights that add up to one at every vertex, and unit bind quaternions."""
    if not len(skin.vert) or not len(skin.face) or not skin.bones:
        raise CompileError(f"Missing data in skin {name!r}: it needs vertices, faces and at least one bone")
    nvert = len(skin.vert)
    if len(skin.texcoord) and len(skin.texcoord) != nvert:
        raise CompileError(
            f"Vertex and texcoord data incompatible size in skin {name!r}: {nvert} and {len(skin.texcoord)}"
        )
    if ((skin.face < 0) | (skin.face >= nvert)).any():
        wrong = int(skin.face[(skin.face < 0) | (skin.face >= nvert)][0])
        raise CompileError(f"face vertex index {wrong} out of range in skin {name!r} with {nvert} vertices")
    weight = np.zeros(nvert, np.float32)
    for item in skin.bones:
        if item.bindpos.shape != (3,) or item.bindquat.shape != (4,):
            raise CompileError(f"bone {item.body!r} of skin {name!r} needs 3 bindpos and 4 bindquat numbers")
        if len(item.vertid) != len(item.vertweight) or len(item.vertid) == 0:
            raise CompileError(
                f"vertid and vertweight must have same non-zero size in skin {name!r}: "
                f"bone {item.body!r} has {len(item.vertid)} and {len(item.vertweight)}"
            )
        outside = (item.vertid < 0) | (item.vertid >= nvert)
        if outside.any():
            raise CompileError(f"vertid {item.vertid[outside][0]} out of range in skin {name!r} (bone {item.body!r})")
        np.add.at(weight, item.vertid, item.vertweight)
    bare = np.flatnonzero(weight <= MINVAL)
    if len(bare):
        raise CompileError(f"vertex {bare[0]} must have positive total weight in skin {name!r}")
    bones = []
    for item in skin.bones:
        quat = item.bindquat.astype(np.float64)
        norm = np.sqrt((quat * quat).sum())
        unit = quat / norm if norm * norm >= 1e-14 else quat
        share = (item.vertweight / weight[item.vertid]).astype(np.float32)
        bones.append(Bone(item.body, item.bindpos, unit.astype(np.float32), item.vertid, share))
    return SkinData(skin.vert, skin.face, skin.texcoord, bones)


def pack_skins(skins: Sequence[SkinData], *, body_ids: Mapping[str, int]) -> dict[str, np.ndarray]:
    """All skins as mjModel arrays; bones refer to bodies by ``body_ids``."""
    bones = [item for skin in skins for item in skin.bones]
    for item in bones:
        if item.body not in body_ids:
            raise CompileError(f"unknown body {item.body!r} in skin{did_you_mean(item.body, body_ids)}")

    def stacked(parts: list[np.ndarray], width: tuple[int, ...], dtype: type) -> np.ndarray:
        return np.ascontiguousarray(np.concatenate([np.zeros((0, *width), dtype), *parts]), dtype)

    def starts(counts: list[int]) -> np.ndarray:
        return (np.cumsum([0, *counts])[:-1]).astype(np.int32)

    nvert, nface, nbone = ([len(getattr(skin, part)) for skin in skins] for part in ("vert", "face", "bones"))
    texcoordadr = starts([len(skin.texcoord) for skin in skins])
    bonevert = [len(item.vertid) for item in bones]
    return {
        "skin_vert": stacked([skin.vert for skin in skins], (3,), np.float32),
        "skin_texcoord": stacked([skin.texcoord for skin in skins], (2,), np.float32),
        "skin_face": stacked([skin.face for skin in skins], (3,), np.int32),
        "skin_vertadr": starts(nvert),
        "skin_vertnum": np.array(nvert, np.int32),
        "skin_texcoordadr": np.array(
            [adr if len(skin.texcoord) else -1 for skin, adr in zip(skins, texcoordadr, strict=True)], np.int32
        ),
        "skin_faceadr": starts(nface),
        "skin_facenum": np.array(nface, np.int32),
        "skin_boneadr": starts(nbone),
        "skin_bonenum": np.array(nbone, np.int32),
        "skin_bonevertadr": starts(bonevert),
        "skin_bonevertnum": np.array(bonevert, np.int32),
        "skin_bonebindpos": stacked([item.bindpos[None] for item in bones], (3,), np.float32),
        "skin_bonebindquat": stacked([item.bindquat[None] for item in bones], (4,), np.float32),
        "skin_bonebodyid": np.array([body_ids[item.body] for item in bones], np.int32),
        "skin_bonevertid": stacked([item.vertid for item in bones], (), np.int32),
        "skin_bonevertweight": stacked([item.vertweight for item in bones], (), np.float32),
    }
