"""What native functions touch, said next to their definition.

What a function of Warp reads and writes can be read from its source (convex/access.py). C++ is not read, so a native
function says it, in terms of its arguments, one array a word:

    @wp.func_native(SOLVE)
    @touches(reads="mat[w] diaginv[w] colind", writes="x[w]")
    def solve_rows(x: wp.array2d(dtype=float), mat: ..., w: int): ...

    mat          elements of any world
    mat[w]       elements of the world that argument w counts; of any item
    mat[w, i]    elements of item i of that world only
    d.efc.J[w]   an array of a bundle
    status.frozen[w]  a part of an array that counts as an array of its own

Arrays that are both read and written stand in both lists. A function without arrays among its arguments need not say
anything. Tests compare what is said with what the C++ names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MARK = "touches"
_WORD = re.compile(r"([\w.]+)(?:\[([^\]]*)\])?")


@dataclass(frozen=True)
class Touched:
    """One array: the path to it from an argument, and the arguments that index it, as far as they are said."""

    path: tuple[str, ...]
    index: tuple[str, ...]


@dataclass(frozen=True)
class Declaration:
    """What a function says that it touches."""

    reads: tuple[Touched, ...]
    writes: tuple[Touched, ...]


def touches(reads: str = "", writes: str = "") -> Callable:
    """Say what a native function reads and writes; goes under `wp.func_native`.

    Warp takes a return type only from a function with a single decorator: of one that returns something, say it
    afterwards, `touches(...)(function.func)`.
    """
    declaration = Declaration(_parse(reads), _parse(writes))

    def mark(function: Callable) -> Callable:
        setattr(function, MARK, declaration)  # functions carry what is said of them
        return function

    return mark


def declared(function: Callable) -> Declaration | None:
    """What a Python function was said to touch; None: nothing was said."""
    return getattr(function, MARK, None)


def _parse(words: str) -> tuple[Touched, ...]:
    return tuple(
        Touched(tuple(path.split(".")), tuple(part.strip() for part in index.split(",")) if index else ())
        for path, index in _WORD.findall(words)
    )
