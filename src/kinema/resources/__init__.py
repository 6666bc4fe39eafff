"""Where bytes come from: providers by URI scheme, and decoders by media type.

>>> from kinema import resources
>>> resources.memory["a/cube.obj"] = b"v 0 0 0 ..."
>>> resources.read("cube.obj", relative_to="memory:a/model.xml").media_type
'model/obj'

Served: plain paths and ``file:``, ``memory:``, ``data:``, ``zip:archive.zip!/member``, whatever `register_provider`
adds, and fsspec's schemes where `allow_schemes` permits them. See provider.py for writing a provider.
"""

from kinema.errors import ResourceError
from kinema.resources.builtin import memory
from kinema.resources.decoder import Decoder, decode, find_decoder, register_decoder
from kinema.resources.foreign import allow_schemes
from kinema.resources.provider import (
    OpenResource,
    Provider,
    find_provider,
    provider,
    register_provider,
    registered_prefixes,
    unregister_provider,
)
from kinema.resources.reading import Resource, clear_cache, getdir, read, resolve
from kinema.resources.uri import join

__all__ = [
    "Decoder",
    "OpenResource",
    "Provider",
    "Resource",
    "ResourceError",
    "allow_schemes",
    "clear_cache",
    "decode",
    "find_decoder",
    "find_provider",
    "getdir",
    "join",
    "memory",
    "provider",
    "read",
    "register_decoder",
    "register_provider",
    "registered_prefixes",
    "resolve",
    "unregister_provider",
]
