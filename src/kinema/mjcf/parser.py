"""From XML to a document.

The text becomes a source tree (`source`), includes are expanded, and the tree is turned into elements one by one.
Errors keep their type and say the file, the line and the path of the element they come from.
"""

from __future__ import annotations

import io
import lzma
import os
import struct
import zipfile
import zlib
from typing import Any

from kinema.errors import BadValue, DocumentError, UnknownAttribute, UnknownElement, did_you_mean
from kinema.mjcf import debugging, files, schema
from kinema.mjcf.constants import PREFIX_SEPARATOR, PREFIX_SEPARATOR_ESCAPE
from kinema.mjcf.element import RootElement
from kinema.mjcf.source import Node, expand_includes, read_xml

MAX_ZIP_BYTES = 2 * 2**30

# What the zipfile module raises for archives that are broken, encrypted or of an unknown kind.
_UNREADABLE: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(ArithmeticError, EOFError, OSError, RuntimeError, ValueError),
)

# Attributes whose slashes are paths or free text rather than scopes.
_UNESCAPED = frozenset(
    ["data", "file", "meshdir", "assetdir", "texturedir", "content_type", "fileleft", "fileright", "fileback"]
    + ["filefront", "fileup", "filedown", "plugin", "key", "value"]
)


def from_xml_string(
    xml_string: str | bytes,
    escape_separators: bool = False,
    model_dir: str = "",
    resolve_references: bool = True,
    assets: dict[str, bytes] | None = None,
) -> RootElement:
    """A document from text.

    Args:
        xml_string: The XML.
        escape_separators: Whether ``/`` in names becomes ``\\``; otherwise it is an error, being reserved for scopes.
        model_dir: Folder that files are relative to.
        resolve_references: Whether references by name become references to elements where these exist.
        assets: Files given as bytes, by name, looked up before the file system; included files too.
    """
    tree = read_xml(xml_string)
    return _document(tree, escape_separators, model_dir, resolve_references, assets)


def from_file(
    file_handle: Any,
    escape_separators: bool = False,
    model_dir: str = "",
    resolve_references: bool = True,
    assets: dict[str, bytes] | None = None,
) -> RootElement:
    """A document from an open file or a path; arguments as for `from_xml_string`."""
    if isinstance(file_handle, str | os.PathLike):
        name, text = os.fspath(file_handle), files.read(os.fspath(file_handle)).data
    else:
        name, text = getattr(file_handle, "name", None), file_handle.read()
    tree = read_xml(text, file=name if isinstance(name, str) else None)
    return _document(tree, escape_separators, model_dir, resolve_references, assets)


def from_path(
    path: str | os.PathLike,
    escape_separators: bool = False,
    resolve_references: bool = True,
    assets: dict[str, bytes] | None = None,
) -> RootElement:
    """A document from a file or URI; other files are relative to its folder. Arguments as for `from_xml_string`."""
    name = os.fspath(path)
    tree = read_xml(files.read(name).data, file=name)
    return _document(tree, escape_separators, files.folder_of(name), resolve_references, assets)


def from_zip(
    path: str | os.PathLike,
    model_file: str = "model.xml",
    escape_separators: bool = False,
    resolve_references: bool = True,
) -> RootElement:
    """A document from a zip file that holds it and its files.

    Args:
        path: The zip file.
        model_file: Which XML file is the model, when there are several.
        escape_separators: As for `from_xml_string`.
        resolve_references: As for `from_xml_string`.
    """
    contents = _unzipped(path)
    names = [name for name in contents if name.endswith(".xml")]
    if not names:
        raise BadValue(f"No XML file found in {path}.")
    main = names[0] if len(names) == 1 else next((name for name in names if name == model_file), None)
    if main is None:
        raise BadValue(f"Multiple XML files found in {path}, but none named {model_file}.")
    tree = read_xml(contents.pop(main), file=f"{os.fspath(path)}/{main}")
    folder = os.path.dirname(main)
    assets = {os.path.relpath(name, folder) if folder else name: data for name, data in contents.items()}
    return _document(tree, escape_separators, "", resolve_references, assets)


def _unzipped(path: str | os.PathLike) -> dict[str, bytes]:
    """The files of an archive, by name."""
    data = files.read(os.fspath(path)).data
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise BadValue(f"File {path} is not a zip file.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MAX_ZIP_BYTES:
                raise BadValue(f"File {path} holds {size} bytes, more than the limit of {MAX_ZIP_BYTES}.")
            return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    except BadValue:
        raise
    except _UNREADABLE as error:
        raise BadValue(f"File {path} is not a zip file that can be read: {error}") from error


# ---------------------------------------------------------------- the tree


def _document(
    tree: Node, escape_separators: bool, model_dir: str, resolve_references: bool, assets: dict[str, bytes] | None
) -> RootElement:
    if not tree.tag.startswith("mujoco"):
        raise BadValue(
            f"Root element of the XML should be <mujoco.*>: got <{tree.tag}>", file=tree.file, line=tree.line
        )
    with debugging.freeze_current_stack_trace():
        expand_includes(tree, _opener(model_dir, assets or {}))
        root = RootElement(tree.attributes.get("model"), model_dir, assets)
        root.set_source((tree.file, tree.line))
        for name in tree.attributes:
            if name != "model":
                hint = did_you_mean(name, ["model"])
                message = f"{name!r} is not a valid attribute for <{tree.tag}>{hint}"
                raise UnknownAttribute(message, file=tree.file, line=tree.line)
        # Folders of files are needed to read them, wherever in the file <compiler> stands.
        tree.children.sort(key=lambda child: child.tag != "compiler")
        _fill(root, tree, escape_separators)
        if resolve_references:
            root.resolve_references()
    return root


def _opener(model_dir: str, assets: dict[str, bytes]) -> Any:
    def open_file(name: str, relative_to: str | None) -> tuple[bytes, str]:
        if name in assets:
            return assets[name], name
        path = files.join(files.folder_of(relative_to) if relative_to else model_dir, name)
        return files.read(path).data, path

    return open_file


def _fill(root: RootElement, tree: Node, escape_separators: bool) -> None:
    """Make an element of every node, parents before children, in document order."""
    todo: list[tuple[Node, Any]] = [(tree, root)]
    while todo:
        node, element = todo.pop()
        made = []
        for child in node.children:
            made.append((child, _child(child, element, escape_separators)))
        todo.extend(reversed(made))


def _child(node: Node, parent: Any, escape_separators: bool) -> Any:
    try:
        spec = parent._spec.children.get(node.tag)
        if spec is None:
            raise UnknownElement(schema.unknown_child(node.tag, parent._spec))
        attributes = dict(node.attributes)
        if escape_separators:
            attributes = {name: _escape(name, value) for name, value in attributes.items()}
        source = (node.file, node.line)
        if spec.repeated or spec.on_demand:
            return parent._insert(node.tag, None, attributes, source)
        child = parent._single(node.tag)
        child.set_source(source)
        if attributes:
            child.set_attributes(**attributes)
        return child
    except DocumentError as error:
        message = f"Line {node.line}: error while parsing element <{node.tag}>: {error.message}"
        raise type(error)(message, file=node.file, line=node.line, path=node.path) from error


def _escape(name: str, value: str) -> str:
    if name in _UNESCAPED:
        return value
    doubled = value.replace(PREFIX_SEPARATOR_ESCAPE, PREFIX_SEPARATOR_ESCAPE * 2)
    return doubled.replace(PREFIX_SEPARATOR, PREFIX_SEPARATOR_ESCAPE)
