"""Versioned files of named arrays: a NumPy archive with a header that says what it is.

    header    JSON: kind of file, version of the format, version of Kinema, and what else its kind needs
    arrays    by name, exactly as they were

Files appear whole or not at all, contain no pickles, and one that cannot be read says why.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinema import __version__
from kinema.errors import ResourceError

FORMAT = 1
"""Version of the format; a reader takes this one and older ones."""

HEADER = "header"


def write_archive(path: str | os.PathLike, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write a file.

    Args:
        path: Where to; an existing file is replaced once the new one is complete.
        kind: What it is, such as "recording".
        header: Whatever JSON can hold.
        arrays: Arrays by name.
    """
    path = Path(path)
    header = {"kind": kind, "format": FORMAT, "kinema": __version__, **header}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as stream:
            held: dict[str, Any] = {HEADER: text} | {f"array/{name}": a for name, a in arrays.items()}
            np.savez_compressed(stream, **held)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ResourceError(f"{path}: cannot write the {kind}: {error.strerror or error}") from error
    return path


def read_archive(path: str | os.PathLike, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file of the given kind."""
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            header = json.loads(bytes(archive[HEADER]).decode())
            arrays = {name.removeprefix("array/"): archive[name] for name in archive.files if name != HEADER}
        found = header["kind"], header["format"]
    except FileNotFoundError:
        raise ResourceError(f"{path}: there is no such file") from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ResourceError(f"{path}: not a {kind} of Kinema's, or damaged ({error})") from error
    if found[0] != kind:
        raise ResourceError(f"{path}: a {found[0]}, where a {kind} is expected")
    if not isinstance(found[1], int) or found[1] > FORMAT:
        written = header.get("kinema", "a later version")
        raise ResourceError(
            f"{path}: written by Kinema {written} in format {found[1]}; this is {__version__}, which reads up to "
            f"format {FORMAT}: update Kinema"
        )
    return header, arrays
