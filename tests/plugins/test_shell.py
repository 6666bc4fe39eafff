"""The shell's bending forces against the formula, assembled independently, and what must hold of any bending."""

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.errors import CompileError, PluginError

FACES = [(0, 3, 4), (0, 4, 1), (1, 4, 5), (1, 5, 2), (3, 6, 7), (3, 7, 4), (4, 7, 8), (4, 8, 5)]
REST = np.array([[0.1 * i, 0.15 * j, 0.0] for i in range(3) for j in range(3)])
YOUNG, POISSON, THICKNESS = 2e6, 0.3, 0.004


def document(face: str = " ".join(str(v) for f in FACES for v in f)) -> str:
    """Nine particles on slides."""
    slides = "".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    bodies = "".join(f"""<body pos="{x} {y} {z}">{slides}<geom size=".01" mass=".1" contype="0" conaffinity="0"/>
        <plugin instance="sheet"/></body>""" for x, y, z in REST)  # fmt: skip
    return f"""<mujoco><option gravity="0 0 0"><flag constraint="disable"/></option>
      <extension><plugin plugin="mujoco.elasticity.shell"><instance name="sheet"><config key="face" value="{face}"/>
        <config key="young" value="{YOUNG}"/><config key="poisson" value="{POISSON}"/>
        <config key="thickness" value="{THICKNESS}"/></instance></plugin></extension>
      <worldbody>{bodies}</worldbody></mujoco>"""


def hinge_energy(x: np.ndarray) -> float:
    """1/2 sum over inner edges of k |sum c_i x_i|^2, with cotangents from angles."""
    mu = YOUNG / (2 * (1 + POISSON))
    total = 0.0
    edges = {}
    for f in FACES:
        for k in range(3):
            edges.setdefault(frozenset((f[k], f[(k + 1) % 3])), []).append(f[(k + 2) % 3])

    def cot(at, to1, to2):
        u, v = REST[to1] - REST[at], REST[to2] - REST[at]
        angle = np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
        return 1 / np.tan(angle)

    for edge, others in edges.items():
        if len(others) == 2:
            a, b = sorted(edge)
            c, d = others
            area = sum(0.5 * np.linalg.norm(np.cross(REST[b] - REST[a], REST[o] - REST[a])) for o in others)
            vector = (
                (cot(b, a, c) + cot(b, a, d)) * x[a] + (cot(a, b, c) + cot(a, b, d)) * x[b]
                - (cot(a, b, c) + cot(b, a, c)) * x[c] - (cot(a, b, d) + cot(b, a, d)) * x[d]
            )  # fmt: skip
            total += 0.5 * 1.5 * mu * THICKNESS**3 / 12 / area * (vector @ vector)
    return total


def test_forces_are_the_gradient_of_the_hinges_energy():
    engine = Engine(compile_model(document()), 3, device="cpu")
    rng = np.random.default_rng(0)
    moved = 0.05 * rng.normal(size=(9, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rigid = REST @ turn.T + rng.normal(size=3) - REST
    engine.write("qpos", np.stack([moved.ravel(), rigid.ravel(), np.zeros(27)]))
    engine.forward()
    force = engine.read("qfrc_passive").reshape(3, 9, 3)
    expected = np.zeros((9, 3))
    for i in range(9):
        for k in range(3):
            step = np.zeros((9, 3))
            step[i, k] = 1e-4
            expected[i, k] = -(hinge_energy(REST + moved + step) - hinge_energy(REST + moved - step)) / 2e-4
    scale = np.abs(expected).max()
    np.testing.assert_allclose(force[0], expected, atol=1e-4 * scale)
    assert np.abs(force[1:]).max() < 1e-4 * scale  # rigid motions are free
    np.testing.assert_allclose(force[0].sum(axis=0), 0, atol=1e-4 * scale)


def test_refused():
    with pytest.raises(CompileError, match="three for each triangle"):
        compile_model(document("0 1"))
    with pytest.raises(PluginError, match="names body 9"):
        Engine(compile_model(document("0 1 9")), device="cpu")
