"""How contacts move with the two geoms that make them (geometry.py), on CUDA: three lanes a pair, ten pairs a warp.

The twelve directions of a pair are shared out: a lane carries four of them, so that its duals are five numbers, and the
three take the same branches, for values say which. A pair function finds its geoms in arrays, by their numbers. Here it
is given arrays in which there are two geoms, 0 and 1: descriptions that begin at the first and step to the second,

    data + g_1 stride,   stride (g_2 - g_1)        of all that geoms are,

but for their poses, which a lane has to itself, seeded. So nothing is copied but two poses a lane, no lane waits for
another, and scratch is that of the warps that run at once: a crew, which goes through worlds in turns. Results lie

    [world, contact, lane, number]        distance, place, frame: 1, 3 and 9 numbers
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import warp as wp
from warp._src.context import _build_cuda_kernel_params

from kinema.collide.build import Build
from kinema.collide.bundles import Contacts, Geoms, Pairs, Touch
from kinema.collide.narrow import pair_function
from kinema.collide.workspace import Workspace
from kinema.convex.data import Data
from kinema.convex.model import Model
from kinema.convex.solve.native import WARP
from kinema.convex.stage import Stage
from kinema.gradients import transcribe
from kinema.gradients.arrays import Room, leaves, number, widened
from kinema.gradients.geometry import moving_geoms
from kinema.gradients.tangents import model_copies
from kinema.math.touches import touches

WIDTH, LANES = 4, 3
"""Directions of a lane, and lanes of a pair: twelve."""

AT_ONCE = WARP // LANES
"""Pairs of a warp."""

POSE = 12
"""Numbers of a pose: place and axes."""

CREW = 16
"""Warps of a multiprocessor."""

BLOCK = 64
POSES = ("geom_xpos", "geom_xmat")

def _stepping(axis: int) -> str:
    """An array that begins at the first of two geoms, and steps to the second."""
    return f"""
    auto out = all;
    out.data = (decltype(out.data))((char*)all.data + g1 * (long long)all.strides[{axis}]);
    out.strides[{axis}] = (g2 - g1) * all.strides[{axis}];
    return out;
    """


@wp.func_native(_stepping(0))
def two_kinds(all: wp.array(dtype=int), g1: int, g2: int) -> wp.array(dtype=int): ...


@wp.func_native(_stepping(1))
def two_numbers(all: wp.array2d(dtype=float), g1: int, g2: int) -> wp.array2d(dtype=float): ...


@wp.func_native(_stepping(1))
def two_vectors(all: wp.array2d(dtype=wp.vec3), g1: int, g2: int) -> wp.array2d(dtype=wp.vec3): ...


@wp.func_native(_stepping(1))
def two_rows(all: wp.array3d(dtype=float), g1: int, g2: int) -> wp.array3d(dtype=float): ...


_POSE = """
    constexpr int numbers = {numbers};
    float* poses = (float*)records + (size_t)thread * 24 + {begin};
    for (int side = 0; side < 2; ++side) {{
        const char* row = (const char*)all.data + w * (size_t)all.strides[0];
        const wp::kn_plain* x = (const wp::kn_plain*)(row + (side ? g2 : g1) * (size_t)all.strides[1]);
        float* to = poses + side * numbers;
        for (int i = 0; i < numbers; ++i) to[i] = float(x[i]);
        for (int q = 0; q < 4; ++q) {{
            const int motion = 4 * part + q, direction = motion % 6;  // three turn, three move
            if (motion >= 6 && side == 0) continue;  // six of both, six of the second
            const int a = direction % 3, b = (a + 1) % 3, c = (a + 2) % 3;  // the axis turns b into c
            const bool turns = direction < 3;
            {seed}
        }}
    }}
    auto out = all;
    out.data = (decltype(out.data))poses;
    out.strides[0] = 0;
    out.strides[1] = numbers * sizeof(float);
    return out;
"""

_PLACES = """
            const char* centre = (const char*)about.data + w * (size_t)about.strides[0];
            const wp::kn_plain* o = (const wp::kn_plain*)(centre + first * (size_t)about.strides[1]);
            if (turns) { to[b].t[q] = -(x[c] - o[c]); to[c].t[q] = x[b] - o[b]; }
            else to[a].t[q] = 1.0f;
"""
_AXES = """
            for (int k = 0; turns && k < 3; ++k) {
                to[3 * b + k].t[q] = -x[3 * c + k];
                to[3 * c + k].t[q] = x[3 * b + k];
            }
