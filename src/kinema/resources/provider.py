"""The registry of resource providers: who serves which URI scheme.

A provider is a prefix and callbacks over one open resource, the same protocol as MuJoCo's ``mjpResourceProvider``:

    open(resource)                 find ``resource.name``; may set ``resource.data`` and ``resource.timestamp``;
                                   returns False (or raises ResourceError) when there is no such thing
    read(resource)                 the bytes, or None on failure
    close(resource)                let go of ``resource.data``; called once for every successful open
    getdir(name)                   optional: the folder relative names inside this resource start from
    modified(resource, timestamp)  optional: whether it changed since ``timestamp`` was taken; without it every read
                                   goes to the source

``resource.provider.data`` is the provider's own data, the same in every call. Rules, MuJoCo's: a prefix has URI scheme
syntax and is matched without case against the text before the first colon, exactly; registering the same provider again
does nothing; registering another under a taken prefix is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kinema.errors import ResourceError
from kinema.resources.uri import is_scheme, scheme_of


@dataclass
class OpenResource:
    """One resource between open and close: what MuJoCo calls mjResource."""

    name: str
    provider: Provider
    data: Any = None
    timestamp: str = ""
    media_type: str | None = None


@dataclass(frozen=True)
class Provider:
    """Who serves a scheme, and how; see the module's text for the callbacks."""

    prefix: str
    open: Callable[[OpenResource], bool]
    read: Callable[[OpenResource], bytes | None]
    close: Callable[[OpenResource], None]
    getdir: Callable[[str], str] | None = None
    modified: Callable[[OpenResource, str], bool] | None = None
    data: Any = field(default=None)

    def same_as(self, other: Provider) -> bool:
        """Whether two registrations are the same: equal prefix, callbacks and the identical data object."""
        mine = (self.prefix.lower(), self.open, self.read, self.close, self.getdir, self.modified)
        theirs = (other.prefix.lower(), other.open, other.read, other.close, other.getdir, other.modified)
        return mine == theirs and self.data is other.data


_providers: dict[str, Provider] = {}
_instances: dict[type, Any] = {}
_lock = threading.RLock()


def register_provider(
    prefix: str,
    *,
    open: Callable[[OpenResource], bool],
    read: Callable[[OpenResource], bytes | None],
    close: Callable[[OpenResource], None],
    getdir: Callable[[str], str] | None = None,
    modified: Callable[[OpenResource, str], bool] | None = None,
    data: Any = None,
) -> Provider:
    """Serve every resource named ``prefix:…`` with these callbacks, from now on and for all loaders.

    Raises:
        ResourceError: the prefix is not a URI scheme, a required callback is missing, or another provider holds it.
    """
    if not is_scheme(prefix):
        raise ResourceError(
            f"resource provider prefix {prefix!r} is not a URI scheme: it must start with a letter and hold only "
            "letters, digits, '+', '.' and '-' (without the colon)"
        )
    for name, callback in (("open", open), ("read", read), ("close", close)):
        if not callable(callback):
            raise ResourceError(f"resource provider {prefix!r} needs a callable {name!r}, got {callback!r}")
    new = Provider(prefix, open, read, close, getdir, modified, data)
    with _lock:
        old = _providers.get(prefix.lower())
        if old is None:
            _providers[prefix.lower()] = new
            return new
    if old.same_as(new):
        return old
    raise ResourceError(
        f"another resource provider is already registered for {prefix!r}; choose another prefix, "
        f"or call unregister_provider({prefix!r}) first"
    )


def provider(prefix: str, *, data: Any = None) -> Callable[[type], type]:
    """Class decorator: register one instance of the class, its methods named as the callbacks.

    >>> @provider("mem")
    ... class Mem:
    ...     def open(self, resource): ...
    ...     def read(self, resource): ...
    ...     def close(self, resource): ...
    """

    def register(cls: type) -> type:
        methods = {name: getattr(cls, name, None) for name in ("open", "read", "close", "getdir", "modified")}
        missing = [name for name in ("open", "read", "close") if methods[name] is None]
        if missing:
            raise ResourceError(f"resource provider class {cls.__name__} for {prefix!r} has no method {missing[0]!r}")
        instance = _instances.setdefault(cls, cls())  # so that the same class again is the same registration
        bound = {name: getattr(instance, name) for name, method in methods.items() if method is not None}
        register_provider(prefix, data=data, **bound)
        return cls

    return register


def unregister_provider(prefix: str) -> None:
    """Forget the provider of a prefix; an unknown prefix is an error."""
    with _lock:
        if _providers.pop(prefix.lower(), None) is None:
            raise ResourceError(f"no resource provider is registered for {prefix!r}; known: {sorted(_providers)}")


def find_provider(name: str) -> Provider | None:
    """The provider of a resource name, or None where its scheme is nobody's (or it has none)."""
    scheme = scheme_of(name)
    return _providers.get(scheme) if scheme else None


def registered_prefixes() -> list[str]:
    """The prefixes now served, sorted."""
    return sorted(_providers)
