"""Slopes of forces that depend on their own joint alone, all at once: one direction for all joints.

Springs, dampers and actuators of a joint know its own position, velocity, activations and controls, and nothing else.
So the derivatives of all of them fit into few directions: in the first the first dof of every joint moves, in the next
every velocity changes, and so on. What depends on whom is known beforehand, so it can be told apart afterwards (the
coloring of a sparse Jacobian). One run of duals, whatever the number of dofs; polynomial springs and muscles are in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinema.gradients import columns
from kinema.gradients.tangents import Direction
from kinema.mujoco_enums import Bias, Disable, Gain, Integrator, Joint, Transmission

MOST = 16
"""Directions there may be."""


@dataclass
class Coloring:
    """What to run, and what to make of it.

    Attributes:
        directions, colors: Inputs that move, and in which direction each does.
        results: Forces of dofs, of springs and dampers first, then of actuators; then the next activations.
        forces: Rows (dof, column, result, direction, whether the step takes it at its end).
        states: Rows (activation, column, result, direction).
    """

    directions: list[Direction] = field(default_factory=list)
    colors: list[int] = field(default_factory=list)
    results: list[Direction] = field(default_factory=list)
    forces: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    states: list[tuple[int, int, int, int]] = field(default_factory=list)


def own_joint(m: Any, actuator: int) -> int:
    """The joint that an actuator acts on; -1: it is no single one, or has more than one dof."""
    joint = int(m.actuator_trnid[actuator][0])
    if m.actuator_trntype[actuator] not in (Transmission.JOINT, Transmission.JOINTINPARENT):
        return -1
    return joint if m.jnt_type[joint] in (Joint.HINGE, Joint.SLIDE) else -1


def late_forces(m: Any) -> tuple[bool, bool]:
    """Whether the slopes by velocity of passive forces, and of actuators, are taken at the end of the step."""
    if m.opt.integrator == Integrator.IMPLICITFAST:
        return True, True
    return not int(m.opt.disableflags) & Disable.EULERDAMP, False


def coloring(m: Any) -> Coloring:
    """That of a model whose actuators all act on single joints."""
    found, nv, na = Coloring(), int(m.nv), int(m.na)
    passive_late, actuator_late = late_forces(m)
    owner = [own_joint(m, k) for k in range(int(m.nactuator))]
    position = columns.positions(m)
    sprung = (np.asarray(m.jnt_stiffness) != 0) | np.any(np.asarray(m.jnt_stiffnesspoly) != 0, axis=-1)
    joint = np.asarray(m.dof_jntid).tolist()
    place = [i - int(m.jnt_dofadr[joint[i]]) for i in range(nv)]
    moving = [i for i in range(nv) if sprung[joint[i]] or joint[i] in owner]
    velocity = 1 + max((place[i] for i in moving), default=-1)
    used = velocity + 1
    found.directions += [position[i] for i in moving] + [Direction("qvel", i) for i in range(nv)]
    found.colors += [place[i] for i in moving] + [velocity] * nv
    # activations and controls: numbered within the joint
    inputs: dict[int, list[tuple[int, int]]] = {j: [] for j in range(int(m.njnt))}
    kinds = (("act", m.actuator_actadr, m.actuator_actnum, 2 * nv),
             ("ctrl", m.actuator_ctrladr, m.actuator_ctrlnum, 2 * nv + na))  # fmt: skip
    for name, start, count, column in kinds:
        numbers = dict.fromkeys(inputs, used)
        for k, j in enumerate(owner):
            for a in range(int(start[k]), int(start[k]) + int(count[k]) if int(start[k]) >= 0 else int(start[k])):
                found.directions.append(Direction(name, a))
                found.colors.append(numbers[j])
                inputs[j].append((column + a, numbers[j]))
                numbers[j] += 1
        used = max(numbers.values(), default=used)
    found.results = [Direction("qfrc_passive", i) for i in range(nv)]
    found.results += [Direction("qfrc_actuator", i) for i in range(nv)] if owner else []
    first_state = len(found.results)
    found.results += [Direction("act", a) for a in range(na)]
    for i in range(nv):
        j = joint[i]
        found.forces.append((i, nv + i, i, velocity, int(passive_late)))
        if sprung[j]:
            found.forces += [(i, k, i, place[k], 0) for k in range(nv) if joint[k] == j]
        if j in owner:
            found.forces += [(i, i, nv + i, place[i], 0), (i, nv + i, nv + i, velocity, int(actuator_late))]
            found.forces += [(i, column, nv + i, color, 0) for column, color in inputs[j]]
    for k, j in enumerate(owner):
        for a in range(int(m.actuator_actadr[k]), int(m.actuator_actadr[k]) + int(m.actuator_actnum[k])):
            i = int(m.jnt_dofadr[j])
            own = [(i, place[i]), (nv + i, velocity), *inputs[j]]
            found.states += [(a, column, first_state + a, color) for column, color in own]
    return found


def against(m: Any) -> str:
    """Why forces of a model cannot be told apart by joint; empty: they can."""
    kinds = {own_joint(m, k) for k in range(int(m.nactuator))}
    if m.ntendon:
        return "it has tendons"
    if -1 in kinds:
        return "an actuator acts on more than a joint of one dof"
    if m.opt.density or m.opt.viscosity:
        return "there is a fluid"
    if np.any(m.body_gravcomp):
        return "gravity is compensated"
    if m.nplugin:
        return "it has plugins"
    if np.any(m.dof_dampingpoly) or np.any(m.actuator_dampingpoly):
        return "dampers are polynomials"
    if getattr(m, "nplastic", 0):
        return "springs yield"
    if m.opt.integrator == Integrator.IMPLICITFAST:
        linear = np.isin(np.asarray(m.actuator_biastype), (Bias.NONE, Bias.AFFINE))
        if not np.all(np.asarray(m.actuator_gaintype) == Gain.FIXED) or not np.all(linear):
            return "slopes of actuators, which the integrator takes in, are not constant"
    return "" if max(coloring(m).colors, default=0) < MOST else "too many actuators act on one joint"
