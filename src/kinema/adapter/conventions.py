"""Where Newton's conventions meet MuJoCo's: the only file that converts between them.

Newton (State, Control)                             MuJoCo (engine)
quaternions xyzw                                    wxyz
world pose of anything: place x                     x; `place` is where the world was put
free joint   q = X_p^-1 pose X_c                    pose of the body
             qd = (v of the centre of mass, w)      (v of the body's origin in the world's frame, w in the body's frame)
             both in the joint's parent frame X_p
             f = (force, torque) at the centre of   generalized force dual to that velocity
             mass, world frame
ball joint   q between the frames X_p and X_c       q_c q q_c^-1, with q_c the rotation of X_c
             qd, f in the parent frame              q_c q^-1 w: in the body's frame
rod joint    body_q, body_qd of both bodies         how the child has turned from rest in the parent, and turns
other axes   q                                      q + qpos0
body_qd      (v of the centre of mass, w)           (v of the body's origin, w) of `kinematics.py`
body_f       (force, torque) at the centre of mass  xfrc_applied, the same in the world's own frame
particle     q, qd, f in the world                  three slides from where its body stands; of a fixed one mocap_pos

Every function converts one item of one world of a class; `boundary.py` runs them over all.
"""

from __future__ import annotations

import warp as wp

from kinema.mujoco_enums import Joint

OWN, TARGET_Q, TARGET_QD = 0, 1, 2


@wp.struct
class Places:
    """Where the worlds of a class stand in the model's flat arrays, indexed [world of the class]."""

    world: wp.array(dtype=int)  # index among all worlds
    coord: wp.array(dtype=int)  # first coordinate
    target: wp.array(dtype=int)  # first position target
    dof: wp.array(dtype=int)  # first dof
    body: wp.array(dtype=int)  # first body
    particle: wp.array(dtype=int)  # first particle
    control: wp.array(dtype=int)  # first row of `mujoco:ctrl`
    xform: wp.array(dtype=wp.transform)  # where the world was placed
    moved: int  # 0 where no world was placed anywhere else than at the origin


@wp.struct
class Joints:
    """MuJoCo's joints and the coordinates that stand for them, indexed [joint]; coord -1: none."""

    type: wp.array(dtype=int)
    body: wp.array(dtype=int)
    qpos: wp.array(dtype=int)
    qvel: wp.array(dtype=int)
    coord: wp.array(dtype=int)
    dof: wp.array(dtype=int)
    frame_p: wp.array(dtype=wp.transform)
    frame_c: wp.array(dtype=wp.transform)
    rod: wp.array(dtype=wp.vec3i)  # of joints of rods both bodies, parent -1: the world, and the axis; child -1: no rod


@wp.struct
class Particles:
    """Bodies that stand for particles, indexed [particle]."""

    body: wp.array(dtype=int)
    qpos: wp.array(dtype=int)  # first of three slides
    qvel: wp.array(dtype=int)
    mocap: wp.array(dtype=int)  # -1: it moves by itself


@wp.func
def to_wxyz(q: wp.quat) -> wp.vec4:
    return wp.vec4(q[3], q[0], q[1], q[2])


@wp.func
def to_xyzw(q: wp.vec4) -> wp.quat:
    return wp.quat(q[1], q[2], q[3], q[0])


@wp.func
def read3(x: wp.array(dtype=float), i: int) -> wp.vec3:
    return wp.vec3(x[i], x[i + 1], x[i + 2])


@wp.func
def write3(x: wp.array(dtype=float), i: int, v: wp.vec3):
    x[i] = v[0]
    x[i + 1] = v[1]
    x[i + 2] = v[2]


@wp.func
def read_row3(x: wp.array2d(dtype=float), w: int, i: int) -> wp.vec3:
    return wp.vec3(x[w, i], x[w, i + 1], x[w, i + 2])


@wp.func
def write_row3(x: wp.array2d(dtype=float), w: int, i: int, v: wp.vec3):
    x[w, i] = v[0]
    x[w, i + 1] = v[1]
    x[w, i + 2] = v[2]


