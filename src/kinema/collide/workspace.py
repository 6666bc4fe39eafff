"""Scratch of the narrow phase that does not fit into registers: EPA's polytope, polygons that are clipped.

On the CPU it lies on the stack of whoever needs it. CUDA reserves a stack of the deepest kernel for every thread that
the device could hold, 2048 a multiprocessor, though a kernel this large runs 256 of them: 10 kB of polytope would take
4 GB. So there a fixed crew of octets (octet.py), as many as run at once, takes one pair after the other. Each has room
in shared memory, first for the polytope, then for polygons; where that is too small, a row of a workspace.

Most pairs that are near need no scratch: they are apart, or only their rims overlap. So first a thread a pair goes as
far as it gets without, and leaves in a queue what it could not finish; the crew takes only that (by_pair.py,
prisms.py).
"""

from typing import NamedTuple

import warp as wp

from kinema.arrays import empty_worlds
from kinema.collide.precision import real, vec3r
from kinema.math.octet import ALONE, OCTET, OCTET_LANES, Lanes
from kinema.math.touches import touches

# in place of the room for EPA or polygons: an octet's row of a workspace; none, it is asked for; an octet's shared
# memory; a thread's row of a workspace
LENT, ASK, SHARED, ROW = 0, -1, -2, -3
CREW = 256  # threads of a multiprocessor
CREW_BLOCK = 128
OCTET_BLOCK = 32  # their room is all the shared memory that a block may declare


def lanes_of(capacity: int) -> Lanes:
    """Who shares out the work of those that find room so."""
    return OCTET if capacity in (LENT, SHARED) else ALONE


@wp.struct
class Workspace:
    """Scratch of a crew, [octet or thread, i]; sizes as in polytope.py and multicontact.py. Empty where not needed."""

    p1: wp.array2d(dtype=vec3r)
    p2: wp.array2d(dtype=vec3r)
    id: wp.array2d(dtype=wp.vec2i)
    face: wp.array2d(dtype=wp.vec3i)
    state: wp.array2d(dtype=int)
    v: wp.array2d(dtype=vec3r)
    dist2: wp.array2d(dtype=real)
    seen: wp.array2d(dtype=int)
    edge: wp.array2d(dtype=wp.vec2i)
    normals: wp.array2d(dtype=vec3r)
    index: wp.array2d(dtype=int)
    edges: wp.array2d(dtype=vec3r)
    ends: wp.array2d(dtype=vec3r)
    polygon: wp.array2d(dtype=vec3r)
    buffer: wp.array2d(dtype=vec3r)
    room: wp.array(dtype=wp.uint8)  # in place of shared memory, on the CPU


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return (int)(blockIdx.x * blockDim.x + threadIdx.x);
#else
return 0;
#endif
""")
def crew_row() -> int:
    """The row of the workspace that is this thread's; one thread at a time on the CPU."""


@wp.struct
class Queue:
    """Pairs of worlds, or parts of them, that are to be gone on with; in no order, for each is finished by itself."""

    number: int  # which of Touch.queued is its length; what is longer than there is room for went elsewhere
    item: wp.array(dtype=wp.vec2i)  # number among the kernel's pairs * worlds + world; and where to go on


@wp.func
def enqueue(queued: wp.array(dtype=int), queue: Queue, item: int, part: int) -> bool:
    """Leave something in a queue; whether there was room."""
    place = wp.atomic_add(queued, queue.number, 1)
    if place >= queue.item.shape[0]:
        return False
    queue.item[place] = wp.vec2i(item, part)
    return True


@wp.func
def turn_of(octet: int, octets: int) -> int:
    """The place in a queue that an octet of a crew begins with.

    The first go to one octet of every warp: those of a warp that are at different points of a long search wait for each
    other.
    """
    warps = octets / 4
    return (octet % 4) * warps + octet / 4


@wp.func
def queue_length(queued: wp.array(dtype=int), queue: Queue) -> int:
    """How much a queue holds."""
    return wp.min(queued[queue.number], queue.item.shape[0])


def queue(number: int, room: int) -> Queue:
    """An empty queue."""
    q = Queue()
    q.number = number
    q.item = wp.empty(room, dtype=wp.vec2i)
    return q


