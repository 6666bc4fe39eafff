"""What keeps a tree from sleeping: its policy, and forces that somebody has given, compared with 0 to the bit.

Numbers are compared by native loops without branches: on CUDA all reads of a tree are then under way at the same time.
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.math.touches import touches
from kinema.mujoco_enums import SleepPolicy

ANY = """
    const char* row = (const char*)a.data + w * (size_t)a.strides[0] + first * (size_t)a.strides[1];
    int bits = 0;
    #pragma unroll 8
    for (int k = 0; k < count; ++k)
        for (int q = 0; q < WORDS; ++q) bits |= *(const int*)(row + k * (size_t)a.strides[1] + 4 * q);
    return bits != 0;
"""


@wp.func_native(ANY.replace("WORDS", "1"))
def any_bit(a: wp.array2d(dtype=float), w: int, first: int, count: int) -> bool:
    """Whether any of some numbers of world w is not 0 to the bit: -0 is not."""
    ...


@wp.func_native(ANY.replace("WORDS", "6"))
def any_bit6(a: wp.array2d(dtype=wp.spatial_vector), w: int, first: int, count: int) -> bool:
    """The same of spatial vectors."""
    ...


@wp.func_native("""
    const char* one = (const char*)a.data + w * (size_t)a.strides[0] + first * (size_t)a.strides[1];
    const char* two = (const char*)b.data + w * (size_t)b.strides[0] + first * (size_t)b.strides[1];
    int bits = 0;
    #pragma unroll 8
    for (int k = 0; k < count; ++k)
        bits |= *(const int*)(one + k * (size_t)a.strides[1]) ^ *(const int*)(two + k * (size_t)b.strides[1]);
    return bits != 0;
""")
def differ(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), w: int, first: int, count: int) -> bool:
    """Whether some numbers of world w differ from others in any bit."""
    ...


touches(reads="a[w]")(any_bit.func)
touches(reads="a[w]")(any_bit6.func)
touches(reads="a[w] b[w]")(differ.func)


@wp.func
def is_pushed(m: Model, d: Data, w: int, t: int) -> bool:
    """Does a force act on a tree that somebody has given?"""
    body = any_bit6(d.state.xfrc_applied, w, m.tree.bodyadr[t], m.tree.bodynum[t])
    return body or any_bit(d.state.qfrc_applied, w, m.tree.dofadr[t], m.tree.dofnum[t])


@wp.func
def may_sleep(m: Model, t: int) -> bool:
    """Does its policy let a tree sleep?"""
    policy = m.tree.sleep_policy[t]
    return policy != SleepPolicy.NEVER and policy != SleepPolicy.AUTO_NEVER
