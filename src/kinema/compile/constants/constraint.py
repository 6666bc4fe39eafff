"""Equality and limit constraints on the host, and the constrained acceleration, for many configurations at once.

Each possible row is always there and carries a switch (a limit counts only within its margin):

    pos, J, and from solref, solimp:  R = (1 - d)/d · weight,   aref = -b J q̇ - k d pos  (- J̇ q̇ for connect and weld)
    q̈ = argmin ½ |q̈ - q̈₀|²_M + Σ ½ s(J q̈ - aref)² / R,   s(x) = x for equalities, min(x, 0) for limits

solved by Newton's method with an exact line search over the piecewise quadratic, which ends when the set of active
rows no longer changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.compile.constants.kinematics import Pose, wrench_rows
from kinema.compile.constants.tree import Tree
from kinema.mujoco_enums import MINVAL, Equality, Joint, Obj

Array = np.ndarray

MIN_IMPEDANCE, MAX_IMPEDANCE = 0.0001, 0.9999


@dataclass
class Rows:
    """Constraint rows: pos, size (the distance impedance depends on), weight, active (W, R), J (W, R, nv)."""

    pos: Array
    size: Array
    active: Array
    jacobian: Array
    weight: Array  # (R,)
    solref: Array  # (R, 2)
    solimp: Array  # (R, 5)
    margin: Array  # (R,)
    equality: Array  # (R,) bool
    drift: Array  # (W, R): J̇ q̇ where MuJoCo accounts for it


Motion = tuple[Array, Array]
"""Spatial velocities and accelerations of bodies, as `dynamics.body_motion` gives them."""


def constraint_rows(m, tree: Tree, pose: Pose, motion: Motion, ten_length: Array, ten_rows: Array) -> Rows:
    """All rows of a model at some poses."""
    parts = [*_equalities(m, tree, pose, motion, ten_length, ten_rows), *_joint_limits(m, pose)]
    parts += _tendon_limits(m, ten_length, ten_rows)
    worlds = len(pose.xpos)
    if not parts:
        none = np.zeros((worlds, 0))
        return Rows(none, none, none.astype(bool), np.zeros((worlds, 0, m.nv)), np.zeros(0), np.zeros((0, 2)),
                    np.zeros((0, 5)), np.zeros(0), np.zeros(0, dtype=bool), none)  # fmt: skip
    pos, size, active, jacobian, weight, solref, solimp, margin, equality, drift = zip(*parts, strict=True)
    return Rows(
        np.concatenate(pos, axis=1), np.concatenate(size, axis=1), np.concatenate(active, axis=1),
        np.concatenate(jacobian, axis=1), np.concatenate(weight), np.concatenate(solref), np.concatenate(solimp),
        np.concatenate(margin), np.concatenate(equality), np.concatenate(drift, axis=1),
    )  # fmt: skip


def _part(pos: Array, size: Array, jacobian: Array, weight, solref, solimp, *, margin=0.0, limit: bool = False,
          drift: Array | None = None) -> tuple:  # fmt: skip
    """k rows: pos and size (W, k), jacobian (W, k, nv); what else is given holds for each row or for all."""
    k = pos.shape[1]
    margin = np.broadcast_to(margin, (k,))
    active = pos < margin if limit else np.ones_like(pos, dtype=bool)
    drift = np.zeros_like(pos) if drift is None else drift
    return (
        pos, size, active, jacobian, np.broadcast_to(weight, (k,)), np.broadcast_to(solref, (k, 2)),
        np.broadcast_to(solimp, (k, 5)), margin, np.full(k, not limit), drift,
    )  # fmt: skip


def _equalities(m, tree: Tree, pose: Pose, motion: Motion, ten_length: Array, ten_rows: Array) -> list:
    parts = []
    for i in np.flatnonzero(m.eq_active0).tolist():
        kind, data, ref, imp = m.eq_type[i], m.eq_data[i], m.eq_solref[i], m.eq_solimp[i]
        one, two = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
        if kind in (Equality.CONNECT, Equality.WELD):
            pos, jacobian, weight, drift = _attach(m, tree, pose, motion, i)
            together = np.broadcast_to(np.sqrt(np.sum(pos * pos, axis=1, keepdims=True)), pos.shape)
            parts.append(_part(pos, together, jacobian, weight, ref, imp, drift=drift))
        elif kind == Equality.JOINT:
            qadr, dof = np.asarray(m.jnt_qposadr), np.asarray(m.jnt_dofadr)
            value = lambda j: pose.qpos[:, qadr[j]] - m.qpos0[qadr[j]]  # noqa: B023, E731
            row = lambda j: np.broadcast_to(np.eye(m.nv)[dof[j]], (len(pose.qpos), m.nv))  # noqa: B023, E731
            weight = m.dof_invweight0[dof[one]] + (m.dof_invweight0[dof[two]] if two >= 0 else 0.0)
            pos, jacobian = _couple(data, one, two, value, row)
            parts.append(_part(pos, pos, jacobian, weight, ref, imp))
        elif kind == Equality.TENDON:
            value = lambda t: ten_length[:, t] - m.tendon_length0[t]  # noqa: E731
            weight = m.tendon_invweight0[one] + (m.tendon_invweight0[two] if two >= 0 else 0.0)
            pos, jacobian = _couple(data, one, two, value, lambda t: ten_rows[:, t])
            parts.append(_part(pos, pos, jacobian, weight, ref, imp))
    return parts


def _couple(data: Array, one: int, two: int, value, row) -> tuple[Array, Array]:
    """y - c₀ - Σ c_k x^k and its row."""
    if two < 0:
        return (value(one) - data[0])[:, None], row(one)[:, None]
    x = value(two)
    polynomial = np.polynomial.Polynomial(data[:5])
    jacobian = row(one) - polynomial.deriv()(x)[:, None] * row(two)
    return (value(one) - polynomial(x))[:, None], jacobian[:, None]


def _attach(m, tree: Tree, pose: Pose, motion: Motion, i: int) -> tuple[Array, Array, Array, Array]:
    """pos, J, weights and J̇ q̇ of a connect (3 rows) or weld (6 rows)."""
    ids, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
    weld = m.eq_type[i] == Equality.WELD
    if m.eq_objtype[i] == Obj.BODY:
        bodies = ids
        local = (data[3:6], data[:3]) if weld else (data[:3], data[3:6])
        points = [pose.xpos[:, b] + pose.xmat[:, b] @ p for b, p in zip(bodies, local, strict=True)]
        quats = [quat.multiply(pose.xquat[:, ids[0]], np.broadcast_to(data[6:10], pose.xquat[:, 0].shape)),
                 pose.xquat[:, ids[1]]]  # fmt: skip
    else:
        bodies = int(m.site_bodyid[ids[0]]), int(m.site_bodyid[ids[1]])
        points = [pose.site_xpos[:, s] for s in ids]
        quats = [quat.multiply(pose.xquat[:, b], m.site_quat[s]) for b, s in zip(bodies, ids, strict=True)]
    eye = np.broadcast_to(np.eye(3), (len(pose.xpos), 3, 3))
    rows = [wrench_rows(m, pose, tree, np.array([b] * 3), np.repeat(p[:, None], 3, axis=1), eye)
            for b, p in zip(bodies, points, strict=True)]  # fmt: skip
    weight = m.body_invweight0[bodies[0]] + m.body_invweight0[bodies[1]]
    pos, jacobian = points[0] - points[1], rows[0] - rows[1]
    drift = _point_drift(m, pose, motion, bodies[0], points[0]) - _point_drift(m, pose, motion, bodies[1], points[1])
    if not weld:
        return pos, jacobian, np.full(3, weight[0]), drift
    scale = data[10]
    inverse = quat.conjugate(quats[1])
    error = quat.multiply(inverse, quats[0])[..., 1:] * scale
    turn = pose.cdof[:, :, :3] * (tree.moves[bodies[0]].astype(float) - tree.moves[bodies[1]])[:, None]  # (W, nv, 3)
    axis = np.concatenate((np.zeros_like(turn[..., :1]), turn), axis=-1)
    turned = quat.multiply(quat.multiply(inverse[:, None], axis), quats[0][:, None])[..., 1:]
    rotation = 0.5 * scale * turned.swapaxes(1, 2)
    turning = 0.5 * scale * _turn_drift(motion, bodies, inverse, quats[0])
    return (np.concatenate((pos, error), axis=1), np.concatenate((jacobian, rotation), axis=1),
            np.repeat(weight, 3), np.concatenate((drift, turning), axis=1))  # fmt: skip


def _point_drift(m, pose: Pose, motion: Motion, body: int, point: Array) -> Array:
    """Acceleration of a point of a body when q̈ = 0."""
    velocity, acceleration = (array[:, body] for array in motion)
    lever = point - pose.subtree_com[:, m.body_rootid[body]]
    turn = velocity[:, :3]
    speed = velocity[:, 3:] + quat.cross(turn, lever)
    return acceleration[:, 3:] + quat.cross(acceleration[:, :3], lever) + quat.cross(turn, speed)


def _turn_drift(motion: Motion, bodies: tuple[int, int], inverse: Array, q0: Array) -> Array:
    """Rate of the vector part of q₁⁻¹ (ω₀ - ω₁) q₀ when q̈ = 0, with q̇ = ½ ω q."""
    pure = lambda v: np.concatenate((np.zeros_like(v[..., :1]), v), axis=-1)  # noqa: E731
    velocity, acceleration = motion
    first, second = (pure(velocity[:, b, :3]) for b in bodies)
    change = pure(acceleration[:, bodies[0], :3] - acceleration[:, bodies[1], :3])
    between = first - second
    inner = change + 0.5 * (quat.multiply(between, first) - quat.multiply(second, between))
    return quat.multiply(quat.multiply(inverse, inner), q0)[..., 1:]


def _joint_limits(m, pose: Pose) -> list:
    """Lower sides of all limited hinges and slides, then upper sides, then limited balls."""
    parts = []
    worlds, limited, kind = len(pose.qpos), np.asarray(m.jnt_limited, dtype=bool), np.asarray(m.jnt_type)
    joints = np.flatnonzero(limited & (kind >= Joint.SLIDE))
    if len(joints):
        dof, value = np.asarray(m.jnt_dofadr)[joints], pose.qpos[:, np.asarray(m.jnt_qposadr)[joints]]
        given = (m.dof_invweight0[dof], m.jnt_solref[joints], m.jnt_solimp[joints])
        for side in (-1, 1):
            distance = side * (m.jnt_range[joints, (side + 1) // 2] - value)
            row = np.broadcast_to(-side * np.eye(m.nv)[dof], (worlds, len(joints), m.nv))
            parts.append(_part(distance, distance, row, *given, margin=m.jnt_margin[joints], limit=True))
    for j in np.flatnonzero(limited & (kind == Joint.BALL)):
        q, dof = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
        turn = quat.rotation_vector(quat.normalize(pose.qpos[:, q : q + 4]))
        angle = np.sqrt(np.sum(turn * turn, axis=-1))
        row = np.zeros((worlds, 1, m.nv))
        row[:, 0, dof : dof + 3] = -turn / np.maximum(angle, MINVAL)[:, None]
        distance = (m.jnt_range[j].max() - angle)[:, None]
        given = (m.dof_invweight0[dof], m.jnt_solref[j], m.jnt_solimp[j])
        parts.append(_part(distance, distance, row, *given, margin=m.jnt_margin[j], limit=True))
    return parts


def _tendon_limits(m, ten_length: Array, ten_rows: Array) -> list:
    tendons = np.flatnonzero(m.tendon_limited)
    parts = []
    for side in (-1, 1) if len(tendons) else ():
        distance = side * (m.tendon_range[tendons, (side + 1) // 2] - ten_length[:, tendons])
        given = (m.tendon_invweight0[tendons], m.tendon_solref_lim[tendons], m.tendon_solimp_lim[tendons])
        row = -side * ten_rows[:, tendons]
        parts.append(_part(distance, distance, row, *given, margin=m.tendon_margin[tendons], limit=True))
    return parts


def reference(rows: Rows, qvel: Array, step: float) -> tuple[Array, Array]:
    """aref and 1/R of each row, zero where the row is off."""
    ref, imp = rows.solref.copy(), rows.solimp.copy()
    mixed = (ref[:, 0] > 0) != (ref[:, 1] > 0)
    ref[mixed] = 0.02, 1.0
    standard = ref[:, 0] > 0
    ref[standard, 0] = np.maximum(ref[standard, 0], 2 * step)
    imp[:, [0, 1, 3]] = np.clip(imp[:, [0, 1, 3]], MIN_IMPEDANCE, MAX_IMPEDANCE)
    imp[:, 2], imp[:, 4] = np.maximum(imp[:, 2], 0.0), np.maximum(imp[:, 4], 1.0)
    low, high, width, middle, power = imp.T
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.abs(rows.size - rows.margin) / np.maximum(width, MINVAL)
        y = np.where(x <= middle, x**power / middle ** (power - 1), 1 - (1 - x) ** power / (1 - middle) ** (power - 1))
        y = np.where(power == 1, x, y)
        d = np.where(x >= 1, high, np.where(x <= 0, low, low + y * (high - low)))
        d = np.where((low == high) | (width <= MINVAL), 0.5 * (low + high), d)
        stiff = np.where(standard, 1 / np.maximum(MINVAL, (high * ref[:, 0] * ref[:, 1]) ** 2), -ref[:, 0] / high**2)
        damp = np.where(standard, 2 / np.maximum(MINVAL, high * ref[:, 0]), -ref[:, 1] / high)
    velocity = (rows.jacobian @ qvel[..., None])[..., 0]
    aref = -damp * velocity - stiff * d * (rows.pos - rows.margin) - rows.drift
    inverse = 1.0 / np.maximum(MINVAL, (1 - d) * rows.weight / d)
    return aref, np.where(rows.active, inverse, 0.0)


def constrained_acceleration(matrix: Array, smooth: Array, rows: Rows, aref: Array, inverse: Array, *,
                             start: Array | None = None, iterations: int = 50) -> Array:  # fmt: skip
    """q̈ of the convex problem above: matrix M (W, nv, nv), smooth q̈₀ (W, nv)."""
    if not rows.pos.shape[1]:
        return smooth
    used = inverse.any(axis=0)
    J, aref, inverse, equality = rows.jacobian[:, used], aref[:, used], inverse[:, used], rows.equality[used]
    x = smooth.copy() if start is None else start.copy()
    for _ in range(iterations):
        residual = (J @ x[..., None])[..., 0] - aref
        weight = np.where(equality | (residual < 0), inverse, 0.0)
        pull = (J.swapaxes(1, 2) @ (weight * residual)[..., None])[..., 0]
        gradient = (matrix @ (x - smooth)[..., None])[..., 0] + pull
        hessian = matrix + J.swapaxes(1, 2) @ (weight[..., None] * J)
        direction = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        along = (J @ direction[..., None])[..., 0]
        length = _line_search(matrix, x - smooth, direction, residual, along, inverse, equality)
        x = x + length[:, None] * direction
        after = residual + length[:, None] * along
        settled = np.where(equality | (after < 0), inverse, 0.0) == weight
        if (settled.all(axis=1) & (np.abs(length - 1) < 1e-10)).all():
            break
    return x


def _line_search(matrix: Array, offset: Array, direction: Array, residual: Array, along: Array, inverse: Array,
                 equality: Array) -> Array:  # fmt: skip
    """Exact minimiser of the cost along a direction: Newton on its piecewise linear derivative."""
    moved = (matrix @ direction[..., None])[..., 0]
    linear, quadratic = np.sum(moved * offset, axis=-1), np.sum(moved * direction, axis=-1)
    length = np.ones(len(offset))
    for _ in range(30):
        value = residual + length[:, None] * along
        weight = np.where(equality | (value < 0), inverse, 0.0)
        slope = linear + length * quadratic + np.sum(weight * value * along, axis=-1)
        curve = quadratic + np.sum(weight * along**2, axis=-1)
        change = slope / np.maximum(curve, MINVAL)
        length = length - change
        if (np.abs(change) < 1e-12).all():
            break
    return length
