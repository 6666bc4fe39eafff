"""Warp functions of this package whose source is not parsed before somebody needs it.

`@wp.func` parses a function and looks up what it calls, half a millisecond each. There are some eight hundred, a model
uses a part of them, and a known model none: its machine code is loaded from the cache. So for functions of this package

    declared      the text is kept as it is in the file, and the types of the arguments, all that others ask for
    read          Warp parses that text, when anything else about the function is asked: by code generation, mostly

Functions of others, such as plugins, are read at once, so that what is wrong with them is told where they stand; those
with `wp.static` too, which is evaluated where it stands. `later()` is called by packages that declare functions.
"""

from __future__ import annotations

import ast
import textwrap
import threading
from collections.abc import Callable
from typing import Any

from warp._src import codegen, context

_lock = threading.RLock()
Adjoint = codegen.Adjoint
_find_references = context.Module._find_references
EARLY = ("func", "arg_types", "has_unresolved_static_expressions")
"""What is known of a function before it is read."""


class Unread(Adjoint):
    """What Warp knows of a function, until it is asked for more than the types of the arguments; then Warp's own."""

    def __init__(adj, func: Callable, *args: Any, **options: Any):
        text = None if args else _text(func, options)
        if text is None:
            object.__setattr__(adj, "__class__", Adjoint)
            Adjoint.__init__(adj, func, *args, **options)
            return
        vars(adj).update(_options=options, _text=text, _modules=[])
        adj.func = func
        adj.arg_types = {k: v for k, v in _annotations(func).items() if not (k == "return" and v is None)}
        adj.has_unresolved_static_expressions = False

    @property
    def is_unread(adj) -> bool:
        """Whether nobody has asked yet."""
        return "_options" in vars(adj)

    def read(adj) -> None:
        """Parse the function now."""
        with _lock:
            if "_options" in vars(adj):  # nobody else has read it meanwhile
                options, text = vars(adj).pop("_options"), vars(adj)["_text"]
                vars(adj)["extract_function_source"] = lambda func: _parsed(func, *text)
                Adjoint.__init__(adj, adj.func, **options)
                modules = vars(adj).pop("_modules")
                for name in ("extract_function_source", "_text"):
                    del vars(adj)[name]
                object.__setattr__(adj, "__class__", Adjoint)
                for module in modules:
                    _find_references(module, adj)

    def __getattr__(adj, name: str) -> Any:  # for what is not there
        if name.startswith("__"):
            raise AttributeError(name)
        Unread.read(adj)
        return object.__getattribute__(adj, name)

    def __setattr__(adj, name: str, value: Any) -> None:
        if name not in EARLY and "_options" in vars(adj):
            Unread.read(adj)
        object.__setattr__(adj, name, value)


def _parsed(func: Any, text: str, line: int) -> tuple[str, int, ast.Module]:
    """The text as it was when the function was declared, though its file may have changed since."""
    source = textwrap.dedent(text)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        tree = ast.Module([], [])
    first = tree.body[0] if tree.body else None
    if isinstance(first, ast.FunctionDef) and first.name == func.__code__.co_name:
        return source, line, tree
    return Adjoint.extract_function_source(func)


def _text(func: Any, options: dict[str, Any]) -> tuple[str, int] | None:
    """The text of a function and its line, where reading it can wait; None where it cannot."""
    special = options.get("source") or options.get("transformers") or options.get("overload_annotations")
    code = getattr(func, "__code__", None)
    if special or code is None or not func.__module__.startswith("kinema.") or hasattr(func, "__wrapped__"):
        return None
    found = Adjoint._try_extract_function_source(code)
    if found is None or "static" in found[0] or len(_annotations(func)) < code.co_argcount:
        return None
    return found


def _annotations(func: Any) -> dict[str, Any]:
    return codegen.get_full_arg_spec(func).annotations


def _references(module: context.Module, adj: Any) -> None:
    """Look up what a function calls when it is read."""
    if isinstance(adj, Unread) and adj.is_unread:
        vars(adj)["_modules"].append(module)
    else:
        _find_references(module, adj)


def later() -> None:
    """From now on functions of this package are read when they are needed."""
    codegen.Adjoint = Unread  # type: ignore[misc]
    context.Module._find_references = _references  # type: ignore[method-assign]