@wp.func
def write_row_quat(x: wp.array2d(dtype=float), w: int, i: int, q: wp.quat):
    for k in range(4):
        x[w, i + k] = to_wxyz(q)[k]


@wp.func
def turned(turn: wp.quat, v: wp.spatial_vector) -> wp.spatial_vector:
    """Both halves of a spatial vector, turned."""
    return wp.spatial_vector(wp.quat_rotate(turn, wp.spatial_top(v)), wp.quat_rotate(turn, wp.spatial_bottom(v)))


@wp.func
def free_pose(place: wp.transform, frame_p: wp.transform, q: wp.transform, frame_c: wp.transform) -> wp.transform:
    """Pose of a free body in the world's own frame."""
    return wp.transform_inverse(place) * frame_p * q * wp.transform_inverse(frame_c)


@wp.func
def read_transform(x: wp.array(dtype=float), i: int) -> wp.transform:
    return wp.transform(read3(x, i), wp.normalize(wp.quat(x[i + 3], x[i + 4], x[i + 5], x[i + 6])))


@wp.func
def read_quat(x: wp.array(dtype=float), i: int) -> wp.quat:
    return wp.normalize(wp.quat(x[i], x[i + 1], x[i + 2], x[i + 3]))


@wp.func
def rod_in(
    w: int,
    j: int,
    joints: Joints,
    places: Places,
    body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
):
    """body_q and body_qd to the joint between two segments of a rod; frame_p is how they stand at rest.

    Three hinges turn by x, then y, then z: R = Rx Ry Rz, and the rate of turning in the child is
    z' ez + Rz' (y' ey + Ry' x' ex).
    """
    rod = joints.rod[j]
    i = joints.qpos[j]
    v = joints.qvel[j]
    above = wp.transform_get_rotation(places.xform[w])
    omega = wp.vec3()
    if rod[0] >= 0:
        above = wp.transform_get_rotation(body_q[places.body[w] + rod[0]])
        omega = wp.spatial_bottom(body_qd[places.body[w] + rod[0]])
    below = wp.transform_get_rotation(body_q[places.body[w] + rod[1]])
    turn = wp.normalize(wp.quat_inverse(above * wp.transform_get_rotation(joints.frame_p[j])) * below)
    rate = wp.quat_rotate_inv(below, wp.spatial_bottom(body_qd[places.body[w] + rod[1]]) - omega)
    if rod[2] < 0:
        write_row_quat(qpos, w, i, turn)
        write_row3(qvel, w, v, rate)
    else:
        frame = wp.transform_get_rotation(joints.frame_c[j])
        r = wp.quat_to_matrix(wp.quat_inverse(frame) * turn * frame)
        rate = wp.quat_rotate_inv(frame, rate)
        x = wp.atan2(-r[1, 2], r[2, 2])
        y = wp.asin(wp.clamp(r[0, 2], -1.0, 1.0))
        z = wp.atan2(-r[0, 1], r[0, 0])
        lean = wp.max(1.0e-6, wp.cos(y))  # hinges lose an axis where the middle one turns by a quarter
        along = wp.cos(z) * rate[0] - wp.sin(z) * rate[1]
        if rod[2] == 0:
            qpos[w, i] = x
            qvel[w, v] = along / lean
        elif rod[2] == 1:
            qpos[w, i] = y
            qvel[w, v] = wp.sin(z) * rate[0] + wp.cos(z) * rate[1]
        else:
            qpos[w, i] = z
            qvel[w, v] = rate[2] - wp.sin(y) * along / lean


