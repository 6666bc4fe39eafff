"""What can go wrong in a world, as bits of `d.state.status`."""

import warp as wp

CONTACT_OVERFLOW = wp.constant(1)  # contacts were found that the list has no room for
ROW_OVERFLOW = wp.constant(2)  # constraint rows were wanted that the arrays have no room for
BAD_CONTROL = wp.constant(8)  # a control is not a number; all of the world's count as 0
BAD_STATE = wp.constant(4)  # qpos, qvel or qacc is not finite, or huge
BAD_PLUGIN = wp.constant(32)  # a plugin gave a number that is not finite; its instance is in the bits from 16 on
PLUGIN_SHIFT = wp.constant(16)

PAIR_OVERFLOW = wp.constant(16)  # the broad phase found more near pairs than it has room for

MEANING = {
    1: "contact list is full",
    2: "constraint rows are full",
    4: "state is not finite",
    8: "a control is not finite",
    16: "list of near pairs is full",
    32: "a plugin gave a number that is not finite",
}
