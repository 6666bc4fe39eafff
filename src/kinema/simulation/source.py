"""What a simulation is made of: anything that describes a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinema.compile.host_model import KINDS
from kinema.compile.price import Limits
from kinema.errors import BuildError
from kinema.mjcf.source import is_xml


@dataclass(frozen=True)
class Document:
    """The text a model was made of, and its file; empty where there is none."""

    xml: str = ""
    path: str = ""


def document_of(source) -> Document:
    """The document behind a source, for files that must find the model again."""
    if hasattr(source, "to_xml_string"):
        return Document(source.to_xml_string())
    if isinstance(source, str) and is_xml(source):
        return Document(source)
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in (".xml", ".mjcf", ".urdf"):
        path = Path(source)
        if path.is_file():
            return Document(path.read_text(encoding="utf-8", errors="replace"), str(path.resolve()))
    return Document()


def load(source, limits: Limits | None = None) -> Any:
    """An object with mjModel's attributes, from whatever describes a model; a document no larger than `limits`."""
    if hasattr(source, "qpos0") and hasattr(source, "opt"):
        return source
    from kinema.compile import compile_model

    if isinstance(source, str | Path | os.PathLike) or hasattr(source, "to_xml") or hasattr(source, "tag"):
        return compile_model(source, limits=limits)
    kind = type(source).__name__
    raise BuildError(f"cannot simulate {kind}: give a path, XML text, an mjcf document or a compiled model")


def names_of(model, kind: str) -> list[str]:
    """Names of all elements of a kind in id order, empty where unnamed."""
    if callable(getattr(model, "names", None)):
        return model.names(kind)
    text = bytes(model.names)  # MuJoCo's: all names in one buffer, and where each begins
    starts = getattr(model, f"name_{KINDS[kind][1:]}adr")
    return [text[start : text.index(b"\0", start)].decode() for start in np.asarray(starts).tolist()]
