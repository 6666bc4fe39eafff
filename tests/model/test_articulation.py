"""eval_fk, eval_ik, eval_jacobian, eval_mass_matrix: against Newton 1.7 on models that both load, and MuJoCo."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
import warp as wp

import kinema
from kinema.errors import BuildError
from kinema.model import ModelBuilder
from tests.convex.test_newton_kinematics import _chain, newton_transform

newton = pytest.importorskip("newton")
ASSETS = Path(newton.__file__).parent / "examples/assets"
DOF = newton.ModelBuilder.JointDofConfig


def _arm(joints, free):
    """A chain of bodies: h a hinge, s a slide, b a ball, d a hinge and two slides, w a weld; each posed at random."""
    rng = np.random.default_rng(len(joints) + free)
    xml, n = "", 0
    for k, kind in enumerate(joints):
        axis, pos, quat = rng.normal(size=3), rng.normal(size=3), rng.normal(size=4)
        text = lambda v: " ".join(f"{x:.6f}" for x in v)  # noqa: E731
        one = {"h": "hinge", "s": "slide", "b": "ball", "w": ""}.get(kind)
        parts = [(one, axis)] if one else []
        if kind == "d":
            basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            parts = [("slide", basis[:, 0]), ("slide", basis[:, 1]), ("hinge", basis[:, 2])]
        held = "".join(f'<joint type="{t}" axis="{text(a)}"/>' for t, a in parts)
        if free and k == 0:
            held = "<freejoint/>"
        xml += f'<body pos="{text(pos)}" quat="{text(quat)}">{held}'
        xml += f'<inertial pos="{text(rng.normal(size=3))}" mass="{1 + k}" diaginertia="0.3 0.4 0.5"/>'
        n += 1
    return f"<mujoco><worldbody>{xml}{'</body>' * n}</worldbody></mujoco>"


CHAINS = {name: _arm(name.split("-")[0], name.endswith("free")) for name in
          ("hhh", "hsh", "shb", "dhh", "hbh-free", "hdb-free", "bwh", "ssw-free")}  # fmt: skip


def _pair(source):
    """The model on both sides, at the same random state."""
    ours, theirs = ModelBuilder(), newton.ModelBuilder()
    ours.add_mjcf(source)
    theirs.add_mjcf(source, parse_sites=False)
    return _at_random(ours.finalize(device="cpu"), theirs.finalize(device="cpu"))


def _at_random(ours, theirs):
    assert ours.joint_coord_count == theirs.joint_coord_count and ours.body_count == theirs.body_count
    np.testing.assert_array_equal(ours.joint_type.numpy(), theirs.joint_type.numpy())
    rng = np.random.default_rng(2)
    q, qd = rng.uniform(-1, 1, ours.joint_coord_count), rng.normal(size=ours.joint_dof_count)
    starts = ours.joint_q_start.numpy()
    for j, kind in enumerate(ours.joint_type.numpy()):
        at = {int(kinema.JointType.FREE): starts[j] + 3, int(kinema.JointType.BALL): starts[j]}.get(int(kind))
        if at is not None:
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    states = []
    for model, module in ((ours, kinema), (theirs, newton)):
        state = model.state()
        state.joint_q.assign(q.astype(np.float32))
        state.joint_qd.assign(qd.astype(np.float32))
        module.eval_fk(model, state.joint_q, state.joint_qd, state)
        states.append(state)
    return ours, theirs, states


def _check(ours, theirs, states):
    """All four functions on both sides."""
    mine, other = states
    x, y = mine.body_q.numpy(), other.body_q.numpy()
    np.testing.assert_allclose(x[:, :3], y[:, :3], atol=2e-5)
    np.testing.assert_allclose(np.abs(np.sum(x[:, 3:] * y[:, 3:], axis=1)), 1, atol=1e-5)
    np.testing.assert_allclose(mine.body_qd.numpy(), other.body_qd.numpy(), atol=1e-4, rtol=1e-4)
    found = [
        [f(model, state).numpy() for f in (module.eval_jacobian, module.eval_mass_matrix)]
        for model, state, module in ((ours, mine, kinema), (theirs, other, newton))
    ]
    mixed = np.any(np.all(ours.joint_dof_dim.numpy()[ours.joint_type.numpy() == kinema.JointType.D6] > 0, axis=1))
    for a, b in zip(*found, strict=True):
        assert a.shape == b.shape and np.abs(b).max() > 0.1
        if not mixed:  # Newton's turns of a joint that also slides are about where the anchor was before it slid
            np.testing.assert_allclose(a, b, atol=2e-4 * max(1.0, np.abs(b).max()))
    start, end = ours.articulation_start.numpy(), ours.articulation_end.numpy()
    for a, rows in enumerate(found[0][0]):  # the definition: J qd is how bodies move
        qd = mine.joint_qd.numpy()[ours.joint_qd_start.numpy()[start[a]] :][: rows.shape[1]]
        bodies = ours.joint_child.numpy()[start[a] : end[a]]
        speed = (rows[:, : len(qd)] @ qd).reshape(-1, 6)[: len(bodies)]
        np.testing.assert_allclose(speed, mine.body_qd.numpy()[bodies], atol=3e-4, rtol=3e-4)
    back = [wp.zeros_like(mine.joint_q), wp.zeros_like(mine.joint_qd)]
    kinema.eval_ik(ours, mine, *back)
    again = ours.state()
    kinema.eval_fk(ours, *back, again)
    np.testing.assert_allclose(again.body_q.numpy()[:, :3], x[:, :3], atol=5e-5)
    np.testing.assert_allclose(again.body_qd.numpy(), mine.body_qd.numpy(), atol=5e-4, rtol=5e-4)
    expect = [wp.zeros_like(other.joint_q), wp.zeros_like(other.joint_qd)]
    newton.eval_ik(theirs, other, *expect)
    if not mixed:
        np.testing.assert_allclose(back[1].numpy(), expect[1].numpy(), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_documents(name):
    _check(*_pair(CHAINS[name]))


@pytest.mark.parametrize("name", ["nv_ant.xml", "nv_humanoid.xml"])
def test_robots_of_newtons_examples(name):
    _check(*_pair(str(ASSETS / name)))


def test_every_kind_of_joint_built_by_hand():
    ours = _chain(ModelBuilder(), kinema.JointDofConfig, lambda x: x)
    theirs = _chain(newton.ModelBuilder(), DOF, lambda x: newton_transform(x))
    _check(*_at_random(ours, theirs))


@pytest.mark.parametrize("name", ["hhh", "dhh", "hdb-free"])
def test_mass_matrix_against_mujoco(name):
    """H in MuJoCo's coordinates: kinetic energy is the same."""
    builder = ModelBuilder()
    builder.add_mjcf(CHAINS[name])
    model = builder.finalize(device="cpu")
    solver, state = kinema.SolverConvex(model), model.state()
    rng = np.random.default_rng(4)
    state.joint_qd.assign(rng.normal(size=model.joint_dof_count).astype(np.float32))
    solver.forward(state)
    m = mujoco.MjModel.from_xml_string(CHAINS[name])
    d = mujoco.MjData(m)
    engine = solver.batches[0].engine
    d.qpos, d.qvel = engine.read("qpos")[0], engine.read("qvel")[0]
    mujoco.mj_forward(m, d)
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, full)
    H, qd = kinema.eval_mass_matrix(model, state).numpy()[0], state.joint_qd.numpy()
    assert qd @ H @ qd == pytest.approx(d.qvel @ full @ d.qvel, rel=1e-5)
    bodies = model.state()
    kinema.eval_fk(model, state.joint_q, state.joint_qd, bodies)
    np.testing.assert_allclose(bodies.body_q.numpy()[:, :3], d.xpos[1:], atol=1e-5)
    np.testing.assert_allclose(bodies.body_qd.numpy(), state.body_qd.numpy(), atol=2e-4)


