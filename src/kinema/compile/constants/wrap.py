"""The shortest path of a tendon around a sphere or cylinder, as MuJoCo 4.0 finds it, over many paths at once.

In the plane of the wrap (cylinder: x, y; sphere: through both ends and the centre) the ends are a and b, the radius r.

    outside   tangent points  t_a = (r² a + σ r √(|a|² - r²) (a_y, -a_x)) / |a|²,  t_b likewise with -σ
              without a side site: the shorter of σ = ±1, nothing if the straight segment clears the circle
              with one (point s):  w = ∠(a→s) + ∠(s→b) is the winding the path must have; the straight segment is
              kept if it clears and winds the same way, else σ = -sign(w), arc = r |w - ∠(a→t_a) - ∠(t_b→b)|
    inside    (s within r)     one point on the circle where the path reflects, by Newton on φ of
              asin(A sin φ) + asin(B sin φ) - 2φ + G = 0,  A = r/|a|, B = r/|b|, G the angle between a and b
    cylinder  heights are linear in the unrolled length, the arc becomes a helix
"""

from __future__ import annotations

import numpy as np

from kinema.compile.constants import quaternion as quat
from kinema.mujoco_enums import MINVAL

Array = np.ndarray


def wrap(x0: Array, x1: Array, pos: Array, mat: Array, radius: Array, sphere: Array, side: Array, sided: Array):
    """Wrap N paths from x0 to x1 (…, 3) around objects at pos, mat.

    Args:
        radius, sphere, sided: radius of the object, whether it is a sphere, whether `side` counts, each (…).
        side: Side sites (…, 3); anything where not sided.

    Returns:
        Arc length (…), -1 where the path is straight, and the two contact points (…, 3).
    """
    inverse = mat.swapaxes(-1, -2)
    p0, p1 = _apply(inverse, x0 - pos), _apply(inverse, x1 - pos)
    axis0, axis1 = _plane(p0, p1, sphere)
    a, b = _project(p0, axis0, axis1), _project(p1, axis0, axis1)
    local_side = _apply(inverse, side - pos)
    s = _project(local_side, axis0, axis1)
    s_norm = _norm(s)
    flat = s_norm < MINVAL
    s = np.where(flat[..., None], np.array([1.0, 0.0]), s / np.where(flat, 1.0, s_norm)[..., None]) * radius[..., None]

    inside = sided & (_norm(local_side) < radius)
    with np.errstate(divide="ignore", invalid="ignore"):
        length, t0, t1 = _circle(a, b, s, sided, radius)
        if inside.any():
            touch, point = _inside(a, b, radius)
            length = np.where(inside, np.where(touch, 0.0, -1.0), length)
            t0 = np.where(inside[..., None], point, t0)
            t1 = np.where(inside[..., None], point, t1)
        length = np.where((_norm(p0) < MINVAL) | (_norm(p1) < MINVAL), -1.0, length)
        wraps = length >= 0
        r0 = axis0 * t0[..., :1] + axis1 * t0[..., 1:]
        r1 = axis0 * t1[..., :1] + axis1 * t1[..., 1:]
        # the helix on a cylinder
        before, after = _norm((p0 - r0)[..., :2]), _norm((p1 - r1)[..., :2])
        total = before + length + after
        z0 = p0[..., 2] + (p1[..., 2] - p0[..., 2]) * before / total
        z1 = p0[..., 2] + (p1[..., 2] - p0[..., 2]) * (before + length) / total
    helix = wraps & ~sphere
    r0[..., 2], r1[..., 2] = np.where(helix, z0, r0[..., 2]), np.where(helix, z1, r1[..., 2])
    length = np.where(helix, np.sqrt(length**2 + (r1[..., 2] - r0[..., 2]) ** 2), length)
    keep = wraps[..., None]
    return length, np.where(keep, pos + _apply(mat, r0), x0), np.where(keep, pos + _apply(mat, r1), x1)


