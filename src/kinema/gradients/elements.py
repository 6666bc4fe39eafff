"""What pushes dofs beside their own inertia and contacts: springs, dampers, tendons, actuators, equalities, fluid.

An element knows some dofs, their positions and velocities, and perhaps activations and controls; it pushes these dofs
and no others:

    joint       a spring or damper, the limit of a ball       its own dofs
    tendon      spring, damper, limit, friction loss          the dofs in its Jacobian
    actuator                                                  the dofs that its transmission moves
    equality    weld, connect by the discrete integrator      the dofs that move either body
                joint, tendon                                 those of the two
    body        fluid; gravity that actuators bear            the dofs that move it

So how its force changes is a small block of the derivative, and blocks that have no dof in common can be found together
(coloring.py). What an element is follows from the numbers of the model; only which dofs it knows matters here.

`against` says of which models more would have to be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinema.convex.actuation import is_active
from kinema.convex.integrate.euler import has_damping
from kinema.convex.layout import lone_bodies
from kinema.convex.metric_pattern import is_discrete, ties
from kinema.convex.tendon import has_armature
from kinema.convex.transmission import ancestor_dofs, moving_dofs
from kinema.mujoco_enums import Bias, Disable, Equality, Gain, Integrator, Joint, Obj, Tendon, Transmission, Wrap

PASSIVE, ACTUATOR, ROWS = "qfrc_passive", "qfrc_actuator", "qfrc_constraint"
LATE, SPIN = "qacc_warmstart", "qacc_smooth"
"""What elements push by, as the array that holds it in a run of duals (others.py)."""

NOT_LATE, LATE_DIAGONAL, LATE_COUPLED = 0, 1, 2
"""Which slopes by velocity the integrator takes at the end of the step: none, of dofs alone, or of pairs of dofs."""


@dataclass(frozen=True, order=True)
class Element:
    """Something that pushes dofs by what it knows of them.

    Attributes:
        force: Which force it is part of.
        dofs: The dofs it pushes.
        placed: Whether it knows their positions.
        acts, ctrls: Activations and controls it knows; it moves the former.
        outs: Outputs of an actuator, if activations and controls push dofs through them and in no other way.

    All but rows know velocities, too: what these do to rows is known in closed form (anchor_slopes.py).
    """

    force: str
    dofs: tuple[int, ...]
    placed: bool = True
    acts: tuple[int, ...] = ()
    ctrls: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()


ALONE_AS_OTHERS = (Integrator.EULER, Integrator.RK4)
"""Integrators by which free bodies on their own are not solved in full."""


def elements(m: Any) -> tuple[Element, ...]:
    """Those of a model."""
    actuators = _actuators(m)
    found = [*_joints(m), *_tendons(m), *actuators, *_equalities(m), *_bodies(m)]
    if is_discrete(m) or varies(m):
        found += [Element(LATE, e.dofs, e.placed) for e in found if e.force == PASSIVE]
        found += [Element(LATE, e.dofs, e.placed, *_slope_knows(m, k, e)) for k, e in enumerate(actuators)]
    if m.opt.integrator not in ALONE_AS_OTHERS:
        force = SPIN if is_discrete(m) else LATE
        found += [Element(force, tuple(range(first, first + 6))) for first in lone_dofs(m)]
    return tuple(sorted(set(_largest(found))))


def lone_dofs(m: Any) -> list[int]:
    """The first dofs of free bodies on their own."""
    alone = np.asarray(lone_bodies(m))[np.asarray(m.dof_bodyid)] if m.nv else np.zeros(0)
    first = np.asarray(m.jnt_dofadr)[np.asarray(m.jnt_type) == Joint.FREE]
    return [int(i) for i in first if alone[i]]


def dofs_of(m: Any, joint: int) -> tuple[int, ...]:
    """The dofs of a joint."""
    first = int(m.jnt_dofadr[joint])
    return tuple(range(first, first + (6, 3, 1, 1)[int(m.jnt_type[joint])]))


def chain(m: Any, body: int) -> tuple[int, ...]:
    """The dofs that move a body."""
    return tuple(ancestor_dofs(m, body)[::-1])


def tendon_dofs(m: Any, tendon: int) -> tuple[int, ...]:
    """The dofs that change the length of a tendon: of a path, those that two neighbours on it do not share."""
    first, start = int(m.ten_J_rowadr[tendon]), int(m.tendon_adr[tendon])
    known = np.asarray(m.ten_J_colind)[first : first + int(m.ten_J_rownnz[tendon])].tolist()
    if m.tendon_type[tendon] != Tendon.SPATIAL:
        return tuple(known)
    moved: set[int] = set()
    path: list[int] = []  # bodies since the last pulley; a geom may be passed by, so second neighbours count as well
    for k in range(start, start + int(m.tendon_num[tendon])):
        kind, thing = m.wrap_type[k], int(m.wrap_objid[k])
        if kind == Wrap.PULLEY:
            path = []
            continue
        path.append(int(m.site_bodyid[thing] if kind == Wrap.SITE else m.geom_bodyid[thing]))
        for other in path[-3:-1]:
            moved |= set(chain(m, path[-1])) ^ set(chain(m, other))
    return tuple(sorted(moved & set(known)))


def _both(one: tuple[int, ...], two: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({*one, *two}))


def _joints(m: Any) -> list[Element]:
    off, found = int(m.opt.disableflags), []
    sprung = (np.asarray(m.jnt_stiffness) != 0) | np.any(np.asarray(m.jnt_stiffnesspoly) != 0, axis=-1)
    damped = (np.asarray(m.dof_damping) != 0) | np.any(np.asarray(m.dof_dampingpoly) != 0, axis=-1)
    for joint in range(int(m.njnt)):
        dofs = dofs_of(m, joint)
        if sprung[joint] and not off & Disable.SPRING:
            found.append(Element(PASSIVE, dofs))
        if not off & Disable.DAMPER:
            geared = int(m.jnt_actuatorid[joint]) != -1
            found += [Element(PASSIVE, (i,), placed=False) for i in dofs if damped[i] or geared]
        if m.jnt_limited[joint] and m.jnt_type[joint] == Joint.BALL and not off & Disable.LIMIT:
            found.append(Element(ROWS, dofs))
    return found


def _tendons(m: Any) -> list[Element]:
    off, found = int(m.opt.disableflags), []
    for tendon in range(int(m.ntendon)):
        dofs = tendon_dofs(m, tendon)
        if _sprung(m, tendon) or _damped(m, tendon):
            found.append(Element(PASSIVE, dofs))
        limited = m.tendon_limited[tendon] and not off & Disable.LIMIT
        if limited or (m.tendon_frictionloss[tendon] and not off & Disable.FRICTIONLOSS):
            found.append(Element(ROWS, dofs))
    return found


def _sprung(m: Any, tendon: int) -> bool:
    return bool(m.tendon_stiffness[tendon]) or bool(np.any(m.tendon_stiffnesspoly[tendon]))


def _damped(m: Any, tendon: int) -> bool:
    """Has a tendon a damper, of its own or of an actuator?"""
    pulled = (np.asarray(m.actuator_trntype) == Transmission.TENDON) & (np.asarray(m.actuator_trnid)[:, 0] == tendon)
    own = bool(m.tendon_damping[tendon]) or bool(np.any(m.tendon_dampingpoly[tendon]))
    return own or bool(np.any(np.asarray(m.actuator_damping)[pulled]) or np.any(m.actuator_dampingpoly[pulled]))


def _actuators(m: Any) -> list[Element]:
    found: list[Element] = []
    for k in range(int(m.nactuator) if is_active(m) else 0):
        dofs: tuple[int, ...] = ()
        for out in range(int(m.actuator_outnum[k])):
            dofs = _both(dofs, tuple(moving_dofs(m, k, out)))
        if m.actuator_trntype[k] == Transmission.TENDON:
            dofs = tendon_dofs(m, int(m.actuator_trnid[k][0]))
        if m.actuator_trntype[k] in (Transmission.SITE, Transmission.SLIDERCRANK, Transmission.SO3):
            sites = [int(s) for s in m.actuator_trnid[k]]
            if not (m.actuator_trntype[k] == Transmission.SO3 and sites[1] < 0):  # that is of a joint
                for site in sites:
                    dofs = _both(dofs, chain(m, int(m.site_bodyid[site]))) if site >= 0 else dofs
        acts, ctrls = (
            tuple(range(int(start[k]), int(start[k]) + int(count[k]))) if int(start[k]) >= 0 else ()
            for start, count in ((m.actuator_actadr, m.actuator_actnum), (m.actuator_ctrladr, m.actuator_ctrlnum))
        )  # fmt: skip
        outs = tuple(range(int(m.actuator_outadr[k]), int(m.actuator_outadr[k]) + int(m.actuator_outnum[k])))
        held = np.any(np.asarray(m.jnt_actfrclimited)[np.asarray(m.dof_jntid)[list(dofs)]])
        if m.actuator_trntype[k] == Transmission.TENDON:
            held = held or m.tendon_actfrclimited[int(m.actuator_trnid[k][0])]
        found.append(Element(ACTUATOR, dofs, acts=acts, ctrls=ctrls, outs=() if held else outs))
    return found


def _equalities(m: Any) -> list[Element]:
    found: list[Element] = []
    for e in range(0 if int(m.opt.disableflags) & Disable.EQUALITY else int(m.neq)):
        one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        if m.eq_type[e] == Equality.CONNECT and not is_discrete(m):
            continue  # in closed form (connect_slopes.cpp)
        if m.eq_type[e] in (Equality.JOINT, Equality.TENDON):
            of = dofs_of if m.eq_type[e] == Equality.JOINT else tendon_dofs
            dofs = _both(of(m, one), of(m, two) if two >= 0 else ())
        else:
            if m.eq_objtype[e] != Obj.BODY:
                one, two = int(m.site_bodyid[one]), int(m.site_bodyid[two])
            dofs = _both(chain(m, one), chain(m, two))
        found.append(Element(ROWS, dofs))
    return found


def _bodies(m: Any) -> list[Element]:
    found: list[Element] = []
    for body in range(1, int(m.nbody)):
        dofs = chain(m, body)
        if m.opt.density or m.opt.viscosity:
            found.append(Element(PASSIVE, dofs))
        if m.body_gravcomp[body] and np.any(m.jnt_actgravcomp):
            found += [Element(PASSIVE, dofs), Element(ACTUATOR, dofs)]
    return found


def _largest(found: list[Element]) -> list[Element]:
    """Without those that another one covers."""
    plain = [e for e in set(found) if not e.acts and not e.ctrls]
    kept = [e for e in found if e.acts or (e.dofs and e.ctrls)]  # activations change, whether or not they push
    for one in plain:
        covered = any(
            one is not other and one.force == other.force and one.placed <= other.placed
            and set(one.dofs) <= set(other.dofs) for other in plain
        )  # fmt: skip
        if one.dofs and not covered:
            kept.append(one)
    return kept


def lateness(m: Any, found: Sequence[Element]) -> int:
    """Which slopes by velocity the integrator takes at the end of the step, beside the constraint solve."""
    if is_discrete(m) or m.opt.integrator == Integrator.RK4:
        return NOT_LATE
    if m.opt.integrator == Integrator.EULER:
        return LATE_DIAGONAL if has_damping(m) else NOT_LATE
    forces = [e for e in found if e.force in (PASSIVE, ACTUATOR)]
    if lone_dofs(m) or any(len(e.dofs) > 1 for e in forces):
        return LATE_COUPLED
    return LATE_DIAGONAL if forces else NOT_LATE


def varies(m: Any) -> bool:
    """Do these slopes change with the state?"""
    dampers = np.any(m.dof_dampingpoly) or np.any(m.actuator_dampingpoly)
    if m.opt.integrator == Integrator.RK4:
        return False
    if m.opt.integrator == Integrator.EULER:
        return bool(dampers) and has_damping(m)
    if dampers or np.any(m.tendon_dampingpoly) or m.opt.density or m.opt.viscosity:
        return True
    springs = is_discrete(m)  # whose slopes it takes as well
    if springs and (np.any(m.jnt_stiffnesspoly) or np.any(m.tendon_stiffnesspoly)):
        return True
    spatial = np.asarray(m.tendon_type) == Tendon.SPATIAL
    if any(spatial[t] and (_damped(m, t) or (springs and _sprung(m, t))) for t in range(int(m.ntendon))):
        return True
    return is_active(m) and any(_slope_varies(m, k, spatial, springs) for k in range(int(m.nactuator)))


def _slope_knows(m: Any, k: int, e: Element) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Activations and controls that may change the slopes of an actuator's force."""
    if m.actuator_gaintype[k] == Gain.FIXED and m.actuator_biastype[k] in (Bias.NONE, Bias.AFFINE):
        return (), ()
    if e.acts and m.actuator_gaintype[k] == Gain.MUSCLE and not m.actuator_actearly[k]:
        return e.acts, ()  # what the control does comes later
    return e.acts, e.ctrls


