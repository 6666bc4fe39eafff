"""An engine whose stages are kernels of their own: the same physics, compiled once for all models.

The engine's one kernel a recipe is fast to run and slow to compile, and nearly every model of the corpus has a recipe
of its own. Stages are few; those that are made to measure (detection, the solver) are taken in a common size.
"""

from __future__ import annotations

from dataclasses import replace

import warp as wp

from kinema.collide.detect import CONVEX, HFIELD, PRIMITIVES, Build
from kinema.convex.collision import detect
from kinema.convex.engine import Engine
from kinema.convex.solve.primal import SMALL, newton
from kinema.convex.stage import Stage, world_kernel


class StagedEngine(Engine):
    """Runs one kernel a stage on the CPU."""

    def _launch_worlds(self, key: object, stages: tuple[Stage, ...], count: int, advancing: bool) -> None:
        if key not in self._commands:
            inputs = [self.m, self.d, 0, 1, int(advancing)]
            self._commands[key] = [
                wp.launch(
                    world_kernel((self._common(stage),)), dim=self.nworld, inputs=inputs, device=self.device,
                    record_cmd=True,
                )
                for stage in stages
            ]  # fmt: skip
        commands = self._commands[key]
        for command in commands:
            command.set_param_at_index(4, int(advancing))
        for _ in range(count):
            for stage, command in zip(stages, commands, strict=True):
                if advancing or not stage.advances:
                    command.launch()

    def _common(self, stage: Stage) -> Stage:
        """A stage that does the same for more models."""
        if stage.func is newton(self.source.nv):
            return replace(stage, func=newton(SMALL + 1))
        if stage in self.collider.stages:
            return replace(stage, func=detect(common_build(self.collider.detector.build)))
        return stage


def common_build(build: Build) -> Build:
    """Detection for all pair functions of a kind, with room for most meshes."""
    if not build.mask & ~PRIMITIVES:
        return Build(PRIMITIVES, 0, 0, 0, build.sweep)
    mask = build.mask | PRIMITIVES | CONVEX | (HFIELD if build.mask & HFIELD else 0)
    return build._replace(mask=mask, polygon=max(build.polygon, 128), degree=max(build.degree, 32))