def _apply(mat: Array, vector: Array) -> Array:
    return (mat @ vector[..., None])[..., 0]


def _project(p: Array, axis0: Array, axis1: Array) -> Array:
    return np.stack((np.sum(p * axis0, axis=-1), np.sum(p * axis1, axis=-1)), axis=-1)


def _norm(v: Array) -> Array:
    return np.sqrt(np.sum(v * v, axis=-1))


def _unit(v: Array) -> tuple[Array, Array]:
    norm = _norm(v)
    small = norm < MINVAL
    unit = v / np.where(small, 1.0, norm)[..., None]
    return np.where(small[..., None], np.array([1.0, 0.0, 0.0]), unit), norm


def _plane(p0: Array, p1: Array, sphere: Array) -> tuple[Array, Array]:
    """Two unit axes of the plane the path wraps in."""
    first, _ = _unit(p0)
    normal, size = _unit(quat.cross(p0, p1))
    parallel = size < MINVAL
    if parallel.any():
        magnitude = np.abs(first)
        largest = np.zeros(magnitude.shape[:-1], dtype=int)
        largest[(magnitude[..., 1] > magnitude[..., 0]) & (magnitude[..., 1] > magnitude[..., 2])] = 1
        largest[(magnitude[..., 2] > magnitude[..., 0]) & (magnitude[..., 2] > magnitude[..., 1])] = 2
        other = np.ones_like(first)
        np.put_along_axis(other, largest[..., None], 0.0, axis=-1)
        normal = np.where(parallel[..., None], _unit(quat.cross(first, other))[0], normal)
    second, _ = _unit(quat.cross(normal, first))
    on_sphere = sphere[..., None]
    return np.where(on_sphere, first, np.array([1.0, 0.0, 0.0])), np.where(on_sphere, second, np.array([0.0, 1.0, 0.0]))


def _cross2(p: Array, q: Array) -> Array:
    return p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]


def _winding(p: Array, q: Array) -> Array:
    """Signed angle from p to q around the origin, in (-π, π]."""
    return np.arctan2(_cross2(p, q), np.sum(p * q, axis=-1))


def _segments_cross(p1: Array, p2: Array, p3: Array, p4: Array) -> Array:
    u, v = p2 - p1, p4 - p3
    det = _cross2(u, v)
    w = p1 - p3
    alpha = _cross2(v, w) / det
    beta = _cross2(u, w) / det
    return (np.abs(det) >= MINVAL) & (alpha >= 0) & (alpha <= 1) & (beta >= 0) & (beta <= 1)


def _tangents(a: Array, b: Array, radius: Array, sigma: float) -> tuple[Array, Array]:
    def tangent(p: Array, sign: float) -> Array:
        square = np.sum(p * p, axis=-1)
        reach = sign * radius * np.sqrt(np.maximum(square - radius**2, 0.0))
        turned = np.stack((p[..., 1], -p[..., 0]), axis=-1)
        return ((radius**2)[..., None] * p + reach[..., None] * turned) / square[..., None]

    return tangent(a, sigma), tangent(b, -sigma)


