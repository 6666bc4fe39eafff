"""Put worlds back to their initial state, on the device: a training loop resets some of them at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from kinema.convex import plastic
from kinema.convex.actuation import initial_control
from kinema.convex.history import initial as initial_history


def initial_state(m, plugin_state) -> dict[str, np.ndarray]:
    """One world's state as the model defines it (mj_resetData)."""
    mocap = np.flatnonzero(np.asarray(m.body_mocapid) >= 0)
    order = mocap[np.argsort(np.asarray(m.body_mocapid)[mocap])]
    return {
        **{name: np.zeros(m.nv) for name in ("qvel", "qacc_warmstart", "qfrc_applied", "qacc")},
        **{name: np.zeros(()) for name in ("time", "status", "substep")},
        "act": np.zeros(m.na),
        "userdata": np.zeros(m.nuserdata),
        "xfrc_applied": np.zeros((m.nbody, 6)),
        "qpos": np.asarray(m.qpos0),
        "plugin_state": np.asarray(plugin_state),
        "plastic": plastic.initial(m),
        "ctrl": initial_control(m),
        "history": initial_history(m),
        "eq_active": np.asarray(m.eq_active0),
        "mocap_pos": np.asarray(m.body_pos)[order] if len(order) else np.zeros((0, 3)),
        "mocap_quat": np.asarray(m.body_quat)[order] if len(order) else np.zeros((0, 4)),
    }


@wp.kernel(enable_backward=False)
def put_rows(rows: wp.array2d(dtype=Any), values: wp.array2d(dtype=Any), mask: wp.array(dtype=int)):
    """rows[w] = values[w] for the worlds of the mask, or the one row of values there is."""
    i, w = wp.tid()
    if mask[w] != 0:
        rows[w, i] = values[wp.min(w, values.shape[0] - 1), i]


@wp.kernel(enable_backward=False)
def put_values(rows: wp.array(dtype=Any), values: wp.array(dtype=Any), mask: wp.array(dtype=int)):
    """The same for one number a world."""
    w = wp.tid()
    if mask[w] != 0:
        rows[w] = values[wp.min(w, values.shape[0] - 1)]


for _type in (float, int, wp.float64, wp.vec3, wp.vec4, wp.spatial_vector):
    wp.overload(put_rows, [wp.array2d(dtype=_type), wp.array2d(dtype=_type), wp.array(dtype=int)])
for _type in (int, wp.float64):
    wp.overload(put_values, [wp.array(dtype=_type), wp.array(dtype=_type), wp.array(dtype=int)])


class StatePutter:
    """Writes one world's values into chosen worlds without a detour over the host.

    Args:
        arrays: The device's arrays by name, [world, ...].
        values: One world's values by name; every world's with `per_world`.
    """

    def __init__(self, arrays: Mapping[str, wp.array], values: Mapping[str, np.ndarray], *, per_world: bool = False):
        self.pairs = []
        for name, value in values.items():
            array = arrays[name]
            if array.size and np.size(value):
                length = array.shape[1:2]
                element = getattr(array.dtype, "_shape_", ())
                scalar = getattr(array.dtype, "_wp_scalar_type_", array.dtype)
                host = np.ascontiguousarray(value, dtype=wp.dtype_to_numpy(scalar))
                host = host.reshape(array.shape[0] if per_world else 1, *length, *element)
                self.pairs.append((array, wp.array(host, dtype=array.dtype, device=array.device)))

    def put(self, mask: wp.array) -> None:
        """Write into the worlds where the mask is not 0."""
        for array, row in self.pairs:
            inputs = [array, row, mask]
            if array.ndim > 1:
                wp.launch(put_rows, dim=(array.shape[1], array.shape[0]), inputs=inputs, device=array.device)
            else:
                wp.launch(put_values, dim=array.shape[0], inputs=inputs, device=array.device)