"""


@wp.func_native(_POSE.format(numbers=3, begin=0, seed=_PLACES))
def two_places(
    all: wp.array2d(dtype=wp.vec3), g1: int, g2: int, w: int, about: wp.array2d(dtype=wp.vec3), first: int, part: int,
    thread: int, records: wp.uint64,
) -> wp.array2d(dtype=wp.vec3): ...  # fmt: skip


@wp.func_native(_POSE.format(numbers=9, begin=6, seed=_AXES))
def two_axes(
    all: wp.array2d(dtype=wp.mat33), g1: int, g2: int, w: int, part: int, thread: int, records: wp.uint64
) -> wp.array2d(dtype=wp.mat33): ...


@wp.func_native("""
    auto out = all;
    out.data = (decltype(out.data))places.data;
    out.strides[0] = out.strides[1] = 0;
    return out;
""")
def zero_and_one(all: wp.array2d(dtype=wp.vec2i), places: wp.array(dtype=wp.int64)) -> wp.array2d(dtype=wp.vec2i): ...


def _aimed(number: int, numbers: int) -> str:
    """An array of results, where a lane writes."""
    return f"""
    auto out = all;
    const long long* at = (const long long*)places.data + 1 + 3 * {number};
    out.data = (decltype(out.data))((float*)at[0] + {numbers} * part);
    for (int axis = 0; axis < 2; ++axis) out.strides[axis] = (int)at[1 + axis];
    return out;
    """


@wp.func_native(_aimed(0, 1))
def distances(all: wp.array2d(dtype=float), places: wp.array(dtype=wp.int64), part: int) -> wp.array2d(dtype=float): ...


@wp.func_native(_aimed(1, 3))
def points(
    all: wp.array2d(dtype=wp.vec3), places: wp.array(dtype=wp.int64), part: int
) -> wp.array2d(dtype=wp.vec3): ...


@wp.func_native(_aimed(2, 9))
def frames(
    all: wp.array2d(dtype=wp.mat33), places: wp.array(dtype=wp.int64), part: int
) -> wp.array2d(dtype=wp.mat33): ...


for _function in (two_kinds, two_numbers, two_vectors, two_rows):
    touches(reads="all")(_function.func)
for _function in (two_places, two_axes):
    touches(reads="all[w]")(_function.func)
for _function in (zero_and_one, distances, points, frames):
    touches(reads="places")(_function.func)


@wp.func
def two_geoms(
    all: Geoms, g1: int, g2: int, w: int, about: wp.array2d(dtype=wp.vec3), first: int, part: int, thread: int,
    records: wp.uint64,
) -> Geoms:  # fmt: skip
    """Two geoms, 0 and 1, which turn and move about contact `first`, along the directions of a lane."""
    out = Geoms()
    out.type = two_kinds(all.type, g1, g2)
    out.dataid = two_kinds(all.dataid, g1, g2)
    out.field_kind = two_kinds(all.field_kind, g1, g2)
    out.body = two_kinds(all.body, g1, g2)
    out.size = two_vectors(all.size, g1, g2)
    out.aabb_center = two_vectors(all.aabb_center, g1, g2)
    out.aabb_half = two_vectors(all.aabb_half, g1, g2)
    out.rbound = two_numbers(all.rbound, g1, g2)
    out.field_parameters = two_rows(all.field_parameters, g1, g2)
    out.xpos = two_places(all.xpos, g1, g2, w, about, first, part, thread, records)
    out.xmat = two_axes(all.xmat, g1, g2, w, part, thread, records)
    return out


@wp.func
def of_two(all: Pairs, places: wp.array(dtype=wp.int64)) -> Pairs:
    """Every pair is of geoms 0 and 1."""
    out = Pairs()
    out.geom = zero_and_one(all.geom, places)
    out.function = all.function
    out.margin = all.margin
    out.gap = all.gap
    return out


@wp.func
def for_lane(all: Contacts, places: wp.array(dtype=wp.int64), part: int) -> Touch:
    """Where a lane writes."""
    out = Touch()
    out.dist = distances(all.dist, places, part)
    out.pos = points(all.pos, places, part)
    out.frame = frames(all.frame, places, part)
    return out


@wp.func
def go_on(pair: wp.array2d(dtype=int), w: int, first: int, end: int, pairs: int) -> int:
    """The first contact so many pairs later; `end`: there is none."""
    at = int(first)
    left = int(pairs)
    while left > 0 and at < end:
        of = pair[w, at]
        while at < end and pair[w, at] == of:
            at += 1
        left -= 1
    return at


@cache
def pair_lanes(build: Build) -> wp.Kernel:
    """Contacts of all worlds while the geoms of each pair move, in duals; so many warps go through worlds in turns."""
    transcribe.install()
    collide_pair = pair_function(build)

    @wp.kernel(
        enable_backward=False, module="unique", module_options={"max_unroll": 128, **transcribe.options(WIDTH)}
    )
    def move_pairs(m: Model, d: Data, places: wp.array(dtype=wp.int64), records: wp.uint64, warps: int):
        thread = wp.tid()
        lane = thread % WARP
        part = lane % LANES
        if lane < LANES * AT_ONCE:
            for w in range(thread // WARP, d.con.ncon.shape[0], warps):
                end = d.con.ncon[w]
                first = go_on(d.con.pair, w, 0, end, lane // LANES)
                while first < end:
                    pair = d.con.pair[w, first]
                    of = m.collision.pairs.geom[w, pair]
                    collide_pair(
                        w, pair,
                        two_geoms(m.collision.geoms, of[0], of[1], w, d.con.pos, first, part, thread, records),
                        m.collision.meshes, m.collision.hfields, of_two(m.collision.pairs, places),
                        m.collision.settings.options, for_lane(d.con, places, part), first, Workspace(),
                    )  # fmt: skip
                    first = go_on(d.con.pair, w, first, end, AT_ONCE)

    return move_pairs


class MovingPairs:
    """How the contacts of an engine's worlds move with their geoms.

    Args:
        engine: The engine, whose poses and contacts are taken as they are.
        build: Which pairs of shapes there may be.
    """

    def __init__(self, engine: Any, build: Build):
        self.engine, device = engine, engine.device
        worlds, contacts = engine.layout.arrays["contact_dist"].shape
        self.warps = min(worlds, CREW * device.sm_count) if device.is_cuda else min(worlds, 2)
        self.model = Room(WIDTH, device)
        m = engine.m.__ctype__()
        known = {name for name, _, _ in leaves(Model, m)} - set(POSES)
        read = Stage(moving_geoms(build), alone=True).access.reads
        self.m = widened(Model, m, [self.model], read & known)
        self.d = widened(Data, engine.d.__ctype__(), [Room(WIDTH, device)], ())  # as it is, but for lone numbers
        wide = number(wp.float32, WIDTH).wide
        self.records = wp.zeros(self.warps * WARP * 2 * POSE * wide, dtype=wp.uint8, device=device)
        self._out = []
        self._places = []
        for numbers in (1, 3, 9):
            item = LANES * numbers * wide
            self._out.append(wp.zeros(worlds * contacts * item, dtype=wp.uint8, device=device))
            self._places += [self._out[-1].ptr, contacts * item, item]
        geoms = int(np.array([0, 1], np.int32).view(np.int64)[0])
        self._table = wp.array(np.array([geoms, *self._places], np.int64), dtype=wp.int64, device=device)
        self._copy = model_copies(self.model, engine, fixed=False)
        model_copies(self.model, engine, fixed=True)()
        self.kernel = pair_lanes(build)
        self.inputs = [self._table, wp.uint64(self.records.ptr), self.warps]
        self._command: Any = None

    def places(self) -> list[int]:
        """Where the derivatives are, as geometry.places says it."""
        return [*self._places, number(wp.float32, WIDTH).wide // 4, 1]

    def run(self) -> None:
        """Find them at the engine's present state, on CUDA."""
        self._copy()
        if self._command is None:
            engine = self.engine
            parts = [np.frombuffer(bytearray(struct), np.uint8) for struct in (self.m, self.d)]
            self._structs = [wp.array(each, dtype=wp.uint8, device=engine.device) for each in parts]
            self._command = command = wp.launch(
                self.kernel, dim=self.warps * WARP, inputs=[engine.m, engine.d, *self.inputs], device=engine.device,
                block_dim=BLOCK, record_cmd=True,
            )  # fmt: skip
            where = [ctypes.c_uint64(each.ptr) for each in self._structs]
            command.params = [command.params[0], *where, *command.params[3:]]
            command.params_addr = _build_cuda_kernel_params(command.params)
        self._command.launch()

    @property
    def memory(self) -> int:
        """Bytes of scratch and results."""
        return self.model.bytes + self.records.size + sum(one.size for one in self._out)
