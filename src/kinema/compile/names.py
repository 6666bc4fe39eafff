"""Names and paths as mjModel stores them: one string of bytes, addresses into it, and a hash table.

The table has two slots per object; a name goes to the first free one from  h % n,  h = 33 h ^ byte  from 5381.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kinema.compile.asset import asset_path
from kinema.compile.context import Compilation
from kinema.compile.host_model import KINDS

ADDRESS = {"joint": "jnt", "camera": "cam", "texture": "tex", "material": "mat", "equality": "eq"}
"""Kinds whose address field abbreviates the kind."""
PATH_KINDS = ("hfield", "mesh", "skin", "texture")
LOAD = 2
_MASK = (1 << 64) - 1


def fill_names(c: Compilation) -> None:
    """Set names, name_*adr, names_map, and paths with *_pathadr."""
    c.arrays.update(name_arrays(c.title, {kind: c.names(kind) for kind in KINDS}))
    c.sizes["nnames"], c.sizes["nnames_map"] = len(c.arrays["names"]), len(c.arrays["names_map"])
    _fill_paths(c)


def name_arrays(title: str, names: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """names, name_*adr and names_map of a model, from the names of every kind."""
    arrays: dict[str, np.ndarray] = {}
    text = bytearray(title.encode() + b"\0")
    table: list[int] = []
    for kind in KINDS:
        slots = [-1] * (LOAD * len(names[kind]))
        addresses = []
        for index, name in enumerate(entry.encode() for entry in names[kind]):
            addresses.append(len(text))
            text += name + b"\0"
            if name:
                slot = _hash(name) % len(slots)
                while slots[slot] != -1:
                    slot = (slot + 1) % len(slots)
                slots[slot] = index
        arrays[f"name_{ADDRESS.get(kind, kind)}adr"] = np.array(addresses, dtype=np.int32)
        table += slots
    arrays["names"] = np.frombuffer(bytes(text), dtype="S1")
    arrays["names_map"] = np.array(table, dtype=np.int32)
    return arrays


def _hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        signed = byte - 256 if byte > 127 else byte
        value = (((value << 5) + value) ^ signed) & _MASK
    return value


def _fill_paths(c: Compilation) -> None:
    """Paths of files kind by kind, then what textures say their content is."""
    text = bytearray()

    def addresses(strings: Iterable[str]) -> np.ndarray:
        found = []
        for string in strings:
            found.append(len(text) if string else -1)
            text.extend(string.encode() + b"\0" if string else b"")
        return np.array(found, dtype=np.int32)

    for kind in PATH_KINDS:
        files = [asset_path(e) if e.text("file", "") else "" for e in c.elements[kind]]
        c.arrays[f"{'tex' if kind == 'texture' else kind}_pathadr"] = addresses(files)
    c.arrays["tex_contenttypeadr"] = addresses(e.text("content_type", "") for e in c.elements["texture"])
    text = text or bytearray(b"\0")
    c.arrays["paths"] = np.frombuffer(bytes(text), dtype="S1")
    c.sizes["npaths"] = len(text)
