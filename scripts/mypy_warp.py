"""A plugin of mypy that leaves alone what is not Python: functions and structs of Warp.

What stands under `@wp.func`, `@wp.kernel`, `@wp.struct` or `@bundle` looks like Python and is Warp's language: its
annotations are values (`wp.array(dtype=wp.vec3)`), a vector has as many components as its type says, a loop over a
tuple is unrolled. mypy has no types for it. So such a function is seen as `name: Any`, and the fields of a struct are
anything. All the rest of a file, host code beside kernels included, is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    ClassDef,
    Decorator,
    Expression,
    FuncDef,
    IfStmt,
    MemberExpr,
    MypyFile,
    NameExpr,
    OverloadedFuncDef,
    Statement,
    TempNode,
    TryStmt,
    WithStmt,
)
from mypy.plugin import FunctionContext, Plugin
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny, get_proper_type

FUNCTIONS = {"wp.func", "wp.kernel", "wp.func_native"}
STRUCTS = {"wp.struct", "bundle"}


def name_of(decorator: Expression) -> str:
    """`wp.kernel` for `@wp.kernel` and for `@wp.kernel(enable_backward=False)`."""
    if isinstance(decorator, CallExpr):
        return name_of(decorator.callee)
    if isinstance(decorator, MemberExpr) and isinstance(decorator.expr, NameExpr):
        return f"{decorator.expr.name}.{decorator.name}"
    return decorator.name if isinstance(decorator, NameExpr) else ""


def blocks_of(statement: Statement) -> Iterator[Block]:
    """Where further definitions may stand."""
    if isinstance(statement, FuncDef | WithStmt):
        yield statement.body
    elif isinstance(statement, ClassDef):
        yield statement.defs
    elif isinstance(statement, IfStmt):
        yield from statement.body
        yield from [statement.else_body] if statement.else_body else []
    elif isinstance(statement, TryStmt):
        yield from [statement.body, *statement.handlers]


def function_of_warp(statement: Statement) -> Decorator | None:
    """The (first) function of Warp that a statement defines, if it does."""
    if isinstance(statement, OverloadedFuncDef):
        return next((found for item in statement.items if (found := function_of_warp(item))), None)
    if isinstance(statement, Decorator) and any(name_of(d) in FUNCTIONS for d in statement.original_decorators):
        return statement
    return None


def anything(name: str, line: int) -> AssignmentStmt:
    """`name: Any`"""
    target, kind = NameExpr(name), AnyType(TypeOfAny.explicit)
    statement = AssignmentStmt([target], TempNode(kind, no_rhs=True), type=kind, new_syntax=True)
    for node in (target, statement, statement.rvalue):
        node.set_line(line)
    return statement


def blindfold(statements: list[Statement]) -> None:
    """Take the types off all functions and structs of Warp among some statements, and inside them."""
    named: set[str] = set()  # overloads: one is enough
    for at, statement in reversed(list(enumerate(statements))):
        found = function_of_warp(statement)
        if found is not None:
            statements[at : at + 1] = [] if found.func.name in named else [anything(found.func.name, statement.line)]
            named.add(found.func.name)
            continue
        if isinstance(statement, Decorator):
            statement = statement.func
        if isinstance(statement, ClassDef) and any(name_of(d) in STRUCTS for d in statement.decorators):
            for field in statement.defs.body:
                if isinstance(field, AssignmentStmt):
                    field.type = field.unanalyzed_type = AnyType(TypeOfAny.explicit)
            statement.defs.body.append(anything("vars", statement.line))  # Warp's list of the fields
            continue
        for block in blocks_of(statement):
            blindfold(block.body)


def anything_for_arrays(context: FunctionContext) -> Type:
    """Any, where an array or a function comes back."""
    found = get_proper_type(context.default_return_type)
    array = isinstance(found, Instance) and found.type.name == "array"
    return AnyType(TypeOfAny.explicit) if array or isinstance(found, CallableType) else found


class Warp(Plugin):
    """Called with every file after it is read and before anything is known of it, and with calls of Warp."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """What `wp.zeros`, `wp.func` and the like return is anything: Warp's own types are too narrow to be of use."""
        return anything_for_arrays if fullname.startswith("warp.") else None

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        """No dependencies: this is the one door through which a plugin sees a file as it was written."""
        if file.fullname.startswith("kinema"):
            blindfold(file.defs)
        return []


def plugin(version: str) -> type[Plugin]:
    """What mypy asks for."""
    return Warp
