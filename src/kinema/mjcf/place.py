"""Where in a document an error belongs."""

from __future__ import annotations

from typing import Any

from kinema.errors import DocumentError, UnknownAttribute, did_you_mean


def placed(error: DocumentError, element: Any) -> DocumentError:
    """The error with the place of an element, unless it already has one."""
    if error.file is None and error.line is None:
        error.file, error.line = element.source_file, element.source_line
    if error.path is None:
        error.path = element._path() or None
    return error


def retold(error: DocumentError, prefix: str, element: Any, path: str) -> DocumentError:
    file, line = (error.file, error.line) if error.line else (element.source_file, element.source_line)
    return type(error)(prefix + error.message, file=file, line=line, path=path or None).with_traceback(
        error.__traceback__
    )


class NoSuchAttribute(UnknownAttribute):
    """Asked for an attribute or child that the schema does not know; the suggestion is only worked out when read."""

    def __init__(self, element: Any, name: str):
        self._element = element
        self._name = name
        super().__init__("")

    @property
    def message(self) -> str:  # type: ignore[override]
        spec = self._element._spec
        hint = did_you_mean(self._name, [*spec.attributes, *spec.children])
        return f"<{spec.name}> object has no attribute: {self._name}{hint}"

    @message.setter
    def message(self, text: str) -> None:
        pass
