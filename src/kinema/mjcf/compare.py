"""Whether two elements say the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinema.mjcf.base import Element


def same_element(mine: Any, theirs: Any) -> bool:
    """Same kind, attributes and children; children in the same order within a tag, within tendons altogether."""
    if theirs is None or theirs.spec is not mine.spec:
        return False
    if not same_attributes(mine, theirs):
        return False
    in_tendon = mine.parent is not None and mine.parent.tag == "tendon" and mine.parent.parent is mine.root
    return _same_sequence(mine, theirs) if in_tendon else same_children(mine, theirs)


def same_attributes(mine: Any, theirs: Any) -> bool:
    names = {*mine._ordered_names(), *theirs._ordered_names()}
    return all(_same_value(mine._get(name), theirs._get(name)) for name in names)


def _same_value(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Element) or isinstance(theirs, Element):
        names = [value.full_identifier if isinstance(value, Element) else value for value in (mine, theirs)]
        return names[0] == names[1]
    if isinstance(mine, np.ndarray) or isinstance(theirs, np.ndarray):
        return mine is not None and theirs is not None and np.array_equal(mine, theirs)
    return mine == theirs


def _same_sequence(mine: Any, theirs: Any) -> bool:
    pairs = mine._present_children(), theirs._present_children()
    return len(pairs[0]) == len(pairs[1]) and all(a.is_same_as(b) for a, b in zip(*pairs, strict=True))


def same_children(mine: Any, theirs: Any) -> bool:
    """Same children, whatever the order of different tags."""
    own, other = _by_tag(mine._present_children()), _by_tag(theirs._present_children())
    for tag in {*own, *other}:
        if tag in mine.spec.singletons:
            if not mine._single(tag).is_same_as(theirs._single(tag)):
                return False
        elif len(own.get(tag, ())) != len(other.get(tag, ())):
            return False
        elif not all(a.is_same_as(b) for a, b in zip(own[tag], other[tag], strict=True)):
            return False
    return True


def _by_tag(children: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for child in children:
        groups.setdefault(child.tag, []).append(child)
    return groups
