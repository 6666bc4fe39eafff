"""Gauss-Newton terms of inverse kinematics, and a damped step within bounds (ik.py has the equations).

One thread takes a world. A target moves with the dofs of its body's chain only, so its part of H and g is a walk over
pairs of them. H is kept as its lower triangle.
"""

from typing import Any

import warp as wp

from kinema.convex.bundle import bundle, index
from kinema.convex.jacobian import last_dof, point_motion
from kinema.engine import Engine
from kinema.functions.jacobian import Axes, Bodies, centre
from kinema.math.quaternion import conjugate, from_mat, mul_quat, normalize, to_velocity
from kinema.math.spatial import angular
from kinema.mujoco_enums import Joint

SMALLEST, LARGEST = wp.constant(1e-9), wp.constant(1e6)  # damping
EASE, TIGHTEN = wp.constant(0.2), wp.constant(5.0)  # of damping, after a step that helped and one that did not
ROUNDS = wp.constant(16)  # solves of one step, each with more dofs held at their limits

STILL, AT_LOW, AT_HIGH = wp.constant(1), wp.constant(2), wp.constant(3)  # why a dof is held


@wp.struct
class Terms:
    """What the cost and its derivatives are at some positions."""

    H: wp.array3d(dtype=float)
    g: wp.array2d(dtype=float)
    cost: wp.array(dtype=float)
    error: wp.array2d(dtype=wp.vec2)  # distance and angle of each target


@bundle()
class Coordinates:
    """Which coordinate a dof has, and whether it has one of its own."""

    nv: int
    dof_jntid: index()
    jnt_type: index()
    jnt_qposadr: index()


@wp.kernel(enable_backward=False)
def _add_target(
    bodies: Bodies, axes: Axes, place: wp.array2d(dtype=wp.vec3), turn: wp.array2d(dtype=wp.mat33), number: int,
    body: int, t: int, position: wp.array(dtype=wp.vec3), orientation: wp.array(dtype=wp.vec4), weight: wp.vec2,
    terms: Terms,
):  # fmt: skip
    w = wp.tid()
    point = place[w, number]
    missing = wp.vec3(0.0)
    if weight[0] > 0.0:
        missing = position[w] - point
    turning = wp.vec3(0.0)
    if weight[1] > 0.0:
        turning = to_velocity(mul_quat(normalize(orientation[w]), conjugate(from_mat(turn[w, number]))), 1.0)
    terms.cost[w] = terms.cost[w] + weight[0] * wp.dot(missing, missing) + weight[1] * wp.dot(turning, turning)
    terms.error[w, t] = wp.vec2(wp.length(missing), wp.length(turning))
    offset = point - centre(bodies, w, body)
    i = last_dof(bodies.weldid, bodies.dofadr, bodies.dofnum, body)
    while i >= 0:
        along = weight[0] * point_motion(axes.cdof[w, i], offset)
        about = weight[1] * angular(axes.cdof[w, i])
        terms.g[w, i] = terms.g[w, i] + wp.dot(along, missing) + wp.dot(about, turning)
        j = int(i)
        while j >= 0:
            other = axes.cdof[w, j]
            both = wp.dot(along, point_motion(other, offset)) + wp.dot(about, angular(other))
            terms.H[w, i, j] = terms.H[w, i, j] + both
            j = axes.parentid[j]
        i = axes.parentid[i]


def add_target(engine: Engine, terms: Any, t: int, place, axes, number, body, position, orientation, weights) -> None:
    """Add what one target does to the cost."""
    inputs = [engine.bundle(Bodies), engine.bundle(Axes), place, axes, number, body, t, position, orientation, weights]
    wp.launch(_add_target, engine.nworld, inputs, [terms], device=engine.device)


@wp.kernel(enable_backward=False)
def add_posture(away: wp.array2d(dtype=float), weight: float, terms: Terms):
    """Add what a posture does to the cost, `away` being the way to it."""
    w = wp.tid()
    for i in range(away.shape[1]):
        terms.H[w, i, i] = terms.H[w, i, i] + weight
        terms.g[w, i] = terms.g[w, i] + weight * away[w, i]
        terms.cost[w] = terms.cost[w] + weight * away[w, i] * away[w, i]


@wp.func
def keep(w: int, nv: int, terms: Terms, trial: wp.array2d(dtype=float), kept: Terms, best: wp.array2d(dtype=float)):
    """Take the trial positions as the best so far."""
    kept.cost[w] = terms.cost[w]
    for t in range(terms.error.shape[1]):
        kept.error[w, t] = terms.error[w, t]
    for i in range(nv):
        kept.g[w, i] = terms.g[w, i]
        for j in range(i + 1):
            kept.H[w, i, j] = terms.H[w, i, j]
    for a in range(trial.shape[1]):
        best[w, a] = trial[w, a]


