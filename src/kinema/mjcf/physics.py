"""The door to simulating a document.

The document layer stands below the simulation, so what a program finds here is fetched from `kinema.physics` when it is
first asked for: reading and writing documents never loads the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinema.physics import Binding, Physics, PhysicsError, SynchronizingArrayWrapper, names_from_elements

__all__ = ["Binding", "Physics", "PhysicsError", "SynchronizingArrayWrapper", "names_from_elements"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import kinema.physics as simulated

    return getattr(simulated, name)
