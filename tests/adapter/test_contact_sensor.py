"""Forces of contacts in Newton's buffers, and the sensor over them, against MuJoCo's mj_contactForce."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from kinema import ModelBuilder, SolverConvex
from kinema.errors import BuildError
from kinema.sensors import SensorContact
from tests.conformance.staged import StagedEngine

STEPS = 60
DOCUMENT = """<mujoco><option timestep=".002" cone="elliptic"/><worldbody>
  <geom name="slope" type="plane" size="0 0 1" zaxis=".2 0 1"/>
  <body name="crate" pos="0 0 .12"><freejoint/><geom name="crate" type="box" size=".1 .1 .1" mass="2"/></body>
  <body name="lid" pos=".02 0 .33"><freejoint/><geom name="lid" type="box" size=".08 .08 .1" mass="1"/></body>
  <body name="ball" pos=".6 0 .1"><freejoint/><geom name="ball" size=".1" mass=".5"/></body>
</worldbody></mujoco>"""
SIDES = ("crate", "lid", "ball", "slope")


@pytest.fixture(scope="module")
def run():
    """Two worlds of it, apart and turned, after some steps; and MuJoCo's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kinema.adapter.solver.Engine", StagedEngine)
        one, main = ModelBuilder(), ModelBuilder()
        one.add_mjcf(DOCUMENT)
        turn = (0.0, 0.0, np.sin(0.4), np.cos(0.4))
        main.replicate(one, 2, xforms=[((0, 0, 0), (0, 0, 0, 1)), ((5.0, 1.0, 0.0), turn)])
        model = main.finalize(device="cpu")
        sensor = SensorContact(model, sensing_bodies="*", counterpart_shapes=["*slope", "*lid", "*crate"])
        solver, state, contacts = SolverConvex(model), model.state(), model.contacts()
        before = model.state()
        for _ in range(STEPS):
            before.assign(state)
            solver.step(state, state)
        solver.update_contacts(contacts)
        sensor.update(before, contacts)
        m = mujoco.MjModel.from_xml_string(DOCUMENT)
        d = mujoco.MjData(m)
        mujoco.mj_step(m, d, STEPS)
        yield model, solver, state, contacts, sensor, m, d


def expected(m, d):
    """Force, its friction, and weighted place of each body by each other geom, from MuJoCo's contacts."""
    force, friction, place, weight = (np.zeros((3, 4, 3)), np.zeros((3, 4, 3)), np.zeros((3, 4, 3)), np.zeros((3, 4)))
    for c in range(d.ncon):
        local, frame = np.zeros(6), d.contact[c].frame.reshape(3, 3)
        mujoco.mj_contactForce(m, d, c, local)
        f = frame.T @ local[:3]
        for side, sign in ((0, -1), (1, 1)):
            body = m.geom_bodyid[d.contact[c].geom[side]] - 1
            other = SIDES.index(m.geom(d.contact[c].geom[1 - side]).name)
            if body >= 0:
                force[body, other] += sign * f
                friction[body, other] += sign * (f - frame[0] * local[0])
                place[body, other] += np.linalg.norm(f) * d.contact[c].pos
                weight[body, other] += np.linalg.norm(f)
    return force, friction, place / np.maximum(weight, 1e-12)[..., None]


