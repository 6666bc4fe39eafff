"""Who shares out a piece of work: one thread, or an octet, eight neighbouring lanes of a CUDA warp.

Code for either strides over its items, `for i in range(lane(), n, lanes())`, and meets where one lane reads what
another wrote. What is not shared out every lane computes for itself: the same numbers from the same inputs, so that all
of an octet decide alike. On the CPU an octet is one thread, and its code a plain loop.

    lane()         number of this lane
    lanes()        how many there are
    meet()         all of them have come here, and see what the others wrote before
    votes(yes)     bits of the lanes that say yes
    least(x, i)    i of the lane whose x is least; the lower i of equals
"""

from typing import NamedTuple

import warp as wp

OCTET_LANES = 8
MINE = "0xffu << (threadIdx.x & 24)"  # the lanes of this octet among those of its warp


@wp.func
def no_lane() -> int:
    """Number of a thread by itself."""
    return 0


@wp.func
def one_lane() -> int:
    """Lanes of a thread by itself."""
    return 1


@wp.func_native("(void)0;")
def nobody_to_meet():
    """Nothing."""


@wp.func
def own_vote(yes: bool) -> int:
    """The only vote."""
    return wp.where(yes, 1, 0)


@wp.func
def own_least(_x: wp.float64, i: int) -> int:
    """The only one."""
    return i


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return threadIdx.x & 7;
#else
return 0;
#endif
""")
def octet_lane() -> int:
    """Number of this lane in its octet."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return 8;
#else
return 1;
#endif
""")
def octet_lanes() -> int:
    """Lanes of an octet."""


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
__syncwarp({MINE});
#endif
""")
def octet_meet():
    """Where the lanes of an octet meet."""


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
return (__ballot_sync({MINE}, yes) >> (threadIdx.x & 24)) & 0xff;
#else
return yes ? 1 : 0;
#endif
""")
def octet_votes(yes: bool) -> int:
    """Bits of the lanes that say yes."""


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
for (int o = 4; o > 0; o >>= 1) {{
    const double y = __shfl_xor_sync({MINE}, x, o);
    const int j = __shfl_xor_sync({MINE}, i, o);
    if (y < x || (y == x && j < i)) {{ x = y; i = j; }}
}}
#endif
return i;
""")
def octet_least(x: wp.float64, i: int) -> int:
    """i of the lane whose x is least; the lower i of equals."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return (int)(blockIdx.x * blockDim.x + threadIdx.x) / 8;
#else
return 0;
#endif
""")
def octet_row() -> int:
    """The row of a workspace that is this octet's; one at a time on the CPU."""


class Lanes(NamedTuple):
    """Those who share out a piece of work."""

    lane: wp.Function
    lanes: wp.Function
    meet: wp.Function
    votes: wp.Function
    least: wp.Function


ALONE = Lanes(no_lane, one_lane, nobody_to_meet, own_vote, own_least)
OCTET = Lanes(octet_lane, octet_lanes, octet_meet, octet_votes, octet_least)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __popc(bits);
#else
return __builtin_popcount(bits);
#endif
""")
def count_bits(bits: int) -> int:
    """How many bits are set."""


@wp.func
def bits_below(bits: int, lane: int) -> int:
    """How many bits of lower lanes are set."""
    return count_bits(bits & ((1 << lane) - 1))


@wp.func
def lowest_bit(bits: int) -> int:
    """Number of the lowest bit that is set."""
    return count_bits((bits & -bits) - 1)
