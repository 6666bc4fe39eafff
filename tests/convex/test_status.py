"""The status word of a world is changed by atomic operations only; what they leave does not depend on their order."""

import pathlib
import re

import numpy as np
import pytest
import warp as wp

import kinema
from kinema.convex.status import BAD_PLUGIN, BAD_STATE, PLUGIN_SHIFT, ROW_OVERFLOW, blame
from kinema.math.status import report

SOURCE = pathlib.Path(kinema.__file__).parent
BETWEEN_STEPS = {"boundary.py", "capacity.py", "resting.py"}  # clear bits while nothing else runs


def test_nobody_stores_a_status():
    stores = {
        path.name
        for path in SOURCE.rglob("*.py")
        if re.search(r"\bstatus\[[^\]]+\]\s*[|&]?=[^=]", path.read_text(encoding="utf-8"))
    }
    assert stores == BETWEEN_STEPS


@wp.kernel(enable_backward=False)
def trouble(status: wp.array(dtype=int), first: int, second: int):
    report(status, 0, ROW_OVERFLOW)
    blame(status, 0, first)
    blame(status, 0, second)


@pytest.mark.parametrize(("first", "second"), [(2, 5), (5, 2), (3, 3)])
def test_of_several_plugins_the_first_of_the_model_is_blamed(first, second):
    status = wp.zeros(1, dtype=int, device="cpu")
    wp.launch(trouble, 1, [status, first, second], device="cpu")
    expected = ROW_OVERFLOW | BAD_PLUGIN | BAD_STATE | (min(first, second) << PLUGIN_SHIFT)
    np.testing.assert_array_equal(status.numpy(), [expected])
