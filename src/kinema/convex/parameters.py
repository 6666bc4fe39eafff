"""Numbers of the model while it runs: written for all worlds alike, or world by world once they are expanded.

A write is followed by everything that was decided from the number (present.py knows who has read it):

    collision   pairs mix their parameters again, bounds follow sizes, or detection is made anew
    initial     the state worlds are reset to is computed again
    recipe      stages and sizes are decided again; where that gives stages the step does not have, it is built anew

A stage over numbers that are all 0 does nothing, so what a number woke stays; what a switch turns off goes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from kinema.convex import coupling, support
from kinema.convex.layout import ALIASES, Layout
from kinema.convex.present import RECIPE
from kinema.convex.sleep.rings import AWAKE
from kinema.convex.stage import Stage
from kinema.convex.step import substeps
from kinema.errors import BuildError, KernelsRebuilt, UnknownKey, did_you_mean, warn_caller
from kinema.model.mujoco_fields import data_fields, model_fields
from kinema.mujoco_enums import Enable

if TYPE_CHECKING:
    from kinema.convex.engine import Engine

FIXED = {"geom_rbound": "it follows from geom_size"}
"""Parameters that may not be changed, and why."""


CARRIES = {"body_pos", "body_quat", "jnt_pos", "jnt_axis", "qpos0"}
"""Parameters that move bodies: a write wakes what sleeps (sleep/)."""


def is_parameter(layout: Layout, name: str) -> bool:
    """Is this a number of the model that may be changed, and may differ per world?"""
    return name in layout.parameters and name not in FIXED and name not in ALIASES


def check_parameter(layout: Layout, name: str) -> None:
    """Raise, saying why, where a number may not be changed."""
    if is_parameter(layout, name):
        return
    if name in FIXED:
        raise UnknownKey(f"{name} cannot be written: {FIXED[name]}")
    known = [known for known in layout.parameters if is_parameter(layout, known)]
    raise UnknownKey(f"{name!r} is no parameter that can be written while running{did_you_mean(name, known)}")


def check_held(layout: Layout, name: str) -> None:
    """Raise, saying why, where no array has this name."""
    if name in layout.arrays:
        return
    if name in model_fields():
        raise UnknownKey(f"{name} is not held on the device: no kernel reads it, or kernels were built for what it "
                         "says. sim.m shows it; change it in the document")  # fmt: skip
    if name in data_fields():
        raise UnknownKey(f"{name} is not held on the device: nothing here computes it")
    raise UnknownKey(f"there is no array {name!r}{did_you_mean(name, layout.arrays)}")


def check_written(layout: Layout, name: str) -> None:
    """Raise, saying why, where an array may not be written: worlds share what the model is made of."""
    check_held(layout, name)
    if layout.declared[name].kind in ("index", "shared") or name in FIXED:
        raise UnknownKey(f"{name} cannot be written: {FIXED.get(name, 'kernels were built for what it says')}. Change "
                         "the document and make a new simulation")  # fmt: skip


class Follower:
    """Lets an engine follow the numbers of its model that are written."""

    def __init__(self, engine: Engine):
        self.engine = engine

    def moved(self, name: str) -> None:
        """The array of a parameter is another one, with the same numbers."""
        self.engine.present.forget(name)
        if "collision" in self.engine.present.readers(name):
            self._collision(name)

    def switch(self, name: str, value: int) -> None:
        """Change a switch of mjOption, for all worlds; one that asks for what is not simulated stays as it was."""
        present, layout = self.engine.present, self.engine.layout
        known, told = dict(present.switches), dict(layout.switches)
        present.switches[name] = layout.switches[name] = int(value)
        try:
            support.check(present.to("support"))
        except BuildError:
            present.switches, layout.switches = known, told
            raise
        self.engine.remake()  # recorded launches and graphs hold the old value
        if name == "enableflags" and not int(value) & Enable.SLEEP:
            self.engine.write("tree_asleep", AWAKE)
        self.follow(name, exactly=True)

    def follow(self, name: str, *, exactly: bool = False) -> None:
        """Let everything that was decided from a parameter follow it; call it after writing to its array directly.

        With `exactly` also stages that are no longer wanted go.
        """
        engine = self.engine
        engine.present.forget(name)
        readers = engine.present.readers(name)
        if "initial" in readers:
            engine.forget_initial()
        if "collision" in readers:
            self._collision(name)
        if RECIPE in readers:
            self._recipe(name, exactly)
        if name in CARRIES:
            engine.write("tree_asleep", AWAKE)
        if not exactly:
            engine.layout.arrays["sleep_settled"].zero_()  # what sleeping trees have computed is of the old value

    def free(self, name: str) -> None:
        """Let recipes hold whatever number a parameter has: whoever takes derivatives along it asks for that."""
        present = self.engine.present
        if name not in present.free:
            present.free.add(name)
            if RECIPE in present.readers(name):
                self._recipe(name, exactly=False, why="a derivative by")

    def _collision(self, name: str) -> None:
        """Let collision detection follow a parameter of geoms."""
        engine = self.engine
        change = engine.collider.follow(name, engine.layout)
        if change == "anew":
            engine.rebuild()
            engine.recipes.update(engine.decide())
        elif change == "moved":
            engine.remake()

    def _recipe(self, name: str, exactly: bool, why: str = "writing") -> None:
        """Decide again on sizes and stages; build anew what differs."""
        engine, layout = self.engine, self.engine.layout
        have, sizes = layout.capacity, engine.sizes()
        for room in ("nconmax", "nefcmax", "nC", "nmetric", "nmetricfull"):  # what was grown stays
            sizes[room] = max(sizes[room], have[room])
        lists = engine.lists_of_numbers()
        columns = lists["dof_metric_colind"]
        lists["dof_metric_colind"] = np.pad(columns, (0, sizes["nmetric"] - len(columns)))
        full = lists["dof_metric_full"]
        lists["dof_metric_full"] = np.pad(full, ((0, sizes["nmetricfull"] - len(full)), (0, 0)))
        kept = coupling.FIELDS if len(lists["M_colind"]) < have["nC"] else ()
        lists = {n: v for n, v in lists.items() if n not in kept and not np.array_equal(v, layout.host(n))}
        layout.replace(lists)
        wanted = engine.decide()
        woken = {what: stages for what in wanted if (stages := missing(engine.recipes[what], wanted[what]))}
        fewer = exactly and any(missing(wanted[what], engine.recipes[what]) for what in wanted)
        if woken or fewer or any(sizes[symbol] > have.get(symbol, 0) for symbol in sizes):
            old = layout.resize({**have, **sizes})
            engine.rebuild()
            layout.carry(old)
            layout.arrays["qDeriv"].zero_()  # whoever writes its diagonal alone relies on it
            engine.recipes.update(engine.decide())
        elif lists:
            engine.remake()
        engine.substeps = substeps(engine.present.to(RECIPE))
        engine.guard.look()
        if woken:
            names = sorted({name for stages in woken.values() for name in stages})
            warn_caller(
                f"{why} {name} woke {', '.join(names)}, which the model had no use for when it was compiled: kernels "
                "are compiled anew. Give the model a value other than 0 from the start to have them at once",
                KernelsRebuilt,
            )


def missing(have: tuple[Stage, ...], wanted: tuple[Stage, ...]) -> list[str]:
    """Names of the stages that are wanted and not there."""
    lacking = Counter(stage.func or stage.launch for stage in wanted)
    lacking.subtract(stage.func or stage.launch for stage in have)
    return sorted({getattr(what, "key", "a kernel") for what, count in lacking.items() if count > 0})
