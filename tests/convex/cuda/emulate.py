"""Run native code that is written for CUDA on the CPU, threads as fibres (on_cpu.hpp), over the arrays of an engine.

What the code names of the model and the data, `m.opt.tolerance`, `d.efc.J`, is looked up in the engine; structs that
hold just that are made for it, so no more of Warp is needed than where its arrays lie.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np
import warp as wp

HERE = Path(__file__).parent
COMPILER = shutil.which("g++") or shutil.which("clang++")
NAMED = re.compile(r"\b([md])\.(\w+)\.(\w+)")


class Emulated:
    """Native code of a stage of lanes, compiled for the CPU as CUDA would run it.

    Args:
        text: The C++.
        engine: An engine on the CPU, made with `cuda=True`.
        folder: Where to compile.
    """

    def __init__(self, text: str, engine, folder: Path):
        self.engine = engine
        self.names = sorted(set(NAMED.findall(re.sub(r"//.*", "", text))))
        groups: dict[tuple[str, str], list[str]] = defaultdict(list)
        for root, bundle, field in self.names:
            value = self._value(root, bundle, field)
            kind = f"Array<{_c_type(value)}>" if isinstance(value, wp.array) else "int"
            groups[root, bundle].append(f"{kind} {field};")
        structs = ""
        for root in "md":
            mine = {bundle: " ".join(fields) for (of, bundle), fields in groups.items() if of == root}
            members = "".join(f"  struct {{ {fields} }} {bundle};\n" for bundle, fields in mine.items())
            structs += f"struct Struct_{root} {{\n{members}}};\nstatic Struct_{root} {root};\n"
        setters = "\n".join(
            f"  set(&{root}.{bundle}.{field}, sizeof({root}.{bundle}.{field}), from + {40 * k});"
            for k, (root, bundle, field) in enumerate(self.names)
        )
        code = f"""
#include "{HERE / "on_cpu.hpp"}"
{structs}
static void set(void* to, size_t size, const int64_t* from) {{
  if (size == 4) {{ *(int*)to = (int)from[0]; return; }}
  Array<char>* a = (Array<char>*)to;
  a->data = (char*)from[0];
  for (int k = 0; k < 4; ++k) {{ a->strides[k] = from[1 + k]; a->shape[k] = (int)from[5 + k]; }}
}}
static int w = 0, offset = 0;
static void work(int lane) {{
  lane += offset;
  [&]() {{
{text}
  }}();
}}
extern "C" void bind(const int64_t* from) {{
{setters}
}}
extern "C" void run(int world, int first_lane, int threads, int backward) {{
  w = world; offset = first_lane;
  run_block(threads, work, backward != 0);
}}
"""
        path = folder / "emulated.cpp"
        path.write_text(code)
        library = folder / "emulated.so"
        flags = ["-std=c++20", "-O1", "-w", "-fno-strict-aliasing", "-shared", "-fPIC"]
        subprocess.run([str(COMPILER), *flags, "-o", str(library), str(path)], check=True)
        self.library = ctypes.CDLL(str(library))

    def _value(self, root: str, bundle: str, field: str):
        return getattr(getattr(getattr(self.engine, root), bundle), field)

    def bind(self) -> None:
        """Tell the code where arrays lie now."""
        table = np.zeros((len(self.names), 40), dtype=np.int64)
        for row, name in zip(table, self.names, strict=True):
            value = self._value(*name)
            if isinstance(value, wp.array):
                row[0] = value.ptr or 0
                row[1 : 1 + value.ndim] = value.strides
                row[5 : 5 + value.ndim] = value.shape
            else:
                row[0] = int(value)
        self.library.bind(table.ctypes.data_as(ctypes.c_void_p))

    def run(self, world: int, *, threads: int, groups: int = 1, block: int = 0, backward: bool = False) -> None:
        """Run all groups of a world, a block after the other."""
        size = min(block or threads, threads * groups)
        for first in range(0, threads * groups, size):
            self.library.run(world, first, min(size, threads * groups - first), int(backward))


def _c_type(array: wp.array) -> str:
    kinds = {wp.int32: "int", wp.float32: "float"}
    shape = getattr(array.dtype, "_shape_", ())
    if len(shape) == 1:
        return f"std::array<{kinds.get(array.dtype._wp_scalar_type_, 'char')}, {shape[0]}>"
    return kinds.get(array.dtype, "char")
