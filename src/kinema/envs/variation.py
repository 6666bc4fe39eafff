"""Domain randomisation as data: what differs from world to world, how much, and when it is drawn.

    ranges = [
        Variation("body_mass", 0.8, 1.2),                                        factors, drawn for each body and world
        Variation("geom_friction", 0.5, 1.5, names="floor", column=0, when="reset"),
        Variation("actuator_gainprm", 0.9, 1.1, together=True, distribution="log_uniform"),
        Variation("qvel", -0.1, 0.1, operation="add", when="reset"),             the state an episode starts with
    ]
    ranges = {"body_mass": (0.8, 1.2)}                                            the first of these, in short

With x drawn and v the model's value (of the state: the start the task gives), the world's is v x ("scale"), v + x
("add") or x ("set"). Numbers are hashes of seed, world and episode like all others of an environment.

What is drawn at startup is written by the host, which computes anew what follows from it. What is drawn at every reset
is written on the device, for the worlds that begin an episode, and so must be something nothing else follows from but
the parameters of contacts, which are mixed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.envs.worlds import Worlds
from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.simulation import STATE
from kinema.simulation.named import ids_of
from kinema.simulation.recompute import INDEPENDENT

DISTRIBUTIONS = ("uniform", "log_uniform", "normal")
OPERATIONS = ("scale", "add", "set")
MOMENTS = ("startup", "reset")
OWNER = {
    "nbody": "body", "njnt": "joint", "ngeom": "geom", "nsite": "site", "ntendon": "tendon", "nu": "actuator",
    "nactuator": "actuator", "neq": "equality", "ncam": "camera", "nlight": "light", "npair": "pair",
    "nv": "joint", "nq": "joint",
}  # fmt: skip
"""Whose names choose rows of a field, by the size that counts them."""


@dataclass(frozen=True)
class Variation:
    """One field that differs from world to world.

    Attributes:
        field: A parameter of the model (mjModel's name) or a part of the state.
        low, high: Bounds of what is drawn; numbers, or sequences that fit the chosen numbers.
        distribution: "uniform"; "log_uniform" (factors: as often below 1 as above); "normal", with the middle as mean
            and the bounds two deviations from it, where it is cut off.
        operation: What is done with it: "scale", "add" or "set".
        when: "startup": when the environment is made and whenever it is seeded; "reset": for every episode.
        names: Elements it is for: a name or several; of dofs and positions, joints. None: all.
        column: Of a field with several numbers an element, which; None: all.
        together: One number for all that is chosen in a world, instead of one each.
    """

    field: str
    low: Any
    high: Any
    distribution: str = "uniform"
    operation: str = "scale"
    when: str = "startup"
    names: str | Sequence[str] | None = None
    column: int | None = None
    together: bool = False

    def __post_init__(self) -> None:
        for name, known in (("distribution", DISTRIBUTIONS), ("operation", OPERATIONS), ("when", MOMENTS)):
            given = getattr(self, name)
            if given not in known:
                hint = did_you_mean(str(given), known)
                raise BuildError(f"Variation of {self.field}: {name}={given!r}: expected {' or '.join(known)}{hint}")
        if np.any(np.asarray(self.low) > np.asarray(self.high)):
            raise BuildError(f"Variation of {self.field}: low={self.low} is above high={self.high}")
        if self.distribution == "log_uniform" and np.any(np.asarray(self.low) <= 0):
            raise BuildError(f"Variation of {self.field}: low={self.low}: log_uniform wants positive bounds")


def variations(ranges: Mapping[str, Any] | Sequence[Variation], worlds: Worlds) -> list[Varying]:
    """What a task or a user gives as ranges, for these worlds."""
    given: list[Variation] = []
    if isinstance(ranges, Mapping):
        given = [v if isinstance(v, Variation) else Variation(name, *v) for name, v in ranges.items()]
    else:
        for entry in ranges:
            if not isinstance(entry, Variation):
                raise BuildError(f"ranges: expected Variations or a dictionary name -> (low, high), got {entry!r}")
            given.append(entry)
    return [Varying(entry, worlds) for entry in given]


class Varying:
    """A variation in the worlds of an environment.

    Args:
        variation: What varies.
        worlds: Where.
    """

    def __init__(self, variation: Variation, worlds: Worlds):
        self.variation, self.worlds = variation, worlds
        name, engine = variation.field, worlds.sim.engine
        self.is_state = name in STATE
        if not self.is_state and not engine.is_parameter(name):
            known = [*STATE, *(known for known in engine.parameters if engine.is_parameter(known))]
            raise UnknownKey(f"{name!r} is no part of the state, and no parameter that may differ per world"
                             f"{did_you_mean(name, known)}")  # fmt: skip
        self.at_reset = variation.when == "reset"
        if self.is_state and not self.at_reset:
            raise BuildError(f"{name} is part of the state, which every episode sets: give when='reset'")
        if self.at_reset and not self.is_state and (name not in INDEPENDENT or name == "timestep"):
            raise BuildError(
                f"{name} cannot be drawn at every reset: other numbers of the model follow from it, which the host "
                "computes. Give when='startup', or vary one of " + ", ".join(sorted(INDEPENDENT))
            )
        self.shape = engine.shape(name)[1:]
        self.chosen = self._chosen()
        self.count = 1 if variation.together else int(self.chosen.sum())
        if not self.chosen.any():
            raise BuildError(f"{name}: the model has none of it to vary")
        if not self.is_state:
            worlds.sim.expand(name)
            self.nominal = np.asarray(engine.built(name), np.float32).reshape(self.shape)
        self._device: tuple[Any, Any, Any] | None = None

    def _chosen(self) -> np.ndarray:
        """Which numbers of one world's field are varied."""
        v, m = self.variation, self.worlds.model
        chosen = np.ones(self.shape, bool)
        if v.names is not None:
            field = data_fields().get(v.field) or model_fields()[v.field]
            size = str(field.shape[0]) if field.shape else ""
            if size not in OWNER:
                raise BuildError(f"{v.field}: its numbers belong to no named elements; leave names out")
            ids = ids_of(m, OWNER[size], v.names)[0]
            if size in ("nv", "nq"):
                ids = _of_joints(m, size, ids)
            chosen[:] = False
            chosen[ids] = True
        if v.column is not None:
            if len(self.shape) < 2 or not 0 <= v.column < self.shape[-1]:
                raise BuildError(f"{v.field} of shape {self.shape}: there is no column {v.column}")
            kept = np.zeros(self.shape, bool)
            kept[..., v.column] = True
            chosen &= kept
        return chosen

    def _drawn(self, draws: Any, xp: Any, low: Any, high: Any) -> Any:
        """What is drawn in every world, (worlds, count); bounds belong to the library of the draws."""
        kind = self.variation.distribution
        if kind == "normal":
            return xp.clip(draws.normal((low + high) / 2, (high - low) / 4, self.count), low, high)
        if kind == "log_uniform":
            return xp.exp(draws.uniform(xp.log(low), xp.log(high), self.count))
        return draws.uniform(low, high, self.count)

    def _applied(self, value: Any, drawn: Any, chosen: Any) -> Any:
        """A flat field with what was drawn: value (..., n), drawn (worlds, count), indices of what is chosen."""
        kind = self.variation.operation
        picked = value[..., chosen]
        return picked * drawn if kind == "scale" else picked + drawn if kind == "add" else 0 * picked + drawn

    def startup(self, draws: Any) -> dict[str, np.ndarray]:
        """A parameter in all worlds, as the host writes it; none where it is part of the state.

        What is drawn at every reset is drawn here as well, so that the step is made for it.
        """
        if self.is_state:
            return {}
        name, index = self.variation.field, np.flatnonzero(self.chosen.ravel())
        values = np.broadcast_to(self.nominal.reshape(1, -1), (self.worlds.count, self.nominal.size)).copy()
        bounds = (np.asarray(x, np.float32) for x in (self.variation.low, self.variation.high))
        values[:, index] = self._applied(values, self._drawn(draws, np, *bounds), index)
        return {name: values.reshape(-1, *self.shape)}

    def begin(self, draws: Any, mask: Any) -> None:
        """Write what is drawn for the worlds that begin an episode."""
        if not self.at_reset:
            return
        worlds, name = self.worlds, self.variation.field
        if self._device is None:  # constants of the library, made once
            index = worlds.array(np.flatnonzero(self.chosen.ravel()), "int64")
            bounds = [worlds.array(np.asarray(x, np.float32)) for x in (self.variation.low, self.variation.high)]
            self._device = index, bounds, None if self.is_state else worlds.array(self.nominal.reshape(1, -1))
        index, bounds, nominal = self._device
        target = getattr(worlds, name)
        new = target.reshape(worlds.count, -1) + 0  # of state: the start that the task gave
        drawn = self._drawn(draws, worlds.xp, *bounds)
        new[:, index] = self._applied(new if nominal is None else nominal, drawn, index)
        worlds.write({name: new.reshape(target.shape)}, mask)
        if not self.is_state:
            worlds.sim.engine.follow_on_device(name)


def _of_joints(m: Any, size: str, joints: Sequence[int]) -> list[int]:
    """Dofs, or positions, of joints."""
    start = np.asarray(m.jnt_dofadr if size == "nv" else m.jnt_qposadr)
    end = np.append(start[1:], m.nv if size == "nv" else m.nq)
    return [i for j in joints for i in range(int(start[j]), int(end[j]))]

