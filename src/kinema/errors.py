"""The exceptions Kinema raises, all of them.

    KinemaError
    ├── DocumentError                 something is wrong with an MJCF document, and where
    │   ├── SyntaxProblem             not well-formed or not safe XML        (also ValueError)
    │   ├── UnknownElement            a tag the schema does not know         (also KeyError)
    │   │   └── UnknownChild          the same, asked for from Python        (also AttributeError)
    │   ├── UnknownAttribute          an attribute the schema does not know  (also AttributeError)
    │   ├── MissingAttribute          a required attribute is not set        (also AttributeError)
    │   ├── BadValue                  a value of the wrong type or range     (also ValueError)
    │   ├── MissingFile               a file it names cannot be opened       (also ResourceError)
    │   └── CompileError              the document is valid, the model is not (also ValueError)
    │       └── TooLarge              it asks for more than the limits allow  (also MemoryError)
    ├── ResourceError                 bytes that cannot be opened or decoded (also OSError)
    ├── BuildError                    a wrong call on a ModelBuilder         (also ValueError)
    │   ├── UnknownKey                a key or name no table knows           (also AttributeError, KeyError)
    │   ├── WrongKind                 a value or key of the wrong type       (also TypeError)
    │   └── WrongMoment               a call out of order                    (also RuntimeError)
    ├── SimulationError               a run that cannot go on: overflow, NaN (also RuntimeError)
    │   └── PhysicsError              a state that is lost, in mjcf.Physics
    ├── PluginError                   a plugin that broke its contract       (also RuntimeError)
    └── MissingExtra                  an optional package is not installed   (also ImportError)

    KernelsRebuilt                    a warning: what was written needs kernels of its own (a RuntimeWarning)
    ArgumentNotNeeded                 a warning: an argument was taken, and there is nothing to do (a UserWarning)

The second base keeps `except ValueError` and PyMJCF-style handlers working.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import warnings
from collections.abc import Iterable
from types import ModuleType


class KinemaError(Exception):
    """Base of every exception Kinema raises on purpose."""


class DocumentError(KinemaError):
    """A problem in a document, with the place it stands at.

    Args:
        message: What is wrong, with the value and the likely fix.
        file: File (or resource) the element was read from, if any.
        line: Line of the element's opening tag in that file, counted from 1.
        path: Element path such as ``worldbody/body[torso]/geom``.
    """

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, path: str | None = None):
        self.message, self.file, self.line, self.path = message, file, line, path
        super().__init__(message)

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        parts = [part for part in (place, self.path) if part]
        return f"{': '.join(parts)}: {self.message}" if parts else self.message


class SyntaxProblem(DocumentError, ValueError):
    pass


class UnknownElement(DocumentError, KeyError):
    pass


class UnknownChild(UnknownElement, AttributeError):
    pass


class UnknownAttribute(DocumentError, AttributeError):
    pass


class MissingAttribute(DocumentError, AttributeError):
    pass


class BadValue(DocumentError, ValueError):
    pass


class CompileError(DocumentError, ValueError):
    pass


class TooLarge(CompileError, MemoryError):
    pass


class ResourceError(KinemaError, OSError):
    pass


class MissingFile(DocumentError, ResourceError):
    pass


class BuildError(KinemaError, ValueError):
    pass


class UnknownKey(BuildError, AttributeError, KeyError):
    __str__ = Exception.__str__  # KeyError would print the message in quotes


class WrongKind(BuildError, TypeError):
    pass


class WrongMoment(BuildError, RuntimeError):
    pass


class SimulationError(KinemaError, RuntimeError):
    pass


class PhysicsError(SimulationError):
    pass


class PluginError(KinemaError, RuntimeError):
    pass


class MissingExtra(KinemaError, ImportError):
    pass


class KernelsRebuilt(RuntimeWarning):
    """A parameter that was written woke stages that the model had no use for until then."""


class ArgumentNotNeeded(UserWarning):
    """An argument that says how another program goes about it was taken, and there is nothing to do."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into Kinema, however deep the fault was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "kinema":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a package that is an extra of Kinema's; MissingExtra, saying what to install, where it is absent.

    Args:
        module: Name of the module, such as ``matplotlib.pyplot``.
        extra: The extra that brings it, such as ``plot``.
        purpose: What it is wanted for, as the beginning of a sentence: "Plots".
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise  # it is installed; something it needs is not
        package = module.partition(".")[0]
        raise MissingExtra(f"{purpose} need the package {package!r}: pip install 'kinema[{extra}]'") from None


class Hint:
    """Text of an error about an unknown name, whose suggestion is only looked for when it is read.

    Programs ask whether objects have attributes far more often than they are told why not.
    """

    def __init__(self, text: str, name: str, known: Iterable[str]):
        self.text, self.name, self.known = text, name, known

    def __str__(self) -> str:
        return f"{self.text}{did_you_mean(self.name, self.known)}"

    __repr__ = __str__


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The tail of an error message that suggests the nearest known name, or an empty string.

    Case is no difference: `Sphere` is `sphere`. A name that is known as it stands is wrong for another reason, which no
    other name mends, so nothing is suggested for it.
    """
    spelled: dict[str, str] = {}
    for word in known:
        if word == name:
            return ""
        spelled.setdefault(word.casefold(), word)
    near = difflib.get_close_matches(name.casefold(), list(spelled), n=1, cutoff=0.6)
    return f"; did you mean {spelled[near[0]]!r}?" if near else ""
