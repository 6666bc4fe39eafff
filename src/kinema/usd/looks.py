"""How a prim is seen: colour and opacity of its material, or of its display primvars, and whether it is drawn at all.

Colours in a stage are linear; a model's are as a screen shows them (sRGB):

    c <= 0.0031308    12.92 c
    otherwise         1.055 c^(1/2.4) - 0.055
"""

from __future__ import annotations

from typing import Any

import numpy as np


def srgb(color: Any) -> np.ndarray:
    """A linear colour as a screen shows it."""
    c = np.clip(np.asarray(color, dtype=float), 0.0, 1.0)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * np.power(c, 1.0 / 2.4) - 0.055)


UNPAINTED = srgb((0.18, 0.18, 0.18))
"""What UsdPreviewSurface gives a surface without a colour."""


def look_of(prim: Any) -> tuple[np.ndarray | None, float | None]:
    """Colour and opacity; None where nobody says."""
    from pxr import UsdGeom, UsdShade

    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    if material:
        shader, _, _ = material.ComputeSurfaceSource()
        inputs = {name: _constant(shader, name) for name in ("diffuseColor", "opacity")} if shader else {}
        if inputs.get("diffuseColor") is not None or inputs.get("opacity") is not None:
            color = inputs["diffuseColor"]
            return None if color is None else srgb(color), _number(inputs["opacity"])
    gprim = UsdGeom.Gprim(prim)
    if not gprim:
        return None, None
    color, opacity = gprim.GetDisplayColorAttr().Get(), gprim.GetDisplayOpacityAttr().Get()
    return srgb(color[0]) if color else None, _number(opacity[0]) if opacity else None


def _constant(shader: Any, name: str) -> Any:
    """An input that has one value, not a picture."""
    found = shader.GetInput(name)
    return found.Get() if found and not found.HasConnectedSource() else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def is_drawn(prim: Any) -> bool:
    """Whether a viewer draws it: visible, and neither a guide nor for final pictures alone."""
    from pxr import UsdGeom

    imageable = UsdGeom.Imageable(prim)
    if not imageable or imageable.ComputeVisibility() == UsdGeom.Tokens.invisible:
        return False
    return imageable.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.proxy)
