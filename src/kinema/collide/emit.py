"""Writing contacts: the one place where the narrow phase touches output arrays."""

import warp as wp

from kinema.collide.bundles import Touch
from kinema.math.frame import make_frame


@wp.func
def emit(touch: Touch, w: int, k: int, dist: float, pos: wp.vec3, normal: wp.vec3, tangent: wp.vec3):
    """Store contact k of world w; contacts beyond the capacity are counted by the caller but not stored."""
    if k < touch.dist.shape[1]:
        touch.dist[w, k] = dist
        touch.pos[w, k] = pos
        touch.frame[w, k] = make_frame(normal, tangent)
