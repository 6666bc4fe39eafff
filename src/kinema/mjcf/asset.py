"""Files a document carries: meshes, textures, height fields, skins, as bytes named by their content.

In the written document a file is `name-sha1.ext`, so equal files are one and different files never clash.
"""

from __future__ import annotations

import contextvars
import hashlib
import os
from typing import TYPE_CHECKING

from kinema.errors import BadValue
from kinema.mjcf import files
from kinema.mjcf import skin as skin_file
from kinema.mjcf.constants import MAX_VFS_FILENAME_LENGTH, WORLD

if TYPE_CHECKING:
    from kinema.mjcf.base import Element
    from kinema.mjcf.namescope import NameScope

# Contents of the model files being read, outermost first: a model may not hold itself.
_models_being_read: contextvars.ContextVar[tuple[bytes, ...]] = contextvars.ContextVar("models", default=())

MESH_EXTENSIONS = (".stl", ".msh", ".obj")


class BaseAsset:
    """Bytes with a file extension and, usually, the stem of the name they had."""

    __slots__ = ("extension", "prefix")
    contents: bytes | str

    def __init__(self, extension: str, prefix: str = ""):
        self.extension = extension
        self.prefix = prefix

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseAsset) and self.get_vfs_filename() == other.get_vfs_filename()

    def __hash__(self) -> int:
        return hash(self.get_vfs_filename())

    def digest(self) -> str:
        return _sha1(self.contents)

    def get_vfs_filename(self, filename_with_hash: bool = True) -> str:
        """The name of the file in the written document and in MuJoCo's virtual file system."""
        digest = self.digest()
        if not self.prefix:
            return digest + self.extension
        room = MAX_VFS_FILENAME_LENGTH - len(digest) - len(self.extension) - 1
        prefix = self.prefix[:room]
        return (f"{prefix}-{digest}" if filename_with_hash else prefix) + self.extension


class Asset(BaseAsset):
    """A file given as bytes.

    Args:
        contents: What is in the file.
        extension: Its extension with the dot, such as ``.png``.
        prefix: What its written name begins with.
    """

    __slots__ = ("_contents", "_digest")

    def __init__(self, contents: bytes | str, extension: str, prefix: str = ""):
        super().__init__(extension, prefix)
        self.contents = contents

    @property
    def contents(self) -> bytes | str:  # type: ignore[override]
        return self._contents

    @contents.setter
    def contents(self, contents: bytes | str) -> None:
        self._contents = contents
        self._digest: str | None = None

    def digest(self) -> str:
        if self._digest is None:
            self._digest = _sha1(self._contents)
        return self._digest


class SkinAsset(BaseAsset):
    """A skin file. It names bodies, so its bytes follow their names when the model is attached or they are renamed."""

    __slots__ = ("skin", "parent", "raw", "_bodies", "_cached_revision", "_cached_contents")

    def __init__(self, contents: bytes, parent: Element, extension: str, prefix: str = ""):
        super().__init__(extension, prefix)
        self.raw = contents
        self.parent = parent
        self.skin = skin_file.parse(contents, self._body)
        self._bodies: dict[str, Element] = {}
        self._cached_revision = -1
        self._cached_contents = b""

    def _body(self, name: str) -> Element:
        found = self._bodies.get(name)
        if found is None or found.is_removed:
            root = self.parent.root
            found = root.worldbody if name == WORLD else root.find("body", name)
            if found is None:
                file = self.prefix + self.extension
                raise BadValue(f"skin file {file!r} names the body {name!r}, which is not in the model")
            self._bodies[name] = found
        return found

    def resolve(self) -> None:
        """Tie the bones to the bodies now of these names, so that later renaming is followed."""
        for bone in self.skin.bones:
            try:
                bone.body()
            except BadValue:
                continue  # the body may be added later; writing the skin will tell if it never is

    def copy_for(self, parent: Element) -> SkinAsset:
        """The same skin for another model's element, with bodies looked up by their present names."""
        renamed = {name: body for name, body in self._bodies.items() if not body.is_removed}
        copy = SkinAsset(self.raw, parent, self.extension, self.prefix)
        copy.skin = skin_file.parse(self.raw, lambda name: copy._body(_own_name(renamed.get(name), name)))
        return copy

    @property
    def contents(self) -> bytes:  # type: ignore[override]
        revision = self.parent.namescope.revision
        if self._cached_revision != revision:
            self._cached_contents = skin_file.serialize(self.skin)
            self._cached_revision = revision
        return self._cached_contents


class ModelAsset(BaseAsset):
    """Another model's file, for <attach>. It is written as a document of its own, and brings its files along."""

    __slots__ = ("document", "raw")

    def __init__(self, contents: bytes, extension: str, prefix: str, folder: str, assets: dict):
        from kinema.mjcf import parser  # a model may hold models: the parser is above this module

        super().__init__(extension, prefix)
        self.raw = contents
        above = _models_being_read.get()
        if contents in above:
            raise BadValue(f"model file {prefix + extension!r} holds itself")
        token = _models_being_read.set((*above, contents))
        try:
            self.document = parser.from_xml_string(contents, model_dir=folder, assets=assets, escape_separators=True)
        finally:
            _models_being_read.reset(token)

    @property
    def contents(self) -> bytes:  # type: ignore[override]
        return self.document.to_xml_string().encode()

    def get_assets(self) -> dict[str, bytes]:
        return self.document.get_assets()


def _own_name(body: Element | None, name: str) -> str:
    return name if body is None or body.tag == "worldbody" else body.name or name


def _sha1(contents: bytes | str) -> str:
    data = contents.encode() if isinstance(contents, str) else contents
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


# ---------------------------------------------------------------- from a path to an asset


def base_path(scope: NameScope, kind: str | None) -> str | None:
    """The folder that files of a kind are in: meshdir or texturedir, else assetdir."""
    for namespace in (kind, "asset") if kind else ():
        if scope.has_identifier("basepath", namespace):
            return scope.get("basepath", namespace)
    return None


def load(path: str, kind: str | None, element: Element) -> BaseAsset:
    """Read the file that an attribute names.

    It is looked up among the assets given as bytes, then under the folder of the model and of the kind of file. For an
    element of an included file it is at last looked up beside that file. These are MuJoCo's rules.
    """
    scope = element.namescope
    full_path = files.join(base_path(scope, kind) or "", path)
    for name in (path, full_path):
        if name in scope.assets:
            contents, extension = scope.assets[name], os.path.splitext(name)[1]
            break
    else:
        tries = [files.join(scope.model_dir, full_path)]
        if element.source_file and element.source_file != element.root.source_file:
            tries.append(files.join(files.folder_of(element.source_file), path))
        resource = files.read(*tries)
        contents, extension = resource.data, os.path.splitext(path)[1]
        if resource.media_type and resource.extension and path.startswith("data:"):
            extension = resource.extension
    stem = "" if path.startswith("data:") else os.path.splitext(os.path.basename(path))[0]
    if element.tag == "skin":
        return SkinAsset(contents, element, extension, stem)
    if element.tag == "model":
        folder = files.folder_of(files.join(scope.model_dir, path))
        return ModelAsset(contents, extension, stem, folder, scope.assets)
    return Asset(contents, extension, stem)


def check_extension(tag: str, extension: str) -> None:
    if tag == "mesh" and extension.lower() not in MESH_EXTENSIONS:
        raise BadValue(f"Mesh files must have one of the following extensions: {MESH_EXTENSIONS}, got {extension}.")
