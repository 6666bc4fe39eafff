"""The MJCF vocabulary as objects: what may stand where, and what its values look like.

The facts are in `mjcf.schema`, a text table described at its top. Everything else about documents (parsing, attributes,
validation, suggestions, default classes, writing) is generic code over the two classes here.

    spec = schema.root()                                       # <mujoco>
    geom = spec.children["worldbody"].children["geom"]
    geom.attributes["size"].max                                # 3
    geom.attributes["type"].keywords                           # ("plane", "hfield", ...)

A child's spec knows how it stands under its parent (`cardinality`, `repeated`, `on_demand`), so <default> at the top
and <default> inside another are two specs. Specs are made once and compared by identity.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import resources

from kinema.errors import did_you_mean

NUMERIC = ("float", "int")
ATTACHMENT_FRAME_NAMESPACE = "attachment_frame"


@dataclass(frozen=True, eq=False, slots=True)
class AttributeSpec:
    """What one attribute holds.

    `type` is one of float, int, string, keyword, flags, chars, id, ref, names, prefix, file, dir. Numbers are arrays
    when `array` is true; `min` and `max` count their values (`max` is None when there is no limit), or characters for
    `chars`. `namespace` is what a ref refers to ("geom"), or "@objtype" when that attribute says it, or for a file and
    dir the kind of file. `required`: no element is made without it; `needed`: MuJoCo's reader insists on it.
    `default_ok`: a default class may set it. `merge` tells what happens when an attached model sets the attribute too:
    agree, own, unit, min, max, bytes.
    """

    name: str
    type: str
    array: bool = False
    min: int = 1
    max: int | None = 1
    keywords: tuple[str, ...] = ()
    namespace: str | None = None
    required: bool = False
    needed: bool = False
    default_ok: bool = False
    merge: str = "agree"
    keyword_map: dict[str, str] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """The greatest number of values, or None when any number is fine."""
        return self.max


@dataclass(frozen=True, slots=True)
class Constraint:
    """Which attributes may, must or must not stand together: kind is exclusive, together or oneof."""

    kind: str
    bundles: tuple[tuple[str, ...], ...]


@dataclass(eq=False, slots=True)
class ElementSpec:
    """What one element holds, and how it stands under its parent."""

    name: str
    cardinality: str
    repeated: bool
    on_demand: bool
    identifier: str | None
    namespace: str | None
    attributes: dict[str, AttributeSpec]
    children: dict[str, ElementSpec] = field(default_factory=dict, repr=False)
    constraints: tuple[Constraint, ...] = ()
    meta: bool = False
    order: dict[str, int] = field(default_factory=dict, repr=False)
    singletons: tuple[str, ...] = field(default=(), repr=False)
    references: tuple[str, ...] = field(default=(), repr=False)
    required: tuple[str, ...] = field(default=(), repr=False)
    needed: tuple[str, ...] = field(default=(), repr=False)

    def index(self) -> None:
        """Fill in what is derived from attributes and children."""
        self.order = {name: number for number, name in enumerate(self.attributes)}
        self.singletons = tuple(tag for tag, child in self.children.items() if not (child.repeated or child.on_demand))
        self.references = tuple(name for name, spec in self.attributes.items() if spec.type == "ref")
        self.required = tuple(name for name, spec in self.attributes.items() if spec.required)
        self.needed = tuple(name for name, spec in self.attributes.items() if spec.needed)


# ---------------------------------------------------------------- reading the table


@dataclass
class _Block:
    """One group or element of the table, as written."""

    attributes: dict[str, AttributeSpec] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)
    children: list[tuple[str, str, frozenset[str]]] = field(default_factory=list)
    namespace: str | None = None


# Elements of earlier versions of MuJoCo, and what to use instead.
GONE: dict[str, str] = {}

_SHAPE = re.compile(r"(float|int|chars)\[(\d*)(?:\.\.(\d+))?\]")
_NAMED = re.compile(r"(flags|ref|names|file|dir)<([^>]*)>(\+?)")


def _attribute(name: str, text: str, flags: list[str]) -> AttributeSpec:
    facts: dict = {"required": "required" in flags, "default_ok": "nodefault" not in flags}
    facts["needed"] = facts["required"] or "needed" in flags
    for flag in flags:
        if flag.startswith("merge="):
            facts["merge"] = flag.removeprefix("merge=")
    if shape := _SHAPE.fullmatch(text):
        kind, low, high = shape.groups()
        least = int(low) if low else 0
        most = int(high) if high else (int(low) if low else None)
        return AttributeSpec(name, kind, array=kind != "chars", min=least, max=most, **facts)
    if named := _NAMED.fullmatch(text):
        kind, inside, several = named.groups()
        if kind == "flags":
            return AttributeSpec(name, kind, keywords=tuple(inside.split("|")), max=None, **facts)
        return AttributeSpec(name, kind, namespace=inside or None, max=None if several else 1, **facts)
    if text == "bool" or "|" in text:
        words = ("false", "true") if text == "bool" else tuple(text.split("|"))
        return AttributeSpec(name, "keyword", keywords=words, keyword_map={w.lower(): w for w in words}, **facts)
    if text not in ("float", "int", "string", "id", "prefix"):
        raise ValueError(f"mjcf.schema: attribute {name!r} has the unknown type {text!r}")
    return AttributeSpec(name, text, **facts)


def _read(text: str) -> dict[str, _Block]:
    groups: dict[str, _Block] = {}
    elements: dict[str, _Block] = {}
    block = _Block()
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        if words[0] == "gone":
            GONE[words[1]] = " ".join(words[2:])
        elif not line.startswith(" "):
            block = _Block()
            if words[0] == "group":
                groups[words[1]] = block
            else:
                block.namespace = next((w.removeprefix("namespace=") for w in words[2:]), None)
                elements.update(dict.fromkeys(words[1].split(","), block))
        elif words[0] == "use":
            block.attributes.update(groups[words[1]].attributes)
            block.constraints.extend(groups[words[1]].constraints)
        elif words[0] == "has":
            block.children.append((words[1], words[2], frozenset(words[3:])))
        elif words[0] in ("exclusive", "together", "oneof"):
            block.constraints.append(Constraint(words[0], tuple(tuple(w.split("+")) for w in words[1:])))
        else:
            block.attributes[words[0]] = _attribute(words[0], words[1], words[2:])
    _mark_defaults(elements)
    return elements


def _mark_defaults(elements: dict[str, _Block]) -> None:
    """Set `default_ok` where a default class really has the attribute: own projection, or that of the whole family."""
    projected = {key for key, _, flags in elements["default"].children if "projection" in flags}
    family = dict.fromkeys(("spatial", "fixed"), "default.tendon")
    family.update(dict.fromkeys((key for key, _, _ in elements["equality"].children), "default.equality"))
    for key, block in elements.items():
        shared = elements[family[key]].attributes if key in family else ()
        for name, spec in block.attributes.items():
            settable = spec.default_ok and name not in ("name", "class") and (key in projected or name in shared)
            block.attributes[name] = replace(spec, default_ok=settable)


class _Builder:
    """Turns blocks into specs, one spec for each way an element stands under a parent."""

    def __init__(self, blocks: dict[str, _Block]):
        self.blocks = blocks
        self.made: dict[tuple[str, str, frozenset[str]], ElementSpec] = {}

    def element(self, key: str, cardinality: str, flags: frozenset[str]) -> ElementSpec:
        if spec := self.made.get((key, cardinality, flags)):
            return spec
        block = self.blocks[key]
        projected = "projection" in flags
        attributes = block.attributes
        if projected:
            attributes = {n: a for n, a in attributes.items() if a.default_ok}
        identifier = next((name for name, spec in attributes.items() if spec.type == "id"), None)
        tag = key.rpartition(".")[2]
        spec = ElementSpec(
            name=tag,
            cardinality=cardinality,
            repeated=cardinality in "*R" and not flags & {"single", "demand"},
            on_demand="demand" in flags,
            identifier=identifier,
            namespace=(block.namespace or tag) if identifier else None,
            attributes=attributes,
            constraints=tuple(block.constraints),
            meta="meta" in flags,
        )
        self.made[key, cardinality, flags] = spec
        for child, how, child_flags in block.children:
            if not (projected and "nodefault" in child_flags):
                spec.children[child.rpartition(".")[2]] = self.element(child, how, child_flags - {"nodefault"})
        spec.index()
        return spec


@functools.cache
def root() -> ElementSpec:
    """The spec of <mujoco>, from which all others are reached through `children`."""
    text = resources.files(__package__).joinpath("mjcf.schema").read_text(encoding="utf-8")
    return _Builder(_read(text)).element("mujoco", "!", frozenset())


def unknown_child(tag: str, spec: ElementSpec) -> str:
    """What to say about a child that a spec does not have: the likely name, or what replaced it."""
    message = f"<{tag}> is not a valid child of <{spec.name}>"
    return f"{message}; {GONE[tag]}" if tag in GONE else message + did_you_mean(tag, spec.children)


def walk(spec: ElementSpec | None = None) -> Iterator[tuple[tuple[str, ...], ElementSpec]]:
    """Every element once, with the tags that lead to it: (path, spec)."""
    todo: list[tuple[tuple[str, ...], ElementSpec]] = [((), spec or root())]
    seen: set[int] = set()
    while todo:
        path, here = todo.pop(0)
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield path, here
        todo.extend(((*path, tag), child) for tag, child in here.children.items())


def namespaces() -> frozenset[str]:
    """Every namespace that `find` and `find_all` understand."""
    return FINDABLE_NAMESPACES


def _attachment_frame(*, in_world: bool) -> ElementSpec:
    """The body an attached model hangs from: a place, and joints that take their names from the model."""
    body = MUJOCO.children["worldbody"].children["body"]
    kept = ("mocap", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "user")
    frame = ElementSpec("body", "R", True, False, None, "body", {name: body.attributes[name] for name in kept})
    frame.children["inertial"] = body.children["inertial"]
    for tag in ("joint", "freejoint") if in_world else ("joint",):
        own = body.children[tag]
        frame.children[tag] = ElementSpec(
            tag, own.cardinality, own.repeated, own.on_demand, None, "joint", own.attributes
        )
        frame.children[tag].index()
    frame.index()
    return frame


MUJOCO = root()
FINDABLE_NAMESPACES = frozenset(
    {spec.namespace for _, spec in walk() if spec.namespace} | {ATTACHMENT_FRAME_NAMESPACE}
)
ATTACHMENT_FRAME = _attachment_frame(in_world=False)
WORLD_ATTACHMENT_FRAME = _attachment_frame(in_world=True)
