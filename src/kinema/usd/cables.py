"""Cables of a stage: linear BasisCurves that are PhysicsCurvesDeformableSimAPI, as rods of capsules.

    EA, kGA, EI, GJ     stretch, shear, bending and twist stiffness of the section: curvesStretchStiffness and so on, or
                        E π r²,  0.9 G π r²,  E π r⁴ / 4,  G π r⁴ / 2,  with G = E / (2 (1 + ν))
    of a joint          between segments a and b: stretch and shear in series, 1 / (L_a / 2 EA_a + L_b / 2 EA_b);
                        bending and twist EI / L at the joint, L = (L_a + L_b) / 2, and damping likewise
    mass                density · π r² L of a segment, or what `physics:masses` and the body's mass say

Each curve is an articulation of its own, held by a free joint. Rest lengths are those of `restShapePoints`, if any.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..model import GeoType, JointTargetMode, Rod
from ..model.inertia import shape_mass
from ..model.shapes import bounding_radius
from .deformable import (
    CURVES,
    POISSON,
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
from .shapes import applies, contact_of, is_collider

MATERIAL, NEWTONS = "PhysicsCurvesDeformableMaterialAPI", "NewtonCurvesDeformableMaterialAPI"
MODES = ("Stretch", "Shear", "Bend", "Twist")
OLD = ("stretchStiffness", "shearStiffness", "bendStiffness", "twistStiffness")
"""Words of an earlier revision, of moduli."""
WORDS = (
    "youngsModulus", "poissonsRatio", "curvesThickness", "thickness", "density",
    *(f"curves{mode}Stiffness" for mode in MODES), *OLD,
)  # fmt: skip
SHEAR = 0.9
"""Of a round section: how much of it bears shear."""
SHORTEST = 1e-8


def add_cables(scene: Scene) -> None:
    """Every curve of the stage that is simulated as a cable."""
    for prim in scene.of_type("BasisCurves"):
        if applies(prim, CURVES) and not is_left_out(prim):
            _add(scene, prim)


def _section(material: dict[str, float], r: float) -> list[float | None]:
    """EA, kGA, EI and GJ of a round section; None: the builder's own."""
    shapes = (np.pi * r**2, np.pi * r**2, 0.25 * np.pi * r**4, 0.5 * np.pi * r**4)
    if set(material) & {*OLD, "thickness"} and not set(material) - {*OLD, "thickness", "density"}:
        found = [material[name] * shape if name in material else None for name, shape in zip(OLD, shapes, strict=True)]
        return [found[0], found[0] if found[1] is None else found[1], found[2],
                found[2] if found[3] is None else found[3]]  # fmt: skip
    young, poisson = material.get("youngsModulus", YOUNG), material.get("poissonsRatio", POISSON)
    shear = young / (2.0 * (1.0 + poisson))
    moduli = (young, SHEAR * shear, young, shear)
    return [material.get(f"curves{mode}Stiffness", material.get(old, modulus) * shape)
            for mode, old, modulus, shape in zip(MODES, OLD, moduli, shapes, strict=True)]  # fmt: skip


def _thickness(said: Elements | None, fallback: float, counts: list[int], closed: bool) -> tuple[list, list]:
    """Thickness [m] of the segments and of the points of each curve."""
    segments, points, at, of = [], [], 0, 0
    for k, count in enumerate(counts):
        number_of = count if closed else max(count - 1, 0)
        if said is None or said.kind in ("constant", "curve"):
            value = fallback if said is None else said.values[k if said.kind == "curve" else 0]
            own, there = np.full(number_of, value), np.full(count, value)
        elif said.kind == "segment":
            own = said.values[of : of + number_of]
            before, after = (np.roll(own, 1), own) if closed else (np.append(own[:1], own), np.append(own, own[-1:]))
            there = 0.5 * (before + after)
        else:
            there = said.values[at : at + count]
            own = 0.5 * (there + np.roll(there, -1))[:number_of]
        segments.append(own)
        points.append(there)
        at, of = at + count, of + number_of
    return segments, points


def _lengths(points: np.ndarray, closed: bool) -> np.ndarray:
    return np.linalg.norm(np.diff(np.concatenate([points, points[:1]]) if closed else points, axis=0), axis=1)