def test_contacts_are_those_of_the_engine(run):
    model, solver, _, contacts, _, _, d = run
    count = int(contacts.rigid_contact_count.numpy()[0])
    assert count == 2 * d.ncon and solver.get_max_contact_count() >= count
    normals = contacts.rigid_contact_normal.numpy()[:count]
    np.testing.assert_allclose(normals[: d.ncon], [c.frame[:3] for c in d.contact], atol=1e-3)
    shapes = contacts.rigid_contact_shape0.numpy()[:count]
    np.testing.assert_array_equal(shapes[d.ncon :] - shapes[: d.ncon], model.shape_count // 2)
    assert not contacts.force.numpy()[count:].any()


def test_forces_by_counterpart(run):
    model, _, _, _, sensor, m, d = run
    force, friction, place = expected(m, d)
    assert sensor.sensing_type == "body" and sensor.counterpart_type == "shape"
    assert sensor.force_matrix.shape == (6, 3)
    columns = [SIDES.index(model.shape_label[k].rpartition("/")[2]) for k in sensor.counterpart_indices[0]]
    turns = [np.eye(3), np.array([[np.cos(0.8), -np.sin(0.8), 0], [np.sin(0.8), np.cos(0.8), 0], [0, 0, 1]])]
    for world, turn in enumerate(turns):
        mine = slice(3 * world, 3 * world + 3)
        scale = np.abs(force).max()
        for found, wanted in ((sensor.force_matrix, force), (sensor.force_matrix_friction, friction)):
            np.testing.assert_allclose(found.numpy()[mine], wanted[:, columns] @ turn.T, atol=2e-3 * scale)
        np.testing.assert_allclose(sensor.total_force.numpy()[mine], force.sum(axis=1) @ turn.T, atol=2e-3 * scale)
        shift = np.array([0, 0, 0]) if world == 0 else np.array([5.0, 1.0, 0.0])
        touching = np.abs(force[:, columns]).sum(axis=-1) > 1e-6
        where = np.where(touching[..., None], place[:, columns] @ turn.T + shift, 0.0)
        np.testing.assert_allclose(sensor.position_matrix.numpy()[mine], where, atol=2e-3)
    assert np.abs(friction).max() > 0.5, "the slope holds by friction"


def test_observables_give_the_same(run):
    model, _, _, _, sensor, _, _ = run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kinema.adapter.solver.Engine", StagedEngine)
        solver, state, contacts = SolverConvex(model), model.state(), model.contacts()
        assert solver.supported_observables == {"body_qdd", "body_parent_f", "contact_f"}
        told = solver.observables({"body_qdd", *sensor.solver_observable_kinds}, contacts=contacts)
        for _ in range(STEPS):
            solver.step(state, state, observables=told)
    again = SensorContact(model, sensing_bodies="*", request_contact_attributes=False)
    again.update(state, contacts, observables=told)
    np.testing.assert_allclose(again.total_force.numpy(), sensor.total_force.numpy(), atol=1e-4)
    assert again.force_matrix is None and told.body_parent_f is None
    assert np.abs(told.body_qdd.numpy()).max() > 0
    with pytest.raises(BuildError, match="contact_f needs contacts="):
        solver.observables({"contact_f"})
    with pytest.raises(BuildError, match="'body_qd'.*body_qdd"):
        solver.observables({"body_qd"})


def test_selected_as_newton_selects(run):
    """Rows, columns and indices against Newton's own sensor on the same layout."""
    newton = pytest.importorskip("newton")
    ours, theirs = ModelBuilder(), newton.ModelBuilder()
    for main, kind in ((ours, ModelBuilder), (theirs, newton.ModelBuilder)):
        main.add_ground_plane(label="ground")
        for count in (2, 3):
            world = kind()
            for k in range(count):
                world.add_shape_sphere(world.add_body(label=f"b{k}"), radius=0.1, label=f"s{k}")
            main.add_world(world)
    mine, yours = ours.finalize(device="cpu"), theirs.finalize(device="cpu")
    chosen = {"sensing_bodies": "*b1", "counterpart_shapes": ["ground", "*s*"], "request_contact_attributes": False}
    found, wanted = SensorContact(mine, **chosen), newton.sensors.SensorContact(yours, **chosen)
    assert found.sensing_indices == wanted.sensing_indices
    assert found.counterpart_indices == wanted.counterpart_indices
    assert found.force_matrix.shape == wanted.force_matrix.shape
    np.testing.assert_array_equal(found._column.numpy(), wanted._counterpart_shape_to_col.numpy())
    np.testing.assert_array_equal(found._row.numpy(), wanted._sensing_shape_to_row.numpy())


def test_refused(run):
    model = run[0]
    for wrong, told in (
        ({}, "either sensing_bodies or sensing_shapes"),
        ({"sensing_bodies": "*", "sensing_shapes": "*"}, "either sensing_bodies"),
        ({"sensing_bodies": "*", "counterpart_bodies": "*", "counterpart_shapes": "*"}, "not both"),
        ({"sensing_bodies": "*", "measure_total": False}, "nothing to measure"),
        ({"sensing_bodies": [0, 0]}, "given twice"),
        ({"sensing_bodies": "crat"}, "no sensing body"),
    ):
        with pytest.raises(BuildError, match=told):
            SensorContact(model, **wrong)
    quiet = SensorContact(model, sensing_bodies="*", request_contact_attributes=False)
    bare = ModelBuilder()
    bare.add_shape_sphere(bare.add_body(), radius=0.1)
    with pytest.raises(BuildError, match="no forces"):
        quiet.update(None, bare.finalize(device="cpu").contacts())
