"""The registry of decoders: from bytes to what they describe, by kind of asset and media type or extension.

A decoder takes a `Resource` and gives whatever its kind means (a mesh: vertices and faces; an image: pixels). It is
registered as a function or as ``"module:function"``, imported on first use, so that listing what can be read loads
nothing. The explicit content type of a document comes first, then the resource's own media type, then its extension.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kinema.errors import ResourceError
from kinema.resources.reading import Resource
from kinema.resources.uri import short

Decode = Callable[[Resource], Any]


@dataclass(frozen=True)
class Decoder:
    """One format of one kind of asset."""

    kind: str
    name: str
    media_types: tuple[str, ...]
    extensions: tuple[str, ...]
    target: Decode | str

    def __call__(self, resource: Resource) -> Any:
        target = self.target
        if isinstance(target, str):
            module, _, function = target.partition(":")
            target = getattr(importlib.import_module(module), function)
        return target(resource)


_decoders: dict[str, list[Decoder]] = {}


def register_decoder(
    kind: str, name: str, *, media_types: tuple[str, ...], extensions: tuple[str, ...], decode: Decode | str
) -> Decoder:
    """Read assets of ``kind`` ("mesh", "image", "hfield", "skin", …) of these types with ``decode``.

    The same registration again does nothing; another decoder for a type that is already served is an error.
    """
    new = Decoder(kind, name, tuple(t.lower() for t in media_types), tuple(e.lower() for e in extensions), decode)
    known = _decoders.setdefault(kind, [])
    for old in known:
        if old == new:
            return old
        taken = set(old.media_types + old.extensions) & set(new.media_types + new.extensions)
        if taken:
            raise ResourceError(f"{sorted(taken)} of kind {kind!r} is already read by the decoder {old.name!r}")
    known.append(new)
    return new


def find_decoder(kind: str, resource: Resource, *, content_type: str | None = None) -> Decoder:
    """The decoder for a resource.

    Raises:
        ResourceError: no decoder of that kind reads this type; the message lists those there are.
    """
    known = _decoders.get(kind, [])
    declared = (content_type or resource.media_type or "").partition(";")[0].strip().lower()
    for decoder in known:
        if declared and declared in decoder.media_types:
            return decoder
    # an explicit content type is final, a guessed one is not
    if not content_type:
        for decoder in known:
            if resource.extension in decoder.extensions:
                return decoder
    formats = ", ".join(f"{d.name} ({', '.join(d.extensions + d.media_types)})" for d in known) or "none"
    what = declared or resource.extension or "no extension and no media type"
    raise ResourceError(f"no decoder found for {kind} {short(resource.name)!r} ({what}); readable are: {formats}")


def decode(kind: str, resource: Resource, *, content_type: str | None = None) -> Any:
    """Decode a resource as an asset of ``kind``."""
    return find_decoder(kind, resource, content_type=content_type)(resource)
