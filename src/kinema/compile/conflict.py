"""Options of an attached model against those of the model it joins: the compiler's `conflict` policy.

    warning  the parent's value stays, and a warning says so (the default)
    merge    values are combined (the smaller tolerance, the larger count, either flag) or taken from the child
    error    two stated values that differ are an error; so are, under merge, those that cannot be combined

Documents that are added to one world side by side, none the parent of the other, must agree (`refuse_conflicts`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from kinema.compile.element import Element
from kinema.compile.option import DISABLE, ENABLE
from kinema.errors import BuildError
from kinema.mjcf.source import Node

MINIMUM = ("timestep", "tolerance", "ls_tolerance", "noslip_tolerance", "ccd_tolerance", "sleep_tolerance")
MAXIMUM = (
    "iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints",
    "nkey", "nuserdata", "nuser_body", "nuser_jnt", "nuser_geom", "nuser_site", "nuser_cam", "nuser_tendon",
    "nuser_actuator", "nuser_sensor",
)  # fmt: skip
VISUAL = {"znear": min, "realtime": min, "zfar": max}


def settle_conflicts(parent: Node, child: Node, policy: str, e: Element, warn: Callable[[str], None]) -> None:
    """Apply the policy to <option>, <size> and <visual> of two documents; may add sections to the parent.

    An attachment is told of once, whatever the number of its conflicts.
    """
    unheard: list[str] = []
    _settle(parent, child, policy, e, unheard.append)
    if unheard:
        name = child.attributes.get("model")
        which = f"the attached model {name!r}" if name else "the attached model"
        verb = "is" if len(unheard) == 1 else "are"
        warn(f"attach: {_listed(unheard)} of {which} {verb} not heard; what stands here stays")


def _listed(parts: list[str], most: int = 6) -> str:
    """Some things in a sentence, and how many more there are."""
    more = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {more} more" if more > 0 else "")


def _settle(parent: Node, child: Node, policy: str, e: Element, unheard: Callable[[str], None]) -> None:
    for section in ("option", "size"):
        ours, theirs = _stated(parent, section), _stated(child, section)
        adopted = {}
        for name, value in theirs.items():
            chosen = _choose(name, ours.get(name), value, policy, e, unheard)
            if chosen is not None:
                adopted[name] = chosen
        if adopted:
            parent.add(Node(section, adopted, file=child.file, line=child.line))
    _flags(parent, child, policy, e, unheard)
    _visual(parent, child, policy, e, unheard)


def stated_options(root: Node) -> dict[str, str]:
    """Options a document states, as written: ``"timestep"``, ``"flag gravity"``, and ``"statistic extent"``."""
    found = _stated(root, "option")
    found |= {f"statistic {name}": value for name, value in _stated(root, "statistic").items()}
    for option in root.find("option"):
        for flag in option.find("flag"):
            found |= {f"flag {name}": value for name, value in flag.attributes.items()}
    return found


def refuse_conflicts(ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    """Documents in one world have one set of options: what two of them state must agree, else BuildError."""
    for name, value in theirs.items():
        if name in ours and not name.startswith("statistic") and not _same(ours[name], value):
            raise BuildError(
                f"option {name} is {value} in this document but {ours[name]} in the one the world already has: "
                "a world has one; make them agree, or put the documents into worlds of their own"
            )


def warn_unheard(ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    """What only a later document states is not heard; say so, once for a document."""
    names = sorted(name for name in theirs if name not in ours and not name.startswith("statistic"))
    if names:
        warnings.warn(
            f"option {_listed([f'{name} is {theirs[name]}' for name in names])} in this document and unset in the one "
            "the world already has, whose value stays; state it there",
            stacklevel=4,
        )


def _stated(root: Node, section: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in root.find(section):
        found |= node.attributes
    return found


def _same(a: str, b: str) -> bool:
    try:
        return [float(x) for x in a.split()] == [float(x) for x in b.split()]
    except ValueError:
        return a == b


def _choose(
    name: str, ours: str | None, theirs: str, policy: str, e: Element, unheard: Callable[[str], None]
) -> str | None:
    """The value the parent takes from the child, if any."""
    if ours is not None and _same(ours, theirs):
        return None
    if policy == "warning":
        unheard(f"{name}={theirs!r} (here {ours or 'unset'})")
        return None
    if ours is None:
        return theirs if policy == "merge" else None
    if policy == "error":
        raise e.error(f"attach: {name} is {theirs} in the attached model but {ours} here")
    pick = min if name in MINIMUM else max if name in MAXIMUM else VISUAL.get(name)
    if pick is None:
        raise e.error(f"attach: {name} is {theirs} in the attached model but {ours} here, and cannot be merged")
    return pick((ours, theirs), key=float)


def _flags(parent: Node, child: Node, policy: str, e: Element, unheard: Callable[[str], None]) -> None:
    def stated(root: Node) -> dict[str, str]:
        found: dict[str, str] = {}
        for option in root.find("option"):
            for flag in option.find("flag"):
                found |= flag.attributes
        return found

    ours, theirs = stated(parent), stated(child)
    adopted = {}
    for name, value in theirs.items():
        if ours.get(name) == value:
            continue
        if policy == "warning":
            unheard(f"flag {name}={value!r} (here {ours.get(name) or 'unset'})")
        elif policy == "error" and name in ours:
            raise e.error(f"attach: flag {name} is {value!r} in the attached model but {ours[name]!r} here")
        elif policy == "merge":
            deciding = "disable" if name in DISABLE else "enable" if name in ENABLE else value
            adopted[name] = deciding if name in ours else value
    if adopted:
        option = parent.add(Node("option", {}, file=child.file, line=child.line))
        option.add(Node("flag", adopted, file=child.file, line=child.line))


def _visual(parent: Node, child: Node, policy: str, e: Element, unheard: Callable[[str], None]) -> None:
    def stated(root: Node) -> dict[tuple[str, str], str]:
        return {
            (group.tag, name): value
            for section in root.find("visual")
            for group in section.children
            for name, value in group.attributes.items()
        }

    ours = stated(parent)
    for (group, name), value in stated(child).items():
        mine = ours.get((group, name))
        if policy == "merge" and mine is not None and name not in VISUAL:
            continue
        chosen = _choose(name, mine, value, policy, e, unheard)
        if chosen is not None:
            section = parent.add(Node("visual", {}, file=child.file, line=child.line))
            section.add(Node(group, {name: chosen}, file=child.file, line=child.line))
