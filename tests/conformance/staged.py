"""An engine whose stages are kernels of their own: the same physics, compiled once for all models.

The engine's one kernel a recipe is fast to run and slow to compile, and nearly every model of the corpus has a recipe
of its own. Stages are few; those that are made to measure (detection, the solver) are taken in a common size.

`OrderedEngine` runs CUDA's recipe on the CPU with these kernels, phase by phase, in an order of threads that CUDA may
choose: forwards, or backwards.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import warp as wp

from kinema.collide.build import CONVEX, HFIELD, PRIMITIVES, Build
from kinema.collide.table import uses_native
from kinema.convex.collision import detect
from kinema.convex.constraint import contact, friction, limit
from kinema.convex.counts import AWAKE_COUNTS, AWAKE_ITEMS, COUNTS
from kinema.convex.data import Data
from kinema.convex.engine import Engine
from kinema.convex.flex.contact import detect_flexes
from kinema.convex.flex.pairs import kinds
from kinema.convex.idle import touched
from kinema.convex.metric_pattern import is_discrete
from kinema.convex.model import Model
from kinema.convex.schedule import Run, chains, phases, plan
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.solve import dense
from kinema.convex.solve.groups import LARGE
from kinema.convex.solve.primal import newton
from kinema.convex.stage import PARTS, WARP_LANES, Stage, due, if_awake
from kinema.mujoco_enums import Geom

END = 1 << 30
FLEX_GEOMS = (Geom.PLANE, Geom.SPHERE, Geom.CAPSULE, Geom.ELLIPSOID, Geom.CYLINDER, Geom.BOX, Geom.MESH)
ONE_LANE = {
    contact.contact_columns_in_lanes(1): contact.contact_columns,
    contact.contact_columns_in_lanes(2): contact.contact_columns,
    friction.friction_columns_in_lanes: friction.friction_columns,
    limit.limit_columns_in_lanes: limit.limit_columns,
}
"""Stages that need a lane for each dof, which the CPU has not, and those that do the same for any number of lanes."""


@cache
def stage_kernel(
    func: wp.Function, over: str | None, is_sweep: bool, lanes: bool, awake: bool = False
) -> wp.Kernel:
    """One thread a world runs a stage over the items from `begin` to `end`, every `step`-th, backwards if asked to.

    Items of a sweep are bodies, level by level. With `awake`, only those that do not sleep. What a kind of stage has
    not is a function all the same: Warp generates a kernel a second time where something static has no value.
    """
    listed = awake and not is_sweep
    count_items = (AWAKE_COUNTS if listed else COUNTS)[over or "nbody"] if over or is_sweep else func
    item = AWAKE_ITEMS[over] if listed else func
    run_item = if_awake(func) if awake and is_sweep else func

    @wp.kernel(enable_backward=False, module="unique", module_options={"max_unroll": 128})
    def run(
        m: Model, d: Data, advancing: int, advances: int, once: int, begin: int, end: int, step: int, backward: int
    ):
        w = wp.tid()
        if due(d.state.status[w], d.scratch.substep[w], advancing, advances != 0, once != 0):
            if wp.static(lanes):
                wp.static(func)(m, d, w, 0)
            elif wp.static(over is None and not is_sweep):
                wp.static(func)(m, d, w)
            else:
                count = wp.min(end, wp.static(count_items)(m, d, w))
                number = (count - begin + step - 1) / step
                for k in range(number):
                    i = begin + step * wp.where(backward != 0, number - 1 - k, k)
                    if wp.static(is_sweep):
                        i = m.tree.levelbody[i]
                    if wp.static(listed):
                        i = wp.static(item)(d, w, i)
                    wp.static(run_item)(m, d, w, i)

    return run


@wp.func
def nothing(m: Model, d: Data, w: int, lane: int):
    """What the CPU does in a stage that shares out work on CUDA."""


class StagedEngine(Engine):
    """Runs one kernel a stage on the CPU."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._wake(touched([Stage(newton(), lanes=True)]))  # also where CUDA would have no use for its scratch

    def _launch_worlds(self, key: object, stages: tuple[Stage, ...], count: int, advancing: bool) -> None:
        if (key, advancing) not in self._commands:
            self._commands[key, advancing] = [
                self.command(stage, advancing, 0, END, 1, stage.sweep == "up")
                for stage in stages if advancing or not stage.advances
            ]  # fmt: skip
        for _ in range(count):
            for command in self._commands[key, advancing]:
                command.launch()

    def command(self, stage: Stage, advancing: bool, begin: int, end: int, step: int, backward: bool) -> wp.Launch:
        """The launch of a stage over some of its items."""
        common = self._common(stage)
        kernel = stage_kernel(common.func, common.over, common.sweep is not None, common.lanes, common.awake)
        chosen = map(int, (advancing, stage.advances, stage.once, begin, end, step, backward))
        return wp.launch(
            kernel, dim=self.nworld, inputs=[self.m, self.d, *chosen], device=self.device, record_cmd=True
        )

    def _common(self, stage: Stage) -> Stage:
        """A stage that does the same for more models."""
        kind = stage.func.key.split("__")[-1] if stage.func else ""
        if kind in ("find_islands", "newton"):  # where CUDA shares out the work, the first of its stages does it all
            first = next(s for s in self.recipes["step"] if s.func and s.func.key.split("__")[-1] == kind)
            whole = kind == "newton" and stage.func is first.func
            return replace(stage, func=newton(discrete=is_discrete(self.source)) if whole else nothing)
        if stage.func in ONE_LANE:
            return replace(stage, func=ONE_LANE[stage.func])
        blocks = dense.blocks_of(self.source) if stage.lanes else None
        if blocks:
            for make in (dense._smooth, dense._shifted, dense._implicit, dense._discrete, dense._noslip):
                if stage.func is make(blocks):
                    return replace(stage, func=make(dense.Blocks(LARGE, 1, blocks.sleeps)))
        if kind == "detect_flex_contacts" and not stage.threads > WARP_LANES:
            return replace(stage, func=common_flex_detection(self.source, fresh=not self.collider.stages))
        if stage in self.collider.stages:
            return replace(stage, func=detect(common_build(self.collider.detector.build)))
        return stage


