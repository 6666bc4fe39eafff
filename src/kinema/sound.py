"""Kernels of this package read no value that nobody has set: two rules of Warp's generator, mended.

Warp writes a function as C++ whose variables stand at its top without values, and joins a name that two branches leave
behind differently by `where(condition, one, other)`. Two kinds of names are joined that no branch has assigned:

    if a:                   LIMIT is a constant of the module. Warp remembers it where it is first named, here once a
        if b: x = LIMIT     branch, and joins the two: below, LIMIT is read from the joined variable, which was set only
        else: y = LIMIT     where `a` held. Here a constant is the same variable wherever it is named, one with a value
    z = LIMIT               from the beginning.

    if a: x, y = p[i], q[i]     An assignment of one name copies an element. One of several keeps its address: joining
    else: x, y = q[i], p[i]     them reads through both, though one was never computed; and a name follows what is
                                written to the array later, or to the name it was assigned from (`x, y = y, x`). Here
                                it copies too.

A compiler that sees through every call happens to do what was meant; nothing obliges it to. Only kernels of this
package are written so, with all they call; their hashes tell it, so that no older text is taken from the cache.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

from warp._src import codegen, context

Adjoint: Any = codegen.Adjoint if codegen.Adjoint.__name__ == "Adjoint" else codegen.Adjoint.__base__
COPIED = (ast.Name, ast.Attribute, ast.Subscript)
"""What an assignment of one name copies: an element is not a value of its own."""


def _is_ours(function: Any) -> bool:
    return function is not None and getattr(function, "__module__", "").partition(".")[0] == "kinema"


def _is_for_us(adj: Any) -> bool:
    """Whether a function is being written into a kernel of this package."""
    builder = adj.builder
    if builder is None:
        return _is_ours(adj.func)
    known = vars(builder).get("_of_kinema")
    if known is None:
        known = builder._of_kinema = any(_is_ours(kernel.func) for kernel in builder.kernels)
    return known


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


@cache
def _rules() -> bytes:
    """What the text of a kernel depends on here."""
    return Path(__file__).read_bytes()


def _hash_adjoint(hasher: Any, adj: Any) -> bytes:
    return _their_hash(hasher, adj) + (_rules() if _is_ours(adj.func) else b"")


def mend() -> None:
    """Write kernels of this package so from now on."""
    Adjoint.node_visitors[ast.Name], Adjoint.node_visitors[ast.Assign] = _name, _assign
    context.ModuleHasher.hash_adjoint = _hash_adjoint  # type: ignore[method-assign, assignment]


_their_name, _their_assign = Adjoint.node_visitors[ast.Name], Adjoint.node_visitors[ast.Assign]
_their_hash = context.ModuleHasher.hash_adjoint
