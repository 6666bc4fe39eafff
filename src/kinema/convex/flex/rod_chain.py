"""Rods whose segments turn: frames along the chain, twist, and what both pull at (Bergou et al. 2008, 2010).

Every segment has a reference frame (t, u, t x u). It is carried along in time: from where the last step began, by the
shortest turn of t, which adds no twist. The segment's hinge turns the material frame by θ from it,

    m1 = cos θ u + sin θ t x u,   m2 = -sin θ u + cos θ t x u

At a bend between segments 0 and 1, with curvature κ (rod.py) and its rest values ω1, ω2 along m1 and m2, the energy is

    E = 1/2 sum over both segments of k1 (κ . m1 - ω1)^2 + k2 (κ . m2 - ω2)^2   +   kt (θ_1 - θ_0 + ψ)^2

where ψ is the angle from frame 0, carried to segment 1 by the shortest turn, to frame 1; it goes on beyond half a turn,
for the state keeps the last one. With the slope a = dE/dθ of a segment and τ = 2 kt (θ_1 - θ_0 + ψ), segment e pulls
its first vertex by, and its second one against,

    τ κ / 2 |e|  -  a (t' x t) / |e| (1 + t' . t)          t': where t was when the frame was carried last

A segment that is clamped has its frame from the body that holds it, and turns it back: -a (t' + t) / (1 + t' . t).
Damping resists the rate of |κ|, along the weaker axis with sqrt(k1 k2), and the rate of twist.

Without a state a frame is that of the segment before it, carried over; of the first, that of the rest pose.
"""

from __future__ import annotations

import warp as wp

from kinema.convex.bundle import vec7
from kinema.convex.data import Data
from kinema.convex.flex.edges import span_between
from kinema.convex.flex.rod import is_bendable, normals
from kinema.convex.model import Model
from kinema.math.spatial import angular
from kinema.mujoco_enums import MINVAL

FRAME, PAST, NEXT = wp.constant(0), wp.constant(1), wp.constant(2)
"""What is kept of a segment: t, u and the twist from the frame before it; what t was carried from, and what is known of
that; frame and twist where the step began."""
LOST, FRESH, KEPT = wp.constant(0.0), wp.constant(1.0), wp.constant(2.0)
"""What is known of a segment's frame: its chain is degenerate; it has no past; it has one."""


@wp.func
def can_carry(t: wp.vec3, to: wp.vec3) -> bool:
    """Is there a shortest turn between two directions? Not between opposite ones."""
    return 1.0 + wp.dot(t, to) >= MINVAL


@wp.func
def carry(u: wp.vec3, t: wp.vec3, to: wp.vec3) -> wp.vec3:
    """A normal of t as one of another direction, by the shortest turn."""
    return wp.normalize(u - (wp.dot(to, u) / (1.0 + wp.dot(t, to))) * (t + to))


@wp.func
def rod_number(m: Model, w: int, at: int) -> wp.vec3:
    """Three of the numbers of elastic flexes."""
    return wp.vec3(m.flex.elastic[w, at], m.flex.elastic[w, at + 1], m.flex.elastic[w, at + 2])


@wp.func
def kept_vector(d: Data, w: int, at: int) -> wp.vec3:
    """Three numbers of the state."""
    return wp.vec3(d.state.plastic[w, at], d.state.plastic[w, at + 1], d.state.plastic[w, at + 2])


@wp.func
def chain_frames(m: Model, d: Data, w: int, r: int):
    """The frames of a chain's segments, what they were carried from, and the twists ψ between them."""
    rod = m.flex.rod[r]
    first = rod[1]
    count = rod[2]
    sound = bool(True)
    t0 = wp.vec3()
    u0 = wp.vec3()
    kept0 = float(FRESH)
    for k in range(count):
        e = first + k
        segment = m.flex.rod[m.size.nflexrod + e]
        span = span_between(m, d, w, segment[0], segment[1])
        length = wp.length(span)
        t = span / wp.max(MINVAL, length)
        u = wp.vec3()
        before = t
        kept = float(FRESH)
        sound = sound and length >= MINVAL
        clamp = int(-1)
        frame = rod[6]
        if k == 0:
            clamp = rod[4]
        elif k == count - 1:
            clamp = rod[5]
            frame += 12
        if clamp >= 0:
            before = d.pose.xmat[w, clamp] * rod_number(m, w, frame)
            u = d.pose.xmat[w, clamp] * rod_number(m, w, frame + 3)
            kept = float(KEPT)
            sound = sound and can_carry(before, t)
            u = carry(u, before, t)
        else:
            if rod[3] >= 0:
                old = kept_vector(d, w, rod[3] + 6 * k)
                u = kept_vector(d, w, rod[3] + 6 * k + 3)
                if wp.dot(old, old) > 0.25 and wp.dot(u, u) > 0.25 and can_carry(old, t):
                    before = old
                    kept = float(KEPT)
                    u = carry(u, old, t)
            if kept == FRESH:
                old = t0
                u = u0
                if k == 0:
                    old = rod_number(m, w, rod[6] + 6)
                    u = rod_number(m, w, rod[6] + 9)
                if can_carry(old, t):
                    u = carry(u, old, t)
                else:
                    axes = normals(t)
                    u = wp.vec3(axes[0], axes[1], axes[2])
        twist = float(0.0)
        if k > 0:
            sound = sound and can_carry(t0, t)
            across = carry(u0, t0, t)
            twist = wp.atan2(wp.dot(u, wp.cross(t, across)), wp.dot(u, across))
            if rod[3] >= 0 and kept0 == KEPT and kept == KEPT:
                jump = twist - d.state.plastic[w, rod[3] + 6 * count + k - 1]
                twist -= 2.0 * wp.pi * wp.round(jump / (2.0 * wp.pi))
        d.flex.segment[w, e, FRAME] = vec7(t[0], t[1], t[2], u[0], u[1], u[2], twist)
        d.flex.segment[w, e, PAST] = vec7(before[0], before[1], before[2], kept, 0.0, 0.0, 0.0)
        t0 = t
        u0 = u
        kept0 = kept
    if not sound:
        for e in range(first, first + count):
            past = d.flex.segment[w, e, PAST]
            past[3] = LOST
            d.flex.segment[w, e, PAST] = past


