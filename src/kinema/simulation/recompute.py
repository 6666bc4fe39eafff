"""Numbers of the model that follow from others by a dynamics pass at qpos0, computed again where those changed.

Worlds that differ in masses and inertias only are computed all at once; where anything else differs, each kind of world
on its own.
"""

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

EDGES = {"flexedge_length0": 0, "flexedge_invweight0": 1}
"""Those of edges of flexes: columns of the engine's list `flex_edgenumber`."""

MOVED = 1e-6
"""Relative change of an edge's length that is no rounding."""

INDEPENDENT = frozenset(
    "gravity wind magnetic density viscosity timestep impratio tolerance ls_tolerance noslip_tolerance meaninertia "
    "dof_damping dof_frictionloss dof_solref dof_solimp jnt_stiffness jnt_range jnt_margin jnt_solref jnt_solimp "
    "jnt_actfrcrange geom_friction geom_solref geom_solimp geom_solmix geom_margin geom_gap geom_fluid qpos_spring "
    "actuator_gainprm actuator_biasprm actuator_dynprm actuator_ctrlrange actuator_forcerange actuator_actrange "
    "tendon_damping tendon_stiffness tendon_frictionloss tendon_range tendon_margin eq_solref eq_solimp "
    "body_gravcomp plugin_value".split()
)
"""Parameters that nothing of DERIVED follows from."""


def recompute(sim: Simulation) -> None:
    """Compute the derived parameters again, world by world where worlds differ."""
    from kinema.compile.constants import derived_constants  # imported on use: few runs need it
    from kinema.compile.constants.inertial import INERTIAL, inertial_constants

    engine = sim.engine
    differ = sorted(set(engine.expanded) & set(engine.parameters) - INDEPENDENT - set(DERIVED))
    kinds, of = _kinds(sim, differ)
    known = derived_constants(_Numbers(sim, kinds[0]))
    has_edges = "flex_edgenumber" in engine.parameters and bool(np.size(sim.model.flexedge_length0))
    names = (*DERIVED, *EDGES) if has_edges else DERIVED
    found = {name: np.asarray(known[name])[None] for name in names}
    if len(kinds) > 1 and set(differ) <= set(INERTIAL) and not has_edges:
        base = _Numbers(sim, kinds[0])
        found |= inertial_constants(base, {name: _Numbers.rows(sim, name)[kinds] for name in differ})
    elif len(kinds) > 1:
        others = [derived_constants(_Numbers(sim, world)) for world in kinds[1:]]
        found = {name: np.stack([known[name], *(other[name] for other in others)]) for name in names}
    if has_edges:
        found["flex_edgenumber"] = _edges(sim, {name: found.pop(name) for name in EDGES}, kinds)
    for name, values in found.items():
        if not engine.is_parameter(name) or values.size == 0:
            continue
        if name not in engine.expanded:
            if len(values) == 1 or np.ptp(values, axis=0).max() == 0:
                engine.set_parameter(name, values[0])
                continue
            engine.expand(name)
        engine.set_parameter(name, values[of] if len(values) > 1 else values[0])


def _edges(sim: Simulation, found: dict[str, np.ndarray], kinds: list[int]) -> np.ndarray:
    """Numbers of the edges of flexes in a world of each kind.

    Rest lengths of edges that are as far apart at qpos0 as they were when the model was compiled stay as they are: soft
    bodies of a Model have rest shapes of their own.
    """
    from kinema.compile.constants import derived_constants

    numbers = np.array(sim.engine.read("flex_edgenumber"), dtype=float)[kinds]
    compiled = np.asarray(derived_constants(sim.model)["flexedge_length0"])
    moved = np.abs(found["flexedge_length0"] - compiled) > MOVED * np.abs(compiled)
    length = EDGES["flexedge_length0"]
    numbers[..., length] = np.where(moved, found["flexedge_length0"], numbers[..., length])
    numbers[..., EDGES["flexedge_invweight0"]] = found["flexedge_invweight0"]
    return numbers


def _kinds(sim: Simulation, names: list[str]) -> tuple[list[int], np.ndarray]:
    """A world of each kind that the parameters tell apart, and which kind each world is of."""
    rows = [np.asarray(sim.engine.read(name)).reshape(sim.worlds, -1) for name in names]
    if not rows:
        return [0], np.zeros(sim.worlds, int)
    _, first, of = np.unique(np.concatenate(rows, axis=1), axis=0, return_index=True, return_inverse=True)
    return first.tolist(), of.reshape(-1)


class _Numbers:
    """One world's model as the host sees it: the device's parameters over the source's fields, in float64."""

    def __init__(self, sim: Simulation, world: int):
        self._sim, self._world = sim, world
        names = [n for n, field in model_fields().items() if field.group == "option" and hasattr(sim.model.opt, n)]
        self.opt = SimpleNamespace(**{name: self._value(name, sim.model.opt) for name in names})

    @staticmethod
    def rows(sim: Simulation, name: str) -> np.ndarray:
        """A parameter in all worlds; numbers that nobody touched keep their float64."""
        values = np.asarray(sim.engine.read(name))
        exact = np.asarray(getattr(sim.model, name), dtype=float)
        return np.where(values == exact.astype(np.float32), exact, values)

    def _value(self, name: str, owner) -> Any:
        source = getattr(owner, name)
        engine = self._sim.engine
        if name not in engine.parameters:
            return source
        values = engine.read(name)[self._world]
        exact = np.asarray(source, dtype=float)
        return np.where(values == exact.astype(np.float32), exact, values)  # untouched ones keep their float64

    def __getattr__(self, name: str) -> Any:
        return self._value(name, self._sim.model)
