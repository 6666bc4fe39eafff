"""Worlds of a Newton-style Model, or of a solver of one, as a Simulation runs and shows them.

    sim = Simulation(model)             an engine of its own, at the model's initial state
    sim = Simulation(solver)            the solver's own engine, to show what the solver steps
    sim.read_model_state(state)         the worlds as a State has them
    sim.write_model_state(state)        and back

A Simulation has one mjModel, so all its worlds are of one structure; their numbers may differ (kin.py). A Model of
several structures has several engines: `Simulation.of_model` makes a simulation of each.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    @property
    def worlds(self) -> np.ndarray:
        """Which worlds of the model these are."""
        return self.batch.worlds.worlds

    def keyframe(self, key: int, fields: Mapping[str, str]) -> dict[str, np.ndarray]:
        """A keyframe as each world's own document has it, by mjData's names; `fields` are mjModel's."""

        def each(field: str) -> np.ndarray:
            return np.stack([np.asarray(getattr(host, field))[key] for host in self.batch.hosts])[self.batch.of]

        return {name: each(field) for name, field in fields.items()}


def model_worlds(source: Model | SolverConvex, threads: int | None) -> list[ModelWorlds]:
    """The worlds of a model by engine, put at its initial state; a solver begins with the state it is given anyway."""
    solver = source if isinstance(source, SolverConvex) else SolverConvex(source, threads=threads)
    found = [ModelWorlds(solver.model, batch, {}) for batch in solver.batches]
    state = solver.model.state()
    for each in found:
        each.read(state)
        each.start = {name: each.batch.engine.read(name).copy() for name in STATE}
    return found


def the_only(found: list[ModelWorlds]) -> ModelWorlds:
    """The one engine of a model; BuildError where there are several."""
    if len(found) != 1:
        raise BuildError(
            f"the model has worlds of {len(found)} structures, and a Simulation shows one: Simulation.of_model() gives "
            "a simulation of each"
        )
    return found[0]
