"""Numbers of the model that follow from others by a dynamics pass at qpos0, computed again where those changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinema.model.mujoco_fields import model_fields

if TYPE_CHECKING:
    from kinema.simulation.simulation import Simulation

DERIVED = (
    "body_subtreemass", "dof_M0", "tendon_length0", "actuator_length0", "body_invweight0", "dof_invweight0",
    "tendon_invweight0", "actuator_acc0", "cam_pos0", "cam_poscom0", "cam_mat0", "light_pos0", "light_poscom0",
    "light_dir0",
)  # fmt: skip
"""Parameters that follow from others by a dynamics pass at qpos0."""


def recompute(sim: Simulation) -> None:
    """Compute the derived parameters again, world by world where worlds differ."""
    from kinema.compile.constants import derived_constants  # imported on use: few runs need it

    expanded = sim.engine.layout.expanded
    alike = not expanded
    worlds = [derived_constants(_Numbers(sim, w)) for w in range(1 if alike else sim.worlds)]
    for name in DERIVED:
        if not sim.engine.is_parameter(name) or np.size(worlds[0][name]) == 0:
            continue
        values = np.stack([found[name] for found in worlds])
        if alike or (np.ptp(values, axis=0).max() == 0 and name not in expanded):
            sim.engine.set_parameter(name, values[0])
        else:
            sim.engine.expand(name)
            sim.engine.set_parameter(name, values)


class _Numbers:
    """One world's model as the host sees it: the device's parameters over the source's fields, in float64."""

    def __init__(self, sim: Simulation, world: int):
        self._sim, self._world = sim, world
        names = [n for n, field in model_fields().items() if field.group == "option" and hasattr(sim.model.opt, n)]
        self.opt = SimpleNamespace(**{name: self._value(name, sim.model.opt) for name in names})

    def _value(self, name: str, owner) -> Any:
        source = getattr(owner, name)
        engine = self._sim.engine
        if name not in engine.layout.parameters:
            return source
        values = engine.read(name)[self._world]
        exact = np.asarray(source, dtype=float)
        return np.where(values == exact.astype(np.float32), exact, values)  # untouched ones keep their float64

    def __getattr__(self, name: str) -> Any:
        return self._value(name, self._sim.model)
