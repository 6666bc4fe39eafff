"""Which number of a model is looked for: a field of mjModel, an element by name, and an index into its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.compile.host_model import KINDS
from kinema.errors import BuildError, UnknownKey, did_you_mean
from kinema.simulation import Simulation
from kinema.simulation.named import PREFIXES, ids_of

OWNERS = {prefix.rstrip("_"): kind for kind in KINDS for prefix in PREFIXES.get(kind, (f"{kind}_",))}
"""Prefixes of mjModel's fields, and the kind of element that has these fields."""

POSITIVE = {"body_mass", "body_inertia"}
"""What a mechanism cannot have none of: kept above a thousandth of where it starts."""

SIGNED = {
    "gravity", "wind", "magnetic", "actuator_gainprm", "actuator_biasprm", "actuator_gear", "body_pos", "body_ipos",
    "jnt_pos", "jnt_axis", "geom_pos", "site_pos", "qpos0", "qpos_spring", "jnt_range", "eq_data",
}  # fmt: skip
"""What may be below zero; other numbers may not."""


@dataclass(frozen=True)
class Parameter:
    """A number of the model that is to be found.

    Attributes:
        field: mjModel's name for it: body_mass, dof_damping, dof_frictionloss, geom_friction, actuator_gainprm, …
        which: Name or id of the element; for fields of dofs that of the joint. None: the field has no elements, such as
            gravity.
        index: Which of its numbers: of friction 0 is sliding, of a ball joint's damping its dof, …
        start: Where to begin; None: what the model says.
        bounds: Lowest and highest value; None: above zero, or any for fields that may be below zero.
        scale: How large a change of it is a typical one; None: its start.
        ties: Fields of the same element that grow in the same proportion: ("body_inertia",) with a mass.
    """

    field: str
    which: int | str | None = None
    index: int | tuple[int, ...] = 0
    start: float | None = None
    bounds: tuple[float, float] | None = None
    scale: float | None = None
    ties: Sequence[str] = ()

    @property
    def name(self) -> str:
        """How it is called in tables and messages."""
        index = "" if self.index in (0, ()) else f", {self.index}"
        return f"{self.field}[{self.which}{index}]" if self.which is not None else f"{self.field}[{self.index}]"


class Placed:
    """A parameter in the arrays of a simulation.

    Args:
        sim: The simulation.
        parameter: The parameter.
    """

    def __init__(self, sim: Simulation, parameter: Parameter):
        self.parameter, engine = parameter, sim.engine
        field = parameter.field
        if not engine.is_parameter(field):
            known = [name for name in engine.parameters if engine.is_parameter(name)]
            raise UnknownKey(f"{field!r} is no parameter that may differ per world{did_you_mean(field, known)}")
        self.at = self._place(sim, field)
        now = float(engine.read(field)[(0, *self.at)])
        self.ties = [(tie, self._rows(sim, tie)) for tie in parameter.ties]
        self.before = now
        self.start = now if parameter.start is None else float(parameter.start)
        self.low, self.high = self._bounds()
        if not self.low <= self.start <= self.high:
            raise BuildError(f"{parameter.name}: it starts at {self.start:g}, outside of {self.low:g} to {self.high:g}")
        finite = [abs(bound) for bound in (self.low, self.high) if np.isfinite(bound)]
        self.scale = float(parameter.scale or abs(self.start) or max([0.0, *finite]) or 1.0)
        if self.ties and self.before == 0:
            raise BuildError(f"{parameter.name} is 0 in the model: what is tied to it cannot grow in proportion")

    def _rows(self, sim: Simulation, field: str) -> tuple[int, ...]:
        """Where the numbers of its element are in a field."""
        prefix, which = field.partition("_")[0], self.parameter.which
        if not sim.engine.is_parameter(field):
            known = [name for name in sim.engine.parameters if sim.engine.is_parameter(name)]
            raise UnknownKey(f"{field!r} is no parameter that may differ per world{did_you_mean(field, known)}")
        if which is None or prefix not in OWNERS:
            return ()
        number = ids_of(sim.model, OWNERS[prefix], which)[0][0]
        return (int(sim.model.jnt_dofadr[number]),) if prefix == "dof" else (number,)

    def _place(self, sim: Simulation, field: str) -> tuple[int, ...]:
        """Where the number is in its field."""
        rows, shape = self._rows(sim, field), sim.engine.shape(field)[1:]
        index = self.parameter.index if isinstance(self.parameter.index, tuple) else (self.parameter.index,)
        if field.startswith("dof_") and rows:
            own = np.count_nonzero(np.asarray(sim.model.dof_jntid) == sim.model.dof_jntid[rows[0]])
            if not 0 <= index[0] < own:
                raise BuildError(f"{self.parameter.name}: the joint has {own} dofs, index 0 to {own - 1}")
            rows, index = (rows[0] + index[0],), index[1:]
        if not rows and self.parameter.which is not None:
            raise BuildError(f"{field} has no elements with names: give an index only")
        if not rows and field.partition("_")[0] in OWNERS and shape:
            raise BuildError(f"{field}: say which {OWNERS[field.partition('_')[0]]}, by name or id")
        at = (*rows, *index)[: len(shape)]
        if len(at) < len(shape) or any(not 0 <= k < n for k, n in zip(at, shape, strict=True)):
            raise BuildError(f"{self.parameter.name}: there is no such number in {field}, which is {shape}")
        return tuple(int(k) for k in at)

    def _bounds(self) -> tuple[float, float]:
        given, field = self.parameter.bounds, self.parameter.field
        if given is not None:
            return float(given[0]), float(given[1])
        if field in POSITIVE:
            return 1e-3 * abs(self.start), np.inf
        return (-np.inf if field in SIGNED else 0.0), np.inf

    def put(self, fields: dict[str, np.ndarray], worlds: Any, value: Any) -> None:
        """Write values of some worlds into arrays of its fields, [world, ...], which hold what the model says."""
        fields[self.parameter.field][(worlds, *self.at)] = value
        for field, rows in self.ties:
            index = (worlds, *rows)
            part = fields[field][index]
            factor = np.asarray(value) / self.before
            fields[field][index] = part * factor.reshape(factor.shape + (1,) * (part.ndim - factor.ndim))

    @property
    def fields(self) -> set[str]:
        """Fields it writes."""
        return {self.parameter.field, *(field for field, _ in self.ties)}
