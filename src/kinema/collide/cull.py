"""Which pairs of a world are near, by bounding spheres: eight geoms at once.

A robot has hundreds of pairs of geoms that may touch, and a few that do. Asking each of them whether its spheres
overlap

    |p2 - p1| <= r1 + r2 + margin

costs more than all that follows. So pairs stand in cells: a geom, and eight that lie side by side in a list, of which
it may touch those of a mask. Positions and radii are laid out number by number, a cell is one comparison of vectors,
and what passes is a bit of its pair. Bits are read in the order of pairs, which is that of contacts.

It lets through a little more than asked: radii are enlarged by more than rounding, and the margin is the largest of all
pairs. Every pair that passes is asked by itself (`is_near`), so contacts do not know that cells exist.
"""

import numpy as np
import warp as wp

from kinema.collide.bundles import Cull, Geoms, Pairs
from kinema.collide.filter import GeomPairs
from kinema.collide.table import PairFunction
from kinema.math.touches import touches
from kinema.mujoco_enums import Geom

WIDTH = 8  # geoms of a cell
PLANE = 1 << WIDTH  # beside the mask of a cell: the geom that stands alone is a plane
MOST = 512  # geoms in the list; with more of them all pairs count as near


def cells(m, host: GeomPairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The list of geoms that may touch, a multiple of eight; of each cell (place of the one, place of the first of
    eight, mask); and the pairs of each cell, -1 beside the mask."""
    geom = np.asarray(host.geom).reshape(-1, 2)
    listed = np.unique(geom)
    flat = np.asarray(m.geom_type) == Geom.PLANE
    places = np.full(int(m.ngeom), -1)
    places[listed] = np.arange(len(listed))
    padded = np.concatenate([listed, np.repeat(listed[-1:], -len(listed) % WIDTH)])
    found: dict[tuple[int, int, int], np.ndarray] = {}  # a pair that is listed twice has a second cell
    for pair, (a, b) in enumerate(geom):
        one, other = (a, b) if flat[a] else (b, a) if flat[b] else (min(a, b), max(a, b))
        at, lane = divmod(int(places[other]), WIDTH)
        for layer in range(len(geom)):
            row = found.setdefault((int(places[one]), at, layer), np.full(WIDTH, -1))
            if row[lane] < 0:
                row[lane] = pair
                break
    order = sorted(found)
    pairs = np.array([found[key] for key in order]).reshape(-1, WIDTH)
    mask = ((pairs >= 0) << np.arange(WIDTH)).sum(axis=1)
    cell = [(one, WIDTH * at, bits + PLANE * int(flat[listed[one]]))
            for (one, at, _), bits in zip(order, mask.tolist(), strict=True)]  # fmt: skip
    return padded, np.array(cell).reshape(-1, 3), pairs


def bundle(m, host: GeomPairs, nworld: int) -> Cull:
    """The cells of a model, and of every world a bit for every pair, and room for what convex ones remember."""
    b = Cull()
    geom, cell, pair = cells(m, host)
    b.geom = wp.array(geom.astype(np.int32), dtype=int)
    b.cell = wp.array(cell.astype(np.int32), dtype=wp.vec3i)
    b.pair = wp.array(pair.reshape(-1).astype(np.int32), dtype=int)
    b.near = wp.zeros((nworld, -(-len(host.function) // 32)), dtype=int)
    convex = np.asarray(host.function) == PairFunction.CONVEX
    b.convex = wp.array(np.where(convex, np.cumsum(convex) - 1, -1).astype(np.int32), dtype=int)
    b.axis = wp.zeros((nworld, int(convex.sum())), dtype=wp.vec3)
    return b


MARK = f"""
    const int PLANE = {PLANE}, MOST = {MOST};
    unsigned* bits = (unsigned*)((char*)near.data + w * (size_t)near.strides[0]);
    const int words = near.shape[1], n = geom.shape[0];
#if defined(__CUDA_ARCH__)
    const bool all = true;
#else
    const bool all = n > MOST;
#endif
    for (int k = 0; k < words; ++k) bits[k] = all ? ~0u : 0u;
    if (all) return;
#if !defined(__CUDA_ARCH__)
""" + """
    typedef float vec8 __attribute__((vector_size(32), aligned(4)));
    typedef int ivec8 __attribute__((vector_size(32), aligned(4)));
    typedef bool bool8 __attribute__((ext_vector_type(8)));
    const float SLACK = 2e-6f;
    float x[MOST], y[MOST], z[MOST], reach[MOST], slack[MOST];
    for (int k = 0; k < n; ++k) {
        const int g = geom.data[k];
        const wp::vec3 p = *wp::address(xpos, w, g);
        const float r = *wp::address(rbound, w, g);
        x[k] = p[0]; y[k] = p[1]; z[k] = p[2];
        slack[k] = SLACK * wp::max(wp::max(wp::abs(p[0]), wp::abs(p[1])), wp::abs(p[2]));
        reach[k] = r > 0.0f ? r + SLACK * r + slack[k] : INFINITY;
    }
    float most = 0.0f;  // margin
    {
        const char* a = (const char*)margin.data + w * (size_t)margin.strides[0];
        const char* b = (const char*)gap.data + w * (size_t)gap.strides[0];
        const size_t s = margin.strides[1], t = gap.strides[1];
        const int count = margin.shape[1];
        vec8 wide = {};
        int k = 0;
        if (s == 4 && t == 4)
            for (; k + 8 <= count; k += 8) {
                const vec8 sum = *(const vec8*)(a + 4 * k) + *(const vec8*)(b + 4 * k);
                wide = sum > wide ? sum : wide;
            }
        for (; k < count; ++k) most = wp::max(most, *(const float*)(a + k * s) + *(const float*)(b + k * t));
        for (int j = 0; j < 8; ++j) most = wp::max(most, wide[j]);
        most += SLACK * most;
    }
    const int ncell = cell.shape[0];
    for (int c = 0; c < ncell; ++c) {
        const wp::vec3i here = cell.data[c];
        const int i = here[0], at = here[1];
        const vec8 dx = *(const vec8*)(x + at) - x[i];
        const vec8 dy = *(const vec8*)(y + at) - y[i];
        const vec8 dz = *(const vec8*)(z + at) - z[i];
        const vec8 r = *(const vec8*)(reach + at);
        ivec8 apart;
        if (here[2] & PLANE) {
            const wp::mat33& mat = *wp::address(xmat, w, geom.data[i]);
            apart = dx * mat.data[0][2] + dy * mat.data[1][2] + dz * mat.data[2][2] > r + (most + slack[i]);
        } else {
            const vec8 far = r + (reach[i] + most);
            apart = dx * dx + dy * dy + dz * dz > far * far;
        }
        const bool8 mask = __builtin_convertvector(apart, bool8);
        unsigned left = ~(unsigned)__builtin_bit_cast(unsigned char, mask) & here[2] & 255u;
        for (; left; left &= left - 1) {
            const int k = pair.data[8 * c + __builtin_ctz(left)];
            bits[k >> 5] |= 1u << (k & 31);
        }
    }
#endif
"""


@wp.func_native(MARK)
@touches(
    reads="xpos[w] xmat[w] rbound[w] margin[w] gap[w] geom cell pair near[w]", writes="near[w]",
)  # fmt: skip
def mark_near(
    xpos: wp.array2d(dtype=wp.vec3), xmat: wp.array2d(dtype=wp.mat33), rbound: wp.array2d(dtype=float),
    margin: wp.array2d(dtype=float), gap: wp.array2d(dtype=float), geom: wp.array(dtype=int),
    cell: wp.array(dtype=wp.vec3i), pair: wp.array(dtype=int), near: wp.array2d(dtype=int), w: int,
):  # fmt: skip
    """Set the bits of the pairs of world w whose bounding spheres may overlap."""
    ...


@wp.func_native("""
    const unsigned* bits = (const unsigned*)((const char*)near.data + w * (size_t)near.strides[0]);
    const int words = near.shape[1];
    int k = (after + 1) >> 5;
    if (k >= words) return -1;
    unsigned left = bits[k] & (~0u << ((after + 1) & 31));
    while (!left) {
        if (++k == words) return -1;
        left = bits[k];
    }
#if defined(__CUDA_ARCH__)
    const int low = __ffs(left) - 1;
#else
    const int low = __builtin_ctz(left);
#endif
    return 32 * k + low < count ? 32 * k + low : -1;
""")
def next_near(near: wp.array2d(dtype=int), w: int, after: int, count: int) -> int:
    """The first pair after a given one whose bit is set; -1: none."""


touches(reads="near[w]")(next_near.func)


@wp.func
def find_near(geoms: Geoms, pairs: Pairs, cull: Cull, w: int):
    """Find the pairs of world w that may be near; `next_near` names them."""
    mark_near(
        geoms.xpos, geoms.xmat, geoms.rbound, pairs.margin, pairs.gap, cull.geom, cull.cell, cull.pair, cull.near, w
    )
