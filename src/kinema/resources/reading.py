"""Reading a resource by name: resolve it, find who serves it, read it once.

    read(name)  =  assets[resolved]  or  provider(resolved)  or  assets by base name  or  fsspec  or  the file

which is MuJoCo's order for its virtual file system. Providers that can tell whether a resource changed (`modified`) are
read once: the bytes are kept, and a second read costs one open.
"""

from __future__ import annotations

import os
import posixpath
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from kinema.errors import ResourceError, did_you_mean
from kinema.resources.builtin import FILE, file_path
from kinema.resources.foreign import foreign_provider
from kinema.resources.provider import OpenResource, Provider, find_provider
from kinema.resources.uri import directory_of, is_absolute_path, join, normal_path, scheme_of, short

MEDIA_TYPES = {
    ".stl": "model/stl",
    ".obj": "model/obj",
    ".ply": "model/ply",
    ".msh": "model/vnd.mujoco.msh",
    ".gmsh": "model/vnd.gmsh",
    ".png": "image/png",
    ".ktx": "image/ktx",
    ".skn": "application/vnd.mujoco.skin",
    ".xml": "text/xml",
    ".mjcf": "text/xml",
    ".urdf": "text/xml",
}
EXTENSIONS = {"image/vnd.mujoco.hfield": ".hfield", "image/vnd.mujoco.texture": ".tex", "model/x.stl-binary": ".stl"}
EXTENSIONS.update({media_type: extension for extension, media_type in reversed(MEDIA_TYPES.items())})

CACHE_BYTES = 256 << 20


@dataclass(frozen=True)
class Resource:
    """Bytes and what they are.

    Attributes:
        name: The resolved name: a path, a URI or the key of an asset.
        data: The content.
        media_type: ``type/subtype`` in lower case, from a data: URI or else from the extension; None if unknown.
        extension: ``.obj`` and so on in lower case, from the name or else from the media type; may be empty.
    """

    name: str
    data: bytes
    media_type: str | None
    extension: str


