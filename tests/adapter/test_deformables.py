"""Cloth, soft bodies and ropes of a hand-built model: forces by their closed forms, motion as MuJoCo's, contacts."""

import numpy as np
import pytest
import warp as wp

from kinema import ModelBuilder
from kinema.adapter.stable_step import SHARE
from kinema.bridge.solver import SolverMuJoCo
from kinema.errors import BuildError
from kinema.model import ModelFlags
from kinema.solvers import SolverConvex

from .soft import (
    FLOAT,
    GRAVITY,
    block,
    cloth,
    contacts,
    elastic_force,
    gradient,
    jittered,
    passive_force,
    rope,
    staged,
)

__all__ = ["staged"]
pytestmark = pytest.mark.usefixtures("staged")


def finalized(*adders, **options):
    builder = ModelBuilder(**options)
    for add in adders:
        add(builder)
    return builder.finalize(device="cpu")


def moved(model, size: float = 0.003):
    """A state with every particle a little off its place."""
    state = model.state()
    q = state.particle_q.numpy().astype(float)
    state.particle_q.assign((q + jittered(len(q), size)).astype(np.float32))
    return state


# ---------------------------------------------------------------------------------------------- closed forms


def membrane_energy(model, x):
    """Saint Venant-Kirchhoff: A (mu tr E^2 + lambda / 2 (tr E)^2), E = (F'F - 1) / 2."""
    corners, poses = model.tri_indices.numpy(), model.tri_poses.numpy().astype(float)
    area, (mu, lame) = model.tri_areas.numpy(), model.tri_materials.numpy().astype(float).T[:2]
    p = x[corners]
    f = np.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], axis=2) @ poses
    e = (np.swapaxes(f, 1, 2) @ f - np.eye(2)) / 2
    trace = np.trace(e, axis1=1, axis2=2)
    return np.sum(area * (mu * np.einsum("nij,nij->n", e, e) + lame / 2 * trace**2))


def solid_energy(model, x):
    corners, poses = model.tet_indices.numpy(), model.tet_poses.numpy().astype(float)
    mu, lame = model.tet_materials.numpy().astype(float).T[:2]
    p = x[corners]
    f = np.stack([p[:, k] - p[:, 0] for k in (1, 2, 3)], axis=2) @ poses
    e = (np.swapaxes(f, 1, 2) @ f - np.eye(3)) / 2
    trace = np.trace(e, axis1=1, axis2=2)
    volume = 1 / np.linalg.det(poses) / 6
    return np.sum(volume * (mu * np.einsum("nij,nij->n", e, e) + lame / 2 * trace**2))


def hinge_angles(model, x):
    o0, o1, v0, v1 = x[model.edge_indices.numpy()].swapaxes(0, 1)
    n1, n2 = np.cross(v0 - o0, v1 - o0), np.cross(v1 - o1, v0 - o1)
    sine = np.einsum("ni,ni->n", np.cross(n1, n2), v1 - v0) / np.linalg.norm(v1 - v0, axis=1)
    return np.arctan2(sine, np.einsum("ni,ni->n", n1, n2))


def spring_energy(model, x):
    i, j = model.spring_indices.numpy().reshape(-1, 2).T
    length = np.linalg.norm(x[i] - x[j], axis=1)
    return np.sum(0.5 * model.spring_stiffness.numpy() * (length - model.spring_rest_length.numpy()) ** 2)


def inner(model) -> np.ndarray:
    return model.particle_mass.numpy() > 0


@pytest.mark.parametrize(
    ("add", "energy"),
    [
        (lambda b: cloth(b, edge_ke=0.0, tri_ka=0.0, fix_left=True), membrane_energy),
        (lambda b: cloth(b, edge_ke=0.0), membrane_energy),
        (block, solid_energy),
        (rope, spring_energy),
    ],
)
def test_forces_are_the_gradient_of_the_energy(add, energy):
    model = finalized(add)
    state = moved(model)
    solver = SolverConvex(model)
    x = state.particle_q.numpy().astype(float)
    wanted = np.where(inner(model)[:, None], -gradient(lambda y: energy(model, y), x), 0.0)
    found = elastic_force(solver, state)
    assert np.abs(wanted).max() > 0.01
    assert np.abs(found - wanted).max() < FLOAT * np.abs(wanted).max() + 1e-4


