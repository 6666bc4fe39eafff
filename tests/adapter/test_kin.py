"""Worlds that differ in numbers only share an engine, and each runs as MuJoCo runs its own document."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinema import ModelBuilder, SolverConvex
from kinema.model import ModelFlags
from tests.conformance.staged import StagedEngine

STEPS = 60


@pytest.fixture(autouse=True)
def staged(monkeypatch):
    """Kernels that all models share: quick to compile."""
    monkeypatch.setattr("kinema.adapter.solver.Engine", StagedEngine)


def walker(upper, radius=0.04, legs=2, foot="sphere", timestep=0.004, name="leg", damping=0.5, contype=1):
    """A trunk on legs of a given length: radius, masses and places follow."""
    parts = "".join(
        f'<body name="{name}{k}" pos="{0.2 * k - 0.1} 0 -.05"><joint axis="0 1 0" range="-60 60" damping="{damping}"/>'
        f'<geom type="capsule" size="{radius}" fromto="0 0 0 0 0 {-upper}" contype="{contype}"/>'
        f'<geom type="{foot}" size=".05 .05 .05" pos="0 0 {-upper}"/></body>' for k in range(legs)
    )  # fmt: skip
    return f"""<mujoco><option timestep="{timestep}" integrator="implicitfast"/><worldbody>
      <geom type="plane" size="0 0 1"/><body pos="0 0 {upper + 0.12}"><freejoint/>
      <geom type="box" size=".2 .1 .05"/>{parts}</body></worldbody>
      <keyframe><key name="up" qpos="0 0 {upper + 1} 1 0 0 0{" .1" * legs}"/></keyframe></mujoco>"""


def models(*documents, counts=None):
    main = ModelBuilder()
    for k, document in enumerate(documents):
        one = ModelBuilder()
        one.add_mjcf(document)
        main.replicate(one, counts[k] if counts else 1, spacing=(2.0 * bool(counts), 0.0, 0.0))
    return main.finalize(device="cpu")


def oracle(document, steps=STEPS, edit=None):
    m = mujoco.MjModel.from_xml_string(document)
    if edit:
        edit(m)
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, steps)
    return d.qpos


def run(solver, model, steps=STEPS):
    """Coordinates of each world in MuJoCo's order and in its own frame."""
    state = model.state()
    for _ in range(steps):
        solver.step(state, state)
    assert solver.trouble() == {}
    q, starts = state.joint_q.numpy(), model.kind_starts("joint_coord")
    worlds = [q[starts[w] : starts[w + 1]].astype(float) for w in range(model.world_count)]
    for kind in model.world_classes:
        if kind.xforms is not None:
            for place, world in zip(kind.xforms, kind.worlds, strict=True):
                worlds[world][:3] -= place[:3]
    return [np.concatenate([x[:3], x[[6, 3, 4, 5]], x[7:]]) for x in worlds]


def test_lengths_share_an_engine_and_counts_do_not():
    documents = [walker(0.2), walker(0.3, 0.05), walker(0.25, legs=3), walker(0.35, 0.03, name="limb")]
    model = models(*documents)
    solver = SolverConvex(model)
    assert [batch.worlds.worlds.tolist() for batch in solver.batches] == [[0, 1, 3], [2]]
    assert {"body_mass", "geom_size", "body_pos", "meaninertia"} <= set(solver.batches[0].engine.expanded)
    assert "jnt_range" not in solver.batches[0].engine.expanded
    for found, document in zip(run(solver, model), documents, strict=True):
        np.testing.assert_allclose(found, oracle(document), atol=5e-4)


def test_worlds_of_kin_stay_in_their_places():
    """Classes in turn, several worlds of each, apart in space: an engine holds them in the order of the model."""
    documents = [walker(0.2), walker(0.3)]
    model = models(*documents, *documents, counts=[1, 2, 2, 1])
    solver = SolverConvex(model)
    (batch,) = solver.batches
    assert batch.worlds.worlds.tolist() == [0, 1, 2, 3, 4, 5]
    expected = [oracle(document) for document in documents]
    for world, kind in enumerate([0, 1, 1, 0, 0, 1]):
        np.testing.assert_allclose(run(solver, model)[world], expected[kind], atol=5e-4)


STRANGERS = {
    "another shape": {"foot": "box"}, "another time step": {"timestep": 0.002}, "who meets whom": {"contype": 0},
}  # fmt: skip


@pytest.mark.parametrize("change", STRANGERS.values(), ids=STRANGERS)
def test_strangers(change):
    documents = [walker(0.2), walker(0.2, **change)]
    model = models(*documents)
    solver = SolverConvex(model)
    assert len(solver.batches) == 2


def test_what_is_only_looked_at_makes_no_stranger():
    other = walker(0.2).replace('type="box"', 'type="box" rgba="1 0 0 1" group="3"')
    assert len(SolverConvex(models(walker(0.2), other)).batches) == 1


def test_a_stage_that_one_of_them_needs_is_there_for_it():
    """Damping 0 in the first class: the stage is woken for the others, and does nothing in the first."""
    documents = [walker(0.2, damping=0.0), walker(0.2, damping=2.0)]
    model = models(*documents)
    solver = SolverConvex(model)
    assert len(solver.batches) == 1
    for found, document in zip(run(solver, model), documents, strict=True):
        np.testing.assert_allclose(found, oracle(document), atol=5e-4)


def test_changes_are_carried_to_the_class_they_are_of():
    documents = [walker(0.2), walker(0.3)]
    model = models(*documents)
    solver = SolverConvex(model)
    mass = model.body_mass.numpy()
    mass[model.kind_starts("body")[1]] *= 2.0
    model.body_mass.assign(mass)
    solver.notify_model_changed(ModelFlags.BODY_INERTIAL_PROPERTIES)

    def heavier(m):
        m.body_mass[1] *= 2.0
        mujoco.mj_setConst(m, mujoco.MjData(m))

    found = run(solver, model)
    np.testing.assert_allclose(found[0], oracle(documents[0]), atol=5e-4)
    np.testing.assert_allclose(found[1], oracle(documents[1], edit=heavier), atol=5e-4)


def test_built_by_hand():
    def pendulum(length):
        b = ModelBuilder()
        link = b.add_link(mass=length, com=(0, 0, -length / 2), inertia=np.eye(3) * 0.1 * length, lock_inertia=True)
        b.add_articulation([b.add_joint_revolute(-1, link, axis=(0, 1, 0))])
        return b

    main = ModelBuilder()
    for length in (0.5, 1.0, 2.0):
        main.add_world(pendulum(length))
    model = main.finalize(device="cpu")
    solver, state = SolverConvex(model), model.state()
    assert len(solver.batches) == 1
    start = np.full(3, 0.3, np.float32)
    state.joint_q.assign(start)
    for _ in range(20):
        solver.step(state, state, None, None, 0.01)
    for length, got in zip((0.5, 1.0, 2.0), state.joint_q.numpy(), strict=True):
        m = mujoco.MjModel.from_xml_string(
            f'<mujoco><option timestep=".01"/><worldbody><body><joint axis="0 1 0"/><inertial pos="0 0 {-length / 2}"'
            f' mass="{length}" diaginertia="{0.1 * length} {0.1 * length} {0.1 * length}"/></body></worldbody></mujoco>'
        )
        d = mujoco.MjData(m)
        d.qpos[0] = 0.3
        mujoco.mj_step(m, d, 20)
        assert got == pytest.approx(d.qpos[0], abs=1e-4)
