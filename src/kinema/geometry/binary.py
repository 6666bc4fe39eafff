"""The sizes at the beginning of MuJoCo's binary files: int32, little endian."""

import numpy as np

from kinema.errors import ResourceError
from kinema.resources import Resource


def read_sizes(resource: Resource, kind: str, count: int) -> list[int]:
    """The first `count` integers of a file of this kind."""
    data, name = resource.data, resource.name
    if not data:
        raise ResourceError(f"{kind} file {name!r} is empty")
    if len(data) < 4 * count:
        raise ResourceError(f"missing header in {kind} file {name!r}: {len(data)} bytes, at least {4 * count} needed")
    return np.frombuffer(data, "<i4", count).tolist()
