"""Forces of elastic rods: of bends on their vertices, on the hinges of segments, and on the bodies that clamp ends.

A bend finds its slope, stiffness and damping (rod.py; of chains below), and from them what pulls its vertices, which is
gathered point by point with the forces of other elastic parts (elasticity.py). What turns segments it leaves for them:

    row 0    dE/dθ of the segment before and behind it, how much stiffer bending makes them to turn
    row 1    the torque that resists the rate of twist; kt, if its segments turn
"""

from __future__ import annotations

from typing import Any

import warp as wp

from kinema.convex.data import Data
from kinema.convex.flex import rods
from kinema.convex.flex.edges import span_between
from kinema.convex.flex.rod import curvature, is_bendable, pair_energy, shape_of, shape_slope, single_energy, widened
from kinema.convex.flex.rod_chain import (
    FRAME,
    PAST,
    chain_frames,
    is_sound,
    keep_frames,
    material_axis,
    note_frames,
    resists_twist,
    segment_pull,
    spin_of,
    tangent,
    turn_of,
)
from kinema.convex.jacobian import point_motion
from kinema.convex.model import Model
from kinema.convex.stage import Stage
from kinema.math.spatial import angular
from kinema.mujoco_enums import MINVAL, Disable

STIFFNESS, DAMPING, TWIST = wp.constant(0), wp.constant(1), wp.constant(2)


@wp.func
def bend_list(m: Model, b: int) -> int:
    """Where a bend is in the list of rods."""
    return m.size.nflexrod + m.size.nflexsegment + b


@wp.func
def bend_span(m: Model, d: Data, w: int, b: int, k: int) -> wp.vec3:
    """The k-th segment of a bend; 0 where there is none."""
    bend = m.flex.rod[bend_list(m, b)]
    one = bend[k]
    two = bend[k + 1]
    if two < 0:
        return wp.vec3()
    return span_between(m, d, w, one, two)


@wp.func
def segment_bend(kappa: wp.vec3, m1: wp.vec3, m2: wp.vec3, k1: float, k2: float, rest: wp.vec2) -> wp.vec4:
    """Of one segment: dE/d(κ.m1), dE/d(κ.m2), dE/dθ, and its slope where that is positive."""
    w1 = wp.dot(kappa, m1)
    w2 = wp.dot(kappa, m2)
    p1 = k1 * (w1 - rest[0])
    p2 = k2 * (w2 - rest[1])
    stiff = wp.max(0.0, k1 * w2 * w2 - p1 * w1 + k2 * w1 * w1 - p2 * w2)
    return wp.vec4(p1, p2, p1 * w2 - p2 * w1, stiff)


@wp.func
def point_velocity(m: Model, d: Data, w: int, v: int) -> wp.vec3:
    """How fast a vertex moves."""
    body = m.flex.point[v][1]
    return point_motion(d.vel.cvel[w, body], d.flex.vert_xpos[w, v] - d.inertia.subtree_com[w, m.body.rootid[body]])


