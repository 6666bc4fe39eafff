"""What cables, cloth and soft bodies of a stage share: their bodies, materials, points, thicknesses and masses.

A deformable body (PhysicsDeformableBodyAPI) is a prim above what is simulated of it; it says density and mass. Numbers
of elements (`physics:thicknesses`, `physics:masses`) come with a word that says of what (`:elementType`): one for all,
or one for each curve, segment, face or point. Names are UsdPhysics' (`physics:`), vendors' where nothing else is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.transform import quat_rotate
from .scene import Scene
from .schemas import authored
from .shapes import applies

BODY = "PhysicsDeformableBodyAPI"
CURVES, SURFACE, VOLUME = (f"Physics{kind}DeformableSimAPI" for kind in ("Curves", "Surface", "Volume"))
YOUNG, POISSON, DENSITY, THICKNESS = 1.0e6, 0.3, 1000.0, 1.0e-3
"""What UsdPhysics gives a deformable material that does not say."""


def body_of(prim: Any) -> Any:
    """The deformable body that a prim is simulated for: itself, or its parent."""
    return next((one for one in (prim, prim.GetParent()) if one and applies(one, BODY)), prim)


def is_left_out(prim: Any) -> bool:
    """Whether the body of a prim is switched off or moved by somebody else, which is said."""
    for name, wrong in (("bodyEnabled", False), ("kinematicEnabled", True)):
        if authored(body_of(prim), f"physics:{name}") is wrong:
            warnings.warn(f"{prim.GetPath()}: left out, physics:{name} is {str(wrong).lower()}", stacklevel=5)
            return True
    return False


def number(prim: Any, name: str, vendors: tuple[str, ...] = ()) -> float | None:
    """A finite number of a prim, in UsdPhysics' words or a vendor's."""
    for space in ("physics", *vendors):
        value = authored(prim, f"{space}:{name}")
        if value is not None and np.isfinite(value):
            return float(value)
    return None


def material_of(prim: Any) -> Any:
    """The physics material that a prim is bound to, or None."""
    from pxr import UsdShade

    found, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    return found.GetPrim() if found else None


def numbers_of(prim: Any, schema: str, names: tuple[str, ...], space: str = "physics") -> dict[str, float] | None:
    """What a prim's material says of itself under these names; None where it is not of this schema."""
    material = material_of(prim)
    if material is None or not applies(material, schema):
        return None
    found = {}
    for name in names:
        value = authored(material, f"{space}:{name}")
        if value is not None and np.isfinite(value) and float(value) >= 0.0:
            found[name] = float(value)
    return found


def density_of(prim: Any, material: Mapping[str, float] | None) -> float:
    """Density [kg/m³]: the body's, its material's, or UsdPhysics' default."""
    said = number(body_of(prim), "density")
    if said:
        return said
    if material is not None:
        return material.get("density") or DENSITY
    bound = material_of(prim)
    return (number(bound, "density") if bound is not None else None) or DENSITY


def baked(scene: Scene, prim: Any, points: Any) -> tuple[np.ndarray, bool]:
    """Points in the world, and whether the way there mirrors them."""
    place = np.array(scene.cache.GetLocalToWorldTransform(prim), dtype=float)
    there = np.asarray(points, dtype=float) @ place[:3, :3] + place[3, :3]
    return quat_rotate(scene.world[3:], there) + scene.world[:3], bool(np.linalg.det(place[:3, :3]) < 0.0)


@dataclass(frozen=True)
class Elements:
    """Numbers of elements, and of which kind these are."""

    kind: str
    values: np.ndarray


def elements(prim: Any, name: str, counts: Mapping[str, int], unnamed: str | None = None) -> Elements | None:
    """`physics:name` of a prim, checked against how many elements there are of each kind."""
    values = authored(prim, f"physics:{name}")
    if values is None or len(values) == 0:
        return None
    kind = authored(prim, f"physics:{name}:elementType")
    kind = str(kind) if kind is not None else unnamed
    found = np.asarray(values, dtype=float)
    wrong = ""
    if kind is None:
        wrong = f"physics:{name}:elementType is not said"
    elif kind not in counts:
        wrong = f"elementType {kind!r} is none of {', '.join(counts)}"
    elif len(found) != counts[kind]:
        wrong = f"{len(found)} numbers for {counts[kind]} of element type {kind!r}"
    elif not np.all(np.isfinite(found) & (found > 0.0)):
        wrong = "numbers must be finite and greater than zero"
    if wrong:
        warnings.warn(f"{prim.GetPath()}: physics:{name} is left out: {wrong}", stacklevel=5)
        return None
    return Elements(str(kind), found)
