"""Read from its source what a function of Warp touches, through everything it calls.

The reader follows

    d.frc.qacc[w, i], a[w, i] = x, a[w, i] += x, wp.atomic_or(a, w, x)     loads and stores
    f(d.con, w), touch.dist = contacts.dist                              arrays and bundles handed on
    wp.static(functions[k])(m, d, w, i), overloads, closures               what is called

A path that `wp.static` switches off is not read. Branches and loops are all gone through, and a name that is given two
things stands for both. Native functions declare what they touch (math/touches.py). What cannot be followed is an error
that names the place: an empty answer would mean that no barrier is needed.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn, TypeGuard

import warp as wp
from warp._src.codegen import Struct
from warp._src.context import builtin_functions

from kinema.convex.bundle import array_name
from kinema.errors import BuildError
from kinema.math.touches import declared

Index = tuple[str | None, ...]  # arguments that index an array, None: something else


@dataclass(frozen=True)
class Place:
    """An array, or a struct of arrays: a path of attributes from an argument or a local struct.

    Attributes:
        root: The argument; "=name" is a struct made in the function itself.
        at: What has indexed the array already: a[w] of a two-dimensional array is an array.
    """

    root: str
    path: tuple[str, ...] = ()
    at: Index = ()

    def name(self, types: Mapping[str, Any]) -> str:
        """The name of the array."""
        owner, attribute, kind = None, self.root, types[self.root]
        aspect = ""
        for step in self.path:
            if is_array(kind) and not holds_arrays(kind.dtype):  # a part of the array that is spoken of apart
                aspect = f".{step}"
            else:
                owner, attribute, kind = _struct(kind), step, _struct(kind).vars[step].type
        return (attribute if owner is None else array_name(owner, attribute)) + aspect


@dataclass(frozen=True)
class Ref:
    """A value that holds arrays: its Warp type, and where it may come from."""

    type: Any
    places: frozenset[Place]


@dataclass(frozen=True)
class Made:
    """A struct that a function returns: where the arrays in it come from, by path."""

    type: Any
    arrays: tuple[tuple[tuple[str, ...], frozenset[Place]], ...]


def is_array(kind: Any) -> bool:
    return isinstance(kind, wp.array) or (isinstance(kind, type) and issubclass(kind, wp.array))


def _struct(kind: Any) -> Any:
    """A struct, or that of which an array is made."""
    return kind.dtype if is_array(kind) else kind


def holds_arrays(kind: Any) -> bool:
    """Is it an array, or a struct with one in it?"""
    return is_array(kind) or (isinstance(kind, Struct) and any(holds_arrays(v.type) for v in kind.vars.values()))


PLAIN = {range, int, float, bool, min, max, abs, len, round, print, builtins.sum}
READING = {"lower_bound"}  # builtins of Warp that read an array they are given
LOCAL = {"zeros"}  # builtins that make an array of the thread's own


@dataclass(eq=False)
class Reader:
    """Reads one function, for arguments of given types.

    Attributes:
        types: Type of each argument.
        reads: Arrays read, with their indices, in terms of the arguments.
        writes: Arrays written.
        returns: What is returned, where that holds arrays.
        keeps: It, or what it calls, makes arrays of the thread's own: room for a polytope, say.
    """

    func: wp.Function | wp.Kernel
    types: dict[str, Any]
    reads: set[tuple[Place, Index]] = field(default_factory=set)
    writes: set[tuple[Place, Index]] = field(default_factory=set)
    returns: list[Ref | Made] = field(default_factory=list)
    keeps: bool = False

    def __post_init__(self) -> None:
        self.scope = dict(self.func.adj.get_static_evaluation_context())
        self.locals: dict[str, Ref] = {}
        self.fields: dict[tuple[str, tuple[str, ...]], set[Place]] = {}  # arrays put into local structs
        self.bound: dict[str, Any] = {}  # loop variables of loops that are unrolled here
        self.line = 0

    def run(self) -> None:
        said = declared(self.func.adj.func)
        if said is not None:
            self._declare(said)
            return
        if getattr(self.func, "native_snippet", None) is not None:
            if any(holds_arrays(kind) for kind in self.types.values()):
                self._fail("is native code that does not say what it touches: add @touches (kinema.math.touches)")
            return
        tree = _tree(self.func.adj.source)
        self.params = {name: name for name in self.types}
        self.single = _assigned_once(tree)
        for name in _assigned(tree):
            self.params.pop(name, None)
        self._block(tree.body)

    def _declare(self, said) -> None:
        for kept, touched in ((self.reads, said.reads), (self.writes, said.writes)):
            for word in touched:
                root, *path = word.path
                if root not in self.types or any(name not in self.types for name in word.index):
                    self._fail(f"says that it touches {'.'.join(word.path)}, which is none of its arguments")
                kind = self.types[root]
                for step in path:
                    if is_array(kind):
                        continue
                    if step not in getattr(kind, "vars", {}):
                        self._fail(f"says that it touches {'.'.join(word.path)}, which does not exist")
                    kind = _struct(kind).vars[step].type
                for inner in _arrays_of(kind):
                    kept.add((Place(root, (*path, *inner)), word.index))

    def _fail(self, what: str) -> NoReturn:
        adj = self.func.adj
        line = adj.fun_lineno + max(self.line - 1, 0)
        raise BuildError(f"{adj.filename}:{line}: what {self.func.key} reads and writes cannot be worked out: {what}")

    # .......................................................................................... statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.line = statement.lineno
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self._value(node.value)
                for target in node.targets:
                    self._store(target, value)
            case ast.AnnAssign():
                self._store(node.target, self._value(node.value) if node.value else None)
            case ast.AugAssign():
                self._value(node.value)
                self._value(node.target)
                self._store(node.target, None)
            case ast.Expr():
                self._value(node.value)
            case ast.Return():
                value = self._value(node.value) if node.value else None
                if isinstance(value, Ref):
                    self.returns.append(self._leaving(value))
            case ast.If():
                self._branch(node)
            case ast.For():
                self._loop(node)
            case ast.While():
                self._value(node.test)
                self._block(node.body)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Assert():
                pass
            case _:
                self._fail(f"a {type(node).__name__} statement")

    def _branch(self, node: ast.If) -> None:
        test, flip = node.test, False
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, flip = test.operand, True
        if self._is_static(test):
            self._block(node.body if bool(self._static(test)) != flip else node.orelse)
            return
        self._value(test)
        self._block(node.body)
        self._block(node.orelse)

    def _loop(self, node: ast.For) -> None:
        """A loop whose variable chooses a function is gone through value by value; others once."""
        name = node.target.id if isinstance(node.target, ast.Name) else None
        chosen = any(
            isinstance(leaf, ast.Name) and leaf.id == name
            for call in ast.walk(node) if isinstance(call, ast.Call) and self._is_static(call)
            for leaf in ast.walk(call)
        )  # fmt: skip
        if name is None or not chosen:
            for part in node.iter.args if isinstance(node.iter, ast.Call) else [node.iter]:
                self._value(part)
            self._block(node.body)
            return
        if not isinstance(node.iter, ast.Call):
            self._fail(f"a loop over {ast.unparse(node.iter)}")
        for value in range(*(self._number(part) for part in node.iter.args)):
            self.bound[name] = value
            self._block(node.body)
        self.bound.pop(name, None)

    def _number(self, node: ast.expr) -> int:
        return int(self._static(node)) if self._is_static(node) else int(self._evaluate(node))

    def _store(self, target: ast.expr, value: Ref | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._store(part, None)
            return
        if isinstance(target, ast.Name):
            if isinstance(value, Ref):
                known = self.locals.get(target.id)
                self.locals[target.id] = Ref(value.type, value.places | (known.places if known else frozenset()))
            return
        node: ast.expr = target
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            base = self._value(node.value)
            if isinstance(base, Ref) and is_array(base.type):
                if not isinstance(node, ast.Subscript):
                    self._fail(f"{ast.unparse(target)} is assigned to")
                self._touch(self.writes, base, self._index(node))
                return
            if isinstance(base, Ref) and node is target and isinstance(node, ast.Attribute):
                self._fill(base, node, value)
                return
            node = node.value

    def _fill(self, base: Ref, node: ast.Attribute, value: Ref | None) -> None:
        """A field of a struct is set."""
        if not isinstance(value, Ref):
            return
        for place in base.places:
            if not place.root.startswith("="):
                self._fail(f"{ast.unparse(node)}: an array of an argument is exchanged")
            for path, places in self._spread(value):
                key = (place.root, (*place.path, node.attr, *path))
                self.fields.setdefault(key, set()).update(places)

    # .......................................................................................... expressions

    def _value(self, node: ast.expr | None) -> Ref | None:
        """What an expression gives, where that holds arrays; what it touches is put down on the way."""
        match node:
            case None | ast.Constant():
                return None
            case ast.Name():
                return self._named(node.id)
            case ast.Attribute():
                base = self._value(node.value)
                return self._member(base, node) if isinstance(base, Ref) else None
            case ast.Subscript():
                base = self._value(node.value)
                index = self._index(node)
                if isinstance(base, Ref) and is_array(base.type):
                    return self._load(base, index)
                return None
            case ast.Call():
                return self._call(node)
            case ast.IfExp():
                self._value(node.test)
                return _joined([self._value(node.body), self._value(node.orelse)])
            case ast.Tuple() | ast.List():
                for part in node.elts:
                    self._value(part)
                return None
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._value(child)
        return None

    def _named(self, name: str) -> Ref | None:
        if name in self.locals:
            known = self.locals[name]
            if name in self.types:
                return Ref(known.type, known.places | {Place(name)})
            return known
        if name in self.types and holds_arrays(self.types[name]):
            return Ref(self.types[name], frozenset({Place(name)}))
        return None

    def _member(self, base: Ref, node: ast.Attribute) -> Ref | None:
        if is_array(base.type):
            if node.attr not in ("shape", "ndim", "size", "strides"):
                self._fail(f"{ast.unparse(node)} of an array")
            return None
        if node.attr not in base.type.vars:
            self._fail(f"{base.type.key} has no {node.attr}")
        kind = base.type.vars[node.attr].type
        if not holds_arrays(kind):
            return None
        places: set[Place] = set()
        for place in base.places:
            path = (*place.path, node.attr)
            if place.root.startswith("=") and is_array(kind):
                places |= self.fields.get((place.root, path), set())
            else:
                places.add(Place(place.root, path))
        return Ref(kind, frozenset(places))

    def _load(self, base: Ref, index: Index) -> Ref | None:
        if len(index) < base.type.ndim:  # a row of the array: nothing is read yet
            rest: Any = wp.array(dtype=base.type.dtype, ndim=base.type.ndim - len(index))
            return Ref(rest, frozenset(Place(p.root, p.path, (*p.at, *index)) for p in base.places))
        self._touch(self.reads, base, index)
        if holds_arrays(base.type.dtype):  # an element is a struct, whose arrays are touched as those of any other
            return Ref(base.type.dtype, frozenset(Place(p.root, p.path) for p in base.places))
        return None

    def _index(self, node: ast.Subscript) -> Index:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            self._value(part)
        return tuple(map(self._symbol, parts))

    def _symbol(self, node: ast.expr) -> str | None:
        """The argument that an expression is, None if it is anything else."""
        seen: set[str] = set()
        while isinstance(node, ast.Name) and node.id not in seen:
            if node.id in self.params:
                return node.id
            if node.id not in self.single:
                return None
            seen.add(node.id)
            node = self.single[node.id]
        return None

    def _touch(self, kept: set[tuple[Place, Index]], base: Ref, index: Index) -> None:
        for place in base.places:
            kept.add((Place(place.root, place.path), (*place.at, *index)))

    def _leaving(self, value: Ref) -> Ref | Made:
        """A returned value, in terms of the arguments."""
        if all(not place.root.startswith("=") for place in value.places):
            return value
        return Made(value.type, tuple((path, frozenset(places)) for path, places in self._spread(value)))

    def _spread(self, value: Ref) -> list[tuple[tuple[str, ...], set[Place]]]:
        """The arrays of a value: the path to each, and where it comes from."""
        result = []
        for path in _arrays_of(value.type):
            places: set[Place] = set()
            for place in value.places:
                if place.root.startswith("="):
                    places |= self.fields.get((place.root, (*place.path, *path)), set())
                else:
                    places.add(Place(place.root, (*place.path, *path), place.at))
            result.append((path, places))
        return result

    # .......................................................................................... calls

    def _is_static(self, node: ast.AST) -> TypeGuard[ast.Call]:
        return isinstance(node, ast.Call) and ast.unparse(node.func) in ("wp.static", "warp.static", "static")

    def _static(self, node: ast.Call) -> Any:
        return self._evaluate(node.args[0] if node.args else node.keywords[0].value)

    def _evaluate(self, node: ast.expr) -> Any:
        try:
            return eval(compile(ast.Expression(node), "<static>", "eval"), {**self.scope, **self.bound})
        except Exception as error:
            self._fail(f"{ast.unparse(node)} is not known before it runs: {error}")

    def _call(self, node: ast.Call) -> Ref | None:
        if self._is_static(node):
            return None
        callee = self._callee(node.func)
        values = [self._value(part) for part in node.args]
        named = {str(part.arg): self._value(part.value) for part in node.keywords}
        if isinstance(callee, wp.Function):
            if callee.is_builtin():
                return self._builtin(callee, node, values, named)
            return self._user(callee, node, values, named)
        if isinstance(callee, Struct):
            root = f"={callee.key}@{node.lineno}:{node.col_offset}"
            return Ref(callee, frozenset({Place(root)})) if holds_arrays(callee) else None
        if callee in PLAIN or isinstance(callee, type):
            return None
        self._fail(f"{ast.unparse(node.func)} is no function of Warp")

    def _callee(self, node: ast.expr) -> Any:
        """What is called: a function of Warp's own, or what the name or the static expression stands for.

        The adjoint of a function, wp.grad(f), touches what f does.
        """
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "wp.grad":
            return self._callee(node.args[0])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "wp":
            if node.attr in builtin_functions:
                return builtin_functions[node.attr]
        return self._static(node) if self._is_static(node) else self._evaluate(node)

    def _builtin(self, callee: wp.Function, node: ast.Call, values: list[Ref | None], named: Mapping) -> Ref | None:
        arrays = [value for value in (*values, *named.values()) if isinstance(value, Ref)]
        if callee.key in LOCAL:  # an array of the thread's own
            shape = node.args[0] if node.args else next(part.value for part in node.keywords if part.arg == "shape")
            ndim = len(shape.elts) if isinstance(shape, ast.Tuple) else 1
            self.keeps = True
            return Ref(wp.array(dtype=Any, ndim=ndim), frozenset())
        if callee.key.startswith("atomic_") and arrays:
            index = tuple(map(self._symbol, node.args[1 : 1 + arrays[0].type.ndim]))
            self._touch(self.reads, arrays[0], index)
            self._touch(self.writes, arrays[0], index)
        elif callee.key in READING:
            for array in arrays:
                self._touch(self.reads, array, ())
        elif arrays:
            self._fail(f"wp.{callee.key} is given an array")
        return None

    def _user(self, callee: wp.Function, node: ast.Call, values: list, named: Mapping[str, Any]) -> Ref | None:
        overloads = list(callee.user_overloads.values()) + list(callee.user_templates.values())
        results = []
        fitting = [f for f in overloads or [callee] if _fits(f, values)]
        if not fitting:
            self._fail(f"no overload of {callee.key} takes these arguments")
        for overload in fitting:
            names = list(overload.input_types)
            given = dict(zip(names, values, strict=False)) | dict(named)
            symbols = {name: self._symbol(part) for name, part in zip(names, node.args, strict=False)}
            symbols |= {str(part.arg): self._symbol(part.value) for part in node.keywords}
            generic = tuple(
                (name, value.type) for name, value in given.items()
                if isinstance(value, Ref) and not holds_arrays(overload.input_types[name])
            )  # fmt: skip
            inside = read(overload, generic)
            self.keeps = self.keeps or inside.keeps
            for kept, touched in ((self.reads, inside.reads), (self.writes, inside.writes)):
                for place, index in touched:
                    at = tuple(symbols.get(name) if name else None for name in index)
                    for here in self._here(place, given, overload):
                        kept.add((Place(here.root, here.path), (*here.at, *at)))
            results += [self._returned(value, given, overload, node) for value in inside.returns]
        return _joined(results)

    def _here(self, place: Place, given: Mapping[str, Ref | None], callee: wp.Function) -> set[Place]:
        """Where an array of a called function's argument comes from."""
        value = given.get(place.root)
        if not isinstance(value, Ref):
            self._fail(f"argument {place.root} of {callee.key} is not followed")
        found: set[Place] = set()
        for source in value.places:
            if source.root.startswith("="):
                found |= self.fields.get((source.root, (*source.path, *place.path)), set())
            else:
                found.add(Place(source.root, (*source.path, *place.path), source.at))
        return found

    def _returned(self, value: Ref | Made, given: Mapping[str, Ref | None], callee, node: ast.Call) -> Ref:
        if isinstance(value, Ref):
            return Ref(value.type, frozenset(p for place in value.places for p in self._here(place, given, callee)))
        root = f"={callee.key}@{node.lineno}:{node.col_offset}"
        for path, places in value.arrays:
            found = {p for place in places for p in self._here(place, given, callee)}
            self.fields.setdefault((root, path), set()).update(found)
        return Ref(value.type, frozenset({Place(root)}))