def test_materials_may_differ_from_element_to_element():
    model = finalized(lambda b: cloth(b, edge_ke=0.0), lambda b: block(b, pos=(1.0, 0.0, 0.0)))
    for array, count in ((model.tri_materials, 2), (model.tet_materials, 2)):
        values = array.numpy()
        values[:, :count] *= np.linspace(0.5, 2.0, len(values))[:, None]
        values[:, 2] = 0.0
        array.assign(values)
    state = moved(model)
    x = state.particle_q.numpy().astype(float)
    wanted = -gradient(lambda y: membrane_energy(model, y) + solid_energy(model, y), x)
    found = elastic_force(SolverConvex(model), state)
    assert np.abs(found - wanted).max() < FLOAT * np.abs(wanted).max() + 1e-4


@pytest.mark.parametrize("rest", [0.0, 0.7, -1.1])
def test_a_hinge_is_a_torsion_spring_around_its_rest_angle(rest):
    """At its rest angle a fold does no work; further on, edge_ke times the length times the angle."""

    def fold(angle):
        return np.array([[0, 0.1, 0], [0, -0.1 * np.cos(angle), -0.1 * np.sin(angle)], [-0.1, 0, 0], [0.1, 0, 0]])

    def add(builder):
        for x in fold(rest):
            builder.add_particle(x, (0, 0, 0), 0.1, radius=0.01)
        builder.add_triangle(0, 2, 3, tri_ke=0.0, tri_ka=0.0, tri_kd=0.0)
        builder.add_triangle(1, 3, 2, tri_ke=0.0, tri_ka=0.0, tri_kd=0.0)
        builder.add_edge(0, 1, 2, 3, edge_ke=0.5, edge_kd=0.0)

    model = finalized(add)
    assert np.allclose(np.abs(model.edge_rest_angle.numpy()), abs(rest), atol=1e-6)
    solver, state = SolverConvex(model), model.state()
    for turn in (0.0, 0.02, -0.02):
        state.particle_q.assign(fold(rest + turn).astype(np.float32))
        assert np.isclose(abs(hinge_angles(model, fold(rest + turn))[0]), abs(rest + turn))
        along = (fold(rest + turn + 1e-6) - fold(rest + turn - 1e-6)) / 2e-6
        torque = np.sum(elastic_force(solver, state) * along)
        assert np.isclose(torque, -0.5 * 0.2 * np.sin(turn), rtol=1e-3, atol=1e-6)


def test_rest_shapes_outlive_the_place_of_particles():
    """A cloth that begins stretched pulls: its rest shape is what it was when its triangles were made."""
    builder = ModelBuilder()
    cloth(builder, edge_ke=0.0)
    builder.particle_q[:] = [tuple(1.1 * np.asarray(q)) for q in builder.particle_q]
    model = builder.finalize(device="cpu")
    x = model.particle_q.numpy().astype(float)
    wanted = -gradient(lambda y: membrane_energy(model, y), x)
    found = elastic_force(SolverConvex(model), model.state())
    assert np.abs(wanted).max() > 0.5
    assert np.abs(found - wanted).max() < FLOAT * np.abs(wanted).max()


def neo_hookean_energy(model, x):
    """Newton's law of solids, with the same Lamé parameters."""
    corners, poses = model.tet_indices.numpy(), model.tet_poses.numpy().astype(float)
    mu, lame = model.tet_materials.numpy().astype(float).T[:2]
    p = x[corners]
    f = np.stack([p[:, k] - p[:, 0] for k in (1, 2, 3)], axis=2) @ poses
    lame = lame + mu
    energy = mu / 2 * (np.einsum("nij,nij->n", f, f) - 3) + lame / 2 * (np.linalg.det(f) - 1 - mu / lame) ** 2
    return np.sum(energy / np.linalg.det(poses) / 6)