class _ContentCache:
    """The latest bytes read, by name, with the provider's timestamp; least recently used goes first."""

    def __init__(self, limit: int):
        self._limit, self._total = limit, 0
        self._entries: OrderedDict[str, tuple[Provider, str, Resource]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> tuple[Provider, str, Resource] | None:
        with self._lock:
            if name in self._entries:
                self._entries.move_to_end(name)
            return self._entries.get(name)

    def put(self, name: str, provider: Provider, timestamp: str, resource: Resource) -> None:
        with self._lock:
            old = self._entries.pop(name, None)
            self._total += len(resource.data) - (len(old[2].data) if old else 0)
            self._entries[name] = (provider, timestamp, resource)
            while self._total > self._limit and self._entries:
                _, (_, _, dropped) = self._entries.popitem(last=False)
                self._total -= len(dropped.data)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._total = 0


_cache = _ContentCache(CACHE_BYTES)


def clear_cache() -> None:
    """Forget all bytes kept from earlier reads."""
    _cache.clear()


def getdir(name: str) -> str:
    """The folder of a resource, from which relative names inside it are resolved; empty, or ends with a separator."""
    provider = find_provider(name)
    if provider is not None and provider.getdir is not None:
        return provider.getdir(name)
    foreign = provider or (foreign_provider(name) if scheme_of(name) else None)
    return directory_of(name, scheme=foreign.prefix if foreign else None)


def resolve(uri: str | os.PathLike[str], relative_to: str | os.PathLike[str] | None = None) -> str:
    """The full name of ``uri`` as written inside the resource ``relative_to``.

    Args:
        uri: A URI, an absolute path (both stand as they are) or a relative name.
        relative_to: The *resource* that names it, such as the model's XML file, or a folder with a trailing slash.
    """
    name = os.fspath(uri)
    if relative_to is None or find_provider(name) is not None or is_absolute_path(name):
        return name
    if scheme_of(name) is not None and foreign_provider(name) is not None:
        return name
    full = join(getdir(os.fspath(relative_to)), name)
    # a step up leaves a folder by its name, as in MuJoCo: one that is a link is left from where the link stands
    return posixpath.normpath(full) if "/../" in full and scheme_of(full) is None else full


def read(
    uri: str | os.PathLike[str],
    relative_to: str | os.PathLike[str] | None = None,
    assets: Mapping[str, bytes] | None = None,
) -> Resource:
    """The content of a resource.

    Args:
        uri: What a document or a program names: a URI, a path, or a name relative to ``relative_to``.
        relative_to: The resource the name is written in; see `resolve`.
        assets: Files by name that come before everything else, as MuJoCo's ``assets`` argument: first by the resolved
            name, and where no provider claims it by the base name without case.

    Raises:
        ResourceError: with the name, the reason and what to do.
    """
    name = resolve(uri, relative_to)
    provider = find_provider(name)
    key = _asset_key(name, os.fspath(uri), assets, by_base_name=provider is None)
    if key is not None and assets is not None:
        return _resource(key, bytes(assets[key]), None)
    provider = provider or foreign_provider(name) or FILE
    return _read_from(provider, name, os.fspath(uri))


def _asset_key(name: str, written: str, assets: Mapping[str, bytes] | None, *, by_base_name: bool) -> str | None:
    if not assets:
        return None
    for candidate in (name, written):
        if candidate in assets:
            return candidate
    if not by_base_name:
        return None
    normal = normal_path(name)
    base = posixpath.basename(normal).lower()
    by_base = None
    for key in assets:
        normal_key = normal_path(key)
        if normal_key == normal:
            return key
        if by_base is None and posixpath.basename(normal_key).lower() == base:
            by_base = key
    return by_base


def _read_from(provider: Provider, name: str, written: str) -> Resource:
    resource = OpenResource(name, provider)
    try:
        found = provider.open(resource)
    except ResourceError:
        raise
    except OSError as error:
        raise ResourceError(f"cannot open {short(name)!r}: {error}") from error
    if not found:
        raise ResourceError(_not_found(provider, name, written))
    try:
        kept = _cache.get(name) if provider.modified is not None else None
        if kept is not None and kept[0] is provider and provider.modified is not None:
            if not provider.modified(resource, kept[1]):
                return kept[2]
        data = provider.read(resource)
        if data is None:
            raise ResourceError(f"cannot read {short(name)!r}: its provider {provider.prefix!r} reported a failure")
        result = _resource(name, bytes(data), resource.media_type)
        if provider.modified is not None:
            _cache.put(name, provider, resource.timestamp, result)
        return result
    except ResourceError:
        raise
    except OSError as error:
        raise ResourceError(f"cannot read {short(name)!r}: {error}") from error
    finally:
        provider.close(resource)


def _resource(name: str, data: bytes, media_type: str | None) -> Resource:
    known = media_type is not None
    extension = "" if known else os.path.splitext(name)[1].lower()
    if known:
        extension = EXTENSIONS.get(media_type or "", "")
    return Resource(name, data, media_type or MEDIA_TYPES.get(extension), extension)


def _not_found(provider: Provider, name: str, written: str) -> str:
    """Why a name has nothing behind it, with the nearest name in its folder."""
    if provider is not FILE:
        return f"cannot open {short(name)!r}: its provider {provider.prefix!r} has no such resource"
    path = file_path(name)
    folder = os.path.dirname(path) or "."
    text = f"cannot open {short(name)!r}: " + ("it is a folder" if os.path.isdir(path) else "there is no such file")
    if written != name:
        text += f" (written as {written!r})"
    if not os.path.isdir(folder):
        return f"{text}; the folder {folder!r} does not exist either"
    base, stem = os.path.basename(path), os.path.splitext(os.path.basename(path))[0].lower()
    near = [entry for entry in sorted(os.listdir(folder)) if os.path.splitext(entry)[0].lower() == stem]
    hint = f"; did you mean {near[0]!r}?" if near and near[0] != base else did_you_mean(base, os.listdir(folder))
    scheme = scheme_of(name)
    if not hint and scheme and len(scheme) > 1 and scheme != "file":
        hint = f"; no provider is registered for the scheme {scheme!r}"
    return text + hint