def _add(scene: Scene, prim: Any) -> None:
    from pxr import UsdGeom

    curves, path = UsdGeom.BasisCurves(prim), str(prim.GetPath())
    points, counts = curves.GetPointsAttr().Get(), curves.GetCurveVertexCountsAttr().Get()
    wrong = ""
    if curves.GetTypeAttr().Get() != UsdGeom.Tokens.linear:
        wrong = "only linear curves are cables"
    elif not points or not counts or min(counts) < 0 or sum(counts) != len(points):
        wrong = "curveVertexCounts do not fit its points"
    if wrong:
        warnings.warn(f"{path}: cable is left out: {wrong}", stacklevel=4)
        return
    if curves.GetNormalsAttr().HasAuthoredValue() or UsdGeom.PrimvarsAPI(prim).GetPrimvar("normals").HasValue():
        warnings.warn(f"{path}: normals are left out: sections are turned as little as can be", stacklevel=4)
    closed = curves.GetWrapAttr().Get() == UsdGeom.Tokens.periodic
    counts = [int(count) for count in counts]
    material = numbers_of(prim, MATERIAL, WORDS)
    if material is not None:
        damping = numbers_of(prim, NEWTONS, tuple(f"curves{mode}Damping" for mode in MODES), "newton") or {}
    kinds = {"constant": 1, "curve": len(counts), "segment": sum(c if closed else max(c - 1, 0) for c in counts),
             "point": len(points)}  # fmt: skip
    said = material or {}
    fallback = said.get("curvesThickness", said.get("thickness", THICKNESS))
    thickness = _thickness(elements(prim, "thicknesses", kinds), fallback, counts, closed)
    density = density_of(prim, material)
    on = is_collider(prim)
    cfg = replace(scene.builder.default_shape_cfg, **contact_of(scene, prim), density=density, has_shape_collision=on,
                  has_particle_collision=on)  # fmt: skip
    there, _ = baked(scene, prim, points)
    rest = authored(prim, "physics:restShapePoints")
    resting = baked(scene, prim, rest)[0] if rest is not None and len(rest) == len(points) else there
    runs, start = [], 0
    for k, count in enumerate(counts):
        own, at_rest = there[start : start + count], resting[start : start + count]
        start += count
        if count < (2 if closed else 3) or _lengths(own, closed).min(initial=1.0) <= SHORTEST:
            warnings.warn(f"{path}: curve {k} is left out: it has {count} points, or two in one place", stacklevel=4)
            continue
        radii, at = 0.5 * thickness[0][k], 0.5 * thickness[1][k]
        rod = Rod(np.concatenate([own, own[:1]]) if closed else own, radius=float(radii[0]), closed=closed)
        label = path if len(counts) == 1 else f"{path}_curve{k}"
        bodies, joints = scene.builder.add_rod(
            rod=rod, cfg=cfg, label=label, wrap_in_articulation=True, body_frame_origin="com"
        )
        lengths = _lengths(at_rest, closed)
        if material is not None:
            between = np.append(at[1:], at[:1]) if closed else at[1:-1]
            _set_gains(scene.builder, bodies, joints, lengths, material, damping, radii, between)
        volumes = np.pi * radii**2 * _lengths(own, closed)
        runs.append((k, bodies, joints, radii, volumes))
    _set_masses(scene, prim, runs, kinds, counts, closed, density)
    scene.cables[path] = ([b for run in runs for b in run[1]], [j for run in runs for j in run[2]])


def _set_gains(
    builder: Any, bodies: list[int], joints: list[int], lengths: np.ndarray, material: dict[str, float],
    damping: dict[str, float], radii: np.ndarray, between: np.ndarray,
) -> None:  # fmt: skip
    """Stiffness and damping of joints, each by the half segments it stands for."""
    where = {body: k for k, body in enumerate(bodies)}
    sections = [_section(material, float(r)) for r in radii]
    ke, kd, mode = (builder.edit(f"joint_target_{name}") for name in ("ke", "kd", "mode"))
    for joint, radius in zip(joints, between, strict=True):
        ends = [where[int(builder.rows(name)[joint])] for name in ("joint_parent", "joint_child")]
        half = 0.5 * lengths[ends]
        at = _section(material, float(radius))
        gains: list[float | None] = []
        for k in range(2):
            pair = [sections[end][k] for end in ends]
            if any(value is None for value in pair):
                gains.append(None)
            else:
                gains.append(0.0 if 0.0 in pair else float(1.0 / sum(h / v for h, v in zip(half, pair, strict=True))))
        gains += [None if at[k] is None else float(at[k] / half.sum()) for k in (2, 3)]
        first = int(builder.rows("joint_qd_start")[joint])
        for k, word in enumerate(MODES):
            dof, damped = first + k, damping.get(f"curves{word}Damping")
            ke[dof] = ke[dof] if gains[k] is None else gains[k]
            kd[dof] = kd[dof] if damped is None else damped / half.sum()
            has = bool(ke[dof] or kd[dof])
            mode[dof] = int(JointTargetMode.from_gains(float(ke[dof]), float(kd[dof]), has_drive=has))


def _set_masses(
    scene: Scene, prim: Any, runs: list, kinds: dict[str, int], counts: list[int], closed: bool, density: float
) -> None:
    """Mass, inertia and radius of each segment."""
    said = elements(prim, "masses", kinds)
    total = number(body_of(prim), "mass")
    whole = sum(float(volumes.sum()) for *_, volumes in runs)
    for k, bodies, _, radii, volumes in runs:
        masses = density * volumes
        segments = sum(count if closed else max(count - 1, 0) for count in counts[:k])
        if said is None and total:
            masses = total * volumes / whole
        elif said is not None and said.kind in ("constant", "curve"):
            share = whole if said.kind == "constant" else volumes.sum()
            masses = said.values[0 if said.kind == "constant" else k] * volumes / share
        elif said is not None and said.kind == "segment":
            masses = said.values[segments : segments + len(bodies)]
        elif said is not None:
            masses = _from_points(said.values[sum(counts[:k]) : sum(counts[: k + 1])], volumes, closed)
        for body, radius, mass in zip(bodies, radii, masses, strict=True):
            _set_segment(scene.builder, body, float(radius), float(mass))


def _from_points(masses: np.ndarray, volumes: np.ndarray, closed: bool) -> np.ndarray:
    """Masses of points given to the segments they bound, by their volumes."""
    near = volumes + np.roll(volumes, 1) if closed else np.append(volumes, 0.0) + np.append(0.0, volumes)
    return volumes * (masses / near + np.roll(masses / near, -1))[: len(volumes)]


def _set_segment(builder: Any, body: int, radius: float, mass: float) -> None:
    shape = builder.rows_by("shape", "shape_body")[body][0]
    size = np.array([radius, float(builder.rows("shape_scale")[shape][1]), 0.0])
    whole, _, inertia = shape_mass(GeoType.CAPSULE, size, None, 1.0, True, 0.0)
    builder.edit("shape_scale")[shape] = size
    builder.edit("shape_collision_radius")[shape] = bounding_radius(GeoType.CAPSULE, size, None)
    builder.edit("body_mass")[body] = mass
    builder.edit("body_inertia")[body] = inertia * (mass / whole)
