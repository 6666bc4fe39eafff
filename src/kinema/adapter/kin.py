"""Worlds that differ in numbers only share an engine.

A thousand robots with limbs of random lengths are hundreds of classes of identical worlds, but a handful of structures.
What an engine is made for is the structure: who hangs on whom, which geoms can meet, which stages a step has. Lengths,
masses and frictions are parameters, and those may differ from world to world. So classes are kin if

    their sizes are the same, and the rows of a world stand for the same things,
    every array that is no parameter is the same, but for what nobody computes from (names, colours, keyframes),
    and parameters that differ may do so (geom_size of a mesh may not).

Kin are run by one engine, each world with the numbers of its own class. An engine that was made for one of them says
what its parameters are; what it could not follow makes classes strangers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinema.adapter.refresh import DIGITS, LENGTHS, UNSEEN, Watch, is_spread, joint_frames
from kinema.adapter.view import OwnFrame, Source
from kinema.convex.present import FOLLOWS
from kinema.model import Model, WorldClass
from kinema.mujoco_enums import Joint

SHOWN = ("_rgba", "_user", "_group", "_matid")
"""How arrays end that are only looked at."""

TABLES = ("bodies", "joints", "geoms", "sites", "controls", "particles")


class Kin:
    """Classes of worlds that one engine runs.

    Args:
        model: The model.
        classes: The classes; the engine is made for the first.
        sources: What each runs.

    Attributes:
        worlds: Indices of all their worlds, rising.
        of: Class of each world, an index into `sources`.
        xforms: Transforms the worlds were placed at, shape (worlds, 7), or None.
    """

    def __init__(self, model: Model, classes: Sequence[WorldClass], sources: Sequence[Source]):
        self.model, self.classes, self.sources = model, list(classes), list(sources)
        worlds = np.concatenate([each.worlds for each in classes])
        order = np.argsort(worlds)
        self.worlds = worlds[order]
        self.of = np.repeat(np.arange(len(classes)), [len(each) for each in classes])[order]
        self.within = np.concatenate([np.arange(len(each)) for each in classes])[order]
        placed = [each.xforms for each in classes if each.xforms is not None]
        self.xforms = np.concatenate(placed)[order] if placed else None
        self.watches = [Watch(model, each, source) for each, source in zip(classes, sources, strict=True)]
        self.fresh = False  # whether the sources are what worlds are now, not what they were built as
        self._looked: tuple[list[int], np.ndarray, list[Source]] | None = None

    def __len__(self) -> int:
        return len(self.worlds)

    @property
    def hosts(self) -> list[Any]:
        """The model of each class."""
        return [source.host for source in self.sources]

    def rows(self, world: int) -> Any:
        """The rows of a world as they are now; `world` counts among these."""
        return self.watches[self.of[world]].rows(int(self.within[world]))

    def is_changed(self) -> bool:
        """Whether a number of some world is no longer what its source says."""
        return not self.fresh and any(watch.is_changed() for watch in self.watches)

    def present(self) -> tuple[list[int], np.ndarray, list[Source]]:
        """A world of each kind that the fields tell apart, which kind each world is of, and what each kind runs now."""
        if self._looked is not None:
            found, self._looked = self._looked, None
            return found
        kinds, of = self.variants()
        return kinds, of, [self.watches[self.of[w]].source(int(self.within[w])) for w in kinds]

    def apart(self, groups: Callable[[list[WorldClass], list[Source]], list[list[int]]]) -> list[Kin]:
        """These worlds as they are now: those that no longer fit into one engine are kin no more.

        Args:
            groups: Finds out which sources one engine can run.
        """
        if not self.is_changed():
            return [self]
        kinds, of, sources = self.present()
        classes = [self.classes[self.of[world]] for world in kinds]
        found = groups([self.classes[0], *classes], [self.sources[0], *sources])
        if len(found) == 1:
            self._looked = kinds, of, sources
            return [self]
        built = []
        for some in found:
            mine = [k - 1 for k in some if k]
            if mine:
                own = [classes[k].some(self.within[of == k]) for k in mine]
                built.append(Kin(self.model, own, [sources[k] for k in mine]))
                built[-1].fresh = True
        return built

    def variants(self) -> tuple[list[int], np.ndarray]:
        """A world of each kind that the fields tell apart, and which kind each world is of."""
        first: list[int] = []
        of = np.zeros(len(self), np.int64)
        for number, watch in enumerate(self.watches):
            mine = np.flatnonzero(self.of == number)
            mine = mine[np.argsort(self.within[mine])]  # as the class counts them
            kinds, kind_of = watch.variants()
            of[mine] = len(first) + kind_of
            first += mine[kinds].tolist()
        return first, of


def find_kin(
    classes: Sequence[WorldClass], sources: Sequence[Source], probe: Callable[[Any], Any]
) -> list[list[int]]:
    """Which classes are kin: lists of their indices, in the order of the first of each.

    Args:
        classes: The classes.
        sources: What each of them runs.
        probe: Makes an engine of one world for a model, to see what its parameters are.
    """
    alike: dict[tuple, list[int]] = {}
    for k, (worlds, source) in enumerate(zip(classes, sources, strict=True)):
        alike.setdefault(_structure(worlds, source), []).append(k)
    found: list[list[int]] = []
    for members in alike.values():
        strangers = members
        while strangers:
            first, *others = strangers
            engine = probe(sources[first].host) if others else None
            kin = [k for k in others if _follows(engine, sources[first].host, sources[k].host)]
            found.append([first, *kin])
            strangers = [k for k in others if k not in kin]
    return sorted(found)


def _structure(worlds: WorldClass, source: Source) -> tuple:
    """What must be the same to the last number, and is quickly compared."""
    host = source.host
    sizes = tuple(sorted((n, int(v)) for n, v in host.sizes.items() if n not in LENGTHS))
    option = tuple((n, np.asarray(v).tobytes()) for n, v in sorted(vars(host.opt).items()) if n != "gravity")
    tables = tuple(np.ascontiguousarray(getattr(source, name)).tobytes() for name in TABLES)
    frames = joint_frames(OwnFrame(worlds.template, worlds.origin), source)
    kinds = np.asarray(host.jnt_type)[: len(source.joints)]
    counted = np.isin(kinds, (Joint.FREE, Joint.BALL))  # coordinates are counted from frames
    return sizes, option, tables, tuple(np.round(f[counted], DIGITS).tobytes() for f in frames)


def _follows(engine: Any, host: Any, other: Any) -> bool:
    """Whether an engine made for one model can run another by its parameters."""
    for name, value in host.arrays.items():
        if name.startswith(UNSEEN) or name.endswith(SHOWN) or name in FOLLOWS:
            continue
        theirs = np.asarray(other.arrays[name])
        if np.array_equal(np.asarray(value), theirs) or is_spread(name, host, other, engine.parameters):
            continue
        if not engine.may_differ(name, theirs):
            return False
    return True
