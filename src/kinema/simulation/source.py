"""What a simulation is made of: anything that describes a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinema.compile.host_model import KINDS
from kinema.compile.price import Limits
from kinema.errors import BuildError, need
from kinema.mjcf.source import is_xml


@dataclass(frozen=True)
class Document:
    """The text a model was made of, and its file; empty where there is none.

    Attributes:
        made_of: What the compiler was given: a path, text or a document; None: the model came compiled.
    """

    xml: str = ""
    path: str = ""
    made_of: Any = None


def document_of(source) -> Document:
    """The document behind a source, for files that must find the model again."""
    if _is_spec(source):
        text = source.to_xml()  # files of a spec are not in its text
        return Document(text, made_of=text)
    if hasattr(source, "to_xml_string"):
        return Document(source.to_xml_string(), made_of=source)
    if isinstance(source, str) and is_xml(source):
        return Document(source, made_of=source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() in (".xml", ".mjcf", ".urdf") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            return Document(text, str(path.resolve()), made_of=source)
        if path.suffix.lower() != BINARY:
            return Document(made_of=source)
    return Document()


def load(source, limits: Limits | None = None) -> Any:
    """An object with mjModel's attributes, from whatever describes a model; a document no larger than `limits`."""
    if hasattr(source, "qpos0") and hasattr(source, "opt"):
        return source
    if _is_spec(source):
        return _compiled(source)
    if isinstance(source, str | os.PathLike) and os.fspath(source).lower().endswith(BINARY):
        return _binary(os.fspath(source))
    from kinema.compile import compile_model

    if isinstance(source, str | Path | os.PathLike) or hasattr(source, "to_xml") or hasattr(source, "tag"):
        return compile_model(source, limits=limits)
    kind = type(source).__name__
    raise BuildError(
        f"cannot simulate {kind}: give a path (MJCF, URDF or a zip of them), XML text, an mjcf document, an MjSpec or "
        "a compiled model"
    )


BINARY = ".mjb"
"""What MuJoCo's binary models are called."""


def _is_spec(source: Any) -> bool:
    """Whether it is a `mujoco.MjSpec`, without importing mujoco."""
    return type(source).__name__ == "MjSpec" and hasattr(source, "compile") and hasattr(source, "to_xml")


def _compiled(spec: Any) -> Any:
    """MuJoCo's model of a spec: MuJoCo compiles it, for its text has fewer digits than its numbers."""
    try:
        return spec.compile()
    except ValueError as error:
        raise BuildError(f"MuJoCo does not compile the MjSpec: {error}") from None


def _binary(path: str) -> Any:
    mujoco = need("mujoco", "mujoco", "Binary models of MuJoCo's")
    try:
        return mujoco.MjModel.from_binary_path(path)
    except ValueError as error:
        raise BuildError(f"{path}: MuJoCo does not read it: {error}") from None


def names_of(model, kind: str) -> list[str]:
    """Names of all elements of a kind in id order, empty where unnamed."""
    if callable(getattr(model, "names", None)):
        return model.names(kind)
    text = bytes(model.names)  # MuJoCo's: all names in one buffer, and where each begins
    starts = getattr(model, f"name_{KINDS[kind][1:]}adr")
    return [text[start : text.index(b"\0", start)].decode() for start in np.asarray(starts).tolist()]
