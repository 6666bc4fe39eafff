"""Changes the C++ that Warp generates: the two large structs, Model and Data, go to functions by reference.

Warp passes structs by value. These two are descriptions of some four hundred arrays each, about 15 kB: to copy them at
every call is dear where a function is not inlined, and where it is, the compiler spends half its time proving that the
copy is not needed. Neither is ever assigned to, so a reference is the same. Warp (1.19) has no way to ask for that, so
functions of its code generator (`codegen_func`, `codegen_snippet`, `codegen_kernel`) are replaced by ones that call
them and edit their text:

    Model_1234 var_m,                         in a signature           Model_1234& __restrict__ var_m,
    Model_1234 var_m = _wp_args->m;           in a kernel on the CPU   Model_1234& var_m = _wp_args->m;
    Model_1234 var_m,                         in a kernel on CUDA      const __grid_constant__ Model_1234 arg_var_m,
                                              and in its first line    Model_1234& var_m = const_cast<...>(arg_var_m);

On CUDA the arguments of a kernel lie in memory of their own, which a function that is not inlined can only be given
a pointer to if all threads may share it: `__grid_constant__`. Without that word a kernel so large that the compiler
stops inlining copies both structs, 30 kB, to the stack of every thread. Where all is inlined the word changes nothing.

Structs inside them, which hold nothing but arrays and numbers, are written without what gradients and sums of structs
would need (`codegen_struct`): constructors, operators and adjoints of four hundred fields are four fifths of the time
that a small module takes to compile, and no stage uses them.

The structs of detection, half a kilobyte each, go by reference too. What goes by reference is not assigned to by
whoever is given it (tests/convex/test_references.py reads every function for that).

Only text with these structs is touched; kernels of others are generated as ever. Every edit is counted: if a version of
Warp writes something else, the first function that takes a Model fails to generate and says so, rather than running
many times slower. KINEMA_BY_VALUE=1 in the environment leaves Warp alone: slower, and otherwise the same.
"""

import os
import re
from collections.abc import Callable

import warp as wp
from warp._src import codegen

from kinema.errors import BuildError

BY_VALUE = "KINEMA_BY_VALUE"
HOOKS = ("codegen_func", "codegen_snippet", "codegen_kernel", "codegen_struct")

_structs: set[str] = set()
_plain: set[str] = set()  # these and the structs inside them
_generate: dict[str, Callable] = {name: getattr(codegen, name) for name in HOOKS if hasattr(codegen, name)}


def pass_by_reference(*structs, plain: bool = True) -> None:
    """From now on pass these `wp.struct`s by reference; `plain`: nobody makes one on the device."""
    if os.environ.get(BY_VALUE, "") not in ("", "0"):
        return
    _structs.update(struct.native_name for struct in structs)
    if plain:
        _plain.update(*map(_inside, structs))
    for name, replacement in zip(HOOKS, (_func, _snippet, _kernel, _struct), strict=True):
        if name not in _generate:
            raise _changed(f"its code generator has no {name}")
        setattr(codegen, name, replacement)


def _func(adj, *args, **kwargs) -> str:
    return _parameters(_generate["codegen_func"](adj, *args, **kwargs), _taken(adj), adj)


def _snippet(adj, *args, **kwargs) -> str:
    return _parameters(_generate["codegen_snippet"](adj, *args, **kwargs), _taken(adj), adj)


def _kernel(kernel, device, *args, **kwargs) -> str:
    text = _generate["codegen_kernel"](kernel, device, *args, **kwargs)
    edit = _arguments if device == "cpu" else _constants
    return edit(text, _taken(kernel.adj), kernel.adj)


def _struct(struct, *args, **kwargs) -> str:
    text, name = _generate["codegen_struct"](struct, *args, **kwargs), struct.native_name
    if name not in _plain:
        return text
    fields, constructor, _ = text.partition(f"    {name}() = default;")
    return f"{fields.rstrip()}\n}};\n" if constructor else text


def _inside(struct) -> set[str]:
    """Names of a struct and of the structs inside it, those in its arrays included."""
    types = [getattr(var.type, "dtype", var.type) for var in struct.vars.values()]
    nested = [kind for kind in types if isinstance(kind, codegen.Struct)]
    return {struct.native_name}.union(*map(_inside, nested))


def _taken(adj) -> int:
    """How many arguments of a function are of these structs."""
    return sum(getattr(arg.type, "native_name", None) in _structs for arg in adj.args)


def _parameters(text: str, taken: int = 0, adj=None) -> str:
    """`Model_1234 var_m,` in a signature becomes `Model_1234& __restrict__ var_m,`: nothing else points into it."""
    pattern, by = rf"^(\s*)({_names()}) (\w+)(,|\))", r"\1\2& __restrict__ \3\4"
    return _replaced(pattern, by, text, taken, "a parameter of a function", adj)


def _arguments(text: str, taken: int = 0, adj=None) -> str:
    """`Model_1234 var_m = _wp_args->m;` in a kernel on the CPU becomes a reference to the arguments."""
    pattern, by = rf"^(\s*)({_names()}) (var_\w+) = (_wp_args->\w+;)", r"\1\2& \3 = \4"
    return _replaced(pattern, by, text, taken, "an argument of a kernel", adj)


def _constants(text: str, taken: int = 0, adj=None) -> str:
    """A parameter `Model_1234 var_m` of a kernel on CUDA becomes a constant of the grid, `var_m` a reference to it."""
    pattern = rf"^(\s*)({_names()}) (var_\w+)(,|\))"
    found = {(kind, name): None for _, kind, name, _ in re.findall(pattern, text, flags=re.MULTILINE)}
    by = r"\1const __grid_constant__ \2 arg_\3\4"
    text = _replaced(pattern, by, text, taken, "a parameter of a kernel on CUDA", adj)
    named = "".join(f"    {kind}& {name} = const_cast<{kind}&>(arg_{name});\n" for kind, name in found)
    return re.sub(r"^\{\n", "{\n" + named, text, flags=re.MULTILINE) if named else text


def _replaced(pattern: str, by: str, text: str, taken: int, what: str, adj) -> str:
    changed, count = re.subn(pattern, by, text, flags=re.MULTILINE)
    if count < taken and text.strip():
        raise _changed(f"it no longer writes {what} as this file expects, first seen in {adj.fun_name}")
    return changed


def _changed(what: str) -> BuildError:
    return BuildError(
        f"Warp {wp.__version__} generates other code than kinema.convex.references edits (made for Warp 1.19): {what}. "
        f"Install warp-lang>=1.19,<1.20, or set {BY_VALUE}=1, which is slower but leaves Warp alone"
    )


def _names() -> str:
    return "|".join(map(re.escape, sorted(_structs)))
