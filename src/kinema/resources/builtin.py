"""The built-in providers: file, memory, data and zip. They use the public protocol and nothing else.

    file:/abs/model.xml   file:///abs/model.xml   file:rel/model.xml
    memory:a/model.xml                    bytes put in `memory` by the program itself
    data:model/obj;base64,I215…           RFC 2397; the media type chooses the decoder
    zip:robots.zip!/arm/model.xml         a member of an archive on disk (or of one in `memory:`)
"""

from __future__ import annotations

import base64
import binascii
import os
import zipfile
from collections.abc import Iterator, MutableMapping
from io import BytesIO
from urllib.parse import unquote, unquote_to_bytes

from kinema.errors import ResourceError, did_you_mean
from kinema.resources.provider import OpenResource, find_provider, register_provider
from kinema.resources.uri import directory_of, normal_path, rest_of, scheme_of

MAX_BYTES = 1 << 30  # larger archive members are refused: a small zip can hold a file of any size


def file_stamp(path: str) -> str:
    """What changes when a file is written: its size, time and inode."""
    status = os.stat(path)
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


# file -----------------------------------------------------------------------------------------------------------------


def file_path(name: str) -> str:
    """The path a ``file:`` name or an ordinary path stands for."""
    if scheme_of(name) != "file":
        return name
    rest = rest_of(name)
    if rest.startswith("//"):  # file://host/path: only this machine
        host, _, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise ResourceError(f"{name!r} names the host {host!r}; a file: URI can only name this machine")
        rest = "/" + path
    return unquote(rest)


def _file_open(resource: OpenResource) -> bool:
    path = file_path(resource.name)
    if not os.path.isfile(path):
        return False
    resource.data, resource.timestamp = path, file_stamp(path)
    return True


def _file_read(resource: OpenResource) -> bytes:
    with open(resource.data, "rb") as file:
        return file.read()


def _forget(resource: OpenResource) -> None:
    resource.data = None


def _stamp_differs(resource: OpenResource, timestamp: str) -> bool:
    return resource.timestamp != timestamp


# memory ---------------------------------------------------------------------------------------------------------------