def test_small_strains_are_those_of_newtons_material():
    model = finalized(block)
    state = moved(model, 2e-4)
    wanted = -gradient(lambda y: neo_hookean_energy(model, y), state.particle_q.numpy().astype(float))
    found = elastic_force(SolverConvex(model), state)
    assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def test_damping_resists_the_rate_of_strain():
    """Without lambda, Rayleigh's damping is Newton's: kd dC/dt."""
    model = finalized(lambda b: cloth(b, edge_ke=0.0, tri_ka=0.0, tri_kd=0.5))
    state = model.state()
    v = 0.05 * jittered(model.particle_count, 1.0)
    state.particle_qd.assign(v.astype(np.float32))
    corners, poses = model.tri_indices.numpy(), model.tri_poses.numpy().astype(float)
    area, x = model.tri_areas.numpy(), model.particle_q.numpy().astype(float)

    def metric(y):
        p = y[corners]
        f = np.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], axis=2) @ poses
        return np.swapaxes(f, 1, 2) @ f

    rate = (metric(x + 1e-6 * v) - metric(x - 1e-6 * v)) / 2e-6
    wanted = -gradient(lambda y: np.sum(area * 0.5 * np.einsum("nij,nij->n", rate, metric(y))), x)
    found = passive_force(SolverConvex(model), state, "qfrc_damper")
    assert np.abs(wanted).max() > 0.01
    assert np.abs(found - wanted).max() < 0.01 * np.abs(wanted).max()  # MuJoCo's rate is that over a time step


# ---------------------------------------------------------------------------------------------- motion


def mixed(builder: ModelBuilder) -> None:
    builder.add_ground_plane()
    builder.add_shape_sphere(-1, xform=((0.07, 0.07, 0.03), (0, 0, 0, 1)), radius=0.05)
    cloth(builder, pos=(0.0, 0.0, 0.1), fix_left=True)
    block(builder, pos=(1.0, 0.0, 0.02), k_damp=2.0)
    rope(builder)


def test_soft_bodies_move_as_in_mujoco():
    """What MuJoCo itself makes of the lowered model."""
    model = finalized(mixed)
    ours, theirs = SolverConvex(model, integrator="euler"), SolverMuJoCo(model, integrator="euler")
    one, two = model.state(), model.state()
    touched = 0
    for _ in range(40):
        ours.step(one, one, None, None, 1 / 200)
        theirs.step(two, two, None, None, 1 / 200)
        touched = max(touched, int(ours.batches[0].engine.read("ncon")[0]))
    assert touched > 4 and ours.batches[0].substeps == theirs.batches[0].substeps > 1
    assert np.abs(one.particle_q.numpy() - model.particle_q.numpy()).max() > 0.02
    assert np.abs(one.particle_q.numpy() - two.particle_q.numpy()).max() < 2e-5
    assert np.abs(one.particle_qd.numpy() - two.particle_qd.numpy()).max() < 2e-3


def test_fixed_particles_are_where_the_state_puts_them():
    model = finalized(lambda b: cloth(b, fix_left=True), lambda b: rope(b, height=1.0))
    solver, one, two = SolverConvex(model), model.state(), model.state()
    fixed = ~inner(model)
    start = model.particle_q.numpy()
    assert fixed.sum() == 5
    for _ in range(20):
        solver.step(one, two, None, None, 1 / 200)
        one, two = two, one
    assert np.array_equal(one.particle_q.numpy()[fixed], start[fixed])
    held = one.particle_q.numpy().copy()
    held[fixed] += [0.0, 0.0, 0.05]
    one.particle_q.assign(held)
    before = one.particle_qd.numpy()[~fixed, 2].mean()
    for _ in range(20):
        solver.step(one, one, None, None, 1 / 200)
    assert np.array_equal(one.particle_q.numpy()[fixed], held[fixed])
    assert one.particle_qd.numpy()[~fixed, 2].mean() > before + 0.1


