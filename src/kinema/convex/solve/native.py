"""Native code of the solvers: C++ in files of this folder, one source for CPU and CUDA.

`#include "file.cpp"` lays another file of the folder in, as a preprocessor would; definitions come first.
"""

import re
from importlib.resources import files

_INCLUDE = re.compile(r'^#include "(\w+\.cpp)"$', re.MULTILINE)


def source(name: str, **definitions: int) -> str:
    """The code in a file, with what it includes, and KN_<NAME> defined for each definition."""
    head = "".join(f"#undef KN_{key}\n#define KN_{key} {value}\n" for key, value in definitions.items())
    return head + _read(name)


def _read(name: str) -> str:
    text = files("kinema.convex.solve").joinpath(name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: _read(found[1]), text)
