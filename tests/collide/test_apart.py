"""Shapes that are told apart are apart; those that are far apart are told so (collide/apart.py)."""

import numpy as np
import pytest
import warp as wp
from scipy.optimize import minimize

from kinema.collide.apart import are_apart


@wp.kernel
def ask(
    a: wp.array2d(dtype=wp.vec3), b: wp.array2d(dtype=wp.vec3), by: wp.array(dtype=float), out: wp.array(dtype=int)
):
    k = wp.tid()
    said = are_apart(a[k, 0], a[k, 1], a[k, 2], a[k, 3], b[k, 0], b[k, 1], b[k, 2], b[k, 3], by[k])
    out[k] = wp.where(said, 1, 0)


def told(a: np.ndarray, b: np.ndarray, by: np.ndarray) -> np.ndarray:
    out = wp.zeros(len(a), dtype=int, device="cpu")
    inputs = [wp.array(a, dtype=wp.vec3, device="cpu"), wp.array(b, dtype=wp.vec3, device="cpu"),
              wp.array(by, dtype=float, device="cpu")]  # fmt: skip
    wp.launch(ask, len(a), inputs=[*inputs, out], device="cpu")
    return out.numpy().astype(bool)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Of the hulls of two sets of points, in doubles."""
    points = lambda s: s[:4] @ a - s[4:] @ b  # noqa: E731
    sums = [{"type": "eq", "fun": lambda s: s[:4].sum() - 1}, {"type": "eq", "fun": lambda s: s[4:].sum() - 1}]
    found = minimize(lambda s: points(s) @ points(s), np.full(8, 0.25), bounds=[(0, 1)] * 8, constraints=sums,
                     method="SLSQP", options={"ftol": 1e-16, "maxiter": 200})  # fmt: skip
    return float(np.sqrt(max(found.fun, 0.0)))


@pytest.mark.parametrize("corners", [3, 4])
def test_what_is_told_apart_is(corners):
    rng = np.random.default_rng(corners)
    a, b = rng.normal(size=(2, 150, 4, 3)).astype(np.float32)
    b += rng.normal(size=(150, 1, 3)).astype(np.float32) * 2
    a[:, corners:], b[:, corners:] = a[:, :1], b[:, :1]  # corners that are not there
    true = np.array([distance(*pair) for pair in zip(a.astype(float), b.astype(float), strict=True)])
    assert (true > 0.3).sum() > 50
    for part in (0.3, 0.9, 0.999, 1.0, 1.001, 1.2):  # of the true distance
        said = told(a, b, (part * true).astype(np.float32))
        if part >= 1.0:
            assert not said.any()
        elif part == 0.3:
            assert said[true > 0.3].mean() > 0.95  # what is well apart is not searched


def test_where_they_are_far_from_the_origin():
    """Rounding of large coordinates does not make anything apart."""
    rng = np.random.default_rng(0)
    a = (0.05 * rng.normal(size=(200, 4, 3)) + 100.0).astype(np.float32)
    b = (a + np.float32(0.01) * rng.normal(size=(200, 1, 3)).astype(np.float32)).astype(np.float32)
    said = told(a, b, np.zeros(200, np.float32))
    near = a.astype(float) - 100.0, b.astype(float) - 100.0
    true = np.array([distance(*pair) for pair in zip(*near, strict=True)])
    assert (true < 1e-6).sum() > 100 and not said[true < 1e-6].any()


def test_where_they_are_wide_and_near():
    """Two triangles a metre wide and less than a centimetre apart: what is rounded is as long as they are wide."""
    rng = np.random.default_rng(2)
    count = 2000
    turn = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    flat = rng.uniform(-1, 1, size=(count, 4, 3)) * (1, 1, 0)
    flat[:, 3] = flat[:, 0]
    gap = 10.0 ** rng.uniform(-5, -2, count)
    a = (flat @ turn).astype(np.float32)
    b = ((flat + gap[:, None, None] * (0, 0, 1)) @ turn).astype(np.float32)
    corner = np.linalg.norm(b.astype(float) - a, axis=2).min(axis=1)  # no farther than their corners
    said = told(a, b, np.nextafter(corner.astype(np.float32), np.float32(1)))
    assert not said.any()
    assert told(a, b, (0.5 * corner).astype(np.float32)).mean() > 0.8