class Sizes(NamedTuple):
    """Lengths of the arrays of a workspace, by what it must have room for."""

    vertices: int  # of EPA's polytope
    faces: int
    horizon: int
    polygon: int  # vertices of the largest polygon
    degree: int  # polygons at a vertex

    @staticmethod
    def of(epa: int, polygon: int = 0, degree: int = 0) -> "Sizes":
        """The sizes for so many iterations of EPA."""
        return Sizes(epa + 5, 2 * (epa + 5) + 8, 48, polygon, degree)

    @property
    def polytope(self) -> dict[str, int]:
        """Lengths of the arrays of a polytope."""
        lengths = {"p1": self.vertices, "p2": self.vertices, "id": self.vertices, "edge": self.horizon}
        return lengths | dict.fromkeys(("face", "state", "v", "dist2", "seen"), self.faces)

    @property
    def polygons(self) -> dict[str, int]:
        """Lengths of the arrays of polygons that are clipped."""
        lengths = {"normals": 2 * self.degree, "index": 2 * self.degree, "edges": self.degree, "ends": self.degree}
        return {**lengths, "polygon": 3 * self.polygon, "buffer": 2 * self.polygon}


def _dtype(name: str):
    return Workspace.vars[name].type.dtype


def _places(lengths: dict[str, int]) -> tuple[dict[str, wp.uint64], int]:
    """Where arrays begin that lie one behind the other, and where the last one ends [bytes]."""
    places, at = {}, 0
    for name, length in lengths.items():
        places[name] = wp.uint64(at)
        at += -(-length * wp.types.type_size_in_bytes(_dtype(name)) // 8) * 8
    return places, at


LARGEST = Sizes.of(36, 32, 16)  # that shared memory has room for
ROOM = LARGEST.polytope | LARGEST.polygons  # lengths of arrays there
_polytope, _polygons = _places(LARGEST.polytope), _places(LARGEST.polygons)
IN_ROOM = _polytope[0] | _polygons[0]  # where they begin: polygons take the place of the polytope
ROOM_BYTES = max(_polytope[1], _polygons[1])


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
__shared__ double octet_rooms[{OCTET_BLOCK // OCTET_LANES}][{ROOM_BYTES // 8}];
return (wp::uint64)octet_rooms[threadIdx.x / {OCTET_LANES}];
#else
return (wp::uint64)room.data;
#endif
""")
def octet_room(room: wp.array(dtype=wp.uint8)) -> wp.uint64:
    """Where the room of this octet is; one at a time on the CPU."""


touches(reads="room")(octet_room.func)


def fits(sizes: Sizes) -> tuple[int, int]:
    """Where an octet has a polytope, and where polygons: SHARED or LENT."""
    polygons = sizes.polygon <= LARGEST.polygon and sizes.degree <= LARGEST.degree
    return SHARED if sizes.vertices <= LARGEST.vertices else LENT, SHARED if polygons else LENT


def crew(items: int, device: wp.Device) -> int:
    """Threads that share out so many pairs, each by itself."""
    whole = CREW * device.sm_count if device.is_cuda else CREW_BLOCK
    return max(1, min(whole, -(-items // CREW_BLOCK) * CREW_BLOCK))


def octets(items: int, device: wp.Device) -> int:
    """Octets that share out so many pairs."""
    whole = CREW * device.sm_count // OCTET_LANES if device.is_cuda else CREW_BLOCK // OCTET_LANES
    return min(whole, -(-items // 4) * 4)


def workspace(sizes: Sizes, octets: int, threads: int, device: wp.Device) -> Workspace:
    """Scratch for a crew of octets, and polygons for one of threads."""
    work = Workspace()
    epa, clip = fits(sizes)
    lent = (sizes.polytope if epa == LENT else {}) | (sizes.polygons if clip == LENT and not threads else {})
    for name, length in lent.items():
        setattr(work, name, wp.empty((octets, length), dtype=_dtype(name)))
    for name, length in sizes.polygons.items() if threads else ():
        setattr(work, name, empty_worlds((threads, length), _dtype(name)))
    if SHARED in (epa, clip) and not device.is_cuda:
        work.room = wp.empty(ROOM_BYTES, dtype=wp.uint8)
    return work
