"""When stages run on CUDA: which at the same time, which in one kernel, which on a second stream and who waits for it.

All of it follows from what stages touch (access.py). Two stages clash where one writes an array that the other reads or
writes, and then their order in the recipe must hold:

    phase   stages between two barriers of a block. Stages that do not clash share one; so do stages over the same items
            that clash only in what belongs to the item, since one thread does both for it (they follow each other)
    run     neighbouring stages that become one kernel
    aside   a run on the second stream. It starts after everything launched before it; the first run that clashes with
            it waits for it, whether it reads what is written there or writes what is still being read

A stage goes into the earliest phase of its kernel where it clashes with nothing that comes later.

Two claims are made by hand, where an index says less than one knows; running the phases in other orders of threads
checks them (tests/convex/test_orders.py). `own`: of these arrays a stage touches only what belongs to its item, such
as the dofs of a body. `apart`: of these arrays no two stages that say so touch the same element, such as rows of limits
and rows of friction.

Every stage reads whether its world is frozen, and most write something that a frozen world must keep; so a stage that
freezes worlds has a phase to itself, with others that only do the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from kinema.convex.access import ANYTHING

if TYPE_CHECKING:
    from kinema.convex.stage import Stage

STATUS, FROZEN, SUBSTEP = "status", "status.frozen", "substep"


# ---------------------------------------------------------------------------------------------- clashes


def clashes(first: Stage, second: Stage) -> frozenset[str]:
    """The arrays for whose sake two stages must run one after the other."""
    return _clashes(first, second)


@cache
def _clashes(first: Stage, second: Stage) -> frozenset[str]:
    a, b = first.access, second.access
    if a is ANYTHING or b is ANYTHING:
        return ANYTHING.writes
    names = (a.writes & b.writes) - {STATUS}  # bits are set in any order
    names |= (a.writes & b.reads) | (a.reads & b.writes)
    names -= set(first.apart) & set(second.apart)
    for one, other in ((first, second), (second, first)):
        if FROZEN in one.access.writes and other.access.writes - {STATUS, FROZEN}:
            names |= {FROZEN}
        if SUBSTEP in one.access.writes and other.once:
            names |= {SUBSTEP}
    if a.writes | b.writes <= {STATUS, FROZEN}:
        names -= {FROZEN}
    return frozenset(names)


def may_follow(first: Stage, second: Stage) -> bool:
    """May a thread do both for an item, one after the other, whatever other threads do for other items?"""
    if (first.over, first.sweep, first.awake) != (second.over, second.sweep, second.awake):
        return False
    names = clashes(first, second)
    if first.over is None and first.sweep is None:  # the world is the item
        return not names & {FROZEN, SUBSTEP}
    a, b = first.access, second.access
    mine, theirs = set(first.own), set(second.own)
    return all(
        (name not in a.writes & b.reads or name in (a.own_writes | mine) & (b.own_reads | theirs))
        and (name not in a.reads & b.writes or name in (a.own_reads | mine) & (b.own_writes | theirs))
        and (name not in a.writes & b.writes or name in (a.own_writes | mine) & (b.own_writes | theirs))
        and name not in (FROZEN, SUBSTEP)
        for name in names
    )


# ---------------------------------------------------------------------------------------------- phases


@dataclass
class _Phase:
    """Chains of stages; those of a chain follow each other item by item."""

    chains: list[list[Stage]]

    @property
    def sweep(self) -> str | None:
        return self.chains[0][0].sweep

    def clashing(self, stage: Stage) -> list[list[Stage]]:
        """The chains that a stage clashes with."""
        return [chain for chain in self.chains if any(clashes(member, stage) for member in chain)]

    def take(self, stage: Stage) -> bool:
        """Let a stage in, if it can run at the same time or follow; chains that it joins become one."""
        if stage.sweep != self.sweep:
            return False
        joined = self.clashing(stage)
        if not all(may_follow(member, stage) for chain in joined for member in chain):
            return False
        if joined:
            at = self.chains.index(joined[0])
            self.chains = [chain for chain in self.chains if chain not in joined]
            self.chains.insert(at, [member for chain in joined for member in chain] + [stage])
        else:
            self.chains.append([stage])
        return True


def phases(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """The stages of one kernel, phase by phase; `follows` marks those that follow the stage before them."""
    made: list[_Phase] = []
    for stage in stages:
        earliest = None
        for k in range(len(made) - 1, -1, -1):
            clash = bool(made[k].clashing(stage))
            if _Phase([list(chain) for chain in made[k].chains]).take(stage):
                earliest = k
            if clash:
                break
        if earliest is None or not made[earliest].take(stage):
            made.append(_Phase([[stage]]))
    return [
        tuple(replace(stage, follows=k > 0) for chain in phase.chains for k, stage in enumerate(chain))
        for phase in made
    ]


def chains(phase: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """The chains of a phase: stages that one thread does for an item, one after the other."""
    result: list[list[Stage]] = []
    for stage in phase:
        if stage.follows:
            result[-1].append(stage)
        else:
            result.append([stage])
    return [tuple(chain) for chain in result]


def races(phase: Sequence[Stage]) -> list[tuple[Stage, Stage, frozenset[str]]]:
    """Stages of one phase that may not run at the same time, and why; none in what `phases` makes."""
    found = []
    grouped = chains(phase)
    for k, chain in enumerate(grouped):
        for other in grouped[k + 1 :]:
            found += [(a, b, clashes(a, b)) for a in chain for b in other if clashes(a, b)]
        for at, second in enumerate(chain):
            found += [(a, second, clashes(a, second)) for a in chain[:at] if not may_follow(a, second)]
    return found


def freezes(stages: Iterable[Stage]) -> bool:
    """Does any of the stages freeze worlds and write something else beside? Then threads must agree who is frozen."""
    return any(FROZEN in s.access.writes and s.access.writes - {STATUS, FROZEN} and s.over for s in stages)


# ---------------------------------------------------------------------------------------------- kernels and streams


@dataclass(frozen=True)
class Run:
    """Stages that are launched together.

    Attributes:
        aside: On the second stream.
        waits: It needs what is aside: the number of the last run there that must have ended; None: it need not wait.
    """

    stages: tuple[Stage, ...]
    aside: bool = False
    waits: int | None = None


def plan(stages: Sequence[Stage]) -> list[Run]:
    """The launches of a recipe: neighbours become one kernel, until one of them must wait."""
    made: list[Run] = []
    away: dict[int, Stage] = {}  # what is aside and nobody has waited for
    for stage in stages:
        if stage.aside:
            away[len(made)] = stage
            made.append(Run((stage,), aside=True))
            continue
        needed = [k for k, other in away.items() if clashes(other, stage)]
        if needed:
            away = {k: other for k, other in away.items() if k > max(needed)}
            made.append(Run((stage,), waits=max(needed)))
        elif made and _join(made[-1], stage):
            made[-1] = replace(made[-1], stages=(*made[-1].stages, stage))
        else:
            made.append(Run((stage,)))
    return made


def _join(run: Run, stage: Stage) -> bool:
    last = run.stages[-1]
    alike = (stage.is_cohort and last.is_cohort) or (stage.lanes and last.lanes and stage.threads == last.threads)
    return alike and not (run.aside or stage.alone or last.alone)


def runs(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """The stages of each launch."""
    return [run.stages for run in plan(stages)]


def between_hosts(stages: Sequence[Stage]) -> list[tuple[Stage, ...]]:
    """Split a recipe at the stages that launch kernels of their own; each of these stands alone."""
    groups: list[list[Stage]] = []
    for stage in stages:
        if groups and not stage.launch and not groups[-1][-1].launch:
            groups[-1].append(stage)
        else:
            groups.append([stage])
    return [tuple(group) for group in groups]
