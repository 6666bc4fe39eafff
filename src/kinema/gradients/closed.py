"""A and B in closed form where forces are known dof by dof, and few directions of duals where they are not.

    tree_slopes.cpp      how the forces that a motion needs change with position and velocity
    local_slopes.cpp     springs, dampers, tendons, actuators, equalities, fluids (elements.py, coloring.py)
    contact_slopes.cpp   contacts and other rows (geometry.py, row_slopes.py, anchor_slopes.py, connect_slopes.cpp),
                         whose regularization may follow what they push (regularization_slopes.cpp)
    transition.cpp       all columns through the matrix of the constraint solve, then to the next state

and one product with them, without columns: power along one motion

    multipliers.cpp      the motion that solves the transposed system (row_hessian.cpp, dense_product.cpp)
    contact_product.cpp  contacts, connects and rows as forces on bodies (connect_product.cpp, row_product.cpp)
    tree_product.cpp     down the trees (motions.cpp) and up, then what each dof has of it

It costs a few steps, of which the forward dynamics are one. `against` says of which models it knows too little: those
are differentiated stage by stage (tangents.py), which gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import warp as wp

from kinema.collide.build import Build
from kinema.convex.call import Call
from kinema.convex.constraint.exact import is_exact
from kinema.convex.data import Data
from kinema.convex.metric_pattern import is_discrete
from kinema.convex.model import Model
from kinema.convex.parts import parts
from kinema.convex.solve.native import ROWS, WARP, lay_in
from kinema.convex.stage import Stage
from kinema.gradients import coloring, elements, geometry, others
from kinema.gradients.anchor_slopes import POINT, anchor_slopes
from kinema.gradients.moving_pairs import MovingPairs
from kinema.gradients.row_slopes import row_slopes
from kinema.gradients.tangents import Tangents
from kinema.math.touches import touches
from kinema.mujoco_enums import Equality, Integrator, Joint, native

COMMON = ("at_hand.cpp", "spatial.cpp", "dense_factor.cpp")
FILES = (
    "vectors.cpp", "scratch_layout.cpp", *COMMON, "dense_solve.cpp", "metric_slopes.cpp", "tree_slopes.cpp",
    "lone_slopes.cpp", "local_slopes.cpp", "swell.cpp", "regularization_slopes.cpp", "contact_slopes.cpp",
    "connect_slopes.cpp", "rotation.cpp", "transition.cpp",
)  # fmt: skip
PRODUCT = (
    "vectors.cpp", "product_layout.cpp", *COMMON, "dense_product.cpp", "metric_slopes.cpp", "lone_product.cpp",
    "lone_slopes.cpp", "rows_along.cpp", "row_hessian.cpp", "rotation.cpp", "multipliers.cpp", "motions.cpp",
    "swell.cpp", "easing.cpp", "contact_product.cpp", "connect_product.cpp", "row_product.cpp", "tree_product.cpp",
    "local_product.cpp",
)  # fmt: skip
BLOCK = 64
"""Threads of a block on CUDA: two worlds."""

ROOM = 2688
"""Numbers of shared memory that a world has on CUDA, for a product: enough for a humanoid of 27 dofs."""

BLOCKS = 8
"""Blocks that a multiprocessor is to hold of a product: sixteen worlds, with 128 registers a thread."""

WIDTHS = 4, 8, coloring.LOAD
"""Directions of forces that may be carried at once: about as many as there are, or a load at a time."""

SHARED = (
    "room", "slopes", "drifts", "points", "colored", "forces", "late_forces", "states", "weights", "alone", "damped",
    "settled", "weightless",
)  # fmt: skip
"""Of the tables those that threads share."""


def against(m: Any) -> str:
    """Why a model has no closed form here; empty: it has."""
    if m.opt.integrator not in (Integrator.EULER, Integrator.IMPLICITFAST, Integrator.DISCRETE):
        return f"the integrator {Integrator(int(m.opt.integrator)).name}"
    return against_forces(m)


def against_forces(m: Any) -> str:
    """The same of accelerations alone, whatever moves the state by them."""
    if getattr(m, "nflex", 0):
        return "it has flexes"
    if np.any(m.geom_surfacevel):
        return "surfaces move"
    if is_exact(m):
        return "rows follow the exact diagonal (diagexact)"
    if np.any(m.geom_adhesion) or np.any(getattr(m, "pair_adhesion", 0)):
        return "geoms adhere"
    if int(m.opt.noslip_iterations) > 0:
        return "noslip_iterations: friction is found by sweeps"
    return elements.against(m)


def scratch_floats(nv: int, nbody: int, columns: int, alone: int, *, discrete: bool) -> int:
    """Scratch of a world: what scratch_layout.cpp takes."""
    nc8, n8 = (columns + 7) & ~7, (nv + 7) & ~7
    taken = [nv * nc8] * 2 + [nv * n8] * 3 + [6 * nv] * 9 + [3 * nv] + [6 * nbody] * 6 + [12 * nbody] + [nv] * 2
    taken += [52 * n8, n8, 2 * nv * n8, nv, nv, 109 * alone]
    taken += [nv, nv, nv * n8, nc8, 4 * n8, 13 * n8, n8] if discrete else []
    return sum((count + 7) & ~7 for count in taken)


def product_floats(nv: int, nbody: int, columns: int, alone: int) -> int:
    """The same of a product, at most: what product_layout.cpp takes."""
    n8, lists = (nv + 7) & ~7, [nv] * 5 + [2 * nv] + [nv] * 5 + [109 * alone, 12 * nv, columns]
    matrices, bodies = [nv * n8] * 2 + [512], [30 * nbody, 42 * nbody, 8 * 64]
    taken = [sum((count + 7) & ~7 for count in counts) for counts in (lists, matrices, bodies)]
    return taken[0] + max(taken[1:])


def _text(names: Sequence[str]) -> str:
    own = files("kinema.gradients")
    parts = "\n".join(own.joinpath(name).read_text(encoding="utf-8") for name in names)
    text = '#include "lanes.cpp"\n#include "rows.cpp"\n' + native(Joint, Equality, Integrator) + parts
    return lay_in(text, WORLDS=BLOCK // WARP, ROOM=ROOM)


READS = f"""
    {ROWS} d.efc.D[w] d.efc.aref[w] d.con.ncon[w] d.con.pair[w] d.con.pos[w] d.con.frame[w]
    d.crow.address[w] d.crow.bodies[w] d.inertia.cdof[w] d.inertia.cinert[w] d.inertia.crb[w] d.inertia.M[w]
    d.inertia.subtree_com[w] d.vel.cvel[w]
    d.vel.cdof_dot[w] d.pose.xipos[w] d.state.xfrc_applied[w] d.state.qvel[w] d.frc.qacc[w] m.opt.timestep m.opt.gravity
    m.body.parentid m.body.rootid m.body.dofadr m.body.dofnum m.body.childadr m.body.childnum m.body.child
    m.tree.leveladr m.tree.levelbody m.dof.bodyid m.dof.bodyend m.dof.jntid m.dof.parentid m.dof.M_rowadr m.dof.M_rownnz
    m.dof.M_colind m.dof.mapD2M m.dof.D_rowadr m.dof.D_diag m.dof.D_rownnz m.dof.D_colind m.jnt.type m.jnt.dofadr
    d.act.moment[w] m.body.alone m.body.gravcomp m.body.mass d.scratch.qacc_step[w] room slopes colored forces
    late_forces states weights alone places along drifts points m.eq.type d.metric.value[w] m.dof.metric_rowadr
    m.dof.metric_rownnz m.dof.metric_colind
