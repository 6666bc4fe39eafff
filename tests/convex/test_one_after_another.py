"""Functions that run one after the other: a kernel of them is another one as soon as one of them is."""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.stage import one_after_another
from tests.conformance.staged import stage_kernel


def put(x: float) -> wp.Function:
    """A function that writes a number, under the same name whatever that is."""

    def write(m: Model, d: Data, w: int, i: int):
        d.frc.qacc[w, i] = wp.static(x)

    return wp.func(write, name="write")


def test_what_is_cached_is_told_by_all_of_them():
    def told(*numbers: float) -> bytes:
        joined = one_after_another([put(x) for x in numbers])
        return stage_kernel(joined, "nv", False, False).module.get_module_hash()

    assert told(1.0, 2.0, 3.0) == told(1.0, 2.0, 3.0)
    assert len({told(1.0, 2.0, 3.0), told(4.0, 2.0, 3.0), told(1.0, 4.0, 3.0), told(1.0, 2.0, 4.0)}) == 4