@wp.func
def rod_force(m: Model, d: Data, w: int, b: int):
    """Forces of one bend on its vertices, of its spring and of its damper; and what it leaves for its segments."""
    bend = m.flex.rod[bend_list(m, b)]
    at = bend[5]
    base = m.size.nflexbendpart + 4 * b
    pair = bend[3] >= 0
    e0 = bend_span(m, d, w, b, 0)
    e1 = bend_span(m, d, w, b, 1)
    e2 = bend_span(m, d, w, b, 2)
    for i in range(4):
        d.flex.part_force[w, base + i] = wp.spatial_vector()
    for k in range(3):
        d.flex.bend[w, b, k] = wp.mat44()
    sound = is_bendable(e0, e1)
    if pair:
        sound = sound and is_bendable(e1, e2)
    if sound:
        shape = shape_of(e0, e1, e2, pair)
        kappa = curvature(e0, e1)
        slope = wp.vec4()
        stiffness = wp.mat44()
        damping = wp.mat44()
        pull0 = wp.vec3()
        pull1 = wp.vec3()
        twist = wp.mat44()
        drag = float(0.0)
        l0 = wp.length(e0)
        l1 = wp.length(e1)
        s = bend[6]
        chained = bool(False)
        if s >= 0:
            chained = is_sound(m, d, w, s, e0, e1)
        if pair:
            slope, stiffness, damping = pair_energy(
                shape, m.flex.elastic[w, at + 4], m.flex.elastic[w, at + 5], m.flex.elastic[w, at + 6],
                m.flex.elastic[w, at + 7], wp.vec2(m.flex.elastic[w, at + 8], m.flex.elastic[w, at + 9]),
            )  # fmt: skip
        elif chained:
            k1 = m.flex.elastic[w, at + 4]
            k2 = k1 + m.flex.elastic[w, at + 5]
            kt = m.flex.elastic[w, at + 8]
            rest = wp.vec2(m.flex.elastic[w, bend[7]], m.flex.elastic[w, bend[7] + 1])
            g = wp.vec3()
            stiff = wp.mat33()
            damp = wp.mat33()
            parts = wp.mat22()
            turn0 = turn_of(m, d, w, s)
            turn1 = turn_of(m, d, w, s + 1)
            for side in range(2):
                m1 = material_axis(d, w, s + side, wp.where(side == 0, turn0, turn1))
                m2 = wp.cross(tangent(d, w, s + side), m1)
                part = segment_bend(kappa, m1, m2, k1, k2, rest)
                g += part[0] * m1 + part[1] * m2
                stiff += k1 * wp.outer(m1, m1) + k2 * wp.outer(m2, m2)
                damp += wp.sqrt(k1 * k2) * wp.outer(m1, m1) + k2 * wp.outer(m2, m2)
                parts[side, 0] = part[2]
                parts[side, 1] = part[3]
            size = wp.length(kappa)
            if size >= MINVAL:
                n = kappa / size
                damp = wp.dot(n, damp * n) * wp.outer(n, n)
            torque = 2.0 * kt * (turn1 - turn0 + d.flex.segment[w, s + 1, FRAME][6])
            slope0 = parts[0, 0] - torque
            slope1 = parts[1, 0] + torque
            pull0 = segment_pull(d, w, s, l0, slope0, kappa, torque)
            pull1 = segment_pull(d, w, s + 1, l1, slope1, kappa, torque)
            slope = wp.vec4(g[0], g[1], g[2], 0.0)
            stiffness = widened(stiff)
            damping = widened(damp)
            bent = wp.where(m.flex.rod[m.flex.rod[m.size.nflexrod + s][4]][7] != 0, 1.0, 0.0)
            twist[0] = wp.vec4(slope0, slope1, bent * parts[0, 1], bent * parts[1, 1])
            twist[1, 1] = kt
            if resists_twist(m, w, s, kt):
                spin = spin_of(m, d, w, s + 1) - spin_of(m, d, w, s)
                x0 = point_velocity(m, d, w, bend[0])
                x1 = point_velocity(m, d, w, bend[1])
                x2 = point_velocity(m, d, w, bend[2])
                spin += wp.dot(kappa, x1 - x0) / (2.0 * l0) + wp.dot(kappa, x2 - x1) / (2.0 * l1)
                drag = m.flex.number[w, bend[4]][1] * 2.0 * kt * spin
                twist[1, 0] = drag
        else:
            slope, stiffness, damping = single_energy(kappa, m.flex.elastic[w, at + 4], m.flex.elastic[w, at + 6])
        rate = wp.vec4()
        for i in range(4):
            if bend[i] >= 0:
                rate += shape_slope(e0, e1, e2, pair, i) * point_velocity(m, d, w, bend[i])
        resist = m.flex.number[w, bend[4]][1] * (damping * rate)
        drag0 = (drag / (2.0 * l0)) * kappa
        drag1 = (drag / (2.0 * l1)) * kappa
        for i in range(4):
            if bend[i] >= 0:
                back = wp.transpose(shape_slope(e0, e1, e2, pair, i))
                spring = -(back * slope)
                damper = -(back * resist)
                if i == 0:
                    spring += pull0
                    damper += drag0
                elif i == 1:
                    spring += pull1 - pull0
                    damper += drag1 - drag0
                elif i == 2:
                    spring -= pull1
                    damper -= drag1
                d.flex.part_force[w, base + i] = wp.spatial_vector(spring, damper)
        d.flex.bend[w, b, STIFFNESS] = stiffness
        d.flex.bend[w, b, DAMPING] = damping
        d.flex.bend[w, b, TWIST] = twist