@wp.func
def state_in(
    w: int,
    j: int,
    joints: Joints,
    places: Places,
    joint_q: wp.array(dtype=float),
    joint_qd: wp.array(dtype=float),
    qpos0: wp.array2d(dtype=float),
    ipos: wp.array2d(dtype=wp.vec3),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
):
    """joint_q and joint_qd to qpos and qvel."""
    kind = joints.type[j]
    i = joints.qpos[j]
    v = joints.qvel[j]
    c = places.coord[w] + joints.coord[j]
    d = places.dof[w] + joints.dof[j]
    if joints.coord[j] < 0:
        qvel[w, v] = 0.0
    elif kind == wp.static(Joint.FREE):
        frame_p = joints.frame_p[j]
        pose = free_pose(places.xform[w], frame_p, read_transform(joint_q, c), joints.frame_c[j])
        turn = wp.transform_get_rotation(pose)
        to_world = wp.quat_inverse(wp.transform_get_rotation(places.xform[w])) * wp.transform_get_rotation(frame_p)
        omega = wp.quat_rotate(to_world, read3(joint_qd, d + 3))
        arm = wp.quat_rotate(turn, ipos[w, joints.body[j]])
        write_row3(qpos, w, i, wp.transform_get_translation(pose))
        write_row_quat(qpos, w, i + 3, turn)
        write_row3(qvel, w, v, wp.quat_rotate(to_world, read3(joint_qd, d)) - wp.cross(omega, arm))
        write_row3(qvel, w, v + 3, wp.quat_rotate_inv(turn, omega))
    elif kind == wp.static(Joint.BALL):
        q = read_quat(joint_q, c)
        qc = wp.transform_get_rotation(joints.frame_c[j])
        write_row_quat(qpos, w, i, qc * q * wp.quat_inverse(qc))
        write_row3(qvel, w, v, wp.quat_rotate(qc * wp.quat_inverse(q), read3(joint_qd, d)))
    else:
        qpos[w, i] = joint_q[c] + qpos0[w, i]
        qvel[w, v] = joint_qd[d]


@wp.func
def forces_in(
    w: int,
    j: int,
    joints: Joints,
    places: Places,
    joint_q: wp.array(dtype=float),
    joint_f: wp.array(dtype=float),
    ipos: wp.array2d(dtype=wp.vec3),
    qpos: wp.array2d(dtype=float),
    qfrc_applied: wp.array2d(dtype=float),
):
    """joint_f to qfrc_applied; qpos must be in already."""
    kind = joints.type[j]
    v = joints.qvel[j]
    d = places.dof[w] + joints.dof[j]
    if joints.coord[j] >= 0:
        if kind == wp.static(Joint.FREE):
            i = joints.qpos[j] + 3
            turn = to_xyzw(wp.vec4(qpos[w, i], qpos[w, i + 1], qpos[w, i + 2], qpos[w, i + 3]))
            back = wp.transform_get_rotation(places.xform[w])
            force = wp.quat_rotate_inv(back, read3(joint_f, d))
            torque = wp.quat_rotate_inv(back, read3(joint_f, d + 3))
            arm = wp.quat_rotate(turn, ipos[w, joints.body[j]])
            write_row3(qfrc_applied, w, v, force)
            write_row3(qfrc_applied, w, v + 3, wp.quat_rotate_inv(turn, torque + wp.cross(arm, force)))
        elif kind == wp.static(Joint.BALL):
            q = read_quat(joint_q, places.coord[w] + joints.coord[j])
            qc = wp.transform_get_rotation(joints.frame_c[j])
            write_row3(qfrc_applied, w, v, wp.quat_rotate(qc * wp.quat_inverse(q), read3(joint_f, d)))
        else:
            qfrc_applied[w, v] = joint_f[d]


