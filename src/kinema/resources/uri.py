"""Names of resources: schemes, folders and joining, as text.

A resource name is ``scheme:rest`` or an ordinary path. The scheme is the text before the *first* colon, compared
without case, and has URI syntax: a letter, then letters, digits, ``+``, ``.`` or ``-`` (RFC 3986, section 3.1). Whether
that text means anything is the registry's business: ``C:\\mesh.obj`` has the syntax of a scheme ``c`` but nobody serves
it, so it is a path.
"""

from __future__ import annotations

import posixpath
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_scheme(text: str) -> bool:
    """Whether ``text`` has the syntax of a URI scheme."""
    return _SCHEME.match(text) is not None


def scheme_of(name: str) -> str | None:
    """The lower-case text before the first colon if it has the syntax of a scheme, else None."""
    head, colon, _ = name.partition(":")
    return head.lower() if colon and is_scheme(head) else None


def rest_of(name: str) -> str:
    """What follows the scheme and its colon."""
    return name.partition(":")[2]


def is_absolute_path(path: str) -> bool:
    """Whether an ordinary path stands alone: rooted, or with a Windows drive or share."""
    return path.startswith(("/", "\\")) or _WINDOWS_DRIVE.match(path) is not None


def directory_of(name: str, *, scheme: str | None = None) -> str:
    """The folder of a resource: its name up to and including the last slash, the scheme always kept.

    ``memory:a/model.xml`` gives ``memory:a/``, ``memory:model.xml`` gives ``memory:``, ``model.xml`` gives ``""``.
    """
    start = len(scheme) + 1 if scheme else 0
    cut = max(name.rfind("/"), name.rfind("\\")) + 1
    return name[: max(start, cut)]


def join(folder: str, name: str) -> str:
    """``name`` inside ``folder``, which ends with a separator, a bare scheme's colon, or is empty."""
    if not folder or folder.endswith(("/", "\\", ":")):
        return folder + name
    return f"{folder}/{name}"


def short(name: str) -> str:
    """A name fit for a message: a data: URI can be megabytes long."""
    return name if len(name) <= 120 else f"{name[:80]}...{name[-20:]}"


def normal_path(path: str) -> str:
    """A path inside a store or archive: forward slashes, no ``.`` or ``..`` steps, no leading slash.

    Steps above the root are dropped, so that no name reaches outside the store.
    """
    return posixpath.normpath("/" + path.replace("\\", "/")).lstrip("/")
