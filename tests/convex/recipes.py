"""The recipes of CUDA for models of the corpus, and what tells their kernels and phases apart."""

from __future__ import annotations

import mujoco
import warp as wp

from kinema.collide.build import PRIMITIVES, Build
from kinema.convex import step
from kinema.convex.collision import detect, detects
from kinema.convex.extension import extension_of
from kinema.convex.schedule import phases, plan
from kinema.convex.stage import WARP_LANES, Stage
from kinema.errors import KinemaError
from tests.conformance.models import corpus

Kernel = tuple[Stage, ...]


def recipe_of(m: mujoco.MjModel) -> list[Stage]:
    """The recipe of a step on CUDA; detection, which has kernels of its own, stands for any other detection."""
    collision = [Stage(detect(Build(PRIMITIVES, 0, 0, 0, False)), alone=True, aside=True)] if detects(m) else []
    return step.step(m, collision, extension_of(m, wp.get_device("cpu"), 1), cuda=True)


def kernels_of(m: mujoco.MjModel) -> list[Kernel]:
    """The stages of each kernel that stages become: cohorts and stages of lanes."""
    groups = [run.stages for run in plan(recipe_of(m))]
    return [group for group in groups if group[0].lanes or shares(group[0])]


def shares(stage: Stage) -> bool:
    """Is it a stage of a kernel whose warps share out items?"""
    return stage.is_cohort and not stage.aside


def cohorts(m: mujoco.MjModel) -> list[list[tuple[Stage, ...]]]:
    """The phases of each kernel whose warps share out items."""
    return [phases(group) for group in kernels_of(m) if not group[0].lanes]


def distinct(m: mujoco.MjModel) -> set[tuple]:
    """What tells the phases of a recipe from those of others: functions, what they run over, and who follows."""
    return {
        tuple((stage.func, stage.over, stage.sweep, stage.follows) for stage in phase)
        for kernel in cohorts(m) for phase in kernel
    }  # fmt: skip


def code(kernel: Kernel) -> set[str]:
    """The functions a kernel is made of, and for whom: native ones for one warp, or for any size; stages of teams."""
    found = set()
    for stage in kernel:
        native = stage.func.native_snippet
        size = "" if native is None else " of any size" if "#define KN_COLUMNS 0" in native else " small"
        if stage.threads > WARP_LANES:
            size = " of a team" + " in islands" * ("#define KN_SPLIT 1" in (native or ""))
        found |= {part + size for part in stage.func.key.split("_then_")}
    return found


def recipes_of_corpus() -> list[tuple[str, mujoco.MjModel]]:
    """The models of the corpus that the engine takes, smallest first."""
    found = []
    for file in corpus():
        m = file.load()
        try:
            if not m.nflex and recipe_of(m):
                found.append((file.name, m))
        except KinemaError:  # what the engine refuses by name
            continue
    return sorted(found, key=lambda entry: (entry[1].nv, entry[0]))