class OrderedEngine(StagedEngine):
    """Runs the recipe of CUDA on the CPU, phase by phase, in a chosen order of threads.

    Threads of a block that have not met may be at any place of their phase, so each chain of stages and each part of
    the items may come before any other: forwards, or all backwards, both are legal and must give the same bits.

    Args:
        backward: Take the chains of a phase and their items in reverse.
        groups: Phases of each kernel; None: those of the scheduler. To try what happens without a barrier.
    """

    def __init__(self, *args, backward: bool = False, groups=phases, **kwargs):
        super().__init__(*args, cuda=True, **kwargs)
        self.backward, self.groups = backward, groups
        levels = self.array("tree_leveladr").numpy().tolist()
        self._plans: dict = {}
        self.levels = list(zip(levels[:-1], levels[1:], strict=True))

    def _run(self, name: str, count: int, advancing: bool) -> None:
        for k in range(count):
            stages = self._due(name, advancing, k % self.substeps == 0, k % self.substeps == self.substeps - 1)
            if stages not in self._plans:
                planned = plan(stages)
                self._plans[stages] = [(run, self.groups(run.stages) if self._shares(run) else []) for run in planned]
            for run, phases_of_run in self._plans[stages]:
                first = run.stages[0]
                if first.launch:
                    first.launch(self.m, self.d)
                elif first.lanes or first in self.collider.stages:
                    for stage in run.stages:
                        self._launch(stage, advancing, 0, END, 1)
                else:
                    for phase in phases_of_run:
                        self._phase(phase, advancing)

    def _launch(self, stage: Stage, advancing: bool, *items: int) -> None:
        key = (stage, advancing, *items)
        if key not in self._commands:
            self._commands[key] = self.command(stage, advancing, *items, self.backward)
        self._commands[key].launch()

    def _shares(self, run: Run) -> bool:
        """Is it a kernel whose warps share out the items of worlds?"""
        return run.stages[0].is_cohort and run.stages[0] not in self.collider.stages

    def _phase(self, phase: tuple[Stage, ...], advancing: bool) -> None:
        ranges = [(0, END)]
        if phase[0].sweep:
            ranges = self.levels if phase[0].sweep == "down" else self.levels[::-1]
        grouped = chains(phase)
        for begin, end in ranges:
            for chain in grouped[::-1] if self.backward else grouped:
                if len(chain) == 1:
                    self._launch(chain[0], advancing, begin, end, 1)
                    continue
                parts = range(PARTS[0])
                for part in parts[::-1] if self.backward else parts:
                    for stage in chain:
                        if stage.over or stage.sweep or part == 0:
                            self._launch(stage, advancing, begin + part, end, PARTS[0])


def common_flex_detection(m, fresh: bool) -> wp.Function:
    """Detection of contacts of flexes of any dim with any geom; with height fields where the model has one."""
    found = kinds(m)
    several = {(int(geom), dim) for geom in FLEX_GEOMS for dim in (1, 2, 3)} | {(-1, dim) for dim in (1, 2, 3)}
    several |= found
    capacity = 36 if m.opt.ccd_iterations <= 36 else max(64, 1 << (int(m.opt.ccd_iterations) - 1).bit_length())
    return detect_flexes(
        frozenset(several), capacity, fresh, few=True, sleeps=sleeps(m), portal=not uses_native(m)
    )


def common_build(build: Build) -> Build:
    """Detection for all pair functions of a kind, with room for most meshes."""
    if not build.mask & ~PRIMITIVES and not build.ahead:
        return Build(PRIMITIVES, 0, 0, 0, build.sweep, sleeps=build.sleeps)
    mask = build.mask | PRIMITIVES | CONVEX | (HFIELD if build.mask & HFIELD else 0)
    return build._replace(mask=mask, polygon=max(build.polygon, 128), degree=max(build.degree, 32))


def ends_in_any_order(m: Any, steps: int = 10) -> list[np.ndarray]:
    """Where two worlds are after some steps: by the CPU's recipe, and by that of CUDA with threads in both orders."""
    found = []
    for make in (StagedEngine, OrderedEngine, partial(OrderedEngine, backward=True)):
        engine = make(m, 2, device="cpu")
        engine.step(steps)
        found.append(engine.read("qpos").copy())
    return found