class MemoryStore(MutableMapping[str, bytes]):
    """Bytes by name, read as ``memory:<name>``. ``memory["a/m.obj"] = data`` is all it takes."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[bytes, int]] = {}
        self._version = 0

    def __setitem__(self, name: str, data: bytes) -> None:
        self._version += 1
        self._entries[normal_path(name)] = (bytes(data), self._version)

    def __getitem__(self, name: str) -> bytes:
        return self._entries[normal_path(name)][0]

    def __delitem__(self, name: str) -> None:
        del self._entries[normal_path(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def version(self, name: str) -> int:
        """A number that changes whenever the entry is set again."""
        return self._entries[normal_path(name)][1]


memory = MemoryStore()


def _memory_open(resource: OpenResource) -> bool:
    store, name = resource.provider.data, normal_path(rest_of(resource.name))
    if name not in store:
        raise ResourceError(
            f"nothing named {name!r} in memory{did_you_mean(name, store)}; "
            f"put it there with resources.memory[{name!r}] = data"
        )
    resource.data, resource.timestamp = store[name], str(store.version(name))
    return True


def _memory_read(resource: OpenResource) -> bytes:
    return resource.data


# data -----------------------------------------------------------------------------------------------------------------


def parse_data_uri(name: str) -> tuple[str, bytes]:
    """Media type and bytes of a ``data:[<type>][;attribute=value]*[;base64],<data>`` URI (RFC 2397)."""
    head, comma, body = rest_of(name).partition(",")
    if not comma:
        raise ResourceError(f"{name[:60]!r} is not a data: URI: no comma between the media type and the data")
    media_type, *parameters = [part.strip() for part in head.split(";")]
    if media_type and media_type.count("/") != 1:
        raise ResourceError(f"data: URI with the media type {media_type!r}; expected type/subtype such as 'model/obj'")
    encoding = parameters[-1].lower() if parameters else ""
    if encoding and "=" not in encoding and encoding != "base64":
        raise ResourceError(
            f"data: URI with the unknown encoding {encoding!r}{did_you_mean(encoding, ['base64'])} "
            "(only 'base64', or nothing for percent-encoded text)"
        )
    if encoding != "base64":
        return media_type.lower() or "text/plain", unquote_to_bytes(body)
    try:
        # XML may have wrapped the text; percent escapes are legal in any URI
        text = "".join(unquote(body).split())
        return media_type.lower() or "text/plain", base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ResourceError(f"data: URI ({media_type or 'text/plain'}) with bad base64 data: {error}") from None


def _data_open(resource: OpenResource) -> bool:
    resource.media_type, resource.data = parse_data_uri(resource.name)
    return True


def _no_folder(name: str) -> str:
    return ""


# zip ------------------------------------------------------------------------------------------------------------------


def _split_archive(name: str) -> tuple[str, str]:
    """The archive and the member that ``zip:archive!/member`` names."""
    archive, mark, member = rest_of(name).rpartition("!/")
    if not mark or not archive:
        raise ResourceError(f"{name!r} does not name a file in an archive; write zip:archive.zip!/folder/file")
    return archive, normal_path(member)


def _archive_bytes(archive: str) -> tuple[str, str | BytesIO]:
    """A stamp for the archive, and something ZipFile can open."""
    server = find_provider(archive)
    if server is None or server.prefix == "file":
        path = file_path(archive)
        if not os.path.isfile(path):
            raise ResourceError(f"there is no archive {archive!r}")
        return file_stamp(path), path
    inner = OpenResource(archive, server)
    if not server.open(inner):
        raise ResourceError(f"there is no archive {archive!r}")
    try:
        data = server.read(inner)
        if data is None:
            raise ResourceError(f"the archive {archive!r} could not be read")
        return inner.timestamp, BytesIO(data)
    finally:
        server.close(inner)


def _zip_open(resource: OpenResource) -> bool:
    archive, member = _split_archive(resource.name)
    stamp, source = _archive_bytes(archive)
    try:
        opened = zipfile.ZipFile(source)
    except zipfile.BadZipFile as error:
        raise ResourceError(f"{archive!r} is not a zip archive: {error}") from None
    try:
        entry = opened.getinfo(member)
    except KeyError:
        opened.close()
        raise ResourceError(
            f"no file {member!r} in the archive {archive!r}{did_you_mean(member, opened.namelist())}"
        ) from None
    if entry.file_size > MAX_BYTES:
        opened.close()
        raise ResourceError(f"{member!r} in {archive!r} unpacks to {entry.file_size} bytes; the limit is {MAX_BYTES}")
    resource.data, resource.timestamp = (opened, entry), f"{stamp}-{entry.CRC}"
    return True


def _zip_read(resource: OpenResource) -> bytes:
    opened, entry = resource.data
    try:
        return opened.read(entry)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # damaged, encrypted, odd compression
        raise ResourceError(f"{resource.name!r} cannot be unpacked: {error}") from None


def _zip_close(resource: OpenResource) -> None:
    resource.data[0].close()
    resource.data = None


def _zip_folder(name: str) -> str:
    """The member's folder, never above the archive's own root."""
    archive, _, member = name.rpartition("!/")
    return f"{archive}!/{directory_of(member)}"


FILE = register_provider("file", open=_file_open, read=_file_read, close=_forget, modified=_stamp_differs)
register_provider("memory", open=_memory_open, read=_memory_read, close=_forget, modified=_stamp_differs, data=memory)
register_provider("data", open=_data_open, read=_memory_read, close=_forget, getdir=_no_folder)
register_provider("zip", open=_zip_open, read=_zip_read, close=_zip_close, getdir=_zip_folder, modified=_stamp_differs)
