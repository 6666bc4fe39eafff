"""What a simulation is made of: anything that describes a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinema.errors import BuildError, UnknownKey, did_you_mean


@dataclass(frozen=True)
class Document:
    """The text a model was made of, and its file; empty where there is none."""

    xml: str = ""
    path: str = ""


def document_of(source) -> Document:
    """The document behind a source, for files that must find the model again."""
    if hasattr(source, "to_xml_string"):
        return Document(source.to_xml_string())
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return Document(source)
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in (".xml", ".mjcf", ".urdf"):
        path = Path(source)
        if path.is_file():
            return Document(path.read_text(encoding="utf-8"), str(path.resolve()))
    return Document()


def load(source) -> Any:
    """An object with mjModel's attributes, from whatever describes a model."""
    if hasattr(source, "qpos0") and hasattr(source, "opt"):
        return source
    from kinema.compile import compile_model

    if isinstance(source, str | Path | os.PathLike) or hasattr(source, "to_xml") or hasattr(source, "tag"):
        return compile_model(source)
    kind = type(source).__name__
    raise BuildError(f"cannot simulate {kind}: give a path, XML text, an mjcf document or a compiled model")


def name_to_id(model, kind: str, name: str) -> int:
    """Id of a named object of a compiled model."""
    if hasattr(model, "names") and callable(model.names):
        return model.id(kind, name)
    names: Mapping[int, str] = {i: getattr(model, kind)(i).name for i in range(getattr(model, f"n{kind}"))}
    for i, known in names.items():
        if known == name:
            return i
    raise UnknownKey(f"no {kind} named {name!r}{did_you_mean(name, names.values())}")
