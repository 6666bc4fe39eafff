"""mujoco.elasticity.shell: bending of a triangulated sheet whose vertices are bodies.

Each inner edge (v0, v1) with the vertices v2, v3 opposite to it is a hinge. With a = cotangents of the angles at the
edge in the rest shape, the weights c = (a03 + a04, a01 + a02, -(a01 + a03), -(a02 + a04)) give the change of the normal
there, times the length of the edge, as theta = sum c_i x_i. Bending energy is quadratic in theta, by one of two rules:

hinge   MuJoCo's: each hinge by itself. Simple, but its rigidity depends on the triangulation: in cylindrical bending
        with Poisson's ratio 0 it is 3/4 of a plate's on a grid with one diagonal a cell, all of it on one with two.

            f_i = -sum k_ij x_j,      k_ij = 3/2 c_i c_j / (A1 + A2)  mu t^3 / 12,      mu = E / (2 (1 + nu))

plate   Kirchhoff's plate on triangles of constant curvature. The three hinges of a triangle determine its curvature
        h = (h_xx, h_yy, h_xy), since theta_e = L_e . h for a quadratic surface; where an edge is free, the curvature of
        least energy that fits the other hinges. With C the plate's stiffness, D = E t^3 / (12 (1 - nu^2)),

            energy = 1/2 sum over triangles of A theta' (L C^-1 L')^-1 theta,    C = D [1 nu 0; nu 1 0; 0 0 2 (1 - nu)]

The matrix is constant, so a sheet that bends without stretching has forces linear in its positions; none act on a flat
one, wherever it lies. Stretching is not resisted: that is what flex or tendons are for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import warp as wp

from kinema.compile.pose import compose
from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.errors import PluginError
from kinema.plugins import field, plugin

RULES = ("hinge", "plate")


@wp.kernel(enable_backward=False)
def bend(
    m: Model,
    d: Data,
    bodies: wp.array(dtype=int),
    start: wp.array(dtype=int),
    other: wp.array(dtype=int),
    stiffness: wp.array(dtype=float),
):
    """Forces of one world's sheet; bodies add to one array, so a world is one thread."""
    w = wp.tid()
    for i in range(bodies.shape[0]):
        b = bodies[i]
        force = wp.vec3(0.0)
        for k in range(start[i], start[i + 1]):
            force -= stiffness[k] * (d.pose.xpos[w, bodies[other[k]]] - d.pose.xpos[w, b])
        com = d.inertia.subtree_com[w, m.body.rootid[b]]
        project_wrench(
            d.frc.qfrc_passive, d.inertia.cdof, m.dof.parentid, w,
            last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b),
            wrench_about(wp.vec3(0.0), force, d.pose.xpos[w, b], com),
        )  # fmt: skip


@dataclass(frozen=True)
class Hinge:
    """An inner edge: its two vertices and those opposite, their weights, the triangles on both sides, their area."""

    corner: list[int]
    weight: np.ndarray
    sides: list[int]
    area: float


def cotangent(a: np.ndarray, b: np.ndarray) -> float:
    """Cotangent of the angle between two vectors."""
    return float(a @ b / np.linalg.norm(np.cross(a, b)))


def hinges(vert: np.ndarray, face: np.ndarray) -> Iterator[Hinge]:
    """All inner edges."""
    opposite: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for n, triangle in enumerate(face.tolist()):
        for k in range(3):
            a, b, c = triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]
            opposite.setdefault((min(a, b), max(a, b)), []).append((c, n))
    for (v0, v1), beside in opposite.items():
        if len(beside) != 2:
            continue
        others = [v for v, _ in beside]
        edge = vert[v1] - vert[v0]
        from0 = [vert[v] - vert[v0] for v in others]
        from1 = [vert[v] - vert[v1] for v in others]
        a01, a02 = (cotangent(edge, side) for side in from0)
        a03, a04 = (-cotangent(edge, side) for side in from1)
        weight = np.array([a03 + a04, a01 + a02, -(a01 + a03), -(a02 + a04)])
        area = sum(0.5 * np.linalg.norm(np.cross(edge, side)) for side in from0)
        yield Hinge([v0, v1, *others], weight, [n for _, n in beside], float(area))


