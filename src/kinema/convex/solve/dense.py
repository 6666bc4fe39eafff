"""Solves with the mass matrix as a dense one, on CUDA: a group of threads a tree, of at most 128 dofs.

A thread that walks the sparse factor of its world alone is slow there; a group with the matrix in its registers is not.

    smooth    qacc_smooth = M^-1 qfrc_smooth
    euler     qacc_step   = (M + h B)^-1 (qfrc_smooth + qfrc_constraint); without damping it is qacc
    implicit  qacc_step   = qH^-1 (qfrc_smooth + qfrc_constraint)
    discrete  qacc_smooth = Mh^-1 (qfrc_smooth - h K v)
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import warp as wp

from kinema.convex.data import Data
from kinema.convex.integrate.euler import euler_undamped, has_damping
from kinema.convex.metric_pattern import tree_sizes
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, joint_damping
from kinema.convex.sleep.sleepers import sleeps
from kinema.convex.solve.groups import LARGE, columns, teams_at_once, threads
from kinema.convex.solve.native import WARP, source
from kinema.convex.stage import LANE_BLOCK, Stage
from kinema.math.touches import touches
from kinema.mujoco_enums import Disable


@dataclass(frozen=True)
class Blocks:
    """The blocks of the mass matrix, or the metric, that are solved apart.

    Attributes:
        columns: Dofs of the largest, rounded up.
        count: How many there are: trees, as solvers take them (metric_pattern.py).
        sleeps: Trees may sleep, and those that do are passed over.
    """

    columns: int
    count: int
    sleeps: bool = False

    @property
    def threads(self) -> int:
        return threads(self.columns, once=True)

    @property
    def groups(self) -> int:
        """Groups of a block of threads."""
        return LANE_BLOCK // self.threads if self.threads <= WARP else 1


def blocks_of(m) -> Blocks | None:
    """The blocks of a model's mass matrix; None: some are too large for a group."""
    largest = int(np.max(tree_sizes(m), initial=0))
    return Blocks(columns(largest), m.ntree, sleeps(m)) if 0 < largest <= LARGE else None


@cache
def _solve(blocks: Blocks) -> wp.Function:
    sizes = {"COLUMNS": blocks.columns, "TEAM": blocks.threads, "GROUPS": blocks.groups, "SLEEPS": int(blocks.sleeps)}
    who = "awake[w]" if blocks.sleeps else ""

    @wp.func_native(source("mass_solve.cpp", **sizes))
    @touches(reads=f"mat[w] shift[w] b[w] rownnz rowadr colind tree_adr tree_num {who}", writes="x[w]")
    def mass_solve(
        mat: wp.array2d(dtype=float), shift: wp.array2d(dtype=float), shifted: bool, b: wp.array2d(dtype=float),
        x: wp.array2d(dtype=float), rownnz: wp.array(dtype=int), rowadr: wp.array(dtype=int),
        colind: wp.array(dtype=int), tree_adr: wp.array(dtype=int), tree_num: wp.array(dtype=int),
        awake: wp.array2d(dtype=int), ntree: int, w: int, lane: int,
    ): ...  # fmt: skip

    return mass_solve


@cache
def _solve_like_mass(blocks: Blocks) -> wp.Function:
    """The solve, of a matrix that is kept as M is."""
    mass_solve = _solve(blocks)

    @wp.func
    def solve(
        m: Model, mat: wp.array2d(dtype=float), shift: wp.array2d(dtype=float), shifted: bool,
        b: wp.array2d(dtype=float), x: wp.array2d(dtype=float), awake: wp.array2d(dtype=int), w: int, lane: int,
    ):  # fmt: skip
        mass_solve(
            mat, shift, shifted, b, x, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.tree.dofadr, m.tree.dofnum,
            awake, m.size.ntree, w, lane,
        )  # fmt: skip

    return solve


@cache
def _smooth(blocks: Blocks) -> wp.Function:
    solve = _solve_like_mass(blocks)

    @wp.func
    def smooth_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d.inertia.M, d.frc.qfrc_smooth, False, d.frc.qfrc_smooth, d.frc.qacc_smooth,
              d.sleep.tree_awake, w, lane)  # fmt: skip

    return smooth_dense


