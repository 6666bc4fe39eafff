"""Processed meshes kept on disk and in memory, by everything they depend on.

One file a mesh under ``$KINEMA_CACHE_DIR`` (default ``~/.cache/kinema``), in the folder ``mesh``: a JSON line that
names the arrays with dtype and shape, then their bytes. The key covers the content of the asset, every parameter, and
the code that processes them, so that a new version of Kinema starts afresh. Files appear whole or not at all (written
aside, then renamed); one that does not read back right counts as absent; a folder that cannot be written means no
cache, not an error. An empty ``KINEMA_CACHE_DIR`` turns the cache off.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from functools import cache
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

_MAGIC = "kinema-arrays"
_ALIGN = 16

MEMORY_BYTES = 256 << 20

Arrays = dict[str, np.ndarray]
T = TypeVar("T")


class Recent(Generic[T]):
    """Results kept in this process, the least recently used forgotten first; off where the cache is off."""

    def __init__(self, limit: int = MEMORY_BYTES):
        self._limit, self._total = limit, 0
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """What was put under the key, if it is still there."""
        if folder() is None:
            return None
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value of about ``size`` bytes."""
        with self._lock:
            old = self._entries.pop(key, None)
            self._total += size - (old[1] if old else 0)
            self._entries[key] = (value, size)
            while self._total > self._limit and self._entries:
                self._total -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._total = 0


def folder() -> Path | None:
    """Where processed meshes live, or None where the cache is off."""
    root = os.environ.get("KINEMA_CACHE_DIR")
    if root == "":
        return None
    return (Path(root) if root else Path.home() / ".cache" / "kinema") / "mesh"


@cache
def version() -> str:
    """What the results depend on besides their input: the code that makes them, and the libraries it calls."""
    digest = hashlib.blake2b(digest_size=16)
    here = Path(__file__)
    for path in sorted([*(here.parents[1] / "geometry").glob("*.py"), *here.parent.glob("mesh*.py")]):
        digest.update(path.read_bytes())
    return f"{_MAGIC} {digest.hexdigest()} numpy {np.__version__} scipy {version_of('scipy')}"


def key(*parts: object) -> str:
    """A hash of parts: bytes and arrays by content, the rest by its text; equal parts, equal key."""
    digest = hashlib.blake2b(version().encode(), digest_size=20)
    for part in parts:
        if isinstance(part, np.ndarray):
            head, body = f"{part.dtype.str}{part.shape}", np.ascontiguousarray(part).tobytes()
        elif isinstance(part, bytes):
            head, body = "bytes", part
        else:
            head, body = type(part).__name__, repr(part).encode()
        digest.update(f"|{head}|{len(body)}|".encode())
        digest.update(body)
    return digest.hexdigest()


def load(name: str) -> Arrays | None:
    """The arrays stored under a key; None where there are none or they are damaged."""
    root = folder()
    if root is None:
        return None
    try:
        data = (root / name).read_bytes()
    except OSError:
        return None
    try:
        return _unpacked(data)
    except (ValueError, KeyError, TypeError):
        return None


def store(name: str, arrays: Arrays) -> bool:
    """Keep arrays under a key; returns whether that worked."""
    root = folder()
    if root is None:
        return False
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=root, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_packed(arrays))
            os.replace(aside, root / name)
        except BaseException:
            os.unlink(aside)
            raise
    except OSError:
        return False
    return True


def _packed(arrays: Arrays) -> bytes:
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    bodies = [array.tobytes() for array in contiguous.values()]
    check = 0
    for body in bodies:
        check = zlib.crc32(body, check)
    table = [[name, array.dtype.str, list(array.shape)] for name, array in contiguous.items()]
    head = json.dumps({"format": _MAGIC, "check": check, "arrays": table}).encode()
    head += b" " * (-(len(head) + 1) % _ALIGN) + b"\n"
    return head + b"".join(body + b"\0" * (-len(body) % _ALIGN) for body in bodies)


def _unpacked(data: bytes) -> Arrays:
    end = data.index(b"\n") + 1
    head = json.loads(data[:end])
    if head["format"] != _MAGIC:
        raise ValueError("not an array file")
    arrays: Arrays = {}
    check = 0
    offset = end
    for name, dtype, shape in head["arrays"]:
        count = math.prod(shape)
        array = np.frombuffer(data, np.dtype(dtype), count, offset).reshape(shape)
        check = zlib.crc32(memoryview(data)[offset : offset + array.nbytes], check)
        arrays[name] = array
        offset += array.nbytes + (-array.nbytes % _ALIGN)
    if check != head["check"]:
        raise ValueError("damaged array file")
    return arrays
