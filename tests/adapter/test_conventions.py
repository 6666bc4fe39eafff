"""Newton's conventions against MuJoCo's: there and back, and against what MuJoCo's own kinematics say."""

from __future__ import annotations

import linecache

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.adapter import boundary, conventions, kinematics, model_contacts, particle_contacts
from kinema.model.transform import quat_rotate, transform_inverse, transform_mul

XML = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="free" pos="1 2 3"><freejoint/><inertial pos=".1 -.2 .3" mass="2" diaginertia=".1 .2 .3"/>
    <body name="ball" pos="0 0 .5" quat="1 .2 .3 .1"><joint type="ball" pos=".1 .2 .3"/>
      <inertial pos="0 .1 0" mass="1" diaginertia=".1 .1 .1"/></body>
    <body name="hinge"><joint axis="0 1 0" ref=".5"/><inertial pos="0 0 .1" mass="1" diaginertia=".1 .1 .1"/></body>
  </body></worldbody></mujoco>"""
WORLDS = 2


def run(func, items, inputs):
    """A function of the boundary over all items of all worlds."""
    names = [name for name in func.input_types if name != "return"][2:]
    text = f"def over_all({', '.join(names)}):\n    w, i = wp.tid()\n    convert(w, i, {', '.join(names)})\n"
    file = f"<{func.key} over all>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"wp": wp, "convert": func, "__name__": __name__}
    exec(compile(text, file, "exec"), scope)
    scope["over_all"].__annotations__ = {name: func.input_types[name] for name in names}
    kernel = wp.Kernel(scope["over_all"], key=f"{func.key}_over_all", module=wp.get_module(f"{__name__}.{func.key}"))
    wp.launch(kernel, (WORLDS, items), inputs, device="cpu")


def _unit(rng, *shape):
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _pose(rng):
    return np.concatenate([rng.normal(size=3), _unit(rng)])


class Case:
    """Tables for the model above, with random joint frames and placed worlds."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.rng, self.m = rng, mujoco.MjModel.from_xml_string(XML)
        self.frame_p, self.frame_c = (np.stack([_pose(rng) for _ in range(3)]) for _ in range(2))
        self.placed = np.stack([_pose(rng) for _ in range(WORLDS)])
        ints = lambda v: wp.array(np.asarray(v, np.int32), dtype=int, device="cpu")  # noqa: E731
        self.joints = conventions.Joints()
        m = self.m
        columns = {"type": m.jnt_type, "body": m.jnt_bodyid, "qpos": m.jnt_qposadr, "qvel": m.jnt_dofadr,
                   "coord": [0, 7, 11], "dof": [0, 6, 9]}  # fmt: skip
        for name, values in columns.items():
            setattr(self.joints, name, ints(values))
        self.joints.frame_p = wp.array(self.frame_p, dtype=wp.transform, device="cpu")
        self.joints.frame_c = wp.array(self.frame_c, dtype=wp.transform, device="cpu")
        self.places = conventions.Places()
        self.places.world = ints([0, 1])
        self.places.coord, self.places.dof = ints([0, m.nq]), ints([0, m.nv])
        self.places.target, self.places.body = self.places.coord, ints([0, m.nbody - 1])
        self.places.control = ints([0, 0])
        self.places.xform = wp.array(self.placed, dtype=wp.transform, device="cpu")
        self.places.moved = 1
        two = lambda x, dtype=float: wp.array(np.stack([x] * WORLDS), dtype=dtype, device="cpu")  # noqa: E731
        self.qpos0, self.ipos = two(m.qpos0), two(m.body_ipos, wp.vec3)
        self.two = two

    def state(self):
        q = self.rng.normal(size=(WORLDS, self.m.nq))
        q[:, 3:7], q[:, 7:11] = _unit(self.rng, WORLDS), _unit(self.rng, WORLDS)
        return q.astype(np.float32), self.rng.normal(size=(WORLDS, self.m.nv)).astype(np.float32)

    def to_mujoco(self, q, qd):
        flat = [wp.array(x.ravel(), dtype=float, device="cpu") for x in (q, qd)]
        qpos, qvel = self.two(np.zeros(self.m.nq)), self.two(np.zeros(self.m.nv))
        inputs = [self.joints, self.places, *flat, self.qpos0, self.ipos, qpos, qvel]
        run(conventions.state_in, 3, inputs)
        return qpos, qvel