@wp.func
def state_out(
    w: int,
    j: int,
    joints: Joints,
    places: Places,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    qpos0: wp.array2d(dtype=float),
    ipos: wp.array2d(dtype=wp.vec3),
    joint_q: wp.array(dtype=float),
    joint_qd: wp.array(dtype=float),
):
    """qpos and qvel to joint_q and joint_qd."""
    kind = joints.type[j]
    i = joints.qpos[j]
    v = joints.qvel[j]
    c = places.coord[w] + joints.coord[j]
    d = places.dof[w] + joints.dof[j]
    if joints.coord[j] >= 0:
        if kind == wp.static(Joint.FREE):
            turn = to_xyzw(wp.vec4(qpos[w, i + 3], qpos[w, i + 4], qpos[w, i + 5], qpos[w, i + 6]))
            frame_p = joints.frame_p[j]
            pose = places.xform[w] * wp.transform(read_row3(qpos, w, i), turn)
            between = wp.transform_inverse(frame_p) * pose * joints.frame_c[j]
            to_parent = wp.quat_inverse(wp.transform_get_rotation(frame_p)) * wp.transform_get_rotation(places.xform[w])
            omega = wp.quat_rotate(turn, read_row3(qvel, w, v + 3))
            arm = wp.quat_rotate(turn, ipos[w, joints.body[j]])
            write3(joint_q, c, wp.transform_get_translation(between))
            for k in range(4):
                joint_q[c + 3 + k] = wp.transform_get_rotation(between)[k]
            write3(joint_qd, d, wp.quat_rotate(to_parent, read_row3(qvel, w, v) + wp.cross(omega, arm)))
            write3(joint_qd, d + 3, wp.quat_rotate(to_parent, omega))
        elif kind == wp.static(Joint.BALL):
            qc = wp.transform_get_rotation(joints.frame_c[j])
            q = wp.quat_inverse(qc) * to_xyzw(wp.vec4(qpos[w, i], qpos[w, i + 1], qpos[w, i + 2], qpos[w, i + 3])) * qc
            for k in range(4):
                joint_q[c + k] = q[k]
            write3(joint_qd, d, wp.quat_rotate(q * wp.quat_inverse(qc), read_row3(qvel, w, v)))
        else:
            joint_q[c] = qpos[w, i] - qpos0[w, i]
            joint_qd[d] = qvel[w, v]


@wp.func
def dof_count(kind: int) -> int:
    return wp.where(kind == wp.static(Joint.FREE), 6, wp.where(kind == wp.static(Joint.BALL), 3, 1))


@wp.func
def warmstart_in(
    w: int, j: int, joints: Joints, places: Places, flat: wp.array(dtype=float), warm: wp.array2d(dtype=float),
):  # fmt: skip
    """Where the constraint solver begins, in MuJoCo's convention on both sides; without it, all dofs at 0."""
    for k in range(dof_count(joints.type[j])):
        value = float(0.0)
        if joints.dof[j] >= 0 and flat.shape[0] > 0:
            value = flat[places.dof[w] + joints.dof[j] + k]
        warm[w, joints.qvel[j] + k] = value


@wp.func
def warmstart_out(
    w: int, j: int, joints: Joints, places: Places, warm: wp.array2d(dtype=float), flat: wp.array(dtype=float),
):  # fmt: skip
    """Where the constraint solver may begin next time."""
    for k in range(dof_count(joints.type[j])):
        if joints.dof[j] >= 0:
            flat[places.dof[w] + joints.dof[j] + k] = warm[w, joints.qvel[j] + k]


@wp.func
def actuation_out(
    w: int,
    j: int,
    joints: Joints,
    places: Places,
    qpos: wp.array2d(dtype=float),
    ipos: wp.array2d(dtype=wp.vec3),
    qfrc: wp.array2d(dtype=float),
    joint_f: wp.array(dtype=float),
):
    """Generalized forces back to Newton's side: the inverse of `forces_in`."""
    kind = joints.type[j]
    i = joints.qpos[j]
    v = joints.qvel[j]
    d = places.dof[w] + joints.dof[j]
    if joints.coord[j] >= 0:
        if kind == wp.static(Joint.FREE):
            turn = to_xyzw(wp.vec4(qpos[w, i + 3], qpos[w, i + 4], qpos[w, i + 5], qpos[w, i + 6]))
            place = wp.transform_get_rotation(places.xform[w])
            force = read_row3(qfrc, w, v)
            arm = wp.quat_rotate(turn, ipos[w, joints.body[j]])
            torque = wp.quat_rotate(turn, read_row3(qfrc, w, v + 3)) - wp.cross(arm, force)
            write3(joint_f, d, wp.quat_rotate(place, force))
            write3(joint_f, d + 3, wp.quat_rotate(place, torque))
        elif kind == wp.static(Joint.BALL):
            qc = wp.transform_get_rotation(joints.frame_c[j])
            turn = to_xyzw(wp.vec4(qpos[w, i], qpos[w, i + 1], qpos[w, i + 2], qpos[w, i + 3]))
            write3(joint_f, d, wp.quat_rotate(wp.quat_inverse(qc) * turn, read_row3(qfrc, w, v)))
        else:
            joint_f[d] = qfrc[w, v]


