"""Length ranges of muscles, found by pulling: the shortest and longest an actuator's transmission can get.

For each actuator and each side a damped simulation runs from qpos0 with a force along the transmission that would give
a set acceleration; only joint and tendon limits and equalities hold against it (no gravity, contacts, springs, friction
or other actuators). The extremes over the last part of the run are the range. All actuators and both sides run at once.
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants.constraint import constrained_acceleration, constraint_rows, reference
from kinema.compile.constants.dynamics import bias_forces, body_motion, integrate_positions
from kinema.compile.constants.kinematics import forward_kinematics
from kinema.compile.constants.mass import mass_matrix, spatial_inertia
from kinema.compile.constants.tendon import Segments, segments, tendon_lengths, tendon_rows
from kinema.compile.constants.transmission import transmissions
from kinema.compile.constants.tree import Tree
from kinema.compile.context import Compilation
from kinema.compile.settings import LengthRange
from kinema.mujoco_enums import MINVAL, Bias, Gain, Transmission

Array = np.ndarray

MAX_VALUE = 1e10
"""mjMAXVAL: a position, velocity or acceleration beyond it means the simulation blew up."""


SETTLED = 1e-7
"""A run whose velocities and accelerations are all below this has found its length and is taken out."""


class LengthRangeError(ValueError):
    """The simulation of one actuator failed; `actuator` is its id."""

    def __init__(self, actuator: int, message: str):
        self.actuator = actuator
        super().__init__(message)


def compile_lengthrange(c: Compilation) -> None:
    """Complete actuator_lengthrange where the document asks for it; needs the other constants."""
    try:
        c.arrays["actuator_lengthrange"] = length_ranges(c.view(), c.settings.lengthrange, c.option["timestep"])
    except LengthRangeError as error:
        raise c.elements["actuator"][error.actuator].error(str(error)) from None


def length_ranges(m, options: LengthRange, timestep: float) -> Array:
    """actuator_lengthrange (nout, 2) of an object with mjModel's attributes."""
    ranges = np.array(m.actuator_lengthrange, dtype=float)
    wanted = []
    for i in _asked(m, options.mode):
        out, target = int(m.actuator_outadr[i]), int(m.actuator_trnid[i, 0])
        if options.useexisting and ranges[out, 0] < ranges[out, 1]:
            continue
        limits = _limits(m, m.actuator_trntype[i], target) if options.uselimit else None
        if limits is not None:
            ranges[out] = limits
        else:
            wanted.append(i)
    if wanted:
        outs = np.asarray(m.actuator_outadr)[wanted]
        low, high = simulate(m, np.array(wanted), options, options.timestep if options.timestep > 0 else timestep)
        ranges[outs, 0], ranges[outs, 1] = low[:, 0], high[:, 1]
        _check_convergence(wanted, low, high, options)
    return ranges


def _asked(m, mode: str) -> list[int]:
    """Actuators whose length range is wanted."""
    gain, bias = np.asarray(m.actuator_gaintype), np.asarray(m.actuator_biastype)
    muscle = (gain == int(Gain.MUSCLE)) | (bias == int(Bias.MUSCLE))
    user = (gain == int(Gain.USER)) | (bias == int(Bias.USER))
    wanted = {"none": muscle & False, "muscle": muscle, "muscleuser": muscle | user, "all": muscle | True}[mode]
    return np.flatnonzero(wanted).tolist()


def _limits(m, kind: int, target: int) -> Array | None:
    if kind in (Transmission.JOINT, Transmission.JOINTINPARENT) and m.jnt_limited[target]:
        return m.jnt_range[target]
    if kind == Transmission.TENDON and m.tendon_limited[target]:
        return m.tendon_range[target]
    return None


