"""Scratch of the narrow phase that does not fit into registers: EPA's polytope, polygons that are clipped.

On the CPU it lies on the stack of whoever needs it. CUDA reserves a stack of the deepest kernel for every thread that
the device could hold, 2048 a multiprocessor, though a kernel this large runs 256 of them: 10 kB of polytope would take
4 GB. So there a fixed crew of threads, as many as run at once, takes one pair after the other, and each has a row of a
workspace, interleaved as a stack would be. It is sized by work in flight, not by worlds or pairs.

Most pairs that are near need no scratch: they are apart, or only their rims overlap. So first a thread a pair goes as
far as it gets without, and leaves in a queue what it could not finish; the crew takes only that (by_pair.py,
prisms.py).
"""

from typing import NamedTuple

import warp as wp

from kinema.arrays import empty_worlds
from kinema.collide.precision import real, vec3r

LENT, ASK = 0, -1  # in place of the room for EPA: scratch is lent; there is none, and it is asked for
CREW = 256  # threads of a multiprocessor
CREW_BLOCK = 128


@wp.struct
class Workspace:
    """Scratch of a crew, [thread, i]; sizes as in epa.py and multicontact.py. Empty where the stack serves."""

    p1: wp.array2d(dtype=vec3r)
    p2: wp.array2d(dtype=vec3r)
    id: wp.array2d(dtype=wp.vec2i)
    face: wp.array2d(dtype=wp.vec3i)
    state: wp.array2d(dtype=int)
    v: wp.array2d(dtype=vec3r)
    dist2: wp.array2d(dtype=real)
    edge: wp.array2d(dtype=wp.vec2i)
    normals: wp.array2d(dtype=vec3r)
    index: wp.array2d(dtype=int)
    edges: wp.array2d(dtype=vec3r)
    ends: wp.array2d(dtype=vec3r)
    polygon: wp.array2d(dtype=vec3r)
    buffer: wp.array2d(dtype=vec3r)


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
def turn_of(thread: int, threads: int) -> int:
    """The place in a queue that a thread of a crew begins with.

    The first go to one lane of every warp: lanes of a warp that are at different points of a long search wait for each
    other.
    """
    warps = threads / 32
    return (thread % 32) * warps + thread / 32


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
    def lengths(self) -> dict[str, int]:
        """Length of each array."""
        epa = {"p1": self.vertices, "p2": self.vertices, "id": self.vertices, "edge": self.horizon}
        epa |= dict.fromkeys(("face", "state", "v", "dist2"), self.faces)
        clip = {"normals": 2 * self.degree, "index": 2 * self.degree, "edges": self.degree, "ends": self.degree}
        return {**epa, **clip, "polygon": 3 * self.polygon, "buffer": 2 * self.polygon}


def crew(items: int, device: wp.Device) -> int:
    """Threads that share out so many pairs."""
    whole = CREW * device.sm_count if device.is_cuda else CREW_BLOCK
    return max(1, min(whole, -(-items // CREW_BLOCK) * CREW_BLOCK))


def workspace(sizes: Sizes, threads: int) -> Workspace:
    """Scratch for a crew."""
    work = Workspace()
    for name, length in sizes.lengths.items():
        setattr(work, name, empty_worlds((threads, length), Workspace.vars[name].type.dtype))
    return work
