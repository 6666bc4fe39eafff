"""Whether there is any of a quantity that is 0 or more: a stage asks before it does what would come to nothing."""

import warp as wp


@wp.func
def is_some(amount: float) -> bool:
    """Is it above 0? In duals (gradients/dual.cpp) also where it is 0 and has a derivative: a force that 0 switches off
    has a slope there. Duals are equal only if their derivatives are, so `amount != 0.0` sees it."""
    return amount >= 0.0 and amount != 0.0
