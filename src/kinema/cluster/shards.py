"""Records as files: one a call, named by block and step, and a table of contents.

A shard is written under another name first, so that a worker killed while writing leaves nothing that looks complete.
One that is written again holds the same data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinema.errors import ResourceError

CONTENTS = "rollout.json"


def write_shard(folder: str, block: int, first: int, records: Mapping[str, Any]) -> str:
    """Write the records of one call; the file's name."""
    name = f"block-{block:06d}-step-{first:09d}.npz"
    path = Path(folder) / name
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    with open(unfinished, "wb") as file:
        np.savez(file, **records)
    os.replace(unfinished, path)
    return name


def write_contents(folder: str, contents: Mapping) -> None:
    """Write the table of contents, which makes a folder of shards a rollout."""
    (Path(folder) / CONTENTS).write_text(json.dumps(contents, indent=1) + "\n")


def read_shards(folder: str | os.PathLike) -> dict[str, np.ndarray]:
    """All records of a rollout written with `out=folder`: arrays (records, worlds, ...) by name."""
    path = Path(folder) / CONTENTS
    if not path.is_file():
        raise ResourceError(f"{folder}: no {CONTENTS}: not a folder of shards, or the rollout did not finish")
    contents = json.loads(path.read_text())
    arrays: dict[str, np.ndarray] = {}
    for shard in contents["shards"]:
        rows, columns = slice(*shard["records"]), slice(*shard["worlds"])
        with np.load(Path(folder) / shard["file"]) as records:
            for name in contents["record"]:
                values = records[name]
                if name not in arrays:
                    shape = (contents["records"], contents["worlds"], *values.shape[2:])
                    arrays[name] = np.empty(shape, values.dtype)
                arrays[name][rows, columns] = values
    return arrays
