"""Cloth of a stage: meshes that are PhysicsSurfaceDeformableSimAPI, as particles with triangles between them.

    tri_ke     stretch stiffness of the surface [N/m]: surfaceStretchStiffness, or E h / (1 - ν²)
    edge_ke    bending stiffness [N m]: surfaceBendStiffness, or E h³ / (12 (1 - ν²))
    mass       density · area · h of a face, a third to each corner; radius of a particle h / 2

Faces are fans of triangles. Bending rests flat unless `physics:restBendAnglesDefault` is "restShape". Stretch and shear
of the membrane share one modulus here, so that shear stiffness is left out.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .deformable import (
    POISSON,
    SURFACE,
    THICKNESS,
    YOUNG,
    Elements,
    baked,
    body_of,
    density_of,
    elements,
    is_left_out,
    number,
    numbers_of,
)
from .scene import Scene
from .schemas import authored
from .shapes import applies

MATERIAL = "PhysicsSurfaceDeformableMaterialAPI"
OLD = ("thickness", "stretchStiffness", "bendStiffness")
"""Words of an earlier revision: stiffnesses there are moduli."""
WORDS = (
    "youngsModulus", "poissonsRatio", "surfaceThickness", "surfaceStretchStiffness", "surfaceShearStiffness",
    "surfaceBendStiffness", "density", *OLD,
)  # fmt: skip
LEFT_OUT = ("restShapePoints", "restTriVertexIndices", "restBendAngles", "restAdjTriPairs")


def add_cloth(scene: Scene) -> None:
    """Every mesh of the stage that is simulated as cloth."""
    for prim in scene.of_type("Mesh"):
        if applies(prim, SURFACE) and not is_left_out(prim):
            _add(scene, prim)


def _triangles(prim: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Points, triangles and the face each is of; None, said why, where they make no sense."""
    from pxr import UsdGeom

    mesh = UsdGeom.Mesh(prim)
    points, counts, indices = (
        attribute.Get() for attribute in (mesh.GetPointsAttr(), mesh.GetFaceVertexCountsAttr(),
                                          mesh.GetFaceVertexIndicesAttr())
    )  # fmt: skip
    wrong = ""
    if not points or not counts or not indices:
        wrong = "it has no points or no faces"
    elif min(counts) < 3 or sum(counts) != len(indices):
        wrong = "faceVertexCounts do not fit faceVertexIndices"
    elif min(indices) < 0 or max(indices) >= len(points):
        wrong = f"a face has a corner that is none of {len(points)} points"
    if wrong:
        warnings.warn(f"{prim.GetPath()}: cloth is left out: {wrong}", stacklevel=5)
        return None
    corners, start = [], 0
    for count in counts:
        face = list(indices[start : start + count])
        corners += [(face[0], face[k], face[k + 1]) for k in range(1, count - 1)]
        start += count
    triangles = np.array(corners, dtype=np.int64)
    if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        triangles = triangles[:, ::-1]
    return np.asarray(points, float), triangles, np.repeat(np.arange(len(counts)), np.asarray(counts) - 2)


