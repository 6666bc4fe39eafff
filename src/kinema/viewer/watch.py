"""Watching the files a model is made of: the document, what it includes, its meshes, textures and height fields.

A file that an attribute names is looked for beside the document, beside the file that names it, and in the folders that
any `<compiler>` names; only what exists is watched.
"""

from __future__ import annotations

from pathlib import Path

from kinema.errors import KinemaError
from kinema.mjcf.source import read_xml

FOLDERS = ("meshdir", "texturedir", "assetdir")
FILES = ("file", "filename", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
DOCUMENTS = (".xml", ".mjcf", ".urdf")


class Watch:
    """Tells when a file of a model changed.

    Args:
        source: The document's file.
    """

    def __init__(self, source: Path):
        self.source = Path(source)
        self.stamps = _stamps(files_of(self.source))

    def changed(self) -> bool:
        """Whether any file changed since this was last asked."""
        stamps = _stamps(self.stamps)
        if stamps == self.stamps:
            return False
        # a document that cannot be read just now names no files: go on watching those it named
        self.stamps = _stamps(files_of(self.source) | set(self.stamps))
        return True


def _stamps(files) -> dict[Path, tuple[int, int] | None]:
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def files_of(source: Path) -> set[Path]:
    """The document, and all files it and the documents it names name, as far as they exist."""
    found, waiting, folders, named = {source}, [source], {source.parent}, set()
    while waiting:
        file = waiting.pop()
        folders.add(file.parent)
        for attributes in _attributes(file):
            folders |= {base / attributes[name] for base in set(folders) for name in FOLDERS if name in attributes}
            named |= {attributes[name] for name in FILES if name in attributes}
        reached = {path for folder in folders for name in named if (path := folder / name).is_file()} - found
        found |= reached
        waiting += [path for path in reached if path.suffix.lower() in DOCUMENTS]
    return found


def _attributes(file: Path) -> list[dict[str, str]]:
    """Attributes of all elements of a document; none where it cannot be read."""
    try:
        return [node.attributes for node in read_xml(file.read_bytes(), file=str(file)).walk()]
    except (KinemaError, OSError):
        return []
