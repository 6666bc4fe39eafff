"""From what a user hands in to a source tree with its includes expanded, and the folder its files are relative to."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kinema import resources
from kinema.errors import CompileError
from kinema.mjcf.source import Node, expand_includes, read_xml
from kinema.mjcf.validate import validate

Assets = Mapping[str, bytes] | None


def load_source(source, assets: Assets = None) -> tuple[Node, str | None]:
    """Source tree and folder of a path, XML text, source tree or document."""
    if isinstance(source, Node):
        return _checked(source, assets), _folder(source.file)
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip().startswith("<")):
        return _checked(read_xml(source), assets), None
    if isinstance(source, str | os.PathLike):
        return _load_file(os.fspath(source), assets)
    from kinema.mjcf import to_source  # a document of any kind

    root = to_source(source)
    return _checked(root, assets), _folder(root.file)


def load_model(file: str, folder: str | None, assets: Assets = None) -> tuple[Node, str | None]:
    """The source tree of a model asset, `file` relative to the document's folder."""
    return _load_file(file if folder is None else resources.resolve(file, folder), assets)


def _load_file(name: str, assets: Assets) -> tuple[Node, str | None]:
    resource = resources.read(name, assets=assets)
    return _checked(read_xml(resource.data, file=name), assets), _folder(name)


def _folder(file: str | None) -> str | None:
    return resources.getdir(file) or None if file else None


def _checked(root: Node, assets: Assets) -> Node:
    """Expand includes in place, then validate against the schema."""

    def open_file(name: str, main: str | None) -> tuple[bytes, str]:
        resource = resources.read(name, relative_to=main, assets=assets)
        return resource.data, os.path.realpath(resource.name) if os.path.exists(resource.name) else resource.name

    if root.tag != "mujoco":
        raise CompileError(f"the root element must be 'mujoco', not {root.tag!r}", file=root.file, line=root.line)
    expand_includes(root, open_file)
    validate(root)
    return root
