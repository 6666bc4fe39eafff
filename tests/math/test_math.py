"""Quaternions, frames and spatial vectors against MuJoCo's mju_ functions."""

import mujoco
import numpy as np
import pytest
import warp as wp

from kinema.math import quaternion, spatial
from kinema.math.frame import make_frame

N = 200
TOL = 3e-6


@wp.kernel(enable_backward=False)
def quaternion_cases(
    a: wp.array(dtype=wp.vec4),
    b: wp.array(dtype=wp.vec4),
    v: wp.array(dtype=wp.vec3),
    q: wp.array2d(dtype=wp.vec4),
    r: wp.array2d(dtype=wp.vec3),
):
    i = wp.tid()
    q[i, 0] = quaternion.mul_quat(a[i], b[i])
    q[i, 1] = quaternion.integrate(a[i], v[i], 0.1)
    q[i, 2] = quaternion.axis_angle(wp.normalize(v[i]), 0.7)
    q[i, 3] = quaternion.from_mat(quaternion.to_mat(a[i]))
    q[i, 4] = quaternion.mul_quat_axis(a[i], v[i])
    r[i, 0] = quaternion.rotate(a[i], v[i])
    r[i, 1] = quaternion.rotate_inverse(a[i], v[i])
    r[i, 2] = quaternion.sub_quat(a[i], b[i])


@wp.kernel(enable_backward=False)
def frame_cases(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    out[i] = make_frame(x[i], y[i])


@wp.kernel(enable_backward=False)
def spatial_cases(
    u: wp.array(dtype=wp.spatial_vector),
    s: wp.array(dtype=wp.spatial_vector),
    i10: wp.array(dtype=spatial.vec10),
    out: wp.array2d(dtype=wp.spatial_vector),
):
    i = wp.tid()
    out[i, 0] = spatial.cross_motion(u[i], s[i])
    out[i, 1] = spatial.cross_force(u[i], s[i])
    out[i, 2] = spatial.inertia_mul(i10[i], s[i])


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def to_mat(q):
    m = np.zeros(9)
    mujoco.mju_quat2Mat(m, q)
    return m.reshape(3, 3)


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(1)


def test_quaternions(rng):
    a, b, v = unit(rng.normal(size=(N, 4))), unit(rng.normal(size=(N, 4))), rng.normal(size=(N, 3))
    v[:3] *= [[0.0], [1e-9], [30.0]]
    q, r = wp.zeros((N, 5), dtype=wp.vec4), wp.zeros((N, 3), dtype=wp.vec3)
    args = [wp.array(a, dtype=wp.vec4), wp.array(b, dtype=wp.vec4), wp.array(v, dtype=wp.vec3)]
    wp.launch(quaternion_cases, dim=N, inputs=args, outputs=[q, r])
    q, r = q.numpy(), r.numpy()
    for i in range(N):
        res4, res3, mat = np.zeros(4), np.zeros(3), np.zeros(9)
        mujoco.mju_mulQuat(res4, a[i], b[i])
        np.testing.assert_allclose(q[i, 0], res4, atol=TOL)
        res4[:] = a[i]
        mujoco.mju_quatIntegrate(res4, v[i], 0.1)
        np.testing.assert_allclose(q[i, 1], res4, atol=TOL)
        if i > 0:
            mujoco.mju_axisAngle2Quat(res4, unit(v[i]), 0.7)
            np.testing.assert_allclose(q[i, 2], res4, atol=TOL)
        mujoco.mju_quat2Mat(mat, a[i])
        mujoco.mju_mat2Quat(res4, mat)
        np.testing.assert_allclose(q[i, 3], res4, atol=TOL)
        mujoco.mju_mulQuatAxis(res4, a[i], v[i])
        np.testing.assert_allclose(q[i, 4], res4, atol=1e-5 * max(1, np.abs(v[i]).max()))
        mujoco.mju_rotVecQuat(res3, v[i], a[i])
        np.testing.assert_allclose(r[i, 0], res3, atol=1e-6 * max(1, np.abs(v[i]).max()))
        np.testing.assert_allclose(r[i, 1], to_mat(a[i]).T @ v[i], atol=1e-6 * max(1, np.abs(v[i]).max()))
        mujoco.mju_subQuat(res3, a[i], b[i])
        np.testing.assert_allclose(r[i, 2], res3, atol=1e-5)


def test_zero_quaternion_normalises_to_no_rotation():
    q = wp.zeros(1, dtype=wp.vec4)
    out = wp.zeros((1, 5), dtype=wp.vec4)
    wp.launch(
        quaternion_cases,
        dim=1,
        inputs=[q, q, wp.zeros(1, dtype=wp.vec3)],
        outputs=[out, wp.zeros((1, 3), dtype=wp.vec3)],
    )
    np.testing.assert_array_equal(out.numpy()[0, 1], [1, 0, 0, 0])


def test_frames_follow_mujoco_rule():
    """MuJoCo does not export mju_makeFrame, so contacts of a sphere with a tilted plane are the oracle."""
    spec = """<mujoco><worldbody><geom type="plane" size="1 1 1" quat="{}"/>
      <body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    rng = np.random.default_rng(2)
    normals, frames = [], []
    for quat in [np.array([1.0, 0, 0, 0]), np.array([1.0, -1, 0, 0]) / 2**0.5, *unit(rng.normal(size=(40, 4)))]:
        m = mujoco.MjModel.from_xml_string(spec.format(" ".join(map(str, quat))))
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        normals.append(d.contact[0].frame[:3])
        frames.append(np.array(d.contact[0].frame).reshape(3, 3))
    n = len(normals)
    out = wp.zeros(n, dtype=wp.mat33)
    wp.launch(
        frame_cases,
        dim=n,
        inputs=[wp.array(np.array(normals), dtype=wp.vec3), wp.zeros(n, dtype=wp.vec3)],
        outputs=[out],
    )
    np.testing.assert_allclose(out.numpy(), np.array(frames), atol=TOL)


def test_spatial_vectors(rng):
    u, s = rng.normal(size=(N, 6)), rng.normal(size=(N, 6))
    i10 = rng.normal(size=(N, 10))
    out = wp.zeros((N, 3), dtype=wp.spatial_vector)
    args = [
        wp.array(u, dtype=wp.spatial_vector),
        wp.array(s, dtype=wp.spatial_vector),
        wp.array(i10, dtype=spatial.vec10),
    ]
    wp.launch(spatial_cases, dim=N, inputs=args, outputs=[out])
    w, v, a, b = u[:, :3], u[:, 3:], s[:, :3], s[:, 3:]
    np.testing.assert_allclose(
        out.numpy()[:, 0], np.hstack([np.cross(w, a), np.cross(w, b) + np.cross(v, a)]), atol=1e-5
    )
    np.testing.assert_allclose(
        out.numpy()[:, 1], np.hstack([np.cross(w, a) + np.cross(v, b), np.cross(w, b)]), atol=1e-5
    )
    j = i10[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    mc, m = i10[:, 6:9], i10[:, 9:]
    want = np.hstack([np.einsum("nij,nj->ni", j, a) + np.cross(mc, b), m * b - np.cross(mc, a)])
    np.testing.assert_allclose(out.numpy()[:, 2], want, atol=1e-5)