@pytest.fixture(scope="module")
def case():
    return Case()


def test_there_and_back(case):
    q, qd = case.state()
    qpos, qvel = case.to_mujoco(q, qd)
    back = [wp.zeros(x.size, dtype=float, device="cpu") for x in (q, qd)]
    inputs = [case.joints, case.places, qpos, qvel, case.qpos0, case.ipos, *back]
    run(conventions.state_out, 3, inputs)
    found, speed = (x.numpy().reshape(WORLDS, -1) for x in back)
    for part in (slice(3, 7), slice(7, 11)):  # a quaternion and its negative are the same turn
        found[:, part] *= np.sign(np.sum(found[:, part] * q[:, part], axis=1, keepdims=True))
    np.testing.assert_allclose(found, q, atol=3e-6)
    np.testing.assert_allclose(speed, qd, atol=3e-6)


def test_meaning_of_coordinates(case):
    """Poses and velocities by Newton's definitions equal those of mj_forward at the converted state."""
    q, qd = case.state()
    qpos, qvel = case.to_mujoco(q, qd)
    for w in range(WORLDS):
        d = mujoco.MjData(case.m)
        d.qpos, d.qvel = qpos.numpy()[w], qvel.numpy()[w]
        mujoco.mj_forward(case.m, d)
        pose = transform_mul(transform_mul(case.frame_p[0], q[w, :7].astype(float)), transform_inverse(case.frame_c[0]))
        local = transform_mul(transform_inverse(case.placed[w]), pose)
        np.testing.assert_allclose(d.xpos[1], local[:3], atol=1e-5)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(case.m, d, mujoco.mjtObj.mjOBJ_BODY, 1, velocity, 0)  # at the centre of mass
        back = case.placed[w, 3:] * [-1, -1, -1, 1]
        expect = [quat_rotate(back, quat_rotate(case.frame_p[0, 3:], qd[w, s].astype(float))) for s in
                  (slice(3, 6), slice(0, 3))]  # fmt: skip
        np.testing.assert_allclose(velocity, np.concatenate(expect), atol=2e-5)
        assert d.qpos[11] == pytest.approx(q[w, 11] + 0.5, abs=1e-6)


def test_power_is_the_same_on_both_sides(case):
    """Forces are dual to velocities: f qd of Newton's arrays is qfrc qvel of MuJoCo's."""
    q, qd = case.state()
    qpos, qvel = case.to_mujoco(q, qd)
    f = case.rng.normal(size=(WORLDS, case.m.nv)).astype(np.float32)
    applied = case.two(np.zeros(case.m.nv))
    flat = [wp.array(x.ravel(), dtype=float, device="cpu") for x in (q, f)]
    inputs = [case.joints, case.places, *flat, case.ipos, qpos, applied]
    run(conventions.forces_in, 3, inputs)
    back = wp.zeros(f.size, dtype=float, device="cpu")
    inputs = [case.joints, case.places, qpos, case.ipos, applied, back]
    run(conventions.actuation_out, 3, inputs)
    np.testing.assert_allclose(back.numpy().reshape(f.shape), f, atol=5e-6)
    turned = qd.astype(float)
    for part in (slice(0, 3), slice(3, 6)):  # velocities of a free joint are in X_p's frame, its force in the world's
        turned[:, part] = quat_rotate(case.frame_p[0, 3:], turned[:, part])
    np.testing.assert_allclose(np.sum(applied.numpy() * qvel.numpy(), 1), np.sum(f * turned, 1), atol=2e-5)


