"""A simulation in a file, or pickled: all that decides its next steps, which then are the same to the bit.

state         of every world, plugins' and the warm start of the constraint solver included
marks         what went wrong in each world; readings and accelerations of the latest step
parameters    numbers of the model that were changed, per world where worlds differ
model         its sizes and a checksum of every field the engine reads, so that no other model takes the state;
              the document itself, so that `Simulation.restore` finds it
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.archive import read_archive, write_archive
from kinema.errors import BuildError, ResourceError
from kinema.model.mujoco_fields import model_fields
from kinema.simulation.parameters import changed_parameters, put_parameters
from kinema.simulation.present_model import document_text
from kinema.simulation.state import STATE

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

KIND = "simulation"

MARKS = ("status", "substep", "qacc", "act_dot", "sensordata", "fresh")
"""What a step leaves beside the state, and a later one or its reader looks at."""

SWITCHES = ("integrator", "cone", "solver", "iterations", "ls_iterations", "noslip_iterations", "ccd_iterations",
            "disableflags", "enableflags", "disableactuator", "sdf_initpoints", "sdf_iterations")  # fmt: skip
"""Options that are fixed when a simulation is made."""


def save(sim: Simulation, path: str | os.PathLike, more: Mapping[str, Any] | None = None) -> Path:
    """Write a simulation to a file; `more` is kept with it, whatever JSON can hold."""
    engine = sim.engine
    parameters = changed_parameters(engine)
    header = {
        "worlds": sim.worlds,
        "model": fingerprint(sim),
        "expanded": [name for name in parameters if name in engine.expanded],
        "model_xml": document_text(sim),
        "model_path": sim.document.path,
        "more": dict(more or {}),
    }
    arrays = {f"state/{name}": values for name, values in states_of(sim).items()}
    arrays |= {f"parameter/{name}": values for name, values in parameters.items()}
    return write_archive(path, KIND, header, arrays)


def states_of(sim: Simulation) -> dict[str, np.ndarray]:
    """State and marks of all worlds."""
    return {name: np.array(sim.engine.read(name)) for name in (*STATE, *MARKS) if name in sim.engine.names}


def contents(sim: Simulation) -> dict[str, Any]:
    """What a simulation is made of, for `revived`: it can be pickled."""
    if sim.newton is not None:
        raise BuildError("a simulation of worlds of a Model cannot be copied or pickled: save the model and its state")
    engine = sim.engine
    return {
        "make": (sim.model, sim.worlds, str(engine.device), getattr(engine, "threads", 1)),
        "options": {**sim.options, "capture_failures": sim.last_good is not None},
        "document": sim.document,
        "switches": dict(engine.present.switches) if hasattr(engine, "present") else {},
        "parameters": (changed_parameters(engine), sorted(engine.expanded)),
        "states": states_of(sim),
    }


def revived(kind: type[Simulation], held: Mapping[str, Any]) -> Simulation:
    """A simulation of the same model, parameters and states: its next steps are the same to the bit."""
    sim = kind(*held["make"], **held["options"])
    sim.document = held["document"]
    for name, value in held["switches"].items():
        sim.engine.set_option(name, value)
    put_parameters(sim.engine, *held["parameters"])
    _put(sim, held["states"])
    return sim


def _put(sim: Simulation, states: Mapping[str, np.ndarray]) -> None:
    for name, rows in states.items():
        if rows.size:
            sim.engine.write(name, rows)


def load(sim: Simulation, path: str | os.PathLike) -> dict[str, Any]:
    """Put a simulation into the state a file holds; gives what was kept with it."""
    header, arrays = read_archive(path, KIND)
    try:
        worlds, model, expanded, more = (header[name] for name in ("worlds", "model", "expanded", "more"))
    except KeyError as missing:
        raise ResourceError(f"{path}: damaged, without {missing}") from None
    if worlds != sim.worlds:
        raise BuildError(f"{path}: a simulation of {worlds} worlds, this one has {sim.worlds}")
    _same_model(path, model, fingerprint(sim))
    states = {name.removeprefix("state/"): v for name, v in arrays.items() if name.startswith("state/")}
    for name, values in states.items():
        if name not in sim.engine.names or sim.engine.shape(name) != values.shape:
            raise BuildError(f"{path}: {name} of shape {values.shape} has no place in this simulation")
    values = {name.removeprefix("parameter/"): v for name, v in arrays.items() if name.startswith("parameter/")}
    put_parameters(sim.engine, values, expanded)
    _put(sim, states)
    return more


def worlds_in(path: str | os.PathLike) -> int:
    """How many worlds a file holds."""
    return int(read_archive(path, KIND)[0]["worlds"])


def document_in(path: str | os.PathLike) -> tuple[str | Path, int]:
    """What the file was made of, the document's file if it still reads the same, else its text; and how many worlds."""
    header, _ = read_archive(path, KIND)
    file, text = Path(header.get("model_path", "")), header.get("model_xml", "")
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return file, header["worlds"]
    if not text:
        raise BuildError(f"{path}: made of a compiled model, whose document is not in the file: give `source`")
    return text, header["worlds"]


def fingerprint(sim: Simulation) -> dict[str, int]:
    """Sizes, options and a checksum of every field of the compiled model that the engine reads."""
    engine, opt = sim.engine, sim.model.opt
    found = {name: int(getattr(sim.model, name)) for name in ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom")}
    found |= {f"opt.{name}": int(getattr(opt, name)) for name in SWITCHES}
    for name in sorted(set(engine.names) & set(model_fields())):
        numbers = engine.built(name)
        rounded = numbers.astype(np.float32 if numbers.dtype.kind == "f" else np.int64)
        found[name] = zlib.crc32(np.ascontiguousarray(rounded).tobytes())
    return found


def _same_model(path: str | os.PathLike, saved: Mapping[str, int], here: Mapping[str, int]) -> None:
    sizes = [f"{n} is {saved[n]}, here {here[n]}" for n in ("nq", "nv", "nu", "nbody") if saved.get(n) != here[n]]
    if sizes:
        raise BuildError(f"{path}: saved from another model: {', '.join(sizes)}")
    other = sorted(name for name in {*saved, *here} if saved.get(name) != here.get(name))
    if other:
        more = f" and {len(other) - 6} more" if len(other) > 6 else ""
        raise BuildError(f"{path}: saved from another model, which differs in {', '.join(other[:6])}{more}")
