"""mujoco.elasticity.cable: bending and twist of a chain of bodies on ball joints, as an elastic rod.

Between body b and the one before it the curvature is the rotation vector omega of Q = body_quat q_joint, less that at
rest. With K = (J G, Iy E, Iz E) of the cross-section and L the distance of the bodies at rest, the stress is

    S_b = -K (omega - omega_0) / L_b

and the torque on body b, in its frame, is conj(Q_b) S_b of its own joint minus S_(b+1) of the next.
"""

import numpy as np
import warp as wp

from kinema.compile.pose import conjugate, multiply
from kinema.convex.com import project_wrench, wrench_about
from kinema.convex.data import Data
from kinema.convex.jacobian import last_dof
from kinema.convex.kinematics import qpos_quat
from kinema.convex.model import Model
from kinema.errors import PluginError
from kinema.math.quaternion import mul_quat, rotate, rotate_inverse, sub_quat, to_velocity
from kinema.mujoco_enums import Geom, Joint
from kinema.plugins import P, field, plugin
from kinema.plugins.visual import ramp


@wp.func
def section(kind: int, size: wp.vec3) -> wp.vec3:
    """Torsion constant and the two second moments of area of a geom's cross-section across x [m^4]; 0: none known."""
    moments = wp.vec3(0.0)
    if kind == Geom.CAPSULE or kind == Geom.CYLINDER:
        r4 = size[0] * size[0] * size[0] * size[0]
        moments = wp.vec3(wp.PI * r4 / 2.0, wp.PI * r4 / 4.0, wp.PI * r4 / 4.0)
    elif kind == Geom.BOX:
        h = size[1]
        v = size[2]
        a = wp.max(h, v)
        b = wp.min(h, v)
        r = b / a
        twist = a * b * b * b * (16.0 / 3.0 - 3.36 * r * (1.0 - r * r * r * r / 12.0))
        moments = wp.vec3(twist, 8.0 * v * v * v * 2.0 * h / 12.0, 8.0 * h * h * h * 2.0 * v / 12.0)
    return moments


def rotation_vector(quat: list[float]) -> np.ndarray:
    """Axis times angle of a rotation."""
    axis = np.array(quat[1:])
    sine = np.linalg.norm(axis)
    angle = 2 * np.arctan2(sine, quat[0])
    angle = angle - 2 * np.pi if angle > np.pi else angle
    return axis * (angle / sine if sine > 0 else 2.0)


@wp.func
def joint_turn(m: Model, qpos: wp.array2d(dtype=float), w: int, b: int) -> wp.vec4:
    """Orientation of body b in its parent: its own, turned by its ball joint."""
    a = m.jnt.qposadr[m.body.jntadr[b]] + m.body.dofnum[b] - 3
    return mul_quat(m.body.quat[w, b], qpos_quat(qpos, w, a))


@wp.func
def stress(m: Model, d: Data, w: int, b: int, twist: float, bend: float, flat: bool) -> wp.vec3:
    """The torque between body b and the one before it, in the frame of the latter."""
    g = m.body.geomadr[b]
    moments = section(m.geom.type[g], m.geom.size[w, g])
    stiffness = wp.vec3(moments[0] * twist, moments[1] * bend, moments[2] * bend)
    rest = wp.vec3(0.0)
    if not flat:
        a = m.jnt.qposadr[m.body.jntadr[b]] + m.body.dofnum[b] - 3
        rest = sub_quat(m.body.quat[w, b], qpos_quat(m.jnt.qpos0, w, a))
    curvature = to_velocity(joint_turn(m, d.state.qpos, w, b), 1.0) - rest
    return -1.0 * wp.cw_mul(stiffness, curvature) / wp.length(m.body.pos[w, b])


@plugin("mujoco.elasticity.cable")
class Cable:
    """Moduli of twist (G) and bending (E) [Pa]; whether the rest shape is straight; stress shown in full colour."""

    twist: float = field(0.0, min=0.0)
    bend: float = field(0.0, min=0.0)
    flat: bool = False
    vmax: float = field(0.0, min=0.0)

    def init(self, model, instance) -> None:
        bodies = instance.bodies
        for before, body in zip(bodies[:-1], bodies[1:], strict=True):
            last = int(model.body_jntadr[body]) + int(model.body_jntnum[body]) - 1
            if model.body_parentid[body] != before:
                raise PluginError(f"plugin mujoco.elasticity.cable: body {body} should be the child of body {before}")
            if model.body_jntnum[body] < 1 or model.jnt_type[last] != Joint.BALL:
                raise PluginError(f"plugin mujoco.elasticity.cable: body {body} should end with a ball joint")

    def visualize(self, model, read, instance, shown) -> None:
        """Colour the bodies by the mean stress at their two ends, in full at vmax."""
        bodies = instance.bodies
        if self.vmax == 0.0 or len(bodies) < 2:
            return
        quat, rest, pos, size = (read(name) for name in ("xquat", "body_quat", "body_pos", "geom_size"))
        stresses = []
        for before, body in zip(bodies[:-1], bodies[1:], strict=True):
            bent = rotation_vector(multiply(conjugate(quat[before].tolist()), quat[body].tolist()))
            if not self.flat:
                a = int(model.jnt_qposadr[model.body_jntadr[body]]) + int(model.body_dofnum[body]) - 3
                start = np.asarray(model.qpos0)[a : a + 4].tolist()
                bent = bent - rotation_vector(multiply(conjugate(start), rest[body].tolist()))
            geom = int(model.body_geomadr[body])
            moments = np.array(section(int(model.geom_type[geom]), wp.vec3(*size[geom].tolist())))
            stiffness = moments * [self.twist, self.bend, self.bend]
            stresses.append(-stiffness * bent / np.linalg.norm(pos[body]))
        for n, body in enumerate(bodies):
            ends = stresses[max(n - 1, 0) : n + 1]
            value = float(np.linalg.norm(np.mean(ends, axis=0))) / self.vmax
            shown.color(model.body_geomadr[body], ramp(value))

    @wp.func
    def compute_passive(m: Model, d: Data, w: int, instance: int, p: P):
        first = m.plugin.bodyadr[instance]
        count = m.plugin.bodynum[instance]
        for n in range(count):
            b = m.plugin.bodyid[first + n]
            torque = wp.vec3(0.0)
            if n > 0:
                own = stress(m, d, w, b, p.twist, p.bend, p.flat)
                torque += rotate_inverse(joint_turn(m, d.state.qpos, w, b), own)
            if n < count - 1:
                torque -= stress(m, d, w, m.plugin.bodyid[first + n + 1], p.twist, p.bend, p.flat)
            torque = rotate(d.pose.xquat[w, b], torque)
            pos = d.pose.xpos[w, b]
            com = d.inertia.subtree_com[w, m.body.rootid[b]]
            project_wrench(
                d.frc.qfrc_passive, d.inertia.cdof, m.dof.parentid, w,
                last_dof(m.body.weldid, m.body.dofadr, m.body.dofnum, b),
                wrench_about(torque, wp.vec3(0.0), pos, com),
            )  # fmt: skip