def test_some_articulations_only():
    one, many = ModelBuilder(), ModelBuilder()
    one.add_mjcf(CHAINS["hhh"])
    many.replicate(one, 3)
    model = many.finalize(device="cpu")
    state, n = model.state(), model.body_count // 3
    state.joint_q.fill_(0.5)
    before = state.body_q.numpy().copy()
    mask = wp.array([False, True, False], dtype=wp.bool, device="cpu")
    kinema.eval_fk(model, state.joint_q, state.joint_qd, state, mask=mask)
    moved = np.abs(state.body_q.numpy() - before).reshape(3, -1).max(axis=1) > 1e-3
    assert moved.tolist() == [False, True, False] and n == 3
    kinema.eval_fk(model, state.joint_q, state.joint_qd, state, indices=wp.array([2, 7], dtype=int, device="cpu"))
    moved = np.abs(state.body_q.numpy() - before).reshape(3, -1).max(axis=1) > 1e-3
    assert moved.tolist() == [False, True, True]
    J = kinema.eval_jacobian(model, state, mask=mask).numpy()
    assert [bool(np.any(x)) for x in J] == [False, True, False]
    with pytest.raises(BuildError, match="twice"):
        kinema.eval_ik(model, state, state.joint_q, state.joint_qd, mask=mask, indices=mask)
    with pytest.raises(BuildError, match=r"H has shape \(1,\)"):
        kinema.eval_mass_matrix(model, state, H=wp.zeros(1, dtype=float, device="cpu"))
