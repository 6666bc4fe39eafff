"""MuJoCo's functions over all worlds at once: Jacobians, inertia, velocities of objects, rays, distances, contacts.

They know an engine by its protocol only (`kinema.engine`), so they serve Kinema's own and the bridge's alike, and work
on its device: arrays on the device in, arrays on the device out. `simulation.functions` is what users see of them, with
names of elements and NumPy or torch on either side (`exchange`).
"""

from importlib import import_module
from types import ModuleType

MODULES = ("contacts", "distance", "exchange", "forces", "inertia", "jacobian", "objects", "positions", "rays")


def __getattr__(name: str) -> ModuleType:
    if name in MODULES:  # kernels are read when one is first used
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
