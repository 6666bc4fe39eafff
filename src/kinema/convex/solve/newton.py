"""Newton's method with exact line search, one lane group a world; the algorithm is in newton.cpp.

Dense linear algebra is where a step spends its time, and where plain array indexing costs most, so this one function
is native code, compiled for CPU and CUDA alike.
"""

from importlib.resources import files

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model

_SOURCE = files("kinema.convex.solve").joinpath("newton.cpp").read_text(encoding="utf-8")


@wp.func_native(_SOURCE)
def newton(m: Model, d: Data, w: int, lane: int): ...
