"""Kernels of dual numbers, made of the text that Warp writes for plain ones.

A stage is C++ by the time it is compiled: templates of Warp over `wp::float32`, and native functions over `float`. None
of it says how numbers multiply. So the derivative of a stage is the same text with another type of number (dual.cpp):

    wp::float32, float    ->  wp::dual32        a value and its derivatives along `width` directions
    wp::float64, double   ->  wp::dual64
    mesh_query_ray_t      ->  kn_mesh_ray       what Warp's ray through a mesh gives

Native functions take the way of the CPU, one thread a world, on CUDA as well. There a kernel is given the places of
Model and Data instead of the two, which together are more than the arguments of a kernel may be, and long functions of
large modules stay functions.

Arrays keep their descriptions, a place and strides in bytes; theirs must lead to duals (arrays.py). Warp (1.19) takes
text to put before a module, which is where duals are defined, and has no way to edit what follows it: `codegen` of its
module builder is replaced by one that calls it, and edits the text of modules that bring duals. Others stay as they
are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import warp as wp
from warp._src import codegen
from warp._src.context import ModuleBuilder

from kinema.errors import BuildError

MARK = "// numbers of this module are dual"
_NUMBERS = {"float32": "dual32", "float64": "dual64", "float": "dual32", "double": "dual64"}
_KERNEL = re.compile(  # as Warp writes it, or references.py
    r"(__global__ void \w+\(\s*wp::launch_bounds_t<1> dim,)\s*(?:const __grid_constant__ )?(\w+) (?:arg_)?var_m,"
    r"\s*(?:const __grid_constant__ )?(\w+) (?:arg_)?var_d,([^{]*\{)"
    r"(?:\s*\w+& var_[md] = const_cast<\w+&>\(arg_var_[md]\);)*"
)
_FUNCTION = re.compile(r"^static CUDA_CALLABLE (?=[^;{]*\{)", re.MULTILINE)
_CALL = re.compile(r"\b(\w+)\(")
_LARGE, _LONG = 8000, 60  # lines of a module, or of a function with all that it calls; and of a function
_original = ModuleBuilder.codegen


@cache
def options(width: int) -> dict[str, Any]:
    """Options of a module whose numbers are duals with so many derivatives."""
    text = files("kinema.gradients").joinpath("dual.cpp").read_text(encoding="utf-8")
    head = f"{MARK}\n#define KN_WIDTH {width}\n{text}\n"
    build = wp.ModuleBuildOptions(extra_cpu_preamble=head, extra_cuda_preamble=head)
    return {"extra_build_options": build}


def transcribed(text: str) -> str:
    """The text of a module after its head, with duals for numbers."""
    text = re.sub(r"\bwp::float\(", "wp::kn_cast(", text).replace("defined(__CUDA_ARCH__)", "0")
    text = text.replace("wp::mesh_query_ray_t", "wp::kn_mesh_ray")
    return re.sub(r"\b(?:wp::)?(float32|float64|float|double)\b", lambda found: f"wp::{_NUMBERS[found[1]]}", text)


def in_pieces(text: str) -> str:
    """The text of a large module with its long functions kept apart.

    NVRTC lays every function into its callers, and needs more than ten minutes for a search in duals, or for the
    stiffness of flexes, that has become one function; in pieces it needs one.
    """
    starts = [found.start() for found in _FUNCTION.finditer(text)]
    pieces = [text[begin:end] for begin, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    if text.count("\n") < _LARGE and laid_in(pieces) < _LARGE:
        return text
    apart = [
        piece.replace("CUDA_CALLABLE", "CUDA_CALLABLE __noinline__", 1) if piece.count("\n") > _LONG else piece
        for piece in pieces
    ]  # fmt: skip
    return "".join([text[: starts[0]], *apart]) if starts else text


def laid_in(functions: Sequence[str]) -> int:
    """Lines of the longest of some functions once all that it calls is laid in; callers come after what they call."""
    lines: dict[str, int] = {}
    for text in functions:
        name, *calls = _CALL.findall(text)
        lines[name] = text.count("\n") + sum(lines.get(call, 0) for call in calls if call != name)
    return max((count for name, count in lines.items() if not name.startswith("adj_")), default=0)


def _codegen(builder: ModuleBuilder, device: str) -> str:
    text = _original(builder, device)
    if MARK not in text:
        return text
    head, macros, body = text.partition(codegen.codegen_cast_macros)
    if not macros:
        raise BuildError(f'Warp {wp.__version__} writes modules in another way than 1.19: use method="fd"')
    body = transcribed(body)
    if device != "cpu":
        body, edits = _KERNEL.subn(_by_place, in_pieces(body))
        if edits != len(builder.kernels):
            raise BuildError(f'Warp {wp.__version__} writes kernels in another way than 1.19: use method="fd"')
    return head + macros.replace("#define float(x) cast_float(x)\n", "") + body


def _by_place(found: re.Match[str]) -> str:
    """A kernel that takes the places of Model and Data."""
    head, model, data, rest = found.groups()
    taken = f"\n    {model}* place_m,\n    {data}* place_d,{rest}"
    return f"{head}{taken}\n    {model}& var_m = *place_m;\n    {data}& var_d = *place_d;\n"


def install() -> None:
    """From now on transcribe modules that bring duals."""
    ModuleBuilder.codegen = _codegen  # type: ignore[method-assign]
