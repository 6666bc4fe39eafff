"""Kernels of dual numbers, made of the text that Warp writes for plain ones.

A stage is C++ by the time it is compiled: templates of Warp over `wp::float32`, and native functions over `float`. None
of it says how numbers multiply. So the derivative of a stage is the same text with another type of number (dual.cpp):

    wp::float32, float    ->  wp::dual32        a value and its derivatives along `width` directions
    wp::float64, double   ->  wp::dual64

Arrays keep their descriptions, a place and strides in bytes; theirs must lead to duals (arrays.py). Warp (1.19) takes
text to put before a module, which is where duals are defined, and has no way to edit what follows it: `codegen` of its
module builder is replaced by one that calls it, and edits the text of modules that bring duals. Others stay as they
are.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import warp as wp
from warp._src import codegen
from warp._src.context import ModuleBuilder

from kinema.errors import BuildError

MARK = "// numbers of this module are dual"
_NUMBERS = {"float32": "dual32", "float64": "dual64", "float": "dual32", "double": "dual64"}
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
    text = re.sub(r"\bwp::float\(", "wp::kn_cast(", text)
    return re.sub(r"\b(?:wp::)?(float32|float64|float|double)\b", lambda found: f"wp::{_NUMBERS[found[1]]}", text)


def _codegen(builder: ModuleBuilder, device: str) -> str:
    text = _original(builder, device)
    if MARK not in text:
        return text
    head, macros, body = text.partition(codegen.codegen_cast_macros)
    if not macros:
        raise BuildError(f'Warp {wp.__version__} writes modules in another way than 1.19: use method="fd"')
    return head + macros.replace("#define float(x) cast_float(x)\n", "") + transcribed(body)


def install() -> None:
    """From now on transcribe modules that bring duals."""
    ModuleBuilder.codegen = _codegen  # type: ignore[method-assign]
