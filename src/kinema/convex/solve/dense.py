"""Solves with the mass matrix as a dense one, for systems of at most 128 dofs on CUDA.

A thread that walks the sparse factor of its world alone is slow there; a group with the matrix in its registers is not.

    smooth    qacc_smooth = M^-1 qfrc_smooth
    euler     qacc_step   = (M + h B)^-1 (qfrc_smooth + qfrc_constraint); without damping it is qacc
    implicit  qacc_step   = qH^-1 (qfrc_smooth + qfrc_constraint)
    discrete  qacc_smooth = Mh^-1 (qfrc_smooth - h K v)
"""

from functools import cache

import warp as wp

from kinema.convex.data import Data
from kinema.convex.integrate.euler import is_damped
from kinema.convex.model import Model
from kinema.convex.passive import damping_slope, joint_damping
from kinema.convex.solve.native import WARP, source
from kinema.convex.solve.primal import LARGE, WARPS, blocks, columns, team
from kinema.convex.stage import Stage
from kinema.math.lanes import lane_count
from kinema.math.touches import touches
from kinema.mujoco_enums import Disable


def fits(nv: int) -> bool:
    """Can a group of lanes hold a system of nv dofs?"""
    return 0 < nv <= LARGE


@cache
def _solve(nv: int) -> wp.Function:
    @wp.func_native(source("mass_solve.cpp", COLUMNS=columns(nv), WARPS=WARPS, TEAM=team(nv)))
    @touches(reads="mat[w] shift[w] b[w] rownnz rowadr colind", writes="x[w]")
    def mass_solve(
        mat: wp.array2d(dtype=float), shift: wp.array2d(dtype=float), shifted: bool, b: wp.array2d(dtype=float),
        x: wp.array2d(dtype=float), rownnz: wp.array(dtype=int), rowadr: wp.array(dtype=int),
        colind: wp.array(dtype=int), nv: int, w: int, lane: int,
    ): ...  # fmt: skip

    return mass_solve


@cache
def _solve_like_mass(columns: int) -> wp.Function:
    """The solve, of a matrix that is kept as M is."""
    mass_solve = _solve(columns)

    @wp.func
    def solve(
        m: Model, mat: wp.array2d(dtype=float), shift: wp.array2d(dtype=float), shifted: bool,
        b: wp.array2d(dtype=float), x: wp.array2d(dtype=float), w: int, lane: int,
    ):  # fmt: skip
        mass_solve(
            mat, shift, shifted, b, x, m.dof.M_rownnz, m.dof.M_rowadr, m.dof.M_colind, m.size.nv, w, lane
        )  # fmt: skip

    return solve


@cache
def _smooth(columns: int) -> wp.Function:
    solve = _solve_like_mass(columns)

    @wp.func
    def smooth_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d.inertia.M, d.frc.qfrc_smooth, False, d.frc.qfrc_smooth, d.frc.qacc_smooth, w, lane)

    return smooth_dense


@cache
def _solve_metric(columns: int) -> wp.Function:
    """The solve, of the metric of the discrete integrator."""
    mass_solve = _solve(columns)

    @wp.func
    def solve(m: Model, d: Data, b: wp.array2d(dtype=float), x: wp.array2d(dtype=float), w: int, lane: int):
        mass_solve(
            d.metric.value, b, False, b, x, m.dof.metric_rownnz, m.dof.metric_rowadr, m.dof.metric_colind, m.size.nv, w,
            lane,
        )  # fmt: skip

    return solve


@cache
def _discrete(columns: int) -> wp.Function:
    solve = _solve_metric(columns)

    @wp.func
    def discrete_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d, d.metric.force, d.frc.qacc_smooth, w, lane)

    return discrete_dense


@cache
def _noslip(columns: int) -> wp.Function:
    solve = _solve_metric(columns)

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
def _euler(columns: int) -> wp.Function:
    solve = _solve_like_mass(columns)

    @wp.func
    def euler_dense(m: Model, d: Data, w: int, lane: int):
        if is_damped(m, w):
            solve(m, d.inertia.M, d.inertia.qHDiagInv, True, d.scratch.qacc_step, d.scratch.qacc_step, w, lane)
        else:
            for i in range(lane, m.size.nv, lane_count()):
                d.scratch.qacc_step[w, i] = d.frc.qacc[w, i]

    return euler_dense


@cache
def _implicit(columns: int) -> wp.Function:
    solve = _solve_like_mass(columns)

    @wp.func
    def implicit_dense(m: Model, d: Data, w: int, lane: int):
        solve(m, d.inertia.qH, d.scratch.qacc_step, False, d.scratch.qacc_step, d.scratch.qacc_step, w, lane)

    return implicit_dense


def _group(nv: int) -> dict:
    """How a stage that solves for nv dofs is run."""
    bound = blocks(nv) if team(nv) > WARP else 0
    return {"lanes": True, "alone": True, "aside": True, "threads": team(nv), "blocks": bound}


def smooth_stages(nv: int) -> list[Stage]:
    """qacc_smooth without a sparse factor."""
    return [Stage(_smooth(columns(nv)), **_group(nv))]


def discrete_stages(nv: int) -> list[Stage]:
    """qacc_smooth of the discrete integrator, once the metric is there."""
    return [Stage(_discrete(columns(nv)), **_group(nv))]


def noslip_stages(nv: int) -> list[Stage]:
    """qacc of the discrete integrator, once qacc_step holds all forces."""
    return [Stage(_noslip(columns(nv)), **_group(nv))]


def euler_stages(nv: int) -> list[Stage]:
    """qacc_step of the Euler integrator without a sparse factor."""
    return [
        Stage(euler_terms, over="nv"),
        Stage(_euler(columns(nv)), **_group(nv)),
    ]


def implicit_stages(nv: int) -> list[Stage]:
    """qacc_step of the implicitfast integrator without a sparse factor, once qH is there."""
    return [Stage(_implicit(columns(nv)), **_group(nv))]