@wp.func
def wrenches_in(
    w: int,
    b: int,
    bodies: wp.array(dtype=int),
    places: Places,
    body_f: wp.array(dtype=wp.spatial_vector),
    xfrc_applied: wp.array2d(dtype=wp.spatial_vector),
):
    """body_f to xfrc_applied."""
    if bodies[b] >= 0 and places.moved == 0:
        xfrc_applied[w, b] = body_f[places.body[w] + bodies[b]]
    elif bodies[b] >= 0:
        back = wp.transform_get_rotation(places.xform[w])
        f = body_f[places.body[w] + bodies[b]]
        force = wp.quat_rotate_inv(back, wp.spatial_top(f))
        torque = wp.quat_rotate_inv(back, wp.spatial_bottom(f))
        xfrc_applied[w, b] = wp.spatial_vector(force, torque)


@wp.func
def mocap_in(
    w: int,
    b: int,
    bodies: wp.array(dtype=int),
    mocapid: wp.array(dtype=int),
    places: Places,
    body_q: wp.array(dtype=wp.transform),
    mocap_pos: wp.array2d(dtype=wp.vec3),
    mocap_quat: wp.array2d(dtype=wp.vec4),
):
    """Poses of the bodies that the user moves."""
    if bodies[b] >= 0 and mocapid[b] >= 0:
        pose = wp.transform_inverse(places.xform[w]) * body_q[places.body[w] + bodies[b]]
        mocap_pos[w, mocapid[b]] = wp.transform_get_translation(pose)
        mocap_quat[w, mocapid[b]] = to_wxyz(wp.transform_get_rotation(pose))


@wp.func
def particle_place(w: int, places: Places, x: wp.vec3) -> wp.vec3:
    """A place in a world's own frame as particle_q has it."""
    if places.moved != 0:
        return wp.transform_point(places.xform[w], x)
    return x


@wp.func
def particle_in(
    w: int,
    p: int,
    particles: Particles,
    places: Places,
    particle_q: wp.array(dtype=wp.vec3),
    particle_qd: wp.array(dtype=wp.vec3),
    particle_f: wp.array(dtype=wp.vec3),
    body_pos: wp.array2d(dtype=wp.vec3),
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    qfrc_applied: wp.array2d(dtype=float),
    warm: wp.array2d(dtype=float),
    mocap_pos: wp.array2d(dtype=wp.vec3),
):
    """particle_q, particle_qd and particle_f to the slides of a body, or to where a fixed one is.

    A particle at rest that is where it was told to be keeps its slides, which have digits that a place in the world has
    not: what sleeps is woken where they differ in any bit.
    """
    i = places.particle[w] + p
    turn = wp.transform_get_rotation(places.xform[w])
    x = wp.transform_point(wp.transform_inverse(places.xform[w]), particle_q[i])
    if particles.mocap[p] >= 0:
        mocap_pos[w, particles.mocap[p]] = x
    else:
        v = particles.qvel[p]
        at = particles.qpos[p]
        home = body_pos[w, particles.body[p]]
        still = particle_qd[i] == wp.vec3() and read_row3(qvel, w, v) == wp.vec3()
        there = particle_place(w, places, home + read_row3(qpos, w, at)) == particle_q[i]
        if not (still and there):
            write_row3(qpos, w, at, x - home)
        # adding 0 makes -0 of a rotation 0, by whose bits sleepers are told
        write_row3(qvel, w, v, wp.quat_rotate_inv(turn, particle_qd[i]) + wp.vec3())
        write_row3(warm, w, v, wp.vec3())
        if particle_f.shape[0] > 0:
            write_row3(qfrc_applied, w, v, wp.quat_rotate_inv(turn, particle_f[i]) + wp.vec3())