def _thickness(scene: Scene, prim: Any, said: Elements | None, fallback: float, triangles: np.ndarray,
               faces: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Thickness [m] of each triangle and of each point."""
    if said is not None and said.kind == "point":
        return said.values[triangles].mean(axis=1), said.values
    if said is None or said.kind == "constant":
        value = fallback if said is None else said.values[0]
        return np.full(len(triangles), value), np.full(count, value)
    of_face = said.values[faces]
    pairs = np.unique(np.stack([triangles.reshape(-1), np.repeat(faces, 3)], axis=1), axis=0)  # a face counts once
    sums = np.bincount(pairs[:, 0], weights=said.values[pairs[:, 1]], minlength=count)
    held = np.bincount(pairs[:, 0], minlength=count)
    return of_face, np.where(held > 0, sums / np.maximum(held, 1), fallback)


def _stiffness(material: dict[str, float], h: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Stretch and bending stiffness where the cloth is so thick; None: the builder's own."""
    old = {name: material[name] for name in OLD if name in material}
    if old and not set(material) - {*OLD, "shearStiffness", "density"}:
        stretch, bend = old.get("stretchStiffness"), old.get("bendStiffness")
        return None if stretch is None else stretch * h, None if bend is None else bend * h**3
    young, poisson = material.get("youngsModulus", YOUNG), material.get("poissonsRatio", POISSON)
    plane = 1.0 - poisson**2
    found = []
    for name, legacy, shape, derived in (
        ("surfaceStretchStiffness", "stretchStiffness", h, young * h / plane),
        ("surfaceBendStiffness", "bendStiffness", h**3, young * h**3 / (12.0 * plane)),
    ):
        given = np.full_like(h, material[name]) if name in material else None
        found.append(given if given is not None else material[legacy] * shape if legacy in material else derived)
    return found[0], found[1]


def _masses(prim: Any, triangles: np.ndarray, faces: np.ndarray, volumes: np.ndarray, density: float,
            count: int) -> np.ndarray:  # fmt: skip
    """Mass [kg] of each point."""
    said = elements(prim, "masses", {"constant": 1, "face": int(faces[-1]) + 1, "point": count}, "point")
    if said is not None and said.kind == "point":
        return said.values
    of_triangle = density * volumes
    if said is not None and said.kind == "constant":
        of_triangle = said.values[0] * volumes / volumes.sum()
    elif said is not None:
        whole = np.bincount(faces, weights=volumes)
        of_triangle = said.values[faces] * volumes / whole[faces]
    masses = np.bincount(triangles.reshape(-1), weights=np.repeat(of_triangle / 3.0, 3), minlength=count)
    total = number(body_of(prim), "mass")
    return masses * total / masses.sum() if said is None and total and masses.sum() > 0.0 else masses


def _add(scene: Scene, prim: Any) -> None:
    found = _triangles(prim)
    if found is None:
        return
    builder, path = scene.builder, str(prim.GetPath())
    points, triangles, faces = found
    points, mirrored = baked(scene, prim, points)
    if mirrored:
        triangles = triangles[:, ::-1]
    first, second = (points[triangles[:, k]] - points[triangles[:, 0]] for k in (1, 2))
    areas = 0.5 * np.linalg.norm(np.cross(first, second), axis=1)
    if not np.all(np.isfinite(areas) & (areas >= 1e-12)):
        warnings.warn(f"{path}: cloth is left out: it has triangles without area", stacklevel=4)
        return
    for name in LEFT_OUT:
        if authored(prim, f"physics:{name}") is not None:
            warnings.warn(f"{path}: physics:{name} is left out: cloth rests as it is imported", stacklevel=4)
    material = numbers_of(prim, MATERIAL, WORDS)
    if material and "surfaceShearStiffness" in material:
        warnings.warn(f"{path}: surfaceShearStiffness is left out: stretch and shear share one modulus", stacklevel=4)
    fallback = (material or {}).get("surfaceThickness", (material or {}).get("thickness", THICKNESS))
    said = elements(prim, "thicknesses", {"constant": 1, "face": int(faces[-1]) + 1, "point": len(points)})
    of_triangle, of_point = _thickness(scene, prim, said, fallback, triangles, faces, len(points))
    stretch, bend = (None, None) if material is None else _stiffness(material, of_triangle)
    start = builder.particle_count, builder.tri_count, builder.edge_count
    builder.add_cloth_mesh(
        pos=(0.0, 0.0, 0.0), rot=(0.0, 0.0, 0.0, 1.0), scale=1.0, vel=(0.0, 0.0, 0.0), vertices=points,
        indices=triangles.reshape(-1).astype(np.int32), density=0.0, tri_ka=0.0, label=path,
        tri_ke=None if stretch is None else float(stretch[0]), edge_ke=None if bend is None else float(bend[0]),
        particle_radius=float(0.5 * of_point[0]),
    )  # fmt: skip
    end = builder.particle_count, builder.tri_count, builder.edge_count
    builder.edit("particle_radius")[start[0] : end[0]] = 0.5 * of_point
    masses = _masses(prim, triangles, faces, areas * of_triangle, density_of(prim, material), len(points))
    builder.edit("particle_mass")[start[0] : end[0]] = masses
    if stretch is not None:
        builder.edit("tri_materials")[start[1] : end[1], 0] = stretch
    if material is not None and np.ptp(of_point) > 0.0:
        ends = np.asarray(builder.rows("edge_indices"))[start[2] : end[2], 2:] - start[0]
        of_edge = _stiffness(material, of_point[ends].mean(axis=1))[1]
        if of_edge is not None:
            builder.edit("edge_bending_properties")[start[2] : end[2], 0] = of_edge
    if authored(prim, "physics:restBendAnglesDefault") != "restShape":
        builder.edit("edge_rest_angle")[start[2] : end[2]] = 0.0
    scene.cloth[path] = dict(zip(("particle", "tri", "edge"), zip(start, end, strict=True), strict=True))
