"""Whether two elements say the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.mjcf.base import Element


def same(mine: Any, theirs: Any) -> bool:
    """Same kind, attributes and children; children in the same order within a tag, within tendons altogether.

    The name of a model does not count.
    """
    todo = [(mine, theirs)]
    while todo:
        a, b = todo.pop()
        if b is None or b.spec is not a.spec:
            return False
        if a.tag != "mujoco" and not _same_attributes(a, b):
            return False
        pairs = _pairs(a, b)
        if pairs is None:
            return False
        todo.extend(pairs)
    return True


def _same_attributes(mine: Any, theirs: Any) -> bool:
    names = {*mine._ordered_names(), *theirs._ordered_names()}
    return all(_same_value(mine._get(name), theirs._get(name)) for name in names)


def _same_value(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Element) or isinstance(theirs, Element):
        names = [value.full_identifier if isinstance(value, Element) else value for value in (mine, theirs)]
        return names[0] == names[1]
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return mine is not None and theirs is not None and np.array_equal(mine, theirs)
    return mine == theirs


def _pairs(mine: Any, theirs: Any) -> list[tuple[Any, Any]] | None:
    """The children that must say the same, pair by pair; None when they cannot be paired."""
    own, other = mine._present_children(), theirs._present_children()
    if mine.parent is not None and mine.parent.tag == "tendon" and mine.parent.parent is mine.root:
        return list(zip(own, other, strict=True)) if len(own) == len(other) else None
    pairs: list[tuple[Any, Any]] = []
    groups, others = _by_tag(own), _by_tag(other)
    for tag in {*groups, *others}:
        if tag in mine.spec.singletons:
            pairs.append((mine._single(tag), theirs._single(tag)))
        elif len(groups.get(tag, ())) != len(others.get(tag, ())):
            return None
        else:
            pairs.extend(zip(groups[tag], others[tag], strict=True))
    return pairs


def _by_tag(children: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for child in children:
        groups.setdefault(child.tag, []).append(child)
    return groups
