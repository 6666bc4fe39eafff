"""Numbers past what arithmetic or memory holds, told as errors of the document.

A value such as 1e308 is a number to the reader, and the place where it bursts may be anywhere in the compiler. So no
place is guarded: the boundary of the compiler turns what Python raises into the package's own error, at the element
that was being compiled, which is the innermost one the raising functions had in hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import numpy as np

from kinema.compile.element import Element
from kinema.compile.tree import Body
from kinema.errors import CompileError, KinemaError, TooLarge
from kinema.mjcf.source import Node


@contextmanager
def told_as_compile_errors(root: Node) -> Iterator[None]:
    """Turn overflow, division by zero, singular matrices, memory and recursion that ran out into CompileError."""
    try:
        yield
    except KinemaError:
        raise
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:  # ValueError: sin(inf), int(nan)
        message = f"numbers that cannot be computed with ({error}): look for values too large, too small or not finite"
        raise _placed(CompileError, message, error, root) from error
    except MemoryError as error:
        raise _placed(TooLarge, f"there is not enough memory to compile this: {error}", error, root) from error
    except RecursionError as error:
        raise _placed(TooLarge, "elements are nested too deeply to compile", error, root) from error


def _placed(kind: type[CompileError], message: str, error: BaseException, root: Node) -> CompileError:
    node = _node_in_hand(error.__traceback__) or root
    return kind(message, file=node.file, line=node.line, path=node.path)


def _node_in_hand(traceback: TracebackType | None) -> Node | None:
    """The element that the innermost function with one had as an argument or in a loop."""
    found = None
    while traceback is not None:
        for value in traceback.tb_frame.f_locals.values():
            if isinstance(value, Body):
                value = value.element
            if isinstance(value, Element):
                found = value.node
        traceback = traceback.tb_next
    return found
