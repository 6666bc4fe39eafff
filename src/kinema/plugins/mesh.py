"""The mesh a signed distance field is shown as, and its inertia and collisions with planes are computed from.

The field is sampled over the box that the plugin's aabb() gives, on a grid of about 300 points along its three edges
together, as MuJoCo does; marching cubes make the surface.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import warp as wp

from kinema.errors import PluginError
from kinema.plugins.distance import distances, half_sizes
from kinema.plugins.registry import find_plugin

POINTS = 300  # along the three edges together


def field_mesh(name: str, config: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of the zero surface of a plugin's field."""
    from warp.geometry import IsoSurfaceMarchingCubes

    plugin = find_plugin(name)
    assert plugin is not None
    made = plugin.configure(config)
    half = half_sizes(plugin, made)
    count = np.floor(POINTS * half / half.sum()).astype(int) + 1
    axes = [np.linspace(-h, h, n) for h, n in zip(half, count, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    numbers: list[float] = []
    for key, field in plugin.fields.items():
        numbers += field.numbers(getattr(made, key)) if field.on_device else []
    values = distances(plugin, numbers or [0.0], points)
    if not np.all(np.isfinite(values)):
        raise PluginError(f"plugin {name}: sdf is not finite everywhere within its aabb")
    grid = wp.array(values.reshape(count).astype(np.float32), dtype=float, device="cpu")
    with wp.ScopedDevice("cpu"):
        vert, face = IsoSurfaceMarchingCubes.extract(grid, 0.0, lower=tuple(-half), upper=tuple(half))
    vert, face = vert.numpy().reshape(-1, 3), face.numpy().reshape(-1, 3)
    if len(face) == 0:
        raise PluginError(f"plugin {name}: its sdf has no surface within its aabb")
    corner = vert[face].astype(float)
    volume = np.einsum("ij,ij->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2]))
    return vert, face if volume > 0 else face[:, ::-1].copy()
