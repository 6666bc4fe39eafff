"""Derivatives of all elements at once: inputs that no element sees together move together.

An element (elements.py) pushes few dofs and knows few inputs, so the derivatives of all of them fit into few
directions: in the first one dof of every joint moves, in the next every velocity changes, and so on. Who depends on
whom is known beforehand, so it can be told apart afterwards: the coloring of a sparse Jacobian. Two inputs may have a
color in common where no force depends on both; a force that is asked for by one control depends on all that push it,
also on those that reach others by their outputs. One run of duals, or a few, whatever the number of dofs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kinema.convex.metric_pattern import is_discrete, pattern
from kinema.convex.transmission import moment_colind, moment_rowadr, moment_rownnz
from kinema.gradients import columns
from kinema.gradients.direction import Direction
from kinema.gradients.elements import LATE, ROWS, SPIN, Element, varies

OUTPUT = "actuator_force"
"""Forces of actuators, which push dofs by their moments: a control then is seen by its own output alone."""

LOAD = 16
"""Directions that are carried at once, at most."""

METRIC = "metric_value"
"""What the discrete integrator has in place of the mass matrix."""


@dataclass
class Coloring:
    """What to run, and what to make of it.

    Attributes:
        directions, colors: Inputs that move, and in which direction each does.
        results: Forces of dofs, then the next activations.
        forces: Rows (dof, column, result, direction, entry): entry of the moment of actuators by which the result
            pushes the dof; -1: it is the force on the dof itself.
        late: The same of what slopes that the integrator takes in make of the acceleration; by the discrete one, of
            what turning does to free bodies on their own.
        states: Rows (activation, column, result, direction).
        weights: The same of the diagonal of the metric, less inertia, where it changes with the state.
    """

    directions: list[Direction] = field(default_factory=list)
    colors: list[int] = field(default_factory=list)
    results: list[Direction] = field(default_factory=list)
    forces: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    late: list[tuple[int, int, int, int]] = field(default_factory=list)
    states: list[tuple[int, int, int, int]] = field(default_factory=list)
    weights: list[tuple[int, int, int, int]] = field(default_factory=list)


def coloring(m: Any, elements: Sequence[Element]) -> Coloring:
    """That of the elements of a model."""
    found, nv, na = Coloring(), int(m.nv), int(m.na)
    needs: dict[tuple[str, int], set[int]] = defaultdict(set)  # the columns that a result is asked for
    pushed: dict[tuple[str, int], set[int]] = defaultdict(set)  # activations and controls that it depends on
    for each in elements:
        known = set(each.dofs) if each.placed else set()
        known |= {nv + i for i in each.dofs} if each.force != ROWS else set()
        given = {2 * nv + a for a in each.acts} | {2 * nv + na + u for u in each.ctrls}
        for i in each.dofs:
            needs[each.force, i] |= known if each.outs else known | given
            pushed[each.force, i] |= given
        for out in each.outs if given else ():
            needs[OUTPUT, out] |= given
        for a in each.acts:
            needs["act", a] |= known | given
    discrete = is_discrete(m)
    diagonal = _diagonal(m) if discrete and varies(m) else {}
    needs |= {(METRIC, entry): set(needs[LATE, i]) for entry, i in diagonal.items() if (LATE, i) in needs}
    for a in range(na):  # of actuators that are switched off as well
        needs["act", a].add(2 * nv + a)
    together = [known | pushed[key] if known & pushed[key] else known for key, known in needs.items()]
    color = _colors(together, [range(2 * nv + na, 2 * nv + na + int(m.nu)), range(2 * nv, 2 * nv + na),
                            range(nv, 2 * nv), range(nv)])  # fmt: skip
    inputs = [*columns.states(m), *columns.controls(m)]
    found.directions, found.colors = [inputs[column] for column in color], list(color.values())
    first, count, dofs = moment_rowadr(m), moment_rownnz(m), moment_colind(m)
    for number, ((force, i), known) in enumerate(needs.items()):
        found.results.append(Direction(force, i))
        rows = [(i, column, number, color[column]) for column in sorted(known)]
        if force == "act":
            found.states += rows
        elif force == SPIN or (force == LATE and not discrete):
            found.late += rows
        elif force == METRIC:
            found.weights += [(diagonal[i], *row[1:]) for row in rows]
        elif force == OUTPUT:
            entries = range(int(first[i]), int(first[i]) + int(count[i]))
            found.forces += [(int(dofs[e]), *row[1:], e) for row in rows for e in entries]
        else:
            found.forces += [(*row, -1) for row in rows]
    for rows in (found.forces, found.late, found.states, found.weights):
        rows.sort(key=lambda row: (row[1], row[0]))  # what is added to one column, or one place, stands together
    return found


def _diagonal(m: Any) -> dict[int, int]:
    """Where the diagonal of the metric is: entries, and their dofs."""
    lists = pattern(m)
    last = lists["dof_metric_rowadr"] + lists["dof_metric_rownnz"] - 1
    return {int(entry): i for i, entry in enumerate(last)}


def _colors(groups: Sequence[set[int]], kinds: Sequence[range]) -> dict[int, int]:
    """The color of each column: the first that no column has which is in a group with it.

    Kinds of columns come one after the other, each with colors of its own: stages that a kind does not change need not
    be run for its colors. Where there are more colors than are carried at once, the last kind, positions, which most
    stages depend on, begins with a new load.
    """
    together: dict[int, set[int]] = defaultdict(set)
    for group in groups:
        for column in group:
            together[column] |= group
    found: dict[int, int] = {}
    for kind in kinds:
        first = max(found.values(), default=-1) + 1
        for column in kind:
            if column in together:
                taken = {found[other] for other in together[column] if other in found}
                found[column] = next(c for c in range(first, first + len(found) + 1) if c not in taken)
    count = max(found.values(), default=-1) + 1
    begin = min((found[column] for column in kinds[-1] if column in found), default=0)
    more = -begin % LOAD if count > LOAD else 0
    return {column: c + more if column in kinds[-1] else c for column, c in found.items()}
