"""Which dofs the metric of the discrete integrator couples (metric.py).

A row of the metric holds what a row of M does, a dof and its ancestors, and the earlier dofs that a tendon's spring or
damper, an actuator's feedback, or an elastic flex ties it to. Such ties may run between trees. Solvers take trees for
the blocks of M, each a range of dofs, so trees that a tie couples count as one, with those between them; the others are
left empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kinema.convex.flex.elastic import coupled_dofs
from kinema.convex.transmission import moment_colind, moment_rowadr, moment_rownnz
from kinema.mujoco_enums import Bias, Disable, Gain, Integrator, Solver, Transmission

SPRUNG_BIAS = (Bias.AFFINE, Bias.SO3, Bias.DCMOTOR, Bias.MUSCLE)
SPRUNG_GAIN = (Gain.AFFINE, Gain.SO3, Gain.MUSCLE, Gain.DCMOTOR)
"""Biases and gains that may depend on length or velocity."""

METRIC = ("dof_metric_rownnz", "dof_metric_rowadr", "dof_metric_colind", "dof_metric_full")
"""The lists that hold the sparsity of the metric."""


def is_discrete(m: Any) -> bool:
    """Does the model ask for the discrete integrator?"""
    return int(m.opt.integrator) == Integrator.DISCRETE


def has_ties(m: Any) -> bool:
    """Do tendons and actuators enter the metric? Solvers that work on forces need a factor that cannot hold them."""
    return is_discrete(m) and int(m.opt.solver) != Solver.PGS


def sprung_tendons(m: Any) -> np.ndarray:
    """The tendons that have a spring or a damper which is not disabled."""
    off = int(m.opt.disableflags)
    sprung = np.zeros(m.ntendon, dtype=bool)
    if not off & Disable.SPRING:
        sprung |= (np.asarray(m.tendon_stiffness) != 0) | np.any(m.tendon_stiffnesspoly, axis=-1)
    if not off & Disable.DAMPER:
        sprung |= (np.asarray(m.tendon_damping) != 0) | np.any(m.tendon_dampingpoly, axis=-1)
        damped = (np.asarray(m.actuator_damping) != 0) | np.any(m.actuator_dampingpoly, axis=-1)
        damped &= np.asarray(m.actuator_trntype) == Transmission.TENDON
        sprung[np.asarray(m.actuator_trnid)[damped, 0]] = True
    return np.flatnonzero(sprung)


def sprung_actuators(m: Any) -> np.ndarray:
    """The actuators whose force may depend on length or velocity."""
    if int(m.opt.disableflags) & Disable.ACTUATION:
        return np.zeros(0, dtype=int)
    bias, gain = np.asarray(m.actuator_biastype), np.asarray(m.actuator_gaintype)
    return np.flatnonzero(np.isin(bias, SPRUNG_BIAS) | np.isin(gain, SPRUNG_GAIN))


def ties(m: Any) -> Iterator[np.ndarray]:
    """Dofs that a tendon or an actuator ties together."""
    if not has_ties(m):
        return
    yield from coupled_dofs(m)
    for tendon in sprung_tendons(m):
        first = int(m.ten_J_rowadr[tendon])
        yield np.asarray(m.ten_J_colind)[first : first + int(m.ten_J_rownnz[tendon])]
    chosen = sprung_actuators(m)
    if not len(chosen):
        return
    first, count, dofs = moment_rowadr(m), moment_rownnz(m), moment_colind(m)
    for actuator in chosen:
        out = int(m.actuator_outadr[actuator])
        for row in range(out, out + int(m.actuator_outnum[actuator])):
            yield dofs[first[row] : first[row] + count[row]]


def is_coupled(m: Any) -> bool:
    """Does the metric couple dofs that M does not, or more than the factor of M can hold?"""
    return any(len(dofs) > 1 for dofs in ties(m))


def pattern(m: Any, mass: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """The sparsity of the metric, and trees where some count as one; by the bundles' names.

    Args:
        mass: The sparsity of M, where it is not the model's own.
    """
    lists = mass or {name: np.asarray(getattr(m, name)) for name in ("M_rownnz", "M_rowadr", "M_colind")}
    number, first, columns = (lists[name] for name in ("M_rownnz", "M_rowadr", "M_colind"))
    rows: list[set[int]] = [set() for _ in range(m.nv)]
    if is_discrete(m):
        rows = [set(columns[first[i] : first[i] + number[i]].tolist()) for i in range(m.nv)]
    spans: set[tuple[int, int]] = set()
    tree = np.asarray(m.dof_treeid)
    for dofs in {tuple(sorted(int(dof) for dof in each)) for each in ties(m) if len(each) > 1}:
        for k, dof in enumerate(dofs):
            rows[dof].update(dofs[:k])
        spans.add((int(tree[dofs[0]]), int(tree[dofs[-1]])))
    count = np.array([len(row) for row in rows], dtype=np.int32)
    found = {
        "dof_metric_rownnz": count,
        "dof_metric_rowadr": np.cumsum(count) - count,
        "dof_metric_colind": np.array([dof for row in rows for dof in sorted(row)], dtype=np.int32),
    }
    found["dof_metric_full"] = full_rows(rows) if is_discrete(m) else np.zeros((0, 2), np.int32)
    return found | (merged_trees(m, spans) if any(a != b for a, b in spans) else {})


def full_rows(rows: list[set[int]]) -> np.ndarray:
    """The rows of the whole symmetric matrix: where each begins, the end, then columns, and where each entry is."""
    whole: list[list[tuple[int, int]]] = [[] for _ in rows]
    at = 0
    for i, row in enumerate(rows):
        for j in sorted(row):
            whole[i].append((j, at))
            if j != i:
                whole[j].append((i, at))
            at += 1
    start = len(rows) + 1 + np.concatenate([[0], np.cumsum([len(each) for each in whole])])
    entries = np.array([entry for each in whole for entry in each]).reshape(-1, 2)
    return np.concatenate([np.column_stack([start, start]), entries]).astype(np.int32)


def tree_sizes(m: Any) -> np.ndarray:
    """Dofs of each tree, as solvers take them."""
    if not is_discrete(m):
        return np.asarray(m.tree_dofnum)
    return pattern(m).get("tree_dofnum", np.asarray(m.tree_dofnum))


def metric_list(name: str, m: Any) -> np.ndarray:
    """One of the lists of a model as it was compiled."""
    return pattern(m)[name]


def merged_trees(m: Any, spans: set[tuple[int, int]]) -> dict[str, np.ndarray]:
    """The lists that speak of trees, where the trees of each span count as its first one."""
    owner = np.arange(m.ntree)
    for a, b in sorted(spans):  # by their first tree: spans that overlap run together
        owner[a : b + 1] = owner[a]
    start, number = np.asarray(m.tree_dofadr).copy(), np.asarray(m.tree_dofnum).copy()
    for t in range(m.ntree):
        if owner[t] != t:
            number[owner[t]] += number[t]
            start[t], number[t] = start[t] + number[t], 0
    body, dof = np.asarray(m.body_treeid), owner[np.asarray(m.dof_treeid)]
    touched = []
    for tendon in range(m.ntendon):
        first = int(m.ten_J_rowadr[tendon])
        touched.append(np.unique(dof[np.asarray(m.ten_J_colind)[first : first + int(m.ten_J_rownnz[tendon])]]))
    return {
        "body_treeid": np.where(body >= 0, owner[body], -1),
        "dof_treeid": dof,
        "tree_dofadr": start,
        "tree_dofnum": number,
        "tendon_treenum": np.array([len(trees) for trees in touched], dtype=np.int32),
        "tendon_treeid": np.array([[*trees[:2], -1, -1][:2] for trees in touched], dtype=np.int32).reshape(-1, 2),
    }
