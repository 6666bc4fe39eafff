"""Which constraint gets which rows.

Every constraint a world may have is a slot: equalities, friction losses of dofs and tendons, limits of joints and
tendons, and then its contacts. Each says how many rows it wants, all at the same time; one pass over the slots gives
them their rows in this order, which is MuJoCo's. What does not fit is counted, never dropped in silence.

    want   0 0 3 1 0 2 ...
    start  . . 0 3 . 4 ...      -1: no rows
"""

import warp as wp

from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.status import OVERFLOW, ROW_OVERFLOW, wait
from kinema.math.status import report
from kinema.math.touches import touches

PLACE = """
    const char* in = (const char*)want.data + w * (size_t)want.strides[0];
    char* out = (char*)start.data + w * (size_t)start.strides[0];
    const size_t ahead = want.strides[1], on = start.strides[1];
    int row = first, dropped = 0;
    for (int k = begin; k < end; k += 8) {
        int n[8];
        for (int q = 0; q < 8; ++q) n[q] = k + q < end ? *(const int*)(in + (k + q) * ahead) : 0;
        for (int q = 0; q < 8; ++q)
            if (k + q < end) {
                const bool fits = n[q] > 0 && row + n[q] <= room;
                *(int*)(out + (k + q) * on) = fits ? row : -1;
                if (fits) row += n[q]; else dropped += n[q];
            }
    }
    return wp::vec_t<2, int>(row, dropped);
"""


@wp.func_native(PLACE)
def place(
    want: wp.array2d(dtype=int), start: wp.array2d(dtype=int), w: int, begin: int, end: int, first: int, room: int
) -> wp.vec2i:
    """Give the slots from begin to end their rows, from row `first` on.

    Returns the row after the last one, and how many rows found no room. Eight slots are read before any is written: a
    thread that waits for one read at a time is slow on CUDA.
    """


touches(reads="want[w]", writes="start[w]")(place.func)


@wp.func
def place_rows(m: Model, d: Data, w: int):
    """Rows of all constraints of a world: ne, nf, nl, nefc, and where each constraint's begin."""
    room = m.size.nefcmax
    equality = place(d.efc.want, d.efc.start, w, 0, m.size.slot_friction, 0, room)
    friction = place(d.efc.want, d.efc.start, w, m.size.slot_friction, m.size.slot_limit, equality[0], room)
    limit = place(d.efc.want, d.efc.start, w, m.size.slot_limit, m.size.nslot, friction[0], room)
    contact = place(d.crow.want, d.crow.address, w, 0, d.con.ncon[w], limit[0], room)
    dropped = equality[1] + friction[1] + limit[1] + contact[1]
    d.efc.ne[w] = equality[0]
    d.efc.nf[w] = friction[0] - equality[0]
    d.efc.nl[w] = limit[0] - friction[0]
    d.efc.nefc[w] = contact[0]
    d.efc.dropped[w] = dropped
    d.efc.most[w] = wp.max(d.efc.most[w], contact[0] + dropped)
    d.crow.most[w] = wp.max(d.crow.most[w], d.con.found[w])
    if dropped > 0:
        report(d.state.status, w, ROW_OVERFLOW)


@wp.func
def wait_for_room(m: Model, d: Data, w: int):
    """Leave a world that found no room as it is, until there is some."""
    if (d.state.status[w] & OVERFLOW) != 0:
        wait(d.state.status, w)
