"""From what a user hands in to a source tree with its includes expanded, and the folder its files are relative to."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePosixPath

from kinema import resources
from kinema.compile.urdf import urdf_to_mjcf
from kinema.errors import CompileError, ResourceError
from kinema.mjcf import schema
from kinema.mjcf.source import Node, expand_includes, is_xml, read_xml
from kinema.mjcf.validate import validate
from kinema.mjcf.write import to_source

Assets = Mapping[str, bytes] | None
Extra = Mapping[str, set[str]] | None


def load_source(
    source, assets: Assets = None, extra: Extra = None, urdf: Mapping[str, str] | None = None
) -> tuple[Node, str | None, Mapping[str, bytes]]:
    """Source tree, folder and files of a path, XML text, source tree or document.

    Args:
        extra: Attributes to let pass.
        urdf: Settings of the compiler for a URDF file that states none of its own.
    """
    files = dict(assets or {})
    if isinstance(source, Node):
        return _checked(_copy(source), assets, extra, urdf), _folder(source.file), files
    if isinstance(source, bytes) or (isinstance(source, str) and is_xml(source)):
        return _checked(read_xml(source), assets, extra, urdf), None, files
    if isinstance(source, str | os.PathLike):
        name = os.fspath(source)
        return *_load_file(in_archive(name) if zipfile.is_zipfile(name) else name, assets, extra, urdf), files
    document = getattr(source, "root", None)
    if document is None or not hasattr(document, "get_assets"):
        raise TypeError(f"cannot compile a {type(source).__name__}: give a path, XML text, source tree or document")
    root = to_source(document)
    return _checked(root, assets, extra), None, {**document.get_assets(), **files}


def in_archive(archive: str) -> str:
    """The address of the model in a zip: its only XML file, or the one named model.xml or as the zip is."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if name.endswith((".xml", ".urdf"))]
    likely = [name for name in names if PurePosixPath(name).stem in ("model", Path(archive).stem)]
    if len(names) == 1 or len(likely) == 1:
        return f"zip:{archive}!/{(likely if len(likely) == 1 else names)[0]}"
    raise ResourceError(
        f"{archive}: which of its {len(names)} XML files is the model? Name it: zip:{archive}!/{names[0]}"
        if names
        else f"{archive}: there is no XML file in it"
    )


def _copy(root: Node) -> Node:
    """A copy of a tree: compiling expands includes and settles options in place, and the caller's tree is his."""
    top = Node(root.tag, dict(root.attributes), [], root.file, root.line)
    stack = [(root, top)]
    while stack:
        old, new = stack.pop()
        for child in old.children:
            twin = new.add(Node(child.tag, dict(child.attributes), [], child.file, child.line))
            stack.append((child, twin))
    return top


def load_model(file: str, folder: str | None, assets: Assets = None, extra: Extra = None) -> tuple[Node, str | None]:
    """The source tree of a model asset, `file` relative to the document's folder."""
    return _load_file(file if folder is None else resources.resolve(file, folder), assets, extra)


def _load_file(
    name: str, assets: Assets, extra: Extra, urdf: Mapping[str, str] | None = None
) -> tuple[Node, str | None]:
    resource = resources.read(name, assets=assets)
    return _checked(read_xml(resource.data, file=name), assets, extra, urdf), _folder(name)


def _folder(file: str | None) -> str | None:
    return resources.getdir(file) or None if file else None


def _checked(root: Node, assets: Assets, extra: Extra, urdf: Mapping[str, str] | None = None) -> Node:
    """Expand includes in place, then validate against the schema, attributes of `extra` aside."""

    def open_file(name: str, main: str | None) -> tuple[bytes, str]:
        resource = resources.read(name, relative_to=main, assets=assets)
        return resource.data, os.path.abspath(resource.name) if os.path.exists(resource.name) else resource.name

    if root.tag == "robot":
        root = urdf_to_mjcf(root, urdf)
    if root.tag != "mujoco":
        raise CompileError(f"the root element must be 'mujoco', not {root.tag!r}", file=root.file, line=root.line)
    expand_includes(root, open_file)
    _drop_stray_bodies(root)
    aside = _set_aside(root, extra or {})
    validate(root)
    for node, attributes in aside:
        node.attributes.update(attributes)
    return root


def _drop_stray_bodies(root: Node) -> None:
    """Bodies that stand beside <worldbody> (a fragment meant for inclusion): MuJoCo passes over them."""
    stray = list(root.find("body", "frame", "replicate"))
    if stray:
        place = f"{stray[0].file or ''}:{stray[0].line}"
        warnings.warn(f"{place}: <{stray[0].tag}> outside <worldbody> is ignored, as MuJoCo does", stacklevel=2)
        root.children = [child for child in root.children if child not in stray]


def _set_aside(root: Node, extra: Mapping[str, set[str]]) -> list[tuple[Node, dict[str, str]]]:
    """Take attributes that the schema does not know out of a tree, to be put back."""
    if not extra:
        return []
    known = _known_attributes()
    aside = []
    for node in root.walk():
        wanted = extra.get(node.tag, set()) - known.get(node.tag, set())
        found = {name: node.attributes.pop(name) for name in wanted if name in node.attributes}
        if found:
            aside.append((node, found))
    return aside


@cache
def _known_attributes() -> dict[str, set[str]]:
    """MuJoCo's attributes of each tag."""
    known: dict[str, set[str]] = {}
    for path, spec in schema.walk():
        known.setdefault(path[-1] if path else "mujoco", set()).update(spec.attributes)
    return known
