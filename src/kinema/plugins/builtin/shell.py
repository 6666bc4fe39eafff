"""mujoco.elasticity.shell: bending of a triangulated sheet whose vertices are bodies.

Each inner edge (v0, v1) with the vertices v2, v3 opposite to it is a hinge. With a = cotangents of the angles at the
edge in the rest shape, the weights c = (a03 + a04, a01 + a02, -(a01 + a03), -(a02 + a04)) give the change of the normal
there as sum c_i x_i, and the forces

    f_i = -sum k_ij x_j,      k_ij = 3/2 c_i c_j / (A1 + A2)  mu t^3 / 12,      mu = E / (2 (1 + nu))

The matrix is constant, so a sheet that bends without stretching has forces linear in its positions; none act on a flat
one, wherever it lies. Stretching is not resisted: that is what flex or tendons are for.
"""

import numpy as np
import warp as wp

from kinema.compile.pose import compose
from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.model import Model
from kinema.errors import PluginError
from kinema.plugins import field, plugin


@wp.kernel(enable_backward=False)
def bend(m: Model, d: Data, bodies: wp.array(dtype=int), stiffness: wp.array2d(dtype=float)):
    """Forces of one world's sheet; bodies add to one array, so a world is one thread."""
    w = wp.tid()
    for i in range(bodies.shape[0]):
        b = bodies[i]
        force = wp.vec3(0.0)
        for j in range(bodies.shape[0]):
            if stiffness[i, j] != 0.0:
                force -= stiffness[i, j] * (d.pose.xpos[w, bodies[j]] - d.pose.xpos[w, b])
        com = d.inertia.subtree_com[w, m.body.rootid[b]]
        project_wrench(
            d.frc.qfrc_passive, d.inertia.cdof, m.dof.parentid, w,
            last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b),
            wrench_about(wp.vec3(0.0), force, d.pose.xpos[w, b], com),
        )  # fmt: skip


def cotangent(a: np.ndarray, b: np.ndarray) -> float:
    """Cotangent of the angle between two vectors."""
    return float(a @ b / np.linalg.norm(np.cross(a, b)))


def bending_matrix(vert: np.ndarray, face: np.ndarray, rigidity: float) -> np.ndarray:
    """k of all pairs of vertices, (n, n); rigidity is mu t^3 / 12."""
    opposite: dict[tuple[int, int], list[int]] = {}
    for triangle in face.tolist():
        for k in range(3):
            a, b, c = triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]
            opposite.setdefault((min(a, b), max(a, b)), []).append(c)
    matrix = np.zeros((len(vert), len(vert)))
    for (v0, v1), others in opposite.items():
        if len(others) != 2:
            continue
        edge = vert[v1] - vert[v0]
        from0 = [vert[v] - vert[v0] for v in others]
        from1 = [vert[v] - vert[v1] for v in others]
        a01, a02 = (cotangent(edge, side) for side in from0)
        a03, a04 = (-cotangent(edge, side) for side in from1)
        weights = np.array([a03 + a04, a01 + a02, -(a01 + a03), -(a02 + a04)])
        area = sum(0.5 * np.linalg.norm(np.cross(edge, side)) for side in from0)
        corner = [v0, v1, *others]
        matrix[np.ix_(corner, corner)] += 1.5 * rigidity / area * np.outer(weights, weights)
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
    """Triangles, as numbers of the instance's bodies; Young's modulus [Pa], Poisson's ratio, thickness [m]."""

    face: str = field(required=True)
    young: float = field(0.0, min=0.0)
    poisson: float = field(0.0, min=0.0, max=0.499)
    thickness: float = field(0.001, above=0.0)

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
        rigidity = self.young / (2 * (1 + self.poisson)) * self.thickness**3 / 12
        matrix = bending_matrix(rest_positions(model, instance.bodies), face, rigidity)
        with wp.ScopedDevice(instance.device):
            return wp.array(instance.bodies, dtype=int), wp.array(matrix, dtype=float)

    def compute(self, m, d, instance) -> None:
        wp.launch(bend, instance.nworld, [m, d, *instance.data], device=instance.device)
