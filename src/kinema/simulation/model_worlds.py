"""Worlds of a Newton-style Model, or of a solver of one, as a Simulation runs and shows them.

    sim = Simulation(model)             an engine of its own, at the model's initial state
    sim = Simulation(solver)            the solver's own engine, to show what the solver steps
    sim.read_model_state(state)         the worlds as a State has them
    sim.write_model_state(state)        and back

All worlds must be of one class, since a Simulation has one mjModel; a Model of several has several engines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.adapter.solver import Batch, SolverConvex
from kinema.errors import BuildError
from kinema.model import Control, Model, State
from kinema.simulation.state import STATE


@dataclass
class ModelWorlds:
    """The one class of worlds of a model, its engine, and the state it starts from.

    Attributes:
        model: The model.
        batch: Its class of worlds, with the engine that runs it.
        start: All that a state holds at the start, by mjData's names, world by world.
    """

    model: Model
    batch: Batch
    start: dict[str, np.ndarray]

    def read(self, state: State, control: Control | None = None) -> None:
        """A state, and what acts on it, into the engine."""
        self.batch.boundary.read(state, self.model.control() if control is None else control)

    def write(self, state: State) -> None:
        """The engine's worlds into a state."""
        self.batch.boundary.write(state)


def model_worlds(source: Model | SolverConvex, threads: int | None) -> ModelWorlds:
    """The worlds of a model, put at its initial state; a solver begins with the state it is given anyway."""
    solver = source if isinstance(source, SolverConvex) else SolverConvex(source, threads=threads)
    if len(solver.batches) != 1:
        raise BuildError(
            f"the model has {len(solver.batches)} classes of worlds, and a Simulation shows one: give it a Model whose "
            "worlds were built from one template, or look at solver.batches[k].engine"
        )
    found = ModelWorlds(solver.model, solver.batches[0], {})
    engine = found.batch.engine
    found.read(solver.model.state())
    found.start = {name: engine.read(name).copy() for name in STATE}
    return found