@cache
def _solve_metric(blocks: Blocks) -> wp.Function:
    """The solve, of the metric of the discrete integrator."""
    mass_solve = _solve(blocks)

    @wp.func
    def solve(m: Model, d: Data, b: wp.array2d(dtype=float), x: wp.array2d(dtype=float), w: int, lane: int):
        mass_solve(
            d.metric.value, b, False, b, x, m.dof.metric_rownnz, m.dof.metric_rowadr, m.dof.metric_colind,
            m.tree.dofadr, m.tree.dofnum, d.sleep.tree_awake, m.size.ntree, w, lane,
        )  # fmt: skip

    return solve


@cache
def _discrete(blocks: Blocks) -> wp.Function:
    solve = _solve_metric(blocks)

    @wp.func
    def discrete_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d, d.metric.force, d.frc.qacc_smooth, w, lane)

    return discrete_dense


@cache
def _noslip(blocks: Blocks) -> wp.Function:
    solve = _solve_metric(blocks)

    @wp.func
    def noslip_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d, d.scratch.qacc_step, d.frc.qacc, w, lane)

    return noslip_dense


@wp.func
def euler_terms(m: Model, d: Data, w: int, i: int):
    """h B and the force, of one dof."""
    slope = float(0.0)
    if (m.opt.disableflags & (Disable.EULERDAMP | Disable.DAMPER)) == 0:
        b = joint_damping(m, w, i)
        slope = m.opt.timestep[w] * damping_slope(b[0], wp.vec2(b[1], b[2]), d.state.qvel[w, i])
    d.inertia.qHDiagInv[w, i] = slope
    d.scratch.qacc_step[w, i] = d.frc.qfrc_smooth[w, i] + d.frc.qfrc_constraint[w, i]


@cache
def _shifted(blocks: Blocks) -> wp.Function:
    solve = _solve_like_mass(blocks)

    @wp.func
    def shifted_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d.inertia.M, d.inertia.qHDiagInv, True, d.scratch.qacc_step, d.scratch.qacc_step,
              d.sleep.tree_awake, w, lane)  # fmt: skip

    return shifted_dense


@cache
def _implicit(blocks: Blocks) -> wp.Function:
    solve = _solve_like_mass(blocks)

    @wp.func
    def implicit_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d.inertia.qH, d.scratch.qacc_step, False, d.scratch.qacc_step, d.scratch.qacc_step,
              d.sleep.tree_awake, w, lane)  # fmt: skip

    return implicit_dense


def _stage(func: wp.Function, blocks: Blocks) -> Stage:
    """A stage that solves."""
    size = blocks.threads
    bound = teams_at_once(blocks.columns, size) if size > WARP else 0
    return Stage(func, lanes=True, alone=True, aside=True, threads=size, groups=blocks.count, blocks=bound)


def smooth_stages(blocks: Blocks) -> list[Stage]:
    """qacc_smooth without a sparse factor."""
    return [_stage(_smooth(blocks), blocks)]


def discrete_stages(blocks: Blocks) -> list[Stage]:
    """qacc_smooth of the discrete integrator, once the metric is there."""
    return [_stage(_discrete(blocks), blocks)]


def noslip_stages(blocks: Blocks) -> list[Stage]:
    """qacc of the discrete integrator, once qacc_step holds all forces."""
    return [_stage(_noslip(blocks), blocks)]


def shifted_stages(blocks: Blocks) -> list[Stage]:
    """qacc_step without a sparse factor, once it holds the force and qHDiagInv what is added to the diagonal of M."""
    return [_stage(_shifted(blocks), blocks)]


def euler_stages(m, blocks: Blocks) -> list[Stage]:
    """qacc_step of the Euler integrator without a sparse factor."""
    if not has_damping(m):
        return [Stage(euler_undamped, over="nv")]
    return [Stage(euler_terms, over="nv"), *shifted_stages(blocks)]


def implicit_stages(blocks: Blocks) -> list[Stage]:
    """qacc_step of the implicitfast integrator without a sparse factor, once qH is there."""
    return [_stage(_implicit(blocks), blocks)]
