"""The shell's bending against its formula, assembled independently, and against the theory of beams and plates."""

import numpy as np
import pytest

from kinema.compile import compile_model
from kinema.convex.engine import Engine
from kinema.errors import CompileError, PluginError
from kinema.plugins.builtin.shell import hinge_matrix, plate_matrix
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


# ---------------------------------------------------------------------------------------------- beams


def grid(nx: int, ny: int, size: float, *, crossed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A flat strip of nx by ny cells, each with one diagonal or two."""
    vert = [(i * size, j * size, 0.0) for i in range(nx + 1) for j in range(ny + 1)]
    face = []
    for i in range(nx):
        for j in range(ny):
            corner = [i * (ny + 1) + j, (i + 1) * (ny + 1) + j, (i + 1) * (ny + 1) + j + 1, i * (ny + 1) + j + 1]
            if crossed:
                vert.append(((i + 0.5) * size, (j + 0.5) * size, 0.0))
                face += [(corner[k], corner[(k + 1) % 4], len(vert) - 1) for k in range(4)]
            else:
                face += [(corner[0], corner[1], corner[2]), (corner[0], corner[2], corner[3])]
    return np.array(vert), np.array(face)


def deflection(matrix: np.ndarray, vert: np.ndarray, size: float, tied: bool) -> float:
    """Of the end of a strip whose first cells are held, under a unit load, in units of Euler-Bernoulli's F L^3 / 3 E I.

    E t^3 / 12 = 1. The beam begins in the middle of the held cells. Tied: what has the same x moves together.
    """
    x = np.round(vert[:, 0] / size, 3)
    columns = np.unique(x) if tied else np.arange(len(x))
    move = (x[:, None] == columns).astype(float) if tied else np.eye(len(x))
    free = (columns > 1) if tied else (x > 1)
    load = (x == x.max()) / np.sum(x == x.max())
    z = np.zeros(len(columns))
    z[free] = np.linalg.solve((move.T @ matrix @ move)[np.ix_(free, free)], (move.T @ load)[free])
    length, width = (x.max() - 0.5) * size, np.ptp(vert[:, 1])
    return float(load @ move @ z / (length**3 / (3 * width)))


def test_hinges_on_a_crossed_grid_are_a_plate_in_cylindrical_bending():
    """MuJoCo's constant is right there, but for the free sides, where a row of hinges is missing; not elsewhere."""
    vert, face = grid(24, 16, 0.1, crossed=True)
    assert abs(deflection(hinge_matrix(vert, face, 0.5), vert, 0.1, tied=True) - 1) < 0.02
    vert, face = grid(24, 16, 0.1)
    assert abs(deflection(hinge_matrix(vert, face, 0.5), vert, 0.1, tied=True) - 4 / 3) < 0.02


@pytest.mark.parametrize("poisson", [0.0, 0.3])
@pytest.mark.parametrize(("cells", "uneven"), [((20, 1), 0.0), ((40, 1), 0.0), ((40, 2), 0.0), ((40, 2), 0.1)])
def test_a_strip_of_the_plate_is_a_beam(cells, uneven, poisson):
    """A narrow strip with free sides: its rigidity is E I, whatever Poisson's ratio."""
    vert, face = grid(*cells, 0.1)
    inner = (vert[:, 0] > 0.11) & (vert[:, 0] < vert[:, 0].max() - 0.01) & (vert[:, 1] > 0) & (vert[:, 1] < 0.15)
    vert[inner, :2] += uneven * 0.1 * np.random.default_rng(0).uniform(-1, 1, (inner.sum(), 2))
    matrix = plate_matrix(vert, face, 1 / (1 - poisson**2), poisson)
    assert abs(deflection(matrix, vert, 0.1, tied=False) - 1) < 0.02
    assert np.sum(np.linalg.eigvalsh(matrix) < 1e-9 * np.abs(matrix).max()) == 3  # only what stays plane is free


def test_a_triangle_with_three_hinges_has_the_energy_of_a_plate():
    """Bends, saddles and twists of a triangle with three neighbours, in any plane. The neighbours have one hinge each,
    and the least energy any curvature with that fold has."""
    rng = np.random.default_rng(1)
    flat = np.array([[0, 0], [1, 0.1], [0.4, 0.9], [0.6, -0.8], [1.3, 1.0], [-0.7, 0.7]], dtype=float)
    face = np.array([[0, 1, 2], [0, 3, 1], [1, 4, 2], [2, 5, 0]])
    poisson, rigidity = 0.3, 2.0
    stiffness = rigidity * np.array([[1, poisson, 0], [poisson, 1, 0], [0, 0, 2 * (1 - poisson)]])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    matrix = plate_matrix(np.pad(flat, ((0, 0), (0, 1))) @ turn.T, face, rigidity, poisson)
    area = [0.5 * abs(np.linalg.det(flat[f][1:] - flat[f][0])) for f in face]
    for xx, yy, xy in ((1, 0, 0), (0, 1, 0), (1, 1, 0), (1, -1, 0), (0, 0, 1), (0.3, -0.2, 0.7)):
        bent = np.array([xx, yy, xy])
        z = 0.5 * xx * flat[:, 0] ** 2 + 0.5 * yy * flat[:, 1] ** 2 + xy * flat[:, 0] * flat[:, 1]
        expected = 0.5 * area[0] * bent @ stiffness @ bent
        for k, (a, b, c, d) in enumerate([(0, 1, 2, 3), (1, 2, 0, 4), (2, 0, 1, 5)], start=1):
            ghost = np.zeros((6, 3))  # theta of unit curvatures, as the jump of the slope across the edge
            for j, surface in enumerate((0.5 * flat[:, 0] ** 2, 0.5 * flat[:, 1] ** 2, flat[:, 0] * flat[:, 1])):
                slopes = [np.linalg.solve(flat[[b, o]] - flat[a], surface[[b, o]] - surface[a]) for o in (c, d)]
                jump = slopes[1] - slopes[0]
                ghost[k, j] = np.linalg.norm(jump) * np.sign(jump @ (flat[d] - flat[c]))
            fold = ghost[k] @ bent
            expected += 0.5 * area[k] * fold**2 / (ghost[k] @ np.linalg.solve(stiffness, ghost[k]))
        assert 0.5 * z @ matrix @ z == pytest.approx(expected, rel=1e-9)


SIZE, CELLS, FORCE, STIFF = 0.05, 12, 1e-2, 2e9


def cantilever(poisson: float) -> str:
    """A strip of particles that move up and down, the first two rows fixed."""
    vert, face = grid(CELLS, 1, SIZE)
    joint = '<joint type="slide" axis="0 0 1" damping=".2"/>'
    bodies = "".join(
        f"""<body name="v{n}" pos="{x} {y} 0">{joint if x > 1.5 * SIZE else ""}
        <geom size=".01" mass=".01" contype="0" conaffinity="0"/><plugin instance="strip"/></body>"""
        for n, (x, y, _) in enumerate(vert)
    )
    numbers = " ".join(str(v) for v in face.ravel())
    return f"""<mujoco><option gravity="0 0 0" timestep=".0005"><flag constraint="disable"/></option>
      <extension><plugin plugin="mujoco.elasticity.shell"><instance name="strip"><config key="face" value="{numbers}"/>
        <config key="young" value="{STIFF}"/><config key="poisson" value="{poisson}"/>
        <config key="thickness" value="{THICKNESS}"/><config key="rule" value="plate"/></instance></plugin></extension>
      <worldbody>{bodies}</worldbody></mujoco>"""


@pytest.mark.parametrize("poisson", [0.0, 0.3])
def test_a_simulated_cantilever_bends_as_a_beam(poisson):
    """The tip under a small load, once it has come to rest: within 2 % of Euler-Bernoulli."""
    engine = Engine(compile_model(cantilever(poisson)), 2, device="cpu")
    load = np.zeros((2, engine.source.nbody, 6))
    load[1, -2:, 2] = FORCE / 2
    engine.write("xfrc_applied", load)
    engine.step(4000)
    tip = engine.read("qpos")[:, -2:].mean(axis=1)
    length, inertia = (CELLS - 0.5) * SIZE, SIZE * THICKNESS**3 / 12
    assert abs(tip[1] / (FORCE * length**3 / (3 * STIFF * inertia)) - 1) < 0.02
    assert np.abs(engine.read("qvel")).max() < 1e-4 and tip[0] == 0.0