"""


@wp.func_native(_text(FILES))
@touches(reads=READS, writes="room out")
def close(
    m: Model, d: Data, w: int, lane: int, slot: int, room: wp.array2d(dtype=float), slopes: wp.array2d(dtype=wp.vec3),
    drifts: wp.array3d(dtype=float), points: wp.array3d(dtype=float), colored: wp.array3d(dtype=float),
    forces: wp.array2d(dtype=int), late_forces: wp.array2d(dtype=int), states: wp.array2d(dtype=int),
    weights: wp.array2d(dtype=int), alone: wp.array(dtype=int), places: wp.array(dtype=wp.int64),
    damped: int, settled: int, weightless: int, along: wp.array2d(dtype=float), out: wp.array3d(dtype=float),
): ...  # fmt: skip


@wp.func_native(_text(PRODUCT))
@touches(reads=READS, writes="room out")
def pull_back(
    m: Model, d: Data, w: int, lane: int, slot: int, room: wp.array2d(dtype=float), slopes: wp.array2d(dtype=wp.vec3),
    drifts: wp.array3d(dtype=float), points: wp.array3d(dtype=float), colored: wp.array3d(dtype=float),
    forces: wp.array2d(dtype=int), late_forces: wp.array2d(dtype=int), states: wp.array2d(dtype=int),
    weights: wp.array2d(dtype=int), alone: wp.array(dtype=int), places: wp.array(dtype=wp.int64),
    damped: int, settled: int, weightless: int, along: wp.array2d(dtype=float), out: wp.array3d(dtype=float),
): ...  # fmt: skip


@wp.func_native("""
    typedef void (*Function)(void*, void*);
    for (int k = 0; k < calls.shape[0]; ++k) {
        const long long* call = (const long long*)((const char*)calls.data + k * (size_t)calls.strides[0]);
        *(int*)call[3] = w;
        *(int*)call[4] = w + 1;
        ((Function)call[0])((void*)call[1], (void*)call[2]);
    }
