"""Pass the two large structs, Model and Data, to stages by reference.

Warp passes structs by value. These two are descriptions of some four hundred arrays each, about 15 kB: to copy them at
every call is dear where a function is not inlined, and where it is, the compiler spends half its time proving that the
copy is not needed. Neither is ever assigned to, so a reference is the same.

Warp (1.19) has no way to ask for that, so the C++ it generates is changed here: in signatures of functions `Model m`
becomes `Model& m`. If a later Warp generates other text, nothing is replaced and all works as before, only slower.
"""

import re

from warp._src import codegen

_structs: set[str] = set()
_generate_func = codegen.codegen_func
_generate_snippet = codegen.codegen_snippet
_generate_kernel = codegen.codegen_kernel


def pass_by_reference(*structs) -> None:
    """From now on pass these `wp.struct`s by reference."""
    _structs.update(struct.native_name for struct in structs)
    codegen.codegen_func = _func
    codegen.codegen_snippet = _snippet
    codegen.codegen_kernel = _kernel


def _func(*args, **kwargs) -> str:
    return _parameters(_generate_func(*args, **kwargs))


def _snippet(*args, **kwargs) -> str:
    return _parameters(_generate_snippet(*args, **kwargs))


def _kernel(kernel, device, *args, **kwargs) -> str:
    text = _generate_kernel(kernel, device, *args, **kwargs)
    return _arguments(text) if device == "cpu" else text


def _parameters(text: str) -> str:
    """`Model_1234 var_m,` in a signature becomes `Model_1234& __restrict__ var_m,`: nothing else points into it."""
    return re.sub(rf"^(\s*)({_names()}) (\w+)(,|\))", r"\1\2& __restrict__ \3\4", text, flags=re.MULTILINE)


def _arguments(text: str) -> str:
    """`Model_1234 var_m = _wp_args->m;` in a kernel on the CPU becomes a reference to the arguments."""
    return re.sub(rf"^(\s*)({_names()}) (var_\w+) = (_wp_args->\w+;)", r"\1\2& \3 = \4", text, flags=re.MULTILINE)


def _names() -> str:
    return "|".join(map(re.escape, sorted(_structs)))