def test_bodies_and_wrenches(case):
    q, qd = case.state()
    qpos, qvel = case.to_mujoco(q, qd)
    n, data = case.m.nbody, []
    for w in range(WORLDS):
        d = mujoco.MjData(case.m)
        d.qpos, d.qvel = qpos.numpy()[w], qvel.numpy()[w]
        mujoco.mj_forward(case.m, d)
        data.append(d)
    bodies = wp.array(np.arange(-1, n - 1, dtype=np.int32), dtype=int, device="cpu")
    body_q = wp.zeros(WORLDS * (n - 1), dtype=wp.transform, device="cpu")
    body_qd = wp.zeros(WORLDS * (n - 1), dtype=wp.spatial_vector, device="cpu")
    tree, moving, m = kinematics.Tree(), kinematics.Moving(), case.m
    for name, kind in kinematics.Tree.vars.items():
        if kind.type.ndim == 1:
            setattr(tree, name, wp.array(getattr(m, name).astype(np.int32), dtype=int, device="cpu"))
        elif hasattr(m, name):
            setattr(tree, name, case.two(getattr(m, name), kind.type.dtype))
    moving.x = wp.array(np.tile([0, 0, 0, 0, 0, 0, 1.0], (WORLDS, n, 1)), dtype=wp.transform, device="cpu")
    moving.v = wp.zeros((WORLDS, n), dtype=wp.spatial_vector, device="cpu")
    items, found, flat = boundary.Items(), boundary.Found(), boundary.Flat()
    items.bodies, items.places, items.nbody, items.njnt = bodies, case.places, n, -1
    items.chains = kinematics.chains(m.body_parentid, wp.get_device("cpu"))
    items.nchain = len(items.chains.own)
    found.qpos, found.qvel, found.body_ipos, flat.body_q, flat.body_qd = qpos, qvel, case.ipos, body_q, body_qd
    written = []
    for lanes in (1, 4):  # a thread that takes all chains, and several, as on CUDA
        body_q.zero_()
        wp.launch(boundary.write_items, (lanes, WORLDS), [items, found, tree, moving, flat, lanes], device="cpu")
        written.append(body_q.numpy().copy())
    assert np.array_equal(*written)
    poses, twists = body_q.numpy().reshape(WORLDS, n - 1, 7), body_qd.numpy().reshape(WORLDS, n - 1, 6)
    for w, d in enumerate(data):
        for b in range(1, n):
            local = np.concatenate([d.xpos[b], d.xquat[b][[1, 2, 3, 0]]])
            expect = transform_mul(case.placed[w], local)
            np.testing.assert_allclose(poses[w, b - 1][:3], expect[:3], atol=1e-5)
            assert abs(poses[w, b - 1][3:] @ expect[3:]) == pytest.approx(1, abs=1e-5)
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(case.m, d, mujoco.mjtObj.mjOBJ_BODY, b, velocity, 0)
            turned = quat_rotate(case.placed[w, 3:], velocity.reshape(2, 3)[::-1])
            np.testing.assert_allclose(twists[w, b - 1], turned.ravel(), atol=3e-5)
    f = case.rng.normal(size=(WORLDS * (n - 1), 6)).astype(np.float32)
    applied = case.two(np.zeros((n, 6)), wp.spatial_vector)
    wrench = wp.array(f, dtype=wp.spatial_vector, device="cpu")
    run(conventions.wrenches_in, n, [bodies, case.places, wrench, applied])
    power = np.sum(applied.numpy()[:, 1:] * np.stack([_twists(case.m, d) for d in data]), axis=(1, 2))
    np.testing.assert_allclose(power, np.sum(f.reshape(WORLDS, n - 1, 6) * twists, axis=(1, 2)), rtol=1e-4, atol=1e-4)


def _twists(m, d):
    """(v, w) of each body's centre of mass in the world's own frame."""
    out = np.zeros((m.nbody - 1, 6))
    for b in range(1, m.nbody):
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_BODY, b, velocity, 0)
        out[b - 1] = np.concatenate([velocity[3:], velocity[:3]])
    return out


@pytest.mark.parametrize("module", [boundary, model_contacts, particle_contacts], ids=lambda m: m.__name__)
def test_kernels_compile_for_cuda(module, tmp_path):
    wp.compile_aot_module(module, arch=90, module_dir=str(tmp_path), use_ptx=True)
    assert any(tmp_path.iterdir())


def test_chains_hold_every_body_once_behind_its_ancestors():
    parents = np.array([0, 0, 1, 2, 1, 4, 0, 6, 2])
    found = kinematics.chains(parents, "cpu")
    body, start, own = (array.numpy().tolist() for array in (found.body, found.start, found.own))
    ways = [body[a:b] for a, b in zip(start, start[1:], strict=False)]
    assert ways == [[1, 2, 3], [1, 4, 5], [6, 7], [1, 2, 8]]
    assert [way[k - a :] for way, k, a in zip(ways, own, start, strict=False)] == [[1, 2, 3], [4, 5], [6, 7], [8]]
