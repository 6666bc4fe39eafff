"""Documents that run: what `kinema.mjcf.Physics` opens."""

from kinema.collector import paused

with paused():
    from kinema.errors import PhysicsError
    from kinema.physics.binding import PICKLING_NOT_SUPPORTED, Binding, SynchronizingArrayWrapper, names_from_elements
    from kinema.physics.physics import Physics

_PICKLING_NOT_SUPPORTED = PICKLING_NOT_SUPPORTED  # the name PyMJCF's own tests know it by

__all__ = ["Binding", "Physics", "PhysicsError", "SynchronizingArrayWrapper", "names_from_elements"]