@wp.func
def particle_out(
    w: int,
    p: int,
    particles: Particles,
    places: Places,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    body_pos: wp.array2d(dtype=wp.vec3),
    particle_q: wp.array(dtype=wp.vec3),
    particle_qd: wp.array(dtype=wp.vec3),
):
    """The slides of a particle's body to particle_q and particle_qd; a fixed one stays as it was given."""
    if particles.mocap[p] < 0:
        i = places.particle[w] + p
        x = particle_place(w, places, body_pos[w, particles.body[p]] + read_row3(qpos, w, particles.qpos[p]))
        v = read_row3(qvel, w, particles.qvel[p])
        if places.moved != 0:
            v = wp.quat_rotate(wp.transform_get_rotation(places.xform[w]), v)
        particle_q[i] = x
        particle_qd[i] = v


@wp.func
def controls_in(
    w: int,
    u: int,
    controls: wp.array(dtype=wp.vec2i),
    places: Places,
    own: wp.array(dtype=float),
    target_q: wp.array(dtype=float),
    target_qd: wp.array(dtype=float),
    ctrl: wp.array2d(dtype=float),
):
    """Control and targets to ctrl."""
    kind = controls[u][0]
    i = controls[u][1]
    if kind == wp.static(TARGET_Q):
        ctrl[w, u] = target_q[places.target[w] + i]
    elif kind == wp.static(TARGET_QD):
        ctrl[w, u] = target_qd[places.dof[w] + i]
    else:
        ctrl[w, u] = own[places.control[w] + i]


@wp.func
def body_out(
    w: int,
    b: int,
    bodies: wp.array(dtype=int),
    places: Places,
    x: wp.transform,
    v: wp.spatial_vector,
    ipos: wp.vec3,
    body_q: wp.array(dtype=wp.transform),
    body_qd: wp.array(dtype=wp.spatial_vector),
):
    """Pose of a body, and (velocity of its origin, angular velocity), to body_q and body_qd."""
    out = places.body[w] + bodies[b]
    omega = wp.spatial_bottom(v)
    centre = wp.spatial_top(v) + wp.cross(omega, wp.quat_rotate(wp.transform_get_rotation(x), ipos))
    twist = wp.spatial_vector(centre, omega)
    if places.moved == 0:
        body_q[out] = x
        body_qd[out] = twist
    else:
        place = places.xform[w]
        body_q[out] = place * x
        body_qd[out] = turned(wp.transform_get_rotation(place), twist)


@wp.func
def acceleration(cacc: wp.spatial_vector, cvel: wp.spatial_vector, arm: wp.vec3, gravity: wp.vec3) -> wp.spatial_vector:
    """(a of the centre of mass, angular a) from what MuJoCo has at the centre of mass of the tree, `arm` away.

    MuJoCo's acceleration is that of a world which rises against gravity.
    """
    omega = wp.spatial_top(cvel)
    velocity = wp.spatial_bottom(cvel) + wp.cross(omega, arm)
    alpha = wp.spatial_top(cacc)
    a = wp.spatial_bottom(cacc) + wp.cross(alpha, arm) + wp.cross(omega, velocity) + gravity
    return wp.spatial_vector(a, alpha)


@wp.func
def wrench(cfrc: wp.spatial_vector, arm: wp.vec3) -> wp.spatial_vector:
    """(force, torque) at the centre of mass from (torque, force) at that of the tree, `arm` away."""
    force = wp.spatial_bottom(cfrc)
    return wp.spatial_vector(force, wp.spatial_top(cfrc) - wp.cross(arm, force))
