"""Adding velocities to positions and taking positions apart: on the manifold of ball and free joints.

    integrate_pos       q (+) h v       quaternions turn by h times the local angular velocity
    differentiate_pos   (q2 (-) q1) / h
"""

import warp as wp

from kinema.convex.bundle import bundle, index
from kinema.convex.kinematics import qpos_quat
from kinema.engine import Engine
from kinema.math.quaternion import integrate, sub_quat
from kinema.mujoco_enums import Joint


@bundle("jnt_")
class Joints:
    type: index()
    qposadr: index()
    dofadr: index()


@wp.func
def straight_of(kind: int) -> int:
    """How many coordinates of a joint are numbers that a velocity adds to; those of an orientation follow them."""
    return wp.where(kind == Joint.FREE, 3, wp.where(kind == Joint.BALL, 0, 1))


@wp.kernel(enable_backward=False)
def _integrate(joints: Joints, qvel: wp.array2d(dtype=float), h: float, qpos: wp.array2d(dtype=float)):
    w, j = wp.tid()
    a = joints.qposadr[j]
    i = joints.dofadr[j]
    kind = joints.type[j]
    straight = straight_of(kind)
    for c in range(straight):
        qpos[w, a + c] = qpos[w, a + c] + h * qvel[w, i + c]
    if kind == Joint.FREE or kind == Joint.BALL:
        a += straight
        i += straight
        quat = wp.vec4(qpos[w, a], qpos[w, a + 1], qpos[w, a + 2], qpos[w, a + 3])
        quat = integrate(quat, wp.vec3(qvel[w, i], qvel[w, i + 1], qvel[w, i + 2]), h)
        for c in range(4):
            qpos[w, a + c] = quat[c]


@wp.kernel(enable_backward=False)
def _differentiate(
    joints: Joints, h: float, start: wp.array2d(dtype=float), end: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
):  # fmt: skip
    w, j = wp.tid()
    a = joints.qposadr[j]
    i = joints.dofadr[j]
    kind = joints.type[j]
    straight = straight_of(kind)
    for c in range(straight):
        qvel[w, i + c] = (end[w, a + c] - start[w, a + c]) / h
    if kind == Joint.FREE or kind == Joint.BALL:
        turn = sub_quat(qpos_quat(end, w, a + straight), qpos_quat(start, w, a + straight))
        for c in range(3):
            qvel[w, i + straight + c] = turn[c] / h


def integrate_positions(engine: Engine, qpos: wp.array, qvel: wp.array, dt: float) -> None:
    """qpos (+)= dt qvel, [world, nq] and [world, nv]."""
    dim = (engine.nworld, engine.source.njnt)
    wp.launch(_integrate, dim, [engine.bundle(Joints), qvel, float(dt)], [qpos], device=engine.device)


def differentiate_positions(engine: Engine, dt: float, start: wp.array, end: wp.array) -> wp.array:
    """The velocity that leads from one position to another in a time, (nworld, nv)."""
    qvel = wp.zeros((engine.nworld, engine.source.nv), dtype=float, device=engine.device)
    dim = (engine.nworld, engine.source.njnt)
    wp.launch(_differentiate, dim, [engine.bundle(Joints), float(dt), start, end], [qvel], device=engine.device)
    return qvel
