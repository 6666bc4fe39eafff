"""Copies of a simulation's worlds, for trying things: samples, step sizes, knots of a path, neighbours of a parameter.

World k n + w of the copies, n worlds being copied, has the parameters of world w. Many trials are then one batch, and
whatever is tried, the simulation itself stays as it is.

    trial = copies(sim, 8)              eight of every world
    begin(trial, sim)                   each in the state of its original
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.devices import cores
from kinema.simulation.parameters import changed_parameters, put_parameters
from kinema.simulation.state import STATE

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

SWITCHES = ("disableflags", "enableflags", "disableactuator")

DOFS_A_THREAD = 256
"""With fewer dofs in its worlds, handing a step to a thread costs more than the thread saves."""


def copies(sim: Simulation, times: int, *, threads: int | None = None) -> Simulation:
    """A simulation of `times` copies of every world, with the parameters the worlds have now.

    Args:
        sim: What is copied.
        times: How often.
        threads: CPU threads; None: one a core, where each gets worlds enough.
    """
    from kinema.simulation.simulation import Simulation

    count = times * sim.worlds
    if threads is None:
        threads = max(1, min(cores(), count * int(sim.model.nv) // DOFS_A_THREAD))
    many = Simulation(sim.model, count, sim.engine.device, threads, **sim.options, capture_failures=False)
    follow(many, sim)
    return many


def follow(many: Simulation, sim: Simulation) -> None:
    """Give copies the parameters and switches that their originals have now."""
    times = many.worlds // sim.worlds
    expanded = tuple(sim.engine.expanded)
    for name in SWITCHES:
        now = _switch(sim, name)
        if now is not None and now != _switch(many, name):
            many.engine.set_option(name, now)
    values = changed_parameters(sim.engine)
    tiled = {name: tile(value, times) if name in expanded else value for name, value in values.items()}
    if tiled or many.engine.expanded or changed_parameters(many.engine):
        put_parameters(many.engine, tiled, expanded)


def _switch(sim: Simulation, name: str) -> Any:
    try:
        return int(getattr(sim.m.opt, name))
    except (AttributeError, TypeError):
        return None


def begin(many: Simulation, sim: Simulation) -> None:
    """Put copies into the states of their originals, and revive those that were frozen."""
    times = many.worlds // sim.worlds
    many.engine.reset()
    for name in STATE:
        now = sim.engine.read(name) if name in sim.engine.names else np.empty(0)
        if now.size:
            many.engine.write(name, tile(now, times))


def tile(value: np.ndarray, times: int) -> np.ndarray:
    """An array [world, ...] `times` over."""
    return np.tile(value, (times, *[1] * (np.ndim(value) - 1)))
