"""What is computed when somebody asks for it, as MuJoCo's own functions do, because few programs read it.

    loads       cacc, cfrc_ext, cfrc_int, contact_load        mj_rnePostConstraint
    momentum    subtree_linvel, subtree_angmom                mj_subtreeVel
    energy      energy                                        mj_energyPos, mj_energyVel
    sleep       tree_awake, body_awake and lists of it         mj_updateSleep

Reading one of these runs its recipe, once after every run of the engine, over what that run left: as in MuJoCo, state
that was written since is not followed until the next run. Whoever takes the array itself has it kept up to date by
every later run. Where the step computes it already, for a sensor or a plugin, that is what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from kinema.convex import energy, loads, velocity
from kinema.convex.access import access, written
from kinema.convex.sensors import load_stages
from kinema.convex.sleep import rings
from kinema.convex.stage import Stage

if TYPE_CHECKING:
    from kinema.convex.engine import Engine


def recipes(m: Any) -> dict[str, list[Stage]]:
    """The stages of each request, for a model."""
    found = {
        "loads": [Stage(loads.body_acceleration, sweep="down"), *load_stages(m)],
        "momentum": velocity.subtree_stages(),
        "energy": [Stage(energy.energy)],
        "sleep": [Stage(rings.take_stock)],
    }
    return {name: [Stage(s.func, over=s.over, sweep=s.sweep) for s in stages] for name, stages in found.items()}


@cache
def requested() -> Mapping[str, str]:
    """For every array that is computed on request, the recipe that does."""
    functions = {
        "loads": (loads.body_acceleration, loads.applied_loads, loads.contact_wrench, loads.joint_loads),
        "momentum": (velocity.subtree_linear, velocity.subtree_angular),
        "energy": (energy.energy,),
        "sleep": (rings.take_stock,),
    }
    return {name: recipe for recipe, funcs in functions.items() for func in funcs for name in access(func).writes}


class Requests:
    """Computes what is asked for, and remembers what is up to date.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self.kept: set[str] = set()  # recipes that run after every run
        self._fresh: set[str] = set()
        self._step: tuple[Stage, ...] | None = None  # the recipe of a step that the next two are of
        self._computed: frozenset[str] = frozenset()  # what it writes
        self._rest: dict[str, tuple[Stage, ...]] = {}  # stages of each request that it does not have

    def is_due(self, name: str) -> bool:
        """Whether reading an array takes a computation."""
        recipe = requested().get(name)
        return recipe is not None and recipe not in self._fresh and not self._in_step(name)

    def compute(self, name: str) -> None:
        """Bring an array up to date."""
        if self.is_due(name):
            self._run(requested()[name])

    def keep(self, name: str) -> None:
        """Bring an array up to date, now and after every run."""
        if name in requested() and not self._in_step(name):
            self.kept.add(requested()[name])
            self.compute(name)

    def run_done(self) -> None:
        """The engine has run: what was asked for is of the past."""
        self._fresh.clear()
        for recipe in sorted(self.kept):
            self._run(recipe)

    def _in_step(self, name: str) -> bool:
        step = self.engine.recipes["step"]
        if self._step is not step:
            self._step, self._computed = step, written(step)
            done = {stage.func for stage in step}
            wanted = recipes(self.engine.present.to("recipe")).items()
            self._rest = {recipe: tuple(s for s in stages if s.func not in done) for recipe, stages in wanted}
        return name in self._computed

    def _run(self, recipe: str) -> None:
        name = f"on request: {recipe}"
        self._in_step(name)  # the recipe of a step may be another one by now
        self.engine.recipes[name] = self._rest[recipe]
        self.engine._run(name, 1, advancing=True)
        self._fresh.add(recipe)
