"""Worlds that have gone bad: a position, velocity or acceleration that is not a number, or huge (mj_checkPos ...).

MuJoCo puts such a world back to its initial state. Among thousands of worlds that hides the trouble, so here the world
is flagged and left as it is, which freezes it, until it is reset. The others go on.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.status import freeze
from kinema.math.vector import MAXVAL
from kinema.mujoco_enums import Joint


@wp.func
def bad(x: float) -> bool:
    """Not a number, or too large to mean anything."""
    return not (wp.abs(x) <= MAXVAL)


@wp.func
def check_position(m: Model, d: Data, w: int, i: int):
    """Flag a world with a bad position."""
    if bad(d.state.qpos[w, i]):
        freeze(d.state.status, w)


@wp.func
def check_velocity(m: Model, d: Data, w: int, i: int):
    """Flag a world with a bad velocity."""
    if bad(d.state.qvel[w, i]):
        freeze(d.state.status, w)


@wp.func
def check_joint(m: Model, d: Data, w: int, j: int):
    """Flag a world in which a joint has a bad position or velocity."""
    kind = m.jnt.type[j]
    a = m.jnt.qposadr[j]
    i = m.jnt.dofadr[j]
    found = bool(False)
    for k in range(a, a + wp.where(kind == Joint.FREE, 7, wp.where(kind == Joint.BALL, 4, 1))):
        found = found or bad(d.state.qpos[w, k])
    for k in range(i, i + wp.where(kind == Joint.FREE, 6, wp.where(kind == Joint.BALL, 3, 1))):
        found = found or bad(d.state.qvel[w, k])
    if found:
        freeze(d.state.status, w)


@wp.func
def check_acceleration(m: Model, d: Data, w: int, i: int):
    """Flag a world with a bad acceleration, before it moves."""
    if bad(d.frc.qacc[w, i]):
        freeze(d.state.status, w)
