"""Default classes: what <default> sections say, as layers of attributes per element type.

A class starts as a copy of its parent *as it stands when the class is read*: a later top-level <default> section adds
to `main` but not to classes read before it, as in MuJoCo. Actuator shortcuts share one default in MuJoCo (`<position>`
in a class also shapes a `<motor>` of that class), so their layers are kept as the sequence of elements, under
``"actuator"``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kinema.errors import CompileError, did_you_mean
from kinema.mjcf.source import Node

ACTUATOR_TAGS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
DEFAULT_TAGS = ("mesh", "texture", "material", "joint", "geom", "site", "camera", "light", "pair", "equality", "tendon")


@dataclass(slots=True, eq=False)
class DefaultClass:
    """One class.

    Attributes:
        layers: Attribute dictionaries by tag, weakest first.
        nodes: The elements they come from, for what stands inside them (layers of a material).
        actuators: Actuator elements to replay in order.
    """

    name: str
    parent: DefaultClass | None = None
    layers: dict[str, tuple[Mapping[str, str], ...]] = field(default_factory=dict)
    nodes: dict[str, tuple[Node, ...]] = field(default_factory=dict)
    actuators: tuple[Node, ...] = ()

    def of(self, tag: str) -> tuple[Mapping[str, str], ...]:
        return self.layers.get(tag, ())


@dataclass(slots=True)
class Defaults:
    """All classes of one document by name; `main` is always there."""

    classes: dict[str, DefaultClass] = field(default_factory=lambda: {"main": DefaultClass("main")})

    @property
    def main(self) -> DefaultClass:
        return self.classes["main"]

    def __iter__(self) -> Iterator[DefaultClass]:
        return iter(self.classes.values())

    def find(self, name: str, node: Node, attribute: str = "class") -> DefaultClass:
        """The class an element names, or an error that says which class was meant."""
        found = self.classes.get(name)
        if found is None:
            raise CompileError(
                f"unknown default {attribute} {name!r}{did_you_mean(name, self.classes)}",
                file=node.file, line=node.line, path=node.path,
            )  # fmt: skip
        return found


def read_defaults(root: Node) -> Defaults:
    """Read every <default> section of a document."""
    defaults = Defaults()
    for section in root.find("default"):
        name = section.attributes.get("class", "")
        if name not in ("", "main"):
            raise _error(section, f"top-level default class 'main' cannot be renamed to {name!r}")
        _read(defaults, defaults.main, section)
    return defaults


def _read(defaults: Defaults, target: DefaultClass, section: Node) -> None:
    for node in section.children:
        if node.tag in DEFAULT_TAGS:
            target.layers[node.tag] = (*target.of(node.tag), node.attributes)
            target.nodes[node.tag] = (*target.nodes.get(node.tag, ()), node)
        elif node.tag in ACTUATOR_TAGS:
            target.actuators = (*target.actuators, node)
        elif node.tag != "default":
            raise _error(node, f"{node.tag!r} has no defaults{did_you_mean(node.tag, DEFAULT_TAGS + ACTUATOR_TAGS)}")
    for node in section.find("default"):
        name = node.attributes.get("class", "")
        if not name:
            raise _error(node, "a nested default needs a class name")
        if name in defaults.classes:
            raise _error(node, f"repeated default class name {name!r}")
        inner = DefaultClass(name, target, dict(target.layers), dict(target.nodes), target.actuators)
        defaults.classes[name] = inner
        _read(defaults, inner, node)


def _error(node: Node, message: str) -> CompileError:
    return CompileError(message, file=node.file, line=node.line, path=node.path)
