"""How Warp writes the kernels of this package: three rules of its generator, changed.

**A constant is one variable, with a value from the beginning.** Warp writes a function as C++ whose variables stand at
its top without values, and joins a name that two branches leave behind differently by `where(condition, one, other)`.
A constant of the module is remembered where it is first named, and joined as if the branches had assigned it:

    if a:                   below, LIMIT would be read from the joined variable,
        if b: x = LIMIT     which was set only where `a` held
        else: y = LIMIT
    z = LIMIT

**An assignment of several names copies, as one of a single name does.** Warp keeps addresses of elements: joining them
reads through both, though one was never computed, and a name follows what is written to the array later, or to the name
it was assigned from.

    if a: x, y = p[i], q[i]
    else: x, y = q[i], p[i]
    x, y = y, x

A compiler that sees through every call happens to do what was meant; nothing obliges it to.

**An index counts from the beginning.** Warp lets negative ones count from the end, and asks at every access. No kernel
of this package has any: without the question a step of a small robot takes a tenth less time. Where the environment
says KINEMA_CHECK_INDICES=1, every index of ours is compared with the extent of its array, and kernels print the
function and the line of their C++ where one is outside; slow, and not in native code. Functions of others that our
kernels call, such as plugins, may count from the end as ever.

Kernels of others are written as ever. Hashes of ours tell the rules, so that no older text is taken from the cache.
"""

from __future__ import annotations

import ast
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any

import warp as wp
from warp._src import codegen, context

from kinema.errors import BuildError

Adjoint: Any = codegen.Adjoint if codegen.Adjoint.__name__ == "Adjoint" else codegen.Adjoint.__base__
COPIED = (ast.Name, ast.Attribute, ast.Subscript)
"""What an assignment of one name copies: an element is not a value of its own."""


def _is_ours(function: Any) -> bool:
    return function is not None and getattr(function, "__module__", "").partition(".")[0] == "kinema"


def _is_for_us(adj: Any) -> bool:
    """Whether a function is one of this package, or written into a kernel of it."""
    return _is_ours(adj.func) or (adj.builder is not None and any(_is_ours(k.func) for k in adj.builder.kernels))


def _holds_ours(builder: Any) -> bool:
    """Whether a module holds anything of this package."""
    return any(_is_ours(of.func) for of in (*builder.kernels, *builder.functions))


def _name(adj: Any, node: ast.Name) -> Any:
    """A name; a constant from outside is one variable wherever it is named."""
    if node.id in adj.symbols or hasattr(node, "warp_func") or not _is_for_us(adj):
        return _their_name(adj, node)
    variables, constants = vars(adj).get("_constants", (None, {}))
    if variables is not adj.variables:  # the function is being written anew
        constants = {}
        adj._constants = adj.variables, constants
    found = constants.get(node.id)
    if found is None:
        found = _their_name(adj, node)
        if adj.symbols.pop(node.id, None) is not None:
            constants[node.id] = found
    return found


def _assign(adj: Any, node: ast.Assign) -> None:
    """An assignment; one of several names takes copies, as one of a single name does."""
    target, value = node.targets[0], node.value
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and _is_for_us(adj)):
        return _their_assign(adj, node)
    taken = []
    for k, item in enumerate(value.elts):
        if isinstance(item, COPIED):
            name = f".{k}"  # no name of Python's
            _their_assign(adj, ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], item), node))
            item = ast.copy_location(ast.Name(name, ast.Load()), item)
        taken.append(item)
    copies = ast.copy_location(ast.Tuple(taken, ast.Load()), value)
    _their_assign(adj, ast.copy_location(ast.Assign([target], copies), node))
    for k in range(len(taken)):
        adj.symbols.pop(f".{k}", None)
    return None


CHECK = "KINEMA_CHECK_INDICES"
INCLUDE = '#include "builtin.h"\n'
AXES = ("int i", "int i, int j", "int i, int j, int k", "int i, int j, int k, int l")
OF = "template <typename T> CUDA_CALLABLE inline"
OF_ANY = "template <template <typename> class A, typename T> CUDA_CALLABLE inline"
CHECKED = """
template <typename T>
CUDA_CALLABLE inline bool kn_inside(const array_t<T>& a, int axis, int i, const char* f, int line) {
    if (i >= 0 && i < a.shape[axis]) return true;
    printf("KINEMA_CHECK_INDICES: %s, line %d: index %d of axis %d, which has %d\\n", f, line, i, axis, a.shape[axis]);
    return false;
}
"""