def test_worlds_have_their_own_place_gravity_and_forces():
    template = ModelBuilder()
    cloth(template, 2)
    builder = ModelBuilder()
    turn = (0.0, 0.0, np.sin(0.4), np.cos(0.4))
    for k in range(3):
        builder.add_world(template, xform=((k, 2.0 * k, 0.0), turn if k else (0, 0, 0, 1)))
    model = builder.finalize(device="cpu")
    for world, gravity in enumerate(((0, 0, -9.81), (0, 0, -1.0), (2.0, 0, 0))):
        model.set_gravity(gravity, world)
    solver, state = SolverConvex(model), model.state()
    n = model.particle_count // 3
    force = np.zeros((3 * n, 3), np.float32)
    force[2 * n :] = 0.02 * np.array([0.0, 3.0, 0.0])
    state.particle_f.assign(force)
    start = state.particle_q.numpy().copy()
    for _ in range(30):
        solver.step(state, state, None, None, 1 / 300)
    v = state.particle_qd.numpy().reshape(3, n, 3).mean(axis=1)
    assert np.allclose(v, [[0, 0, -0.981], [0, 0, -0.1], [0.2, 0.3, 0.0]], atol=1e-4)
    travelled = (state.particle_q.numpy() - start).reshape(3, n, 3)
    assert np.allclose(travelled, travelled.mean(axis=1, keepdims=True), atol=1e-5)


# ---------------------------------------------------------------------------------------------- contact


def settle(model, steps: int, dt: float = 1 / 200, **options):
    solver, state = SolverConvex(model, **options), model.state()
    for _ in range(steps):
        solver.step(state, state, None, None, dt)
    return solver, state


@pytest.mark.parametrize("table", ["plane", "box"])
@pytest.mark.parametrize("kind", ["cloth", "block", "grains"])
def test_what_lies_on_a_table_weighs_what_it_weighs(kind, table):
    builder = ModelBuilder()
    if table == "plane":
        builder.add_ground_plane()
    else:
        builder.add_shape_box(-1, xform=((0.05, 0.05, -0.1), (0, 0, 0, 1)), hx=0.3, hy=0.3, hz=0.1)
    if kind == "cloth":
        cloth(builder, pos=(0.0, 0.0, 0.0099), tri_kd=1.0)
    elif kind == "block":
        block(builder, pos=(0.0, 0.0, 0.0099), k_mu=2e4, k_lambda=2e4, k_damp=100.0)
    else:
        for x in ((0.0, 0.0), (0.03, 0.0), (0.0, 0.031)):
            builder.add_particle((*x, 0.0199), (0, 0, 0), 0.02, radius=0.02)
    model = builder.finalize(device="cpu")
    solver, state = settle(model, 120)
    found = []
    for _ in range(40):  # a tetrahedron has one contact with a box, in MuJoCo as well, and trembles on it
        solver.step(state, state, None, None, 1 / 200)
        below = contacts(solver, state).between(0)
        assert len(below) > 2
        up = below.world_force[:, 2] * np.where(below.geom[:, 0] == 0, 1.0, -1.0)
        assert (up > -1e-6).all()
        found.append(up.sum())
    weight = GRAVITY * model.particle_mass.numpy().sum()
    trembles = kind == "block" and table == "box"
    assert np.isclose(np.mean(found), weight, rtol=0.03 if trembles else 2e-3)


def test_friction_holds_cloth_on_a_slope_and_lets_it_slide_without():
    """Friction is the larger of the two, as everywhere in MuJoCo."""
    travelled = []
    for mu in (0.1, 0.6):
        builder = ModelBuilder()
        turn = (0.0, np.sin(0.1), 0.0, np.cos(0.1))  # 11.5 degrees
        builder.add_shape_plane(width=0, length=0, xform=((0, 0, 0), turn), cfg=ModelBuilder.ShapeConfig(mu=mu))
        cloth(builder, 2, pos=(0.0, 0.0, 0.011), rot=turn, tri_kd=1.0)
        model = builder.finalize(device="cpu")
        model.soft_contact_mu = mu
        _, state = settle(model, 60)
        travelled.append(float((state.particle_q.numpy() - model.particle_q.numpy())[:, 0].mean()))
    slope = np.sin(0.2) - 0.1 * np.cos(0.2)
    assert np.isclose(travelled[0], 0.5 * GRAVITY * slope * 0.3**2 * np.cos(0.2), rtol=0.15)
    assert abs(travelled[1]) < 2e-3