def _circle(a: Array, b: Array, s: Array, sided: Array, radius: Array) -> tuple[Array, Array, Array]:
    """Arc length (-1: straight) and tangent points in the plane."""
    square = radius**2
    none = (np.sum(a * a, axis=-1) < square) | (np.sum(b * b, axis=-1) < square) | (radius < MINVAL)
    along = b - a
    span = np.sum(along * along, axis=-1)
    none |= span < MINVAL
    nearest = a + np.clip(-np.sum(along * a, axis=-1) / span, 0.0, 1.0)[..., None] * along
    clear = np.sum(nearest * nearest, axis=-1) > square
    w = _winding(a, s) + _winding(s, b)
    none |= clear & (~sided | (np.abs(w - _winding(a, b)) < np.pi))

    plus, minus = _tangents(a, b, radius, 1.0), _tangents(a, b, radius, -1.0)
    crosses, score = [], []
    for t_a, t_b in (plus, minus):
        crossing = _segments_cross(a, t_a, b, t_b)
        gap = t_a - t_b
        crosses.append(crossing)
        score.append(np.where(crossing, -1e4, -np.sum(gap * gap, axis=-1)))
    second = np.where(sided, w > 0, score[0] <= score[1])
    none |= np.where(second, crosses[1], crosses[0])
    t_a = np.where(second[..., None], minus[0], plus[0])
    t_b = np.where(second[..., None], minus[1], plus[1])

    wound = radius * np.abs(w - _winding(a, t_a) - _winding(t_b, b))
    cross = -_cross2(t_a, t_b)
    angle = np.arctan2(np.abs(cross), np.sum(t_a * t_b, axis=-1))
    flip = np.where(second, cross > 0, cross < 0)
    angle = np.where(flip, 2 * np.pi - angle, angle)
    length = np.where(sided, wound, radius * angle)
    return np.where(none, -1.0, length), t_a, t_b


def _inside(a: Array, b: Array, radius: Array, iterations: int = 20, tolerance: float = 1e-6) -> tuple[Array, Array]:
    """Whether the path is drawn inside, and the point of the circle it touches."""
    len_a, len_b = _norm(a), _norm(b)
    along = b - a
    span = np.sum(along * along, axis=-1)
    touch = (len_a > radius) & (len_b > radius) & (radius >= MINVAL) & (len_a >= MINVAL) & (len_b >= MINVAL)
    t = -np.sum(along * a, axis=-1) / np.where(span > MINVAL, span, 1.0)
    nearest = a + t[..., None] * along
    touch &= ~((span > MINVAL) & (t > 0) & (t < 1) & (_norm(nearest) <= radius))

    middle = 0.5 * (a + b)
    norm = _norm(middle)
    flat = norm < MINVAL
    unit = np.where(flat[..., None], np.array([1.0, 0.0]), middle / np.where(flat, 1.0, norm)[..., None])
    default = radius[..., None] * unit

    A, B = radius / len_a, radius / len_b
    cosine = (len_a**2 + len_b**2 - span) / (2 * len_a * len_b)
    touch &= ~(cosine < -1 + MINVAL)
    good = touch & ~(cosine > 1 - MINVAL)
    G = np.arccos(np.clip(cosine, -1.0, 1.0))
    phi = np.full(G.shape, 0.5 * np.pi)
    clip = lambda x: np.arcsin(np.clip(x, -1.0, 1.0))  # noqa: E731
    f = clip(A) + clip(B) - np.pi + G
    good &= ~(f > 0)
    for _ in range(iterations):
        todo = good & (np.abs(f) > tolerance)
        if not todo.any():
            break
        z2 = np.sin(phi) ** 2
        slope = np.cos(phi) * (
            A / np.maximum(MINVAL, np.sqrt(np.maximum(1 - z2 * A * A, 0.0)))
            + B / np.maximum(MINVAL, np.sqrt(np.maximum(1 - z2 * B * B, 0.0)))
        ) - 2.0
        new = phi - f / slope
        good &= ~(todo & ((slope > -MINVAL) | (new > phi)))
        phi = np.where(todo & good, new, phi)
        f = np.where(todo & good, clip(A * np.sin(phi)) + clip(B * np.sin(phi)) - 2 * phi + G, f)
        good &= ~(todo & (f > tolerance))
    good &= np.abs(f) <= tolerance
    left = _cross2(a, b) > 0
    start = np.where(left[..., None], a / len_a[..., None], b / len_b[..., None])
    angle = phi - np.where(left, clip(A * np.sin(phi)), clip(B * np.sin(phi)))
    cos, sin = np.cos(angle), np.sin(angle)
    turned = np.stack((cos * start[..., 0] - sin * start[..., 1], sin * start[..., 0] + cos * start[..., 1]), axis=-1)
    return touch, np.where(good[..., None], radius[..., None] * turned, default)