@wp.func
def note_frames(m: Model, d: Data, w: int, e: int):
    """The frame and twist of a segment where a step begins; 0: not known."""
    found = vec7()
    if d.flex.segment[w, e, PAST][3] != LOST:
        found = d.flex.segment[w, e, FRAME]
    d.flex.segment[w, e, NEXT] = found


@wp.func
def keep_frames(m: Model, d: Data, w: int, e: int):
    """The state of a segment: what was noted, though a Runge-Kutta step has looked at other places since."""
    segment = m.flex.rod[m.size.nflexrod + e]
    rod = m.flex.rod[segment[4]]
    k = segment[7]
    found = d.flex.segment[w, e, NEXT]
    if rod[3] >= 0 and wp.length(found) > 0.5:
        for c in range(6):
            d.state.plastic[w, rod[3] + 6 * k + c] = found[c]
        if k > 0:
            d.state.plastic[w, rod[3] + 6 * rod[2] + k - 1] = found[6]


@wp.func
def turn_of(m: Model, d: Data, w: int, e: int) -> float:
    """θ of a segment."""
    at = m.flex.rod[m.size.nflexrod + e][3]
    if at < 0:
        return 0.0
    return d.state.qpos[w, at] - m.jnt.qpos0[w, at]


@wp.func
def material_axis(d: Data, w: int, e: int, turn: float) -> wp.vec3:
    """m1 of a segment; m2 is t x m1."""
    frame = d.flex.segment[w, e, FRAME]
    t = wp.vec3(frame[0], frame[1], frame[2])
    u = wp.vec3(frame[3], frame[4], frame[5])
    return wp.cos(turn) * u + wp.sin(turn) * wp.cross(t, u)


@wp.func
def tangent(d: Data, w: int, e: int) -> wp.vec3:
    """t."""
    frame = d.flex.segment[w, e, FRAME]
    return wp.vec3(frame[0], frame[1], frame[2])


@wp.func
def segment_pull(d: Data, w: int, e: int, length: float, slope: float, kappa: wp.vec3, torque: float) -> wp.vec3:
    """What a bend makes a segment pull its first vertex by."""
    past = d.flex.segment[w, e, PAST]
    before = wp.vec3(past[0], past[1], past[2])
    t = tangent(d, w, e)
    size = length * (1.0 + wp.dot(before, t))
    pull = (torque / (2.0 * length)) * kappa
    if size >= MINVAL:
        pull -= (slope / size) * wp.cross(before, t)
    return pull


@wp.func
def spin_of(m: Model, d: Data, w: int, e: int) -> float:
    """How fast a segment turns about itself: its hinge, or the body that clamps it."""
    segment = m.flex.rod[m.size.nflexrod + e]
    rate = float(0.0)
    if segment[2] >= 0:
        rate = d.state.qvel[w, segment[2]]
    else:
        rod = m.flex.rod[segment[4]]
        body = wp.where(segment[7] == 0, rod[4], wp.where(segment[7] == rod[2] - 1, rod[5], -1))
        if body > 0:
            rate = wp.dot(angular(d.vel.cvel[w, body]), tangent(d, w, e))
    return rate


@wp.func
def resists_twist(m: Model, w: int, e: int, kt: float) -> bool:
    """Does the bend behind a segment resist that its two segments turn apart? Two clamped ones cannot."""
    one = m.flex.rod[m.size.nflexrod + e][2]
    two = m.flex.rod[m.size.nflexrod + e + 1][2]
    return kt > 0.0 and (one >= 0 or two >= 0)


@wp.func
def is_sound(m: Model, d: Data, w: int, e: int, e0: wp.vec3, e1: wp.vec3) -> bool:
    """Does the bend behind a segment know frames?"""
    return d.flex.segment[w, e, PAST][3] != LOST and is_bendable(e0, e1)