@wp.func
def segment_torque(m: Model, d: Data, w: int, e: int) -> wp.vec2:
    """dE/dθ of a segment, and the torque that damps it."""
    segment = m.flex.rod[m.size.nflexrod + e]
    slope = float(0.0)
    drag = float(0.0)
    if segment[5] >= 0:
        twist = d.flex.bend[w, segment[5], TWIST]
        slope += twist[0, 1]
        drag -= twist[1, 0]
    if segment[6] >= 0:
        twist = d.flex.bend[w, segment[6], TWIST]
        slope += twist[0, 0]
        drag += twist[1, 0]
    return wp.vec2(slope, drag)


@wp.func
def turn_force(m: Model, d: Data, w: int, e: int):
    """qfrc_spring and qfrc_damper of the hinge of a segment."""
    i = m.flex.rod[m.size.nflexrod + e][2]
    if i >= 0:
        torque = segment_torque(m, d, w, e)
        if (m.opt.disableflags & Disable.SPRING) == 0:
            d.frc.qfrc_spring[w, i] = d.frc.qfrc_spring[w, i] - torque[0]
        if (m.opt.disableflags & Disable.DAMPER) == 0:
            d.frc.qfrc_damper[w, i] = d.frc.qfrc_damper[w, i] + torque[1]


@wp.func
def clamp_force(m: Model, d: Data, w: int, i: int):
    """qfrc_spring and qfrc_damper of dof i += what rods turn the bodies by that clamp them."""
    spring = float(0.0)
    damper = float(0.0)
    for r in range(m.size.nflexrod):
        rod = m.flex.rod[r]
        for side in range(2):
            body = rod[4 + side]
            if body >= m.dof.bodyid[i] and body < m.dof.bodyend[i]:
                e = wp.where(side == 0, rod[1], rod[1] + rod[2] - 1)
                torque = segment_torque(m, d, w, e)
                past = d.flex.segment[w, e, PAST]
                before = wp.vec3(past[0], past[1], past[2])
                t = tangent(d, w, e)
                size = 1.0 + wp.dot(before, t)
                axis = angular(d.inertia.cdof[w, i])
                if size >= MINVAL:
                    spring -= torque[0] / size * wp.dot(axis, before + t)
                damper += torque[1] * wp.dot(axis, t)
    if (m.opt.disableflags & Disable.SPRING) == 0:
        d.frc.qfrc_spring[w, i] = d.frc.qfrc_spring[w, i] + spring
    if (m.opt.disableflags & Disable.DAMPER) == 0:
        d.frc.qfrc_damper[w, i] = d.frc.qfrc_damper[w, i] + damper


# ---------------------------------------------------------------------------------------------- recipe


def frame_stages(m: Any) -> list[Stage]:
    """Frames of chains: part of where flexes are."""
    lists: dict[str, Any] = {"own": ("flexsegment",)}
    if not (rods.has_rods(m) and rods.chains(m)):
        return []
    return [Stage(chain_frames, over="nflexrod", **lists), Stage(note_frames, over="nflexsegment", once=True)]


def torque_stages(m: Any) -> list[Stage]:
    """What follows the forces on points."""
    found = rods.chains(m) if rods.has_rods(m) else []
    clamped = any(body > 0 for chain in found for body in chain.clamps)
    turns = [Stage(turn_force, over="nflexsegment", own=("qfrc_spring", "qfrc_damper"))] if found else []
    return turns + ([Stage(clamp_force, over="nv")] if clamped else [])


def keep_stages(m: Any) -> list[Stage]:
    """The state of chains, once a step is over."""
    return [Stage(keep_frames, over="nflexsegment", own=("plastic",))] if rods.has_rods(m) and rods.chains(m) else []