def test_shapes_that_particles_pass_through():
    builder = ModelBuilder()
    builder.add_shape_box(-1, hx=0.3, hy=0.3, hz=0.01, cfg=ModelBuilder.ShapeConfig(has_particle_collision=False))
    cloth(builder, 2, pos=(0.0, 0.0, 0.02))
    _, state = settle(builder.finalize(device="cpu"), 60)
    assert state.particle_q.numpy()[:, 2].max() < -0.05


def test_cloth_lies_on_cloth_only_where_that_is_asked_for():
    heights = []
    for among in (False, True):
        builder = ModelBuilder()
        builder.add_ground_plane()
        cloth(builder, 1, pos=(0.0, 0.0, 0.01), tri_kd=1.0)
        cloth(builder, 1, pos=(0.005, 0.004, 0.032), tri_kd=1.0)
        _, state = settle(builder.finalize(device="cpu"), 80, particle_enable_self_contact=among)
        heights.append(float(state.particle_q.numpy()[4:, 2].mean()))
    assert heights[0] < 0.015 < 0.025 < heights[1]


# ---------------------------------------------------------------------------------------------- robots


FLOATER = """<mujoco><option gravity="0 0 0" timestep="0.001"/><worldbody>
  <body name="hull" pos="0.05 0.05 -0.06"><freejoint/>
  <geom type="box" size=".1 .1 .04" mass=".5"/><body pos=".12 0 0"><joint name="arm" axis="0 1 0" damping=".01"/>
  <geom type="capsule" fromto="0 0 0 .15 0 0" size=".02" mass=".1"/></body></body></worldbody>
  <actuator><motor joint="arm" gear=".02"/></actuator></mujoco>"""


def test_momentum_of_a_free_robot_with_cloth_is_conserved():
    builder = ModelBuilder()
    builder.add_mjcf(FLOATER)
    cloth(builder, vel=(0.2, 0.0, -0.5), pos=(0.0, 0.0, 0.02))
    model = builder.finalize(device="cpu")
    solver, state, control = SolverConvex(model), model.state(), model.control()
    control.mujoco.ctrl.fill_(1.0)
    mass, body_mass = model.particle_mass.numpy().astype(float), model.body_mass.numpy().astype(float)

    def momentum():
        soft = mass @ state.particle_qd.numpy().astype(float)
        return soft + body_mass @ state.body_qd.numpy()[:, :3].astype(float)

    start, most = momentum(), 0
    for _ in range(320):  # what is lost goes with the time step, as a turning arm is not integrated exactly
        solver.step(state, state, control, None, 0.00025)
        most = max(most, int(solver.batches[0].engine.read("ncon")[0]))
    assert most > 4  # it was hit
    assert np.abs(state.body_qd.numpy()).max() > 0.02  # and pushed
    assert np.abs(momentum() - start).max() < 1e-5 * np.linalg.norm(start)


# ---------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda b: cloth(b, tri_drag=1.0), "tri_drag: air drag"),
        (lambda b: cloth(b, tri_lift=1.0), "tri_lift: air drag"),
        (lambda b: b.add_muscle([b.add_body()], [(0, 0, 0)], 1.0, 1.0, 1.0, 1.0, 0.0), "1 muscles, which"),
    ],
)
def test_what_is_not_simulated_is_refused_by_name(add, words):
    with pytest.raises(BuildError, match=words):
        SolverConvex(finalized(add))


@pytest.mark.usefixtures("staged")
def test_activations_that_come_later_are_refused_too():
    builder = ModelBuilder()
    cloth(builder)
    model = builder.finalize(device="cpu")
    solver, state, control = SolverConvex(model), model.state(), model.control()
    solver.step(state, state, control, None, 1e-4)
    control.tri_activations.fill_(0.5)
    with pytest.raises(BuildError, match="tri_activations.*triangles"):
        solver.step(state, state, control, None, 1e-4)