def hinge_matrix(vert: np.ndarray, face: np.ndarray, rigidity: float) -> np.ndarray:
    """k of all pairs of vertices, (n, n), each hinge by itself; rigidity is mu t^3 / 12."""
    matrix = np.zeros((len(vert), len(vert)))
    for hinge in hinges(vert, face):
        block = 1.5 * rigidity / hinge.area * np.outer(hinge.weight, hinge.weight)
        matrix[np.ix_(hinge.corner, hinge.corner)] += block
    return matrix


def plate_matrix(vert: np.ndarray, face: np.ndarray, rigidity: float, poisson: float) -> np.ndarray:
    """k of all pairs of vertices, (n, n), of a plate; rigidity is E t^3 / (12 (1 - nu^2))."""
    compliance = np.linalg.inv(
        rigidity * np.array([[1, poisson, 0], [poisson, 1, 0], [0, 0, 2 * (1 - poisson)]], dtype=float)
    )
    of_triangle: dict[int, list[Hinge]] = {}
    for hinge in hinges(vert, face):
        for n in hinge.sides:
            of_triangle.setdefault(n, []).append(hinge)
    matrix = np.zeros((len(vert), len(vert)))
    for n, mine in of_triangle.items():
        a, b, c = vert[face[n]]
        normal = np.cross(b - a, c - a)
        across = np.cross(normal, b - a)
        axes = np.stack([(b - a) / np.linalg.norm(b - a), across / np.linalg.norm(across)], axis=1)
        bends = np.zeros((len(mine), 3))
        weights = np.zeros((len(mine), len(vert)))
        for row, hinge in enumerate(mine):
            x, y = ((vert[hinge.corner] - a) @ axes).T
            bends[row] = [0.5 * hinge.weight @ x**2, 0.5 * hinge.weight @ y**2, hinge.weight @ (x * y)]
            weights[row, hinge.corner] = hinge.weight
        area = 0.5 * np.linalg.norm(normal)
        matrix += area * weights.T @ np.linalg.pinv(bends @ compliance @ bends.T) @ weights
    return matrix


def rest_positions(model, bodies: np.ndarray) -> np.ndarray:
    """Positions of bodies in the model's reference configuration, where joints do not displace them."""
    pose = {0: ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])}
    for b in range(1, model.nbody):
        parent = pose[int(model.body_parentid[b])]
        pose[b] = compose(*parent, np.asarray(model.body_pos[b]).tolist(), np.asarray(model.body_quat[b]).tolist())
    return np.array([pose[int(b)][0] for b in bodies])


@plugin("mujoco.elasticity.shell")
class Shell:
    """Triangles, as numbers of the instance's bodies; Young's modulus [Pa], Poisson's ratio, thickness [m]; rule."""

    face: str = field(required=True)
    young: float = field(0.0, min=0.0)
    poisson: float = field(0.0, min=0.0, max=0.499)
    thickness: float = field(0.001, above=0.0)
    rule: str = field("hinge", choices=RULES)

    capabilities = ("passive",)

    def check(self) -> str | None:
        words = self.face.split()
        if len(words) % 3 or not all(word.isdigit() for word in words):
            return "face must be whole numbers, three for each triangle"
        return None

    def init(self, model, instance):
        face = np.array(self.face.split(), dtype=int).reshape(-1, 3)
        if face.max(initial=0) >= len(instance.bodies):
            raise PluginError(
                f"plugin mujoco.elasticity.shell: face names body {face.max()}, but the instance has "
                f"{len(instance.bodies)} bodies"
            )
        vert = rest_positions(model, instance.bodies)
        cubed = self.young * self.thickness**3 / 12
        if self.rule == "hinge":
            matrix = hinge_matrix(vert, face, cubed / (2 * (1 + self.poisson)))
        else:
            matrix = plate_matrix(vert, face, cubed / (1 - self.poisson**2), self.poisson)
        row, other = np.nonzero(matrix)
        start = np.searchsorted(row, np.arange(len(vert) + 1))
        with wp.ScopedDevice(instance.device):
            indices = [wp.array(values, dtype=int) for values in (instance.bodies, start, other)]
            return *indices, wp.array(matrix[row, other], dtype=float)

    def compute(self, m, d, instance) -> None:
        wp.launch(bend, instance.nworld, [m, d, *instance.data], device=instance.device)