def _indices() -> str:
    """C++: elements of arrays by indices that count from the beginning; `_of_any` by Warp's own."""
    lines = []
    for axes in AXES:
        names = axes.replace("int ", "")
        lines += [
            f"{OF} T* address(const array_t<T>& a, {axes}) "
            f"{{ return data_at_byte_offset(a, byte_offset(a, {names})); }}",
            f"{OF} void array_store(const array_t<T>& a, {axes}, T value) {{ *address(a, {names}) = value; }}",
            f"{OF_ANY} T* address_of_any(const A<T>& a, {axes}) {{ return &index(a, {names}); }}",
            f"{OF_ANY} void array_store_of_any(const A<T>& a, {axes}, T value) {{ index(a, {names}) = value; }}",
        ]
        if _checks():
            inside = " && ".join(f"kn_inside(a, {k}, {i}, f, line)" for k, i in enumerate(names.split(", ")))
            lines += [
                f"{OF_ANY} T* kn_address(const char*, int, const A<T>& a, {axes}) {{ return &index(a, {names}); }}",
                f"{OF} T* kn_address(const char* f, int line, const array_t<T>& a, {axes}) "
                f"{{ {inside}; return address(a, {names}); }}",
                f"{OF_ANY} void kn_store(const char*, int, const A<T>& a, {axes}, T value) "
                f"{{ index(a, {names}) = value; }}",
                f"{OF} void kn_store(const char* f, int line, const array_t<T>& a, {axes}, T value) "
                f"{{ {inside}; *address(a, {names}) = value; }}",
            ]
    return "\n".join(["namespace wp {", *([CHECKED] if _checks() else []), *lines, "}\n"])


def _checks() -> bool:
    return os.environ.get(CHECK, "") not in ("", "0")


class _Writing(threading.local):
    """Whether the module that a thread is writing holds anything of ours."""

    ours = False


_writing = _Writing()


def _codegen(builder: Any, *args: Any, **options: Any) -> str:
    """The text of a module, with our indices where it holds anything of ours."""
    outer, _writing.ours = _writing.ours, _holds_ours(builder)
    try:
        text = _their_codegen(builder, *args, **options)
        if not _writing.ours:
            return text
    finally:
        _writing.ours = outer
    if text.count(INCLUDE) != 1:
        raise BuildError(
            f"Warp {wp.__version__} generates other code than kinema.dialect edits (made for Warp 1.19): "
            f"no line {INCLUDE.strip()}. Install warp-lang>=1.19,<1.20"
        )
    return text.replace(INCLUDE, INCLUDE + _indices())


def _indexed(text: str, adj: Any) -> str:
    """The text of a function or kernel in a module of ours: one of others may count from the end."""
    if not _writing.ours:
        return text
    if not _is_ours(adj.func):
        return text.replace("wp::address(", "wp::address_of_any(").replace(
            "wp::array_store(", "wp::array_store_of_any("
        )
    if _checks():
        where = f'("{adj.fun_name}", __LINE__, '
        return text.replace("wp::address(", f"wp::kn_address{where}").replace(
            "wp::array_store(", f"wp::kn_store{where}"
        )
    return text


def _codegen_func(adj: Any, *args: Any, **options: Any) -> str:
    return _indexed(_theirs["codegen_func"](adj, *args, **options), adj)


def _codegen_kernel(kernel: Any, *args: Any, **options: Any) -> str:
    return _indexed(_theirs["codegen_kernel"](kernel, *args, **options), kernel.adj)


@cache
def _rules() -> bytes:
    """What the text of a kernel depends on here."""
    return Path(__file__).read_bytes() + bytes(_checks())


def _hash_adjoint(hasher: Any, adj: Any) -> bytes:
    return _their_hash(hasher, adj) + (_rules() if _is_ours(adj.func) else b"")


def mend() -> None:
    """Write kernels of this package so from now on."""
    Adjoint.node_visitors[ast.Name], Adjoint.node_visitors[ast.Assign] = _name, _assign
    context.ModuleHasher.hash_adjoint = _hash_adjoint  # type: ignore[method-assign, assignment]
    context.ModuleBuilder.codegen = _codegen  # type: ignore[method-assign, assignment]
    for ours in (_codegen_func, _codegen_kernel):
        name = ours.__name__[1:]
        if name not in _theirs:
            _theirs[name] = getattr(codegen, name)
            setattr(codegen, name, ours)


_their_name, _their_assign = Adjoint.node_visitors[ast.Name], Adjoint.node_visitors[ast.Assign]
_their_hash, _their_codegen = context.ModuleHasher.hash_adjoint, context.ModuleBuilder.codegen
_theirs: dict[str, Any] = {}
