"""Compare a compiled model with MuJoCo's, field by field, at float32 accuracy.

    numbers   |ours - theirs| <= rtol x the field's largest value;  rtol 1e-4, or 2e-3 for what an inverse of M enters
    integers  equal
    hulls     the same polyhedron: MuJoCo's vertex order comes out of qhull and means nothing

What is left out: `nbuffer` (bytes of MuJoCo's own copy) and `signature` (a hash of its specification).
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from kinema.compile import HostModel
from kinema.model.mujoco_fields import Field, model_fields

SKIP = frozenset({"nbuffer", "signature"})
RTOL, RTOL_INVERSE = 1e-4, 2e-3
INVERSE = ("invweight0", "dof_M0", "actuator_acc0")
FLOOR = 1e-9
"""Differences below this are rounding, whatever the scale."""


def differences(ours: HostModel, theirs: mujoco.MjModel) -> dict[str, str]:
    """Fields that do not conform, each with a line that shows one difference."""
    found = {}
    for field in model_fields().values():
        if field.name in SKIP:
            continue
        label, problem = _field(field, ours, theirs)
        if problem:
            found[label] = problem
    found.update(_visual(ours, theirs))
    return found


def _field(field: Field, ours: HostModel, theirs: mujoco.MjModel) -> tuple[str, str | None]:
    if field.group == "size":
        if not hasattr(theirs, field.name):
            return field.name, None
        mine = ours.sizes.get(field.name)
        wanted = int(getattr(theirs, field.name))
        return field.name, None if mine == wanted else f"{mine}, not {wanted}"
    if field.group in ("option", "statistic"):
        struct = "opt" if field.group == "option" else "stat"
        label = f"{struct}.{field.name}"
        mine = getattr(getattr(ours, struct), field.name, None)
        scale = float(theirs.stat.extent) if field.name == "center" else 0.0  # a place in the model
        return label, _numbers(label, mine, getattr(getattr(theirs, struct), field.name), scale)
    if not hasattr(theirs, field.name):
        return field.name, None
    mine, wanted = ours.arrays.get(field.name), getattr(theirs, field.name)
    if mine is None:
        return field.name, "missing"
    if field.dtype == "char":
        return field.name, _text(np.asarray(mine).tobytes(), wanted)
    if field.name == "mesh_graph":
        return field.name, _hulls(ours, theirs)
    if field.name == "mesh_extrema":
        return field.name, _extrema(ours, theirs)
    return field.name, _numbers(field.name, mine, wanted)


def _text(mine: bytes, wanted) -> str | None:
    wanted = wanted if isinstance(wanted, bytes) else np.asarray(wanted).tobytes()
    if mine == wanted:
        return None
    at = next((i for i, (a, b) in enumerate(zip(mine, wanted, strict=False)) if a != b), min(len(mine), len(wanted)))
    return f"at {at}: {mine[at : at + 30]!r}, not {wanted[at : at + 30]!r}"


def _numbers(name: str, mine, wanted, scale: float = 0.0) -> str | None:
    if mine is None:
        return "missing"
    mine, wanted = np.asarray(mine), np.asarray(wanted)
    if mine.size != wanted.size:
        return f"shape {mine.shape}, not {wanted.shape}"
    if not mine.size:
        return None
    mine = mine.reshape(wanted.shape)
    if wanted.dtype.kind in "iub":
        wrong = mine.astype(np.int64) != wanted.astype(np.int64)
    else:
        scale = max(scale, float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))))
        rtol = RTOL_INVERSE if any(part in name for part in INVERSE) else RTOL
        same = (mine == wanted) | (np.isnan(mine) & np.isnan(wanted))
        with np.errstate(invalid="ignore"):
            wrong = ~(same | (np.abs(mine - wanted) <= rtol * scale + FLOOR))
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size}, at {list(map(int, at))}: {mine[at]:.7g}, not {wanted[at]:.7g}"


def _visual(ours: HostModel, theirs: mujoco.MjModel) -> Iterator[tuple[str, str]]:
    """Fields of mjVisual that differ."""
    for group in ("global_", "quality", "headlight", "map", "scale", "rgba"):
        wanted = getattr(theirs.vis, group)
        for name, mine in vars(getattr(ours.vis, group)).items():
            value = getattr(wanted, name, None)
            if value is None or np.size(value) == 0:  # not offered by the bindings
                continue
            problem = _numbers(name, np.float64(mine), value)
            if problem:
                yield f"vis.{group.rstrip('_')}.{name}", problem


# ---- hulls


def _hull_vertices(model, index: int) -> np.ndarray | None:
    """Vertices of one mesh's hull, as numbers in the mesh."""
    start = int(model.mesh_graphadr[index])
    if start < 0:
        return None
    graph = np.asarray(model.mesh_graph)[start:]
    nvert = int(graph[0])
    return graph[2 + nvert : 2 + 2 * nvert]


def _points(model, index: int) -> np.ndarray:
    start = int(model.mesh_vertadr[index])
    return np.asarray(model.mesh_vert)[start : start + int(model.mesh_vertnum[index])]


def _hulls(ours: HostModel, theirs: mujoco.MjModel) -> str | None:
    """The hulls must reach equally far in every direction, with as many vertices."""
    if ours.mesh_graphadr.shape != theirs.mesh_graphadr.shape:
        return "another number of meshes"
    for index in range(theirs.nmesh):
        mine, wanted = _hull_vertices(ours, index), _hull_vertices(theirs, index)
        if (mine is None) != (wanted is None):
            return f"mesh {index}: hull {'missing' if mine is None else 'not wanted'}"
        if mine is None:
            continue
        points = _points(theirs, index)
        scale = float(np.abs(points).max())
        directions = _directions()
        support = [(points[ids] @ directions.T).max(axis=0) for ids in (mine, wanted)]
        if np.abs(support[0] - support[1]).max() > RTOL * scale:
            return f"mesh {index}: hulls of {len(mine)} and {len(wanted)} vertices differ in extent"
        if abs(len(mine) - len(wanted)) > 0.05 * len(wanted) + 2:  # points on a flat side may count or not
            return f"mesh {index}: {len(mine)} hull vertices, not {len(wanted)}"
    return None


def _directions() -> np.ndarray:
    random = np.random.default_rng(0).normal(size=(200, 3))
    grid = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)])
    rows = np.concatenate([random, grid])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _extrema(ours: HostModel, theirs: mujoco.MjModel) -> str | None:
    """The vertex named for each direction must reach as far as MuJoCo's."""
    grid = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)], dtype=float)
    for index in range(theirs.nmesh):
        if theirs.mesh_graphadr[index] < 0:
            continue
        if ours.mesh_graphadr[index] < 0:
            return f"mesh {index}: no hull to name a vertex of"
        reach = []
        for model in (ours, theirs):
            ids = _hull_vertices(model, index)
            local = np.asarray(model.mesh_extrema)[index]
            points = _points(theirs, index)[ids[local]]
            reach.append(np.einsum("dk,dk->d", grid, points))
        scale = float(np.abs(_points(theirs, index)).max())
        if np.abs(reach[0] - reach[1]).max() > RTOL * scale:
            return f"mesh {index}: a farthest vertex differs"
    return None
