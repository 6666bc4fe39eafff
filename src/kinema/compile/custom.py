"""<custom>: user data carried along with a model: numbers, texts, and tuples of references."""

from __future__ import annotations

import numpy as np

from kinema.compile.context import Compilation
from kinema.compile.element import Element
from kinema.errors import did_you_mean
from kinema.mujoco_enums import Obj

OBJECTS = {
    "body": "body", "xbody": "body", "joint": "joint", "geom": "geom", "site": "site", "camera": "camera",
    "light": "light", "flex": "flex", "mesh": "mesh", "skin": "skin", "hfield": "hfield", "texture": "texture",
    "material": "material", "pair": "pair", "exclude": "exclude", "equality": "equality", "tendon": "tendon",
    "actuator": "actuator", "sensor": "sensor", "numeric": "numeric", "text": "text", "tuple": "tuple", "key": "key",
    "plugin": "plugin",
}  # fmt: skip
"""Object types by MJCF keyword, and the kind of element each names."""


def compile_custom(c: Compilation) -> None:
    """Fill the numeric, text and tuple arrays."""
    numerics = [_numeric(e) for e in c.elements["numeric"]]
    _pack(c, "numeric", numerics)
    c.arrays["numeric_data"] = np.concatenate(numerics) if numerics else np.zeros(0)
    c.sizes["nnumericdata"] = len(c.arrays["numeric_data"])

    texts = [_text(e) + b"\0" for e in c.elements["text"]]
    _pack(c, "text", texts)
    c.arrays["text_data"] = np.frombuffer(b"".join(texts), dtype="S1").copy()
    c.sizes["ntextdata"] = len(c.arrays["text_data"])

    tuples = [_tuple(c, e) for e in c.elements["tuple"]]
    _pack(c, "tuple", tuples)
    items = [item for items in tuples for item in items]
    c.arrays["tuple_objtype"] = np.array([item[0] for item in items], dtype=np.int32)
    c.arrays["tuple_objid"] = np.array([item[1] for item in items], dtype=np.int32)
    c.arrays["tuple_objprm"] = np.array([item[2] for item in items], dtype=np.float64)
    c.sizes["ntupledata"] = len(items)


def _pack(c: Compilation, kind: str, values: list) -> None:
    size = np.array([len(value) for value in values], dtype=np.int32)
    c.arrays[f"{kind}_size"] = size
    c.arrays[f"{kind}_adr"] = (np.cumsum(size) - size).astype(np.int32)


def _named(e: Element) -> None:
    if "name" not in e.node.attributes:
        raise e.error(f"{e.tag} needs 'name'")


def _numeric(e: Element) -> np.ndarray:
    _named(e)
    data = e.vector("data", ())
    size = e.integer("size", len(data))
    if size < 1:
        raise e.error(f"size of a numeric must be positive, not {size}")
    if len(data) > size:
        raise e.error(f"data has {len(data)} values, more than size={size}")
    return np.concatenate((data, np.zeros(size - len(data))))


def _text(e: Element) -> bytes:
    _named(e)
    return e.required("data").encode()


def object_type(c: Compilation, e: Element, attribute: str) -> tuple[int, str]:
    """Code and kind of the object type a keyword names."""
    word = e.required(attribute)
    if word not in OBJECTS:
        raise e.error(f"unknown object type {word!r}{did_you_mean(word, OBJECTS)}")
    return Obj[word.upper()], OBJECTS[word]


def _tuple(c: Compilation, e: Element) -> list[tuple[int, int, float]]:
    _named(e)
    items = []
    for child in e.children("element"):
        code, kind = object_type(c, child, "objtype")
        items.append((code, c.reference(child, "objname", kind, required=True), child.number("prm", 0.0)))
    if not items:
        raise e.error("tuple is empty")
    return items
