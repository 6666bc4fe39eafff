"""The model of one world as it stands, with the numbers it has now; and as text, for files that must find it again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.compile.decompile import mjcf_text
from kinema.compile.host_model import HostModel
from kinema.errors import BuildError

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation


def host_of_world(sim: Simulation, world: int) -> HostModel:
    """A compiled model with the numbers of one world; those that nobody touched have all their digits."""
    base: Any = sim.model
    if sim.newton is not None:
        base = sim.newton.batch.hosts[sim.newton.batch.of[world]]
    if not isinstance(base, HostModel):
        raise BuildError("save_xml: made of a model that MuJoCo compiled: make the simulation of the MJCF")
    made = copy.copy(base)
    made.arrays, made.opt = dict(base.arrays), copy.copy(base.opt)
    for name in sim.engine.parameters:
        now = sim.engine.read(name)[world]
        if name in made.arrays:
            made.arrays[name] = _exact(now, made.arrays[name])
        elif hasattr(made.opt, name):
            value = _exact(now, np.asarray(getattr(made.opt, name)))
            setattr(made.opt, name, value if value.ndim else float(value))
    return made


def _exact(now: np.ndarray, built: np.ndarray) -> np.ndarray:
    """Numbers as built where they are the same in single precision, else with the fewest digits that are."""
    built = np.asarray(built)
    if built.dtype.kind != "f" or not built.size:
        return built
    now = np.asarray(now).reshape(built.shape)
    same = now == built.astype(now.dtype)
    if same.all():
        return built
    few = np.array([float(str(v)) for v in now.ravel()]).reshape(built.shape)
    return np.where(same, built, few).astype(built.dtype)


def document_text(sim: Simulation) -> str:
    """The document of a simulation; of one made of a Model, its numbers as a document, or "" where there is none."""
    if sim.document.xml or sim.newton is None:
        return sim.document.xml
    try:
        return mjcf_text(sim.newton.batch.hosts[0])
    except BuildError:
        return ""
