"""Poses and velocities of bodies from joint coordinates: SolverConvex against Newton's own forward kinematics.

Every kind of joint, with random frames on both sides and a centre of mass off the origin, in a chain on a free body.
"""

from __future__ import annotations

import numpy as np
import pytest

from kinema.model import JointDofConfig, ModelBuilder
from kinema.solvers import SolverConvex

newton = pytest.importorskip("newton")


def _pose(rng):
    q = rng.normal(size=4)
    return (tuple(rng.normal(size=3)), tuple(q / np.linalg.norm(q)))


def _chain(builder, axis_config, transform):
    """The same adders exist in both builders."""
    rng = np.random.default_rng(5)

    def link():
        inertia = np.diag(rng.uniform(0.2, 0.3, 3))
        return builder.add_link(mass=1.0, com=tuple(rng.normal(size=3)), inertia=inertia)

    def frames():
        return {"parent_xform": transform(_pose(rng)), "child_xform": transform(_pose(rng))}

    def axes(n):
        basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        return [axis_config(axis=tuple(basis[:, k])) for k in range(n)]

    root, ball, slide, turn, both, stuck = (link() for _ in range(6))
    free = builder.add_joint_free(root, **frames())
    joints = [
        free,
        builder.add_joint_ball(root, ball, **frames()),
        builder.add_joint_prismatic(ball, slide, axis=axes(1)[0].axis, **frames()),
        builder.add_joint_revolute(slide, turn, axis=axes(1)[0].axis, **frames()),
        builder.add_joint_d6(turn, both, linear_axes=axes(2), angular_axes=axes(2), **frames()),
        builder.add_joint_fixed(both, stuck, **frames()),
    ]
    builder.add_articulation(joints)
    return builder.finalize(device="cpu")


def test_bodies_are_where_newton_puts_them():
    ours = _chain(ModelBuilder(), JointDofConfig, lambda x: x)
    theirs = _chain(newton.ModelBuilder(), newton.ModelBuilder.JointDofConfig, lambda x: newton_transform(x))
    rng = np.random.default_rng(1)
    q, qd = rng.normal(size=ours.joint_coord_count), rng.normal(size=ours.joint_dof_count)
    for start in (3, 7):
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    assert ours.joint_q.shape == theirs.joint_q.shape and ours.joint_qd.shape == theirs.joint_qd.shape
    expect = theirs.state()
    expect.joint_q.assign(q.astype(np.float32))
    expect.joint_qd.assign(qd.astype(np.float32))
    newton.eval_fk(theirs, expect.joint_q, expect.joint_qd, expect)
    state = ours.state()
    state.joint_q.assign(q.astype(np.float32))
    state.joint_qd.assign(qd.astype(np.float32))
    batch = SolverConvex(ours).batches[0]
    batch.boundary.read(state, ours.control())
    batch.boundary.write(state)
    poses, wanted = state.body_q.numpy(), expect.body_q.numpy()
    np.testing.assert_allclose(poses[:, :3], wanted[:, :3], atol=2e-5)
    np.testing.assert_allclose(np.abs(np.sum(poses[:, 3:] * wanted[:, 3:], axis=1)), 1, atol=1e-5)
    np.testing.assert_allclose(state.body_qd.numpy(), expect.body_qd.numpy(), atol=2e-4)
    assert np.abs(expect.body_qd.numpy()).max() > 1


def newton_transform(pose):
    import warp as wp

    return wp.transform(wp.vec3(*pose[0]), wp.quat(*pose[1]))