""")
@touches(reads="calls")
def call_for(calls: wp.array2d(dtype=wp.int64), w: int):
    """Run others for one world, on the CPU."""


@wp.struct
class Tables:
    """What it goes by, one a CPU thread; kernels are given an array, for they take 32 kB at most.

    On the CPU a thread goes through its worlds one by one, the duals of forces and contacts (`calls`) just before they
    are read: everything about a world is in cache by then.
    """

    calls: wp.array2d(dtype=wp.int64)

    room: wp.array2d(dtype=float)
    slopes: wp.array2d(dtype=wp.vec3)
    drifts: wp.array3d(dtype=float)
    points: wp.array3d(dtype=float)
    colored: wp.array3d(dtype=float)
    forces: wp.array2d(dtype=int)
    late_forces: wp.array2d(dtype=int)
    states: wp.array2d(dtype=int)
    weights: wp.array2d(dtype=int)
    alone: wp.array(dtype=int)
    places: wp.array(dtype=wp.int64)
    damped: int
    settled: int
    weightless: int


@cache
def world_kernel(close: wp.Function) -> wp.Kernel:
    """Worlds first to last - 1 on one CPU thread."""

    @wp.kernel(enable_backward=False, module="unique")
    def close_worlds(
        m: Model, d: Data, tables: wp.array(dtype=Tables), along: wp.array2d(dtype=float), out: wp.array3d(dtype=float),
        slot: int, first: int, last: int,
    ):  # fmt: skip
        t = tables[slot]
        for w in range(first, last):
            call_for(t.calls, w)
            row_slopes(m, d, w, 0, slot, t.slopes)
            if t.drifts.shape[1] > 0:
                anchor_slopes(m, d, w, 0, slot, t.drifts, t.points)
            close(
                m, d, w, 0, slot, t.room, t.slopes, t.drifts, t.points, t.colored, t.forces, t.late_forces, t.states,
                t.weights, t.alone, t.places, t.damped, t.settled, t.weightless, along, out,
            )  # fmt: skip

    return close_worlds


@cache
def warp_kernel(close: wp.Function) -> wp.Kernel:
    """A world a warp on CUDA."""
    bounds = (BLOCK, BLOCKS) if close is pull_back else None

    @wp.kernel(enable_backward=False, module="unique", launch_bounds=bounds)
    def close_world(
        m: Model, d: Data, tables: wp.array(dtype=Tables), along: wp.array2d(dtype=float), out: wp.array3d(dtype=float)
    ):
        w, lane = wp.tid()
        t = tables[0]
        row_slopes(m, d, w, lane, w, t.slopes)
        if t.drifts.shape[1] > 0:
            anchor_slopes(m, d, w, lane, w, t.drifts, t.points)
        close(
            m, d, w, lane, w, t.room, t.slopes, t.drifts, t.points, t.colored, t.forces, t.late_forces, t.states,
            t.weights, t.alone, t.places, t.damped, t.settled, t.weightless, along, out,
        )  # fmt: skip

    return close_world


class Closed:
    """A and B of an engine's worlds.

    Args:
        engine: The engine, whose state, acceleration and contacts are taken as they are.
        out: Where they go, [world, x', (x, u)].
        cut: Puts stages of duals into parts, each compiled by itself.
        build: Which pairs of shapes contacts are differentiated of; None: those the model has.
    """

    def __init__(
        self, engine: Any, out: wp.array, *, cut: Callable[[Sequence[Stage]], list[tuple[Stage, ...]]] = parts,
        build: Build | None = None,
    ):  # fmt: skip
        m = engine.present.to("closed")
        self.engine, cuda, device = engine, engine.device.is_cuda, engine.device
        known = elements.elements(m)
        self.coloring = coloring.coloring(m, known)
        count = max(self.coloring.colors, default=0) + 1
        self.forces = Tangents(
            engine, self.coloring.directions, self.coloring.results, colors=self.coloring.colors,
            width=next((width for width in WIDTHS if width >= count), WIDTHS[-1]),
            cut=cut, stages=others.stages(engine, known), given=others.GIVEN,
            known=[stage for stage in engine.recipes["step"] if not stage.advances],
        )  # fmt: skip
        self.contacts: Tangents | MovingPairs | None = None
        if engine.collider.stages and engine.layout.arrays["contact_dist"].size:
            build = build or engine.collider.detector.build
            self.contacts = MovingPairs(engine, build) if cuda else Tangents(
                engine, [], [], width=geometry.WIDTH, given=geometry.GIVEN, colors=[],
                stages=[Stage(geometry.moving_geoms(build), alone=True)],
            )  # fmt: skip
        nx = 2 * int(m.nv) + int(m.na)
        columns = nx + int(m.nu)
        self.out = out
        threads = 1 if cuda else max(1, min(engine.nworld, engine.threads))
        slots = engine.nworld if cuda else threads
        shared = Tables()
        alone = [] if m.opt.integrator in elements.ALONE_AS_OTHERS else elements.lone_dofs(m)
        sizes = int(m.nv), int(m.nbody), columns, len(alone)
        floats = max(scratch_floats(*sizes, discrete=is_discrete(m)), product_floats(*sizes))
        shared.room = wp.zeros((slots, floats), dtype=float, device=device)
        shared.slopes = wp.zeros((slots, max(1, engine.rows)), dtype=wp.vec3, device=device)
        anchors = np.isin(np.asarray(m.eq_type), (Equality.CONNECT, Equality.WELD))
        rows = 6 * int(m.neq) if np.any(anchors) else 0
        shared.drifts = wp.zeros((slots, rows, max(1, int(m.nv))), dtype=float, device=device)
        shared.points = wp.zeros((slots, int(m.neq) if rows else 0, POINT), dtype=float, device=device)
        shared.colored = self.forces.out
        shared.forces = _rows(self.coloring.forces, 5, device)
        shared.late_forces = _rows(self.coloring.late, 4, device)
        shared.states = _rows(self.coloring.states, 4, device)
        shared.weights = _rows(self.coloring.weights, 4, device)
        shared.alone = wp.array(np.array(alone, np.int32), dtype=int, device=device)
        shared.damped = elements.lateness(m, known)
        shared.settled = int(bool(self.coloring.late) and not is_discrete(m))
        shared.weightless = int(elements.bears_gravity(m))
        self._settles = self._settling(m) if shared.settled else []
        self.tables = [self._tables(shared, slot) for slot in range(threads)]
        self._given = wp.array(self.tables, dtype=Tables, device=device)
        self.along = wp.zeros((engine.nworld, nx), dtype=float, device=device)
        self.pulled = wp.zeros((engine.nworld, 1, columns), dtype=float, device=device)
        self._all = self._calls(close, out)
        self._one = self._calls(pull_back, self.pulled)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def _tables(self, shared: Tables, slot: int) -> Tables:
        """Those of one CPU thread, or of all worlds on CUDA."""
        found, device = Tables(), self.engine.device
        for name in SHARED:
            setattr(found, name, getattr(shared, name))
        duals = [run.runs[slot] for run in (self.forces, self.contacts) if isinstance(run, Tangents)]
        calls = [] if device.is_cuda else [run.place() for run in duals]
        found.calls = wp.array(np.array(calls, np.int64).reshape(len(calls), 5), dtype=wp.int64, device=device)
        places = [0] * geometry.PLACES
        if isinstance(self.contacts, MovingPairs):
            places = self.contacts.places()
        elif self.contacts:
            places = geometry.places(duals[1].wide)
        slope = duals[0].wide.get("qDeriv")  # by velocity, which the integrator takes in
        places += [slope.made.data, slope.made.strides[0], slope.made.strides[1]] if slope else [0, 0, 0]
        found.places = wp.array(places, dtype=wp.int64, device=device)
        return found

    def _calls(self, form: wp.Function, out: wp.array) -> list[Any]:
        """What runs it: for each thread of the CPU its share, or a launch for all worlds."""
        engine, given = self.engine, [self.engine.m, self.engine.d, self._given, self.along, out]
        if engine.device.is_cuda:
            return [wp.launch(
                warp_kernel(form), dim=(engine.nworld, WARP), inputs=given, device=engine.device, block_dim=BLOCK,
                record_cmd=True,
            ).launch]  # fmt: skip
        return [Call(world_kernel(form), 1, [*given, *end], engine.device) for end in self._shares()]

    def _shares(self) -> list[tuple[int, int, int]]:
        """For each thread of the CPU its number, its first world, and the one after its last."""
        worlds = np.arange(self.engine.nworld)
        shares = np.array_split(worlds, max(1, min(self.engine.nworld, self.engine.threads)))
        return [(slot, int(share[0]), int(share[-1]) + 1) for slot, share in enumerate(shares)]

    def _settling(self, m: Any) -> list[Any]:
        """What finds the acceleration that the integrator chooses, where slopes that it takes in change."""
        engine, kernel = self.engine, others.settling(others.integrating(m))
        given = [engine.m, engine.d]
        if engine.device.is_cuda:
            inputs = [*given, engine.nworld, 0, engine.nworld]
            return [wp.launch(kernel, dim=engine.nworld, inputs=inputs, device=engine.device, record_cmd=True).launch]
        return [Call(kernel, 1, [*given, 1, *ends[1:]], engine.device) for ends in self._shares()]

    def _run(self, calls: list[Any]) -> None:
        for settle in self._settles:
            settle()
        for duals in (self.forces, self.contacts):
            if isinstance(duals, Tangents) and self.engine.device.is_cpu:
                duals.prepare()
            elif duals:
                duals.run()
        if self._pool is None:
            calls[0]()
        else:
            list(self._pool.map(lambda call: call(), calls))

    def run(self) -> wp.array:
        """[world, x', (x, u)] at the engine's present state, acceleration and contacts."""
        self._run(self._all)
        return self.out

    def pull(self) -> wp.array:
        """The product of `along` [world, x'] with the same, [world, 1, (x, u)]."""
        self._run(self._one)
        return self.pulled

    @property
    def memory(self) -> int:
        """Bytes of scratch and duals."""
        own = 4 * (self.tables[0].room.size + self.tables[0].drifts.size) + 12 * self.tables[0].slopes.size
        return own + self.forces.memory + (self.contacts.memory if self.contacts else 0)


def _rows(rows: list[Any], columns: int, device: Any) -> wp.array:
    return wp.array(np.array(rows, np.int32).reshape(len(rows), columns), dtype=int, device=device)