@cache
def read(func: wp.Function | wp.Kernel, given: tuple[tuple[str, Any], ...] = ()) -> Reader:
    """What a function touches; `given` are the types of generic arguments."""
    types = {name: kind for name, kind in func.adj.arg_types.items() if name != "return"}
    reader = Reader(func, {**types, **dict(given)})
    reader.run()
    return reader


@cache
def _tree(source: str) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _assigned(tree: ast.FunctionDef) -> set[str]:
    """Names that a function assigns to."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _assigned_once(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Names that are set once, and to what."""
    count: dict[str, int] = {}
    value: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            count[node.id] = count.get(node.id, 0) + 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value[node.targets[0].id] = node.value
    return {name: value[name] for name in value if count[name] == 1}


def _arrays_of(kind: Any) -> list[tuple[str, ...]]:
    """Paths to all arrays in a type; an array has the empty path."""
    if is_array(kind):
        return [()]
    if not isinstance(kind, Struct):
        return []
    return [(name, *path) for name, var in kind.vars.items() for path in _arrays_of(var.type)]


def _fits(func: wp.Function, values: list[Ref | None]) -> bool:
    """Could an overload take these arguments? By their number, and the types of arrays."""
    kinds = list(func.input_types.values())
    if len(values) > len(kinds):
        return False
    for value, kind in zip(values, kinds, strict=False):
        if isinstance(value, Ref) and is_array(value.type) and is_array(kind):
            dtypes = {kind.dtype, value.type.dtype}
            if value.type.ndim != kind.ndim or (len(dtypes) > 1 and Any not in dtypes):
                return False
        elif isinstance(value, Ref) and is_array(value.type) != is_array(kind) and kind is not Any:
            return False
    return True


def _joined(values: Iterable[Ref | None]) -> Ref | None:
    """What is one of several values."""
    refs = [value for value in values if isinstance(value, Ref)]
    return Ref(refs[0].type, frozenset().union(*(ref.places for ref in refs))) if refs else None
