"""Documents that run: what `kinema.mjcf.Physics` opens."""

from kinema.errors import PhysicsError
from kinema.physics.binding import PICKLING_NOT_SUPPORTED as _PICKLING_NOT_SUPPORTED
from kinema.physics.binding import Binding, SynchronizingArrayWrapper, names_from_elements
from kinema.physics.physics import Physics

__all__ = ["Binding", "Physics", "PhysicsError", "SynchronizingArrayWrapper", "names_from_elements"]