def test_steps_are_divided_by_what_stiffness_allows():
    """Two masses on a spring: w^2 = 2 k / m."""

    def add(builder):
        for k in range(2):
            builder.add_particle((0.1 * k, 0, 0), (0, 0, 0), 0.1)
        builder.add_spring(0, 1, 500.0, 0.0, 0.0)

    solver = SolverConvex(finalized(add))
    batch = solver.batches[0]
    assert np.isclose(batch.stable_step, np.sqrt(4 * SHARE / (2 * 500 / 0.1)), rtol=0.03)
    state = solver.model.state()
    solver.step(state, state, None, None, 0.1)
    assert batch.substeps == np.ceil(0.1 / batch.stable_step)
    with pytest.raises(BuildError, match="time steps of"):
        solver.step(state, state, None, None, 100.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tri_materials", -1.0), ("tri_materials", np.nan), ("edge_bending_properties", -1.0),
        ("particle_mass", np.nan), ("particle_radius", -0.1), ("particle_q", np.inf), ("tri_poses", np.nan),
        ("spring_stiffness", -1.0), ("spring_damping", -1.0), ("tet_materials", np.inf),
    ],
)  # fmt: skip
def test_numbers_that_mean_nothing_are_refused_by_name(field, value):
    model = finalized(cloth, lambda b: block(b, pos=(1.0, 0.0, 0.0)), rope)
    values = getattr(model, field).numpy()
    values.reshape(-1)[0] = value
    getattr(model, field).assign(values)
    with pytest.raises(BuildError, match=rf"{field}\[0.* must be finite"):
        SolverConvex(model)


def test_lame_lambda_may_be_negative_while_the_bulk_modulus_is_not():
    SolverConvex(finalized(lambda b: cloth(b, tri_ke=100.0, tri_ka=-60.0)))
    with pytest.raises(BuildError, match=r"tri_materials\[0, 1\].*at least -66"):
        SolverConvex(finalized(lambda b: cloth(b, tri_ke=100.0, tri_ka=-70.0)))


def test_masses_and_materials_may_change():
    """Each world has its own masses; a stiffer cloth is stepped in more parts."""
    template, builder = ModelBuilder(gravity=0.0), ModelBuilder(gravity=0.0)
    cloth(template, 2)
    builder.replicate(template, 3)
    model = builder.finalize(device="cpu")
    solver, state = SolverConvex(model), model.state()
    before, n = solver.stable_step, model.particle_count // 3
    mass = model.particle_mass.numpy().reshape(3, n) * np.array([[1.0], [2.0], [4.0]], np.float32)
    model.particle_mass.assign(mass.ravel())
    materials = model.tri_materials.numpy()
    model.tri_materials.assign(materials * 100.0)
    solver.notify_model_changed(ModelFlags.MODEL_PROPERTIES)
    fresh = SolverConvex(model)
    assert solver.stable_step < 0.2 * before and np.isclose(solver.stable_step, fresh.stable_step)
    state.particle_f.assign(np.tile(np.float32([0.0, 0.0, 0.02]), (3 * n, 1)))
    solver.step(state, state, None, None, 1 / 200)
    assert solver.batches[0].substeps > 1
    velocity = state.particle_qd.numpy().reshape(3, n, 3)[..., 2]
    assert np.allclose(velocity, 0.02 / mass / 200, rtol=1e-4)


def test_particles_of_no_world_beside_worlds():
    builder = ModelBuilder()
    builder.add_particle((0, 0, 0), (0, 0, 0), 0.1)
    template = ModelBuilder()
    cloth(template, 1)
    builder.replicate(template, 2)
    with pytest.raises(BuildError, match="particles of no world"):
        SolverConvex(builder.finalize(device="cpu"))


def test_a_model_without_worlds_and_without_bodies_has_only_particles():
    model = finalized(lambda b: b.add_particle((0, 0, 1), (1, 0, 0), 0.1))
    solver, state = SolverConvex(model), model.state()
    solver.step(state, state, None, None, 0.01)
    assert np.allclose(state.particle_qd.numpy(), [[1.0, 0.0, -0.0981]], atol=1e-6)
    assert isinstance(state.particle_q, wp.array)
