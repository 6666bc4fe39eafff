"""A document's sections outside the tree, and the models it brings in: from a source tree to a `Spec`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kinema.compile.defaults import ACTUATOR_TAGS, read_defaults
from kinema.compile.element import Element, Scope
from kinema.compile.host_model import UNNAMED
from kinema.compile.price import Limits, price
from kinema.compile.settings import read_settings
from kinema.compile.tree import Body, Spec, read_tree
from kinema.errors import CompileError, did_you_mean
from kinema.mjcf.source import Node

Loader = Callable[[str, "str | None"], "tuple[Node, str | None]"]
"""Opens the file of a model asset: (file as written, directory of the document) -> (source tree, its directory)."""

EQUALITY_TAGS = ("connect", "weld", "joint", "tendon", "flex", "flexstrain")
TENDON_TAGS = ("spatial", "fixed")

# section -> {tag: (kind, default class layer)}; None takes any tag
SECTIONS: dict[str, dict[str, tuple[str, str | None]] | None] = {
    "asset": {
        "texture": ("texture", "texture"), "material": ("material", "material"), "mesh": ("mesh", "mesh"),
        "skin": ("skin", None), "hfield": ("hfield", None), "model": ("model", None),
    },
    "contact": {"pair": ("pair", "pair"), "exclude": ("exclude", None)},
    "deformable": {"skin": ("skin", None), "flex": ("flex", None)},
    "equality": {tag: ("equality", "equality") for tag in EQUALITY_TAGS},
    "tendon": {tag: ("tendon", "tendon") for tag in TENDON_TAGS},
    "actuator": {tag: ("actuator", None) for tag in ACTUATOR_TAGS},
    "sensor": None,
    "keyframe": {"key": ("key", None)},
    "custom": {"numeric": ("numeric", None), "text": ("text", None), "tuple": ("tuple", None)},
}  # fmt: skip
OTHER_SECTIONS = ("compiler", "option", "size", "visual", "statistic", "default", "extension", "worldbody", "include")


def read_document(
    root: Node,
    directory: str | None,
    load: Loader,
    *,
    files: Mapping[str, bytes] | None = None,
    limits: Limits | None = None,
    chain: Iterable[str] = (),
) -> Spec:
    """Read a source tree (includes expanded) into a `Spec`, its tree and attachments expanded.

    Args:
        directory: Folder its file names are relative to.
        load: Opens model assets.
        files: Files by name that come before those on disk.
        limits: How large it may be.
        chain: Files being read, outermost first, to refuse a model that brings itself in.
    """
    if root.tag != "mujoco":
        raise CompileError(f"the root element must be 'mujoco', not {root.tag!r}", file=root.file, line=root.line)
    settings = read_settings(root)
    scope = Scope(settings, directory, root.file)
    world = Node("worldbody", {"name": "world"}, file=root.file, line=root.line)
    defaults = read_defaults(root)
    spec = Spec(root, scope, defaults, Body(Element(world, "body", scope, ({"name": "world"},)), default=defaults.main))
    spec.files = files
    for section in root.children:
        _read_section(spec, section)
    _read_plugins(spec)
    limits = limits or Limits()
    _read_models(spec, load, limits, (*chain, root.file or ""))
    price(spec, limits)
    read_tree(spec)
    return spec


def _read_section(spec: Spec, section: Node) -> None:
    if section.tag not in SECTIONS:
        if section.tag not in OTHER_SECTIONS:
            known = did_you_mean(section.tag, [*SECTIONS, *OTHER_SECTIONS])
            raise Element(section).error(f"unrecognized section {section.tag!r}{known}")
        return
    tags = SECTIONS[section.tag]
    for node in section.children:
        if tags is None:
            kind, layer = section.tag, None
        elif node.tag in tags:
            kind, layer = tags[node.tag]
        else:
            raise Element(node).error(f"unrecognized {section.tag} element {node.tag!r}{did_you_mean(node.tag, tags)}")
        name = node.attributes.get("class")
        default = spec.defaults.main if name is None else spec.defaults.find(name, node)
        layers = default.of(layer) if layer else ()
        spec.list(kind).append(Element(node, kind, spec.scope, (*layers, node.attributes), default))


def _read_plugins(spec: Spec) -> None:
    for section in spec.root.find("extension"):
        for plugin in section.find("plugin"):
            for instance in plugin.find("instance"):
                spec.list("plugin").append(Element(instance, "plugin", spec.scope, (instance.attributes,)))


def _read_models(spec: Spec, load: Loader, limits: Limits, chain: tuple[str, ...]) -> None:
    for e in spec.list("model"):
        file = e.required("file")
        try:
            root, directory = load(file, spec.scope.directory)
        except OSError as error:
            raise e.error(f"cannot open model file {file!r}: {error}") from error
        if root.file and root.file in chain:
            raise e.error(f"model {file!r} brings itself in", "file")
        child = read_document(root, directory, load, files=spec.files, limits=limits, chain=chain)
        spec.models[e.text("name", root.attributes.get("model", UNNAMED))] = child
