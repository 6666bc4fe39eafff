"""What a linearization is taken along: the coordinates of MuJoCo's `mjd_transitionFD`, as directions of arrays.

    x = (dq, v, act)    dq: position in its tangent space, nv numbers; quaternions turn about axes of their own frame
    u = ctrl            y = sensordata

What else a step leaves to the next one is its memory: samples that delays wait for, rest lengths of springs that yield,
what plugins keep. It is no part of x; derivatives through several steps go through it as well (retrace.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.convex.access import written
from kinema.errors import BuildError, did_you_mean
from kinema.gradients import mixing
from kinema.gradients.direction import Direction, Moves
from kinema.mujoco_enums import Joint

REMEMBERED = ("plastic", "plugin_state")
"""Arrays of memory of which every number counts; of history samples do, and neither times nor cursors."""


def positions(m: Any) -> list[Direction]:
    """The tangent space of qpos, a direction a dof."""
    found: list[Direction] = []
    for kind, at in zip(np.asarray(m.jnt_type).tolist(), np.asarray(m.jnt_qposadr).tolist(), strict=True):
        if kind == Joint.FREE:
            found += [Direction("qpos", at + c) for c in range(3)]
            at += 3
        if kind in (Joint.FREE, Joint.BALL):
            found += [Direction("qpos", at, turn=axis) for axis in (1, 2, 3)]
        else:
            found.append(Direction("qpos", at))
    return found


def states(m: Any) -> list[Direction]:
    """x."""
    velocities = [Direction("qvel", i) for i in range(int(m.nv))]
    return positions(m) + velocities + [Direction("act", i) for i in range(int(m.na))]


def controls(m: Any) -> list[Direction]:
    """u."""
    return [Direction("ctrl", i) for i in range(int(m.nu))]


def sensors(m: Any) -> list[Direction]:
    """y."""
    return [Direction("sensordata", i) for i in range(int(m.nsensordata))]


def parameter(engine: Any, name: str) -> list[Moves]:
    """A direction for every number of a parameter."""
    if not engine.is_parameter(name):
        raise BuildError(f"{name!r} is no parameter{did_you_mean(name, engine.parameters)}")
    engine.follower.free(name)  # where it is 0, what it would do has a slope
    if mixing.is_mixed(name):
        return list(mixing.directions(engine, name))
    shape = engine.shape(name)[1:]
    array = engine.layout.arrays[name]
    count = int(np.prod(array.shape[1:])) if array.ndim > 1 else 1
    each = int(np.prod(shape)) // max(1, count)
    return [Direction(name, k, component=c) for k in range(count) for c in range(each)]


def memory(engine: Any) -> list[Direction]:
    """What a step writes for the next one to read, beside x."""
    kept = written(engine.recipes["step"])
    found = [
        Direction(name, i) for name in REMEMBERED if name in kept for i in range(int(np.prod(engine.shape(name)[1:])))
    ]
    return found + [Direction("history", i) for i in _samples(engine.source)] if "history" in kept else found


def _samples(m: Any) -> list[int]:
    """Where the samples of history buffers are: [tick, cursor, times (n), values (n x dim)] each (history.py)."""
    buffers = [
        *zip(m.actuator_historyadr, m.actuator_history, m.actuator_ctrlnum, strict=True),
        *zip(m.sensor_historyadr, m.sensor_history, m.sensor_dim, strict=True),
    ]
    starts = [(int(adr) + 2 + int(shape[0]), int(shape[0]) * int(dim)) for adr, shape, dim in buffers if adr >= 0]
    return [start + k for start, count in starts for k in range(count)]


def refuse_delays(engine: Any, *, sensors: bool) -> None:
    """Raise where x and u do not say what the next state, or a reading, is: it comes out of a buffer (as in MuJoCo)."""
    m = engine.source
    delayed = {"actuator": ("actuator_delay",), **({"sensor": ("sensor_delay", "sensor_interval")} if sensors else {})}
    for kind, names in delayed.items():
        buffered = np.asarray(getattr(m, f"{kind}_history", np.zeros((0, 2)))).reshape(-1, 2)[:, 0] > 0
        if not buffered.any():
            continue
        for name in names:
            now = np.asarray(engine.read(name) if name in engine.parameters else getattr(m, name)[None])
            late = buffered & (now.reshape(len(now), len(buffered), -1)[..., 0] > 0).any(0)
            if late.any():
                which = int(np.flatnonzero(late)[0])
                more = "" if kind == "actuator" else ", or sensors=False"
                raise BuildError(
                    f"this model has no linearization: {name}[{which}] is not 0, so that it answers to what "
                    f"was a while ago; use kinema.gradients.rollout, which goes back through delays{more}"
                )
