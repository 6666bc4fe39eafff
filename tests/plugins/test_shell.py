"""The shell's bending forces against the formula, assembled independently, and what must hold of any bending."""

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.errors import CompileError, PluginError
from tests.plugins.scenes import FACES, FLAT, POISSON, THICKNESS, YOUNG, sheet


def hinge_energy(x: np.ndarray) -> float:
    """1/2 sum over inner edges of k |sum c_i x_i|^2, with cotangents from angles."""
    mu = YOUNG / (2 * (1 + POISSON))
    total = 0.0
    edges = {}
    for f in FACES:
        for k in range(3):
            edges.setdefault(frozenset((f[k], f[(k + 1) % 3])), []).append(f[(k + 2) % 3])

    def cot(at, to1, to2):
        u, v = FLAT[to1] - FLAT[at], FLAT[to2] - FLAT[at]
        angle = np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
        return 1 / np.tan(angle)

    for edge, others in edges.items():
        if len(others) == 2:
            a, b = sorted(edge)
            c, d = others
            area = sum(0.5 * np.linalg.norm(np.cross(FLAT[b] - FLAT[a], FLAT[o] - FLAT[a])) for o in others)
            vector = (
                (cot(b, a, c) + cot(b, a, d)) * x[a] + (cot(a, b, c) + cot(a, b, d)) * x[b]
                - (cot(a, b, c) + cot(b, a, c)) * x[c] - (cot(a, b, d) + cot(b, a, d)) * x[d]
            )  # fmt: skip
            total += 0.5 * 1.5 * mu * THICKNESS**3 / 12 / area * (vector @ vector)
    return total


def test_forces_are_the_gradient_of_the_hinges_energy():
    engine = Engine(compile_model(sheet()), 3, device="cpu")
    rng = np.random.default_rng(0)
    moved = 0.05 * rng.normal(size=(9, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rigid = FLAT @ turn.T + rng.normal(size=3) - FLAT
    engine.write("qpos", np.stack([moved.ravel(), rigid.ravel(), np.zeros(27)]))
    engine.forward()
    force = engine.read("qfrc_passive").reshape(3, 9, 3)
    expected = np.zeros((9, 3))
    for i in range(9):
        for k in range(3):
            step = np.zeros((9, 3))
            step[i, k] = 1e-4
            expected[i, k] = -(hinge_energy(FLAT + moved + step) - hinge_energy(FLAT + moved - step)) / 2e-4
    scale = np.abs(expected).max()
    np.testing.assert_allclose(force[0], expected, atol=1e-4 * scale)
    assert np.abs(force[1:]).max() < 1e-4 * scale  # rigid motions are free
    np.testing.assert_allclose(force[0].sum(axis=0), 0, atol=1e-4 * scale)


def test_refused():
    with pytest.raises(CompileError, match="three for each triangle"):
        compile_model(sheet("0 1"))
    with pytest.raises(PluginError, match="names body 9"):
        Engine(compile_model(sheet("0 1 9")), device="cpu")
