"""Processed meshes kept on disk, by the hash of everything they depend on.

One file a mesh under ``$KINEMA_CACHE_DIR`` (default ``~/.cache/kinema``), in the folder ``mesh``: a JSON line that
names the arrays with dtype and shape, then their bytes. The key covers the content of the asset, every parameter, and
the code that processes them, so that a new version of Kinema starts afresh. Files appear whole or not at all (written
aside, then renamed); one that does not read back right counts as absent; a folder that cannot be written means no
cache, not an error. An empty ``KINEMA_CACHE_DIR`` turns the cache off.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import scipy

_MAGIC = "kinema-arrays"
_ALIGN = 16

Arrays = dict[str, np.ndarray]


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
    for path in sorted([*(here.parents[1] / "geometry").glob("*.py"), here, here.with_name("mesh.py")]):
        digest.update(path.read_bytes())
    return f"{_MAGIC} {digest.hexdigest()} numpy {np.__version__} scipy {scipy.__version__}"


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
    check = hashlib.blake2b(b"".join(bodies), digest_size=8).hexdigest()
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
    digest = hashlib.blake2b(digest_size=8)
    offset = end
    for name, dtype, shape in head["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(data, np.dtype(dtype), count, offset).reshape(shape)
        digest.update(memoryview(data)[offset : offset + array.nbytes])
        arrays[name] = array
        offset += array.nbytes + (-array.nbytes % _ALIGN)
    if digest.hexdigest() != head["check"]:
        raise ValueError("damaged array file")
    return arrays