@wp.func
def factored(L: wp.array3d(dtype=float), H: wp.array3d(dtype=float), damping: float, held: wp.array2d(dtype=int),
             w: int, nv: int):  # fmt: skip
    """Cholesky factor of H + damping over the dofs that are not held; those that are have rows of the identity."""
    for i in range(nv):
        for j in range(i + 1):
            sum = float(0.0)
            if held[w, i] == 0 and held[w, j] == 0:
                sum = H[w, i, j]
            if i == j:
                sum += damping
                if held[w, i] != 0:
                    sum = 1.0
            for k in range(j):
                sum -= L[w, i, k] * L[w, j, k]
            if i == j:
                L[w, i, i] = wp.sqrt(wp.max(sum, 1e-12))
            else:
                L[w, i, j] = sum / L[w, j, j]


@wp.func
def solved(L: wp.array3d(dtype=float), x: wp.array2d(dtype=float), w: int, nv: int):
    """Replace x by the solution of L L' y = x."""
    for i in range(nv):
        sum = x[w, i]
        for k in range(i):
            sum -= L[w, i, k] * x[w, k]
        x[w, i] = sum / L[w, i, i]
    for n in range(nv):
        i = nv - 1 - n
        sum = x[w, i]
        for k in range(i + 1, nv):
            sum -= L[w, k, i] * x[w, k]
        x[w, i] = sum / L[w, i, i]


@wp.func
def way_to_bounds(c: Coordinates, bounds: wp.array(dtype=wp.vec2), best: wp.array2d(dtype=float), w: int, i: int):
    """How far a dof may go down and up; nan says it may not move, and a dof without a range may go anywhere."""
    low = bounds[i][0]
    high = bounds[i][1]
    j = c.dof_jntid[i]
    kind = c.jnt_type[j]
    if low != low:
        low = 0.0
        high = 0.0
    elif kind == Joint.HINGE or kind == Joint.SLIDE:
        q = best[w, c.jnt_qposadr[j]]
        low -= q
        high -= q
    return low, high


@wp.func
def hold_and_solve(
    kept: Terms, c: Coordinates, bounds: wp.array(dtype=wp.vec2), best: wp.array2d(dtype=float), damping: float,
    factor: wp.array3d(dtype=float), held: wp.array2d(dtype=int), step: wp.array2d(dtype=float), w: int,
) -> int:  # fmt: skip
    """The step with the held dofs where they are held; more are where it goes too far. Returns whether any are new."""
    factored(factor, kept.H, damping, held, w, c.nv)
    for i in range(c.nv):
        low, high = way_to_bounds(c, bounds, best, w, i)
        step[w, i] = 0.0
        if held[w, i] == AT_LOW:
            step[w, i] = low
        elif held[w, i] == AT_HIGH:
            step[w, i] = high
    for i in range(c.nv):
        if held[w, i] == 0:
            sum = kept.g[w, i]
            for j in range(c.nv):
                if held[w, j] > STILL:
                    sum -= kept.H[w, wp.max(i, j), wp.min(i, j)] * step[w, j]
            step[w, i] = sum
    solved(factor, step, w, c.nv)
    more = int(0)
    for i in range(c.nv):
        if held[w, i] == 0:
            low, high = way_to_bounds(c, bounds, best, w, i)
            if step[w, i] < low:
                held[w, i] = AT_LOW
                more += 1
            elif step[w, i] > high:
                held[w, i] = AT_HIGH
                more += 1
    return more


@wp.kernel(enable_backward=False)
def take_step(
    terms: Terms, trial: wp.array2d(dtype=float), c: Coordinates, bounds: wp.array(dtype=wp.vec2), kept: Terms,
    best: wp.array2d(dtype=float), damping: wp.array(dtype=float), factor: wp.array3d(dtype=float),
    held: wp.array2d(dtype=int), step: wp.array2d(dtype=float),
):  # fmt: skip
    """Keep the trial positions if they are better, change damping, and find the step from the best ones."""
    w = wp.tid()
    if terms.cost[w] < kept.cost[w]:
        keep(w, c.nv, terms, trial, kept, best)
        damping[w] = wp.max(damping[w] * EASE, SMALLEST)
    else:
        damping[w] = wp.min(damping[w] * TIGHTEN, LARGEST)
    for i in range(c.nv):
        low, high = way_to_bounds(c, bounds, best, w, i)
        held[w, i] = 0
        if low >= high:
            held[w, i] = STILL
        elif low > 0.0:  # out of its range: back to the nearer end first
            held[w, i] = AT_LOW
        elif high < 0.0:
            held[w, i] = AT_HIGH
    more = int(1)
    for _round in range(ROUNDS):
        if more != 0:
            more = hold_and_solve(kept, c, bounds, best, damping[w], factor, held, step, w)
    for i in range(c.nv):
        low, high = way_to_bounds(c, bounds, best, w, i)
        step[w, i] = wp.clamp(step[w, i], low, high)