def _check_convergence(wanted: list[int], low: Array, high: Array, options: LengthRange) -> None:
    for i, minimum, maximum in zip(wanted, low, high, strict=True):
        span = maximum[1] - minimum[0]
        if span <= 0:
            raise LengthRangeError(i, f"invalid lengthrange ({minimum[0]:g}, {maximum[1]:g})")
        if (maximum - minimum > options.tolrange * span).any():
            raise LengthRangeError(
                i, f"lengthrange computation did not converge: range ({minimum[0]:g}, {maximum[1]:g}); is the joint or "
                "tendon limited?"
            )  # fmt: skip


def simulate(m, actuators: Array, options: LengthRange, step: float) -> tuple[Array, Array]:
    """Least and greatest length over the last interval of both runs: two arrays (actuators, 2 sides)."""
    tree, cut = Tree(m), segments(m)
    runs = 2 * len(actuators)
    low, high = np.full(runs, np.inf), np.full(runs, -np.inf)
    run = np.arange(runs)  # those still moving
    outs = np.repeat(np.asarray(m.actuator_outadr)[actuators], 2)
    sign = np.tile([-1.0, 1.0], len(actuators))
    qpos, qvel = np.tile(np.asarray(m.qpos0, dtype=float), (runs, 1)), np.zeros((runs, m.nv))
    qacc = np.zeros((runs, m.nv))
    decay = np.exp(-step / max(0.01, options.timeconst))
    time = 0.0
    while time < options.inttotal and len(run):
        qvel = qvel * decay
        length, qacc = _pull(m, tree, cut, qpos, qvel, qacc, outs[run], sign[run], options, step)
        qvel = qvel + step * qacc
        qpos = integrate_positions(m, qpos, qvel, step)
        time += step
        bad = ~(np.abs(np.concatenate((qpos, qvel, qacc), axis=1)) < MAX_VALUE).all(axis=1)
        if bad.any():
            raise LengthRangeError(int(actuators[run[bad][0] // 2]), "unstable lengthrange simulation")
        settled = (np.abs(qvel).max(axis=1, initial=0.0) < SETTLED) & (np.abs(qacc).max(axis=1, initial=0.0) < SETTLED)
        counts = settled | (time > options.inttotal - options.interval)
        low[run[counts]] = np.minimum(low[run[counts]], length[counts])
        high[run[counts]] = np.maximum(high[run[counts]], length[counts])
        if settled.any():
            run, qpos, qvel, qacc = run[~settled], qpos[~settled], qvel[~settled], qacc[~settled]
    return low.reshape(-1, 2), high.reshape(-1, 2)


def _pull(m, tree: Tree, cut: Segments, qpos: Array, qvel: Array, warm: Array, outs: Array, sign: Array,
          options: LengthRange, step: float) -> tuple[Array, Array]:  # fmt: skip
    """Lengths, and accelerations under the pulling force, of runs at (qpos, qvel)."""
    pose = forward_kinematics(m, tree, qpos)
    ten_length, points = tendon_lengths(m, pose, cut)
    ten_rows = tendon_rows(m, tree, pose, cut, points)
    length, moment = transmissions(m, tree, pose, ten_length, ten_rows)
    each = np.arange(len(qpos))
    length, moment = length[each, outs], moment[each, outs]
    inertia = spatial_inertia(m, pose)
    mass, _ = mass_matrix(m, tree, pose, ten_rows, inertia)
    pulled = mass.solve(moment[:, None])[:, 0]
    force = moment * (sign * options.accel / np.maximum(MINVAL, np.sqrt(np.sum(pulled**2, axis=1))))[:, None]
    if options.maxforce > 0:
        size = np.sqrt(np.sum(force**2, axis=1))
        force *= np.where(size > options.maxforce, options.maxforce / np.maximum(MINVAL, size), 1.0)[:, None]
    motion = body_motion(m, tree, pose, qvel)
    bias = bias_forces(m, tree, pose, inertia, motion)
    smooth = mass.solve((force - bias)[:, None])[:, 0]
    rows = constraint_rows(m, tree, pose, motion, ten_length, ten_rows)
    aref, inverse = reference(rows, qvel, step)
    return length, constrained_acceleration(mass.dense(m.nv), smooth, rows, aref, inverse, start=warm)
