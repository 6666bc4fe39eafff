"""Schemes nobody registered: fsspec serves them, if it is installed and the program allowed them.

A document from the net must not be able to make this machine fetch things, so only schemes that stay on the machine
(`LOCAL`) work unasked. Everything else needs `allow_schemes("https")` first, by the program, not by a document. Chained
names such as ``simplecache::https://…`` need every link allowed.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import TracebackType

from kinema.errors import ResourceError
from kinema.resources.provider import OpenResource, Provider
from kinema.resources.uri import scheme_of

LOCAL = frozenset({"tar", "libarchive", "blockcache", "filecache", "simplecache", "local"})
# Schemes people write that are never an ordinary path, so that a missing fsspec is not reported as a missing file.
WELL_KNOWN = frozenset(
    "http https ftp ftps sftp ssh s3 s3a gs gcs abfs abfss adl az hdfs webhdfs smb github git hf oss".split()
)

_allowed: set[str] = set()


class _Allowance:
    """What `allow_schemes` returns: nothing to do, or a ``with`` block that takes the permission back."""

    def __init__(self, added: set[str]):
        self._added = added

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        _allowed.difference_update(self._added)


def allow_schemes(*schemes: str) -> _Allowance:
    """Permit resources of these schemes (``allow_schemes("https")``), for good or for a ``with`` block."""
    wanted = {scheme.lower().rstrip(":/") for scheme in schemes}
    added = wanted - _allowed
    _allowed.update(added)
    return _Allowance(added)


def _known_to_fsspec(scheme: str) -> bool:
    if importlib.util.find_spec("fsspec") is None:
        return False
    registry = importlib.import_module("fsspec.registry")
    return scheme in registry.available_protocols() or scheme in registry.registry


def foreign_provider(name: str) -> Provider | None:
    """The fsspec provider for a name whose scheme nobody registered, or None where it is an ordinary path."""
    scheme = scheme_of(name)
    if scheme is None or len(scheme) == 1:  # one letter is a Windows drive
        return None
    if scheme not in WELL_KNOWN and not _known_to_fsspec(scheme):
        return None
    for link in name.split("::"):
        link_scheme = scheme_of(link) or (link.lower() if "::" in name else "file")
        if link_scheme not in LOCAL | _allowed | {"file", "zip", "memory"}:
            raise ResourceError(
                f"cannot open {name!r}: the scheme {link_scheme!r} may reach the network and is not allowed; "
                f"call kinema.resources.allow_schemes({link_scheme!r}) first if you trust this document"
            )
    if importlib.util.find_spec("fsspec") is None:
        raise ResourceError(
            f"cannot open {name!r}: the scheme {scheme!r} is served by fsspec, which is not installed; "
            "pip install 'kinema[resources]', or register a provider for it"
        )
    return Provider(scheme, _open, _read, _close)


def _open(resource: OpenResource) -> bool:
    fsspec = importlib.import_module("fsspec")
    try:
        # fsspec compares schemes with case
        resource.data = fsspec.open(resource.provider.prefix + resource.name[len(resource.provider.prefix) :], "rb")
    except (ImportError, ValueError, OSError) as error:  # a backend that is not installed, a name it cannot parse
        raise ResourceError(f"cannot open {resource.name!r}: {error}") from None
    return True


def _read(resource: OpenResource) -> bytes:
    try:
        with resource.data as stream:
            return stream.read()
    except ResourceError:
        raise
    except Exception as error:  # backends raise their own classes; the name and the reason are what a user needs
        raise ResourceError(f"cannot read {resource.name!r}: {type(error).__name__}: {error}") from error


def _close(resource: OpenResource) -> None:
    resource.data = None