def _slope_varies(m: Any, k: int, spatial: np.ndarray, springs: bool) -> bool:
    """Does the slope of an actuator's force by velocity, or by length too, change with the state?"""
    taken = slice(1, 3) if springs else slice(2, 3)
    if m.actuator_gaintype[k] == Gain.AFFINE and not np.any(m.actuator_gainprm[k][taken]):
        gain = True
    else:
        gain = m.actuator_gaintype[k] == Gain.FIXED
    if not gain or m.actuator_biastype[k] not in (Bias.NONE, Bias.AFFINE):
        return True
    if m.actuator_biastype[k] == Bias.NONE or not np.any(m.actuator_biasprm[k][taken]):
        return False
    kind, target = m.actuator_trntype[k], int(m.actuator_trnid[k][0])
    if kind in (Transmission.JOINT, Transmission.JOINTINPARENT):
        return m.jnt_type[target] not in (Joint.HINGE, Joint.SLIDE)
    return kind != Transmission.TENDON or bool(spatial[target])


def bears_gravity(m: Any) -> bool:
    """Are weights compensated by forces that no joint's actuators bear? They act on bodies, as applied ones do."""
    off, both = int(m.opt.disableflags), Disable.SPRING | Disable.DAMPER
    return bool(np.any(m.body_gravcomp)) and not np.any(m.jnt_actgravcomp) and not off & Disable.GRAVITY and (
        off & both != both
    )  # fmt: skip


def against(m: Any) -> str:
    """Why forces of a model cannot be told apart by dofs; empty: they can."""
    if np.any(np.asarray(m.actuator_trntype) == Transmission.BODY):
        return "an actuator acts on contacts"
    if has_armature(m):
        return "tendons have armature"
    if m.nplugin:
        return "it has plugins"
    if getattr(m, "nplastic", 0):
        return "springs yield"
    if is_discrete(m) and any(set(range(i, i + 6)) & set(tie.tolist()) for i in lone_dofs(m) for tie in ties(m)):
        return "a free body on its own is tied by a tendon or an actuator"
    anchors = Equality.CONNECT, Equality.WELD, Equality.JOINT, Equality.TENDON
    if not np.all(np.isin(np.asarray(m.eq_type), anchors)):
        return "an equality is of a flex"
    return ""
