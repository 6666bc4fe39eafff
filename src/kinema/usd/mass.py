"""Mass, centre and inertia of bodies, by UsdPhysics' rules.

    a body's own numbers come first: mass, diagonal inertia in its principal axes, centre of mass
    what it does not say is summed over its colliders, each
        of its own mass, else its own density, else the body's, else its material's or the builder's default
    a body that says its mass alone has the inertia of its colliders, in proportion to it

Zero means "not given" for masses, densities and inertias, and so does a centre of mass that is not finite, written or
not. Bodies that say nothing keep what their shapes gave them as they were added.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..model.inertia import add_mass, shape_mass, sphere
from ..model.transform import quat_matrix
from .pose import quat_xyzw
from .scene import Scene
from .schemas import authored
from .shapes import Collider, applies

SMALL = 0.1
"""Radius [m] of the sphere whose inertia a body gets that has a mass and nothing else, as OpenUSD and PhysX do."""


class Given:
    """What a prim says of its mass; None where it says nothing."""

    def __init__(self, prim: Any):
        from pxr import UsdPhysics

        api = UsdPhysics.MassAPI(prim) if prim.HasAPI(UsdPhysics.MassAPI) else None
        self.path = str(prim.GetPath())
        self.any = api is not None
        self.mass = self._positive("mass", api and api.GetMassAttr().Get())
        self.density = self._positive("density", api and api.GetDensityAttr().Get())
        self.com = self._finite(api and api.GetCenterOfMassAttr().Get())
        self.inertia = self._inertia(api) if api else None
        whole = authored(prim, "newton:inertia") if applies(prim, "NewtonMassAPI") else None
        if whole is not None:
            self.inertia = self._whole(whole)

    def _positive(self, name: str, value: float | None) -> float | None:
        if value is not None and np.isfinite(value) and value > 0.0:
            return float(value)
        if value not in (None, 0.0):
            warnings.warn(f"{self.path}: physics:{name}={value} is not a positive number and not heard", stacklevel=4)
        return None

    @staticmethod
    def _finite(value: Any) -> np.ndarray | None:
        return None if value is None or not np.all(np.isfinite(value)) else np.asarray(value, dtype=float)

    def _inertia(self, api: Any) -> np.ndarray | None:
        diagonal = api.GetDiagonalInertiaAttr().Get()
        if diagonal is None or not np.any(diagonal):
            return None
        if not np.all(np.isfinite(diagonal)) or np.any(np.asarray(diagonal) < 0.0):
            warnings.warn(f"{self.path}: physics:diagonalInertia={diagonal} is no inertia and not heard", stacklevel=4)
            return None
        axes = api.GetPrincipalAxesAttr().Get()
        turn = quat_matrix(quat_xyzw(axes)) if axes is not None else np.eye(3)
        return turn @ np.diag(np.asarray(diagonal, dtype=float)) @ turn.T

    def _whole(self, values: Any) -> np.ndarray | None:
        if len(values) == 6 and np.all(np.isfinite(values)):
            xx, yy, zz, xy, xz, yz = (float(v) for v in values)
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            if np.all(np.linalg.eigvalsh(matrix) >= 0.0):
                return matrix
        warnings.warn(f"{self.path}: newton:inertia={list(values)} is no inertia and not heard", stacklevel=4)
        return self.inertia


def give_masses(scene: Scene, colliders: list[Collider]) -> None:
    """Set mass, centre and inertia of every body that says something of them, or whose colliders do."""
    by_body: dict[str, list[Collider]] = {}
    for collider in colliders:
        by_body.setdefault(collider.body, []).append(collider)
    for path, desc in scene.found.get("RigidBody", ()):
        body = scene.bodies.get(path)
        if body is None:
            continue
        own, parts = Given(scene.prim(path)), by_body.get(path, [])
        if own.any or any(Given(scene.prim(part.path)).any for part in parts):
            _give(scene, body, own, parts, np.asarray(desc.scale, dtype=float))


def _give(scene: Scene, body: int, own: Given, parts: list[Collider], scale: np.ndarray) -> None:
    builder = scene.builder
    summed = _sum(scene, parts, None if own.mass is not None else own.density)
    mass, com, inertia = summed
    if own.mass is not None:
        had = float(builder.rows("body_mass")[body])
        if had > 0.0:  # what the shapes gave the body, in proportion
            inertia = np.asarray(builder.rows("body_inertia")[body], dtype=float).reshape(3, 3) * (own.mass / had)
        elif own.inertia is None:
            inertia = _small(own.mass)
        mass = own.mass
    if own.com is not None:
        com = own.com * scale
    if own.inertia is not None:
        inertia = own.inertia
    if mass > 0.0 and not np.any(inertia):
        density = float(builder.default_shape_cfg.density)
        radius = (3.0 * mass / (4.0 * np.pi * density)) ** (1.0 / 3.0)
        inertia = sphere(density, radius)[2] + mass * float(com @ com) * np.eye(3)
    for name, value in (("body_mass", mass), ("body_com", com), ("body_inertia", inertia)):
        builder.edit(name)[body] = value


def _small(mass: float) -> np.ndarray:
    return 0.4 * mass * SMALL**2 * np.eye(3)


def _sum(scene: Scene, parts: list[Collider], density: float | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and inertia of colliders, a body's density being given or None."""
    total: tuple[float, np.ndarray, np.ndarray] = (0.0, np.zeros(3), np.zeros((3, 3)))
    for part in parts:
        own = Given(scene.prim(part.path))
        volume, com, inertia = shape_mass(part.kind, part.sizes, part.source, 1.0, part.is_solid, part.thickness)
        if volume <= 0.0:
            warnings.warn(f"{part.path}: a collider without volume adds no mass", stacklevel=4)
            continue
        if own.mass is not None:
            each = own.mass / volume
        else:
            each = own.density or density or part.density
        if own.mass is not None and own.inertia is not None:
            inertia, com = own.inertia / each, np.zeros(3) if own.com is None else own.com
        total = add_mass(total, (volume * each, com, inertia * each), part.pose)
    return total
